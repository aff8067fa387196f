"""Finds the compilers for the SVM on this machine, and says how to call each.

Three routes give the same kind of file. ``build-sbf`` is Solana's own compiler and is preferred if it is installed.
``no-std`` is Debian's rustc with sbpf-linker, for programs without the standard library (all that we render for
pinocchio). ``std`` is the same with a standard library adapted to the SVM, for solana-program and Anchor. Its programs
are for tests and must not be shipped, since it builds without overflow checks. ``templates/sbf/install.sh`` installs
the tools of the latter two.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcpsol_py.errors import ToolchainMissing

Route = Literal["build-sbf", "no-std", "std"]

#: Debian's compiler. Not rustup's: its standard library comes without sources, and with another LLVM.
CARGO = Path("/usr/bin/cargo")
RUSTC = Path("/usr/bin/rustc")

# The caller's variables that cargo gets: paths and network settings. They cannot change the compiled bytes. A crate's
# build script sees the environment, so nothing else is in it: no token, no passphrase.
_KEPT = frozenset(
    (
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "TERM",
            "TMPDIR",
            "TMP",
            "TEMP",
            "XDG_CACHE_HOME",
        ),
        *(
            "LD_LIBRARY_PATH",
            "SYSTEMROOT",
            "USERPROFILE",
            "APPDATA",
            "LOCALAPPDATA",
            "PATHEXT",
        ),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy"),
        *("CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
        *("MCPSOL_TOOLCHAIN", "MCPSOL_CACHE", "SBF_SDK_PATH", "SBF_OUT_DIR"),
    )
)
_KEPT_FAMILIES = re.compile(
    r"CARGO_NET_\w+|CARGO_HTTP_\w+|CARGO_REGISTR(Y|IES_\w+)_(INDEX|PROTOCOL)|CARGO_REGISTRY_DEFAULT|\w+_proxy",
    re.IGNORECASE,
)

# The stack frame that the SVM gives a function, SBPF version 0 (runs on every cluster), and unaligned loads as one
# instruction, which the SVM allows and Solana's own compiler makes too.
_FLAGS = (
    *("-C", "relocation-model=static", "-C", "target-cpu=v2"),
    *("-C", "link-arg=--llvm-args=-bpf-stack-size=4096", "-C", "link-arg=--arch=v0"),
    # LLVM thinks that a division cannot fail, and would move one out of a loop and before the check of its divisor.
    *("-C", "link-arg=--llvm-args=-disable-machine-licm"),
    *("-C", "link-arg=--cpu-features=+allows-misaligned-mem-access"),
    # Syscalls by their numbers, in every version of solana-define-syscall; by name they would lose their arguments.
    *(
        "-A",
        "explicit_builtin_cfgs_in_flags",
        "--cfg",
        'target_feature="static-syscalls"',
    ),
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of cargo: its arguments before the crate's own, and its whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BuildSbf:
    """Solana's own compiler, ``cargo build-sbf``."""

    program: Path
    version: str
    route: Literal["build-sbf"] = "build-sbf"

    def record(self) -> dict[str, str]:
        """Return the record that is written beside an artifact: route and versions."""
        return {"route": self.route, "rustc": self.version, "linker": self.version}

    def invocation(self, remap: Mapping[str, str]) -> Invocation:
        """Return the call of ``cargo build-sbf`` without the caller's flags. *remap*: folder -> its name in panics."""
        # It splits at spaces.
        flags = [flag for flag in _remap_flags(remap) if " " not in flag]
        return Invocation(
            (str(self.program),), clean_environment() | {"RUSTFLAGS": " ".join(flags)}
        )


@dataclass(frozen=True, slots=True)
class CompilerTarget:
    """A compilation target of Debian's compiler: cargo's options, rustc's flags, the parts of its library."""

    triple: str
    cargo: tuple[str, ...]
    flags: tuple[str, ...]
    panic: str
    library: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Debian:
    """Debian's rustc, and sbpf-linker on LLVM 23. `root` is where install.sh put the latter.

    `builtins` links our 128-bit arithmetic into every program (templates/sbf/builtins.rs). Without, the compiler is
    wrong there: only the tests of that ask for it.
    """

    root: Path
    rustc: str
    linker: str
    route: Literal["no-std", "std"]
    builtins: bool = True

    def record(self) -> dict[str, str]:
        """Return the record that is written beside an artifact: route and versions."""
        return {"route": self.route, "rustc": self.rustc, "linker": self.linker}

    def target(self) -> CompilerTarget:
        """Return the target: rustc's own ``bpfel-unknown-none``, or our ``sbpf-solana`` with a standard library."""
        # std_for_sbf.py's copy.
        sources = {"__CARGO_TESTS_ONLY_SRC_ROOT": str(self.root / "std" / "library")}
        if self.route == "no-std":
            return CompilerTarget(
                triple="bpfel-unknown-none",
                cargo=("--target", "bpfel-unknown-none"),
                flags=("-C", "panic=abort", *_FLAGS),
                panic="abort",
                library=(
                    "-Zbuild-std=core,alloc",
                    "-Zbuild-std-features=compiler-builtins-mem",
                ),
                environment=sources,
            )
        return CompilerTarget(
            triple="sbpf-solana",
            cargo=(
                "--target",
                str(self.root / "sbpf-solana.json"),
                "-Zjson-target-spec",
            ),
            flags=(
                "-Zunstable-options",
                *("-C", "panic=immediate-abort", "-C", "passes=lower-atomic", *_FLAGS),
            ),
            panic="immediate-abort",
            library=("-Zbuild-std=std", "-Zbuild-std-features=compiler-builtins-mem"),
            environment={
                "RUSTC_BOOTSTRAP_SYNTHETIC_TARGET": "1",
                **sources,
                # Overflow checks bring a 128-bit multiply, which this compiler gets wrong.
                "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS": "false",
            },
        )

    def invocation(self, flags: tuple[str, ...]) -> Invocation:
        """``cargo build --release`` for the target, with *flags* for rustc beside the target's own."""
        target = self.target()
        linker = f"CARGO_TARGET_{target.triple.upper().replace('-', '_')}_LINKER"
        env = (
            clean_environment()
            | {
                "RUSTC": str(RUSTC),
                "RUSTC_BOOTSTRAP": "1",  # a released compiler, asked for what only nightly ones give unasked
                "CARGO_PROFILE_RELEASE_LTO": "fat",
                "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1",
                "CARGO_PROFILE_RELEASE_PANIC": target.panic,
                linker: str(self.root / "sbpf-linker.sh"),
                "CARGO_ENCODED_RUSTFLAGS": "\x1f".join((*target.flags, *flags)),
                **target.environment,
            }
        )
        unstable = (
            ("-Zpanic-immediate-abort",) if target.panic == "immediate-abort" else ()
        )
        return Invocation(
            (str(CARGO), "build", "--release", *target.cargo, *unstable), env
        )


Toolchain = BuildSbf | Debian


def install_root() -> Path:
    """Return the folder of install.sh: ``$MCPSOL_TOOLCHAIN``, ``$MCPSOL_CACHE/sbf``, or ``~/.cache/mcpsol/sbf``."""
    if given := os.environ.get("MCPSOL_TOOLCHAIN"):
        return Path(given)
    cache = os.environ.get("MCPSOL_CACHE")
    return (Path(cache) if cache else Path.home() / ".cache" / "mcpsol") / "sbf"


def find_toolchain(
    route: Route | Literal["auto"] = "auto", *, std: bool = False
) -> Toolchain:
    """Find a route's toolchain. "auto" is ``cargo build-sbf`` if on PATH, else ``std`` with *std*, else ``no-std``.

    Raises ToolchainMissing with the missing files and how to install them.
    """
    if route == "no-std" or route == "std":  # mypy does not narrow by `in`
        return _find_debian(route, [])
    program = shutil.which("cargo-build-sbf")
    if program:
        return BuildSbf(
            Path(program), ", ".join(filter(None, _words(program, "--version")))
        )
    searched = ["cargo-build-sbf on PATH"]
    if route == "build-sbf":
        raise ToolchainMissing(searched, "Install the Solana CLI, which brings it.")
    return _find_debian("std" if std else "no-std", searched)


def _find_debian(route: Literal["no-std", "std"], searched: list[str]) -> Debian:
    """Find Debian's compiler and install.sh's part. *searched* was already found missing."""
    root = install_root()
    needed = (CARGO, RUSTC, root / "sbpf-linker.sh", root / "recipe")
    lacking = [str(path) for path in needed if not path.exists()]
    if lacking:
        raise ToolchainMissing(
            [*searched, *lacking],
            f"Install the Solana CLI, or on Debian as root run: sh {installer()}",
        )
    rustc = _words(str(RUSTC), "--version")[0]
    linker = f"{_words(str(root / 'sbpf-linker.sh'), '--version')[0]}, LLVM {_llvm_version(root)}"
    return Debian(root, rustc, linker, route)


def installer() -> Path:
    """``templates/sbf/install.sh``: in the wheel below ``mcpsol_py/_templates``, in a checkout at its root."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_templates"
    return (
        (shipped if shipped.is_dir() else package.parent / "templates")
        / "sbf"
        / "install.sh"
    )


def clean_environment() -> dict[str, str]:
    """Return the caller's environment without secrets and without variables that change the bytes."""
    return {
        name: value for name, value in os.environ.items() if _is_kept(name, value)
    } | {
        "SOURCE_DATE_EPOCH": "0",
        "LC_ALL": "C.UTF-8",
    }


def _is_kept(name: str, value: str) -> bool:
    """Return True for paths and network settings, but not for a proxy's URL with a password."""
    if name in _KEPT:
        return True
    return bool(_KEPT_FAMILIES.fullmatch(name)) and "@" not in value


def _remap_flags(remap: Mapping[str, str]) -> list[str]:
    return [f"--remap-path-prefix={old}={new}" for old, new in remap.items()]


def _llvm_version(root: Path) -> str:
    try:
        return (root / "llvm23" / "version").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ToolchainMissing(
            [str(root / "llvm23" / "version")], f"Run again: sh {installer()}"
        ) from error


@functools.cache
def _words(*argv: str) -> list[str]:
    """Run a program and return its lines. Raises ToolchainMissing if it does not start."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        advice = f"It is there but does not start ({type(error).__name__}). Install it again."
        raise ToolchainMissing([" ".join(argv)], advice) from error
    return done.stdout.split("\n")

"""Rust's library compiled for the SVM, once for each compiler and kept, so that a new crate builds in seconds.

Cargo's own way, ``-Zbuild-std``, compiles it again in each target folder: half a minute for core and alloc, more for
std. The sysroot also has ``svm_builtins`` (templates/sbf/builtins.rs), the 128-bit arithmetic and memory functions
of every program.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mcpsol_py.build.toolchain import Debian, installer
from mcpsol_py.errors import BuildError

#: The crate that is linked into every program: `--extern force:` this.
BUILTINS = "svm_builtins"

#: the name of the toolchain's folder in panics; the bundled programs were built there
_ROOT = "/root/.cache/mcpsol/sbf"

_MANIFEST = """\
[package]
name = "svm_builtins"
version = "0.0.0"
edition = "2021"

[dependencies]
# Weak, so that a program may bring its own.
solana-compiler-builtins = { version = "=0.3.0", features = ["weak-linkage"] }

[workspace]
"""


def ensure_sysroot(
    toolchain: Debian, progress: Callable[[str], None] | None = None
) -> Path:
    """The folder to give rustc as ``--sysroot``. Made on first use, below ``<toolchain.root>/sysroot/``.

    Its name is a digest of all it depends on (compiler, flags, the installed sources), so another compiler makes
    another one. Two processes that come at once wait for each other.
    """
    target = toolchain.target()
    recipe = (toolchain.root / "recipe").read_text(encoding="utf-8")
    builtins = installer().with_name("builtins.rs").read_text(encoding="utf-8")
    remap = _remap(toolchain.root)
    known_by = repr(
        (
            toolchain.rustc,
            recipe,
            target.triple,
            target.flags,
            target.library,
            _MANIFEST,
            builtins,
            *remap,
        )
    )
    home = toolchain.root / "sysroot"
    sysroot = (
        home / f"{toolchain.route}-{hashlib.sha256(known_by.encode()).hexdigest()[:12]}"
    )
    if sysroot.is_dir():
        return sysroot
    home.mkdir(parents=True, exist_ok=True)
    with _lock(home / f".{sysroot.name}.lock"):
        if sysroot.is_dir():
            return sysroot
        if progress:
            progress(
                f"Compiling Rust's library for the SVM, once for this compiler ({', '.join(target.library[:1])})"
            )
        with tempfile.TemporaryDirectory(dir=home, prefix=".making-") as scratch:
            made = _make(toolchain, builtins, remap, Path(scratch))
            made.rename(sysroot)
    return sysroot


def _remap(root: Path) -> tuple[str, ...]:
    """Return options that give the library's files, which panics name, the same name on every machine."""
    return () if str(root) == _ROOT else (f"--remap-path-prefix={root}={_ROOT}",)


def _make(
    toolchain: Debian, builtins: str, remap: tuple[str, ...], scratch: Path
) -> Path:
    target = toolchain.target()
    (scratch / "src").mkdir()
    (scratch / "Cargo.toml").write_text(_MANIFEST, encoding="utf-8")
    (scratch / "src" / "lib.rs").write_text(builtins, encoding="utf-8")
    call = toolchain.invocation(remap)
    env = {**call.env, "CARGO_TARGET_DIR": str(scratch / "target")}
    argv = [*call.argv, *target.library, "--quiet"]
    done = subprocess.run(
        argv, cwd=scratch, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(
            "Rust's library for the SVM",
            f"cargo ended with code {done.returncode}",
            done.stderr[-4000:],
        )
    libraries = scratch / "sysroot" / "lib" / "rustlib" / target.triple / "lib"
    libraries.mkdir(parents=True)
    for library in (scratch / "target" / target.triple / "release" / "deps").glob(
        "*.rlib"
    ):
        shutil.copy2(library, libraries)
    return scratch / "sysroot"


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    import fcntl  # this route runs on Debian only, but the module must be importable everywhere

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

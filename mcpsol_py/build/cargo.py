"""Reads a crate's manifest, compiles the crate with progress, and finds the compiled file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import tomllib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mcpsol_py.build.sysroot import BUILTINS, ensure_sysroot
from mcpsol_py.build.toolchain import (
    CARGO,
    BuildSbf,
    Invocation,
    Toolchain,
    clean_environment,
)
from mcpsol_py.errors import BuildError

Progress = Callable[[str], None]

#: How much of the compiler's words an error carries.
_OUTPUT_LINES = 80


@dataclass(frozen=True, slots=True)
class Crate:
    """One program's crate. `name` is its library's, so the file's: ``<name>.so``.

    `std` is true unless the crate's root says ``no_std``; `program_id` is what its ``declare_id!`` says, if it has one.
    """

    directory: Path
    name: str
    package: str
    std: bool
    program_id: str | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a build left behind: the program, and the LLVM IR it was made from (``cargo build-sbf`` keeps it: None).

    `left_out`: dependencies with code for ``target_os = "solana"`` alone, which this target does not compile.
    """

    so: Path
    ir: Path | None
    left_out: tuple[str, ...] = ()


def read_crate(directory: Path) -> Crate:
    """Read Cargo.toml and the root source in *directory*. Raises BuildError if this is not a program's crate."""
    manifest = directory / "Cargo.toml"
    try:
        read = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise BuildError(
            str(directory),
            f"no crate here: {manifest.name} cannot be read ({error.strerror})",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(
            str(directory), f"{manifest.name} is not TOML: {error}"
        ) from error
    package = read.get("package", {}).get("name")
    if not isinstance(package, str):
        raise BuildError(
            str(directory),
            f"{manifest.name} has no [package] with a name; give the folder of one program",
        )
    lib = read.get("lib", {})
    kinds = lib.get("crate-type", [])
    if "cdylib" not in kinds:
        raise BuildError(
            str(directory),
            f'crate-type is {kinds!r}; a program needs [lib] crate-type = ["cdylib", "lib"]',
        )
    root = directory / lib.get("path", "src/lib.rs")
    try:
        source = root.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(str(directory), f"{root} cannot be read: {error}") from error
    no_std = re.search(r"^#!\[\s*(no_std|cfg_attr\(.*\bno_std\b)", source, re.MULTILINE)
    declared = re.search(
        r'^\s*(?:\w+::)*declare_id!\(\s*"([1-9A-HJ-NP-Za-km-z]{32,44})"',
        source,
        re.MULTILINE,
    )
    name = lib.get("name", package).replace("-", "_")
    return Crate(
        directory,
        name,
        package,
        std=no_std is None,
        program_id=declared and declared[1],
    )


def compile_crate(
    crate: Crate, toolchain: Toolchain, progress: Progress | None = None
) -> Compiled:
    """Build *crate* in its workspace's target folder. *progress* gets the compiler's lines as they come.

    The same compiler gives the same bytes in every checkout and with every cargo home. Raises BuildError with the end
    of the compiler's output.
    """
    metadata = _metadata(crate, toolchain)
    manifest = ("--manifest-path", str(crate.directory / "Cargo.toml"))
    target_folder = Path(metadata["target_directory"])
    if isinstance(toolchain, BuildSbf):
        out = target_folder / "deploy"
        call = toolchain.invocation(_remap(metadata))
        _run(crate, call, (*manifest, "--sbf-out-dir", str(out)), call.env, progress)
        return Compiled(_must_exist(crate, out / f"{crate.name}.so"), None)

    sysroot = ensure_sysroot(toolchain, progress)
    remap = [
        f"--remap-path-prefix={old}={new}" for old, new in _remap(metadata).items()
    ]
    builtins = (
        ("-Zunstable-options", "--extern", f"force:{BUILTINS}")
        if toolchain.builtins
        else ()
    )
    call = toolchain.invocation(("--sysroot", str(sysroot), *builtins, *remap))
    release = target_folder / toolchain.target().triple / "release"
    ir = release / "mcpsol-ir"
    # Without its output cargo links again, so the IR is of this very link, never an older one's.
    for old in (
        *release.glob(f"*{crate.name}.so"),
        *(release / "deps").glob(f"*{crate.name}.so"),
    ):
        old.unlink(missing_ok=True)  # another build of the same workspace does so too
    for old in ir.glob(f"*{crate.name}.so"):
        shutil.rmtree(old)
    ir.mkdir(parents=True, exist_ok=True)
    weak = _own_builtins(crate, metadata) if toolchain.builtins else ()
    arguments = (*manifest, "--lib", "--message-format=json-render-diagnostics", *weak)
    stdout = _run(crate, call, arguments, {**call.env, "MCPSOL_IR": str(ir)}, progress)
    so = _must_exist(
        crate, _artifact(stdout, crate.name) or release / f"lib{crate.name}.so"
    )
    dumps = [*ir.glob(f"*{crate.name}.so/post-opt.ll")]
    if not dumps:
        raise BuildError(
            str(crate.directory),
            f"the linker wrote no IR below {ir}, so its arithmetic cannot be checked; install the toolchain again",
        )
    left_out = solana_only(crate, metadata) if toolchain.route == "no-std" else ()
    return Compiled(so, dumps[0], left_out)


#: An attribute that is true for ``cargo build-sbf`` and false for the target of route "no-std".
_SOLANA_ONLY = re.compile(
    r'^\s*#!?\[cfg\(\s*target_os\s*=\s*"solana"\s*\)\]', re.MULTILINE
)


def solana_only(crate: Crate, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return "name version" of each dependency of *crate* with code for ``target_os = "solana"`` alone."""
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: _needed(node) for node in metadata["resolve"]["nodes"]}
    waiting = [
        key for key, package in packages.items() if package["name"] == crate.package
    ]
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        seen.add(key)
        waiting += needs.get(key, set()) - seen
    used = filter(_has_solana_only, map(packages.__getitem__, seen))
    return tuple(sorted(f"{package['name']} {package['version']}" for package in used))


def _needed(node: Mapping[str, Any]) -> set[str]:
    """Return the packages that a package of cargo's metadata needs when it runs: no build or test dependencies."""
    kinds = {
        dep["pkg"]: [use["kind"] for use in dep["dep_kinds"]] for dep in node["deps"]
    }
    return {package for package, uses in kinds.items() if None in uses}


def _has_solana_only(package: Mapping[str, Any]) -> bool:
    """Return whether a package from elsewhere has such code."""
    files = (Path(package["manifest_path"]).parent / "src").rglob("*.rs")
    texts = (file.read_text("utf-8", errors="replace") for file in files)
    return package["source"] is not None and any(map(_SOLANA_ONLY.search, texts))


def _metadata(crate: Crate, toolchain: Toolchain) -> dict[str, Any]:
    cargo = "cargo" if isinstance(toolchain, BuildSbf) else str(CARGO)
    argv = [
        cargo,
        "metadata",
        "--format-version",
        "1",
        "--manifest-path",
        str(crate.directory / "Cargo.toml"),
    ]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        env=clean_environment(),
        cwd=crate.directory,
        check=False,
    )
    if done.returncode:
        raise BuildError(
            str(crate.directory),
            "cargo cannot read the crate or find its dependencies",
            _end(done.stderr.splitlines()),
        )
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def _own_builtins(crate: Crate, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return options that make the functions of a crate's own solana-compiler-builtins weak, so that ours replace them:
    theirs have another compiler's calling convention.
    """
    return tuple(
        f"--features={dependency['rename'] or dependency['name']}/weak-linkage"
        for package in metadata["packages"]
        if package["name"] == crate.package
        for dependency in package["dependencies"]
        if dependency["name"] == "solana-compiler-builtins"
    )


def _remap(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return a fixed name for each folder that panic messages name and that differs between machines.

    The crate's own files are named relative to its workspace, so they need none.
    """
    folders = {
        str(Path(package["manifest_path"]).parents[1])
        for package in metadata["packages"]
        if str(package["source"]).startswith("registry+")
    }
    return dict.fromkeys(sorted(folders), "/registry")


def _run(
    crate: Crate,
    call: Invocation,
    arguments: tuple[str, ...],
    env: Mapping[str, str],
    progress: Progress | None,
) -> list[str]:
    """Run to the end; the lines of standard output. The lines of standard error go to *progress* at once."""
    said: deque[str] = deque(maxlen=2000)

    def listen(stream: IO[str]) -> None:
        for line in stream:
            said.append(line.rstrip("\n"))
            if progress and line.strip():
                progress(line.strip())

    try:
        process = subprocess.Popen(
            [*call.argv, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=dict(env),
            cwd=crate.directory,
        )
    except OSError as error:
        raise BuildError(
            str(crate.directory), f"{call.argv[0]} does not start: {error.strerror}"
        ) from error
    assert process.stdout is not None
    assert process.stderr is not None
    listener = threading.Thread(target=listen, args=(process.stderr,), daemon=True)
    listener.start()
    try:
        stdout = process.stdout.read().splitlines()
        code = process.wait()
        listener.join()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        process.stdout.close()
        process.stderr.close()
    if code:
        raise BuildError(
            str(crate.directory), f"cargo ended with code {code}", _end(list(said))
        )
    return stdout


def _end(lines: list[str]) -> str:
    """From the first error on, else the end; bounded."""
    first = next(
        (i for i, line in enumerate(lines) if line.startswith("error")),
        max(0, len(lines) - 20),
    )
    kept = lines[first:]
    if len(kept) > _OUTPUT_LINES:
        kept = [
            *kept[: _OUTPUT_LINES - 10],
            f"... {len(kept) - _OUTPUT_LINES} lines left out ...",
            *kept[-10:],
        ]
    return "\n".join(line if len(line) <= 500 else f"{line[:500]}..." for line in kept)


def _artifact(stdout: list[str], name: str) -> Path | None:
    for line in stdout:
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        if (
            message.get("reason") != "compiler-artifact"
            or "cdylib" not in message["target"]["kind"]
        ):
            continue
        if message["target"]["name"].replace("-", "_") == name:
            return next(
                (Path(f) for f in message["filenames"] if f.endswith(".so")), None
            )
    return None


def _must_exist(crate: Crate, so: Path) -> Path:
    if not so.is_file():
        raise BuildError(str(crate.directory), f"cargo ended well but wrote no {so}")
    return so

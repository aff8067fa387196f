"""Writes planned files: replaces generated ones, and never overwrites the author's.

A generated file starts with a header line that holds a digest of the rest; whitespace and commas do not count, so that
any rustfmt may run over it. A file without the header, or whose text does not match the digest, was edited by hand and
is not overwritten.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from mcpsol_py.errors import EditedByHand, RenderError
from mcpsol_py.folders import obstacle_below, remove_below, write_below

__all__ = [
    "Planned",
    "RenderResult",
    "author_files",
    "digest",
    "format_rust",
    "header",
    "write_plan",
]

_HEADER = re.compile(
    rb"^// Rendered by idl2mcp from [^\n]*; edit the source\. \[([0-9a-f]{16})\]\n"
)


@dataclass(frozen=True, slots=True)
class Planned:
    """One file: `path` from the crate's root; `owned`: written once, then the author's."""

    path: str
    data: bytes
    owned: bool = False


@dataclass(frozen=True, slots=True)
class RenderResult:
    """The files that were written, the author's files that were kept, and handlers without an instruction.

    All are paths from the crate's root. `formatted`: rustfmt ran over them. `unchecked`: what no generated check holds,
    in words, because the source does not say enough.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]
    orphans: tuple[str, ...]
    formatted: bool = True
    unchecked: tuple[str, ...] = ()


def digest(text: bytes) -> str:
    """16 hex digits over *text* without whitespace and commas."""
    return sha256(re.sub(rb"[\s,]+", b"", text)).hexdigest()[:16]


def header(source: str, text: bytes) -> bytes:
    """The line that a generated file opens with."""
    name = re.sub(r"[^ -~]|;", "_", source) or "the source"
    return f"// Rendered by idl2mcp from {name}; edit the source. [{digest(text)}]\n".encode()


def author_files(out: Path) -> dict[str, str]:
    """The Rust files of the crate in *out* that the author wrote, by their path from its root."""
    found: dict[str, str] = {}
    for folder in ("src", "tests", "examples", "benches"):
        for path in sorted(filter(Path.is_file, (out / folder).rglob("*.rs"))):
            data = path.read_bytes()
            if not _HEADER.match(data):
                found[path.relative_to(out).as_posix()] = data.decode(errors="replace")
    return found


def _rustfmt() -> str | None:
    """A rustfmt that runs. rustup puts one on PATH that does not run if its toolchain has none."""
    for program in (shutil.which("rustfmt"), "/usr/bin/rustfmt"):
        if program is not None and Path(program).exists() and _runs(program):
            return program
    return None


def _runs(program: str) -> bool:
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return done.returncode == 0


def format_rust(
    files: list[Planned], *, root: str = "src/lib.rs"
) -> tuple[list[Planned], bool]:
    """The Rust files as rustfmt writes them, and whether there is a rustfmt. `root`: the file that names the others.

    Raises RenderError if it refuses them: that is a fault of the templates, not of the source.
    """
    program = _rustfmt()
    if program is None:
        return files, False
    with TemporaryDirectory(prefix="idl2mcp-") as scratch:
        scratch_root = Path(scratch)
        for file in files:
            path = scratch_root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        options = ["--edition", "2021", "--config", "newline_style=Unix"]
        done = subprocess.run(
            [program, *options, str(scratch_root / root)],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").replace(scratch, "")[:600]
            raise RenderError(f"rustfmt refuses the rendered files: {why}")
        return [
            Planned(f.path, (scratch_root / f.path).read_bytes(), f.owned)
            for f in files
        ], True


def _check(out: Path, name: str) -> None:
    """Raises EditedByHand if the generated Rust file is there and is not as it was rendered."""
    path = out / name
    if not name.endswith(".rs") or not path.exists():
        return
    before = path.read_bytes()
    found = _HEADER.match(before)
    if found is None:
        raise EditedByHand(name)
    if digest(before[found.end() :]) != found.group(1).decode():
        raise EditedByHand(name, "its text changed after it was rendered")


def _check_handler(out: Path, name: str, handlers: str | None) -> None:
    """Raises RenderError if the author wrote the handler of an instruction that has a body."""
    path = out / name
    if not _is_in(name, handlers) or name.endswith("/mod.rs") or not path.exists():
        return
    if not _HEADER.match(path.read_bytes()):
        raise RenderError(
            f"{name} was written by hand, and the source has a body for this instruction. "
            "Delete the file, or the body, and render again."
        )


def write_plan(
    files: list[Planned],
    out: Path,
    source: str,
    *,
    handlers: str | None = None,
    formatted: bool,
) -> RenderResult:
    """Write *files* to *out*.

    `handlers` is the folder whose .rs files without a plan are orphans. Without it *files* are not a whole crate, and
    other files in *out* belong to somebody else.

    Raises EditedByHand before anything is written, RenderError if a file cannot be written or a symbolic link would
    lead out of *out*.
    """
    planned = {file.path for file in files}
    for file in files:
        _refuse_obstacle(out, file.path)
        if not file.owned:
            _check_handler(out, file.path, handlers)
            _check(out, file.path)
    if out.exists() and not out.is_dir():
        raise RenderError(f"{out} is a file; --out names a folder.")
    unplanned = sorted(_crate_files(out, handlers) - planned)
    stale = [path for path in unplanned if _HEADER.match((out / path).read_bytes())]
    for path in stale:
        _refuse_obstacle(out, path)
    for path in stale:  # generated for something that the source no longer has
        _check(out, path)
    authors = sorted(set(unplanned) - set(stale))
    orphans = tuple(path for path in authors if _is_in(path, handlers))
    try:
        written, kept = _write_files(files, out, source)
        for path in stale:
            remove_below(out, path)
    except OSError as error:
        raise RenderError(
            f"{error.filename}: it cannot be written: {error.strerror}."
        ) from error
    return RenderResult(written, kept, orphans, formatted)


def _refuse_obstacle(out: Path, name: str) -> None:
    obstacle = obstacle_below(out, name)
    if obstacle is not None:
        raise RenderError(f"{obstacle}. Remove it.")


def _crate_files(out: Path, handlers: str | None) -> set[str]:
    """The paths of the .rs files of a whole crate in *out*."""
    if handlers is None:
        return set()
    found = (path for path in (out / "src").rglob("*.rs") if path.is_file())
    return {path.relative_to(out).as_posix() for path in found}


def _is_in(path: str, folder: str | None) -> bool:
    return path.rpartition("/")[0] == folder


def _write_files(
    files: list[Planned], out: Path, source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files. Returns the paths that were written, and those of the author's files that were kept."""
    written: list[str] = []
    kept: list[str] = []
    for file in files:
        path = out / file.path
        if file.owned and path.exists():
            _hand_over(out, file.path)
            kept.append(file.path)
            continue
        write_below(out, file.path, _with_header(file, source))
        written.append(file.path)
    return tuple(written), tuple(kept)


def _hand_over(out: Path, name: str) -> None:
    """Make a generated file the author's: its instruction had a body, and has none any more."""
    data = (out / name).read_bytes()
    found = _HEADER.match(data)
    if found is not None:
        write_below(out, name, data[found.end() :])


def _with_header(file: Planned, source: str) -> bytes:
    if file.owned or not file.path.endswith(".rs"):
        return file.data
    return header(source, file.data) + file.data

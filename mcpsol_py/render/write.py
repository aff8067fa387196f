"""Writes a plan of files: generated ones anew, the author's never over what is there.

A generated file opens with a header line that holds a digest of the rest; whitespace and commas do not count, so that
any rustfmt may run over it. A file without the header, or whose text is not what the header says, was edited by hand
and is not overwritten.
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
    """What was done, as paths from the crate's root: files written, files of the author's that were kept, and handlers
    without an instruction. `formatted`: rustfmt ran over them."""

    written: tuple[str, ...]
    kept: tuple[str, ...]
    orphans: tuple[str, ...]
    formatted: bool = True


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
        for path in sorted((out / folder).rglob("*.rs")):
            data = path.read_bytes()
            if not _HEADER.match(data):
                found[path.relative_to(out).as_posix()] = data.decode(errors="replace")
    return found


def _rustfmt() -> str | None:
    """A rustfmt that runs: rustup puts one on PATH that does not, where its toolchain has none."""
    there = [
        p
        for p in (shutil.which("rustfmt"), "/usr/bin/rustfmt")
        if p is not None and Path(p).exists()
    ]
    runs = (
        p
        for p in there
        if subprocess.run([p, "--version"], capture_output=True, check=False).returncode == 0
    )
    return next(runs, None)


def format_rust(files: list[Planned], *, root: str = "src/lib.rs") -> tuple[list[Planned], bool]:
    """The Rust files as rustfmt writes them, and whether there is a rustfmt. `root`: the file that names the others.

    Raises RenderError if it refuses them: that is our fault, not the source's.
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
            [program, *options, str(scratch_root / root)], capture_output=True, check=False
        )
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").replace(scratch, "")[:600]
            raise RenderError(f"rustfmt refuses what was rendered: {why}")
        return [Planned(f.path, (scratch_root / f.path).read_bytes(), f.owned) for f in files], True


def _check(path: Path, name: str) -> None:
    """Raises EditedByHand if the generated file at *path* is not as it was rendered."""
    before = path.read_bytes()
    found = _HEADER.match(before)
    if found is None:
        raise EditedByHand(name)
    if digest(before[found.end() :]) != found.group(1).decode():
        raise EditedByHand(name, "its text is not what was rendered")


def write_plan(
    files: list[Planned], out: Path, source: str, *, handlers: str | None = None, formatted: bool
) -> RenderResult:
    """Writes *files* to *out*. `handlers`: the folder whose .rs files without a plan are orphans; without it *files*
    are no whole crate, and what else is in *out* is somebody else's.

    Raises EditedByHand before anything is written, RenderError where a file cannot be.
    """
    planned = {f.path for f in files}
    for file in files:
        path = out / file.path
        if not file.owned and path.exists() and file.path.endswith(".rs"):
            _check(path, file.path)
    if out.exists() and not out.is_dir():
        raise RenderError(f"{out} is a file; --out names a folder.")
    stale = [
        path
        for path in sorted((out / "src").rglob("*.rs") if handlers is not None else ())
        if path.relative_to(out).as_posix() not in planned and _HEADER.match(path.read_bytes())
    ]
    for path in stale:  # generated for something that the source does not have any more
        _check(path, path.relative_to(out).as_posix())
    orphans = tuple(
        path.relative_to(out).as_posix()
        for path in sorted((out / handlers).glob("*.rs") if handlers is not None else ())
        if path.relative_to(out).as_posix() not in planned and path not in stale
    )
    written: list[str] = []
    kept: list[str] = []
    try:
        for file in files:
            path = out / file.path
            if file.owned and path.exists():
                kept.append(file.path)
                continue
            data = file.data
            if not file.owned and file.path.endswith(".rs"):
                data = header(source, data) + data
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(file.path)
        for path in stale:
            path.unlink()
    except OSError as error:
        raise RenderError(f"{error.filename}: it cannot be written: {error.strerror}.") from error
    return RenderResult(tuple(written), tuple(kept), orphans, formatted)

"""Reads JSON documents from files, folders, patterns and streams, one at a time.

A file has one document, or one in each line (JSON Lines). Files that end in `.gz` are unpacked.
"""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import orjson

from mcpsol_py.errors import SourceError

__all__ = ["Document", "documents_of", "files_of", "lines_of"]

#: The largest document. It is held in memory while it is read.
MAX_DOCUMENT = 1 << 30
_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document, and the file and line that it is from. `why` is set if it could not be read."""

    origin: str
    value: Any = None
    why: str = ""


def files_of(texts: tuple[str, ...]) -> list[str]:
    """Return the files that paths, folders and patterns name, in order. "-" is stdin.

    Raises SourceError for a path, a folder or a pattern without files.
    """
    return [file for text in texts for file in _files(text)]


def _files(text: str) -> list[str]:
    if text == "-":
        return [text]
    found = _found(text)
    if not found:
        raise SourceError(
            "expected a file, a folder or a pattern with files, got none", origin=text
        )
    return found


def _found(text: str) -> list[str]:
    """Return the files that a path or a pattern names."""
    path = Path(text)
    if path.is_dir():
        return [
            str(one) for one in sorted(path.rglob("*")) if one.name.endswith(_ENDINGS)
        ]
    if path.exists():
        return [text]
    matches = glob.glob(text, recursive=True)  # noqa: PTH207  # a pattern may be absolute
    return sorted(name for name in matches if Path(name).is_file())


def documents_of(file: str, stdin: IO[bytes]) -> Iterator[Document]:
    """Yield the documents of *file*, or of *stdin* for "-". Raises SourceError if it cannot be opened or read."""
    if file == "-":
        yield from lines_of(stdin, "stdin")
        return
    try:
        with _opened(file) as stream:
            yield from lines_of(stream, file)
    except (OSError, EOFError) as error:
        raise SourceError(f"cannot be read: {error}", origin=file) from error


def _opened(file: str) -> BinaryIO:
    return cast(
        BinaryIO, gzip.GzipFile(file) if file.endswith(".gz") else Path(file).open("rb")
    )


def lines_of(stream: IO[bytes], origin: str) -> Iterator[Document]:
    """Yield the document of each line of *stream*, or its only one, if that takes several lines."""
    lines = enumerate(stream, start=1)
    first = next((line for _, line in lines if line.strip()), b"")
    if first.strip() in _OPENINGS or _is_cut(first):
        yield _parsed(first + stream.read(MAX_DOCUMENT), origin)
        return
    for number, line in chain([(1, first)], lines):
        if line.strip():
            yield _parsed(line, f"{origin}:{number}")


#: How a document begins that is written over several lines.
_OPENINGS = (b"{", b"[")


def _is_cut(line: bytes) -> bool:
    """Return whether *line* begins a document that goes on in the next one: `{"slot": 5,`"""
    return line.rstrip().endswith((b",", b"{", b"[", b":"))


def _parsed(text: bytes, origin: str) -> Document:
    if len(text) >= MAX_DOCUMENT:
        return Document(
            origin, why=f"expected a document of less than {MAX_DOCUMENT:,} bytes"
        )
    try:
        return Document(origin, orjson.loads(text))
    except ValueError as error:
        return Document(origin, why=f"expected JSON: {error}")

"""Writes rows to JSON lines or to a folder of Parquet files. Nothing is at its place before all of it is written."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import orjson
from solders.pubkey import Pubkey

from mcpsol_py.errors import SourceError
from mcpsol_py.pipelines.rows import Row, document_of

__all__ = ["JsonLines", "ParquetFolder", "RowWriter", "json_lines", "parquet_folder"]

#: Rows of one Parquet row group, and rows that wait in memory for theirs.
_GROUP_ROWS, _WAITING_ROWS = 50_000, 200_000
_UNREAD = "unread"


class RowWriter(Protocol):
    """Takes rows, and what could not be read. `counts`: how many there were, by kind and name."""

    counts: Counter[tuple[str, str]]

    def write(self, row: Row) -> None:
        """Write a row."""

    def write_unread(self, origin: str, why: str) -> None:
        """Write a part of an input that could not be read."""


# --- JSON lines ------------------------------------------------------------------------------


class JsonLines:
    """Writes each row as a JSON document in a line."""

    def __init__(self, stream: IO[bytes], program_id: Pubkey) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._stream = stream
        self._program_id = program_id

    def write(self, row: Row) -> None:
        """Write a row."""
        self.counts[row.kind, row.name or _UNREAD] += 1
        self._line(document_of(row, self._program_id))

    def write_unread(self, origin: str, why: str) -> None:
        """Write a part of an input that could not be read."""
        self.counts["inputs", _UNREAD] += 1
        self._line({"kind": _UNREAD, "origin": origin, "notes": [why]})

    def _line(self, document: dict[str, Any]) -> None:
        self._stream.write(orjson.dumps(document) + b"\n")


@contextmanager
def json_lines(
    out: Path, program_id: Pubkey, *, replace: bool = False
) -> Iterator[JsonLines]:
    """Write the file *out*. Raises SourceError if it exists, unless *replace*."""
    _refuse_existing(out, replace)
    handle, partial = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield JsonLines(stream, program_id)
        Path(partial).chmod(0o666 & ~_umask())
        Path(partial).replace(out)
    finally:
        Path(partial).unlink(missing_ok=True)


# --- Parquet ---------------------------------------------------------------------------------


class ParquetFolder:
    """Writes `KIND/NAME/VERSION.parquet` files in *folder*, each with one table."""

    def __init__(self, folder: Path, *, text: bool = True) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._folder = folder
        self._text = text
        self._waiting: dict[_Key, list[Row]] = {}
        self._number_waiting = 0
        self._writers: dict[_Key, Any] = {}
        self._paths: set[str] = set()
        self._unread: list[dict[str, str]] = []

    def write(self, row: Row) -> None:
        """Write a row. It waits in memory until there are enough for a row group."""
        self.counts[row.kind, row.name or _UNREAD] += 1
        key = (row.kind, row.name, id(row.version))
        rows = self._waiting.setdefault(key, [])
        rows.append(row)
        self._number_waiting += 1
        if len(rows) >= _GROUP_ROWS:
            self._flush(key)
        elif self._number_waiting >= _WAITING_ROWS:
            self._flush(max(self._waiting, key=lambda one: len(self._waiting[one])))

    def write_unread(self, origin: str, why: str) -> None:
        """Write a part of an input that could not be read."""
        self.counts["inputs", _UNREAD] += 1
        self._unread.append({"origin": origin, "why": why})

    def close(self) -> None:
        """Write all that waits, and end the files."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for key in list(self._waiting):
            self._flush(key)
        for writer in self._writers.values():
            writer.close()
        if self._unread:
            pq.write_table(
                pa.Table.from_pylist(self._unread), self._folder / "unread.parquet"
            )

    def _flush(self, key: _Key) -> None:
        import pyarrow.parquet as pq

        from mcpsol_py.pipelines.tables import RowTable

        rows = self._waiting.pop(key)
        self._number_waiting -= len(rows)
        kind, name, version = rows[0].kind, rows[0].name, rows[0].version
        batch = RowTable(version, kind, name, self._text).batch(rows)
        if key not in self._writers:
            path = self._path(kind, name or _UNREAD, version.name or "1")
            self._writers[key] = pq.ParquetWriter(
                path, batch.schema, compression="zstd"
            )
        self._writers[key].write_batch(batch)

    def _path(self, kind: str, name: str, version: str) -> Path:
        """Return a path that no other table has. Names of a source may have any characters, and files may not."""
        folder, file = _safe(name), _safe(version)
        taken, number = f"{kind}/{folder}/{file}", 1
        while taken.lower() in self._paths:
            number += 1
            taken = f"{kind}/{folder}/{file}-{number}"
        self._paths.add(taken.lower())
        path = self._folder / f"{taken}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


_Key = tuple[str, str | None, int]


@contextmanager
def parquet_folder(
    out: Path, *, text: bool = True, replace: bool = False
) -> Iterator[ParquetFolder]:
    """Write the folder *out*. Raises SourceError if it exists, unless *replace*."""
    _refuse_existing(out, replace)
    partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        folder = ParquetFolder(partial, text=text)
        yield folder
        folder.close()
        partial.chmod(0o777 & ~_umask())
        _put(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put(partial: Path, out: Path) -> None:
    """Rename *partial* to *out*. An older file is removed last."""
    if not out.exists():
        partial.rename(out)
        return
    old = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.")) / "old"
    out.rename(old)
    partial.rename(out)
    shutil.rmtree(old.parent, ignore_errors=True)


def _refuse_existing(out: Path, replace: bool) -> None:
    if out.exists() and not replace:
        raise SourceError(
            "exists already: name another place, or replace it", origin=str(out)
        )
    if not out.parent.is_dir():
        raise SourceError(
            "expected a folder to write to, got none", origin=str(out.parent)
        )


def _safe(name: str) -> str:
    """Return *name* with "_" for every character that a file's name should not have."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:100].lstrip(".") or "_"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

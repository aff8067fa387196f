"""Export and import of a catalogue as JSON lines or Parquet, so that it can be published and pinned by its hash.

One line or row a version, in the order of programs. The hash is the SHA-256 of the file. Each model is checked
against its own hash when it is imported, and goes the way of every new version.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from mcpsol_py.catalog.records import (
    SEED,
    NewVersion,
    Recorded,
    Records,
    unpacked_model,
)
from mcpsol_py.errors import SourceError
from mcpsol_py.model.identity import model_hash
from mcpsol_py.names import clean_text

if TYPE_CHECKING:
    from mcpsol_py.catalog.catalog import Catalog

__all__ = ["export", "import_file"]

_FORMAT = "mcpsol-catalog-1"
_TEXTS = (
    "format",
    "address",
    "name",
    "source",
    "origin",
    "hash",
    "build_hash",
    "model",
)
_NUMBERS = ("first_slot", "last_slot", "seen_ms")
#: Rows that are recorded in one transaction.
_AT_ONCE = 100
#: The largest file that is imported, and the longest line.
_MOST_BYTES, _LONGEST_LINE = 8 * 1024**3, 32 * 1024 * 1024


def export(catalog: Catalog, path: Path) -> tuple[int, str]:
    """Write the catalogue to *path* (.jsonl or .parquet), without the seeds, which every catalogue has.

    Returns the number of versions, and the file's SHA-256.
    """
    rows = _rows(catalog.records)
    write = _parquet_writer() if path.suffix == ".parquet" else _write_lines
    return write(rows, path), _file_hash(path)


def import_file(catalog: Catalog, path: Path, expected: str | None = None) -> Recorded:
    """Add the versions of an exported file. *expected*: the SHA-256 that the file must have.

    A row that cannot be read is reported, and the others are added. Raises SourceError for another hash.
    """
    if not path.is_file():
        raise SourceError("no such file.", origin=str(path))
    if path.stat().st_size > _MOST_BYTES:
        raise SourceError(
            f"the file has more than {_MOST_BYTES:,} bytes", origin=str(path)
        )
    found = _file_hash(path)
    if expected is not None and found != expected.lower():
        raise SourceError(
            f"expected a file with the SHA-256 {expected}, got {found}",
            origin=str(path),
        )
    done = Recorded()
    batch: list[NewVersion] = []
    reader = _parquet_reader() if path.suffix == ".parquet" else _read_lines
    for number, row in enumerate(reader(path), 1):
        try:
            batch.append(_version(row))
        except SourceError as error:
            done.faults[f"{path}:{number}"] = clean_text(str(error), 500)
        if len(batch) == _AT_ONCE:
            _record(catalog.records, batch, done)
    _record(catalog.records, batch, done)
    catalog.records.record_faults(done.faults)
    catalog.refresh()
    return done


def _record(records: Records, batch: list[NewVersion], done: Recorded) -> None:
    found = records.record(batch)
    done.added += found.added
    done.unchanged += found.unchanged
    batch.clear()


def _rows(records: Records) -> Iterator[dict[str, Any]]:
    after = ""
    while some := records.programs(after=after):
        for program in some:
            mine = [one for one in program.versions if one.source != SEED]
            for version in sorted(mine, key=lambda one: one.id):
                yield {
                    "format": _FORMAT,
                    "address": program.address,
                    "name": program.name,
                    "source": version.source,
                    "origin": version.origin,
                    "hash": version.hash,
                    "first_slot": version.first_slot,
                    "last_slot": version.last_slot,
                    "seen_ms": version.seen_ms,
                    "build_hash": version.build_hash,
                    "model": base64.b64encode(records.packed(version)).decode(),
                }
        after = some[-1].key


def _version(row: Any) -> NewVersion:
    """Return the version of a row. Raises SourceError."""
    values = row if isinstance(row, dict) else {}
    if values.get("format") != _FORMAT:
        raise SourceError(f"expected a row of the format {_FORMAT}")
    texts = {key: _text(values, key) for key in _TEXTS}
    numbers = {key: _number(values, key) for key in _NUMBERS}
    try:
        model = unpacked_model(base64.b64decode(texts["model"] or "", validate=True))
    except ValueError as error:
        raise SourceError("expected the model in base64", path="model") from error
    found = model_hash(model)
    if found != texts["hash"]:
        raise SourceError(
            f"expected a model with the hash {texts['hash']}, got {found}"
        )
    if model.address != texts["address"]:
        raise SourceError(
            f"the model is of another program, {model.address}", path="address"
        )
    return NewVersion(
        model,
        _source(texts["source"]),
        texts["origin"] or "",
        build_hash=texts["build_hash"],
        first_slot=numbers["first_slot"],
        last_slot=numbers["last_slot"],
        seen_ms=numbers["seen_ms"],
    )


def _source(text: str | None) -> str:
    """Return the kind of source of a row. No file can make a version one of this package's seeds."""
    return text if text and text != SEED else "file"


def _text(values: dict[str, Any], key: str) -> str | None:
    found = values.get(key)
    if found is not None and not isinstance(found, str):
        raise SourceError(f"expected text, got {type(found).__name__}", path=key)
    return found


def _number(values: dict[str, Any], key: str) -> int | None:
    found = values.get(key)
    is_number = type(found) is int and 0 <= found < 2**63
    if found is not None and not is_number:
        raise SourceError("expected a whole number from 0 to 2**63 - 1", path=key)
    return found


# --- files -----------------------------------------------------------------------------------------------------------


def _write_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")
            count += 1
    return count


def _read_lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        while line := file.readline(_LONGEST_LINE):
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError:
                yield None


def _parquet_writer() -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [(name, pa.string()) for name in _TEXTS]
        + [(name, pa.int64()) for name in _NUMBERS]
    )

    def write(rows: Iterable[dict[str, Any]], path: Path) -> int:
        count = 0
        with pq.ParquetWriter(path, schema) as writer:
            for row in rows:
                writer.write_table(pa.Table.from_pylist([row], schema=schema))
                count += 1
        return count

    return write


def _parquet_reader() -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def read(path: Path) -> Iterator[Any]:
        try:
            for batch in pq.ParquetFile(path).iter_batches(_AT_ONCE):
                yield from batch.to_pylist()
        except pa.ArrowException as error:
            raise SourceError(
                f"cannot be read as Parquet: {error}", origin=str(path)
            ) from error

    return read


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

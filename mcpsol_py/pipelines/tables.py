"""Tables of rows: one for each instruction, event and account type, and each version of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import pyarrow as pa

from mcpsol_py.pipelines.rows import VALUE_KEYS, Kind, Row, account_names
from mcpsol_py.tables.decode import value_column
from mcpsol_py.versions import Version

__all__ = ["RowTable"]

_WHERE = {
    "slot": pa.uint64(),
    "block_time": pa.timestamp("s", "UTC"),
    "signature": pa.string(),
    "address": pa.string(),
    "index": pa.uint32(),
    "inner_index": pa.uint32(),
    "failed": pa.bool_(),
}


def _where(text: str) -> pa.Schema:
    return pa.schema([(key, _WHERE[key]) for key in text.split()])


#: Where a row of each kind was.
_WHERE_SCHEMAS: dict[Kind, pa.Schema] = {
    "instructions": _where("slot block_time signature index inner_index failed"),
    "events": _where("slot block_time signature index failed"),
    "accounts": _where("slot address"),
}
_TEXTS = pa.list_(pa.string())


@dataclass(frozen=True)
class RowTable:
    """The table of one instruction, event or account type. *name*: None for data of none of the known.

    *text*: addresses and 128-bit integers are strings.
    """

    version: Version
    kind: Kind
    name: str | None
    text: bool = True

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.batch([]).schema

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Return *rows* as a batch of this table."""
        where = pa.RecordBatch.from_pylist(
            [row.where for row in rows], _WHERE_SCHEMAS[self.kind]
        )
        columns = dict(zip(where.schema.names, where.columns, strict=True))
        columns["version"] = pa.array([self.version.name] * len(rows), pa.string())
        columns["sure"] = pa.array(map(attrgetter("is_sure"), rows), pa.bool_())
        columns |= self._accounts(rows) if self.kind == "instructions" else {}
        columns |= self._values(list(map(attrgetter("reading.value"), rows)))
        columns["rest"] = pa.array(map(_rest, rows), pa.binary())
        columns["notes"] = pa.array(map(_notes, rows), _TEXTS)
        return pa.RecordBatch.from_pydict(columns)

    def _values(self, values: Sequence[Any]) -> dict[str, pa.Array]:
        if self.name is None:
            return {}
        codecs = self.version.program.codecs
        column = value_column(codecs, self.kind, self.name, values, text=self.text)
        return {} if column is None else {VALUE_KEYS[self.kind]: column}

    def _accounts(self, rows: Sequence[Row]) -> dict[str, pa.Array]:
        """Return the accounts by name, and those that follow the named ones."""
        names = account_names(self.version, self.name)
        remaining = [list(row.accounts[len(names) :]) or None for row in rows]
        columns = {"remaining_accounts": pa.array(remaining, _TEXTS)}
        if not names:
            return columns
        given = [dict(zip(names, row.accounts, strict=False)) for row in rows]
        kind = pa.struct([(name, pa.string()) for name in dict.fromkeys(names)])
        return {"accounts": pa.array(given, kind), **columns}


def _rest(row: Row) -> bytes | None:
    return row.reading.rest or None


def _notes(row: Row) -> list[str] | None:
    return list(row.reading.notes) or None

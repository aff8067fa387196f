"""Tables of rows: one for each instruction, event and account type, and each version of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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
#: Where a row of each kind was.
_WHERE_KEYS: dict[Kind, tuple[str, ...]] = {
    "instructions": ("slot", "block_time", "signature", "index", "inner_index", "failed"),
    "events": ("slot", "block_time", "signature", "index", "failed"),
    "accounts": ("slot", "address"),
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
        columns: dict[str, pa.Array] = {
            key: pa.array([row.where.get(key) for row in rows], _WHERE[key])
            for key in _WHERE_KEYS[self.kind]
        }
        columns["version"] = pa.array([self.version.name] * len(rows), pa.string())
        columns["sure"] = pa.array([row.is_sure for row in rows], pa.bool_())
        columns |= self._accounts(rows) if self.kind == "instructions" else {}
        columns |= self._values([row.reading.value for row in rows])
        rest = [row.reading.rest or None for row in rows]
        columns["rest"] = pa.array(rest, pa.binary())
        columns["notes"] = pa.array([list(row.reading.notes) or None for row in rows], _TEXTS)
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

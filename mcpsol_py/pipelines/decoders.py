"""Functions from Arrow tables to Arrow tables, for Ray Data and other pipelines that map batches.

A decoder keeps nothing between batches, and the same batch gives the same rows. So a batch may go to any worker, and
again to another one if the first dies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import orjson
import pyarrow as pa

from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import MissingAccount, UnknownName
from mcpsol_py.pipelines.landed import Unread, records_of
from mcpsol_py.pipelines.rows import Kind, Row, RowReader
from mcpsol_py.pipelines.tables import RowTable
from mcpsol_py.program import Program, load
from mcpsol_py.tables.decode import unique_names
from mcpsol_py.versions import Version, Versions

__all__ = ["AccountDecoder", "EventDecoder", "InstructionDecoder"]


@dataclass
class _Decoder:
    """Loads the program at the first batch, in the process that decodes. `source` is what `load` takes."""

    source: Any

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def program(self) -> Program:
        """The program that decodes."""
        return load(self.source)


@dataclass
class AccountDecoder(_Decoder):
    """Adds the decoded fields to a table with the data of accounts in *column*: `decoder(batch)`.

    The columns are those of `Program.decode_accounts`. A name that the table has already gets a number.
    """

    account: str
    column: str = "data"
    text: bool = True

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return *batch* with the columns of its accounts."""
        data = batch.column(self.column)
        table = self.program.decode_accounts(data, self.account, text=self.text)
        names = unique_names([*batch.column_names, *table.column_names])
        return pa.Table.from_arrays([*batch.columns, *table.columns], names=names)


@dataclass
class _RowDecoder(_Decoder):
    name: str
    column: str = "text"
    text: bool = True

    #: What subclasses decode.
    kind: Kind = "instructions"

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return the rows in a table with JSON of transactions or blocks in *column*."""
        documents = batch.column(self.column).to_pylist()
        rows = [row for document in documents for row in self._rows(document)]
        return pa.Table.from_batches([self._table.batch(rows)])

    def _rows(self, text: str | bytes) -> Iterator[Row]:
        try:
            records = records_of(orjson.loads(text))
        except ValueError as error:
            records = iter([Unread(f"expected JSON: {error}")])
        for record in records:
            if isinstance(record, Unread):
                reading = Reading(
                    "", None, notes=(record.why,), fits=False, missing=True
                )
                yield Row(self.kind, self._table.name, self._version, reading, False)
            else:
                yield from filter(self._is_wanted, self._reader.rows(record))

    def _is_wanted(self, row: Row) -> bool:
        return row.name == self._table.name

    @cached_property
    def _version(self) -> Version:
        return Version(self.program)

    @cached_property
    def _reader(self) -> RowReader:
        address = self.program.address
        if address is None:
            raise MissingAccount(self.name, "program_id", "the IDL has no address")
        return RowReader(Versions([self._version]), address, (self.kind,))

    @cached_property
    def _table(self) -> RowTable:
        return RowTable(self._version, self.kind, self._known_name(), self.text)

    def _known_name(self) -> str:
        raise NotImplementedError


@dataclass
class InstructionDecoder(_RowDecoder):
    """Finds the calls of one instruction in transactions and blocks: `decoder(batch)`.

    *column* has their JSON, a document in each row: `ray.data.read_text` of JSON Lines calls it "text". A document that
    cannot be read gives a row with the reason in `notes`.
    """

    def _known_name(self) -> str:
        return self.program.instruction(self.name).name


@dataclass
class EventDecoder(_RowDecoder):
    """Finds the events of one name in transactions and blocks, as `InstructionDecoder` does."""

    kind: Kind = "events"

    def _known_name(self) -> str:
        if self.name not in self.program.events:
            raise UnknownName("event", self.name, self.program.events)
        return self.name

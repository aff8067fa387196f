"""Rows: the instructions, events and accounts of one program in what landed, each read with the version of its slot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from solders.pubkey import Pubkey

from mcpsol_py.client.events import event_data
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import DecodeError
from mcpsol_py.pipelines.landed import (
    LandedAccount,
    LandedCall,
    LandedTransaction,
    Record,
    Unread,
)
from mcpsol_py.solana.ids import EVENT_CPI_TAG
from mcpsol_py.utc import time_of
from mcpsol_py.versions import Version, VersionReading, Versions

__all__ = ["Kind", "Row", "RowReader", "account_names", "document_of"]

Kind: TypeAlias = Literal["instructions", "events", "accounts"]


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction, event or account, and where it was.

    `name` is None if the program has none like it: then `reading` has the data and the reason. `accounts` are those of
    an instruction. `is_sure`: the version is the one of the slot, or no other explains the data as well.
    """

    kind: Kind
    name: str | None
    version: Version
    reading: Reading
    is_sure: bool
    where: Mapping[str, Any] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of one program, at `program_id`, from records. `kinds`: those that are wanted."""

    versions: Versions
    program_id: Pubkey
    kinds: Collection[Kind] = ("instructions", "events", "accounts")

    def rows(self, record: Record) -> Iterator[Row]:
        """Yield the rows of a transaction or account. What belongs to other programs has none."""
        for kind, read in _READERS[type(record)].items():
            if kind in self.kinds:
                yield from read(self, record)

    def _account(self, record: LandedAccount) -> Iterator[Row]:
        if record.owner not in (None, str(self._behind)):
            return
        where = {"slot": record.slot, "address": record.address}
        try:
            found = self.versions.read_account(record.data)
        except DecodeError as error:
            yield self._unread("accounts", record.data, error, where)
            return
        yield _row("accounts", found, where)

    def _instructions(self, record: LandedTransaction) -> Iterator[Row]:
        for call in record.calls:
            is_event = self._is_own(call) and (call.data or b"").startswith(
                EVENT_CPI_TAG
            )
            if call.program == str(self.program_id) and not is_event:
                yield self._instruction(record, call)

    def _instruction(self, record: LandedTransaction, call: LandedCall) -> Row:
        where = {**_where(record, call.index), "inner_index": call.inner_index}
        where["failed"] = where.pop("failed")
        try:
            if call.data is None:
                raise DecodeError(
                    "the node parsed this instruction; ask it for encoding base64 or json"
                )
            found = self.versions.read_instruction(
                call.data, slot=record.slot, accounts=len(call.accounts)
            )
        except DecodeError as error:
            return self._unread(
                "instructions", call.data or b"", error, where, call.accounts
            )
        return _row("instructions", found, where, call.accounts)

    def _events(self, record: LandedTransaction) -> Iterator[Row]:
        inner = [
            (self._behind, call.data or b"")
            for call in filter(self._is_own, record.calls)
        ]
        for index, (data, is_text) in enumerate(
            event_data(self._behind, record.logs, inner)
        ):
            try:
                found = self.versions.read_event(data, slot=record.slot)
            except DecodeError:
                continue  # something else that the program logged
            if found.reading.is_whole or not is_text:
                yield _row("events", found, _where(record, index))

    def _is_own(self, call: LandedCall) -> bool:
        """Return whether a program made this call to the program that does the work."""
        return call.inner_index is not None and call.program == str(self._behind)

    @property
    def _behind(self) -> Pubkey:
        return self.versions.versions[-1].program.behind(self.program_id)

    def _unread(
        self,
        kind: Kind,
        data: bytes,
        error: DecodeError,
        where: Mapping[str, Any],
        accounts: tuple[str, ...] = (),
    ) -> Row:
        reading = Reading("", None, data, (str(error),), fits=False, missing=True)
        return Row(
            kind, None, self.versions.versions[-1], reading, False, where, accounts
        )


#: The kinds of rows that a record may have, and what reads them.
_READERS: dict[type, dict[Kind, Callable[[RowReader, Any], Iterator[Row]]]] = {
    LandedAccount: {"accounts": RowReader._account},
    LandedTransaction: {
        "instructions": RowReader._instructions,
        "events": RowReader._events,
    },
    Unread: {},
}


def _row(
    kind: Kind,
    found: VersionReading,
    where: Mapping[str, Any],
    accounts: tuple[str, ...] = (),
) -> Row:
    name = found.reading.name
    return Row(kind, name, found.version, found.reading, found.is_sure, where, accounts)


def _where(record: LandedTransaction, index: int) -> dict[str, Any]:
    return {
        "slot": record.slot,
        "block_time": record.block_time,
        "signature": record.signature,
        "index": index,
        "failed": record.failed,
    }


def account_names(version: Version, instruction: str | None) -> list[str]:
    """Return the names of an instruction's accounts, in order. Names inside a group are dotted."""
    return (
        [] if instruction is None else version.program.instruction(instruction).accounts
    )


#: What the fields of a row are called in documents and tables.
VALUE_KEYS: dict[Kind, str] = {
    "instructions": "args",
    "events": "fields",
    "accounts": "fields",
}


def document_of(row: Row, program_id: Pubkey) -> dict[str, Any]:
    """Return a row as a JSON document, with values in their JSON forms."""
    document: dict[str, Any] = {"kind": row.kind.removesuffix("s"), **row.where}
    if document.get("block_time") is not None:
        document["block_time"] = time_of(document["block_time"] * 1000)
    document |= {
        "program": str(program_id),
        "version": row.version.name,
        "sure": row.is_sure,
    }
    document["name"] = row.name
    if row.kind == "instructions":
        names = account_names(row.version, row.name)
        document["accounts"] = dict(zip(names, row.accounts, strict=False))
        document["remaining_accounts"] = list(row.accounts[len(names) :])
    document[VALUE_KEYS[row.kind]] = row.reading.json()
    document["rest"] = "0x" + row.reading.rest.hex() if row.reading.rest else None
    document["notes"] = list(row.reading.notes)
    return document

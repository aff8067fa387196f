"""Transactions and instruction data decoded, in JSON form."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol, runtime_checkable

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTable
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.calls.display import words_for
from mcpsol_py.calls.foreign.known_instructions import read_known
from mcpsol_py.calls.foreign.message_accounts import MessageAccounts
from mcpsol_py.calls.foreign.text import message_from_json, read_transaction
from mcpsol_py.calls.landed import landed_changes
from mcpsol_py.calls.prepare import ServedProgram, errors_of, programs_by_id
from mcpsol_py.client.call_stack import is_cut
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import read_events
from mcpsol_py.client.landed_record import balances_of, check_result
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import DecodeError, McpsolError, ProgramFailed, abbr
from mcpsol_py.items import without_nulls
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.solana.addresses import PROGRAM_NAMES
from mcpsol_py.solana.base58 import b58decode

__all__ = [
    "data_of",
    "decode_data",
    "decode_raw",
    "decode_result",
    "decode_signature",
    "decode_transaction",
    "landed_result",
]

_LONGEST_BASE58 = 4096
_HEX = re.compile(r"([0-9a-f]{2})*|([0-9A-F]{2})*")


# --- data of one instruction -----------------------------------------------------------------


def data_of(text: str, path: str) -> bytes:
    """Return one instruction's data from hex, "base64:…", or base58 as explorers show it.

    Raises DecodeError with *path*.
    """
    try:
        return _data_bytes(text)
    except ValueError as error:
        message = (
            'expected data as hex like "0x01ff", as "base64:…", or as base58 like in explorers, '
            f"got {abbr(text)}"
        )
        raise DecodeError(message, path=path) from error


def _data_bytes(text: str) -> bytes:
    if text.startswith("base64:"):
        return base64.b64decode(text[7:], validate=True)
    digits = text.removeprefix("0x")
    if digits != text or _HEX.fullmatch(digits) or len(text) > _LONGEST_BASE58:
        return bytes.fromhex(digits)
    return b58decode(text)


def decode_data(
    served: ServedProgram, data: bytes, accounts: Sequence[str] = ()
) -> dict[str, Any]:
    """Return one instruction's data as name and arguments, with *accounts* by name.

    "notes" say what the source does not explain. Raises DecodeError if the program has no such instruction.
    """
    program, reading, facts = served.read_instruction(
        data, accounts=len(accounts) or None
    )
    ix = program.instruction(reading.name)
    row = _call_row(reading, facts)
    if accounts:
        row["accounts"] = [
            {"name": _account_name(ix.accounts, place), "address": address}
            for place, address in enumerate(accounts)
        ]
    return row


def _call_row(reading: Reading, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "instruction": reading.name,
        "args": reading.json(),
        **facts,
        **_notes(reading),
    }


def _notes(reading: Reading) -> dict[str, list[str]]:
    return {"notes": list(reading.notes)} if reading.notes else {}


def decode_raw(
    programs: Sequence[ServedProgram], data: bytes, accounts: Sequence[str] = ()
) -> dict[str, Any]:
    """Return each reading of one instruction's data that fits one of *programs*.

    Several may fit, because Anchor's programs share discriminators. Readings with notes are left out
    if there is one without. Raises the DecodeError of the
    only program, or one error for all of them.
    """
    rows: list[dict[str, Any]] = []
    errors: list[McpsolError] = []
    for served in programs:
        try:
            rows.append(
                {"program": served.program.name, **decode_data(served, data, accounts)}
            )
        except McpsolError as error:
            errors.append(error)
    rows = [row for row in rows if "notes" not in row] or rows
    if len(rows) == 1:
        return {"instructions": rows}
    if rows:
        note = (
            "several programs have an instruction that begins with these bytes; "
            "the data does not tell which one is meant"
        )
        return {"instructions": rows, "note": note}
    if len(errors) == 1:
        raise errors[0]
    names = ", ".join(served.program.name for served in programs) or "the list is empty"
    message = f"0x{data[:8].hex()} does not begin an instruction of any program here ({names})"
    raise DecodeError(message, path="data")


# --- transactions ----------------------------------------------------------------------------


@runtime_checkable
class _Archive(Protocol):
    """A node that keeps transactions that landed."""

    async def landed(self, signature: Signature) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class _Landed:
    """The message of a transaction, and what the chain adds to one that landed.

    `loaded` are the addresses from lookup tables, writable ones first. `inner` are the calls that
    programs made, by the index of the instruction. `facts` go into the answer.
    """

    message: Any
    loaded: tuple[str, ...] = ()
    inner: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    logs: tuple[str, ...] = ()

    @classmethod
    def from_response(cls, result: Mapping[str, Any], message: Any) -> _Landed:
        """Read a checked result of getTransaction."""
        meta = result.get("meta") or {}
        found = meta.get("loadedAddresses") or {}
        loaded = (*found.get("writable", ()), *found.get("readonly", ()))
        inner = meta.get("innerInstructions") or ()
        facts = {
            "slot": result.get("slot"),
            "time": result.get("blockTime"),
            "fee": str(meta.get("fee", "")),
            "error": meta.get("err"),
            "balance_changes": _balance_changes(
                [*map(str, message.account_keys), *loaded], meta
            ),
        }
        return cls(
            message=message,
            loaded=loaded,
            inner={part["index"]: part["instructions"] for part in inner},
            facts={
                name: value
                for name, value in facts.items()
                if value not in (None, "", [])
            },
            logs=tuple(meta.get("logMessages") or ()),
        )


def _message_of(transaction: Any) -> Any:
    """Return the message of a transaction in a node's encoding json, base64 or base58."""
    if isinstance(transaction, dict):
        return message_from_json(transaction["message"])
    text = transaction[0] if isinstance(transaction, list) else transaction
    return read_transaction(text).message


def _balance_changes(
    keys: Sequence[str], meta: Mapping[str, Any]
) -> list[dict[str, Any]]:
    balances = balances_of(keys, meta)
    return (
        []
        if balances is None
        else [change.to_json() for change in landed_changes(balances)]
    )


async def decode_result(
    programs: Sequence[ServedProgram],
    result: Mapping[str, Any],
    transport: Transport | None = None,
) -> dict[str, Any]:
    """Return a landed transaction as `decode_signature`: from a result of getTransaction, in encoding json or base64.

    Raises DecodeError for a result of another form, TransportError.
    """
    try:
        message = _message_of(result["transaction"])
        landed = _Landed.from_response(check_result(result), message)
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:
        why = f"expected a result of getTransaction: {type(error).__name__}: {error}"
        raise DecodeError(why, path="transaction") from error
    return await _decode(programs, landed, transport)


async def decode_signature(
    programs: Sequence[ServedProgram], transport: Transport, signature: str
) -> dict[str, Any]:
    """Return a transaction that landed, with the calls that programs made, its events and its error.

    Raises DecodeError if *signature* is malformed or unknown, TransportError.
    """
    return await decode_result(
        programs, await landed_result(transport, signature), transport
    )


async def landed_result(transport: Transport, signature: str) -> dict[str, Any]:
    """Return the result of getTransaction for a transaction that landed. Raises as `decode_signature`."""
    try:
        key = Signature.from_string(signature)
    except ValueError as error:
        message = f"expected a signature (base58 of 64 bytes), got {abbr(signature)}"
        raise DecodeError(message, path="signature") from error
    if not isinstance(transport, _Archive):
        message = "this chain keeps no transactions: pass the transaction itself"
        raise DecodeError(message, path="signature")
    result = await transport.landed(key)
    if result is None:
        message = f"{transport.endpoint} does not know transaction {key}"
        raise DecodeError(message, path="signature")
    return result


async def decode_transaction(
    programs: Sequence[ServedProgram],
    text: str,
    transport: Transport | None = None,
    *,
    loaded: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a transaction (or message) in base64 or base58, instruction by instruction.

    Instructions of unknown programs are shown as bytes. Address lookup tables are read from *transport*, if given,
    unless *loaded* has their addresses. Raises DecodeError, TransportError.
    """
    message = read_transaction(text).message
    return await _decode(programs, _Landed(message, tuple(loaded)), transport)


async def _decode(
    programs: Sequence[ServedProgram], landed: _Landed, transport: Transport | None
) -> dict[str, Any]:
    message = landed.message
    lookups = list(getattr(message, "address_table_lookups", ()))
    if not lookups or landed.loaded:
        return _decode_message(programs, message, landed)
    loaded, note = await _load_addresses(lookups, transport)
    return _decode_message(
        programs, message, replace(landed, loaded=tuple(loaded)), note
    )


def _decode_message(
    programs: Sequence[ServedProgram], message: Any, landed: _Landed, note: str = ""
) -> dict[str, Any]:
    accounts = MessageAccounts(message, landed.loaded)
    known = programs_by_id(programs)
    reader = _InstructionReader(known, accounts, landed.facts.get("slot"))
    rows = [
        reader.read_with_calls(
            _RawInstruction.from_message(ix), landed.inner.get(place, ())
        )
        for place, ix in enumerate(message.instructions)
    ]
    out: dict[str, Any] = {
        "fee_payer": "".join(accounts.signers[:1]),
        "signers": accounts.signers,
        "instructions": rows,
    }
    if note:
        out["note"] = note
    out |= landed.facts
    events = list(
        chain.from_iterable(
            _events_in(served, landed, rows) for served in known.values()
        )
    )
    if events:
        out["events"] = events
    out |= _failure(landed, known, accounts, message)
    if is_cut(landed.logs):
        out["log_note"] = (
            "the runtime cut the log, so events and reasons of errors may be missing"
        )
    return out


def _failure(
    landed: _Landed,
    known: Mapping[str, ServedProgram],
    accounts: MessageAccounts,
    message: Any,
) -> dict[str, Any]:
    """Return what the error of a transaction means: the program that failed, and its error by name."""
    failed = explain(
        Outcome(err=landed.facts.get("error"), logs=landed.logs),
        programs=[accounts.address(ix.program_id_index) for ix in message.instructions],
        own=errors_of(known.values()),
        accounts=accounts.keys,
    )
    return (
        {}
        if failed is None
        else {"failure": {"text": str(failed), **_failure_facts(failed)}}
    )


def _failure_facts(failed: ProgramFailed) -> dict[str, Any]:
    facts = {"program_id": failed.program_id, "name": failed.name, "code": failed.code}
    return without_nulls(facts)


def _events_in(
    served: ServedProgram, landed: _Landed, rows: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Give the events that a program logged, or sent to itself in a call."""
    assert served.program_id is not None
    behind = served.program.behind(served.program_id)
    calls = chain.from_iterable(row.get("calls", ()) for row in rows)
    own_calls = [call["data"] for call in calls if call["program_id"] == str(behind)]
    inner = [(behind, bytes.fromhex(data.removeprefix("0x"))) for data in own_calls]
    program = served.program_at(landed.facts.get("slot"))
    for event in read_events(program, served.program_id, landed.logs, inner):
        row = {
            "program": served.program.name,
            "name": event.name,
            "fields": event.json(),
        }
        yield {**row, **_notes(event)}


# --- instructions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RawInstruction:
    """A compiled instruction: its program and accounts are indexes into the message's accounts."""

    program: int
    accounts: Sequence[int]
    data: bytes

    @classmethod
    def from_message(cls, compiled: Any) -> _RawInstruction:
        return cls(compiled.program_id_index, compiled.accounts, bytes(compiled.data))

    @classmethod
    def from_json(cls, call: Mapping[str, Any]) -> _RawInstruction:
        return cls(call["programIdIndex"], call["accounts"], b58decode(call["data"]))


@dataclass(frozen=True, slots=True)
class _InstructionReader:
    """Decodes the instructions of one message. `known` are the programs with an IDL, by id."""

    known: Mapping[str, ServedProgram]
    accounts: MessageAccounts
    slot: int | None = None

    def read_with_calls(
        self, raw: _RawInstruction, inner: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Decode an instruction and, under "calls", the calls that it made."""
        row = self.read(raw)
        calls = [
            {
                **self.read(_RawInstruction.from_json(call)),
                "depth": call.get("stackHeight", 2),
            }
            for call in inner
        ]
        return {**row, "calls": calls} if calls else row

    def read(self, raw: _RawInstruction) -> dict[str, Any]:
        """Decode an instruction by its program's IDL or the tables of common programs."""
        program_id = self.accounts.address(raw.program)
        row: dict[str, Any] = {"program_id": program_id, "data": "0x" + raw.data.hex()}
        served = self.known.get(program_id)
        if served is None:
            self._name_accounts(row, raw, _read_common(row, raw))
            return row
        row["program"] = served.program.name
        try:
            ix = self._read_by_idl(row, served, raw)
        except McpsolError as error:
            row["note"] = str(error)
            self._name_accounts(row, raw, ())
            return row
        self._name_accounts(row, raw, ix.accounts)
        return row | _display(ix, row)

    def _read_by_idl(
        self, row: dict[str, Any], served: ServedProgram, raw: _RawInstruction
    ) -> ProgramInstruction:
        """Add the instruction's name and arguments to *row*, and return the instruction."""
        program, reading, facts = served.read_instruction(
            raw.data, slot=self.slot, accounts=len(raw.accounts)
        )
        row |= _call_row(reading, facts)
        return program.instruction(reading.name)

    def _name_accounts(
        self, row: dict[str, Any], raw: _RawInstruction, names: Sequence[str] | None
    ) -> None:
        row["accounts"] = [
            {**_name_entry(names, place), **self.accounts.describe(index)}
            for place, index in enumerate(raw.accounts)
        ]


def _display(ix: ProgramInstruction, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the author's words for a call, if there are any."""
    if row["args"] is None:
        return {}
    addresses = {
        account.get("name", ""): account["address"] for account in row["accounts"]
    }
    sentence = words_for(ix, row["args"], addresses).sentence
    return {"display": sentence} if sentence else {}


def _read_common(row: dict[str, Any], raw: _RawInstruction) -> Sequence[str] | None:
    """Do as `_read_by_idl` for programs without one. Return None if the instruction is unknown."""
    row["program"] = PROGRAM_NAMES.get(row["program_id"], "unknown")
    common = read_known(row["program_id"], raw.data)
    if common is None:
        return None
    row["instruction"], row["args"], names = common
    return names or None


def _name_entry(names: Sequence[str] | None, place: int) -> dict[str, str]:
    return {} if names is None else {"name": _account_name(names, place)}


def _account_name(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else f"remaining[{place - len(names)}]"


# --- lookup tables ---------------------------------------------------------------------------


async def _load_addresses(
    lookups: Sequence[Any], transport: Transport | None
) -> tuple[list[str], str]:
    """Return the addresses from lookup tables, writable ones first, and a note about missing tables."""
    tables = await _read_tables([lookup.account_key for lookup in lookups], transport)
    writable = [_entries(tables, x.account_key, x.writable_indexes) for x in lookups]
    readonly = [_entries(tables, x.account_key, x.readonly_indexes) for x in lookups]
    addresses = list(chain.from_iterable(writable + readonly))
    missing = ", ".join(str(key) for key, held in tables.items() if not held)
    if missing:
        why = (
            "no chain was given" if transport is None else "they are not on this chain"
        )
        return (
            addresses,
            f"the addresses in lookup tables ({missing}) are unknown: {why}",
        )
    return addresses, "; ".join(
        filter(None, (_why_short(x, tables[x.account_key]) for x in lookups))
    )


def _why_short(lookup: Any, held: Sequence[Pubkey]) -> str:
    """Say that a table has fewer addresses than the transaction uses, or return ""."""
    last = max([*lookup.writable_indexes, *lookup.readonly_indexes], default=-1)
    if last < len(held):
        return ""
    return (
        f"lookup table {lookup.account_key} has {len(held)} addresses here, and the transaction uses entry {last}: "
        "it is a transaction of another chain, or of before the table was closed and made again"
    )


async def _read_tables(
    keys: Sequence[Pubkey], transport: Transport | None
) -> dict[Pubkey, Sequence[Pubkey]]:
    """Read the addresses in lookup tables. A table that cannot be read has none."""
    if transport is None:
        return dict.fromkeys(keys, ())
    return dict(
        zip(
            keys, map(_table_addresses, await transport.get_accounts(keys)), strict=True
        )
    )


def _table_addresses(account: Account | None) -> Sequence[Pubkey]:
    if account is None:
        return ()
    try:
        return AddressLookupTable.deserialize(bytes(account.data)).addresses
    except (ValueError, TypeError):
        return ()


def _entries(
    tables: Mapping[Pubkey, Sequence[Pubkey]], table: Pubkey, indexes: Iterable[int]
) -> list[str]:
    """Return the addresses at *indexes*, and a description of each that the table lacks."""
    known = dict(enumerate(tables[table]))
    return [
        str(known.get(index, f"entry {index} of table {table}")) for index in indexes
    ]

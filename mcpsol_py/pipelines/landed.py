"""Transactions and accounts in the JSON of RPC nodes.

Reads the results of getTransaction, getBlock, getAccountInfo, getMultipleAccounts and getProgramAccounts, alone, in
lists, or in the answer around them, in all encodings of transactions. A transaction or account that cannot be read is
an `Unread` with the reason, and the others are read.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from mcpsol_py.calls.foreign.message_accounts import MessageAccounts
from mcpsol_py.calls.foreign.text import read_transaction
from mcpsol_py.errors import DecodeError, abbr
from mcpsol_py.solana.base58 import b58decode

__all__ = [
    "LandedAccount",
    "LandedCall",
    "LandedTransaction",
    "Record",
    "Unread",
    "records_of",
    "transactions_of",
]


@dataclass(frozen=True, slots=True)
class LandedCall:
    """An instruction of a transaction, or a call that a program made (`inner_index`: its place among them).

    `data` is None if the node parsed it, and gave no bytes.
    """

    program: str
    accounts: tuple[str, ...]
    data: bytes | None
    index: int
    inner_index: int | None = None


@dataclass(frozen=True, slots=True)
class LandedTransaction:
    """A transaction that landed. `block_time` is in seconds since 1970, UTC."""

    signature: str
    calls: tuple[LandedCall, ...]
    slot: int | None = None
    block_time: int | None = None
    failed: bool = False
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LandedAccount:
    """An account. `slot` is when it was read, not when it was written."""

    data: bytes
    address: str | None = None
    owner: str | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a document that could not be read, and why."""

    why: str


Record: TypeAlias = LandedTransaction | LandedAccount | Unread
_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Around:
    """What the block or the answer around a record says of it, and how transactions are read."""

    slot: int | None = None
    block_time: int | None = None
    read: Callable[[_Json, _Around], Any] | None = None


def records_of(document: object) -> Iterator[Record]:
    """Yield the transactions and accounts in a document."""
    try:
        yield from _records(document, _Around())
    except RecursionError:
        yield Unread("the document nests too deep")


def transactions_of(document: object) -> Iterator[dict[str, Any] | Unread]:
    """Yield the transactions in a document as results of getTransaction, as the node wrote them.

    What a block says of its transactions is added to each.
    """
    try:
        for record in _records(document, _Around(read=_as_result)):
            yield _NO_TRANSACTION if isinstance(record, LandedAccount) else record  # type: ignore[misc]
    except RecursionError:
        yield Unread("the document nests too deep")


_NO_TRANSACTION = Unread(
    "expected a transaction, got an account: read it with --format"
)


def _as_result(document: _Json, around: _Around) -> dict[str, Any]:
    slot, when = (
        _number(document, "slot", around.slot),
        _number(document, "blockTime", around.block_time),
    )
    return {**document, "slot": slot, "blockTime": when}


def _records(document: object, around: _Around) -> Iterator[Record]:
    if isinstance(document, list):
        for item in document:
            yield from _records(item, around)
    elif isinstance(document, dict):
        read = next(
            (read for key, read in _SHAPES.items() if document.get(key) is not None),
            _unknown,
        )
        yield from read(document, around)
    elif document:
        yield from _one_transaction({"transaction": document}, around)
    else:
        yield _NOTHING


#: Nodes answer null for what they do not have.
_NOTHING = Unread("expected a transaction, a block or accounts, got null")


def _unknown(document: _Json, around: _Around) -> Iterator[Record]:
    if document.keys() & {"result", "value"}:
        yield _NOTHING
    else:
        keys = abbr(list(document))
        yield Unread(
            f"expected a transaction, a block or accounts, got an object with {keys}"
        )


def _failure(document: _Json, around: _Around) -> Iterator[Record]:
    yield Unread(f"the node answered with an error: {abbr(document['error'])}")


def _answer(document: _Json, around: _Around) -> Iterator[Record]:
    return _records(document["result"], around)


def _with_context(document: _Json, around: _Around) -> Iterator[Record]:
    context = document.get("context")
    slot = _number(context, "slot") if isinstance(context, dict) else None
    return _records(document["value"], replace(around, slot=slot))


def _block(document: _Json, around: _Around) -> Iterator[Record]:
    """Read a block. The result of getBlock does not say its own slot: only what wrote the file may."""
    slot, when = _number(document, "slot"), _number(document, "blockTime")
    return _records(
        document["transactions"], replace(around, slot=slot, block_time=when)
    )


def _one_transaction(document: _Json, around: _Around) -> Iterator[Record]:
    yield _read(around.read or _transaction, document, around)


def _one_account(document: _Json, around: _Around) -> Iterator[Record]:
    yield _read(_account, document, around)


_SHAPES = {
    "error": _failure,
    "result": _answer,
    "value": _with_context,
    "transactions": _block,
    "transaction": _one_transaction,
    "account": _one_account,
    "data": _one_account,
}


def _read(read: Any, document: _Json, around: _Around) -> Record:
    try:
        record: Record = read(document, around)
    except DecodeError as error:
        return Unread(str(error))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return Unread(
            f"expected the JSON of an RPC node: {type(error).__name__}: {error}"
        )
    return record


def _number(document: _Json, key: str, other: int | None = None) -> int | None:
    """Return a slot or a time in seconds, *other* for what cannot be one."""
    found = document.get(key)
    return found if type(found) is int and 0 <= found < _NEVER else other


#: The first second of the year 10000, far beyond any slot.
_NEVER = 253_402_300_800


# --- transactions ----------------------------------------------------------------------------


def _transaction(document: _Json, around: _Around) -> LandedTransaction:
    meta: _Json = document.get("meta") or {}
    body, loaded = document["transaction"], _loaded(meta)
    if isinstance(body, dict):
        signatures, calls = (
            body["signatures"],
            _calls_of_json(body["message"], loaded, meta),
        )
    else:
        parsed = read_transaction(body[0] if isinstance(body, list) else body)
        signatures, calls = (
            parsed.signatures,
            _calls_of_message(parsed.message, loaded, meta),
        )
    return LandedTransaction(
        signature=str(next(iter(signatures), "")),
        calls=tuple(calls),
        slot=_number(document, "slot", around.slot),
        block_time=_number(document, "blockTime", around.block_time),
        failed=meta.get("err") is not None,
        logs=tuple(meta.get("logMessages") or ()),
    )


def _loaded(meta: _Json) -> list[str]:
    """Return the addresses from lookup tables, writable ones first."""
    loaded = meta.get("loadedAddresses") or {}
    return [*loaded.get("writable", ()), *loaded.get("readonly", ())]


def _calls_of_json(
    message: _Json, loaded: list[str], meta: _Json
) -> Iterator[LandedCall]:
    keys = message["accountKeys"]
    # jsonParsed lists those of lookup tables, too.
    if keys and isinstance(keys[0], dict):
        addresses = [key["pubkey"] for key in keys]
    else:
        addresses = [*keys, *loaded]
    for index, instruction in enumerate(message["instructions"]):
        yield _call(instruction, addresses, index)
    yield from _inner_calls(meta, addresses)


def _calls_of_message(
    message: Any, loaded: list[str], meta: _Json
) -> Iterator[LandedCall]:
    accounts = MessageAccounts(message, loaded)
    for index, one in enumerate(message.instructions):
        given = tuple(map(accounts.address, one.accounts))
        yield LandedCall(
            accounts.address(one.program_id_index), given, bytes(one.data), index
        )
    yield from _inner_calls(meta, accounts.keys)


def _inner_calls(meta: _Json, addresses: Sequence[str]) -> Iterator[LandedCall]:
    for group in meta.get("innerInstructions") or ():
        for place, instruction in enumerate(group["instructions"]):
            yield _call(instruction, addresses, group["index"], place)


def _call(
    instruction: _Json,
    addresses: Sequence[str],
    index: int,
    inner_index: int | None = None,
) -> LandedCall:
    given = instruction.get("accounts", ())
    data = b58decode(instruction["data"]) if "data" in instruction else None
    if "programId" in instruction:
        return LandedCall(
            instruction["programId"], tuple(given), data, index, inner_index
        )
    program = addresses[instruction["programIdIndex"]]
    return LandedCall(
        program, tuple(addresses[place] for place in given), data, index, inner_index
    )


# --- accounts --------------------------------------------------------------------------------


def _account(document: _Json, around: _Around) -> LandedAccount:
    account = document.get("account", document)
    address = document.get("pubkey", document.get("address"))
    return LandedAccount(
        _bytes_of(account["data"]), address, account.get("owner"), around.slot
    )


def _bytes_of(data: Any) -> bytes:
    """Return an account's data: [text, encoding], or text in base64, as dumps have it."""
    text, encoding = data if isinstance(data, list) else (data, "base64")
    decode = _ENCODINGS.get(encoding)
    if decode is None:
        raise DecodeError(
            f"expected data in base64 or base58, got {abbr(encoding)}", path="data"
        )
    return decode(text)


_ENCODINGS: dict[Any, Callable[[Any], bytes]] = {
    "base64": partial(base64.b64decode, validate=True),
    "base58": b58decode,
}

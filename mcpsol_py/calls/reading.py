"""Reading accounts and transactions for the tools: decoded, in JSON forms."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from solders.address_lookup_table_account import AddressLookupTable
from solders.message import from_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.balances import decimals_of, ui_amount
from mcpsol_py.calls.known_instructions import read_known
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.events import events_of
from mcpsol_py.client.transport import MemcmpFilter, Transport
from mcpsol_py.codec.account import AccountCodec, find_account
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.layout import is_bytes
from mcpsol_py.errors import DecodeError, EncodeError, McpsolError, UnknownName, abbr
from mcpsol_py.model.program import AccountType
from mcpsol_py.model.types import Array, Link, Offset, Struct, Tuple, Type
from mcpsol_py.model.types import Pubkey as Key
from mcpsol_py.names import aliases
from mcpsol_py.program import Program
from mcpsol_py.schema.json_schema import Schemas, join, property_names, quoted
from mcpsol_py.solana.addresses import PROGRAM_NAMES, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import TokenAccount, owner_filter, read_token_account

__all__ = [
    "Filter",
    "accounts_of",
    "balances",
    "data_of",
    "decode_data",
    "decode_raw",
    "decode_signature",
    "decode_transaction",
    "filterable",
    "read_account",
]

#: fields by which one can filter: each is told to a client's model
_FILTERS = 16
_TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
_TOKEN_ROWS = 50
_LONGEST_BASE58 = 4096
_HEX = re.compile(r"([0-9a-f]{2})*|([0-9A-F]{2})*")
_PADDING = re.compile(r"_|(padding|reserved|pad|unused)\d*(_\d+)?$", re.IGNORECASE)
#: memcmp takes at most this many bytes (solana: MAX_DATA_BASE58_SIZE and its siblings)
_FILTER_BYTES = 128


def address(value: Any, path: str) -> Pubkey:
    """*value* as an address. Raises EncodeError with *path*."""
    try:
        return Pubkey.from_string(value)
    except (TypeError, ValueError) as error:
        raise EncodeError(
            f"{abbr(value)} is no address (base58 of 32 bytes)", path=path, type="pubkey"
        ) from error


async def read_account(served: ServedProgram, name: str, key: Pubkey) -> dict[str, Any]:
    """The account at *key*, decoded as account type *name*. Raises DecodeError where it is not there or another's."""
    assert served.transport is not None
    (account,) = await served.transport.get_accounts([key])
    if account is None:
        raise DecodeError(f"there is no account at {key}", path=name)
    if served.program_id is not None and account.owner != served.program.behind(served.program_id):
        owner = PROGRAM_NAMES.get(str(account.owner), str(account.owner))
        raise DecodeError(
            f"account {key} belongs to program {owner}, not to {served.program.name}", path=name
        )
    codec = AccountCodec(served.program.codecs, _type_named(served.program, name))
    return {
        "address": str(key),
        "type": name,
        "lamports": str(account.lamports),
        "fields": _fields(codec.decode_json(bytes(account.data))),
    }


def _fields(value: Any) -> dict[str, Any]:
    """Structured content is an object: what is none (a tuple struct, an enum) is wrapped."""
    return value if isinstance(value, dict) else {"value": value}


def _type_named(program: Program, name: str) -> AccountType:
    return next(a for a in program.model.accounts if a.name == name)


@runtime_checkable
class _Node(Protocol):
    """What a JSON-RPC node tells and a chain in this process does not (client/rpc.py)."""

    async def token_accounts(
        self, owner: Pubkey, program_id: Pubkey
    ) -> list[tuple[Pubkey, Any]]: ...

    async def landed(self, signature: Signature) -> dict[str, Any] | None: ...

    async def program_keys(
        self, program_id: Pubkey, *, filters: Sequence[MemcmpFilter] = (), size: int | None = None
    ) -> list[Pubkey]: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """A field by which accounts can be listed: where its bytes stand, its type, and what is typed for it."""

    offset: int
    type: Type
    schema: Mapping[str, Any]


def filterable(program: Program, account: AccountType) -> dict[str, Filter]:
    """The fields by which accounts of a type can be listed, by property name: those at a place that does not depend on
    the data, in any layout; of inner structs their addresses. Padding and what is no single value is left out, and over
    _FILTERS of them numbers before addresses.
    """
    codecs = program.codecs
    start = len(account.discriminator.value) if account.discriminator.consumed else 0
    found = [
        (path, offset, node, docs)
        for path, offset, node, docs in _places(
            codecs, codecs.layouts.root(account.type), start, ()
        )
        if _one_value(codecs, node)
        and not _PADDING.match(path[-1])
        and (len(path) == 1 or isinstance(node, Key))
    ]
    while len(found) > _FILTERS:
        found.remove(
            next((row for row in reversed(found) if not isinstance(row[2], Key)), found[-1])
        )
    schemas = Schemas(codecs.layouts.resolver)
    out: list[tuple[str, Filter]] = []
    for path, offset, node, docs in found:
        schema = dict(schemas.shape(node).schema)
        if schema.get("type") in ("string", "integer", "boolean"):
            schema["description"] = join(
                str(schema.get("description", "")), quoted(docs, 60), limit=140
            )
            out.append(("_".join(path), Filter(offset, node, schema)))
    return dict(zip(property_names(name for name, _ in out), (row for _, row in out), strict=True))


def _one_value(codecs: Codecs, node: Type) -> bool:
    """Is it one value, of a size that a filter can have?"""
    if isinstance(node, (Struct, Tuple)) or (isinstance(node, Array) and not is_bytes(node)):
        return False
    return 0 < (codecs.layouts.fixed_size(node) or 0) <= _FILTER_BYTES


def _places(
    codecs: Codecs, node: Type, at: int, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int, Type, Sequence[str]]]:
    """Each field of a struct, at most one struct further in: its path, offset, type without padding, and docs; up to
    the first whose size depends on the data."""
    node, at = _bare(codecs, node, at)
    if not isinstance(node, Struct):
        return
    for member in node.fields:
        inner, here = _bare(codecs, member.type, at)
        if isinstance(inner, Struct) and not path:
            yield from _places(codecs, inner, here, (member.name,))
        else:
            yield (*path, member.name), here, inner, member.docs
        size = codecs.layouts.fixed_size(member.type)
        if size is None:
            return
        at += size


def _bare(codecs: Codecs, node: Type, at: int) -> tuple[Type, int]:
    """*node* without its padding and names, and where it begins."""
    while True:
        if isinstance(node, Offset) and node.strategy == "padded":
            at += node.amount if node.when == "pre" else 0
            node = node.item
        elif isinstance(node, Link) and isinstance(codecs.layouts.resolver.target(node), Struct):
            lowered = codecs.layouts.root(node)
            node = lowered if lowered is not node else codecs.layouts.resolver.target(node)
        else:
            return node, at


async def accounts_of(
    served: ServedProgram, name: str, where: Mapping[str, Any], limit: int
) -> dict[str, Any]:
    """Accounts of type *name* whose fields have these values, at most *limit*. Raises UnknownName, EncodeError."""
    assert served.transport is not None
    if served.program_id is None:
        raise EncodeError("the program's id is not known", path="program_id")
    program = served.program
    account = _type_named(program, name)
    codec = AccountCodec(program.codecs, account)
    filters: list[MemcmpFilter] = []
    if codec.discriminator:
        filters.append((account.discriminator.offset, codec.discriminator))
    known = filterable(program, account)
    spelling = aliases(known)
    for key, value in where.items():
        if key not in spelling:
            raise UnknownName("field", key, known, where=f"{name}.where")
        row = known[spelling[key]]
        try:
            filters.append((row.offset, program.codecs.codec(row.type).encode_json(value)))
        except EncodeError as error:
            raise error.under(f"where.{key}") from None
    size = codec.size if account.size is not None else None
    found, total = await _found(
        served.transport, program.behind(served.program_id), filters, size, limit, codec
    )
    rows: list[dict[str, Any]] = []
    for at, state in sorted(found, key=lambda item: str(item[0])):
        if len(rows) == limit:
            break
        if not codec.discriminator and find_account(program.codecs, bytes(state.data)) != account:
            continue
        try:
            rows.append(
                {"address": str(at), "fields": _fields(codec.decode_json(bytes(state.data)))}
            )
        except McpsolError as error:
            rows.append({"address": str(at), "error": str(error)})
    return {"accounts": rows, "total": total}


async def _found(
    transport: Transport,
    program_id: Pubkey,
    filters: Sequence[MemcmpFilter],
    size: int | None,
    limit: int,
    codec: AccountCodec,
) -> tuple[list[tuple[Pubkey, Any]], int]:
    """Accounts, at least *limit* where there are so many, and how many there are."""
    if (
        not isinstance(transport, _Node) or not codec.discriminator
    ):  # without one, all must be looked at
        every = await transport.program_accounts(program_id, filters=filters, size=size)
        return every, len(every)
    keys = sorted(await transport.program_keys(program_id, filters=filters, size=size), key=str)
    states = zip(keys[:limit], await transport.get_accounts(keys[:limit]), strict=True)
    return [(key, state) for key, state in states if state is not None], len(keys)


async def balances(
    transport: Transport, owner: Pubkey, mints: Sequence[Pubkey] | None
) -> dict[str, Any]:
    """SOL of *owner*, and its tokens: in the associated accounts of *mints*, or where that is None in all its token
    accounts that hold any (_TOKEN_ROWS at most, `more` says how many others there are)."""
    wanted = list(mints or ())
    held: list[tuple[Pubkey, TokenAccount]] = []
    if mints is None:
        held = [
            (at, state) for at, state in await _token_accounts(transport, owner) if state.amount
        ]
        held.sort(key=lambda row: (str(row[1].mint), str(row[0])))
        wanted = list(dict.fromkeys(state.mint for _, state in held[:_TOKEN_ROWS]))
    places = (
        []
        if mints is None
        else [associated_token(owner, m, p) for m in wanted for p in _TOKEN_PROGRAMS]
    )
    found = await transport.get_accounts([owner, *wanted, *places])
    decimals = dict(zip(wanted, map(decimals_of, found[1 : 1 + len(wanted)]), strict=True))
    rows = [_balance("SOL", found[0].lamports if found[0] is not None else 0, 9, owner)]
    if mints is None:
        rows += [
            _balance(str(s.mint), s.amount, decimals.get(s.mint), at)
            for at, s in held[:_TOKEN_ROWS]
        ]
        more = len(held) - _TOKEN_ROWS
        return {"balances": rows, **({"more": more} if more > 0 else {})}
    for place, mint in enumerate(wanted):
        both = zip(
            places[2 * place : 2 * place + 2], found[1 + len(wanted) + 2 * place :], strict=False
        )
        states = [
            (at, state)
            for at, account in both
            if (state := read_token_account(account)) is not None
        ]
        at = states[0][0] if states else places[2 * place]
        rows.append(
            _balance(str(mint), sum(state.amount for _, state in states), decimals[mint], at)
        )
    return {"balances": rows}


def _balance(mint: str, amount: int, decimals: int | None, at: Pubkey) -> dict[str, str]:
    row = {"mint": mint, "amount": str(amount), "address": str(at)}
    return row if decimals is None else {**row, "ui_amount": ui_amount(amount, decimals)}


async def _token_accounts(transport: Transport, owner: Pubkey) -> list[tuple[Pubkey, TokenAccount]]:
    """All token accounts of *owner*, of both token programs."""
    found: list[tuple[Pubkey, Any]] = []
    for program_id in _TOKEN_PROGRAMS:
        if isinstance(
            transport, _Node
        ):  # nodes keep an index of owners, and none for memcmp on tokens
            found += await transport.token_accounts(owner, program_id)
        else:
            found += await transport.program_accounts(program_id, filters=[owner_filter(owner)])
    states = ((at, read_token_account(account)) for at, account in found)
    return [(at, state) for at, state in states if state is not None and state.owner == owner]


# --- transactions ----------------------------------------------------------------------------------------------------


def data_of(text: str, path: str) -> bytes:
    """One instruction's data: hex, "base64:…", or base58 as explorers show it. Raises DecodeError."""
    try:
        if text.startswith("base64:"):
            return base64.b64decode(text[7:], validate=True)
        bare = text.removeprefix("0x")
        if text.startswith("0x") or _HEX.fullmatch(bare):
            return bytes.fromhex(bare)
        return b58decode(text) if len(text) <= _LONGEST_BASE58 else bytes.fromhex(bare)
    except ValueError as error:
        raise DecodeError(
            f'{abbr(text)} is no data: hex text like "0x01ff", "base64:…", or base58 as explorers show it',
            path=path,
        ) from error


def decode_data(served: ServedProgram, data: bytes, accounts: Sequence[str] = ()) -> dict[str, Any]:
    """One instruction's data as name and arguments; with *accounts*, those by name. Raises DecodeError, NotUsable."""
    name, _ = served.program.decode_instruction(data)
    ix = served.program.instruction(name)
    row: dict[str, Any] = {"instruction": name, "args": ix.decode_json(data)}
    if accounts:
        row["accounts"] = [
            {"name": _name(ix.accounts, i), "address": a} for i, a in enumerate(accounts)
        ]
    return row


def decode_raw(
    programs: Sequence[ServedProgram], data: bytes, accounts: Sequence[str] = ()
) -> dict[str, Any]:
    """One instruction's data, of any of *programs*: each reading that fits (Anchor's programs share discriminators).
    Raises the only program's DecodeError, or one for all of them."""
    rows: list[dict[str, Any]] = []
    errors: list[McpsolError] = []
    for served in programs:
        try:
            rows.append({"program": served.program.name, **decode_data(served, data, accounts)})
        except McpsolError as error:
            errors.append(error)
    if rows:
        told = (
            {}
            if len(rows) == 1
            else {
                "note": "several programs have such an instruction; which it is, the data do not say"
            }
        )
        return {"instructions": rows, **told}
    if len(errors) == 1:
        raise errors[0]
    names = ", ".join(served.program.name for served in programs) or "no program is served here"
    raise DecodeError(
        f"0x{data[:8].hex()} begins no instruction of any program here ({names})", path="data"
    )


@dataclass(frozen=True, slots=True)
class _Landed:
    """What a chain adds to a transaction that landed."""

    transaction: str
    loaded: tuple[str, ...] = ()
    inner: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    logs: tuple[str, ...] = ()


async def decode_signature(
    programs: Sequence[ServedProgram], transport: Transport, signature: str
) -> dict[str, Any]:
    """A transaction that landed, by its signature: with the calls that programs made, its events and its error. Raises
    DecodeError, TransportError."""
    try:
        key = Signature.from_string(signature)
    except ValueError as error:
        raise DecodeError(
            f"{abbr(signature)} is no signature (base58 of 64 bytes)", path="signature"
        ) from error
    if not isinstance(transport, _Node):
        raise DecodeError(
            "the local chain keeps no transactions; give the transaction itself", path="signature"
        )
    result = await transport.landed(key)
    if result is None:
        raise DecodeError(f"{transport.endpoint} knows no transaction {key}", path="signature")
    meta = result.get("meta") or {}
    loaded = meta.get("loadedAddresses") or {}
    landed = _Landed(
        result["transaction"][0],
        (*loaded.get("writable", ()), *loaded.get("readonly", ())),
        {part["index"]: part["instructions"] for part in meta.get("innerInstructions") or ()},
        {"slot": result.get("slot"), "fee": str(meta.get("fee", "")), "error": meta.get("err")},
        tuple(meta.get("logMessages") or ()),
    )
    return await decode_transaction(programs, landed.transaction, transport, landed)


async def decode_transaction(
    programs: Sequence[ServedProgram],
    text: str,
    transport: Transport | None = None,
    landed: _Landed | None = None,
) -> dict[str, Any]:
    """A base64 transaction (or message), instruction by instruction; what is not known is shown as bytes. Its address
    lookup tables are read from *transport*, where there is one. Raises DecodeError.
    """
    message = _message(text)
    keys = [str(key) for key in message.account_keys]
    lookups = list(getattr(message, "address_table_lookups", ()))
    note = ""
    if landed is not None and landed.loaded:
        keys += landed.loaded
    elif lookups:
        more, note = await _looked_up(lookups, transport)
        keys += more
    flags = _flags(message, sum(len(lookup.writable_indexes) for lookup in lookups))
    known = {str(p.program_id): p for p in programs if p.program_id is not None}
    rows = []
    for place, compiled in enumerate(message.instructions):
        row = _instruction(
            known, keys, flags, compiled.program_id_index, bytes(compiled.data), compiled.accounts
        )
        inner = landed.inner.get(place, ()) if landed is not None else ()
        calls = [
            {
                **_instruction(
                    known, keys, flags, i["programIdIndex"], b58decode(i["data"]), i["accounts"]
                ),
                "depth": i.get("stackHeight", 2),
            }
            for i in inner
        ]
        rows.append({**row, "calls": calls} if calls else row)
    signers = keys[: message.header.num_required_signatures]
    out: dict[str, Any] = {
        "fee_payer": signers[0] if signers else "",
        "signers": signers,
        "instructions": rows,
    }
    if note:
        out["note"] = note
    if landed is not None:
        out |= {k: v for k, v in landed.facts.items() if v not in (None, "")}
        events = [e for p in known.values() for e in _events_in(p, landed, rows)]
        out |= {"events": events} if events else {}
    return out


def _message(text: str) -> Any:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(
            f"{abbr(text)} is no transaction in base64", path="transaction"
        ) from error
    with suppress(ValueError):
        return VersionedTransaction.from_bytes(raw).message
    with suppress(ValueError):
        return from_bytes_versioned(raw)
    raise DecodeError(f"{abbr(text)} is no transaction or message in base64", path="transaction")


async def _looked_up(lookups: Sequence[Any], transport: Transport | None) -> tuple[list[str], str]:
    """The addresses that come from lookup tables, writable ones first, as a message counts them; and what could not be
    found."""
    tables: dict[Pubkey, Sequence[Pubkey]] = {}
    missing: list[str] = []
    states: Sequence[Any] = ()
    wanted = [lookup.account_key for lookup in lookups]
    if transport is not None:
        states = await transport.get_accounts(wanted)
    for key, state in zip(wanted, states or [None] * len(wanted), strict=True):
        try:
            tables[key] = (
                AddressLookupTable.deserialize(bytes(state.data)).addresses
                if state is not None
                else ()
            )
        except (ValueError, TypeError):
            tables[key] = ()
        if not tables[key]:
            missing.append(str(key))
    out = []
    for writable in (True, False):
        for lookup in lookups:
            found = tables[lookup.account_key]
            for index in lookup.writable_indexes if writable else lookup.readonly_indexes:
                there = index < len(found)
                out.append(
                    str(found[index]) if there else f"entry {index} of table {lookup.account_key}"
                )
    if not missing:
        return out, ""
    why = (
        "there is no chain to read them from" if transport is None else "they are not on this chain"
    )
    return out, f"addresses of lookup tables are not known ({', '.join(missing)}): {why}"


def _flags(message: Any, loaded_writable: int) -> Callable[[int], dict[str, bool]]:
    """What a message says of the account at a place: does it sign, may it be written?"""
    header, own = message.header, len(message.account_keys)
    signers = header.num_required_signatures

    def flags(place: int) -> dict[str, bool]:
        if place >= own:
            return {"signer": False, "writable": place - own < loaded_writable}
        if place < signers:
            return {
                "signer": True,
                "writable": place < signers - header.num_readonly_signed_accounts,
            }
        return {"signer": False, "writable": place < own - header.num_readonly_unsigned_accounts}

    return flags


def _instruction(
    known: Mapping[str, ServedProgram],
    keys: Sequence[str],
    flags: Callable[[int], dict[str, bool]],
    program_index: int,
    data: bytes,
    places: Sequence[int],
) -> dict[str, Any]:
    """One instruction: by the IDL of its program, by the tables of common programs, else as bytes."""
    program_id = keys[program_index] if program_index < len(keys) else "unknown"
    row: dict[str, Any] = {"program_id": program_id, "data": "0x" + data.hex()}
    names: Sequence[str] = ()
    served = known.get(program_id)
    if served is not None:
        row["program"] = served.program.name
        try:
            row |= decode_data(served, data)
            names = served.program.instruction(row["instruction"]).accounts
        except McpsolError as error:
            row["note"] = str(error)
    else:
        row["program"] = PROGRAM_NAMES.get(program_id, "unknown")
        common = read_known(program_id, data)
        if common is not None:
            row["instruction"], row["args"], names = common
    row["accounts"] = [
        {
            **({"name": _name(names, i)} if names or served is not None else {}),
            "address": keys[place] if place < len(keys) else "unknown",
            **flags(place),
        }
        for i, place in enumerate(places)
    ]
    return row


def _name(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else f"remaining[{place - len(names)}]"


def _events_in(
    served: ServedProgram, landed: _Landed, rows: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The events of a program in a landed transaction: what it logged, and what it sent to itself."""
    program = served.program
    assert served.program_id is not None
    behind = program.behind(served.program_id)
    calls = (call for row in rows for call in row.get("calls", ()))
    inner = [
        (behind, bytes.fromhex(call["data"][2:]))
        for call in calls
        if call["program_id"] == str(behind)
    ]
    for name, fields in events_of(program, served.program_id, landed.logs, inner, json=True):
        yield {"program": program.name, "name": name, "fields": fields}

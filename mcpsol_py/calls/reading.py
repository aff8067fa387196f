"""Accounts and balances read from the chain, in JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.calls.account_filters import filterable
from mcpsol_py.calls.balances import decimals_of, readable, ui_amount
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.shorten import shorten
from mcpsol_py.client.transport import MemcmpFilter, Transport
from mcpsol_py.codec.account import AccountCodec, account_named, find_account
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import (
    AccountNotFound,
    DecodeError,
    EncodeError,
    McpsolError,
    UnknownName,
    abbr,
)
from mcpsol_py.items import without_nulls
from mcpsol_py.model.program import AccountType
from mcpsol_py.names import ByName, clean_json
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import (
    CLOCK_SYSVAR,
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAMS,
)
from mcpsol_py.solana.clock import clock_of
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import (
    Mint,
    TokenAccount,
    owner_filter,
    read_mint,
    read_token_account,
)
from mcpsol_py.utc import seconds_text

__all__ = [
    "ROOM",
    "account_without_schema",
    "accounts_of",
    "address",
    "balances",
    "chain_time",
    "common_account",
    "decoded_account",
    "need_account",
    "read_account",
    "utc_text",
]

#: Characters of JSON for the fields of the accounts in one result.
ROOM = 16_000
#: Characters of one text of an account that is asked for as a whole: more than an account can hold.
_WHOLE = 32 * 1024 * 1024

#: Token accounts that `balances` lists at most.
_MAX_TOKEN_ROWS = 50


@runtime_checkable
class _IndexedNode(Protocol):
    """A node that can list addresses alone, and has an index of the owners of token accounts."""

    async def token_accounts(
        self, owner: Pubkey, program_id: Pubkey
    ) -> list[tuple[Pubkey, Any]]: ...

    async def program_keys(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[Pubkey]: ...


def address(value: Any, path: str) -> Pubkey:
    """Return *value* as an address. Raises EncodeError with *path*."""
    try:
        return Pubkey.from_string(value)
    except (TypeError, ValueError) as error:
        message = f"expected an address (base58 of 32 bytes), got {abbr(value)}"
        raise EncodeError(message, path=path, type="pubkey") from error


# --- accounts of a program -------------------------------------------------------------------


async def read_account(
    served: ServedProgram, name: str | None, key: Pubkey, room: int | None = ROOM
) -> dict[str, Any]:
    """Read the account at *key*, decoded as account type *name*, or as the type that its data begin.

    Raises AccountNotFound if it does not exist, TransportError, and as `decoded_account`.
    """
    assert served.transport is not None
    account = await need_account(
        served.transport, key, name or "an account of the program"
    )
    return decoded_account(served, name, key, account, room)


async def need_account(transport: Transport, key: Pubkey, wanted: str) -> Account:
    """Return the account at *key*. Raises AccountNotFound, which says that it was *wanted*, and TransportError."""
    (account,) = await transport.get_accounts([key])
    if account is None:
        raise AccountNotFound(str(key), wanted, "it does not exist")
    return account


def decoded_account(
    served: ServedProgram,
    name: str | None,
    key: Pubkey,
    account: Account,
    room: int | None = ROOM,
) -> dict[str, Any]:
    """Return an account, decoded as account type *name*, or as the type that its data begin.

    The result has "fields" if all of them could be read and have room in *room* characters, else "partial_fields".
    "notes" say what the source does not explain, or what was left out. *room* None leaves out nothing.

    Raises DecodeError if it belongs to another program or is of another type.
    """
    if served.program_id is not None and account.owner != served.program.behind(
        served.program_id
    ):
        owner = PROGRAM_NAMES.get(str(account.owner), str(account.owner))
        message = (
            f"account {key} belongs to program {owner}, not to {served.program.name}"
        )
        raise DecodeError(message, path=name or "")
    reading = served.program.read_account(bytes(account.data), name)
    return {
        "address": str(key),
        "type": reading.name,
        "lamports": str(account.lamports),
        **_fields(reading, room),
    }


def account_without_schema(key: Pubkey, account: Account) -> dict[str, Any]:
    """Return what is known of an account without a schema: its owner, its lamports and its bytes."""
    owner = str(account.owner)
    return {
        "address": str(key),
        "program": PROGRAM_NAMES.get(owner, "unknown"),
        "program_id": owner,
        "type": "unknown",
        "lamports": str(account.lamports),
        "data": "0x" + bytes(account.data).hex(),
    }


def common_account(key: Pubkey, account: Account) -> dict[str, Any] | None:
    """Return an account that needs no schema: a wallet, a program, a token account or a mint. None for another."""
    token = read_token_account(account) or read_mint(account)
    kinds = {
        "program": account.executable,
        "wallet": account.owner == SYSTEM_PROGRAM and not account.data,
        "token account": isinstance(token, TokenAccount),
        "mint": isinstance(token, Mint),
    }
    kind = next((name for name, fits in kinds.items() if fits), None)
    if kind is None:
        return None
    row = without_nulls(
        {**account_without_schema(key, account), "type": kind, "data": None}
    )
    fields = {} if token is None else _token_fields(token)
    return {**row, "fields": fields}


def _token_fields(token: TokenAccount | Mint) -> dict[str, Any]:
    """Return a token account or a mint as JSON: addresses as text, amounts as decimal text."""
    fields: dict[str, Any] = asdict(token)
    for name, value in fields.items():
        if isinstance(value, Pubkey) or (name in _AMOUNTS and value is not None):
            fields[name] = str(value)
    return fields


_AMOUNTS = ("amount", "delegated_amount", "rent_reserve", "supply")


def _fields(reading: Reading, room: int | None) -> dict[str, Any]:
    """Return what a result says of an account's fields."""
    fields = _as_object(reading.json())
    short, left_out = (fields, []) if room is None else shorten(fields, room)
    is_exact = reading.fits and not left_out
    notes = [*reading.notes, *left_out]
    row: dict[str, Any] = {"fields" if is_exact else "partial_fields": short}
    cleaned: dict[str, Any] = clean_json(
        {**row, "notes": notes} if notes else row, _WHOLE
    )
    return cleaned


def _as_object(value: Any) -> dict[str, Any]:
    """Wrap a value that is not an object (a tuple struct, an enum), as structured content must be one."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"value": value}


async def accounts_of(
    served: ServedProgram, name: str, where: Mapping[str, Any], limit: int
) -> dict[str, Any]:
    """Read accounts of type *name* whose fields have the values in *where*, *limit* at most.

    Return {"accounts": rows, "total": how many there are}. Rows say their fields as `read_account` does, and share its
    room. A row that cannot be read has "error".
    Raises UnknownName, EncodeError, TransportError.
    """
    assert served.transport is not None
    if served.program_id is None:
        raise EncodeError("the program's id is not known", path="program_id")
    program = served.program
    account = account_named(program.model, name)
    codec = AccountCodec(program.codecs, account)
    search = _AccountSearch(
        program_id=program.behind(served.program_id),
        codec=codec,
        filters=_memcmp_filters(program, account, codec, where),
        size=codec.size if account.size is not None else None,
    )
    found, total = await search.run(served.transport, limit)
    found.sort(key=lambda row: str(row[0]))
    of_type = (
        row
        for row in found
        if codec.discriminator
        or find_account(program.codecs, bytes(row[1].data)) == account
    )
    shown = list(islice(of_type, limit))
    room = ROOM // max(1, len(shown))
    rows = [_account_row(program, name, row, room) for row in shown]
    return {"accounts": rows, "total": total}


def _memcmp_filters(
    program: Program,
    account: AccountType,
    codec: AccountCodec,
    where: Mapping[str, Any],
) -> list[MemcmpFilter]:
    filters: list[MemcmpFilter] = []
    if codec.discriminator:
        filters.append((account.discriminator.offset, codec.discriminator))
    known = filterable(program, account)
    spellings = ByName(known)
    for key, value in where.items():
        field = spellings.get(key)
        if field is None:
            raise UnknownName("field", key, known, where=f"{account.name}.where")
        try:
            filters.append(
                (field.offset, program.codecs.codec(field.type).encode_json(value))
            )
        except EncodeError as error:
            raise error.under(f"where.{key}") from None
    return filters


@dataclass(frozen=True, slots=True)
class _AccountSearch:
    """A search for the accounts of one type."""

    program_id: Pubkey
    codec: AccountCodec
    filters: Sequence[MemcmpFilter]
    size: int | None

    async def run(
        self, transport: Transport, limit: int
    ) -> tuple[list[tuple[Pubkey, Account]], int]:
        """Return accounts, at least *limit* if so many match, and how many match."""
        program_id, filters, size = self.program_id, self.filters, self.size
        # Without a discriminator the data of every account decides whether it is of the type.
        if not isinstance(transport, _IndexedNode) or not self.codec.discriminator:
            every = await transport.program_accounts(
                program_id, filters=filters, size=size
            )
            return list(every), len(every)
        keys = await transport.program_keys(program_id, filters=filters, size=size)
        listed = sorted(keys, key=str)[:limit]
        states = zip(listed, await transport.get_accounts(listed), strict=True)
        return [(key, state) for key, state in states if state is not None], len(keys)


def _account_row(
    program: Program, name: str, row: tuple[Pubkey, Account], room: int
) -> dict[str, Any]:
    key, account = row
    try:
        reading = program.read_account(bytes(account.data), name)
    except McpsolError as error:
        return {"address": str(key), "error": str(error)}
    return {"address": str(key), **_fields(reading, room)}


# --- time ------------------------------------------------------------------------------------


async def chain_time(transport: Transport) -> dict[str, Any] | None:
    """Return the time of the chain by the clock that programs read, or None if the chain has no such clock."""
    (account,) = await transport.get_accounts([CLOCK_SYSVAR])
    clock = clock_of(account)
    if clock is None:
        return None
    seconds = str(clock.unix_time)
    return {"unix_time": seconds, "utc": utc_text(clock.unix_time), "slot": clock.slot}


def utc_text(unix_time: int) -> str:
    """Return a time in seconds since 1970 as text in UTC, or as "out of range"."""
    return seconds_text(unix_time) or "out of range"


# --- balances --------------------------------------------------------------------------------


async def balances(
    transport: Transport, owner: Pubkey, mints: Sequence[Pubkey] | None
) -> dict[str, Any]:
    """Read the SOL of *owner*, and its tokens of *mints* in all its token accounts.

    Without *mints*, read all token accounts that hold any, 50 at most, and count the others in "more".
    """
    if mints is None:
        return await _all_balances(transport, owner)
    return await _balances_of(transport, owner, mints)


async def _own_tokens(
    transport: Transport, key: Pubkey, account: Account | None
) -> list[dict[str, str]]:
    """Return what *account*, at *key*, holds if it is a token account: it is easily taken for its owner."""
    token = read_token_account(account)
    if token is None:
        return []
    (mint,) = await transport.get_accounts([token.mint])
    decimals = decimals_of(mint)
    row = _balance(str(token.mint), token.amount, decimals, key)
    note = "this token account itself; its owner has the others"
    return [{**row, "owner": str(token.owner), "note": note}]


async def _all_balances(transport: Transport, owner: Pubkey) -> dict[str, Any]:
    found = await _token_accounts(transport, owner)
    held = [(key, token) for key, token in found if token.amount]
    held.sort(key=lambda row: (str(row[1].mint), str(row[0])))
    listed = held[:_MAX_TOKEN_ROWS]
    mints = list(dict.fromkeys(token.mint for _, token in listed))
    wallet, *states = await transport.get_accounts([owner, *mints])
    decimals = dict(zip(mints, map(decimals_of, states), strict=True))
    rows = [
        _balance(str(token.mint), token.amount, decimals[token.mint], key)
        for key, token in listed
    ]
    rows += await _own_tokens(transport, owner, wallet)
    result: dict[str, Any] = {"balances": [_sol_balance(owner, wallet), *rows]}
    if len(held) > len(listed):
        result["more"] = len(held) - len(listed)
    return result


async def _balances_of(
    transport: Transport, owner: Pubkey, mints: Sequence[Pubkey]
) -> dict[str, Any]:
    found = await _token_accounts(transport, owner)
    associated = {
        mint: [associated_token(owner, mint, program) for program in TOKEN_PROGRAMS]
        for mint in mints
    }
    wallet, *states = await transport.get_accounts([owner, *mints])
    decimals = dict(zip(mints, map(decimals_of, states), strict=True))
    rows = [
        _mint_balance(
            mint,
            associated[mint],
            [row for row in found if row[1].mint == mint],
            decimals[mint],
        )
        for mint in mints
    ]
    rows += await _own_tokens(transport, owner, wallet)
    return {"balances": [_sol_balance(owner, wallet), *rows]}


def _mint_balance(
    mint: Pubkey,
    associated: Sequence[Pubkey],
    found: Sequence[tuple[Pubkey, TokenAccount]],
    decimals: int | None,
) -> dict[str, Any]:
    """Return the sum of an owner's token accounts of *mint*, and which ones they are.

    The row's address is the associated account's, under either token program.
    """
    keys = [key for key, _ in found]
    own = next((key for key in associated if key in keys), None)
    total = sum(token.amount for _, token in found)
    row: dict[str, Any] = _balance(str(mint), total, decimals, own or associated[0])
    if decimals is None:
        row["note"] = "no mint is at this address"
    elif own is None:
        row["note"] = "the associated account, at this address, does not exist"
    if keys not in ([], [own]):
        row["accounts"] = [
            {"address": str(key), "amount": str(token.amount)} for key, token in found
        ]
    return row


def _sol_balance(owner: Pubkey, wallet: Account | None) -> dict[str, str]:
    lamports = 0 if wallet is None else wallet.lamports
    return _balance("SOL", lamports, 9, owner)


def _balance(
    mint: str, amount: int, decimals: int | None, key: Pubkey
) -> dict[str, str]:
    row = {"mint": mint, "amount": str(amount), "address": str(key)}
    if decimals is not None:
        row["ui_amount"] = ui_amount(amount, decimals)
    return row


async def _token_accounts(
    transport: Transport, owner: Pubkey
) -> list[tuple[Pubkey, TokenAccount]]:
    """Read all token accounts of *owner*, of both token programs."""
    found: list[tuple[Pubkey, Any]] = []
    for program_id in TOKEN_PROGRAMS:
        # Nodes keep an index of owners, and refuse to search token accounts by memcmp.
        if isinstance(transport, _IndexedNode):
            found += await transport.token_accounts(owner, program_id)
        else:
            found += await transport.program_accounts(
                program_id, filters=[owner_filter(owner)]
            )
    tokens = readable(found, read_token_account)
    return [(key, token) for key, token in tokens if token.owner == owner]

"""Reading accounts and transactions for the tools: decoded, in JSON forms."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.accounts.pda import associated_token
from mcpsol_py.accounts.plan import aliases
from mcpsol_py.accounts.wellknown import PROGRAM_NAMES, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.bridge.balances import decimals_of, token_state, ui_amount
from mcpsol_py.bridge.calls import Served
from mcpsol_py.client.transport import MemcmpFilter, Transport
from mcpsol_py.codec.account import AccountCodec, find_account
from mcpsol_py.errors import DecodeError, EncodeError, McpsolError, UnknownName, abbr
from mcpsol_py.model.program import AccountType
from mcpsol_py.model.types import Field, Struct, type_text
from mcpsol_py.program import Program
from mcpsol_py.schema.json_schema import property_names

__all__ = ["accounts_of", "balances", "decode_data", "decode_transaction", "filterable", "read_account"]

#: memcmp takes at most this many bytes (solana: MAX_DATA_BASE58_SIZE and its siblings)
_FILTER_BYTES = 128


def address(value: Any, path: str) -> Pubkey:
    """*value* as an address. Raises EncodeError with *path*."""
    try:
        return Pubkey.from_string(value)
    except (TypeError, ValueError) as error:
        raise EncodeError(f"{abbr(value)} is no address (base58 of 32 bytes)", path=path, type="pubkey") from error


async def read_account(served: Served, name: str, key: Pubkey) -> dict[str, Any]:
    """The account at *key*, decoded as account type *name*. Raises DecodeError where it is not there or another's."""
    assert served.transport is not None
    (account,) = await served.transport.get_accounts([key])
    if account is None:
        raise DecodeError(f"there is no account at {key}", path=name)
    if served.program_id is not None and account.owner != served.program.behind(served.program_id):
        owner = PROGRAM_NAMES.get(str(account.owner), str(account.owner))
        raise DecodeError(f"account {key} belongs to program {owner}, not to {served.program.name}", path=name)
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


def filterable(program: Program, account: AccountType) -> dict[str, tuple[tuple[int, Field], str]]:
    """The fields by which accounts can be listed: those at a place that does not depend on the data, and no longer
    than a filter.

    Property name -> ((offset, field), what it takes).
    """
    codecs = program.codecs
    node = codecs.layouts.resolver.target(account.type)
    if not isinstance(node, Struct) or _layout(program, account) != "borsh":
        return {}
    out: dict[str, tuple[tuple[int, Field], str]] = {}
    offset = len(account.discriminator.value) if account.discriminator.consumed else 0
    names = property_names(f.name for f in node.fields)
    for name, member in zip(names, node.fields, strict=True):
        size = codecs.codec(member.type).fixed_size
        if size is None:
            break
        if 0 < size <= _FILTER_BYTES:
            out[name] = ((offset, member), type_text(member.type))
        offset += size
        if len(out) == 12:
            break
    return out


def _layout(program: Program, account: AccountType) -> str:
    name = getattr(account.type, "name", None)
    return next((t.layout for t in program.model.types if t.name == name), "borsh")


async def accounts_of(served: Served, name: str, where: Mapping[str, Any], limit: int) -> dict[str, Any]:
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
        (offset, member), _ = known[spelling[key]]
        try:
            filters.append((offset, program.codecs.codec(member.type).encode_json(value)))
        except EncodeError as error:
            raise error.under(f"where.{key}") from None
    size = codec.size if account.size is not None else None
    found = await served.transport.program_accounts(program.behind(served.program_id), filters=filters, size=size)
    rows: list[dict[str, Any]] = []
    for at, state in sorted(found, key=lambda item: str(item[0])):
        if len(rows) == limit:
            break
        if not codec.discriminator and find_account(program.codecs, bytes(state.data)) != account:
            continue
        try:
            rows.append({"address": str(at), "fields": _fields(codec.decode_json(bytes(state.data)))})
        except McpsolError as error:
            rows.append({"address": str(at), "error": str(error)})
    return {"accounts": rows, "total": len(found)}


async def balances(transport: Transport, owner: Pubkey, mints: Sequence[Pubkey]) -> dict[str, Any]:
    """SOL of *owner*, and its tokens in the associated accounts of *mints*."""
    keys = [owner, *mints]
    for mint in mints:
        keys += [associated_token(owner, mint, TOKEN_PROGRAM), associated_token(owner, mint, TOKEN_2022_PROGRAM)]
    found = await transport.get_accounts(keys)
    lamports = found[0].lamports if found[0] is not None else 0
    rows = [{"mint": "SOL", "amount": str(lamports), "ui_amount": ui_amount(lamports, 9), "address": str(owner)}]
    for place, mint in enumerate(mints):
        decimals = decimals_of(found[1 + place])
        at = 1 + len(mints) + 2 * place
        states = [(keys[at + i], s) for i in (0, 1) if (s := token_state(found[at + i])) is not None]
        amount = sum(state.amount for _, state in states)
        row = {"mint": str(mint), "amount": str(amount), "address": str(states[0][0] if states else keys[at])}
        if decimals is not None:
            row["ui_amount"] = ui_amount(amount, decimals)
        rows.append(row)
    return {"balances": rows}


# --- transactions ----------------------------------------------------------------------------------------------------


def decode_data(served: Served, data: bytes) -> dict[str, Any]:
    """One instruction's data as name and arguments. Raises DecodeError, NotUsable."""
    name, _ = served.program.decode_instruction(data)
    return {"instruction": name, "args": served.program.instruction(name).decode_json(data)}


def decode_transaction(programs: Sequence[Served], text: str) -> dict[str, Any]:
    """A base64 transaction (or message), instruction by instruction; what is not known is shown as bytes. Raises
    DecodeError.
    """
    try:
        raw = base64.b64decode(text, validate=True)
        message = VersionedTransaction.from_bytes(raw).message
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"{abbr(text)} is no transaction in base64", path="transaction") from error
    keys = message.account_keys
    known = {str(p.program_id): p for p in programs if p.program_id is not None}
    header = message.header
    signers = [str(k) for k in keys[: header.num_required_signatures]]
    rows: list[dict[str, Any]] = []
    for compiled in message.instructions:
        program_id = str(keys[compiled.program_id_index]) if compiled.program_id_index < len(keys) else "unknown"
        accounts = [str(keys[i]) if i < len(keys) else f"lookup table entry {i - len(keys)}" for i in compiled.accounts]
        row: dict[str, Any] = {"program_id": program_id, "data": "0x" + bytes(compiled.data).hex()}
        served = known.get(program_id)
        if served is None:
            row |= {"program": PROGRAM_NAMES.get(program_id, "unknown"), "accounts": [{"address": a} for a in accounts]}
        else:
            row["program"] = served.program.name
            names: list[str] = []
            try:
                row |= decode_data(served, bytes(compiled.data))
                names = served.program.instruction(row["instruction"]).accounts
            except McpsolError as error:
                row["note"] = str(error)
            row["accounts"] = [
                {"name": names[i] if i < len(names) else f"remaining[{i - len(names)}]", "address": a}
                for i, a in enumerate(accounts)
            ]
        rows.append(row)
    return {"fee_payer": signers[0] if signers else "", "signers": signers, "instructions": rows}

"""The record of a landed transaction (getTransaction), checked before anything reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from solders.pubkey import Pubkey

from mcpsol_py.client.transport import AccountBalance, Balances, TokenBalance
from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.whole_numbers import U64_MAX, read_u64

__all__ = [
    "balances_of",
    "check_error",
    "check_record",
    "check_result",
    "optional_number",
    "plain_text",
    "whole_number",
]

#: Bytes of a transaction's error as JSON. So it also nests less than JSON writers can write.
_LONGEST_ERROR = 400


def whole_number(value: object) -> int:
    """Return *value*. Raises TypeError unless it is a whole number from 0 to that of a u64."""
    if type(value) is not int or not 0 <= value <= U64_MAX:
        raise TypeError("expected a whole number")
    return value


def optional_number(value: object) -> int | None:
    """Return *value*. Raises TypeError unless it is a whole number or None."""
    return None if value is None else whole_number(value)


def plain_text(value: object) -> str:
    """Return *value*. Raises TypeError unless it is text."""
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value


def check_error(value: object) -> str | dict[str, Any] | None:
    """Return the error of a transaction: None, a name, or {name: …}. Raises TypeError or ValueError for another form.

    An InstructionError is [index, name], [index, {"Custom": number}] or [index, {name: …}].
    """
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, dict) or not value:
        raise TypeError("expected a transaction error")
    # orjson refuses deep nesting with a TypeError.
    if len(orjson.dumps(value)) > _LONGEST_ERROR:
        raise ValueError(f"expected an error of at most {_LONGEST_ERROR} bytes")
    if "InstructionError" in value:
        index, inner = value["InstructionError"]
        whole_number(index)
        if isinstance(inner, dict) and inner:
            optional_number(inner.get("Custom"))
        else:
            plain_text(inner)
    return value


def check_record(record: object) -> dict[str, Any]:
    """Return a record with encoding base64 as it is. Raises as `check_result`."""
    result = check_result(record)
    plain_text(result["transaction"][0])
    return result


def check_result(record: object) -> dict[str, Any]:
    """Return a record in any encoding as it is.

    Raises KeyError, TypeError, ValueError or IndexError for another form. The transaction itself is not checked.
    """
    if not isinstance(record, dict):
        raise TypeError("expected an object")
    optional_number(record.get("slot"))
    optional_number(record.get("blockTime"))
    if record.get("meta") is not None:
        _check_meta(record["meta"])
    return record


def _check_meta(meta: Mapping[str, Any]) -> None:
    check_error(meta.get("err"))
    optional_number(meta.get("fee"))
    for line in meta.get("logMessages") or ():
        plain_text(line)
    loaded = meta.get("loadedAddresses") or {}
    for address in [*loaded.get("writable", ()), *loaded.get("readonly", ())]:
        Pubkey.from_string(address)
    for part in meta.get("innerInstructions") or ():
        whole_number(part["index"])
        for call in part["instructions"]:
            _check_call(call)


def _check_call(call: Mapping[str, Any]) -> None:
    for place in [call["programIdIndex"], *call["accounts"]]:
        whole_number(place)
    b58decode(plain_text(call["data"]))
    optional_number(call.get("stackHeight"))


def balances_of(keys: Sequence[str], meta: Mapping[str, Any]) -> Balances | None:
    """Read the balances around a landed transaction. None if the node does not have them all, as of old ones."""
    sides = [
        (meta.get(f"{side}Balances"), meta.get(f"{side}TokenBalances"))
        for side in ("pre", "post")
    ]
    if any(rows is None for side in sides for rows in side):
        return None
    before, after = (_side(keys, lamports, tokens) for lamports, tokens in sides)
    return None if before is None or after is None else Balances(before, after)


def _side(
    keys: Sequence[str], lamports: Any, tokens: Any
) -> dict[Pubkey, AccountBalance] | None:
    if any("owner" not in row for row in tokens):
        return None
    held = {row["accountIndex"]: _token_balance(row) for row in tokens}
    return {
        Pubkey.from_string(key): AccountBalance(whole_number(amount), held.get(place))
        for place, (key, amount) in enumerate(zip(keys, lamports, strict=True))
    }


def _token_balance(row: Mapping[str, Any]) -> TokenBalance:
    mint, owner = Pubkey.from_string(row["mint"]), Pubkey.from_string(row["owner"])
    amount = read_u64(row["uiTokenAmount"]["amount"])
    decimals = optional_number(row["uiTokenAmount"].get("decimals"))
    return TokenBalance(mint, owner, whole_number(amount), decimals)

"""The record of a landed transaction (getTransaction with encoding base64), checked before anything reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.whole_numbers import U64_MAX

__all__ = ["check_error", "check_record", "optional_number", "plain_text", "whole_number"]


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
    if "InstructionError" in value:
        index, inner = value["InstructionError"]
        whole_number(index)
        if isinstance(inner, dict) and inner:
            optional_number(inner.get("Custom"))
        else:
            plain_text(inner)
    return value


def check_record(record: object) -> dict[str, Any]:
    """Return a record as it is. Raises KeyError, TypeError, ValueError or IndexError for another form."""
    if not isinstance(record, dict):
        raise TypeError("expected an object")
    plain_text(record["transaction"][0])
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

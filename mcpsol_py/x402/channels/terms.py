"""Read the fields of payment requirements that both channel schemes use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeGuard

from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import U64_MAX, read_u64
from mcpsol_py.x402.protocol.networks import caip2

__all__ = [
    "address",
    "check_network",
    "is_int",
    "is_time",
    "read_delay",
    "read_note",
    "read_slot",
]

_MEMO_BYTES = 256


@lru_cache(maxsize=8192)
def _pubkey(text: str) -> Pubkey | None:
    try:
        return Pubkey.from_string(text)
    except ValueError:
        return None


def address(value: object, code: str, what: str) -> Pubkey:
    """Read an address in base58. Raises PaymentError(*code*)."""
    found = _pubkey(value) if isinstance(value, str) else None
    if found is None:
        raise PaymentError(code, f"{what} is not an address")
    return found


def check_network(requirements: PaymentRequirements, network: str) -> None:
    """Raise PaymentError (network_mismatch) if the payment is asked on another network than ours."""
    if caip2(str(requirements.network)) != network:
        raise PaymentError(
            "network_mismatch",
            f"the payment is asked on {requirements.network}; this wallet is on {network}",
        )


def is_int(value: object) -> TypeGuard[int]:
    """Return True for a whole number, not for a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_time(value: object) -> TypeGuard[int]:
    """Return True for seconds since 1970."""
    return is_int(value) and 0 <= value < 2**53


def read_delay(
    extra: Mapping[str, Any], code: str, low: int = 1, high: int = 2**32 - 1
) -> int:
    """Read extra.withdrawDelay, the payer's grace period in seconds. Raises PaymentError(*code*)."""
    delay = extra.get("withdrawDelay")
    if not is_int(delay) or not low <= delay <= high:
        raise PaymentError(
            code,
            f"extra.withdrawDelay is {str(delay)[:30]}; "
            f"expected whole seconds from {low:,} to {high:,}",
        )
    return delay


def read_note(extra: Mapping[str, Any], code: str) -> str | None:
    """Read extra.memo, None if there is none. Raises PaymentError(*code*)."""
    note = extra.get("memo")
    if note is None or note == "":
        return None
    if not isinstance(note, str) or len(note.encode()) > _MEMO_BYTES:
        raise PaymentError(
            code, f"extra.memo: expected text of at most {_MEMO_BYTES} bytes"
        )
    return note


def read_slot(value: object) -> int | None:
    """Read a slot as a number or decimal text, None if it is neither.

    The specification says a number; npm @x402/svm writes text.
    """
    if is_int(value) and 0 <= value <= U64_MAX:
        return value
    return read_u64(value)

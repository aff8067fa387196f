"""`sha256`: the hash of values, as the bytes that they have in an account."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from mcpsol_py.bodies.numbers import Number

if TYPE_CHECKING:
    from mcpsol_py.bodies.addresses import Pubkey
    from mcpsol_py.bodies.data import Data

__all__ = ["bytes_of", "hash_of"]


def bytes_of(value: Number | Pubkey | Data | bytes | bool) -> bytes:
    """Return the bytes of a value. Numbers are little-endian. Raises TypeError for other values."""
    if isinstance(value, Number):
        kind: Any = type(value)
        return int(value).to_bytes(kind.bits // 8, "little", signed=kind.signed)
    if isinstance(value, bool):
        return bytes([value])
    if isinstance(value, bytes):  # addresses and data are bytes when a body runs
        return value
    raise TypeError(f"{type(value).__name__} has no bytes of a known length")


def hash_of(*parts: Number | Pubkey | Data | bytes | bool) -> bytes:
    """Return SHA-256 of the bytes of these values, one after the other."""
    return hashlib.sha256(b"".join(map(bytes_of, parts))).digest()

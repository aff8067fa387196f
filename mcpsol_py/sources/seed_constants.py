"""The bytes of constant seeds that an IDL writes as a typed value: {"type": "string", "value":
"vault"}.
"""

from __future__ import annotations

from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.types import Array, Bool, Int, Pubkey, SizePrefixed, Type
from mcpsol_py.solana.base58 import b58decode, is_address
from mcpsol_py.sources.reader import DocumentReader, kind_of

__all__ = ["constant_seed_bytes"]

MAX_NUMBERS = 64
_MAX_DIGITS = 90


def constant_seed_bytes(reader: DocumentReader, node: Type, value: Any) -> bytes:
    """Return the bytes of *value* as a seed of type *node*. Raises SourceError if it does not fit
    the type.
    """
    match node:
        case SizePrefixed():
            return value.encode() if type(value) is str else reader.bytes_of(value)
        case Array():
            return _array_bytes(reader, node, value)
        case Pubkey():
            data = _address_bytes(reader, value)
        case Bool():
            data = bytes([value]) if type(value) is bool else None
        case Int():
            data = _int_bytes(node, value)
        case _:
            data = None
    if data is None:
        raise SourceError(f"the constant seed is {kind_of(value)}, which does not fit its type.")
    return data


def _array_bytes(reader: DocumentReader, node: Array, value: Any) -> bytes:
    item = node.item
    if isinstance(item, Int) and item.bits > 8 and type(value) is list:
        return b"".join(constant_seed_bytes(reader, item, v) for v in value[:MAX_NUMBERS])
    return reader.bytes_of(value)


def _address_bytes(reader: DocumentReader, value: Any) -> bytes | None:
    if type(value) is not str:
        return reader.bytes_of(value)
    return b58decode(value) if is_address(value) else None


def _int_bytes(node: Int, value: Any) -> bytes | None:
    if type(value) is str and value.lstrip("-").isdigit() and len(value) < _MAX_DIGITS:
        value = int(value)
    if type(value) is not int:
        return None
    try:
        return value.to_bytes(node.bits // 8, "little", signed=node.signed)
    except OverflowError:
        raise SourceError(
            f"the number {abbr(value, 40)} does not fit the type of the seed."
        ) from None

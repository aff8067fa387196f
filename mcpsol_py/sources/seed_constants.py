"""The bytes of constant seeds that an IDL writes as a typed value: {"type": "string", "value":
"vault"}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.types import Array, Bool, Int, Pubkey, SizePrefixed, Type
from mcpsol_py.solana.base58 import b58decode, is_address
from mcpsol_py.sources.numbers import is_digits
from mcpsol_py.sources.reader import DocumentReader, kind_of

__all__ = ["constant_seed_bytes"]

MAX_NUMBERS = 64
_MAX_DIGITS = 90


def constant_seed_bytes(reader: DocumentReader, node: Type, value: Any) -> bytes:
    """Return the bytes of *value* as a seed of type *node*. Raises SourceError if it does not fit
    the type.
    """
    write = _WRITERS.get(type(node))
    data = write(reader, node, value) if write else None
    if data is None:
        raise SourceError(
            f"the constant seed is {kind_of(value)}, which does not fit its type."
        )
    return data


def _text_bytes(reader: DocumentReader, node: SizePrefixed, value: Any) -> bytes:
    return value.encode() if type(value) is str else reader.bytes_of(value)


def _array_bytes(reader: DocumentReader, node: Array, value: Any) -> bytes:
    item = node.item
    has_wide_items = isinstance(item, Int) and item.bits > 8
    if has_wide_items and type(value) is list:
        return b"".join(
            constant_seed_bytes(reader, item, v) for v in value[:MAX_NUMBERS]
        )
    return reader.bytes_of(value)


def _address_bytes(reader: DocumentReader, node: Pubkey, value: Any) -> bytes | None:
    if type(value) is not str:
        return reader.bytes_of(value)
    return b58decode(value) if is_address(value) else None


def _bool_bytes(reader: DocumentReader, node: Bool, value: Any) -> bytes | None:
    return bytes([value]) if type(value) is bool else None


def _int_bytes(reader: DocumentReader, node: Int, value: Any) -> bytes | None:
    if is_digits(value, _MAX_DIGITS):
        value = int(value)
    if type(value) is not int:
        return None
    try:
        return value.to_bytes(node.bits // 8, "little", signed=node.signed)
    except OverflowError:
        raise SourceError(
            f"the number {abbr(value, 40)} does not fit the type of the seed."
        ) from None


_WRITERS: dict[type[Type], Callable[[DocumentReader, Any, Any], bytes | None]] = {
    SizePrefixed: _text_bytes,
    Array: _array_bytes,
    Pubkey: _address_bytes,
    Bool: _bool_bytes,
    Int: _int_bytes,
}

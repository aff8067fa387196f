"""Integers as bytes: fixed widths in both byte orders, and Solana's compact-u16."""

from __future__ import annotations

from typing import Literal

from mcpsol_py.model.types import Float, Int, ShortU16

__all__ = ["byte_order", "decode_short_u16", "encode_short_u16", "int_bytes"]

_MAX_SHORT_U16 = 0xFFFF
_SHORT_U16_BYTES = 3


def encode_short_u16(number: int) -> bytes:
    """Return *number* (0 to 65,535) as a compact-u16: seven bits in each byte, the low ones first."""
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    return bytes((number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14))


def decode_short_u16(data: bytes, offset: int) -> tuple[int, int]:
    """Return the compact-u16 at *offset*, and the offset after it.

    Raises IndexError at the end of the data, and ValueError for an encoding that Solana refuses: one that is longer
    than necessary, or over 65,535.
    """
    number = 0
    for place in range(_SHORT_U16_BYTES):
        byte = data[offset + place]
        number |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            _check_short_u16(number, place, byte)
            return number, offset + place + 1
    raise ValueError("expected a compact-u16, got more than three bytes")


def _check_short_u16(number: int, last_place: int, last_byte: int) -> None:
    if last_place and not last_byte:
        raise ValueError("expected the shortest compact-u16, got a longer one")
    if number > _MAX_SHORT_U16:
        raise ValueError("expected a compact-u16, got a number over 65,535")


def byte_order(node: Int | Float) -> Literal["big", "little"]:
    """Return the byte order of *node*, as `int.to_bytes` takes it."""
    return "big" if node.big_endian else "little"


def int_bytes(node: Int | ShortU16, number: int) -> bytes:
    """Return *number* as *node* encodes it. Raises OverflowError if it is out of range."""
    if isinstance(node, ShortU16):
        return encode_short_u16(number)
    return number.to_bytes(node.bits // 8, byte_order(node), signed=node.signed)

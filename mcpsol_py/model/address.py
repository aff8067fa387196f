"""Addresses as text: base58 to 32 bytes and back, without a third party (the offline half needs no solders)."""

from __future__ import annotations

__all__ = ["address_bytes", "address_text"]

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}


def address_bytes(text: str) -> bytes:
    """The 32 bytes of a base58 address. Raises ValueError, saying what is wrong with the text.

    >>> address_bytes("11111111111111111111111111111111") == bytes(32)
    True
    """
    if not 32 <= len(text) <= 44:
        raise ValueError(f"an address is 32 to 44 base58 characters, this has {len(text)}")
    number = 0
    for char in text:
        value = _VALUES.get(char)
        if value is None:
            raise ValueError(f"{char!r} is no base58 character")
        number = number * 58 + value
    zeros = len(text) - len(text.lstrip("1"))
    body = number.to_bytes((number.bit_length() + 7) // 8, "big")
    if zeros + len(body) != 32:
        raise ValueError(f"it holds {zeros + len(body)} bytes, an address has 32")
    return bytes(zeros) + body


def address_text(data: bytes) -> str:
    """The base58 text of 32 bytes.

    >>> address_text(bytes(32))
    '11111111111111111111111111111111'
    """
    number = int.from_bytes(data, "big")
    out = ""
    while number:
        number, digit = divmod(number, 58)
        out = _ALPHABET[digit] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out

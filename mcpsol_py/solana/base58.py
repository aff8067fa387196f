"""Base58 in Bitcoin's alphabet, as Solana writes addresses. The half of this library that runs without solders needs it
too.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["address_bytes", "b58decode", "b58encode", "is_address", "is_signature"]

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {char: i for i, char in enumerate(_ALPHABET)}


def b58encode(data: bytes) -> str:
    """The base58 text of *data*: every leading zero byte is a "1".

    >>> b58encode(bytes(32)), b58encode(b"\\x00\\x01")
    ('11111111111111111111111111111111', '12')
    """
    number = int.from_bytes(data, "big")
    out = []
    while number:
        number, digit = divmod(number, 58)
        out.append(_ALPHABET[digit])
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "1" * zeros + "".join(reversed(out))


def b58decode(text: str) -> bytes:
    """Return the bytes of base58 *text*. Raises ValueError for a character outside the alphabet."""
    number = 0
    for char in text:
        digit = _DIGIT.get(char)
        if digit is None:
            raise ValueError(f"{char!r} is not a base58 character")
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def address_bytes(text: str) -> bytes:
    """Return the 32 bytes of an address. Raises ValueError with the reason."""
    if not 32 <= len(text) <= 44:
        raise ValueError(
            f"an address is 32 to 44 base58 characters, this has {len(text)}"
        )
    data = b58decode(text)
    if len(data) != 32:
        raise ValueError(f"it holds {len(data)} bytes, an address has 32")
    return data


@lru_cache(maxsize=4096)
def is_address(text: str) -> bool:
    """Whether *text* is the base58 form of 32 bytes."""
    return _holds(text, 32, most=44)


def is_signature(text: str) -> bool:
    """Whether *text* is the base58 form of 64 bytes: a transaction's signature."""
    return _holds(text, 64, most=88)


def _holds(text: str, size: int, *, most: int) -> bool:
    """Whether *text*, of *most* characters at most, is the base58 form of *size* bytes."""
    if not size <= len(text) <= most:
        return False
    try:
        return len(b58decode(text)) == size
    except ValueError:
        return False

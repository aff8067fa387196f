"""Numbers in documents: digits as text, lengths, and the unsigned integers of prefixes and tags."""

from __future__ import annotations

from typing import TypeGuard

from mcpsol_py.model.types import Int, ShortU16, Type

__all__ = ["MAX_LENGTH", "is_digits", "is_length", "unsigned"]

#: The largest length of an array, and the largest size or offset in bytes.
MAX_LENGTH = 2**31


def is_digits(value: object, limit: int) -> TypeGuard[str]:
    """Return whether *value* is an integer as text, such as "-12", of at most *limit* characters."""
    if type(value) is not str or len(value) > limit:
        return False
    return value.isascii() and value.removeprefix("-").isdecimal()


def is_length(value: object) -> TypeGuard[int]:
    """Return whether *value* is an integer from 0 to MAX_LENGTH."""
    return type(value) is int and 0 <= value <= MAX_LENGTH


def unsigned(node: Type | None) -> Int | ShortU16 | None:
    """Return *node* if it can be a prefix, a tag or a count: an unsigned integer. Others give None."""
    if isinstance(node, Int):
        return None if node.signed else node
    return node if isinstance(node, ShortU16) else None

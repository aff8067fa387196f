"""Whole numbers that somebody else wrote as text: amounts, slots, cursors, times.

`int` also reads signs, spaces, underscores and digits of other scripts, and raises for "²" (which `str.isdigit` calls
a digit) and for thousands of digits. These functions read plain decimal text alone, and never raise.
"""

from __future__ import annotations

import re

__all__ = ["MAX_UNITS", "U64_MAX", "base_units", "read_u64", "whole_number"]

U64_MAX = 2**64 - 1
#: The largest amount of a payment. A database keeps amounts as signed 64-bit integers.
MAX_UNITS = 2**63 - 1

_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,19})\Z", re.ASCII)


def whole_number(value: object, most: int) -> int | None:
    """Read decimal text from 0 to *most*, which is at most a u64.

    Return None for anything else, also for signs, spaces and leading zeros.
    """
    if not isinstance(value, str) or not _DECIMAL.match(value):
        return None
    number = int(value)
    return number if number <= most else None


def read_u64(value: object) -> int | None:
    """Read a u64 in decimal text, None for anything else.

    >>> read_u64("10"), read_u64("010"), read_u64(10), read_u64("²"), read_u64(str(2**64))
    (10, None, None, None, None)
    """
    return whole_number(value, U64_MAX)


def base_units(value: object) -> int | None:
    """Read the amount of a payment in base units, from 0 to MAX_UNITS. None for anything else.

    >>> base_units("10"), base_units("1.5"), base_units("-1"), base_units("9" * 5000)
    (10, None, None, None)
    """
    return whole_number(value, MAX_UNITS)

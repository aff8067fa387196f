"""Texts that are no amounts, though `int` reads some of them, or `str.isdigit` or `str.isdecimal` is true."""

from __future__ import annotations

__all__ = ["NOT_UNITS"]

NOT_UNITS = (
    "",
    "²",
    "1²",
    "١٠٠٠",
    "１０００",
    "𝟙",
    "1_000",
    "+1000",
    "-1000",
    " 1000",
    "1000\n",
    "1000\0",
    "01000",
    "1e3",
    "1000.0",
    "0x3e8",
    "1" * 5_000,
    str(2**64),
    "NaN",
    "Infinity",
)

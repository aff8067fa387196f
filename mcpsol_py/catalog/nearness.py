"""How near two texts are in meaning, though they share no word: vectors of words, which were learned elsewhere.

A text's vector is the sum of those of its words, so word order does not count. `field/vectors.txt` has vectors of the
commonest stems of English and of the field, longer for words that tell more; other words have none.
"""

from __future__ import annotations

import math
import string
from array import array
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from operator import mul

__all__ = ["NearnessTo", "has_vector", "packed_vector"]

#: The digits of a vector in the table, from the least to the greatest, and the number between all of them.
_DIGITS = (
    string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
).encode()
_MIDDLE = (len(_DIGITS) - 1) / 2
#: The length of a packed vector, whose numbers are signed bytes.
_LENGTH = 127.0


@cache
def _vectors() -> dict[str, bytes]:
    """The digits' values of each stem's vector."""
    text = files("mcpsol_py.catalog.field").joinpath("vectors.txt").read_bytes()
    values = bytes.maketrans(_DIGITS, bytes(range(len(_DIGITS))))
    lines = (line.split() for line in text.splitlines() if not line.startswith(b"#"))
    return {stem.decode(): digits.translate(values) for stem, digits in lines}


def _direction(stems: Iterable[str]) -> list[float]:
    """Return the vector of a text with the length 1; an empty list if no word has a vector."""
    found = [vector for vector in map(_vectors().get, stems) if vector is not None]
    middle = _MIDDLE * len(found)
    total = [sum(numbers) - middle for numbers in zip(*found, strict=True)]
    length = math.hypot(*total)
    return [number / length for number in total] if length else []


def has_vector(stem: str) -> bool:
    """Return whether a stem is a common word of English or of the field."""
    return stem in _vectors()


def packed_vector(stems: Iterable[str]) -> bytes:
    """Return the vector of a text as signed bytes, for the index; a stem may be there several times."""
    return array(
        "b", [round(number * _LENGTH) for number in _direction(stems)]
    ).tobytes()


class NearnessTo:
    """The nearness of other texts to one text."""

    def __init__(self, stems: Iterable[str]) -> None:
        self._own = [number / _LENGTH for number in _direction(stems)]

    def of(self, packed: bytes) -> float:
        """Return how near a text with a packed vector is, from 0 to 1; 0 where nothing is known."""
        products: Iterable[float] = map(mul, self._own, array("b", packed))
        return max(0.0, sum(products))

"""Loops as they run on a chain: too many turns end them, and a zip first compares the lengths of its sequences.

The simulator counts no compute units, but it counts the turns of loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mcpsol_py.testing.checks import CheckFailure

__all__ = ["MOST_TURNS", "TooManyTurns", "counted_turns"]

#: A transaction has at most 1,400,000 compute units, and a turn needs several.
MOST_TURNS = 300_000


class TooManyTurns(Exception):
    """The loops of one call have more than MOST_TURNS turns."""


@contextmanager
def counted_turns(names: dict[str, Any]) -> Iterator[None]:
    """Count the turns of the loops in functions with these global names; they raise TooManyTurns."""
    turns = 0

    def counted(*bounds: Any) -> Iterator[int]:
        nonlocal turns
        for number in range(*bounds):
            turns += 1
            if turns > MOST_TURNS:
                raise TooManyTurns
            yield number

    words: dict[str, Any] = {"range": counted, "zip": _zipped}
    assert not words.keys() & names.keys()
    names |= words
    try:
        yield
    finally:
        for word in words:
            del names[word]


def _zipped(*parts: Sequence[Any], strict: bool) -> Iterator[tuple[Any, ...]]:
    """Return the items of sequences of one length, side by side. Raises CheckFailure for other lengths."""
    if len(set(map(len, parts))) > 1:
        raise CheckFailure("InvalidArgument")
    return zip(*parts, strict=strict)

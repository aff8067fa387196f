"""Ends loops that cannot run on a chain: the simulator counts no compute units, but it counts the turns of loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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

    assert "range" not in names
    names["range"] = counted
    try:
        yield
    finally:
        del names["range"]

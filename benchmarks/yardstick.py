"""What a benchmark reports, and how both of its sides are timed alike."""

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Yardstick:
    """One thing that is measured against a peer.

    `ours` and `peer` are costs in `unit`, or rates where `higher_is_better`. `needed` is the least ratio in our favour,
    None where nothing is owed. `note` names the peer and what was done.
    """

    what: str
    ours: float
    peer: float
    unit: str
    needed: float | None = None
    higher_is_better: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """How much better ours is than the peer: 2 is twice as good, 1 the same; never divides by zero."""
        better, worse = (
            (self.ours, self.peer) if self.higher_is_better else (self.peer, self.ours)
        )
        return better / worse if worse else math.inf

    @property
    def holds(self) -> bool:
        """Whether the ratio reaches what is needed."""
        return self.needed is None or self.ratio >= self.needed


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing that must stay at or under a fixed bound (compute units, seconds), `unit` naming which."""

    what: str
    ours: float
    limit: float
    unit: str
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether it stays within its bound."""
        return self.ours <= self.limit


Row = Yardstick | Limit


class NotMeasured(Exception):
    """Raised by a benchmark whose peer or toolchain is not here; the text says which, and how it is had."""


def seconds_a_call(
    function: Callable[[], object], *, budget: float = 1.0, rounds: int = 7
) -> float:
    """Seconds for one call: the best of `rounds` in about `budget` seconds, with the garbage collector off."""
    function()
    started = time.perf_counter()
    function()
    once = max(time.perf_counter() - started, 1e-9)
    calls = max(1, int(budget / rounds / once))
    best = math.inf
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            started = time.perf_counter()
            for _ in range(calls):
                function()
            best = min(best, (time.perf_counter() - started) / calls)
    finally:
        if collecting:
            gc.enable()
    return best


def calls_a_second(
    function: Callable[[], object], *, budget: float = 1.0, rounds: int = 7
) -> float:
    """How often a second `function` can be called; see `seconds_a_call`."""
    return 1 / seconds_a_call(function, budget=budget, rounds=rounds)

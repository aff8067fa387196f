"""How often a client may send requests."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bridge.http.rate_limit import RateLimit


async def nobody(_scope: Any) -> str:
    return "?"


async def no_app(*_: Any) -> None:
    """Answers nothing."""


def limit(per_minute: int, clients: int = 10_000) -> RateLimit:
    return RateLimit(no_app, per_minute, nobody, clients=clients)


@given(st.lists(st.floats(0, 5), max_size=200), st.integers(1, 120))
def test_no_client_gets_more_than_its_rate_and_one_allowance(
    gaps: list[float], per_minute: int
) -> None:
    found = limit(per_minute)
    now, allowed = 0.0, 0
    for gap in gaps:
        now += gap
        wait = found.take("a", now)
        assert wait >= 0
        allowed += wait == 0
        assert allowed <= per_minute + now * per_minute / 60 + 1e-6


def test_who_waits_as_told_is_let_in() -> None:
    found = limit(2)
    assert [found.take("a", 0.0), found.take("a", 0.0)] == [0.0, 0.0]
    wait = found.take("a", 0.0)
    assert wait > 0
    assert found.take("b", 0.0) == 0.0
    assert found.take("a", wait + 1e-6) == 0.0


def test_memory_of_clients_is_bounded() -> None:
    found = limit(1, clients=10)
    for number in range(1000):
        found.take(str(number), 0.0)
    assert len(found._buckets) == 10

"""How often a client may ask, and what of a request is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bridge.http.auth import Tokens
from mcpsol_py.bridge.http.settings import HttpSettings, RateLimit, bearer_of
from mcpsol_py.errors import SourceError


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


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"Basic abc", ""),
        (b"abc", ""),
        (b"", ""),
        (b"Bearer \xff", "\u00ff"),
    ],
)
def test_the_token_of_a_request(header: bytes, token: str) -> None:
    assert bearer_of({"type": "http", "headers": [(b"authorization", header)]}) == token


def test_a_server_that_anyone_could_use_is_refused() -> None:
    HttpSettings(host="127.0.0.1").check()
    HttpSettings(host="0.0.0.0", tokens=frozenset({"00" * 32})).check()
    with pytest.raises(SourceError) as refused:
        HttpSettings(host="0.0.0.0").check()
    assert refused.value.path == "http.host"


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"calls_per_minute": 0}, "http.calls_per_minute"),
        ({"calls_per_minute": -5}, "http.calls_per_minute"),
        ({"body_bytes": 0}, "http.body_bytes"),
        ({"port": 70_000}, "http.port"),
        ({"path": "mcp"}, "http.path"),
        ({"tokens": frozenset({"my secret token"})}, "http.tokens"),
        ({"tokens": frozenset({"é" * 64})}, "http.tokens"),
        ({"state_key": b"short"}, ""),
    ],
)
def test_settings_that_cannot_be_served_are_refused_at_the_start(
    settings: dict[str, Any], path: str
) -> None:
    with pytest.raises(SourceError) as refused:
        HttpSettings(**settings).check()
    assert refused.value.path == path
    assert "secret" not in str(refused.value)


async def test_a_digest_may_be_written_in_capitals() -> None:
    assert Tokens({Tokens.digest("t").upper()}).client_of("t") is not None

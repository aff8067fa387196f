"""Settings that the HTTP server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.errors import SourceError


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

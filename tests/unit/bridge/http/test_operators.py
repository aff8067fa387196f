"""Who sees the pages of a bridge's operator."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.bridge.http.auth import Tokens, Verifier
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.bridge.http.settings import HttpSettings

TOKEN = Tokens.digest("secret")
OWN = "127.0.0.1:8765"


def request(port: int = 8765, host: str = OWN, **headers: str) -> dict[str, Any]:
    sent = {
        "host": host,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {
        "type": "http",
        "server": ("127.0.0.1", port),
        "client": ("127.0.0.1", 50_000),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }


PUBLIC: dict[str, Any] = {"public": True}
WITH_PORT: dict[str, Any] = {"public": True, "operator_port": 9000}
WITH_TOKEN: dict[str, Any] = {"public": True, "tokens": frozenset({TOKEN})}


@pytest.mark.parametrize(
    ("settings", "asked", "allowed"),
    [
        ({}, request(), True),  # the owner's own bridge
        ({}, request(host="evil.example"), False),
        ({}, request(x_forwarded_for="203.0.113.7"), False),  # someone behind a proxy
        ({}, request(forwarded="for=203.0.113.7"), False),
        # Behind a proxy, by its settings.
        ({"hosts": ("shop.example",)}, request(), False),
        ({"proxies": ("127.0.0.1",)}, request(), False),
        ({"tokens": frozenset({TOKEN})}, request(), False),
        ({"tokens": frozenset({TOKEN})}, request(authorization="Bearer secret"), True),
        (PUBLIC, request(), False),  # from this machine: it may be the proxy
        (PUBLIC, request(authorization="Bearer secret"), False),  # there is no token
        (WITH_TOKEN, request(authorization="Bearer wrong"), False),
        (WITH_TOKEN, request(authorization="Bearer secret"), True),
        (
            WITH_TOKEN,
            request(authorization="Bearer secret", x_forwarded_for="1.2.3.4"),
            True,
        ),
        (WITH_PORT, request(9000, "127.0.0.1:9000"), True),
        (WITH_PORT, request(9000, "localhost:9000"), True),
        (WITH_PORT, request(8765, "127.0.0.1:9000"), False),  # only the header says so
        (WITH_PORT, request(9000, "evil.example"), False),
        (WITH_PORT, request(9000, "127.0.0.1:9000", x_real_ip="1.2.3.4"), False),
    ],
)
async def test_who_is_an_operator(
    settings: dict[str, Any], asked: dict[str, Any], allowed: bool
) -> None:
    made = HttpSettings(**settings)
    made.check()
    verifier = Verifier(Tokens(made.tokens), None) if made.tokens else None
    assert await Operators(made, verifier).allows(asked) is allowed


async def test_a_server_that_does_not_name_its_port_has_no_operator_port() -> None:
    operators = Operators(HttpSettings(public=True, operator_port=9000), None)
    assert not await operators.allows({**request(), "server": None})

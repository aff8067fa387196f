"""The bridge over HTTP: where it is served and how often a client may ask.

Plain ASGI, as app.py puts it together. TLS is a proxy's.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from mcpsol_py.bridge.http.auth import OAuth, is_loopback
from mcpsol_py.errors import SourceError, abbr

__all__ = [
    "App",
    "HttpSettings",
    "RateLimit",
    "Receive",
    "Scope",
    "Send",
    "answer",
    "bearer_of",
    "header",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where and to whom the bridge is served.

    `tokens`: sha256 of bearer tokens, in hex; `oauth`: an issuer of more of them. Neither: no token is asked, which
    only a loopback address may do. `hosts` and `origins`: what the Host and Origin headers may be, beside the address
    itself. `calls_per_minute` for each client. `proxies`: addresses and networks of the proxies that say who that is
    (X-Forwarded-For).
    """

    host: str = "127.0.0.1"
    port: int = 8765
    path: str = "/mcp"
    tokens: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    calls_per_minute: int = 600
    body_bytes: int = 1024 * 1024
    stateless: bool = False
    state_key: bytes | None = None
    oauth: OAuth | None = None

    def check(self) -> None:
        """Raises SourceError for a server that anyone on the network could use."""
        if self.oauth is not None:
            self.oauth.check()
        elif not self.tokens and not is_loopback(self.host):
            raise SourceError(
                f"{abbr(self.host)} can be reached from other machines, and no token is asked. Set $IDL2MCP_TOKEN, "
                "name an issuer in [http.oauth], or serve on 127.0.0.1",
                path="http.host",
            )
        for name, value, most in (
            ("calls_per_minute", self.calls_per_minute, None),
            ("body_bytes", self.body_bytes, None),
            ("port", self.port, 65_535),
        ):
            if value < 1 or (most is not None and value > most):
                raise SourceError(f"{value} is no number of these (1 or more)", path=f"http.{name}")
        if not self.path.startswith("/"):
            raise SourceError(f'{abbr(self.path)} is no path like "/mcp"', path="http.path")
        for token in self.tokens:  # not shown: it may be the token itself
            if not re.fullmatch(r"[0-9a-fA-F]{64}", token):
                raise SourceError(
                    "tokens are named by their sha256 (64 hex digits), never by themselves",
                    path="http.tokens",
                )
        if self.state_key is not None and len(self.state_key) < 32:
            raise SourceError(
                f"{len(self.state_key)} bytes; 32 or more are wanted", origin="$IDL2MCP_STATE_KEY"
            )
        for proxy in self.proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise SourceError(
                    f"{abbr(proxy)} is no address and no network", path="http.proxies"
                ) from error


class RateLimit:
    """At most *per_minute* requests of one client, as *client_of* tells them apart; what is over gets 429 with
    Retry-After. *clients* are remembered.
    """

    def __init__(
        self,
        app: App,
        per_minute: int,
        client_of: Callable[[Scope], Awaitable[str]],
        *,
        clients: int = 10_000,
    ) -> None:
        self.app, self.client_of, self.clients = app, client_of, clients
        self.rate, self.most = per_minute / 60.0, float(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        wait = self.take(await self.client_of(scope), time.monotonic())
        if wait > 0:
            await answer(
                send, 429, b"too many requests\n", [(b"retry-after", str(int(wait) + 1).encode())]
            )
            return
        await self.app(scope, receive, send)

    def take(self, client: str, now: float) -> float:
        """Takes one request of *client*'s allowance. 0, or the seconds to wait where there is none."""
        left, then = self._buckets.pop(client, (self.most, now))
        left = min(self.most, left + (now - then) * self.rate)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left, now)
        while len(self._buckets) > self.clients:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self.rate


def header(scope: Scope, name: bytes) -> str:
    """A request's header, or "". *name* is in lower case."""
    for found, value in scope.get("headers", ()):
        if found == name:
            return str(value, "latin-1")
    return ""


def bearer_of(scope: Scope) -> str:
    """The bearer token of a request, or ""."""
    kind, _, token = header(scope, b"authorization").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def answer(
    send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answers a request."""
    every = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})

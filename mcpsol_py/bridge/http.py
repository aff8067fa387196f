"""The bridge over HTTP: who may ask, how often, and the pages for operators (/healthz, /metrics).

Plain ASGI around the app of the MCP SDK (server.py makes that). Host and Origin are checked by the SDK; TLS is a
proxy's.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.errors import SourceError, abbr

__all__ = ["HttpSettings", "Metrics", "RateLimit", "Tokens", "is_loopback", "operators_pages"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where and to whom the bridge is served.

    `tokens`: sha256 of bearer tokens, in hex; none: no token is asked, which only a loopback address may do. `hosts`
    and `origins`: what the Host and Origin headers may be, beside the address itself. `calls_per_minute` for each
    client.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    path: str = "/mcp"
    tokens: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    calls_per_minute: int = 600
    body_bytes: int = 1024 * 1024
    stateless: bool = False
    state_key: bytes | None = None

    def check(self) -> None:
        """Raises SourceError for a server that anyone on the network could use."""
        if not self.tokens and not is_loopback(self.host):
            raise SourceError(
                f"{abbr(self.host)} can be reached from other machines, and no token is asked. Set $IDL2MCP_TOKEN, or "
                "serve on 127.0.0.1",
                path="http.host",
            )


def is_loopback(host: str) -> bool:
    """Can *host* be reached from this machine only?"""
    return host in ("127.0.0.1", "localhost", "::1")


class Tokens:
    """Bearer tokens, known by their sha256 only."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = tuple(digests)

    @staticmethod
    def digest(token: str) -> str:
        """What is kept of a token."""
        return hashlib.sha256(token.encode()).hexdigest()

    def client_of(self, token: str) -> str | None:
        """A name for the client that has this token, or None. Takes as long for a wrong one as for a right one."""
        digest = self.digest(token)
        found = [known for known in self._digests if hmac.compare_digest(known, digest)]
        return f"token-{found[0][:8]}" if found else None


class RateLimit:
    """At most *per_minute* requests of one client; what is over gets 429 with Retry-After. *clients* are remembered."""

    def __init__(self, app: App, per_minute: int, *, clients: int = 10_000) -> None:
        self.app, self.clients = app, clients
        self.rate, self.most = per_minute / 60.0, float(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        wait = self.take(_client(scope), time.monotonic())
        if wait > 0:
            await _answer(send, 429, b"too many requests\n", [(b"retry-after", str(int(wait) + 1).encode())])
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


def _client(scope: Scope) -> str:
    """The token's digest where one is given, so that clients behind one proxy are told apart; else the peer's
    address.
    """
    for name, value in scope.get("headers", ()):
        if name == b"authorization":
            return hashlib.sha256(value).hexdigest()
    peer = scope.get("client")
    return str(peer[0]) if peer else "?"


@dataclass(slots=True)
class Metrics:
    """Counts of tool calls, in Prometheus' text form. Names of tools that do not exist are counted together."""

    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """One call: `outcome` is "ok" or the error's reason."""
        self.calls[tool, outcome] = self.calls.get((tool, outcome), 0) + 1
        self.seconds[tool] = self.seconds.get(tool, 0.0) + seconds

    def text(self) -> str:
        """The exposition."""
        lines = ["# TYPE idl2mcp_tool_calls_total counter"]
        lines += [
            f'idl2mcp_tool_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}'
            for (tool, outcome), count in sorted(self.calls.items())
        ]
        lines.append("# TYPE idl2mcp_tool_seconds_total counter")
        lines += [f'idl2mcp_tool_seconds_total{{tool="{t}"}} {s:.6f}' for t, s in sorted(self.seconds.items())]
        return "\n".join(lines) + "\n"


def operators_pages(app: App, metrics: Metrics, tokens: Tokens | None) -> App:
    """*app* with /healthz (for anyone) and /metrics (with a token, where tokens are asked)."""

    async def with_pages(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path") if scope["type"] == "http" else None
        if path == "/healthz":
            await _answer(send, 200, b'{"status":"ok"}\n', [(b"content-type", b"application/json")])
        elif path == "/metrics":
            if tokens is not None and tokens.client_of(_bearer(scope)) is None:
                await _answer(send, 401, b"a token is needed\n", [(b"www-authenticate", b"Bearer")])
            else:
                await _answer(send, 200, metrics.text().encode(), [(b"content-type", b"text/plain; version=0.0.4")])
        else:
            await app(scope, receive, send)

    return with_pages


def _bearer(scope: Scope) -> str:
    for name, value in scope.get("headers", ()):
        if name == b"authorization":
            kind, _, token = value.decode("latin-1").partition(" ")
            return token.strip() if kind.lower() == "bearer" else ""
    return ""


async def _answer(send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    every = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})

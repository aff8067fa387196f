"""Pages and headers for operators: /healthz, /metrics, request ids and counters."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

from mcp.server import ServerRequestContext

from mcpsol_py import telemetry
from mcpsol_py.bridge.http.asgi import (
    JSON_CONTENT,
    App,
    Receive,
    Scope,
    Send,
    header,
    respond,
)
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.telemetry import metrics

__all__ = ["OperatorPages", "count_running_calls", "RequestIds"]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class HasHealth(Protocol):
    """The served application: the bridge, for example."""

    def health(self) -> Mapping[str, Any]:
        """Return its `status` and details."""


class OperatorPages:
    """ASGI middleware that serves /healthz to everyone, its details and /metrics to operators."""

    def __init__(self, app: App, served: HasHealth, operators: Operators) -> None:
        self.app, self.served, self.operators = app, served, operators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = scope.get("path") if scope["type"] == "http" else None
        if path == "/healthz":
            await self._health(scope, send)
        elif path == "/metrics":
            await self._metrics(scope, send)
        else:
            await self.app(scope, receive, send)

    async def _health(self, scope: Scope, send: Send) -> None:
        health = self.served.health()
        shown = (
            health
            if await self.operators.allows(scope)
            else {"status": health["status"]}
        )
        await respond(send, 200, json.dumps(shown).encode() + b"\n", [JSON_CONTENT])

    async def _metrics(self, scope: Scope, send: Send) -> None:
        if not await self.operators.allows(scope):
            if header(scope, b"host") not in self.operators.settings.allowed_hosts:
                await respond(send, 421, b"this server does not serve this host\n")
                return
            headers = [(b"www-authenticate", b"Bearer")]
            await respond(
                send, 401, b"an operator's bearer token is required\n", headers
            )
            return
        content_type = (b"content-type", metrics.CONTENT_TYPE.encode())
        await respond(send, 200, metrics.exposition(), [content_type])


class RequestIds:
    """ASGI middleware that gives each request an id.

    The id is in the request's log lines and in the X-Request-Id header of its response. An
    X-Request-Id header from a proxy is used if it is well-formed.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from_proxy = header(scope, b"x-request-id")
        request_id = (
            from_proxy if _REQUEST_ID.fullmatch(from_proxy) else secrets.token_hex(16)
        )
        id_header = (b"x-request-id", request_id.encode())

        async def send_with_id(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                metrics.observe_response(message["status"])
                message["headers"] = [*message.get("headers", ()), id_header]
            await send(message)

        with telemetry.bind(request_id=request_id):
            await self.app(scope, receive, send_with_id)


async def count_running_calls(
    ctx: ServerRequestContext[Any, Any], call_next: Any
) -> Any:
    """MCP middleware that counts the tool calls in progress."""
    if ctx.method != "tools/call":
        return await call_next(ctx)
    metrics.running.inc()
    try:
        return await call_next(ctx)
    finally:
        metrics.running.dec()

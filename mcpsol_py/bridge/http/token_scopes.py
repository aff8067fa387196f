"""Checks that a token's scopes allow the call that it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from mcpsol_py import telemetry
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.http.access_levels import (
    ACCESS_LEVELS,
    AccessLevel,
    allows,
    required_level,
)
from mcpsol_py.bridge.http.asgi import (
    JSON_CONTENT,
    App,
    Receive,
    Scope,
    Send,
    bearer_token,
    respond,
)
from mcpsol_py.bridge.http.auth import Verifier
from mcpsol_py.bridge.http.settings import HttpSettings

__all__ = ["ScopeGate", "ScopeMiddleware", "require_send"]


class ScopeGate:
    """ASGI middleware that answers 403 to a call beyond its token's scopes.

    The response names the scopes that the client must request.
    """

    def __init__(
        self, app: App, bridge: Bridge, settings: HttpSettings, verifier: Verifier
    ) -> None:
        self.app, self.bridge, self.settings, self.verifier = (
            app,
            bridge,
            settings,
            verifier,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if not self._is_call(scope):
            await self.app(scope, receive, send)
            return
        token = await self.verifier.verify_token(bearer_token(scope))
        if token is None or allows(token.scopes, "send"):
            await self.app(scope, receive, send)
            return
        body, receive = await _read_ahead(receive, self.settings.body_bytes)
        wanted = self._required_level(body)
        if allows(token.scopes, wanted):
            await self.app(scope, receive, send)
            return
        headers = [self._challenge(wanted), JSON_CONTENT]
        await respond(send, 403, b'{"error":"insufficient_scope"}\n', headers)

    def _is_call(self, scope: Scope) -> bool:
        return (
            scope["type"] == "http"
            and scope.get("path") == self.settings.path
            and scope["method"] == "POST"
        )

    def _required_level(self, body: bytes) -> AccessLevel:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return "read"  # the MCP endpoint reports the error
        requests = document if isinstance(document, list) else [document]
        box, mode = self.bridge.box, self.bridge.mode
        highest: AccessLevel = "read"
        for request in requests:
            fields: Mapping[str, Any] = request if isinstance(request, dict) else {}
            level = required_level(
                fields.get("method"),
                fields.get("params"),
                box.tools,
                mode,
                grows=box.grows,
            )
            highest = max(highest, level, key=ACCESS_LEVELS.index)
        return highest

    def _challenge(self, wanted: AccessLevel) -> tuple[bytes, bytes]:
        oauth = self.settings.oauth
        text = 'Bearer error="insufficient_scope"'
        if oauth is not None:
            scopes = " ".join(oauth.names_up_to(wanted))
            text += f', scope="{scopes}", resource_metadata="{oauth.metadata}"'
        return b"www-authenticate", text.encode()


class ScopeMiddleware:
    """MCP middleware that makes the same check when the call is dispatched.

    It protects the tools if `ScopeGate` and the SDK ever read a request's body differently.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: Any
    ) -> Any:
        box, mode = self.bridge.box, self.bridge.mode
        wanted = required_level(
            ctx.method, ctx.params, box.tools, mode, grows=box.grows
        )
        token: AccessToken | None = get_access_token()
        if wanted != "read" and (token is None or not allows(token.scopes, wanted)):
            raise MCPError(
                types.INVALID_REQUEST, f"this token's scopes do not include {wanted}"
            )
        with telemetry.bind(client=token.client_id if token is not None else ""):
            return await call_next(ctx)


async def require_send(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
    """MCP middleware that answers only tokens with the access level `send`."""
    token = get_access_token()
    if token is None or not allows(token.scopes, "send"):
        raise MCPError(types.INVALID_REQUEST, "this token's scopes do not include send")
    with telemetry.bind(client=token.client_id):
        return await call_next(ctx)


async def _read_ahead(receive: Receive, limit: int) -> tuple[bytes, Receive]:
    """Read the body, at most *limit* bytes, and return a `receive` that delivers it again."""
    messages: list[MutableMapping[str, Any]] = []
    body = b""
    while len(body) <= limit:
        message = await receive()
        messages.append(message)
        body += bytes(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break

    async def replay() -> MutableMapping[str, Any]:
        return messages.pop(0) if messages else await receive()

    return body, replay

"""The ASGI app of the bridge: the SDK's MCP endpoint behind checks of who asks and how often, and the other pages.

From the outside in: request ids, /healthz and /metrics, the rate limit, the explorer's pages, the scopes of a token,
and the SDK's own checks of Host, Origin, body and token.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.requests import ClientDisconnect

from mcpsol_py import telemetry
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.explorer.app import Explorer
from mcpsol_py.bridge.explorer.pages import Section
from mcpsol_py.bridge.http.auth import (
    ACCESS_LEVELS,
    AccessLevel,
    Tokens,
    Verifier,
    allows,
    required_level,
)
from mcpsol_py.bridge.http.connections import serve_app
from mcpsol_py.bridge.http.settings import (
    App,
    HttpSettings,
    RateLimit,
    Receive,
    Scope,
    Send,
    answer,
    bearer_of,
    header,
)
from mcpsol_py.telemetry import metrics

__all__ = ["http_app", "run_http"]

#: sessions of the handshake era that are open at once, some 100 KB each
_SESSIONS = 4_000


def http_app(
    server: Server[Any],
    bridge: Bridge,
    settings: HttpSettings,
    more: Mapping[str, App] = MappingProxyType({}),
    *,
    sections: Sequence[Section] = (),
    names: Mapping[str, str] | None = None,
) -> App:
    """All that is served over HTTP, with *more* apps by their path; *sections* and *names* are the explorer's.

    Raises SourceError where the settings would let anyone in.
    """
    settings.check()
    logging.getLogger("mcp.server.streamable_http").addFilter(_not_of_one_gone)
    here = [
        f"{settings.host}:{settings.port}",
        f"127.0.0.1:{settings.port}",
        f"localhost:{settings.port}",
    ]
    security = TransportSecuritySettings(
        allowed_hosts=[*here, *settings.hosts],
        allowed_origins=[*(f"http://{host}" for host in here), *settings.origins],
    )
    verifier = None
    if settings.tokens or settings.oauth is not None:
        verifier = Verifier(Tokens(settings.tokens) if settings.tokens else None, settings.oauth)
    app: Any = server.streamable_http_app(
        streamable_http_path=settings.path,
        stateless_http=settings.stateless,
        json_response=settings.stateless,
        max_request_body_size=settings.body_bytes,
        max_sessions=_SESSIONS,
        transport_security=security,
        host=settings.host,
        auth=_auth(settings, here[1]) if verifier is not None else None,
        token_verifier=verifier,
    )
    if settings.oauth is not None:
        # as the SDK's own route, which would name the scope "read" alone
        app.router.routes[:0] = create_protected_resource_routes(
            resource_url=AnyHttpUrl(settings.oauth.resource),
            authorization_servers=[AnyHttpUrl(settings.oauth.issuer)],
            scopes_supported=settings.oauth.names_up_to("send"),
            resource_name="idl2mcp",
        )
    server.middleware.append(_counted)
    if verifier is not None:
        server.middleware.append(_Levels(bridge))
        app = _ScopeGate(app, bridge, settings, verifier)
    explorer = Explorer(app, bridge, settings, verifier, sections=sections, names=names)

    def observe(tool: str, outcome: str, seconds: float) -> None:
        metrics.observe_call(tool, outcome, seconds)
        explorer.observe(tool, outcome, seconds)

    bridge.observe = observe

    async def client_of(scope: Scope) -> str:
        """Who is counted by the rate limit: a token's owner, so that clients behind one proxy are told apart; else
        the peer's address. A made-up token does not make a new client.
        """
        if verifier is not None:
            found = await verifier.verify_token(bearer_of(scope))
            if found is not None:
                return f"{found.client_id} {found.subject or ''}"
        peer = scope.get("client")
        return str(peer[0]) if peer else "?"

    pages = _with_more(explorer, more)
    limited = RateLimit(pages, settings.calls_per_minute, client_of)
    return _with_ids(_operators_pages(limited, bridge, verifier, {*here, *settings.hosts}))


def _not_of_one_gone(record: logging.LogRecord) -> bool:
    """The SDK logs a client that went away before its request was whole as an error of the server, with a traceback:
    anyone could fill the log."""
    return record.exc_info is None or not isinstance(record.exc_info[1], ClientDisconnect)


def _with_more(app: App, more: Mapping[str, App]) -> App:
    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        found = more.get(str(scope.get("path"))) if scope["type"] == "http" else None
        await (found or app)(scope, receive, send)

    return chosen


def _auth(settings: HttpSettings, here: str) -> AuthSettings:
    if settings.oauth is None:
        return AuthSettings(issuer_url=AnyHttpUrl(f"http://{here}"), resource_server_url=None)
    return AuthSettings(
        issuer_url=AnyHttpUrl(settings.oauth.issuer),
        resource_server_url=AnyHttpUrl(settings.oauth.resource),
        validate_token_resource=True,
        required_scopes=["read"],  # the levels that the verifier made of the token's scopes
    )


async def run_http(
    server: Server[Any],
    bridge: Bridge,
    settings: HttpSettings,
    more: Mapping[str, App] = MappingProxyType({}),
    *,
    sections: Sequence[Section] = (),
    names: Mapping[str, str] | None = None,
) -> None:
    """Serves over HTTP until it is stopped; arguments as of `http_app`. Logs go to stderr."""
    app: Any = http_app(server, bridge, settings, more, sections=sections, names=names)
    await serve_app(app, settings.host, settings.port, proxies=settings.proxies)


# --- who may do what -------------------------------------------------------------------------------------------------


class _ScopeGate:
    """Before the endpoint: a call beyond the token's scopes is answered with 403, which says what to ask for."""

    def __init__(
        self, app: App, bridge: Bridge, settings: HttpSettings, verifier: Verifier
    ) -> None:
        self.app, self.bridge, self.settings, self.verifier = app, bridge, settings, verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if (
            scope["type"] != "http"
            or scope.get("path") != self.settings.path
            or scope["method"] != "POST"
        ):
            await self.app(scope, receive, send)
            return
        found = await self.verifier.verify_token(bearer_of(scope))
        if found is None or "send" in found.scopes:
            await self.app(scope, receive, send)
            return
        body, receive = await _peeked(receive, self.settings.body_bytes)
        wanted = self._wanted(body)
        if allows(found.scopes, wanted):
            await self.app(scope, receive, send)
            return
        await answer(
            send, 403, b'{"error":"insufficient_scope"}\n', [self._challenge(wanted), _JSON]
        )

    def _wanted(self, body: bytes) -> AccessLevel:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return "read"  # the endpoint says what is wrong with it
        rows = document if isinstance(document, list) else [document]
        tools, mode = self.bridge.box.tools, self.bridge.mode
        levels = [
            required_level(row.get("method"), row.get("params"), tools, mode)
            for row in map(_row, rows)
        ]
        return max(levels, key=ACCESS_LEVELS.index, default="read")

    def _challenge(self, wanted: AccessLevel) -> tuple[bytes, bytes]:
        oauth = self.settings.oauth
        text = 'Bearer error="insufficient_scope"'
        if oauth is not None:
            text += f', scope="{" ".join(oauth.names_up_to(wanted))}", resource_metadata="{oauth.metadata}"'
        return b"www-authenticate", text.encode()


_JSON = (b"content-type", b"application/json")


def _row(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


async def _peeked(receive: Receive, most: int) -> tuple[bytes, Receive]:
    """The body, at most *most* bytes of it, and a `receive` that gives all of it once more."""
    seen: list[MutableMapping[str, Any]] = []
    body = b""
    while len(body) <= most:
        message = await receive()
        seen.append(message)
        body += bytes(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break

    async def again() -> MutableMapping[str, Any]:
        return seen.pop(0) if seen else await receive()

    return body, again


class _Levels:
    """The same where the call is made, should the gate and the endpoint ever read a body differently."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        wanted = required_level(ctx.method, ctx.params, self.bridge.box.tools, self.bridge.mode)
        found: AccessToken | None = get_access_token()
        if wanted != "read" and (found is None or not allows(found.scopes, wanted)):
            raise MCPError(types.INVALID_REQUEST, f"this token's scopes do not hold {wanted}")
        with telemetry.bind(client=found.client_id if found is not None else ""):
            return await call_next(ctx)


async def _counted(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
    if ctx.method != "tools/call":
        return await call_next(ctx)
    metrics.running.inc()
    try:
        return await call_next(ctx)
    finally:
        metrics.running.dec()


# --- pages for operators ---------------------------------------------------------------------------------------------


def _operators_pages(
    app: App, bridge: Bridge, verifier: Verifier | None, hosts: Collection[str]
) -> App:
    """*app* with /healthz (for anyone) and /metrics (with a token, where tokens are asked; else under a name of
    *hosts*, so that no web page reads it by another one)."""

    async def with_pages(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path") if scope["type"] == "http" else None
        if path == "/healthz":
            await answer(send, 200, json.dumps(bridge.health()).encode() + b"\n", [_JSON])
        elif path == "/metrics":
            if verifier is None and header(scope, b"host") not in hosts:
                await answer(send, 421, b"this host is not served here\n")
            elif verifier is not None and await verifier.verify_token(bearer_of(scope)) is None:
                await answer(send, 401, b"a token is needed\n", [(b"www-authenticate", b"Bearer")])
            else:
                await answer(
                    send,
                    200,
                    metrics.exposition(),
                    [(b"content-type", metrics.CONTENT_TYPE.encode())],
                )
        else:
            await app(scope, receive, send)

    return with_pages


_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


def _with_ids(app: App) -> App:
    """Each request has an id, the proxy's (X-Request-Id) or one of ours: in every log line, and in the answer."""

    async def with_id(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        given = header(scope, b"x-request-id")
        found = given if _ID.fullmatch(given) else secrets.token_hex(16)

        in_answer = (b"x-request-id", found.encode())

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                metrics.observe_response(message["status"])
                message["headers"] = [*message.get("headers", ()), in_answer]
            await send(message)

        with telemetry.bind(request_id=found):
            await app(scope, receive, sent)

    return with_id

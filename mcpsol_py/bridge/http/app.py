"""The ASGI app of the bridge: the MCP endpoint, authentication, rate limit and other pages.

A request passes through, from the outside in: request ids, /healthz and /metrics, the rate limit,
other apps, the explorer's pages, the check of the token's scopes, and the SDK's own checks of Host,
Origin, body and token.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mcp.server import Server
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.requests import ClientDisconnect

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.explorer.app import Explorer
from mcpsol_py.bridge.explorer.content import Section
from mcpsol_py.bridge.explorer.site import PlaySender
from mcpsol_py.bridge.http.asgi import App, Receive, Scope, Send, bearer_token, peer_of
from mcpsol_py.bridge.http.auth import Tokens, Verifier
from mcpsol_py.bridge.http.connections import serve_app
from mcpsol_py.bridge.http.immediate_answers import answer_immediately
from mcpsol_py.bridge.http.oauth import OAuth
from mcpsol_py.bridge.http.operations import (
    OperatorPages,
    RequestIds,
    count_running_calls,
)
from mcpsol_py.bridge.http.operators import Operators
from mcpsol_py.bridge.http.rate_limit import RateLimit
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.bridge.http.token_scopes import ScopeGate, ScopeMiddleware, require_send
from mcpsol_py.bridge.http.unpaid import limit_unpaid
from mcpsol_py.bridge.mcp.immediate import ImmediateCalls
from mcpsol_py.telemetry import metrics

__all__ = ["http_app", "owner_app", "run_http", "run_owner_app"]

#: Open sessions of protocol version 2025-11-25 and earlier, about 100 KB each.
_MAX_SESSIONS = 4_000


def http_app(
    server: Server[Any],
    bridge: Bridge,
    settings: HttpSettings,
    other_apps: Mapping[str, App] = MappingProxyType({}),
    *,
    sections: Sequence[Section] = (),
    play: PlaySender | None = None,
) -> App:
    """Return the ASGI app that serves *bridge* over HTTP.

    *other_apps* are added by their path. *sections* and *play* are passed to the explorer.

    Raises SourceError if anyone on the network could use the server, or a setting is wrong.
    """
    settings.check()
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_not_a_disconnect)
    verifier = _verifier(settings)
    operators = Operators(settings, verifier)
    clients = None if settings.public else verifier
    app: App = _mcp_endpoint(server, settings, clients)
    answer_immediately(server.session_manager, ImmediateCalls(server, bridge))
    server.middleware.append(count_running_calls)
    if clients is not None:
        server.middleware.append(ScopeMiddleware(bridge))
        app = ScopeGate(app, bridge, settings, clients)
    explorer = Explorer(app, bridge, settings, operators, sections=sections, play=play)

    def observe(tool: str, outcome: str, seconds: float) -> None:
        metrics.observe_call(tool, outcome, seconds)
        explorer.observe(tool, outcome, seconds)

    bridge.observe = observe
    pages: App = _OtherApps(explorer, other_apps)
    if settings.public:
        bridge.serve_strangers()
        pages = limit_unpaid(
            pages, server, bridge, settings.unpaid_per_minute, operators
        )
    limited = RateLimit(pages, settings.calls_per_minute, _ClientOf(verifier))
    return RequestIds(OperatorPages(limited, bridge, operators))


async def run_http(
    server: Server[Any],
    bridge: Bridge,
    settings: HttpSettings,
    other_apps: Mapping[str, App] = MappingProxyType({}),
    *,
    sections: Sequence[Section] = (),
    play: PlaySender | None = None,
    sockets: Sequence[socket.socket] | None = None,
) -> None:
    """Serve over HTTP until SIGINT or SIGTERM. Takes the arguments of `http_app`, and *sockets* of `taken_ports`."""
    app = http_app(server, bridge, settings, other_apps, sections=sections, play=play)
    await _serve(app, settings, sockets)


def owner_app(server: Server[Any], settings: HttpSettings) -> App:
    """Return the ASGI app that serves an MCP server to its owner: authentication, limits, request
    ids, /healthz and /metrics as for the bridge.

    Whoever may call it may call all of it, so an access token needs the scope of `send`. Raises
    SourceError as `http_app`.
    """
    settings.check()
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_not_a_disconnect)
    verifier = _verifier(settings)
    app = _mcp_endpoint(server, settings, verifier)
    server.middleware.append(count_running_calls)
    if verifier is not None:
        server.middleware.insert(0, require_send)
    limited = RateLimit(app, settings.calls_per_minute, _ClientOf(verifier))
    return RequestIds(OperatorPages(limited, _Running(), Operators(settings, verifier)))


async def run_owner_app(
    server: Server[Any],
    settings: HttpSettings,
    sockets: Sequence[socket.socket] | None = None,
) -> None:
    """Serve `owner_app` until SIGINT or SIGTERM. *sockets* are those of `taken_ports`."""
    await _serve(owner_app(server, settings), settings, sockets)


async def _serve(
    app: App, settings: HttpSettings, sockets: Sequence[socket.socket] | None
) -> None:
    await serve_app(
        app,
        settings.host,
        settings.port,
        proxies=settings.proxies,
        operator_port=settings.operator_port,
        sockets=sockets,
    )


class _Running:
    """The health of a server that has no programs."""

    def health(self) -> dict[str, Any]:
        return {"status": "ok"}


def _verifier(settings: HttpSettings) -> Verifier | None:
    """Return the verifier of tokens, or None if no token is required."""
    if not settings.tokens and settings.oauth is None:
        return None
    return Verifier(Tokens(settings.tokens), settings.oauth)


def _mcp_endpoint(
    server: Server[Any], settings: HttpSettings, verifier: Verifier | None
) -> App:
    security = TransportSecuritySettings(
        allowed_hosts=list(settings.allowed_hosts),
        allowed_origins=list(settings.allowed_origins),
    )
    app: Any = server.streamable_http_app(
        streamable_http_path=settings.path,
        stateless_http=settings.stateless,
        json_response=settings.stateless,
        max_request_body_size=settings.body_bytes,
        max_sessions=_MAX_SESSIONS,
        transport_security=security,
        host=settings.host,
        auth=_auth_settings(settings) if verifier is not None else None,
        token_verifier=verifier,
    )
    if settings.oauth is not None:
        # In front of the SDK's own route, which would list only the scope "read".
        app.router.routes[:0] = create_protected_resource_routes(
            resource_url=AnyHttpUrl(settings.oauth.resource),
            authorization_servers=[AnyHttpUrl(settings.oauth.issuer)],
            scopes_supported=settings.oauth.names_up_to("send"),
            resource_name="idl2mcp",
        )
    endpoint: App = app
    return endpoint


def _auth_settings(settings: HttpSettings) -> AuthSettings:
    oauth: OAuth | None = settings.oauth
    if oauth is None:
        here = AnyHttpUrl(f"http://127.0.0.1:{settings.port}")
        return AuthSettings(issuer_url=here, resource_server_url=None)
    return AuthSettings(
        issuer_url=AnyHttpUrl(oauth.issuer),
        resource_server_url=AnyHttpUrl(oauth.resource),
        validate_token_resource=True,
        # An access level: the verifier translates the token's scopes.
        required_scopes=["read"],
    )


class _ClientOf:
    """Names the client of a request, for the rate limit.

    A valid token counts for its owner, so that clients behind one proxy are counted separately.
    Any other request counts for its peer's address, so an invented token does not help.
    """

    def __init__(self, verifier: Verifier | None) -> None:
        self.verifier = verifier

    async def __call__(self, scope: Scope) -> str:
        token = None
        if self.verifier is not None:
            token = await self.verifier.verify_token(bearer_token(scope))
        if token is not None:
            return f"{token.client_id} {token.subject or ''}"
        return peer_of(scope)


class _OtherApps:
    """ASGI middleware that serves *other_apps* by their path and passes other paths on."""

    def __init__(self, app: App, other_apps: Mapping[str, App]) -> None:
        self.app, self.other_apps = app, other_apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path")) if scope["type"] == "http" else ""
        await self.other_apps.get(path, self.app)(scope, receive, send)


def _is_not_a_disconnect(record: logging.LogRecord) -> bool:
    """Filter out log records about clients that disconnect before their request is complete.

    The SDK logs each one as a server error with a traceback, so anyone could fill the log.
    """
    return record.exc_info is None or not isinstance(
        record.exc_info[1], ClientDisconnect
    )

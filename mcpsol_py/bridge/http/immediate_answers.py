"""Answers calls that wait for nothing where the body of their request is read.

The SDK would decode the body again, start and end tasks for what such a call never needs (a stream of notifications, a
client that leaves), and pass the result through models. The checks are the SDK's own. A request that fails one of them
goes to the SDK, which says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http import check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    find_duplicated_routing_header,
)
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from mcpsol_py.bridge.http.asgi import (
    JSON_CONTENT,
    Receive,
    Scope,
    Send,
    header,
    respond,
)
from mcpsol_py.bridge.mcp.immediate import ImmediateCalls, response_json

__all__ = ["answer_immediately"]

_VERSION = MCP_PROTOCOL_VERSION_HEADER.lower().encode()


def answer_immediately(
    manager: StreamableHTTPSessionManager, calls: ImmediateCalls
) -> None:
    """Answer the calls that wait for nothing before *manager* gets them.

    Its limit on bodies stays in front: it has read a body whole before anything looks at it. A manager of another SDK
    version, which has other parts, answers all calls itself.
    """
    limit: Any = getattr(manager, "asgi_app", None)
    if hasattr(limit, "app"):
        limit.app = _ImmediateAnswers(limit.app, manager, calls)


class _ImmediateAnswers:
    """ASGI app that answers the calls that wait for nothing, and passes other requests to *app*."""

    def __init__(
        self, app: Any, manager: StreamableHTTPSessionManager, calls: ImmediateCalls
    ) -> None:
        self._app, self._calls = app, calls
        self._security = TransportSecurityMiddleware(manager.security_settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        version = header(scope, _VERSION)
        if scope["method"] == "POST" and version in MODERN_PROTOCOL_VERSIONS:
            http = Request(scope)
            refusal = await self._security.validate_request(http, is_post=True)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            message = await receive()
            receive = _again(message, receive)
            answer = await self._answer(http, message.get("body", b""))
            if answer is not None:
                await _send_answer(answer, send)
                return
        await self._app(scope, receive, send)

    async def _answer(
        self, http: Request, body: bytes
    ) -> JSONRPCResponse | JSONRPCError | None:
        """Return the answer to a call that waits for nothing, None for any other request."""
        accepts_json, _ = check_accept_headers(http)
        is_routed_twice = find_duplicated_routing_header(http.headers.items())
        if not accepts_json or is_routed_twice:
            return None
        try:
            request = JSONRPCRequest.model_validate_json(body, by_name=False)
        except ValueError:
            return None
        return await self._calls.answer(request, http)


async def _send_answer(answer: JSONRPCResponse | JSONRPCError, send: Send) -> None:
    if isinstance(answer, JSONRPCResponse):
        await respond(send, 200, response_json(answer), [JSON_CONTENT])
        return
    status = ERROR_CODE_HTTP_STATUS.get(answer.error.code, 200)
    text = answer.model_dump_json(by_alias=True, exclude_none=True)
    await respond(send, status, text.encode(), [JSON_CONTENT])


def _again(message: Any, receive: Receive) -> Receive:
    """Return a `receive` that gives *message* first."""
    first = [message]

    async def receive_again() -> Any:
        return first.pop() if first else await receive()

    return receive_again

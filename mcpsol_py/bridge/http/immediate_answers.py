"""Answers calls that wait for nothing in the task of their request.

The SDK runs each call in a task of its own. Beside it, a task watches whether the client leaves, and a stream takes the
call's notifications. A call that waits for nothing ends before any of them gets a turn, but starting and ending them
takes as long as the call. The SDK has a mode without them (`json_response`), which is used for these calls alone. All
its checks of a request are the same in both modes.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.http.asgi import Receive, Scope, Send, header
from mcpsol_py.bridge.mcp.immediate import is_immediate

__all__ = ["answer_immediately"]

_VERSION = MCP_PROTOCOL_VERSION_HEADER.lower().encode()


def answer_immediately(manager: StreamableHTTPSessionManager, bridge: Bridge) -> None:
    """Let *manager* answer the calls that wait for nothing in the task of their request.

    Its limit on bodies stays in front: it has read a body whole before anything looks at it. A manager of another SDK
    version, which has other parts, answers them in its own way.
    """
    limit: Any = getattr(manager, "asgi_app", None)
    if hasattr(limit, "app") and hasattr(manager, "_handle_request"):
        limit.app = _ImmediateAnswers(manager, bridge)


class _ImmediateAnswers:
    """ASGI app that chooses the manager's mode for each request."""

    def __init__(self, manager: StreamableHTTPSessionManager, bridge: Bridge) -> None:
        self._manager, self._bridge = manager, bridge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        manager = self._manager
        # Up to 2025-11-25 the mode belongs to a session, not to a request.
        if header(scope, _VERSION) in MODERN_PROTOCOL_VERSIONS:
            message = await receive()
            receive = _again(message, receive)
            if self._is_immediate(message.get("body", b"")):
                manager = copy(manager)  # for this request; the sessions stay the same
                manager.json_response = True
        # The SDK offers no public way to a manager's requests behind the limit on their bodies.
        await manager._handle_request(scope, receive, send)

    def _is_immediate(self, body: bytes) -> bool:
        """Return True for the body of a call that waits for nothing."""
        try:
            request = orjson.loads(body)
            return is_immediate(self._bridge, request["method"], request["params"])
        except (ValueError, LookupError, TypeError):
            return False  # the SDK says what is wrong with it


def _again(message: Any, receive: Receive) -> Receive:
    """Return a `receive` that gives *message* first."""
    first = [message]

    async def receive_again() -> Any:
        return first.pop() if first else await receive()

    return receive_again

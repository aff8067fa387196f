"""Calls that wait for nothing, and their answers over stdio.

The SDK hands each request of a stream to a second task, and runs it in a third one that can be cancelled. A call that
waits for nothing ends before anything could cancel it, but the tasks take nearly as long as the call. So the reader of
the stream answers it, with the same handlers and the same checks. http/immediate_answers.py does this for HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.sessions import asks_for_notifications

__all__ = ["ImmediateCalls", "is_immediate"]

_TRANSPORT = TransportContext(kind="jsonrpc", can_send_request=False)


def is_immediate(bridge: Bridge, method: object, params: Any) -> bool:
    """Return True for a call that waits for nothing, and whose client asks for no notifications.

    *params* are a request's, unchecked. For malformed ones the result is False: the SDK says what is wrong with them.
    """
    try:
        return (
            method == "tools/call"
            and not asks_for_notifications(params["_meta"])
            and bridge.waits_for_nothing(params["name"])
        )
    except (LookupError, TypeError, AttributeError):
        return False


@dataclass(frozen=True)
class ImmediateCalls:
    """Answers the calls of one stream that wait for nothing.

    The client of the stream has chosen the protocol of 2026-07-28, in which a call needs no session.
    """

    server: Server[Any]
    bridge: Bridge

    async def answer(
        self, request: JSONRPCRequest
    ) -> JSONRPCResponse | JSONRPCError | None:
        """Return the answer to *request*, None for a request that the SDK answers."""
        method, params = request.method, request.params
        if not is_immediate(self.bridge, method, params):
            return None
        route = classify_inbound_request({"method": method, "params": params})
        if not isinstance(route, InboundModernRoute):
            return None
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        try:
            runner = ServerRunner(self.server, connection, {})
            result = await runner.on_request(_Exchange(request.id), method, params)
        except (MCPError, ValidationError) as error:
            found = modern_error_data(error)
            return JSONRPCError(jsonrpc="2.0", id=request.id, error=found)
        finally:
            await connection.exit_stack.aclose()
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


@dataclass
class _Exchange:
    """A request and its answer, with nothing sent between them (the SDK's DispatchContext)."""

    request_id: int | str
    transport: TransportContext = _TRANSPORT
    message_metadata: None = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> None:
        """Send nothing: the client has asked for no notifications."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send nothing: the client has asked for no progress."""

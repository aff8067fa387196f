"""Calls that wait for nothing, and their answers.

The SDK runs a call in a task of its own that can be cancelled, beside tasks that pass its messages on. A call that
waits for nothing ends before anything could cancel it, but the tasks take nearly as long as the call. So it is answered
where it is read, by stdio.py and http/immediate_answers.py, with the SDK's handlers and checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from starlette.requests import Request

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.sessions import asks_for_notifications

__all__ = ["ImmediateCalls", "is_immediate", "response_json"]

_STREAM = TransportContext(kind="jsonrpc", can_send_request=False)


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


def response_json(response: JSONRPCResponse) -> bytes:
    """Return a response as JSON. Its result is plain data, so no model needs to dump it."""
    fields = {"jsonrpc": response.jsonrpc, "id": response.id, "result": response.result}
    try:
        return orjson.dumps(fields)
    except TypeError:  # such as a number of over 64 bits
        return response.model_dump_json(by_alias=True).encode()


@dataclass(frozen=True)
class ImmediateCalls:
    """Answers the calls that wait for nothing.

    Their clients have chosen the protocol of 2026-07-28, in which a call needs no session.
    """

    server: Server[Any]
    bridge: Bridge

    async def answer(
        self, request: JSONRPCRequest, http: Request | None = None
    ) -> JSONRPCResponse | JSONRPCError | None:
        """Return the answer to *request*, None for a request that the SDK answers.

        *http* is the HTTP request that brought it, whose headers must agree with it.
        """
        method, params = request.method, request.params
        if not is_immediate(self.bridge, method, params):
            return None
        headers = dict(http.headers) if http is not None else None
        message = {"method": method, "params": params}
        route = classify_inbound_request(message, headers=headers)
        if not isinstance(route, InboundModernRoute):
            return None
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        try:
            runner = ServerRunner(self.server, connection, {})
            exchange = _exchange(request.id, http)
            result = await runner.on_request(exchange, method, params)
        except Exception as error:  # noqa: BLE001  # as in the SDK, which logs what it does not know
            found = modern_error_data(error)
            return JSONRPCError(jsonrpc="2.0", id=request.id, error=found)
        finally:
            await connection.exit_stack.aclose()
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


@dataclass
class _Exchange:
    """A request and its answer, with nothing sent between them (the SDK's DispatchContext)."""

    request_id: int | str
    transport: TransportContext = _STREAM
    message_metadata: ServerMessageMetadata | None = None
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


def _exchange(request_id: int | str, http: Request | None) -> _Exchange:
    if http is None:
        return _Exchange(request_id)
    transport = TransportContext(
        kind="streamable-http", can_send_request=False, headers=http.headers
    )
    return _Exchange(request_id, transport, ServerMessageMetadata(request_context=http))

"""Selling HTTP resources: ASGI middleware for any app (Starlette, FastAPI, …).

app = PaidHttp(app, paid_calls, {("GET", "/weather"): offer})
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.http_wire import (
    demand_headers,
    read_header_payment,
    receipt_headers,
)
from mcpsol_py.x402.protocol.offer import (
    Answer,
    Offer,
    PaymentRequiredReply,
    Refused,
    Reply,
)
from mcpsol_py.x402.protocol.proof import read_proof_header
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.sold_routes import SoldRoute, SoldRoutes, at_path
from mcpsol_py.x402.selling.tool_run import Run

__all__ = ["PaidEndpoint", "PaidHttp"]

#: The most bytes of a request's or a response's body, if the seller does not say.
MAX_BODY = 1024 * 1024

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The HTTP status of each code of Refused.
_STATUS = {
    "in_progress": 409,
    "settlement_pending": 409,
    "payment_id_conflict": 409,
    "proof_required": 409,
    "outcome_unknown": 500,
    "storage_unavailable": 503,
}
#: Codes of Refused after which the same request may be sent again.
_REPEATABLE = ("in_progress", "settlement_pending", "storage_unavailable")
_POLICY_VIOLATION = 1008
_JSON = {"Content-Type": "application/json"}
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")


@dataclass(frozen=True, slots=True)
class _Response:
    """A whole response. `kept` are headers of the app's own response, which may repeat a name."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    kept: list[list[str]] = field(default_factory=list)


class PaidEndpoint:
    """Sells what one ASGI app answers, for a router that has found it: *offer* is the price of each
    request.

    402 asks for payment or says why one was rejected. 400: the payment cannot be read. 409 (with
    Retry-After): it is in progress, or its id was used for something else. A response is stored
    with its payment and sent again to a repeated request, so a body may have at most *max_body*
    bytes.
    """

    def __init__(
        self, app: App, paid_calls: PaidCalls, offer: Offer, *, max_body: int = MAX_BODY
    ) -> None:
        self._seller, self._offer = _Seller(app, paid_calls, max_body), offer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        response = await self._seller.sell(self._offer, scope, receive)
        await _send(send, response, is_head=scope["method"].upper() == "HEAD")


class PaidHttp:
    """Asks payment for the routes of *offers*, by (method, path). Other paths pass through.

    A sold path is closed: HEAD costs what GET costs, OPTIONS is answered here, other methods get
    405, and a WebSocket is refused. So a middleware that answers CORS preflights goes around this
    one.

    Its answers are those of `PaidEndpoint`.
    """

    def __init__(
        self,
        app: App,
        paid_calls: PaidCalls,
        offers: Mapping[tuple[str, str], Offer],
        *,
        max_body: int = MAX_BODY,
    ) -> None:
        self._app, self._routes = app, SoldRoutes(offers)
        self._seller = _Seller(app, paid_calls, max_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        found = self._routes.find(scope)
        if found is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            response = await self._answer(found[0], at_path(scope, found[1]), receive)
            await _send(send, response, is_head=scope["method"].upper() == "HEAD")
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})

    async def _answer(
        self, route: SoldRoute, scope: Scope, receive: Receive
    ) -> _Response:
        method = scope["method"].upper()
        offer = route.offer(method)
        if offer is not None:
            return await self._seller.sell(offer, scope, receive)
        allow = {"Allow": route.allowed}
        if method == "OPTIONS":
            return _Response(204, allow, b"")
        message = f"{method} is not sold here; use one of {route.allowed}"
        return _error(405, "method_not_allowed", message, allow)


@dataclass(frozen=True, slots=True)
class _Seller:
    """Sells single requests to an app."""

    app: App
    paid_calls: PaidCalls
    max_body: int

    async def sell(self, offer: Offer, scope: Scope, receive: Receive) -> _Response:
        headers = {
            k.decode("latin-1").lower(): v.decode("latin-1")
            for k, v in scope["headers"]
        }
        body = await self._body(receive)
        if body is None:
            return _Response(413, _JSON, b'{"error":"payload_too_large"}')
        try:
            payment = read_header_payment(headers)
            proof = read_proof_header(headers) if offer.plans else None
        except PaymentError as error:
            return _error(400, error.code, str(error))

        async def run(_: Run) -> tuple[dict[str, Any], bool]:
            return await self._run_app(scope, body)

        request = _described(scope, body)
        reply = await self.paid_calls.call(offer, payment, request, run, proof)
        return _response(offer, reply, _origin(scope, headers))

    async def _body(self, receive: Receive) -> bytes | None:
        """The request's body; None if it has more than `max_body` bytes."""
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return body
            body += bytes(message.get("body", b""))
            if len(body) > self.max_body:
                return None
            if not message.get("more_body"):
                return body

    async def _run_app(self, scope: Scope, body: bytes) -> tuple[dict[str, Any], bool]:
        """Return the app's whole response as JSON that can be stored, and whether it failed (4xx,
        5xx).
        """
        sent: list[Message] = []
        requests = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Message:
            return next(requests, {"type": "http.disconnect"})

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = next(m for m in sent if m["type"] == "http.response.start")
        content = b"".join(
            m.get("body", b"") for m in sent if m["type"] == "http.response.body"
        )
        if len(content) > self.max_body:
            raise PaymentError(
                "response_too_large",
                f"the response has {len(content):,} bytes; a paid one may have at most "
                f"{self.max_body:,}",
            )
        result = {
            "status": start["status"],
            "headers": [
                [k.decode("latin-1"), v.decode("latin-1")]
                for k, v in start.get("headers", [])
            ],
            "body": base64.b64encode(content).decode(),
        }
        return result, start["status"] >= 400


def _described(scope: Scope, body: bytes) -> dict[str, str]:
    """What a payment pays for: the arguments of the call."""
    return {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope.get("query_string", b"").decode("latin-1"),
        "body": hashlib.sha256(body).hexdigest(),
    }


def _origin(scope: Scope, headers: Mapping[str, str]) -> str:
    """The app's address as this request names it."""
    host = headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        name, port = scope.get("server") or ("localhost", None)
        host = f"{name}:{port}" if port else name
    return f"{scope.get('scheme', 'http')}://{host}"


def _response(offer: Offer, reply: Reply, origin: str) -> _Response:
    match reply:
        case PaymentRequiredReply():
            headers, body = demand_headers(offer, reply.required, reply.failed, origin)
            return _Response(402, headers, body)
        case Answer():
            headers = (
                receipt_headers(reply.receipt) if reply.receipt is not None else {}
            )
            result = reply.result
            body = base64.b64decode(result["body"])
            return _Response(result["status"], headers, body, result["headers"])
        case Refused():
            return _refusal(reply)


def _refusal(reply: Refused) -> _Response:
    headers = {} if reply.receipt is None else receipt_headers(reply.receipt)
    if reply.code in _REPEATABLE:
        headers["Retry-After"] = "1"
    return _error(_STATUS[reply.code], reply.code, reply.message, headers)


def _error(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> _Response:
    body = orjson.dumps({"error": code, "message": message})
    return _Response(status, {**_JSON, **(headers or {})}, body)


async def _send(send: Send, response: _Response, *, is_head: bool) -> None:
    lengths = [v for k, v in response.kept if k.lower() == "content-length"]
    kept = [(k, v) for k, v in response.kept if k.lower() != "content-length"]
    # The response to HEAD has the length of the body that GET would get.
    length = lengths[0] if is_head and lengths else str(len(response.body))
    headers = [
        (k.lower().encode("latin-1"), v.encode("latin-1"))
        for k, v in (*kept, *response.headers.items(), ("Content-Length", length))
    ]
    body = b"" if is_head else response.body
    await send(
        {"type": "http.response.start", "status": response.status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})

"""Selling HTTP resources: ASGI middleware around any app (Starlette, FastAPI, …).

app = PaidHttp(app, paid_calls, {("GET", "/weather"): offer})
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

import orjson

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.http_wire import demand_headers, read_header_payment, receipt_headers
from mcpsol_py.x402.protocol.offer import Answer, Offer, PaymentRequiredReply
from mcpsol_py.x402.protocol.proof import read_proof_header
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run

__all__ = ["PaidHttp"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_STATUS = {
    "in_progress": 409,
    "settlement_pending": 409,
    "payment_id_conflict": 409,
    "outcome_unknown": 500,
    "storage_unavailable": 503,
}


class PaidHttp:
    """Asks payment for the routes of *offers*, (method, path) each; everything else passes through.

    402 asks for payment or says why one does not do, 400 is a payment that cannot be read, 409 (with Retry-After) is
    one in progress, or an id used for something else. A response is kept with its payment and given again to a repeat,
    so bodies are bounded by *max_body*.
    """

    def __init__(
        self,
        app: App,
        paid_calls: PaidCalls,
        offers: Mapping[tuple[str, str], Offer],
        *,
        max_body: int = 1024 * 1024,
    ) -> None:
        self._app, self._paid_calls, self._offers, self._max_body = (
            app,
            paid_calls,
            dict(offers),
            max_body,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        offer = (
            self._offers.get((scope.get("method", ""), scope.get("path", "")))
            if scope["type"] == "http"
            else None
        )
        if offer is None:
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        body = await self._body(receive)
        if body is None:
            await _respond(
                send, 413, {"Content-Type": "application/json"}, b'{"error":"payload_too_large"}'
            )
            return
        try:
            payment = read_header_payment(headers)
            proof = read_proof_header(headers) if offer.plans else None
        except PaymentError as error:
            text = orjson.dumps({"error": error.code, "message": str(error)})
            await _respond(send, 400, {"Content-Type": "application/json"}, text)
            return
        request = {
            "method": scope["method"],
            "path": scope["path"],
            "query": scope.get("query_string", b"").decode("latin-1"),
            "body": hashlib.sha256(body).hexdigest(),
        }

        async def run(_: Run) -> tuple[dict[str, Any], bool]:
            return await self._inner(scope, body)

        reply = await self._paid_calls.call(offer, payment, request, run, proof)
        if isinstance(reply, PaymentRequiredReply):
            asked, text = demand_headers(offer, reply.required, reply.failed)
            await _respond(send, 402, asked, text)
        elif isinstance(reply, Answer):
            extra = receipt_headers(reply.receipt) if reply.receipt is not None else {}
            await _respond(
                send,
                reply.result["status"],
                extra,
                base64.b64decode(reply.result["body"]),
                reply.result["headers"],
            )
        else:
            extra = {"Content-Type": "application/json"}
            if reply.receipt is not None:
                extra |= receipt_headers(reply.receipt)
            if reply.code in ("in_progress", "settlement_pending", "storage_unavailable"):
                extra["Retry-After"] = "1"
            await _respond(
                send,
                _STATUS[reply.code],
                extra,
                orjson.dumps({"error": reply.code, "message": reply.message}),
            )

    async def _body(self, receive: Receive) -> bytes | None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return body
            body += bytes(message.get("body", b""))
            if len(body) > self._max_body:
                return None
            if not message.get("more_body"):
                return body

    async def _inner(self, scope: Scope, body: bytes) -> tuple[dict[str, Any], bool]:
        """The app's whole response, as JSON that can be kept. 4xx and 5xx are failures, which are not charged."""
        sent: list[Message] = []
        asked = False

        async def receive() -> Message:
            nonlocal asked
            if asked:
                return {"type": "http.disconnect"}
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = next(m for m in sent if m["type"] == "http.response.start")
        content = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
        if len(content) > self._max_body:
            raise PaymentError(
                "response_too_large", f"a paid response takes at most {self._max_body:,} bytes"
            )
        headers = [[k.decode("latin-1"), v.decode("latin-1")] for k, v in start.get("headers", [])]
        result = {
            "status": start["status"],
            "headers": headers,
            "body": base64.b64encode(content).decode(),
        }
        return result, start["status"] >= 400


async def _respond(
    send: Send,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    more: list[list[str]] | None = None,
) -> None:
    kept = [(k, v) for k, v in more or [] if k.lower() != "content-length"]
    listed = [*kept, *headers.items(), ("Content-Length", str(len(body)))]
    raw = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in listed]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})

"""Plain ASGI helpers: read a request's headers and send a short response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

__all__ = [
    "JSON_CONTENT",
    "App",
    "Receive",
    "Scope",
    "Send",
    "bearer_token",
    "header",
    "respond",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON_CONTENT = (b"content-type", b"application/json")


def header(scope: Scope, name: bytes) -> str:
    """Return a request's header, or "". *name* is in lower case."""
    for found, value in scope.get("headers", ()):
        if found == name:
            return str(value, "latin-1")
    return ""


def bearer_token(scope: Scope) -> str:
    """Return the bearer token of a request, or ""."""
    kind, _, token = header(scope, b"authorization").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def respond(
    send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole response."""
    all_headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})

"""Plain ASGI helpers: read a request's headers and send a short response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import ip_address, ip_network
from typing import Any

__all__ = [
    "JSON_CONTENT",
    "App",
    "Receive",
    "Scope",
    "Send",
    "bearer_token",
    "header",
    "peer_of",
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


def peer_of(scope: Scope) -> str:
    """Return the address that a request is counted for, "?" if there is none.

    An IPv6 client may use any address of its /64 network, so these are counted together.
    """
    peer = scope.get("client")
    if not peer:
        return "?"
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except ValueError:
        return str(peer[0])
    if address.version == 4:
        return str(address)
    return str(ip_network((address, 64), strict=False))


async def respond(
    send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole response."""
    all_headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send(
        {"type": "http.response.start", "status": status, "headers": all_headers}
    )
    await send({"type": "http.response.body", "body": body})

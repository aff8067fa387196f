"""Limits how many requests a client may send per minute."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from mcpsol_py.bridge.http.asgi import App, Receive, Scope, Send, respond

__all__ = ["RateLimit"]


class RateLimit:
    """ASGI middleware that allows *per_minute* requests to each client.

    A client that sends more gets 429 with Retry-After and the text *refusal*. *client_of* returns
    the name that a request is counted under, None for one that is not counted; the most recent
    *clients* names are remembered.
    """

    def __init__(
        self,
        app: App,
        per_minute: int,
        client_of: Callable[[Scope], Awaitable[str | None]],
        *,
        clients: int = 10_000,
        refusal: str = "too many requests",
    ) -> None:
        self.app, self.client_of, self.clients, self.refusal = (
            app,
            client_of,
            clients,
            refusal,
        )
        self.rate, self.burst = per_minute / 60.0, float(per_minute)
        #: Client -> (requests left, time of the last request): token buckets.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client = await self.client_of(scope)
        wait = 0.0 if client is None else self.take(client, time.monotonic())
        if wait > 0:
            retry_after = (b"retry-after", str(int(wait) + 1).encode())
            await respond(send, 429, f"{self.refusal}\n".encode(), [retry_after])
            return
        await self.app(scope, receive, send)

    def refill(self, client: str) -> None:
        """Give *client* its whole allowance back."""
        self._buckets.pop(client, None)

    def take(self, client: str, now: float) -> float:
        """Count one request of *client*. Returns 0 if it is allowed, else the seconds to wait."""
        left, last = self._buckets.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - last) * self.rate)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left, now)
        while len(self._buckets) > self.clients:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self.rate

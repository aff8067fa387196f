"""The HTTP client for MCP servers of other parties, whose answers are bounded while they are unpacked."""

from __future__ import annotations

import httpx2

from mcpsol_py.client.bounded import bound_answers
from mcpsol_py.x402.protocol.http_answers import MAX_ANSWER

__all__ = ["bounded_http"]

#: Seconds: a server may hold a stream of events open.
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


def bounded_http(
    inner: httpx2.AsyncBaseTransport | None = None, *, limit: int = MAX_ANSWER
) -> httpx2.AsyncClient:
    """Return a client that refuses answers of more than *limit* bytes, for the official SDK.

    A stream of events counts as one answer. *inner* is httpx2's transport, for tests.
    """
    client = httpx2.AsyncClient(
        transport=inner or httpx2.AsyncHTTPTransport(), timeout=_TIMEOUT
    )
    bound_answers(client, limit)
    return client

"""The HTTP client for MCP servers of other parties, whose answers are bounded while they are unpacked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import httpx2

from mcpsol_py.x402.protocol.http_answers import ACCEPTED_ENCODINGS, MAX_ANSWER, BoundedBody

__all__ = ["bounded_http"]

#: Seconds: a server may hold a stream of events open.
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


def bounded_http(
    inner: httpx2.AsyncBaseTransport | None = None, *, limit: int = MAX_ANSWER
) -> httpx2.AsyncClient:
    """Return a client that refuses answers of more than *limit* bytes, for the official SDK.

    A stream of events counts as one answer. *inner* is httpx2's transport, for tests.
    """
    return httpx2.AsyncClient(
        transport=_Bounded(inner or httpx2.AsyncHTTPTransport(), limit),
        timeout=_TIMEOUT,
        headers={"accept-encoding": ACCEPTED_ENCODINGS},
    )


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport, limit: int) -> None:
        self._inner, self._limit = inner, limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        try:
            body = BoundedBody(answer.headers.pop("content-encoding", ""), self._limit)
        except httpx.DecodingError as error:
            await answer.aclose()
            raise httpx2.DecodingError(str(error), request=request) from None
        answer.headers.pop("content-length", None)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)  # transports give nothing else
        answer.stream = _BoundedStream(answer.stream, body, request)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, packed: httpx2.AsyncByteStream, body: BoundedBody, request: httpx2.Request
    ) -> None:
        self._packed, self._body, self._request = packed, body, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._packed:
                yield self._body.feed(chunk)
                self._check_length()
        except httpx.DecodingError as error:
            raise httpx2.DecodingError(str(error), request=self._request) from None

    def _check_length(self) -> None:
        if self._body.cut:
            raise httpx2.ReadError("the answer is too long", request=self._request)

    async def aclose(self) -> None:
        await self._packed.aclose()

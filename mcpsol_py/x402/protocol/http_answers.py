"""Answers of other parties over HTTP, with a limit on their length while they are unpacked.

A few kilobytes can unpack to gigabytes, so that a limit on the unpacked body comes too late. Requests
ask for `gzip` or `deflate`, because zlib can stop in the middle of a chunk. Answers with other codings,
or with several, are refused.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Protocol

import httpx

__all__ = [
    "ACCEPTED_ENCODINGS",
    "MAX_ANSWER",
    "BoundedBody",
    "send_bounded",
    "send_bounded_sync",
    "was_cut",
]

#: The value of `accept-encoding` in requests.
ACCEPTED_ENCODINGS = "gzip, deflate"
#: Bytes of an unpacked body that are kept if the caller has no limit of its own.
MAX_ANSWER = 16 << 20
_ZLIB_WINDOWS = {
    "gzip": zlib.MAX_WBITS | 16,
    "x-gzip": zlib.MAX_WBITS | 16,
    "deflate": zlib.MAX_WBITS,
}
#: The headers of an answer that are about its packed form.
_OF_PACKED_FORM = ("content-encoding", "content-length", "transfer-encoding")


async def send_bounded(
    client: httpx.AsyncClient, request: httpx.Request, *, limit: int = MAX_ANSWER
) -> httpx.Response:
    """Send *request* and return the answer with at most *limit* bytes of its body.

    `was_cut` tells whether there was more. Follows redirects if *client* does. Raises httpx.HTTPError.
    """
    request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
    for _ in range(client.max_redirects + 1):
        answer = await client.send(request, stream=True, follow_redirects=False)
        try:
            body = _body_of(answer, limit)
            async for chunk in _aiter_raw(answer):
                body.feed(chunk)
                if body.cut:
                    break
        finally:
            await answer.aclose()
        if answer.next_request is None or not client.follow_redirects:
            return _unpacked(answer, body)
        request = answer.next_request
    raise httpx.TooManyRedirects("too many redirects", request=request)


def send_bounded_sync(
    client: httpx.Client, request: httpx.Request, *, limit: int = MAX_ANSWER
) -> httpx.Response:
    """As `send_bounded`, without a loop. Follows no redirects."""
    request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
    answer = client.send(request, stream=True, follow_redirects=False)
    try:
        body = _body_of(answer, limit)
        for chunk in (answer.content,) if answer.is_stream_consumed else answer.iter_raw():
            body.feed(chunk)
            if body.cut:
                break
    finally:
        answer.close()
    return _unpacked(answer, body)


def _body_of(answer: httpx.Response, limit: int) -> BoundedBody:
    """Return an empty body for what is to be read of *answer*.

    A transport (of a test or a cache) or a hook of the client may have read and unpacked it already.
    """
    packed = not answer.is_stream_consumed
    return BoundedBody(answer.headers.get("content-encoding", "") if packed else "", limit)


async def _aiter_raw(answer: httpx.Response) -> AsyncIterator[bytes]:
    if answer.is_stream_consumed:
        yield answer.content
        return
    async for chunk in answer.aiter_raw():
        yield chunk


def was_cut(answer: httpx.Response) -> bool:
    """Was the body of an answer of `send_bounded` longer than its limit?"""
    return bool(answer.extensions.get("cut"))


def _unpacked(answer: httpx.Response, body: BoundedBody) -> httpx.Response:
    headers = answer.headers.multi_items()
    if answer.request.method != "HEAD":  # whose answer has no body, but says how long it would be
        headers = [(name, value) for name, value in headers if name.lower() not in _OF_PACKED_FORM]
    return httpx.Response(
        answer.status_code,
        headers=headers,
        content=bytes(body.content),
        request=answer.request,
        extensions={"cut": body.cut},
    )


class _Unpack(Protocol):
    """An object of zlib.decompressobj, for example."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most *max_length* bytes of what *data* unpacks to."""


class _AsItIs:
    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return data[:max_length]


class BoundedBody:
    """The body of one answer, unpacked from its chunks: at most *limit* bytes in `content`.

    `cut` is True once there was more, packed or unpacked. Raises httpx.DecodingError for a coding
    that is not supported.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self.content = bytearray()
        self.cut = False
        self._limit, self._read = limit, 0
        self._coding = encoding.strip().lower()
        self._unpack = self._unpacker()

    def _unpacker(self) -> _Unpack:
        if self._coding in ("", "identity"):
            return _AsItIs()
        window = _ZLIB_WINDOWS.get(self._coding)
        if window is None:
            raise httpx.DecodingError(
                f"expected an answer in {ACCEPTED_ENCODINGS}, got {self._coding[:40]!r}"
            )
        return zlib.decompressobj(window)

    def feed(self, chunk: bytes) -> bytes:
        """Add a chunk as it came, and return what it adds to `content`."""
        room = self._limit - len(self.content)
        try:
            added = self._decompress(chunk, room + 1)  # one more byte shows that there is more
        except zlib.error as error:
            raise httpx.DecodingError(f"the answer is not valid {self._coding}") from error
        self._read += len(chunk)
        # Packed bytes count too: a body can go on for ever and unpack to nothing.
        self.cut = len(added) > room or self._read > self._limit
        added = added[:room]
        self.content += added
        return added

    def _decompress(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._unpack.decompress(chunk, most)
        except zlib.error:
            if self._coding != "deflate" or self._read:
                raise
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave out zlib's header
        return self._unpack.decompress(chunk, most)

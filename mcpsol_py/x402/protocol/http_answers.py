"""Answers of other parties over HTTP, cut at a limit while they are unpacked (client/bounded.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from mcpsol_py.client.bounded import ACCEPTED_ENCODINGS, BoundedBody

__all__ = [
    "MAX_ANSWER",
    "send_bounded",
    "send_bounded_sync",
    "was_cut",
]

#: Bytes of an unpacked body that are kept if the caller has no limit of its own.
MAX_ANSWER = 16 << 20
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
        for chunk in (
            (answer.content,) if answer.is_stream_consumed else answer.iter_raw()
        ):
            body.feed(chunk)
            if body.cut:
                break
    finally:
        answer.close()
    return _unpacked(answer, body)


def _body_of(answer: httpx.Response, limit: int) -> BoundedBody:
    """Return an empty body for the bytes of *answer*.

    A transport (of a test or a cache) or a hook of the client may have read and unpacked it already.
    """
    packed = not answer.is_stream_consumed
    coding = answer.headers.get("content-encoding", "") if packed else ""
    return BoundedBody(coding, limit, httpx.DecodingError)


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
    # Whose answer has no body, but says how long it would be.
    if answer.request.method != "HEAD":
        headers = [
            (name, value)
            for name, value in headers
            if name.lower() not in _OF_PACKED_FORM
        ]
    return httpx.Response(
        answer.status_code,
        headers=headers,
        content=bytes(body.content),
        request=answer.request,
        extensions={"cut": body.cut},
    )

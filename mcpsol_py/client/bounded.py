"""Answers of other parties, bounded: bodies while they are read and unpacked, messages, and the values in JSON.

A few kilobytes can unpack to gigabytes, so that a limit on the unpacked body comes too late. Requests ask for `gzip` or
`deflate`, because zlib can stop in the middle of a chunk. Answers with other codings, or with several, are refused.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import sys
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson

from mcpsol_py.solana.clusters import is_on_this_machine

__all__ = [
    "ACCEPTED_ENCODINGS",
    "NO_PROXY_HERE",
    "AnswerRefused",
    "BoundedBody",
    "bound_answers",
    "fetch_json",
    "http_session",
    "read_json",
    "without_proxy",
]

#: The value of `accept-encoding` in requests.
ACCEPTED_ENCODINGS = "gzip, deflate"
#: The `mounts` of clients of httpx that ask this machine without a proxy, whatever the environment says. httpx compares
#: names, so a client of one URL adds the URL's own host (`http_session`).
NO_PROXY_HERE: dict[str, None] = dict.fromkeys(
    ("all://127.0.0.1", "all://localhost", "all://[::1]")
)
#: Sessions whose answers are bounded already.
_BOUNDED: weakref.WeakSet[Any] = weakref.WeakSet()
#: JSON values in one answer. Python takes up to 90 bytes for each, however short its text is.
_MAX_VALUES = 4_000_000
_ZLIB_WINDOWS = {
    "gzip": zlib.MAX_WBITS | 16,
    "x-gzip": zlib.MAX_WBITS | 16,
    "deflate": zlib.MAX_WBITS,
}


class AnswerRefused(ValueError):
    """An answer that is not read: it is too long, or it is packed in another way than the request asked for."""


class _Unpack(Protocol):
    """An object of zlib.decompressobj, for example."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most *max_length* bytes of what *data* unpacks to."""


class _AsItIs:
    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return data[:max_length]


class BoundedBody:
    """The body of one answer, unpacked from its chunks: at most *limit* bytes in `content`.

    `cut` is True once there was more, packed or unpacked. *refusal* makes the exception for a coding that is not
    supported, and for a body that does not unpack.
    """

    def __init__(
        self,
        encoding: str,
        limit: int,
        refusal: Callable[[str], Exception] = AnswerRefused,
    ) -> None:
        self.content = bytearray()
        self.cut = False
        self.limit, self._read, self._refusal = limit, 0, refusal
        self._coding = encoding.strip().lower()
        self._unpack = self._unpacker()

    def _unpacker(self) -> _Unpack:
        if self._coding in ("", "identity"):
            return _AsItIs()
        window = _ZLIB_WINDOWS.get(self._coding)
        if window is None:
            raise self._refusal(
                f"expected an answer in {ACCEPTED_ENCODINGS}, got {self._coding[:40]!r}"
            )
        return zlib.decompressobj(window)

    def feed(self, chunk: bytes) -> bytes:
        """Add a chunk as it came, and return what it adds to `content`."""
        room = self.limit - len(self.content)
        try:
            # One more byte shows that there is more.
            added = self._decompress(chunk, room + 1)
        except zlib.error as error:
            raise self._refusal(f"the answer is not valid {self._coding}") from error
        self._read += len(chunk)
        # Packed bytes count too: a body can go on for ever and unpack to nothing.
        self.cut = len(added) > room or self._read > self.limit
        added = added[:room]
        self.content += added
        return added

    def _decompress(self, chunk: bytes, most: int) -> bytes:
        try:
            return self._unpack.decompress(chunk, most)
        except zlib.error:
            if self._coding != "deflate" or self._read:
                raise
        # Some servers leave out zlib's header.
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._unpack.decompress(chunk, most)


# --- sessions of httpx and httpx2 --------------------------------------------------------------------------------


def http_session(timeout: float, url: str = "") -> Any:
    """Return an AsyncClient of the HTTP library that solana-py brings: httpx2, or httpx in older versions.

    It asks this machine without a proxy, and other machines as the environment says. *url* is what it will ask, and may
    name this machine in another form, such as 127.0.0.2. It follows no redirect.
    """
    try:
        library = importlib.import_module("httpx2")
    except ImportError:
        library = importlib.import_module("httpx")
    here = {f"all://{urlsplit(url).netloc}": None} if is_on_this_machine(url) else {}
    session: Any = library.AsyncClient(timeout=timeout, mounts=NO_PROXY_HERE | here)
    return session


async def fetch_json(url: str, *, limit: int, seconds: float) -> Any:
    """Return the JSON value at *url*: at most *limit* bytes, in *seconds* from the first to the last.

    Raises AnswerRefused for any other answer, a redirect too. Its text has no URL, which may hold a key.
    """
    try:
        async with asyncio.timeout(seconds), http_session(seconds, url) as session:
            bound_answers(session, limit)
            answer = await session.get(url)
            answer.raise_for_status()
            return read_json(answer.content)
    except Exception as error:  # httpx's or httpx2's, of many kinds
        why = f"expected JSON from {urlsplit(url).hostname}, got {type(error).__name__}"
        raise AnswerRefused(why) from error


def bound_answers(session: Any, limit: int) -> None:
    """Make a client of httpx or httpx2 refuse answers of more than *limit* bytes, as they come or unpacked.

    Such an answer raises the library's DecodingError. The text of answers is read as UTF-8: a name of another codec
    could unpack it once more. A session of another library stays as it is.
    """
    homes = (home.__module__.partition(".")[0] for home in type(session).__mro__)
    library = next(
        (sys.modules[home] for home in homes if home in ("httpx", "httpx2")), None
    )
    if library is None or session in _BOUNDED:
        return
    _BOUNDED.add(session)
    ask, check = _hooks(library, limit)
    if isinstance(session, library.AsyncClient):
        ask, check = _awaited(ask), _awaited(check)
    hooks = session.event_hooks
    session.event_hooks = {
        "request": [*hooks["request"], ask],
        "response": [check, *hooks["response"]],
    }


def _hooks(
    library: Any, limit: int
) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
    """Return the hooks for each request, and to each answer before its body is read."""

    def ask(request: Any) -> None:
        request.headers["accept-encoding"] = ACCEPTED_ENCODINGS

    def check(response: Any) -> None:
        refuse = functools.partial(library.DecodingError, request=response.request)
        body = BoundedBody(response.headers.pop("content-encoding", ""), limit, refuse)
        response.headers.pop("content-length", None)
        kind, _, _ = response.headers.get("content-type", "").partition(";")
        response.headers["content-type"] = kind
        response.stream = _bounded_stream(library)(response.stream, body, refuse)

    return ask, check


def _awaited(hook: Callable[[Any], None]) -> Callable[[Any], Any]:
    async def awaited(message: Any) -> None:
        hook(message)

    return awaited


@functools.cache
def _bounded_stream(library: Any) -> type:
    """Return the class of a body, for either way of reading, whose chunks go through a BoundedBody."""

    class BoundedStream(library.AsyncByteStream, library.SyncByteStream):  # type: ignore[misc]
        def __init__(
            self, packed: Any, body: BoundedBody, refuse: Callable[[str], Any]
        ) -> None:
            self._packed, self._body, self._refuse = packed, body, refuse

        def _feed(self, chunk: bytes) -> bytes:
            added = self._body.feed(chunk)
            if self._body.cut:
                raise self._refuse(
                    f"the answer is longer than {self._body.limit:,} bytes"
                )
            return added

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._packed:
                yield self._feed(chunk)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._packed:
                yield self._feed(chunk)

        def close(self) -> None:
            self._packed.close()

        async def aclose(self) -> None:
            await self._packed.aclose()

    return BoundedStream


def without_proxy(url: str) -> dict[str, Any]:
    """Return the options by which `websockets` asks *url* directly, if it is on this machine.

    Versions before 15 know no proxies.
    """
    try:
        from websockets.asyncio.client import connect
    except ImportError:
        return {}
    knows = "proxy" in inspect.signature(connect).parameters
    return {"proxy": None} if knows and is_on_this_machine(url) else {}


# --- JSON --------------------------------------------------------------------------------------------------------


def read_json(raw: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, for a text with too many values too."""
    text = raw.encode() if isinstance(raw, str) else raw
    if sum(map(text.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise AnswerRefused(f"the answer has more than {_MAX_VALUES:,} values")
    return orjson.loads(text)

"""Serves MCP over stdin and stdout.

If stdin and stdout are pipes or a terminal, the event loop reads and writes them directly, and the
SDK's server takes each message as it is read: the SDK's own transport passes it through three
threads and two tasks, which costs more than answering most messages, and a thread that reads a
terminal would outlive Ctrl-C. For a file or on Windows the SDK's transport is used.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Self

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.immediate import ImmediateCalls, response_json
from mcpsol_py.bridge.mcp.probing import (
    MODERN_VERSIONS,
    Announced,
    EarlyProbes,
    are_pipes,
    probe_reply,
)
from mcpsol_py.bridge.signals import on_stop_signal

__all__ = ["run_stdio"]

logger = logging.getLogger(__name__)

#: Size of the read buffer in bytes. A longer message takes several reads.
_READ_BUFFER = 1 << 20


#: Answers a request, or leaves it to the SDK (None).
_Answering = Callable[[JSONRPCRequest | None], Awaitable[JSONRPCMessage | None]]


async def run_stdio(
    server: Server[Any],
    early: EarlyProbes | None = None,
    bridge: Bridge | None = None,
) -> None:
    """Serve one client on stdin and stdout until it closes them or SIGINT or SIGTERM arrives.

    *early* answered the client while the server was made; this takes over from it. With the *bridge* of *server*, the
    calls that wait for nothing are answered faster.

    After a signal, a send that has begun is still followed until its outcome is known. A second
    signal ends the process. The client receives only protocol messages: while the server runs,
    `print` writes to stderr and stdin is empty.
    """
    immediate = ImmediateCalls(server, bridge) if bridge is not None else None
    if not are_pipes() and not _are_terminals():
        async with stdio_server() as (read, write):
            await _serve(server, read, write, immediate)
        return
    received = early.stop() if early is not None else b""
    async with _pipes(received) as (messages, answers):
        await _serve(server, messages, answers, immediate)


async def _serve(
    server: Server[Any], read: Any, write: Any, immediate: ImmediateCalls | None
) -> None:
    try:
        messages: Any = _ForSdk(server, read, write, immediate)
        await server.run(messages, write, server.create_initialization_options())
    finally:
        # Flush while stdout still points to stderr: buffered prints are not for the client.
        with suppress(OSError):
            sys.stdout.flush()


class _ForSdk:
    """The messages that the SDK's server answers. This answers the client's probes, and calls that wait for nothing.

    The SDK takes the protocol of the first request for the whole connection. A probe does not choose it.
    """

    def __init__(
        self,
        server: Server[Any],
        read: Any,
        write: Any,
        immediate: ImmediateCalls | None,
    ) -> None:
        self._read, self._write, self._immediate = read, write, immediate
        self._answer: _Answering = self._to_probe
        capabilities = server.get_capabilities(protocol_version=MODERN_VERSIONS[0])
        self._announced = Announced(
            server.server_info_stamp,
            capabilities.model_dump(by_alias=True, mode="json", exclude_none=True),
            server.instructions,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    def __aiter__(self) -> _ForSdk:
        return self

    async def __anext__(self) -> Any:
        while True:
            item = await anext(self._read)
            answer = await self._answer(_request_in(item))
            if answer is None:
                return item
            # If the client is gone, its messages end.
            with suppress(anyio.BrokenResourceError):
                await self._write.send(SessionMessage(answer))

    async def _to_probe(self, request: JSONRPCRequest | None) -> JSONRPCMessage | None:
        """Answer *request* if it is a probe. Any other request chooses the protocol."""
        if request is None:
            return None
        fields = request.model_dump(by_alias=True, exclude_none=True)
        reply = probe_reply(fields, self._announced)
        if reply is not None:
            return jsonrpc_message_adapter.validate_python(reply)
        self._answer = self._to_call if _is_modern(request) else _nothing
        return None

    async def _to_call(self, request: JSONRPCRequest | None) -> JSONRPCMessage | None:
        """Answer *request* if it is a call that waits for nothing."""
        if request is None or self._immediate is None:
            return None
        answer = await self._immediate.answer(request)
        if answer is not None:
            # A client that sends many calls leaves time to other tasks.
            await asyncio.sleep(0)
        return answer


async def _nothing(_request: JSONRPCRequest | None) -> JSONRPCMessage | None:
    """Answer no request."""
    return None


def _request_in(item: SessionMessage | Exception) -> JSONRPCRequest | None:
    """Return the request that a message is, None for any other message."""
    message = item.message if isinstance(item, SessionMessage) else None
    return message if isinstance(message, JSONRPCRequest) else None


def _is_modern(request: JSONRPCRequest) -> bool:
    """Return True if *request* chooses the protocol of 2026-07-28 for its connection."""
    meta = (request.params or {}).get("_meta")
    return (
        request.method != "initialize"
        and isinstance(meta, dict)
        and PROTOCOL_VERSION_META_KEY in meta
    )


def _is_terminal(fd: int) -> bool:
    """Return True if *fd* is a terminal that the event loop can use."""
    return sys.platform != "win32" and os.isatty(fd)


def _are_terminals() -> bool:
    """Return True if a person started the server: stdin is a terminal, and stdout another one or a pipe."""
    return _is_terminal(0) and (_is_terminal(1) or stat.S_ISFIFO(os.fstat(1).st_mode))


class _Stream:
    """A stream of messages as the SDK's server takes it. `_pipes` closes what is under it."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _MessageReader(_Stream):
    """The messages of the client, one a line. A line that cannot be read gives its error, as in the SDK."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises EndOfStream."""
        line = await self._read_line()
        if not line:
            raise anyio.EndOfStream
        try:
            return SessionMessage(_message_in(line))
        except ValueError as error:
            return error

    async def _read_line(self) -> bytes:
        """Return a line of any length, b"" at the end."""
        parts: list[bytes] = []
        while True:
            try:
                parts.append(await self._reader.readuntil(b"\n"))
            except asyncio.LimitOverrunError as error:
                parts.append(await self._reader.read(error.consumed))
                continue
            except asyncio.IncompleteReadError as error:  # end of the stream
                parts.append(error.partial)
            return b"".join(parts)


def _message_in(line: bytes) -> JSONRPCMessage:
    """Return the message on a line. Invalid UTF-8 is replaced. Raises ValueError."""
    text = line.decode("utf-8", "replace")
    if b'"method"' in line and b'"id"' in line:  # nearly always a request
        with suppress(ValueError):
            return JSONRPCRequest.model_validate_json(text, by_name=False)
    return jsonrpc_message_adapter.validate_json(text, by_name=False)


def _line_of(message: JSONRPCMessage) -> bytes:
    """Return a message as a line of JSON."""
    if isinstance(message, JSONRPCResponse):
        return response_json(message) + b"\n"
    text = message.model_dump_json(by_alias=True, exclude_unset=True)
    return f"{text}\n".encode()


class _MessageWriter(_Stream):
    """Writes messages to the client, one a line. *hang_up* is called when the client has gone away."""

    def __init__(
        self, writer: asyncio.StreamWriter, hang_up: Callable[[], None]
    ) -> None:
        self._writer, self._hang_up = writer, hang_up

    async def send(self, item: SessionMessage) -> None:
        """Write a message, and wait until the pipe has taken all of it. Raises BrokenResourceError."""
        self._writer.write(_line_of(item.message))
        try:
            await self._writer.drain()
        except ConnectionError as error:  # it left without waiting for its answers
            logger.info("the client closed its end of the pipe")
            self._hang_up()
            raise anyio.BrokenResourceError from error


@contextmanager
def _redirected(fd: int, target: int) -> Iterator[int]:
    """Point *fd* at *target* inside the block.

    Yields a new descriptor of the original file, which the caller closes.
    """
    kept, blocking = os.dup(fd), os.get_blocking(fd)
    os.dup2(target, fd)
    try:
        # A terminal is opened again: the event loop makes its file non-blocking, and stderr may be the same file.
        yield (
            os.open(os.ttyname(kept), os.O_RDWR) if _is_terminal(kept) else os.dup(kept)
        )
    finally:
        os.dup2(kept, fd)
        os.close(kept)
        os.set_blocking(fd, blocking)


@asynccontextmanager
async def _pipes(
    received: bytes,
) -> AsyncIterator[tuple[_MessageReader, _MessageWriter]]:
    """Give the messages on stdin, and what writes to stdout. *received* was read from stdin before."""
    loop = asyncio.get_running_loop()
    sys.stdout.flush()
    empty = os.open(os.devnull, os.O_RDONLY)
    with _redirected(0, empty) as stdin, _redirected(1, 2) as stdout:
        os.close(empty)
        reader = asyncio.StreamReader(_READ_BUFFER)
        reader.feed_data(received)
        incoming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader),
            os.fdopen(stdin, "rb", buffering=0),
        )
        outgoing, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(stdout, "wb", buffering=0),
        )
        outgoing.set_write_buffer_limits(0)  # so that `flush` waits for every byte
        writer = asyncio.StreamWriter(outgoing, protocol, None, loop)

        def stop() -> None:
            handlers.close()  # a second signal ends the process
            incoming.close()

        try:
            with ExitStack() as handlers:
                handlers.enter_context(on_stop_signal(stop))
                yield _MessageReader(reader), _MessageWriter(writer, incoming.close)
        finally:
            incoming.close()
            outgoing.close()

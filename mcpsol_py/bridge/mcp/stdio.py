"""Serves MCP over stdin and stdout.

If stdin and stdout are pipes or a terminal, the event loop reads and writes them directly: the
SDK's own transport passes each message through threads three times, which costs more than
answering most messages, and a thread that reads a terminal would outlive Ctrl-C. For a file or on
Windows the SDK's streams are used. The protocol is the SDK's in both cases.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

from mcpsol_py.bridge.mcp.probing import (
    MODERN_VERSIONS,
    Announced,
    EarlyProbes,
    are_pipes,
    probe_reply,
)
from mcpsol_py.bridge.signals import on_stop_signal

if TYPE_CHECKING:
    import anyio

__all__ = ["run_stdio"]

logger = logging.getLogger(__name__)

#: Size of the read buffer in bytes. A longer message takes several reads.
_READ_BUFFER = 1 << 20


async def run_stdio(server: Server[Any], early: EarlyProbes | None = None) -> None:
    """Serve one client on stdin and stdout until it closes them or SIGINT or SIGTERM arrives.

    *early* answered the client while the server was made; this takes over from it.

    After a signal, a send that has begun is still followed until its outcome is known. A second
    signal ends the process. The client receives only protocol messages: while the server runs,
    `print` writes to stderr and stdin is empty.
    """
    if not are_pipes() and not _are_terminals():
        async with stdio_server() as (read, write):
            await _serve(server, read, write)
        return
    received = early.stop() if early is not None else b""
    try:
        async with _pipes(received) as streams, stdio_server(*streams) as (read, write):
            await _serve(server, read, write)
    except* BrokenPipeError:  # the client left without waiting for its answers
        logger.info("the client closed its end of the pipe")


async def _serve(server: Server[Any], read: Any, write: Any) -> None:
    try:
        messages: Any = _WithoutProbes(server, read, write)
        await server.run(messages, write, server.create_initialization_options())
    finally:
        # Flush while stdout still points to stderr: buffered prints are not for the client.
        with suppress(OSError):
            sys.stdout.flush()


class _WithoutProbes:
    """The messages of a client without the probes at their beginning, which it answers itself.

    The SDK takes the protocol of the first request for the whole connection. A probe does not choose it.
    """

    def __init__(self, server: Server[Any], read: Any, write: Any) -> None:
        self._read, self._write = read, write
        self._chosen = False
        capabilities = server.get_capabilities(protocol_version=MODERN_VERSIONS[0])
        self._announced = Announced(
            server.server_info_stamp,
            capabilities.model_dump(by_alias=True, mode="json", exclude_none=True),
            server.instructions,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    def __aiter__(self) -> _WithoutProbes:
        return self

    async def __anext__(self) -> Any:
        item = await anext(self._read)
        while not self._chosen and await self._answered(item):
            item = await anext(self._read)
        return item

    async def _answered(self, item: Any) -> bool:
        """Answer *item* if it is a probe. Any other request chooses the protocol."""
        if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCRequest):
            return False
        request = item.message.model_dump(by_alias=True, exclude_none=True)
        reply = probe_reply(request, self._announced)
        self._chosen = reply is None
        if reply is not None:
            await self._write.send(SessionMessage(jsonrpc_message_adapter.validate_python(reply)))
        return reply is not None


def _is_terminal(fd: int) -> bool:
    """Return True if *fd* is a terminal that the event loop can use."""
    return sys.platform != "win32" and os.isatty(fd)


def _are_terminals() -> bool:
    """Return True if a person started the server: stdin is a terminal, and stdout another one or a pipe."""
    return _is_terminal(0) and (_is_terminal(1) or stat.S_ISFIFO(os.fstat(1).st_mode))


class _LineReader:
    """Iterates over the lines of a stream as text. Replaces invalid UTF-8, as the SDK does."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _LineReader:
        return self

    async def __anext__(self) -> str:
        parts: list[bytes] = []
        while True:
            try:
                parts.append(await self._reader.readuntil(b"\n"))
            except asyncio.LimitOverrunError as error:
                parts.append(await self._reader.read(error.consumed))
                continue
            except asyncio.IncompleteReadError as error:  # end of the stream
                parts.append(error.partial)
            line = b"".join(parts)
            if not line:
                raise StopAsyncIteration
            return line.decode("utf-8", "replace")


class _TextWriter:
    """Writes text to a stream."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        """Wait until the pipe has taken all of it."""
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise BrokenPipeError("the client closed its end of the pipe") from error


@contextmanager
def _redirected(fd: int, target: int) -> Iterator[int]:
    """Point *fd* at *target* inside the block.

    Yields a new descriptor of the original file, which the caller closes.
    """
    kept, blocking = os.dup(fd), os.get_blocking(fd)
    os.dup2(target, fd)
    try:
        # A terminal is opened again: the event loop makes its file non-blocking, and stderr may be the same file.
        yield os.open(os.ttyname(kept), os.O_RDWR) if _is_terminal(kept) else os.dup(kept)
    finally:
        os.dup2(kept, fd)
        os.close(kept)
        os.set_blocking(fd, blocking)


@asynccontextmanager
async def _pipes(
    received: bytes,
) -> AsyncIterator[tuple[anyio.AsyncFile[str], anyio.AsyncFile[str]]]:
    """Give stdin and stdout. *received* was read from stdin before."""
    loop = asyncio.get_running_loop()
    sys.stdout.flush()
    empty = os.open(os.devnull, os.O_RDONLY)
    with _redirected(0, empty) as stdin, _redirected(1, 2) as stdout:
        os.close(empty)
        reader = asyncio.StreamReader(_READ_BUFFER)
        reader.feed_data(received)
        incoming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdin, "rb", buffering=0)
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
                yield (
                    cast("anyio.AsyncFile[str]", _LineReader(reader)),
                    cast("anyio.AsyncFile[str]", _TextWriter(writer)),
                )
        finally:
            incoming.close()
            outgoing.close()

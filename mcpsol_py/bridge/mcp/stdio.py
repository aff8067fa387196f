"""Serves MCP over stdin and stdout.

If stdin and stdout are pipes, the event loop reads and writes them directly: the SDK's own
transport passes each message through threads three times, which costs more than answering most
messages. For a terminal, a file or on Windows the SDK's streams are used. The protocol is the
SDK's in both cases.
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

from mcpsol_py.bridge.signals import on_stop_signal

if TYPE_CHECKING:
    import anyio

__all__ = ["run_stdio"]

logger = logging.getLogger(__name__)

#: Size of the read buffer in bytes. A longer message takes several reads.
_READ_BUFFER = 1 << 20


async def run_stdio(server: Server[Any]) -> None:
    """Serve one client on stdin and stdout until it closes them or SIGINT or SIGTERM arrives.

    After a signal, a send that has begun is still followed until its outcome is known. A second
    signal ends the process. The client receives only protocol messages: while the server runs,
    `print` writes to stderr and stdin is empty.
    """
    if not _are_pipes():
        async with stdio_server() as (read, write):
            await _serve(server, read, write)
        return
    try:
        async with _pipes() as streams, stdio_server(*streams) as (read, write):
            await _serve(server, read, write)
    except* BrokenPipeError:  # the client left without waiting for its answers
        logger.info("the client closed its end of the pipe")


async def _serve(server: Server[Any], read: Any, write: Any) -> None:
    try:
        await server.run(read, write, server.create_initialization_options())
    finally:
        # Flush while stdout still points to stderr: buffered prints are not for the client.
        with suppress(OSError):
            sys.stdout.flush()


def _are_pipes() -> bool:
    """Return True if the event loop can use stdin and stdout directly.

    The event loop makes them non-blocking, and with them every descriptor of the same file. So
    stdin, stdout and stderr must be three different files (not one socket, for example).
    """
    if sys.platform == "win32":
        return False
    try:
        stdin, stdout, stderr = map(os.fstat, (0, 1, 2))
    except OSError:  # one is closed
        return False
    files = {(found.st_dev, found.st_ino) for found in (stdin, stdout, stderr)}
    return len(files) == 3 and _is_pipe(stdin) and _is_pipe(stdout)


def _is_pipe(found: os.stat_result) -> bool:
    return stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)


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
        yield os.dup(kept)
    finally:
        os.dup2(kept, fd)
        os.close(kept)
        os.set_blocking(fd, blocking)


@asynccontextmanager
async def _pipes() -> AsyncIterator[tuple[anyio.AsyncFile[str], anyio.AsyncFile[str]]]:
    loop = asyncio.get_running_loop()
    sys.stdout.flush()
    empty = os.open(os.devnull, os.O_RDONLY)
    with _redirected(0, empty) as stdin, _redirected(1, 2) as stdout:
        os.close(empty)
        reader = asyncio.StreamReader(_READ_BUFFER)
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

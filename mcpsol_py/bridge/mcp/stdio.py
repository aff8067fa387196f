"""MCP over stdin and stdout, read and written by the event loop itself where they are pipes.

The SDK's transport hands each message to threads three times, which takes more than answering most of them. It takes
streams of its user's, so the protocol stays the SDK's; where stdin or stdout is a terminal or a file, or on Windows,
its own streams are used.
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

#: what is read ahead of the server; a longer message is put together of several reads
_AHEAD = 1 << 20


async def run_stdio(server: Server[Any]) -> None:
    """Serves one client on stdin and stdout until it closes them, or a signal (SIGINT, SIGTERM) asks for the end: a
    send that has begun is still followed until it is known what became of it. A second signal ends the process.

    Nothing but the protocol is written to the client: what else is printed meanwhile goes to stderr, and stdin is
    empty.
    """
    if not _are_pipes():
        async with stdio_server() as (read, write):
            await _serve(server, read, write)
        return
    try:
        async with _pipes() as streams, stdio_server(*streams) as (read, write):
            await _serve(server, read, write)
    except* BrokenPipeError:  # the client went away without waiting for its answers
        logger.info("the client has gone away")


async def _serve(server: Server[Any], read: Any, write: Any) -> None:
    try:
        await server.run(read, write, server.create_initialization_options())
    finally:  # while stdout is still stderr: what was printed, and waits to be written, is not for the client
        with suppress(OSError):
            sys.stdout.flush()


def _are_pipes() -> bool:
    """May the event loop have stdin and stdout? They become non-blocking, and with them all that share what they stand
    for: so neither may be the other (a socket for both), nor stderr."""
    if sys.platform == "win32":
        return False
    try:
        found = [os.fstat(fd) for fd in (0, 1, 2)]
    except OSError:  # one is closed
        return False
    if not all(stat.S_ISFIFO(f.st_mode) or stat.S_ISSOCK(f.st_mode) for f in found[:2]):
        return False
    return len({(f.st_dev, f.st_ino) for f in found}) == len(found)


class _Lines:
    """The lines of a stream as text; what is no UTF-8 is replaced, as the SDK does."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        parts: list[bytes] = []
        while True:
            try:
                parts.append(await self._reader.readuntil(b"\n"))
            except asyncio.LimitOverrunError as error:
                parts.append(await self._reader.read(error.consumed))
                continue
            except asyncio.IncompleteReadError as error:  # the end
                parts.append(error.partial)
            line = b"".join(parts)
            if not line:
                raise StopAsyncIteration
            return line.decode("utf-8", "replace")


class _Answers:
    """A stream that text is written to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        """Until the client's end of the pipe has all of it."""
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise BrokenPipeError("the client has closed its end") from error


@contextmanager
def _moved(fd: int, elsewhere: int) -> Iterator[int]:
    """A new descriptor of what *fd* was, its taker's to close; *fd* stands for *elsewhere* meanwhile."""
    kept, blocking = os.dup(fd), os.get_blocking(fd)
    os.dup2(elsewhere, fd)
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
    nothing = os.open(os.devnull, os.O_RDONLY)
    with _moved(0, nothing) as stdin, _moved(1, 2) as stdout:
        os.close(nothing)
        reader = asyncio.StreamReader(_AHEAD)
        incoming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdin, "rb", buffering=0)
        )
        outgoing, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(stdout, "wb", buffering=0),
        )
        outgoing.set_write_buffer_limits(0)  # a flush waits for all of it
        writer = asyncio.StreamWriter(outgoing, protocol, None, loop)

        def end() -> None:
            hearing.close()  # a second signal ends the process
            incoming.close()

        try:
            with ExitStack() as hearing:
                hearing.enter_context(on_stop_signal(end))
                yield (
                    cast("anyio.AsyncFile[str]", _Lines(reader)),
                    cast("anyio.AsyncFile[str]", _Answers(writer)),
                )
        finally:
            incoming.close()
            outgoing.close()

"""Connections: runs the HTTP server with timeouts against slow clients.

- A request's head must arrive within 20 seconds of its first byte (or of the connection), its body
  within 60 seconds after that, so a client that sends a byte now and then does not hold a
  connection for long.
- An idle connection is kept for 75 seconds. Clients and proxies keep theirs for 5 to 60 seconds, so
  they do not send a request into a connection that the server is closing.
- A response's head and body leave in one write, so that the client wakes up once for them.
- X-Forwarded-For is believed only from the configured proxies. Otherwise a client could choose the
  address that it is counted as.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.signals import on_stop_signal
from mcpsol_py.errors import SourceError

if TYPE_CHECKING:
    import uvicorn

__all__ = ["listen", "serve_app", "taken_ports"]

_HEAD_SECONDS, _BODY_SECONDS, _IDLE_SECONDS = 20.0, 60.0, 75
#: Seconds that running requests get after a stop signal. A person at the terminal waits for the end.
_GRACE = {signal.SIGINT: 1, signal.SIGTERM: 30}
#: What uvicorn logs as an error for each stream that a stop cuts off.
_CUT_OFF = "ASGI callable returned without completing response."
#: Connections that may wait to be accepted, as uvicorn's own default.
_BACKLOG = 2_048
#: Bytes of a response that wait for the rest of it at most.
_GATHERED = 64 * 1024
#: The limit of open files is raised to this if the system allows it: each client needs one.
_OPEN_FILES = 65_536
_TIMEOUT_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 23\r\n\r\n"
    b"the body took too long\n"
)


async def serve_app(
    app: Any,
    host: str,
    port: int,
    *,
    proxies: Sequence[str] = (),
    operator_port: int | None = None,
    sockets: Sequence[socket.socket] | None = None,
) -> None:
    """Serve *app* until SIGINT or SIGTERM, then return. A second signal ends the process.

    After SIGTERM running requests have 30 seconds to end, after SIGINT (Ctrl-C) one. Left alone, uvicorn would wait for
    open streams, raise the signal again, and the caller could not clean up.

    *sockets* are those of `taken_ports`, which replaces *host*, *port* and *operator_port*.

    *proxies* are addresses and networks of proxies whose X-Forwarded-For header is believed.
    *operator_port* is a second port, of 127.0.0.1 only; a request's scope says where it arrived.

    Raises SourceError if it cannot listen there.
    """
    import uvicorn

    _raise_open_files()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=_protocol(),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=_IDLE_SECONDS,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )
    with ExitStack() as stack:
        opened = sockets or stack.enter_context(taken_ports(host, port, operator_port))
        listen(opened)
        stack.enter_context(on_stop_signal(lambda: None))
        await _serve(_server(config), opened)


async def _serve(server: uvicorn.Server, sockets: Sequence[socket.socket]) -> None:
    def is_news(record: logging.LogRecord) -> bool:
        return not (server.should_exit and record.msg == _CUT_OFF)

    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(is_news)
    try:
        await server.serve(list(sockets))
    finally:
        logger.removeFilter(is_news)


def _server(config: uvicorn.Config) -> uvicorn.Server:
    """Return uvicorn's server, which otherwise waits without end for running requests."""
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Stop, and give running requests the time that the signal allows."""
            self.config.timeout_graceful_shutdown = _GRACE.get(signal.Signals(sig))
            super().handle_exit(sig, frame)

    return Server(config)


@contextmanager
def taken_ports(
    host: str, port: int, operator_port: int | None = None
) -> Iterator[list[socket.socket]]:
    """Take the ports inside the block. Clients can connect from `listen` on, which `serve_app` calls too.

    Raises SourceError if it cannot listen there.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(_bound(host, port))]
        if operator_port is not None:
            sockets.append(stack.enter_context(_bound("127.0.0.1", operator_port)))
        yield sockets


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    try:
        if os.name == "posix":  # as socket.create_server: a port is free again at once
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise _cannot_listen(f"{host}, port {port}", error) from error
    # Connections inherit it. asyncio sets it only for sockets that it makes, and without it an answer waits 40 ms.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def listen(sockets: Sequence[socket.socket]) -> None:
    """Let clients connect from now on. Raises SourceError if the ports cannot be listened on."""
    for one in sockets:
        try:
            one.listen(_BACKLOG)
        except OSError as error:
            host, port = one.getsockname()[:2]
            raise _cannot_listen(f"{host}, port {port}", error) from error


def _cannot_listen(where: str, error: OSError) -> SourceError:
    why = error.strerror or str(error)
    advice = (
        ". Choose another one with --port" if error.errno == errno.EADDRINUSE else ""
    )
    return SourceError(f"cannot listen on {where}: {why}{advice}")


def _raise_open_files() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Gathering:
    """A transport that gathers the writes of one turn of the event loop, and makes one write of them.

    uvicorn writes a response's head, its body and its end one after the other.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write *data* when this turn ends, or now if much has gathered."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _GATHERED:
            self._flush()

    def close(self) -> None:
        """Write what has gathered, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            whole = b"".join(self._parts)
            self._parts, self._size = [], 0
            self._transport.write(whole)


def _protocol() -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP/1.1 protocol with timeouts, and one write for a response.

    The original waits forever for a head.
    """
    from uvicorn.protocols.http import h11_impl

    idle, body = h11_impl.h11.IDLE, h11_impl.h11.SEND_BODY  # type: ignore[attr-defined]  # uvicorn's own dependency

    class TimeoutProtocol(h11_impl.H11Protocol):
        """Closes a connection if a request's head or body does not arrive in time.

        A client whose body is late gets 408 first.
        """

        _timer: asyncio.TimerHandle | None = None
        #: The part that the client still has to send: `idle` (a head), `body`, or None.
        _expected: object = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
            """Start to wait for the first request."""
            gathering: Any = _Gathering(transport, self.loop)
            super().connection_made(gathering)
            self._update_timer()

        def handle_events(self) -> None:
            """Process received data, then wait for the next part."""
            super().handle_events()
            self._update_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            """Stop all timers."""
            super().connection_lost(exc)
            self._stop_timer()
            # If the client reset the connection, uvicorn leaves this timer running, and with it
            # everything that the connection holds.
            if self.timeout_keep_alive_task is not None:
                self.timeout_keep_alive_task.cancel()
                self.timeout_keep_alive_task = None

        def _update_timer(self) -> None:
            state = self.conn.their_state
            # Between two requests uvicorn's own keep-alive timer runs.
            head_expected = state is idle and self.timeout_keep_alive_task is None
            if state is not body and not head_expected:
                self._stop_timer()
            elif state is not self._expected:
                self._stop_timer()
                self._expected = state
                if state is body:
                    self._timer = self.loop.call_later(
                        _BODY_SECONDS, self._body_is_late
                    )
                else:
                    self._timer = self.loop.call_later(
                        _HEAD_SECONDS, self.transport.close
                    )

        def _stop_timer(self) -> None:
            self._expected = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _body_is_late(self) -> None:
            if not self.cycle.response_started:
                self.transport.write(_TIMEOUT_RESPONSE)
            self.transport.close()

    return TimeoutProtocol

"""Connections: how long a client may take, how many there can be, which proxies are believed. Plain HTTP by uvicorn.

- A request's head must be there 20 seconds after its first byte (or after the connection), its body 60 seconds after
  that: who sends a byte now and then holds nothing for long.
- An idle connection is kept for 75 seconds: longer than clients and proxies keep theirs (5 to 60), so that none sends
  its next request into a connection that is being closed here, and loses it.
- X-Forwarded-For is believed from the proxies that the configuration names, and from nobody else: with it a client
  would choose who it is counted as.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mcpsol_py.bridge.signals import on_stop_signal

__all__ = ["serve_app"]

_HEAD_SECONDS, _BODY_SECONDS, _IDLE_SECONDS = 20.0, 60.0, 75
#: open files are raised to this, as far as the system lets: each waiting client is one
_OPEN_FILES = 65_536
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 23\r\n\r\nthe body took too long\n"


async def serve_app(app: Any, host: str, port: int, *, proxies: Sequence[str] = ()) -> None:
    """Serves until SIGINT or SIGTERM, and returns: uvicorn would raise the signal again, and what the caller has to do
    at the end would be left undone. A second signal ends the process.

    *proxies*: addresses and networks of proxies that say in X-Forwarded-For who asks.
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
    with on_stop_signal(lambda: None):
        await uvicorn.Server(config).serve()


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


def _protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP/1.1, which by itself waits for a request's head for ever."""
    from uvicorn.protocols.http import h11_impl

    idle, body = h11_impl.h11.IDLE, h11_impl.h11.SEND_BODY  # type: ignore[attr-defined]  # uvicorn's own dependency

    class InTime(h11_impl.H11Protocol):
        """Closes connections on which no whole head comes, or no whole body; who began a request is told so."""

        _waiting: asyncio.TimerHandle | None = None
        _awaited: object = (
            None  # what the client has still to send: `idle` (a head), `body`, or None
        )

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
            """One more connection."""
            super().connection_made(transport)
            self._wait()

        def handle_events(self) -> None:
            """More has come, or what came before has its turn."""
            super().handle_events()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            """It is gone."""
            super().connection_lost(exc)
            self._settled()
            # uvicorn leaves it where the client reset the connection, and with it all that the connection held
            if self.timeout_keep_alive_task is not None:
                self.timeout_keep_alive_task.cancel()
                self.timeout_keep_alive_task = None

        def _wait(self) -> None:
            state = self.conn.their_state
            if state is not body and (
                state is not idle or self.timeout_keep_alive_task is not None
            ):
                self._settled()
            elif state is not self._awaited:
                self._settled()
                self._awaited = state
                seconds, late = (
                    (_BODY_SECONDS, self._late)
                    if state is body
                    else (_HEAD_SECONDS, self.transport.close)
                )
                self._waiting = self.loop.call_later(seconds, late)

        def _settled(self) -> None:
            self._awaited = None
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _late(self) -> None:
            if not self.cycle.response_started:
                self.transport.write(_LATE)
            self.transport.close()

    return InTime

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
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from mcpsol_py.bridge.http import App, Receive, Scope, Send, answer
from mcpsol_py.bridge.signals import at_signals

__all__ = ["body_in_time", "serve_app"]

_HEAD_SECONDS, _BODY_SECONDS, _IDLE_SECONDS = 20.0, 60.0, 75
#: open files are raised to this, as far as the system lets: each waiting client is one
_OPEN_FILES = 65_536


async def serve_app(app: Any, host: str, port: int, *, proxies: Sequence[str] = ()) -> None:
    """Serves until SIGINT or SIGTERM, and returns: uvicorn would raise the signal again, and what the caller has to do
    at the end would be left undone. A second signal ends the process.

    *proxies*: addresses and networks of proxies that say in X-Forwarded-For who asks.
    """
    import uvicorn

    _raise_open_files()
    config = uvicorn.Config(
        body_in_time(app),
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
    with at_signals(lambda: None):
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

    idle = h11_impl.h11.IDLE  # type: ignore[attr-defined]  # uvicorn's own dependency

    class InTime(h11_impl.H11Protocol):
        """Closes connections on which no whole head comes."""

        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
            """One more connection."""
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            """A part of a request."""
            super().data_received(data)
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
            if self.conn.their_state is not idle:
                self._settled()
            elif self._waiting is None and self.timeout_keep_alive_task is None:
                self._waiting = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

        def _settled(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return InTime


def body_in_time(app: App) -> App:
    """*app*, whose requests have their whole body in time; who is late gets 408."""

    async def in_time(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        until = asyncio.get_running_loop().time() + _BODY_SECONDS
        whole = late = started = False

        async def received() -> MutableMapping[str, Any]:
            nonlocal whole, late
            if whole:  # now it is a disconnect that is waited for, however long the answer takes
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                whole = late = True
                return {"type": "http.disconnect"}
            whole = message["type"] != "http.request" or not message.get("more_body")
            return message

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if not late:
                started = True
                await send(message)

        try:
            await app(scope, received, sent)
        except Exception:
            if not late:
                raise
        if late and not started:
            await answer(send, 408, b"the body took too long\n", [(b"connection", b"close")])

    return in_time

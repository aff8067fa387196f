"""The sockets that the HTTP server listens on, and how answers leave through them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from mcpsol_py.bridge.http.connections import serve_app, taken_ports


async def test_an_answer_does_not_wait_for_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connections send at once (TCP_NODELAY), on both ports."""
    seen: list[int] = []

    async def serve(_server: uvicorn.Server, sockets: Sequence[socket.socket]) -> None:
        for listening in sockets:
            with socket.create_connection(listening.getsockname()):
                accepted, _ = listening.accept()
                with accepted:
                    seen.append(
                        accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    )

    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in free]
    for one in free:
        one.close()
    await serve_app(None, "127.0.0.1", ports[0], operator_port=ports[1])
    assert len(seen) == 2
    assert all(seen)


@asynccontextmanager
async def _serving(app: Any) -> AsyncIterator[int]:
    """Serve *app* on a free port inside the block."""
    with taken_ports("127.0.0.1", 0) as sockets:
        server = asyncio.create_task(serve_app(app, "", 0, sockets=sockets))
        await asyncio.sleep(0)
        try:
            yield sockets[0].getsockname()[1]
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)


async def _answer_of(port: int, *, until: bytes = b"") -> bytes:
    """Return what the server answers: all of it, or up to *until*."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    answer = await (reader.readuntil(until) if until else reader.read())
    writer.close()
    return answer


def _app(*parts: bytes, pause: asyncio.Event | None = None) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in parts:
            body = {"type": "http.response.body", "body": part}
            await send({**body, "more_body": True})
            if pause is not None:
                await pause.wait()
        await send({"type": "http.response.body", "body": b""})

    return app


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the sockets of the server were given to write."""
    seen: list[bytes] = []
    kind = asyncio.selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    original = kind.write

    def write(self: Any, data: bytes) -> None:
        if not data.startswith(b"GET"):
            seen.append(bytes(data))
        original(self, data)

    monkeypatch.setattr(kind, "write", write)
    return seen


async def test_head_and_body_leave_in_one_write(writes: list[bytes]) -> None:
    async with _serving(_app(b"one ", b"two")) as port:
        answer = await _answer_of(port)
    assert answer.endswith(b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")
    assert writes == [answer]


async def test_what_is_ready_does_not_wait_for_the_rest() -> None:
    pause = asyncio.Event()
    async with _serving(_app(b"one ", b"two", pause=pause)) as port:
        head = asyncio.create_task(_answer_of(port, until=b"one "))
        assert await asyncio.wait_for(head, 5)
        pause.set()


async def test_a_long_answer_is_not_gathered_whole(writes: list[bytes]) -> None:
    part = b"x" * 50_000
    async with _serving(_app(*[part] * 8)) as port:
        answer = await _answer_of(port)
    assert answer.count(b"x") == 400_000
    assert b"".join(writes) == answer
    assert max(map(len, writes)) < 120_000

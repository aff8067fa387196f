"""The sockets that the HTTP server listens on."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest
import uvicorn

from mcpsol_py.bridge.http.connections import serve_app


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

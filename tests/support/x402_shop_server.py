"""A shop as a real server on loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from uvicorn.config import WSProtocolType

from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from tests.support.x402_sellers import app_of, serve
from tests.support.x402_shop import Shop

__all__ = ["closing_at_the_end", "listening_app", "shop_server"]


class _Listening(uvicorn.Server):
    def install_signal_handlers(self) -> None: ...


@contextmanager
def listening_app(app: Any, ws: WSProtocolType = "none") -> Iterator[str]:
    """Serve an ASGI app on a free port of loopback; its base URL."""
    server = _Listening(
        uvicorn.Config(app, port=0, log_level="error", lifespan="on", ws=ws)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def closing_at_the_end(facilitator: HttpFacilitator) -> Any:
    """The lifespan of an app that closes the connections of *facilitator*."""

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        yield
        await facilitator.aclose()

    return lifespan


@contextmanager
def shop_server(shop: Shop) -> Iterator[str]:
    """The shop's base URL: MCP at /mcp, HTTP below /web."""
    mcp = serve(shop).streamable_http_app(streamable_http_path="/mcp")
    web = app_of(shop)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/web"):
            path = scope["path"][4:]
            await web({**scope, "path": path, "raw_path": path.encode()}, receive, send)
        else:
            await mcp(scope, receive, send)

    with listening_app(app) as url:
        yield url

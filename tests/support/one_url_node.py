"""A node whose WebSocket is at the URL of its JSON-RPC, as hosted ones have it. A local one has it on the next port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect

from tests.support.x402_shop_server import listening_app

__all__ = ["at_one_url"]


@contextmanager
def at_one_url(rpc: str, websocket: str) -> Iterator[str]:
    """The URL at which both are served."""

    async def post(request: Request) -> Response:
        async with httpx.AsyncClient() as client:
            kind = {"content-type": "application/json"}
            answer = await client.post(rpc, content=await request.body(), headers=kind)
        return Response(answer.content, answer.status_code, kind)

    async def pump(socket: WebSocket) -> None:
        await socket.accept()
        async with connect(websocket) as upstream:
            answers = asyncio.create_task(_answers(upstream, socket))
            try:
                while True:
                    await upstream.send(await socket.receive_text())
            except WebSocketDisconnect:
                answers.cancel()
                await asyncio.gather(answers, return_exceptions=True)

    app = Starlette(
        routes=[Route("/", post, methods=["POST"]), WebSocketRoute("/", pump)]
    )
    with listening_app(app, ws="websockets-sansio") as url:
        yield url


async def _answers(upstream: ClientConnection, socket: WebSocket) -> None:
    async for text in upstream:
        await socket.send_text(str(text))

"""The node of an embedded chain while it is served: its JSON-RPC, its WebSocket, and blocks that pass with time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from idl2mcp import report

if TYPE_CHECKING:
    from mcpsol_py.bridge.http import App
    from mcpsol_py.client.svm import SvmTransport

__all__ = ["LocalNode", "passing_time"]


class LocalNode:
    """A node at http://HOST:PORT/rpc, which the caller serves as `page`. It has no authentication, so HOST must be
    loopback. Its WebSocket is on the next port, where SDKs expect it.
    """

    def __init__(self, transport: SvmTransport, host: str, port: int) -> None:
        from mcpsol_py.client.svm_rpc import SvmNode, rpc_app

        self.transport, self.host, self.port = transport, host, port
        self.page: App = rpc_app(SvmNode(transport, airdrops=True), self._hosts(port))

    def announce(self) -> None:
        """Print where the node is."""
        report.note(f"the local cluster's JSON-RPC: http://{self.host}:{self.port}/rpc")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve the WebSocket. If its port is taken, clients must poll."""
        from mcpsol_py.client.svm_pubsub import serve_subscriptions

        port = self.port + 1
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(
                    serve_subscriptions(
                        self.transport, self.host, port, self._hosts(port)
                    )
                )
                report.note(f"its WebSocket: ws://{self.host}:{port}")
            except (OSError, OverflowError):  # the latter: there is no port 65,536
                report.note(
                    f"no WebSocket: port {port} is not free, so clients have to poll"
                )
            yield

    def _hosts(self, port: int) -> set[str]:
        return {f"{name}:{port}" for name in (self.host, "127.0.0.1", "localhost")}


@asynccontextmanager
async def passing_time(transport: SvmTransport) -> AsyncIterator[None]:
    """Let blocks pass on an embedded chain."""
    from mcpsol_py.client.svm_blocks import produce_blocks

    blocks = asyncio.create_task(produce_blocks(transport))
    try:
        yield
    finally:
        blocks.cancel()
        await asyncio.gather(blocks, return_exceptions=True)

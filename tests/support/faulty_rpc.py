"""A node between a bridge and its cluster that answers as a test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcpsol_py.bridge.bridge import Reply
from mcpsol_py.client.rpc import RpcTransport
from tests.functional.svm_node import SvmNode, listening
from tests.functional.validator.node import Fault, Proxy
from tests.support.policy_scene import Scene, scene, transfer

AMOUNT = 250_000


SLOW = 1.0  # on a machine that is busy, too, what is there is answered within this


class Faulty:
    """The policy tests' scene over JSON-RPC, through a proxy that fails. `wires` are the transactions handed in."""

    def __init__(self, s: Scene, proxy: Proxy) -> None:
        self.scene, self.proxy = s, proxy
        self.wires: list[str] = []

    async def call(self, amount: int = AMOUNT) -> Reply:
        return await self.scene.bridge.call(*transfer(amount))

    @property
    def moved(self) -> int:
        return self.scene.held("bob_usdc")

    @property
    def events(self) -> list[str]:
        return [e["event"] for e in self.scene.audit.entries()]

    def expire(self) -> None:
        self.scene.local.transport.expire_blockhash()


@asynccontextmanager
async def faulty(fault: Fault | None = None) -> AsyncIterator[Faulty]:
    s = scene()
    node = SvmNode(s.local.transport)
    with listening(node) as url:
        proxy = Proxy(url)
        it = Faulty(s, proxy)
        respond = node.respond

        def seen(body: bytes) -> bytes:
            asked = json.loads(body)
            if asked["method"] == "sendTransaction":
                it.wires.append(asked["params"][0])
            return respond(body)

        node.respond = seen  # type: ignore[method-assign]  # to see what arrives
        transport = RpcTransport(proxy.url, timeout=SLOW)
        for served in s.bridge.box.programs:
            served.transport = transport
        proxy.fault = fault
        try:
            yield it
        finally:
            await transport.close()
            proxy.stop()

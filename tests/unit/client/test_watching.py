"""Watched accounts: each change is told, over a WebSocket that breaks, without one, and in process."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from websockets.asyncio.server import ServerConnection, serve

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.watching import AccountWatch, heads
from mcpsol_py.errors import TransportError

OWNER = Pubkey(bytes([9] * 32))
KEY, OTHER = Pubkey(bytes([1] * 32)), Pubkey(bytes([2] * 32))


def account(data: bytes, lamports: int = 10**9) -> Account:
    return Account(lamports, data, OWNER)


class Node(RpcTransport):
    """The accounts of a node, and its WebSocket; `url` is the latter's, less one port."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.accounts: dict[Pubkey, Account] = {}
        self.sockets: dict[ServerConnection, dict[int, tuple[str, dict[str, Any]]]] = {}
        self.requests: list[tuple[str, list[Any]]] = []
        self.told = True  # are changes told?
        self.refuse = False

    async def request(self, method: str, params: Any = ()) -> Any:
        self.requests.append((method, list(params)))
        if self.refuse:
            raise TransportError("node", "down", retryable=True)
        keys, options = params
        return {"value": [self.json(Pubkey.from_string(k), options) for k in keys]}

    def json(self, key: Pubkey, options: dict[str, Any]) -> Any:
        found = self.accounts.get(key)
        if found is None:
            return None
        part = options.get("dataSlice")
        data = (
            bytes(found.data)
            if part is None
            else bytes(found.data)[part["offset"] : part["offset"] + part["length"]]
        )
        text = base64.b64encode(data).decode()
        return {
            "lamports": found.lamports,
            "data": [text, "base64"],
            "owner": str(found.owner),
            "executable": False,
        }

    async def set(self, key: Pubkey, value: Account) -> None:
        self.accounts[key] = value
        for socket, subscriptions in list(self.sockets.items()):
            for number, (address, options) in list(subscriptions.items()):
                if self.told and address == str(key):
                    result = {"context": {"slot": 1}, "value": self.json(key, options)}
                    params = {"result": result, "subscription": number}
                    await socket.send(
                        json.dumps({"method": "accountNotification", "params": params})
                    )

    async def serve(self, socket: ServerConnection) -> None:
        mine = self.sockets[socket] = {}
        try:
            async for text in socket:
                message = json.loads(text)
                number = message["id"] + 100 * len(self.requests)
                if message["method"] == "accountSubscribe":
                    mine[number] = tuple(message["params"])
                else:
                    mine.pop(message["params"][0])
                await socket.send(json.dumps({"id": message["id"], "result": number}))
        finally:
            del self.sockets[socket]

    @asynccontextmanager
    async def listening(self, port: int = 0) -> AsyncIterator[int]:
        async with serve(self.serve, "127.0.0.1", port) as server:
            port = server.sockets[0].getsockname()[1]
            self.url = f"http://127.0.0.1:{port - 1}"
            yield port


async def until(true: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(watch: AccountWatch) -> AsyncIterator[None]:
    task = asyncio.create_task(watch.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_change_is_told_over_one_socket_to_each_who_watches() -> None:
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"a"), OTHER: account(b"b")}
    async with node.listening():
        watch = AccountWatch(node)
        async with running(watch):
            await watch.add(KEY, lambda: told.append("one"))
            end = await watch.add(KEY, lambda: told.append("two"))
            await watch.add(OTHER, lambda: told.append("other"))
            await until(lambda: watch.connected)
            assert len(node.sockets) == 1
            await node.set(KEY, account(b"a2"))
            await until(lambda: len(told) == 2)
            assert sorted(told) == ["one", "two"]
            end()
            await node.set(KEY, account(b"a3"))
            await node.set(OTHER, account(b"b"))  # as it was: no change
            await node.set(OTHER, account(b"b", 5))
            await until(lambda: "other" in told)
            assert sorted(told) == ["one", "one", "other", "two"]


async def test_what_nobody_watches_any_more_is_unsubscribed_and_the_socket_closed() -> (
    None
):
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"a"), OTHER: account(b"b")}
    async with node.listening():
        watch = AccountWatch(node)
        async with running(watch):
            ends = [await watch.add(k, lambda: told.append("")) for k in (KEY, OTHER)]
            await until(lambda: watch.connected)
            ends[0]()
            await until(lambda: [len(s) for s in node.sockets.values()] == [1])
            ends[1]()
            ends[1]()
            await until(lambda: not node.sockets)
            assert len(watch) == 0
            await watch.add(KEY, lambda: told.append("again"))
            await until(lambda: watch.connected)
            await node.set(KEY, account(b"new"))
            await until(lambda: told == ["again"])


async def test_one_that_is_let_go_and_taken_again_at_once_is_still_told() -> None:
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"a")}
    async with node.listening():
        watch = AccountWatch(node)
        async with running(watch):
            end = await watch.add(KEY, lambda: told.append("old"))
            await until(lambda: watch.connected)
            end()
            await watch.add(KEY, lambda: told.append("new"))
            await node.set(KEY, account(b"b"))
            await until(lambda: told == ["new"])


async def test_a_change_while_the_socket_is_gone_is_told_after_it_is_back() -> None:
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"a")}
    watch = AccountWatch(node, poll=0.2)
    async with node.listening() as port:
        task = asyncio.create_task(watch.run())
        await watch.add(KEY, lambda: told.append("changed"))
        await until(lambda: watch.connected)
    await until(lambda: not watch.connected)
    node.refuse = True  # the node is gone altogether
    node.accounts[KEY] = account(b"b")
    await asyncio.sleep(0.5)
    assert told == []
    node.refuse = False
    async with node.listening(port):
        await until(lambda: told == ["changed"])
        await until(lambda: watch.connected)
        await node.set(KEY, account(b"c"))
        await until(lambda: len(told) == 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_without_a_websocket_accounts_are_read_at_a_bounded_rate() -> None:
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"a")}
    watch = AccountWatch(node, poll=0.1)
    async with running(watch):
        await watch.add(KEY, lambda: told.append("changed"))
        node.accounts[KEY] = account(b"b")
        await until(lambda: told == ["changed"])
        before = len(node.requests)
        await asyncio.sleep(1)
        assert 2 <= len(node.requests) - before <= 12


async def test_a_socket_that_keeps_silent_is_found_out() -> None:
    node, told = Node(), list[str]()
    node.accounts, node.told = {KEY: account(b"a")}, False
    async with node.listening():
        watch = AccountWatch(node, look_anyway=0.2)
        async with running(watch):
            await watch.add(KEY, lambda: told.append("changed"))
            await until(lambda: watch.connected)
            await node.set(KEY, account(b"b"))
            await until(lambda: told == ["changed"])


async def test_of_a_head_only_the_head_is_fetched_and_counts() -> None:
    node, told = Node(), list[str]()
    node.accounts = {KEY: account(b"head" + bytes(10_000))}
    async with node.listening():
        watch = AccountWatch(node)
        async with running(watch):
            await watch.add(KEY, lambda: told.append("changed"), head=4)
            await until(lambda: watch.connected)
            assert all(
                p[1]["dataSlice"] == {"offset": 0, "length": 4}
                for _, p in node.requests
            )
            await node.set(KEY, account(b"head" + bytes([7] * 10_000)))
            await node.set(KEY, account(b"HEAD" + bytes(10_000)))
            await until(lambda: told == ["changed"])
    (head,) = await heads(node, [KEY], 4)
    assert head is not None
    assert head.data == b"HEAD"


async def test_an_account_that_cannot_be_read_is_not_watched() -> None:
    node = Node()
    node.refuse = True
    watch = AccountWatch(node)
    with pytest.raises(TransportError):
        await watch.add(KEY, lambda: None)
    assert len(watch) == 0


async def test_litesvm_tells_by_itself() -> None:
    chain, told = SvmTransport(), list[str]()
    watch = AccountWatch(chain)
    async with running(watch):
        await watch.add(KEY, lambda: told.append("changed"))
        chain.set_account(KEY, account(b"a"))
        await until(lambda: told == ["changed"])
        chain.airdrop(KEY, 5)
        await until(lambda: len(told) == 2)
        chain.set_account(OTHER, account(b"b"))
        await asyncio.sleep(0.05)
        assert len(told) == 2
    assert chain.on_change == []

"""Subscriptions of a client: over a node's WebSocket, and from LiteSVM."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from websockets.asyncio.server import ServerConnection, serve

from mcpsol_py import (
    Program,
    ProgramClient,
    RpcTransport,
    SvmTransport,
    bundled_so,
    load,
)
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.subscriptions import account_changes, transaction_logs
from mcpsol_py.errors import AccountNotFound, TransportError

KEY, OWNER = Pubkey.new_unique(), Pubkey.new_unique()


def account(number: int) -> Account:
    return Account(1, struct.pack("<Q", number), OWNER)


# --- over a WebSocket ------------------------------------------------------------------------


class Node:
    """A node's WebSocket that takes one subscription, sends *values* and hangs up."""

    def __init__(self, *values: Any) -> None:
        self.values = values
        self.asked: list[dict[str, Any]] = []

    async def answer(self, socket: ServerConnection) -> None:
        request = json.loads(await socket.recv())
        self.asked.append(request)
        await socket.send(
            json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": 7})
        )
        method = request["method"].replace("Subscribe", "Notification")
        for value in self.values:
            result = {"context": {"slot": 1}, "value": value}
            params = {"subscription": 7, "result": result}
            await socket.send(
                json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
            )

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[RpcTransport]:
        async with serve(self.answer, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            yield RpcTransport(f"http://127.0.0.1:{port - 1}", commitment="finalized")


def account_json(given: Account) -> dict[str, Any]:
    return {
        "lamports": given.lamports,
        "data": [base64.b64encode(given.data).decode(), "base64"],
        "owner": str(given.owner),
        "executable": False,
        "rentEpoch": 0,
        "space": len(given.data),
    }


async def test_an_account_is_reported_after_the_subscription() -> None:
    node = Node(account_json(account(1)), account_json(account(2)))
    async with (
        node.listening() as transport,
        aclosing(account_changes(transport, KEY)) as changes,
    ):
        assert await anext(changes) is None
        assert [await anext(changes), await anext(changes)] == [account(1), account(2)]
    assert node.asked[0]["params"][0] == str(KEY)
    assert node.asked[0]["params"][1]["commitment"] == "finalized"


async def test_logs_are_reported_with_their_outcome() -> None:
    signature = Signature.default()
    value = {"signature": str(signature), "logs": ["a", "b"], "err": None}
    failed = {**value, "err": {"InstructionError": [0, {"Custom": 1}]}}
    node = Node(value, failed)
    async with (
        node.listening() as transport,
        aclosing(transaction_logs(transport, OWNER)) as transactions,
    ):
        assert await anext(transactions) == (str(signature), ("a", "b"), True)
        assert not (await anext(transactions)).succeeded
    assert node.asked[0]["params"][0] == {"mentions": [str(OWNER)]}


async def test_a_node_that_goes_away_ends_the_subscription() -> None:
    async with Node().listening() as transport:
        with pytest.raises(TransportError, match="the subscription ended") as caught:
            _ = [change async for change in account_changes(transport, KEY)]
    assert caught.value.retryable


async def test_a_chain_without_subscriptions_says_so() -> None:
    with pytest.raises(TransportError, match="no subscriptions"):
        _ = [change async for change in account_changes(ScriptedTransport(), KEY)]
    with pytest.raises(TransportError, match="no subscriptions"):
        _ = [logs async for logs in transaction_logs(ScriptedTransport(), KEY)]


# --- LiteSVM ---------------------------------------------------------------------------------


@pytest.fixture
def counter() -> Program:
    return load("counter")


@pytest.fixture
async def client(counter: Program) -> ProgramClient:
    """A client of the counter in LiteSVM, with a wallet that has created its State."""
    wallet, svm = Keypair(), SvmTransport()
    svm.airdrop(wallet.pubkey())
    assert counter.address is not None
    svm.add_program(counter.address, bundled_so("counter"))
    client = ProgramClient(counter, svm, wallet=wallet)
    await client.send(await client.build("initialize", {"start": 0}))
    return client


async def state_of(client: ProgramClient) -> Pubkey:
    return (await client.build("increment", {"amount": 1})).accounts[0].pubkey


async def increment(client: ProgramClient, amount: int) -> None:
    await client.send(await client.build("increment", {"amount": amount}))


async def test_an_account_is_watched_from_now_on(client: ProgramClient) -> None:
    async with aclosing(client.watch("State", await state_of(client))) as values:
        assert (await anext(values))["count"] == 0
        await increment(client, 5)
        assert (await anext(values))["count"] == 5


async def test_a_watched_account_has_a_json_form(client: ProgramClient) -> None:
    async with aclosing(
        client.watch("State", await state_of(client), as_json=True)
    ) as values:
        assert (await anext(values))["count"] == "0"


async def test_a_change_of_another_account_is_not_reported(
    client: ProgramClient,
) -> None:
    assert isinstance(client.transport, SvmTransport)
    async with aclosing(client.watch("State", await state_of(client))) as values:
        await anext(values)
        client.transport.airdrop(Pubkey.new_unique())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(values), 0.05)


async def test_a_closed_account_ends_the_watch(client: ProgramClient) -> None:
    assert isinstance(client.transport, SvmTransport)
    state = await state_of(client)
    async with aclosing(client.watch("State", state)) as values:
        await anext(values)
        client.transport.set_account(state, Account(0, b"", Pubkey.default()))
        assert [value async for value in values] == []


async def test_an_absent_account_cannot_be_watched(client: ProgramClient) -> None:
    with pytest.raises(AccountNotFound):
        await anext(client.watch("State", Pubkey.new_unique()))


async def test_logs_are_watched(client: ProgramClient) -> None:
    async with aclosing(client.watch_logs()) as transactions:
        first = asyncio.ensure_future(anext(transactions))
        await asyncio.sleep(0)
        await increment(client, 5)
        logs = await first
    assert logs.succeeded
    assert f"Program {client.program_id} success" in logs.logs


async def test_events_are_watched(client: ProgramClient) -> None:
    async with aclosing(client.watch_events(as_json=True)) as events:
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        await increment(client, 5)
        signature, name, value = await first
    assert len(bytes(Signature.from_string(signature))) == 64
    assert (name, value["count"]) == ("Changed", "5")


async def test_events_of_a_failed_transaction_are_not_reported(
    client: ProgramClient,
) -> None:
    overdraw = await client.build("decrement", {"amount": 100})
    async with aclosing(client.watch_events()) as events:
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        with pytest.raises(Exception):  # noqa: B017  # any failure of the transaction
            await client.send(overdraw, skip_preflight=True)
        await increment(client, 2)
        _, _, value = await first
    assert value["count"] == 2


async def test_a_watch_that_ends_leaves_nothing_behind(client: ProgramClient) -> None:
    assert isinstance(client.transport, SvmTransport)
    async with aclosing(client.watch("State", await state_of(client))) as values:
        await anext(values)
        assert len(client.transport.on_change) == 1
    assert client.transport.on_change == []

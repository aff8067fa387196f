"""The WebSocket of an embedded chain's node, asked by our own client, by solana-py and message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.signature import Signature
from solders.system_program import ID as SYSTEM
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from mcpsol_py import RpcTransport, SvmTransport
from mcpsol_py.client.subscriptions import account_changes, transaction_logs
from mcpsol_py.client.svm_pubsub import serve_subscriptions
from tests.ports import free_port
from tests.support.transfers import transfer_with


@asynccontextmanager
async def served(chain: SvmTransport) -> AsyncIterator[int]:
    """The port before the one of the WebSocket, as a node's URL has it."""
    port = free_port(2)
    hosts = {f"127.0.0.1:{port + 1}"}
    async with serve_subscriptions(chain, "127.0.0.1", port + 1, hosts):
        yield port


@asynccontextmanager
async def connection(chain: SvmTransport) -> AsyncIterator[ClientConnection]:
    async with (
        served(chain) as port,
        connect(f"ws://127.0.0.1:{port + 1}/rpc") as socket,
    ):
        yield socket


async def received(socket: ClientConnection) -> Any:
    return json.loads(await asyncio.wait_for(socket.recv(), 10))


async def asked(socket: ClientConnection, method: str, *params: Any) -> Any:
    await socket.send(
        json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    )
    return await received(socket)


async def test_a_signature_is_reported_once_and_forgotten() -> None:
    chain, key = SvmTransport(), Keypair().pubkey()
    async with connection(chain) as socket:
        landed = chain.request_airdrop(key, 10**9)
        early = await asked(socket, "signatureSubscribe", str(landed))
        told = await received(socket)
        assert told["method"] == "signatureNotification"
        assert told["params"]["subscription"] == early["result"]
        assert told["params"]["result"]["value"] == {"err": None}
        assert told["params"]["result"]["context"]["slot"] == chain.current_slot
        # Nothing is left to end, and nothing more comes.
        assert (await asked(socket, "signatureUnsubscribe", early["result"]))["error"][
            "code"
        ] == (-32602)


async def test_a_signature_that_lands_later_is_waited_for() -> None:
    chain, payer = SvmTransport(), Keypair()
    chain.airdrop(payer.pubkey(), 10**9)
    transaction = transfer_with((await chain.latest_blockhash()).value, payer)
    async with connection(chain) as socket:
        options = {"commitment": "confirmed", "enableReceivedNotification": True}
        await asked(
            socket, "signatureSubscribe", str(transaction.signatures[0]), options
        )
        chain.new_block()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(socket.recv(), 0.2)
        await asyncio.to_thread(asyncio.run, chain.send(transaction))
        values = [
            (await received(socket))["params"]["result"]["value"] for _ in range(2)
        ]
        assert values == ["receivedSignature", {"err": None}]


async def test_slots_are_reported_until_they_are_unsubscribed() -> None:
    chain = SvmTransport()
    async with connection(chain) as socket:
        number = (await asked(socket, "slotSubscribe"))["result"]
        for _ in range(2):
            before = chain.current_slot
            chain.new_block(3)
            told = (await received(socket))["params"]
            assert told["result"] == {
                "slot": before + 3,
                "parent": before,
                "root": before,
            }
            assert told["subscription"] == number
        assert (await asked(socket, "slotUnsubscribe", number))["result"] is True
        chain.new_block()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(socket.recv(), 0.2)


async def test_our_client_follows_an_account_and_logs_by_solana_py() -> None:
    chain, key = SvmTransport(), Keypair().pubkey()
    async with served(chain) as port:
        transport = RpcTransport(f"http://127.0.0.1:{port}")
        async with (
            aclosing(account_changes(transport, key)) as changes,
            aclosing(transaction_logs(transport, SYSTEM)) as logs,
        ):
            assert await anext(changes) is None
            waiting = asyncio.ensure_future(anext(logs))
            await asyncio.sleep(0.5)
            signature = chain.request_airdrop(key, 10**9)
            changed = await asyncio.wait_for(anext(changes), 10)
            assert changed is not None
            assert changed.lamports == 10**9
            told = await asyncio.wait_for(waiting, 10)
            assert (told.signature, told.succeeded) == (str(signature), True)
            assert any("success" in line for line in told.logs)
            chain.set_account(key, Account(0, b"", SYSTEM))
            closed = await asyncio.wait_for(anext(changes), 10)
            assert closed is not None
            assert (closed.lamports, bytes(closed.data)) == (0, b"")
        await transport.close()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", -32700),
        ("7", -32600),
        ('{"id": 1, "method": 7}', -32600),
        ('{"id": 1, "method": "getSlot"}', -32601),
        ('{"id": 1, "method": "accountSubscribe"}', -32602),
        ('{"id": 1, "method": "accountSubscribe", "params": ["no key"]}', -32602),
        ('{"id": 1, "method": "accountSubscribe", "params": 7}', -32602),
        ('{"id": 1, "method": "logsSubscribe", "params": [{"mentions": []}]}', -32602),
        ('{"id": 1, "method": "slotUnsubscribe", "params": []}', -32602),
        ('{"id": 1, "method": "slotUnsubscribe", "params": [[]]}', -32602),
    ],
)
async def test_what_cannot_be_answered_is_an_error_of_the_protocol(
    message: str, code: int
) -> None:
    async with connection(SvmTransport()) as socket:
        await socket.send('{"method": "ping"}')  # a notification has no answer
        await socket.send(message)
        assert (await received(socket))["error"]["code"] == code


async def test_a_connection_has_a_limit_of_subscriptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcpsol_py.client.svm_pubsub._MAX_SUBSCRIPTIONS", 2)
    async with connection(SvmTransport()) as socket:
        signature = str(Signature.default())
        answers = [
            await asked(socket, "signatureSubscribe", signature) for _ in range(3)
        ]
        assert ["error" in answer for answer in answers] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "origin"), [("127.0.0.1", "http://127.0.0.1"), ("evil.example", None)]
)
async def test_no_web_page_reaches_it(name: str, origin: Any) -> None:
    async with served(SvmTransport()) as port:
        url = f"ws://{name}:{port + 1}"
        with pytest.raises(InvalidStatus):
            await connect(url, origin=origin, host="127.0.0.1")

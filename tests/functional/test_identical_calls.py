"""Two calls that a user made are two transactions, and one call is one, however often its bytes are handed in.

A chain takes the same transaction once: identical calls on one blockhash would be dropped in silence. Each scenario is
also run without the rule, and must then fail.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import connect, connect_sync, load
from mcpsol_py.batch import Sender
from mcpsol_py.calls.prepare import ServedProgram, prepare
from mcpsol_py.calls.send import send_signed
from mcpsol_py.calls.sent_messages import SentMessages
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Blockhash, Outcome, Status
from mcpsol_py.errors import SendUnknown, TransportError
from mcpsol_py.program import Program
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.pda import find_pda
from mcpsol_py.sync_client import SyncProgramClient
from tests.functional.counter_scenario import COUNTER, PROGRAMS, REPO
from tests.functional.svm_node import SvmNode, listening

CALLS = 3


class YieldingTransport(SvmTransport):
    """LiteSVM with a counter of `wallet`, that lets other tasks run in each request. `lost`: so many answers to a
    sending are lost after the transaction has landed."""

    def __init__(self) -> None:
        super().__init__()
        self.add_program(COUNTER, PROGRAMS[COUNTER])
        self.wallet = Keypair()
        self.airdrop(self.wallet.pubkey(), 10**10)
        self.pauses = True
        self.lost = 0
        self.silent = False
        self.sent: list[Signature] = []

    async def _pause(self) -> None:
        if self.pauses:
            await asyncio.sleep(0)

    async def sleep(self, seconds: float) -> None:
        """One block passes for all that wait, and not before the others have handed in what they signed."""
        before = self.svm.latest_blockhash()
        for _ in range(50):
            await self._pause()
        if not self.pauses:
            time.sleep(0.1)
        if self.svm.latest_blockhash() == before:
            await super().sleep(seconds)

    async def latest_blockhash(self) -> Blockhash:
        found = await super().latest_blockhash()
        await self._pause()
        return found

    async def status(self, signature: Signature) -> Status | None:
        if self.silent:
            raise TransportError("LiteSVM", "no connection", retryable=True)
        return await super().status(signature)

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        await self._pause()
        self.sent.append(transaction.signatures[0])
        answer = await super().send(transaction, skip_preflight=skip_preflight)
        if self.lost:
            self.lost -= 1
            raise TransportError("LiteSVM", "no answer within 30 s", retryable=True)
        return answer

    @property
    def count(self) -> int:
        """The counter."""
        address = find_pda([b"counter", bytes(self.wallet.pubkey())], COUNTER)[0]
        account = self.svm.get_account(address)
        assert account is not None
        value: int = PROGRAM.decode_account(bytes(account.data))[1]["count"]
        return value


PROGRAM: Program = load(REPO / "programs/counter/idl.json")


async def chain_with_counter() -> tuple[YieldingTransport, ProgramClient, Instruction]:
    """A chain, a client of its counter, which is at 0, and an increment by 1."""
    chain = YieldingTransport()
    client = ProgramClient(PROGRAM, chain, COUNTER, wallet=chain.wallet)
    await client.send(await client.build("initialize", {"start": 0}))
    return chain, client, await client.build("increment", {"amount": 1})


Scenario = Callable[
    [YieldingTransport, ProgramClient, Instruction], Awaitable[Sequence[Any]]
]


async def one_after_the_other(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    return [await client.send(step) for _ in range(CALLS)]


async def at_once(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    return await asyncio.gather(*(client.send(step) for _ in range(CALLS)))


async def without_waiting(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    return [
        await client.send(step, confirm=False, skip_preflight=True)
        for _ in range(CALLS)
    ]


async def synchronously(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    chain.pauses = False
    twin = SyncProgramClient(client)
    return [twin.send(step) for _ in range(CALLS)]


async def several_clients(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    clients = [
        ProgramClient(PROGRAM, chain, COUNTER, wallet=chain.wallet)
        for _ in range(CALLS)
    ]
    return await asyncio.gather(*(each.send(step) for each in clients))


async def in_one_batch(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    return await Sender(chain, chain.wallet.pubkey(), [chain.wallet]).many(
        [[step]] * CALLS
    )


async def in_several_batches(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    senders = [
        Sender(chain, chain.wallet.pubkey(), [chain.wallet]) for _ in range(CALLS)
    ]
    return await asyncio.gather(*(each.one([step]) for each in senders))


async def as_the_call_command_sends(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    served = ServedProgram(PROGRAM, COUNTER, chain)
    ix, wallet = PROGRAM.instruction("increment"), chain.wallet.pubkey()
    prepared = await prepare(served, ix, {"amount": "1"}, {}, wallet=wallet)
    return await asyncio.gather(
        *(send_signed(prepared, [chain.wallet]) for _ in range(CALLS))
    )


async def by_different_ways(
    chain: YieldingTransport, client: ProgramClient, step: Instruction
) -> Sequence[Any]:
    served = ServedProgram(PROGRAM, COUNTER, chain)
    ix, wallet = PROGRAM.instruction("increment"), chain.wallet.pubkey()
    prepared = await prepare(served, ix, {"amount": "1"}, {}, wallet=wallet)
    by_hand = await client.transaction([step])
    signed = VersionedTransaction(by_hand.message, [chain.wallet])
    return [
        str(await client.send_transaction(signed)),
        str(await client.send(step)),
        await send_signed(prepared, [chain.wallet]),
    ]


SCENARIOS: list[Scenario] = [
    one_after_the_other,
    at_once,
    without_waiting,
    synchronously,
    several_clients,
    in_one_batch,
    in_several_batches,
    as_the_call_command_sends,
    by_different_ways,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_each_call_is_a_transaction(scenario: Scenario) -> None:
    chain, client, step = await chain_with_counter()
    signatures = await scenario(chain, client, step)
    assert len(set(signatures)) == CALLS
    assert chain.count == CALLS


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_without_the_rule_calls_are_lost(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, client, step = await chain_with_counter()
    monkeypatch.setattr(SentMessages, "take", lambda *_: True)
    signatures = await scenario(chain, client, step)
    assert len(set(signatures)) == 1
    assert chain.count == 1


# --- one call ---------------------------------------------------------------------------------------------------------


async def test_a_call_whose_answer_is_lost_is_one_transaction() -> None:
    chain, client, step = await chain_with_counter()
    chain.lost = 1
    first = await client.send(step)
    assert (chain.count, chain.sent.count(first)) == (1, 1)
    second = await client.send(step)
    assert second != first
    assert chain.count == 2


async def test_an_unknown_transaction_can_be_handed_in_again_and_lands_once() -> None:
    chain, client, step = await chain_with_counter()
    chain.lost = 1

    chain.silent = True
    with pytest.raises(
        SendUnknown, match="can still land until block height"
    ) as caught:
        await client.send(step)
    chain.silent = False
    assert caught.value.transaction is not None
    again = await client.send_transaction(caught.value.transaction)
    assert str(again) == caught.value.signature
    assert chain.count == 1


async def test_a_batch_sends_the_same_bytes_again() -> None:
    chain, _, step = await chain_with_counter()
    chain.lost = 2
    sender = Sender(chain, chain.wallet.pubkey(), [chain.wallet])
    signatures = await sender.many([[step], [step]])
    assert len(set(signatures)) == chain.count == 2


async def test_a_refused_call_needs_no_other_blockhash() -> None:
    chain, client, _ = await chain_with_counter()
    too_much = await client.build("decrement", {"amount": 5})
    height = await chain.block_height()
    for _ in range(2):
        with pytest.raises(Exception, match="Underflow|failed with"):
            await client.send(too_much)
    assert await chain.block_height() == height


# --- over JSON-RPC ----------------------------------------------------------------------------------------------------


class MovingNode(SvmNode):
    """A node whose blockhash changes some time after a transaction has landed with it."""

    moves_at = float("inf")

    def respond(self, raw: bytes) -> bytes:
        if b"getLatestBlockhash" in raw and time.monotonic() > self.moves_at:
            self.moves_at = float("inf")
            self.transport.expire_blockhash()
        answer = super().respond(raw)
        if b"sendTransaction" in raw:
            self.moves_at = time.monotonic() + 0.2
        return answer


def over_rpc(
    work: Callable[[str, YieldingTransport], Coroutine[Any, Any, list[Signature]]],
) -> None:
    chain = YieldingTransport()
    chain.pauses = False
    with listening(MovingNode(chain)) as url:
        signatures = asyncio.run(work(url, chain))
    assert len(set(signatures)) == CALLS
    assert chain.count == CALLS


def test_clients_with_transports_of_their_own_share_a_node() -> None:
    async def work(url: str, chain: YieldingTransport) -> list[Signature]:
        clients = [
            await connect(PROGRAM, RpcTransport(url), wallet=chain.wallet)
            for _ in range(CALLS)
        ]
        step = await begun(clients[0])
        out = await asyncio.gather(*(client.send(step) for client in clients))
        for client in clients:
            await client.close()
        return out

    over_rpc(work)


async def begun(client: ProgramClient) -> Instruction:
    """Make the counter; return an increment."""
    await client.send(await client.build("initialize", {"start": 0}))
    return await client.build("increment", {"amount": 1})


def test_synchronous_clients_in_threads_share_a_node() -> None:
    async def work(url: str, chain: YieldingTransport) -> list[Signature]:
        client = connect_sync(PROGRAM, url, wallet=chain.wallet)
        client.send(client.build("initialize", {"start": 0}))
        step = client.build("increment", {"amount": 1})
        out = await asyncio.gather(
            *(asyncio.to_thread(client.send, step) for _ in range(CALLS))
        )
        client.close()
        return out

    over_rpc(work)

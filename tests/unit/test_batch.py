"""Many transactions over a chain that loses, delays and refuses: each lands once, or it is said which did not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import batch
from mcpsol_py.batch import Sender
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Blockhash, Outcome, Status
from mcpsol_py.errors import MissingSigner, ProgramFailed, SendUnknown, TransportError

PAYER = Keypair.from_seed(bytes([1] * 32))
PROGRAM = Pubkey(bytes([9] * 32))


def job(number: int) -> list[Instruction]:
    return [
        Instruction(
            PROGRAM,
            number.to_bytes(4, "little"),
            [AccountMeta(PAYER.pubkey(), True, True)],
        )
    ]


class Unsteady(ScriptedTransport):
    """Blocks go by with each look. `loses` says of the n-th sending whether it never arrives, `deaf` whether its answer
    is lost; a transaction lands at the next look after it arrived, if its blockhash is not too old."""

    def __init__(
        self, loses: Sequence[bool] = (), deaf: Sequence[bool] = (), valid_for: int = 20
    ) -> None:
        super().__init__()
        self.loses, self.deaf, self.valid_for = list(loses), list(deaf), valid_for
        self.height = 1
        self.sendings = 0
        self.waiting: dict[Signature, tuple[bytes, Hash]] = {}
        self.landed: dict[Signature, bytes] = {}
        self.hashes: dict[Hash, int] = {}
        self.preflights = 0
        self.fails: dict[bytes, str] = {}

    async def latest_blockhash(self) -> Blockhash:
        found = Hash(len(self.hashes).to_bytes(32, "little"))
        self.hashes[found] = self.height + self.valid_for
        return Blockhash(found, self.hashes[found])

    async def block_height(self) -> int:
        return self.height

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        at, self.sendings = self.sendings, self.sendings + 1
        self.preflights += not skip_preflight
        signature = transaction.signatures[0]
        data = bytes(transaction.message.instructions[-1].data)
        if not skip_preflight and data in self.fails:
            return signature, Outcome(err={"InstructionError": [0, self.fails[data]]})
        if not (at < len(self.loses) and self.loses[at]):
            self.waiting[signature] = (data, transaction.message.recent_blockhash)
        if at < len(self.deaf) and self.deaf[at]:
            raise TransportError("script", "no answer", retryable=True)
        return signature, None

    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        for signature, (data, blockhash) in list(self.waiting.items()):
            if self.height <= self.hashes[blockhash]:
                self.landed[signature] = data
            del self.waiting[signature]
        return [self.answer(signature) for signature in signatures]

    def answer(self, signature: Signature) -> Status | None:
        if signature not in self.landed:
            return None
        err = self.fails.get(self.landed[signature])
        return Status(
            confirmed=True, err={"InstructionError": [0, err]} if err else None
        )

    async def sleep(self, seconds: float) -> None:
        self.height += 1


@settings(max_examples=60)
@given(
    st.integers(1, 12),
    st.lists(st.booleans(), max_size=40),
    st.lists(st.booleans(), max_size=40),
    st.sampled_from([2, 8, 20]),
)
def test_all_land_whatever_is_lost_on_the_way(
    count: int, loses: list[bool], deaf: list[bool], valid: int
) -> None:
    chain = Unsteady(loses, deaf, valid)
    told: list[int] = []
    sender = Sender(chain, PAYER.pubkey(), [PAYER])
    work = sender.many([job(n) for n in range(count)], landed=told.append)
    try:
        signatures = asyncio.run(work)
    except SendUnknown:
        assert valid == 2, "only where blockhashes die at once"
        return
    assert [chain.landed[s] for s in signatures] == [
        bytes(job(n)[0].data) for n in range(count)
    ]
    assert told == sorted(told)
    assert told[-1] == count


def test_the_first_ones_preflight_speaks_for_all() -> None:
    chain = Unsteady()
    chain.fails[bytes(job(0)[0].data)] = "IncorrectAuthority"
    with pytest.raises(ProgramFailed, match="IncorrectAuthority"):
        asyncio.run(
            Sender(chain, PAYER.pubkey(), [PAYER]).many([job(n) for n in range(5)])
        )
    assert chain.sendings == 1, "the others were not sent"


def test_one_that_fails_when_it_lands_ends_it() -> None:
    chain = Unsteady()
    chain.fails[bytes(job(3)[0].data)] = "InsufficientFunds"
    with pytest.raises(ProgramFailed, match="InsufficientFunds"):
        asyncio.run(
            Sender(chain, PAYER.pubkey(), [PAYER]).many([job(n) for n in range(5)])
        )


def test_what_must_not_be_done_twice_is_signed_once() -> None:
    chain = Unsteady(loses=[True] * 400, valid_for=5)
    with pytest.raises(SendUnknown, match="did not land"):
        asyncio.run(Sender(chain, PAYER.pubkey(), [PAYER]).one(job(1)))
    assert len(chain.hashes) == 1
    chain = Unsteady(loses=[True] * 10_000, valid_for=5)
    with pytest.raises(SendUnknown, match="2 of 2"):
        asyncio.run(Sender(chain, PAYER.pubkey(), [PAYER]).many([job(1), job(2)]))
    assert len(chain.hashes) == batch.ROUNDS


def test_a_node_that_stops_answering_is_given_up() -> None:
    class Dead(Unsteady):
        async def statuses(
            self, signatures: Sequence[Signature]
        ) -> list[Status | None]:
            raise TransportError("script", "gone", retryable=True)

    with pytest.raises(TransportError, match="gone"):
        asyncio.run(Sender(Dead(), PAYER.pubkey(), [PAYER]).one(job(1)))


def test_a_node_that_refuses_for_good_is_told_at_once() -> None:
    class Closed(Unsteady):
        async def send(
            self, transaction: VersionedTransaction, *, skip_preflight: bool = False
        ) -> tuple[Signature, Outcome | None]:
            self.sendings += 1
            raise TransportError("script", "HTTP status 403 (forbidden)")

    chain = Closed()
    with pytest.raises(TransportError, match="403"):
        asyncio.run(
            Sender(chain, PAYER.pubkey(), [PAYER]).many([job(n) for n in range(90)])
        )
    assert chain.sendings == 1


def test_the_priority_fee_stands_before_the_job() -> None:
    seen: list[VersionedTransaction] = []

    class Seeing(Unsteady):
        async def send(
            self, transaction: VersionedTransaction, *, skip_preflight: bool = False
        ) -> tuple[Signature, Outcome | None]:
            seen.append(transaction)
            return await super().send(transaction, skip_preflight=skip_preflight)

    asyncio.run(
        Sender(Seeing(), PAYER.pubkey(), [PAYER], price=7).one(job(1), units=5000)
    )
    data = [bytes(ix.data).hex() for ix in seen[0].message.instructions]
    assert data == [
        "02" + (5000).to_bytes(4, "little").hex(),
        "03" + (7).to_bytes(8, "little").hex(),
        "01000000",
    ]


def test_a_missing_key_is_told_before_anything_is_sent() -> None:
    chain, other = Unsteady(), Keypair()
    with pytest.raises(MissingSigner):
        asyncio.run(Sender(chain, other.pubkey(), [PAYER]).one(job(1)))
    assert chain.sendings == 0

"""The audited program and ours, side by side: the same random calls give the same refusals, tokens and channel
accounts, as long as every token account works. Needs a build of the audited program (make peers)."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import TransactionMetadata

from mcpsol_py.x402.chain.program import signed_voucher
from mcpsol_py.x402.channels.program import OURS, Parties
from mcpsol_py.x402.exact.transaction import associated_token_address
from tests.unit.x402.channel_payments import AUDITED, PEER, ChannelWorld
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair

WINDOW = 1_500
FRIEND = keypair(50).pubkey()
#: Codes of the checks that our compiler generates: there, the runtime refuses with other codes.
GENERATED = range(3_000, 4_000)

#: How often each kind of step went through, over all runs.
_went_through: Counter[str] = Counter()
_PLAIN = ("seal_early", "request_close", "seal", "distribute", "withdraw", "reclaim")
KINDS = ("open", "settle", "settle_and_seal", "top_up", *_PLAIN)
_index = st.integers(0, 1)
_amount = st.sampled_from(
    [0, 1, 10, 70, 200, 333, 400, 500, 700, 999, 1_000, 1_200, 2**64 - 1]
)
_opening = st.tuples(
    st.just("open"),
    _index,
    st.sampled_from([1_000, 500, 1, 0]),  # deposit
    st.sampled_from([60, 1, 900, 0]),  # grace period
    st.sampled_from([0, 1, WINDOW, WINDOW + 1, -1]),  # age of the open slot
)
_vouching = st.tuples(
    st.sampled_from(["settle", "settle_and_seal"]),
    _index,
    _amount,
    st.sampled_from([0, 0, 0, 5, -1]),  # expiry: never, later, before
    st.sampled_from([True, True, True, False]),  # signed by the right key
)
_plain = st.tuples(st.sampled_from(_PLAIN), _index)
_adding = st.tuples(st.just("top_up"), _index, _amount)
_waiting = st.tuples(
    st.just("wait"), st.sampled_from([1, 60, 900]), st.sampled_from([0, 1, WINDOW])
)
_steps = st.lists(
    st.one_of(
        _vouching,
        _vouching,
        _plain,
        _plain,
        _plain,
        _plain,
        _adding,
        _waiting,
        _opening,
    ),
    min_size=20,
    max_size=60,
)
#: Two channels to begin with; the second one is at the end of its window.
OPENED = (("open", 0, 1_000, 60, 0), ("open", 1, 500, 1, WINDOW))
#: Both channels end: what is left is closed, sealed, withdrawn, paid out and reclaimed.
ENDED = (
    *(("request_close", index) for index in (0, 1)),
    ("wait", 900, 0),
    *((name, index) for name in ("seal", "withdraw", "distribute") for index in (0, 1)),
    ("wait", 1, WINDOW + 1),
    *(("reclaim", index) for index in (0, 1)),
)


@dataclass
class Side:
    """One of the two programs, in a world of its own with the same keys and clock."""

    world: ChannelWorld

    def __post_init__(self) -> None:
        self.program, self.channels = (
            self.world.program,
            dict[int, tuple[Parties, int]](),
        )
        self.salt = 0
        self.world.give(FRIEND, 0)
        self.world.svm.airdrop(self.world.payee.pubkey(), 10**9)

    def parties(self, salt: int, open_slot: int) -> Parties:
        """The payee is the wallet that signs `settle_and_seal`; a friend gets a third."""
        w = self.world
        keys = (w.payer.pubkey(), w.payee.pubkey(), USDC, w.payer.pubkey())
        return Split(*keys, salt, open_slot, FRIEND, TOKEN_PROGRAM)

    def run(self, *instructions: Instruction, signers: tuple[Keypair, ...] = ()) -> str:
        """ "ok", or the refusal: its code if it is one of the program's own."""
        svm, payer = self.world.svm, self.world.sponsor
        svm.expire_blockhash()
        message = Message.new_with_blockhash(
            list(instructions), payer.pubkey(), svm.latest_blockhash()
        )
        outcome = svm.send_transaction(VersionedTransaction(message, [payer, *signers]))
        if isinstance(outcome, TransactionMetadata):
            return "ok"
        code = getattr(getattr(outcome.err(), "err", None), "code", None)
        is_own = code is not None and code not in GENERATED and code != 0
        return str(code) if is_own else "refused"

    def step(self, name: str, *args: Any) -> str:
        if name == "wait":
            self.world.later(*args)
            return "ok"
        index, *rest = args
        if name == "open":
            return self.open(index, *rest)
        if index not in self.channels:
            return "no channel"
        parties, _ = self.channels[index]
        at = str(self.program.address(parties))
        is_gone = self.program.fetch(self.world.chain, at) is None
        done = str(getattr(self, name)(*self.channels[index], *rest))
        return "refused" if is_gone and done != "ok" else done

    def open(self, index: int, deposit: int, grace: int, age: int) -> str:
        slot = self.world.svm.get_clock().slot - age
        self.salt += 1
        parties = self.parties(self.salt, slot)
        opening = self.program.open(parties, deposit, grace)
        done = self.run(opening, signers=(self.world.payer, self.world.payee))
        if done == "ok":
            self.channels[index] = (parties, grace)
        return done

    def settle(
        self, parties: Parties, _grace: int, amount: int, life: int, right: bool
    ) -> str:
        at = self.program.address(parties)
        return self.run(self.voucher(at, amount, life, right), self.program.settle(at))

    def settle_and_seal(
        self, parties: Parties, _grace: int, amount: int, life: int, right: bool
    ) -> str:
        at = self.program.address(parties)
        seal = self.program.settle_and_seal(at, parties.sponsor, has_voucher=True)
        proof = self.voucher(at, amount, life, right)
        return self.run(proof, seal, signers=(self.world.payee,))

    def voucher(self, at: Pubkey, amount: int, life: int, right: bool) -> Instruction:
        signer = self.world.payer if right else self.world.payee
        return signed_voucher(signer, at, amount, self.world.now + life if life else 0)

    def seal_early(self, parties: Parties, _grace: int) -> str:
        at = self.program.address(parties)
        seal = self.program.settle_and_seal(at, parties.sponsor, has_voucher=False)
        return self.run(seal, signers=(self.world.payee,))

    def request_close(self, parties: Parties, _grace: int) -> str:
        close = self.program.request_close(self.program.address(parties), parties.payer)
        return self.run(close, signers=(self.world.payer,))

    def seal(self, parties: Parties, _grace: int) -> str:
        return self.run(self.program.seal(self.program.address(parties)))

    def distribute(self, parties: Parties, _grace: int) -> str:
        return self.run(self.program.distribute(parties))

    def top_up(self, parties: Parties, _grace: int, amount: int) -> str:
        return self.run(
            self.program.top_up(parties, amount), signers=(self.world.payer,)
        )

    def withdraw(self, parties: Parties, _grace: int) -> str:
        at, payer = self.program.address(parties), parties.payer
        metas = [
            AccountMeta(payer, True, False),
            AccountMeta(at, False, True),
            *(AccountMeta(ata(owner), False, True) for owner in (at, payer)),
            AccountMeta(USDC, False, False),
            AccountMeta(TOKEN_PROGRAM, False, False),
        ]
        withdraw = Instruction(self.program.program_id, b"\x08", metas)
        return self.run(withdraw, signers=(self.world.payer,))

    def reclaim(self, parties: Parties, _grace: int) -> str:
        return self.run(
            self.program.reclaim(self.program.address(parties), parties.sponsor)
        )

    def seen(self) -> dict[str, Any]:
        """The tokens of everybody, and the channels' accounts without what names the program."""
        owners = {
            "payer": self.world.payer.pubkey(),
            "payee": self.world.payee.pubkey(),
            "friend": FRIEND,
            "treasury": self.program.treasury_owner,
        }
        found: dict[str, Any] = {
            n: self.world.tokens(owner) for n, owner in owners.items()
        }
        for index, (parties, _) in self.channels.items():
            at = self.program.address(parties)
            channel = self.program.fetch(self.world.chain, str(at))
            found[f"channel {index}"] = channel
            escrow = self.world.svm.get_account(ata(at))
            found[f"escrow {index}"] = (
                None
                if escrow is None or not escrow.data
                else struct.unpack_from("<Q", bytes(escrow.data), 64)[0]
            )
        return found


class Split(Parties):
    """Parties of a channel whose payee shares with a friend."""

    __slots__ = ()

    @property
    def entries(self) -> list[tuple[Pubkey, int]]:
        return [(self.pay_to, 3_333)]


def ata(owner: Pubkey) -> Pubkey:
    return associated_token_address(owner, USDC, TOKEN_PROGRAM)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=_steps)
def both_do_the_same(steps: list[tuple[Any, ...]]) -> None:
    ours, theirs = Side(ChannelWorld(program=OURS)), Side(ChannelWorld(program=AUDITED))
    for step in (*OPENED, *steps, *ENDED):
        done = ours.step(*step)
        assert done == theirs.step(*step), step
        assert ours.seen() == theirs.seen(), step
        _went_through[step[0]] += done == "ok"


@pytest.mark.skipif(
    PEER is None, reason="AUDITED_CHANNELS names no build: run make peers"
)
def test_the_audited_program_does_the_same() -> None:
    _went_through.clear()
    both_do_the_same()
    print(dict(_went_through))
    assert min(_went_through[name] for name in KINDS) > 0, _went_through

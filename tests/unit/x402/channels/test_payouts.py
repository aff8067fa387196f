"""Payouts go to their beneficiaries or wait: token accounts that are missing, frozen or given away at the moment of
each irreversible step, on both programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from x402.schemas import PaymentPayload

from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.x402.channels.payouts import (
    PAYOUT_WAITS,
    REDIRECTED,
    check_redirects,
    unusable,
)
from mcpsol_py.x402.channels.program import OURS, Parties
from mcpsol_py.x402.channels.redeem import redeem, tidy
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.store.channels import SponsoredChannels
from mcpsol_py.x402.store.database import Database
from tests.support.x402_channels import buyers, endpoint
from tests.unit.x402.channel_payments import PROGRAMS, BatchShop, ChannelWorld
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair, token_data

GONE = Account(0, b"", Pubkey.default())
STRANGER = keypair(77).pubkey()


def ata(owner: Pubkey) -> Pubkey:
    return associated_token_address(owner, USDC, TOKEN_PROGRAM)


def close(world: ChannelWorld, owner: Pubkey) -> None:
    world.svm.set_account(ata(owner), GONE)


def freeze(world: ChannelWorld, owner: Pubkey) -> None:
    world.put(owner, 0, state=2)


def give_away(world: ChannelWorld, owner: Pubkey) -> None:
    data = token_data(USDC, STRANGER, 0)
    world.svm.set_account(ata(owner), Account(10**7, bytes(data), TOKEN_PROGRAM))


Spoil = Callable[[ChannelWorld, Pubkey], None]
SPOILS: dict[str, Spoil] = {"closed": close, "frozen": freeze, "given away": give_away}


@pytest.fixture(params=sorted(PROGRAMS))
def world(request: pytest.FixtureRequest) -> ChannelWorld:
    return ChannelWorld(program=PROGRAMS[request.param])


@pytest.fixture(params=SPOILS)
def spoil(request: pytest.FixtureRequest) -> Spoil:
    return SPOILS[request.param]


@pytest.fixture
def shop(world: ChannelWorld, tmp_path: Path) -> BatchShop:
    return BatchShop(world, Database(f"sqlite:///{tmp_path / 'shop.db'}"))


def treasury(world: ChannelWorld) -> int:
    return world.tokens(world.program.treasury_owner)


def escrow(world: ChannelWorld, channel: str) -> int:
    return world.tokens(Pubkey.from_string(channel))


class TestRedeem:
    async def test_earnings_wait_for_the_sellers_account(
        self, shop: BatchShop, spoil: Spoil
    ) -> None:
        world, (buyer,) = shop.world, buyers(shop, 1)
        await buyer.pay()
        await buyer.pay()
        (channel,) = buyer.scheme.channels.all()
        spoil(world, world.payee.pubkey())
        done = await redeem(shop.scheme, endpoint(shop))
        assert (done.claimed, done.paid_out) == (2_000, 0)
        assert done.problems == {channel.channel_id: PAYOUT_WAITS}
        assert treasury(world) == 0
        world.put(world.payee.pubkey(), 0)
        done = await redeem(shop.scheme, endpoint(shop))
        assert (done.paid_out, done.problems, world.held[1]) == (2_000, {}, 2_000)

    async def test_a_closing_channel_is_sealed_in_time_and_paid_later(
        self, shop: BatchShop, spoil: Spoil
    ) -> None:
        """The grace period runs, so the voucher is proved at once; the payout waits."""
        world, (buyer,) = shop.world, buyers(shop, 1)
        await buyer.pay()
        (channel,) = buyer.scheme.channels.all()
        ask_to_close(shop, buyer)
        spoil(world, world.payee.pubkey())
        done = await redeem(shop.scheme, endpoint(shop), chain=world.chain)
        assert (done.sealed, done.paid_out) == (1, 0)
        assert done.problems == {channel.channel_id: PAYOUT_WAITS}
        row = shop.channels.get(channel.channel_id)
        assert row is not None
        assert (row.state, row.claimed, row.paid_out) == ("sealed", 1_000, 0)
        # The payer is refunded meanwhile; the seller is not paid by that.
        if world.program.holds_back:
            tidy(shop.desk, shop.sponsored, clock=world.clock)
            assert world.tokens(keypair(100).pubkey()) == 49_000
        done = await redeem(shop.scheme, endpoint(shop), chain=world.chain)
        assert (done.paid_out, done.problems) == (0, {channel.channel_id: PAYOUT_WAITS})
        assert treasury(world) == 0
        world.put(world.payee.pubkey(), 0)
        done = await redeem(shop.scheme, endpoint(shop), chain=world.chain)
        assert (done.paid_out, done.problems) == (1_000, {})
        assert world.held[1] == 1_000
        assert world.tokens(keypair(100).pubkey()) == 49_000
        assert (
            await redeem(shop.scheme, endpoint(shop), chain=world.chain)
        ).problems == {}

    async def test_a_payer_cannot_lose_its_rest_while_a_channel_is_sealed(
        self, shop: BatchShop, spoil: Spoil
    ) -> None:
        world, (buyer,) = shop.world, buyers(shop, 1)
        await buyer.pay()
        (channel,) = buyer.scheme.channels.all()
        ask_to_close(shop, buyer)
        before = world.tokens(keypair(100).pubkey())
        spoil(world, keypair(100).pubkey())
        done = await redeem(shop.scheme, endpoint(shop), chain=world.chain)
        assert done.sealed == 1
        # our program pays the seller at once and keeps the rest; the audited one would lose the rest
        left = 9_000 if world.program.holds_back else 10_000
        assert (treasury(world), escrow(world, channel.channel_id)) == (0, left)
        assert done.problems == (
            {} if left == 9_000 else {channel.channel_id: PAYOUT_WAITS}
        )
        world.put(keypair(100).pubkey(), before)
        assert tidy(shop.desk, shop.sponsored, clock=world.clock) == {
            channel.channel_id: "paid out"
        }
        assert (world.held[1], world.tokens(keypair(100).pubkey())) == (1_000, 49_000)


class TestTidy:
    def test_a_ceiling_waits_for_the_payers_account(
        self, world: ChannelWorld, spoil: Spoil, tmp_path: Path
    ) -> None:
        """All that the payer has goes into one ceiling that nobody claims, and it closes its empty account."""
        sponsored = SponsoredChannels(Database(f"sqlite:///{tmp_path / 'desk.db'}"))
        desk, everything = world.upto(channels=sponsored), world.held[0]
        payment = world.authorize(world.ceiling(everything))
        assert desk.settle(payment, payment.accepted).success
        channel = payment.payload["channelId"]
        spoil(world, world.payer.pubkey())
        world.later(421)
        assert tidy(desk, sponsored, clock=world.clock) == {channel: "closed"}
        assert tidy(desk, sponsored, clock=world.clock) == {channel: PAYOUT_WAITS}
        assert (treasury(world), escrow(world, channel)) == (0, everything)
        world.put(world.payer.pubkey(), 0)
        assert tidy(desk, sponsored, clock=world.clock) == {channel: "paid out"}
        assert world.held == (everything, 0)

    async def test_after_the_grace_period_the_rest_waits(
        self, shop: BatchShop, spoil: Spoil
    ) -> None:
        world, (buyer,) = shop.world, buyers(shop, 1)
        await buyer.pay()
        (channel,) = buyer.scheme.channels.all()
        ask_to_close(shop, buyer)
        world.later(3_600)
        spoil(world, keypair(100).pubkey())
        assert tidy(shop.desk, shop.sponsored, clock=world.clock) == {
            channel.channel_id: "sealed"
        }
        assert (treasury(world), escrow(world, channel.channel_id)) == (0, 10_000)


class TestUpto:
    @pytest.mark.parametrize("charge", [4_000, 0])
    def test_a_claim_pays_the_seller_when_the_payer_has_no_account(
        self, world: ChannelWorld, spoil: Spoil, charge: int
    ) -> None:
        desk, payment = world.upto(), world.authorize(world.ceiling())
        assert desk.settle(payment, payment.accepted).success
        rest = world.held[0]
        spoil(world, world.payer.pubkey())
        answer = claim(world, desk, payment, charge)
        assert answer.success
        assert list(answer.extra or {}) == ["refundWaits"]
        assert "the payer" in (answer.extra or {})["refundWaits"]
        assert (world.tokens(world.payee.pubkey()), treasury(world)) == (charge, 0)
        assert escrow(world, payment.payload["channelId"]) == 10_000 - charge
        world.put(world.payer.pubkey(), rest)
        status = desk.program.fetch(world.chain, payment.payload["channelId"])
        assert status is not None
        assert status.status == "sealed"

    def test_a_charge_is_secured_when_the_seller_has_no_account(
        self, world: ChannelWorld, spoil: Spoil
    ) -> None:
        desk, payment = world.upto(), world.authorize(world.ceiling())
        assert desk.settle(payment, payment.accepted).success
        spoil(world, world.payee.pubkey())
        answer = claim(world, desk, payment, 4_000)
        assert (answer.success, "payTo" in (answer.extra or {})["payoutWaits"]) == (
            True,
            True,
        )
        # our program refunds the payer at once; the audited one would lose the charge
        is_refunded = world.program.holds_back
        assert ("refundWaits" in (answer.extra or {})) != is_refunded
        assert world.tokens(world.payer.pubkey()) == world.balance - (
            4_000 if is_refunded else 10_000
        )
        found = desk.program.fetch(world.chain, payment.payload["channelId"])
        assert found is not None
        assert (found.status, found.settled, found.paid_out) == ("sealed", 4_000, 0)
        assert treasury(world) == 0


class TestARace:
    """An account that works when it is looked at, and does not when the payout runs."""

    def test_a_redirect_is_read_from_the_calls_of_a_transaction(self) -> None:
        outcome = redirected(OURS.program_id)
        with pytest.raises(PaymentError, match="treasury") as refused:
            check_redirects(outcome, OURS.program_id)
        assert refused.value.code == REDIRECTED

    def test_other_programs_and_other_events_are_not_redirects(self) -> None:
        check_redirects(redirected(STRANGER), OURS.program_id)
        (_, data) = redirected(OURS.program_id).inner[0]
        for other in (data[:-1], data[:8] + bytes(8) + data[16:], b""):
            check_redirects(Outcome(inner=((OURS.program_id, other),)), OURS.program_id)

    @pytest.mark.parametrize("when", ["simulated", "landed"])
    def test_a_redirect_is_an_error_of_every_step(
        self, monkeypatch: pytest.MonkeyPatch, when: str
    ) -> None:
        world = ChannelWorld()
        desk, payment = world.upto(), world.authorize(world.ceiling())
        assert desk.settle(payment, payment.accepted).success
        bad = redirected(world.program.program_id)
        if when == "simulated":
            monkeypatch.setattr(world.chain, "simulate", lambda _transaction: bad)
        else:
            monkeypatch.setattr(world.chain, "outcome", lambda _signature: bad)
        answer = claim(world, desk, payment, 4_000)
        assert (answer.success, answer.error_reason) == (False, REDIRECTED)
        assert bool(answer.transaction) == (when == "landed")

    def test_a_landed_payout_that_cannot_be_read_is_pending(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = ChannelWorld()
        desk, payment = (
            world.upto(sleep=lambda _s: None),
            world.authorize(world.ceiling()),
        )
        assert desk.settle(payment, payment.accepted).success
        monkeypatch.setattr(world.chain, "outcome", lambda _signature: None)
        answer = claim(world, desk, payment, 4_000)
        assert (answer.success, answer.error_reason) == (False, "settlement_pending")


def test_what_makes_an_account_unusable() -> None:
    owner = keypair(5).pubkey()
    parties = Parties(owner, owner, USDC, owner, 1, 1, owner, TOKEN_2022_PROGRAM)

    def account(data: bytes) -> Account:
        return Account(10**7, bytes(data), TOKEN_2022_PROGRAM)

    good = bytes(token_data(USDC, owner, 0))
    assert unusable(account(good), owner, parties) is None
    assert unusable(account(good + b"\2\7\0\0\0"), owner, parties) is None
    guarded = account(good + b"\2\x0b\0\1\0\1")
    assert "extension 11" in str(unusable(guarded, owner, parties))
    assert unusable(None, owner, parties) == "does not exist"
    assert (
        unusable(Account(5, b"", Pubkey.default()), owner, parties) == "does not exist"
    )
    assert (
        unusable(account(good[:100]), owner, parties)
        == "is not a token account of the mint"
    )
    other_mint = account(bytes(token_data(STRANGER, owner, 0)))
    assert unusable(other_mint, owner, parties) == "is not a token account of the mint"


def redirected(program_id: Pubkey) -> Outcome:
    """The outcome of a transaction in which the program gave 4,000 of a stranger to the treasury."""
    event = (
        bytes.fromhex("e445a52e51cb9a1dd116b9d754a75450") + bytes(32) + bytes(STRANGER)
    )
    return Outcome(
        inner=((program_id, event + (4_000).to_bytes(8, "little") + b"\1\2"),)
    )


def ask_to_close(shop: BatchShop, buyer: Any) -> None:
    (channel,) = buyer.scheme.channels.all()
    terms = shop.terms()
    request = PaymentPayload(
        payload=buyer.scheme.refund_payload(channel, alone=True), accepted=terms
    )
    assert BatchShop(shop.world, Database()).desk.settle(request, terms).success


def claim(world: ChannelWorld, desk: Any, payment: PaymentPayload, charge: int) -> Any:
    """Settle the ceiling at *charge*, as the seller's server does."""
    channel = Pubkey.from_string(payment.payload["channelId"])
    signature = sign_voucher(
        world.authorizer, channel, charge, payment.payload["expiresAt"]
    )
    payload = {**payment.payload, "type": "claim", "voucherSignature": signature}
    terms = payment.accepted.model_copy(update={"amount": str(charge)})
    return desk.settle(payment.model_copy(update={"payload": payload}), terms)

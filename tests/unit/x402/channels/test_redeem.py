"""Out of band: vouchers become money before anybody can take them back, and sponsors get their rent."""

from __future__ import annotations

from pathlib import Path

import pytest
from x402.schemas import PaymentPayload

from mcpsol_py.x402.channels.program import OPEN_SLOT_WINDOW
from mcpsol_py.x402.channels.redeem import redeem, tidy
from mcpsol_py.x402.store.channels import SponsoredChannels
from mcpsol_py.x402.store.database import Database
from tests.support.x402_channels import buyers, endpoint
from tests.unit.x402.channel_payments import PROGRAMS, BatchShop, ChannelWorld
from tests.unit.x402.payments import keypair


@pytest.fixture(params=sorted(PROGRAMS))
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> BatchShop:
    return BatchShop(
        ChannelWorld(program=PROGRAMS[request.param]),
        Database(f"sqlite:///{tmp_path / 'shop.db'}"),
    )


async def test_all_vouchers_are_claimed_and_paid_out(shop: BatchShop) -> None:
    everyone = buyers(shop, 6)  # more than one transaction holds
    for n, buyer in enumerate(everyone):
        for _ in range(n + 1):
            await buyer.pay()
    done = await redeem(shop.scheme, endpoint(shop), chain=shop.world.chain)
    assert (done.claimed, done.paid_out, done.sealed, done.problems) == (
        21_000,
        21_000,
        0,
        {},
    )
    assert shop.world.held[1] == 21_000
    again = await redeem(shop.scheme, endpoint(shop), chain=shop.world.chain)
    assert (again.claimed, again.paid_out) == (0, 0)
    for buyer in everyone:
        await buyer.pay()
    assert (await redeem(shop.scheme, endpoint(shop))).claimed == 6_000


async def test_small_sums_wait(shop: BatchShop) -> None:
    (buyer,) = buyers(shop, 1)
    await buyer.pay()
    assert (await redeem(shop.scheme, endpoint(shop), at_least=1_001)).claimed == 0
    await buyer.pay()
    assert (await redeem(shop.scheme, endpoint(shop), at_least=1_001)).claimed == 2_000


@pytest.mark.parametrize("looks", [True, False])
async def test_a_payer_who_closes_is_overtaken(shop: BatchShop, looks: bool) -> None:
    """Three channels, one of whose payers asks for the close: its vouchers are sealed, the others claimed."""
    everyone = buyers(shop, 3)
    for buyer in everyone:
        await buyer.pay()
        await buyer.pay()
    (channel,) = everyone[1].scheme.channels.all()
    terms = shop.terms()
    stranger = BatchShop(shop.world, Database())
    request = PaymentPayload(
        payload=everyone[1].scheme.refund_payload(channel, alone=True), accepted=terms
    )
    assert stranger.desk.settle(request, terms).success
    done = await redeem(
        shop.scheme, endpoint(shop), chain=shop.world.chain if looks else None
    )
    assert (done.claimed, done.sealed, done.problems) == (4_000, 1, {})
    assert shop.world.held[1] == 6_000
    row = shop.channels.get(channel.channel_id)
    assert row is not None
    assert row.state == "closed"


async def test_after_the_grace_period_the_payer_has_the_rest(shop: BatchShop) -> None:
    (buyer,) = buyers(shop, 1)
    await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    terms = shop.terms()
    request = PaymentPayload(
        payload=buyer.scheme.refund_payload(channel, alone=True), accepted=terms
    )
    assert BatchShop(shop.world, Database()).desk.settle(request, terms).success
    shop.world.later(3_600)
    done = await redeem(shop.scheme, endpoint(shop), chain=shop.world.chain)
    assert done.problems == {
        channel.channel_id: "invalid_batch_settlement_svm_close_state"
    }
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {
        channel.channel_id: "sealed"
    }
    assert shop.world.held[1] == 0
    assert shop.world.tokens(keypair(100).pubkey()) == 50_000


async def test_an_idle_channel_is_closed_when_that_was_said(shop: BatchShop) -> None:
    (buyer,) = buyers(shop, 1)
    await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    await redeem(shop.scheme, endpoint(shop))
    now = shop.sponsored.now_ms()
    shop.sponsored._now = lambda _connection: now + 10**9
    # Nothing was said.
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {}
    shop.desk.max_idle = 604_800
    assert shop.desk.get_extra("x") == {
        "feePayer": str(shop.world.sponsor.pubkey()),
        "maxIdleSecs": 604_800,
    }
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {
        channel.channel_id: "closed"
    }
    assert shop.world.held[1] == 1_000
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {}
    shop.world.later(0, OPEN_SLOT_WINDOW + 1)
    before = shop.world.svm.get_balance(shop.world.sponsor.pubkey()) or 0
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {
        channel.channel_id: "reclaimed"
    }
    assert (shop.world.svm.get_balance(shop.world.sponsor.pubkey()) or 0) > before
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {
        channel.channel_id: "gone"
    }
    assert tidy(shop.desk, shop.sponsored, clock=shop.world.clock) == {}


def test_a_ceiling_that_nobody_claims_goes_back(tmp_path: Path) -> None:
    world = ChannelWorld()
    sponsored = SponsoredChannels(Database(f"sqlite:///{tmp_path / 'desk.db'}"))
    desk = world.upto(channels=sponsored)
    payment = world.authorize(world.ceiling())
    assert desk.settle(payment, payment.accepted).success
    world.later(300 + 120)
    assert tidy(desk, sponsored, clock=world.clock) == {}
    world.later(1)
    assert tidy(desk, sponsored, clock=world.clock) == {
        payment.payload["channelId"]: "closed"
    }
    assert world.held == (world.balance, 0)

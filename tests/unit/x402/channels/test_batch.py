"""`batch-settlement`: one deposit, vouchers, claims, closes; at both programs' addresses, with the official core."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from x402.schemas import (
    PaymentPayload,
    PaymentRequired,
    SettleResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.channels.batch import CODE
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.support.x402_channels import Buyer, claim, refund
from tests.unit.x402.channel_payments import (
    PROGRAMS,
    BatchShop,
    ChannelWorld,
    batch_client,
)
from tests.unit.x402.payments import keypair


@pytest.fixture(params=sorted(PROGRAMS))
def world(request: pytest.FixtureRequest) -> ChannelWorld:
    return ChannelWorld(program=PROGRAMS[request.param])


@pytest.fixture
def shop(world: ChannelWorld, tmp_path: Path) -> BatchShop:
    return BatchShop(world, Database(f"sqlite:///{tmp_path / 'shop.db'}"))


@pytest.fixture
def buyer(shop: BatchShop) -> Buyer:
    return Buyer(shop, batch_client(shop.world))


async def test_one_deposit_pays_for_many_calls(buyer: Buyer, shop: BatchShop) -> None:
    first = await buyer.pay()
    assert first.transaction
    assert first.amount == "10000"
    assert shop.world.held == (shop.world.balance - 10_000, 0)
    for n in range(2, 10):
        receipt = await buyer.pay()
        assert (receipt.transaction, receipt.amount) == ("", "")
        extra = receipt.extra or {}
        assert extra["chargedAmount"] == "1000"
        assert extra["channelState"]["chargedCumulativeAmount"] == str(1_000 * n)
    (channel,) = buyer.scheme.channels.all()
    assert (channel.charged, channel.signed, channel.deposit, channel.pending) == (
        9_000,
        9_000,
        10_000,
        0,
    )
    row = shop.channels.get(channel.channel_id)
    assert row is not None
    assert (row.charged, row.claimed, row.state, row.holder) == (9_000, 0, "open", None)


async def test_a_channel_that_is_used_up_is_topped_up(
    buyer: Buyer, shop: BatchShop
) -> None:
    receipts = [await buyer.pay(4_000) for _ in range(12)]
    assert [bool(r.transaction) for r in receipts] == [True, *[False] * 9, True, False]
    (channel,) = buyer.scheme.channels.all()
    assert (channel.charged, channel.deposit) == (48_000, 80_000)
    assert shop.world.held == (shop.world.balance - 80_000, 0)


async def test_the_same_voucher_pays_once(buyer: Buyer, shop: BatchShop) -> None:
    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    assert (
        await shop.core.verify_payment(
            payment, payment.accepted, transport_context={"payment_id": "a"}
        )
    ).is_valid
    busy = await shop.core.verify_payment(
        payment, payment.accepted, transport_context={"payment_id": "b"}
    )
    assert busy.invalid_reason == "channel_busy"
    done = await shop.core.settle_payment(
        payment, payment.accepted, transport_context={"payment_id": "a"}
    )
    again = await shop.core.settle_payment(
        payment, payment.accepted, transport_context={"payment_id": "a"}
    )
    other = await shop.core.settle_payment(
        payment, payment.accepted, transport_context={"payment_id": "b"}
    )
    assert (done.success, again.success, other.success) == (True, True, False)
    assert other.error_reason == f"{CODE}_cumulative_amount_mismatch"
    replay = await shop.core.verify_payment(
        payment, payment.accepted, transport_context={"payment_id": "b"}
    )
    assert replay.invalid_reason == f"{CODE}_cumulative_amount_mismatch"
    row = shop.channels.get(payment.payload["voucher"]["channelId"])
    assert row is not None
    assert row.charged == 2_000


async def test_many_at_once_on_many_channels_and_one_on_each(shop: BatchShop) -> None:
    """Forty vouchers for ten channels, four that are alike on each, at once: ten calls are held."""
    world = shop.world
    buyers = []
    for n in range(10):
        payer = keypair(100 + n)
        world.give(payer.pubkey(), 50_000)
        one = ChannelWorld.__new__(ChannelWorld)
        one.__dict__.update(world.__dict__, payer=payer)
        buyers.append(Buyer(shop, batch_client(one)))
        await buyers[-1].pay()
    payments = [await b.sign(shop.terms()) for b in buyers]
    verified = await asyncio.gather(
        *(
            shop.core.verify_payment(
                p, p.accepted, transport_context={"payment_id": f"{n}"}
            )
            for p in payments
            for n in range(4)
        )
    )
    assert sum(v.is_valid for v in verified) == 10
    assert {v.invalid_reason for v in verified if not v.is_valid} == {"channel_busy"}


async def test_a_payer_who_lost_count_is_put_right_by_its_own_signature(
    buyer: Buyer, shop: BatchShop
) -> None:
    await buyer.pay()
    lost = await buyer.sign(shop.terms())  # charged, but the answer never came back
    assert (await shop.core.verify_payment(lost, lost.accepted)).is_valid
    assert (await shop.core.settle_payment(lost, lost.accepted)).success
    stale = await buyer.sign(shop.terms())
    refused = await shop.core.verify_payment(stale, stale.accepted)
    assert refused.invalid_reason == f"{CODE}_cumulative_amount_mismatch"
    demand = await shop.core.create_payment_required_response(
        [shop.terms()], error=refused.invalid_reason, payment_payload=stale
    )
    extra = demand.accepts[0].extra
    assert extra["channelState"]["chargedCumulativeAmount"] == "2000"
    assert extra["voucherState"]["signedMaxClaimable"] == "2000"
    assert (await buyer.tell(stale, None, demand)) is not None
    (channel,) = buyer.scheme.channels.all()
    assert channel.charged == 2_000
    await buyer.pay()


@pytest.mark.parametrize(
    "lie",
    [
        # More than was ever signed.
        {"channelState": {"chargedCumulativeAmount": "9000"}},
        # With a signature over another sum.
        {"voucherState": {"signedMaxClaimable": "9000"}},
        {"voucherState": {"signature": "1" * 88}},
        # Less than it confirmed before.
        {"channelState": {"chargedCumulativeAmount": "500"}},
        {"channelState": {"channelId": str(keypair(9).pubkey())}},
    ],
)
async def test_a_seller_that_lies_about_the_sum_gets_nothing_signed(
    buyer: Buyer, shop: BatchShop, lie: dict[str, dict[str, Any]]
) -> None:
    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    channel_id = payment.payload["voucher"]["channelId"]
    state = {"channelId": channel_id, "chargedCumulativeAmount": "1000"} | lie.get(
        "channelState", {}
    )
    proof = {
        "signedMaxClaimable": state["chargedCumulativeAmount"],
        "expiresAt": 0,
        "signature": payment.payload["voucher"]["signature"],
    } | lie.get("voucherState", {})
    terms = shop.terms()
    told = terms.model_copy(
        update={"extra": {**terms.extra, "channelState": state, "voucherState": proof}}
    )
    demand = PaymentRequired(accepts=[told], error=f"{CODE}_cumulative_amount_mismatch")
    assert await buyer.tell(payment, None, demand) is None
    (channel,) = buyer.scheme.channels.all()
    assert (channel.charged, channel.signed) == (1_000, 2_000)


async def test_a_receipt_over_more_than_was_signed_is_not_believed(
    buyer: Buyer, shop: BatchShop
) -> None:
    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    state = {"chargedCumulativeAmount": "9999999"}
    lying = SettleResponse(
        success=True, transaction="", network=DEVNET, extra={"channelState": state}
    )
    await buyer.tell(payment, lying)
    (channel,) = buyer.scheme.channels.all()
    assert (channel.charged, channel.signed) == (2_000, 2_000)


async def test_a_seller_that_calls_channels_closed_makes_nobody_open_another(
    buyer: Buyer, shop: BatchShop
) -> None:
    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    demand = PaymentRequired(accepts=[shop.terms()], error=f"{CODE}_channel_closing")
    assert await buyer.tell(payment, None, demand) is None
    assert len(buyer.scheme.channels.all()) == 1


async def test_claims_and_payouts(buyer: Buyer, shop: BatchShop) -> None:
    for _ in range(3):
        await buyer.pay()
    claimed = await claim(shop, buyer)
    assert (claimed.success, claimed.amount) == (True, "")
    assert (claimed.extra or {})["accepts"][0]["totalClaimed"] == "3000"
    assert shop.world.held[1] == 0
    paid = await claim(shop, buyer, of="settle")
    assert (paid.success, paid.amount) == (True, "3000")
    assert shop.world.held == (shop.world.balance - 10_000, 3_000)
    assert (
        await claim(shop, buyer)
    ).error_reason == f"{CODE}_cumulative_amount_mismatch"
    assert (
        await claim(shop, buyer, of="settle")
    ).error_reason == f"{CODE}_channel_state"


async def test_a_refund_pays_the_seller_and_gives_back_the_rest(
    buyer: Buyer, shop: BatchShop
) -> None:
    for _ in range(3):
        await buyer.pay()
    done = await refund(buyer, shop)
    assert (done.success, done.amount) == (True, "7000")
    assert shop.world.held == (shop.world.balance - 3_000, 3_000)
    assert buyer.scheme.channels.all() == []
    await buyer.pay()  # a new channel
    assert shop.world.held == (shop.world.balance - 13_000, 3_000)


async def test_a_payer_who_walks_away_cannot_take_vouchers_back(
    buyer: Buyer, shop: BatchShop
) -> None:
    for _ in range(3):
        await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    world = shop.world
    # The payer asks for the close behind the seller's back, by another facilitator that knows the channel not.
    stranger = BatchShop(world, Database())
    terms = shop.terms()
    asked = stranger.desk.settle(
        PaymentPayload(
            payload=buyer.scheme.refund_payload(channel, alone=True), accepted=terms
        ),
        terms,
    )
    assert (asked.success, asked.amount) == (True, "")
    again = stranger.desk.settle(
        PaymentPayload(
            payload=buyer.scheme.refund_payload(channel, alone=True), accepted=terms
        ),
        terms,
    )
    assert (again.success, again.transaction) == (True, "")
    assert (await claim(shop, buyer)).error_reason == f"{CODE}_channel_closing"
    row = shop.channels.get(channel.channel_id)
    assert row is not None
    payload = buyer.scheme._payload("voucher", channel, row.charged)
    from mcpsol_py.x402.channels.batch import read_payment
    from tests.unit.x402.payments import TOKEN_PROGRAM

    payment = read_payment(payload, terms, world.program, TOKEN_PROGRAM)
    inner = {
        "type": "seal",
        "channelId": channel.channel_id,
        "channelConfig": payload["channelConfig"],
        "voucher": payload["voucher"],
    }
    unsigned = shop.desk.settle(PaymentPayload(payload=inner, accepted=terms), terms)
    assert unsigned.error_reason == f"{CODE}_close_authorization"
    inner["closeAuthorization"] = shop.scheme.close_authorization(payment, 60)
    sealed = shop.desk.settle(PaymentPayload(payload=inner, accepted=terms), terms)
    assert (sealed.success, sealed.amount) == (True, "3000")
    assert world.held == (world.balance - 3_000, 3_000)


def tampered(payload: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A payload with one field another."""
    head, _, last = path.rpartition(".")
    inner = payload[head] if head else payload
    changed = (
        {k: v for k, v in inner.items() if k != last}
        if value is ...
        else {**inner, last: value}
    )
    return {**payload, head: changed} if head else changed


OTHER = str(keypair(9).pubkey())
FAULTS: dict[str, tuple[str, Any, str]] = {
    "an unknown type": ("type", "authorization", "payload_type"),
    "an authorization": ("authorization", {}, "payload_type"),
    "no voucher": ("voucher", ..., "voucher_signature"),
    "another channel's voucher": ("voucher.channelId", OTHER, "channel_id_mismatch"),
    "an expiry": ("voucher.expiresAt", 1_900_000_000, "voucher_expiry"),
    "a higher sum than is signed": (
        "voucher.maxClaimableAmount",
        "3000",
        "voucher_signature",
    ),
    "leading zeros": ("voucher.maxClaimableAmount", "02000", "voucher_signature"),
    "no sum": ("voucher.maxClaimableAmount", 2000, "voucher_signature"),
    "a signature that is none": ("voucher.signature", "x", "voucher_signature"),
    "another payer": ("channelConfig.payer", OTHER, "channel_id_mismatch"),
    "another signer": ("channelConfig.payerAuthorizer", OTHER, "channel_id_mismatch"),
    "another receiver": ("channelConfig.receiver", OTHER, "channel_state"),
    "another token": ("channelConfig.token", OTHER, "channel_state"),
    "another authorizer": (
        "channelConfig.receiverAuthorizer",
        OTHER,
        "receiver_authorizer_mismatch",
    ),
    "another grace period": (
        "channelConfig.withdrawDelay",
        3601,
        "withdraw_delay_mismatch",
    ),
    "another salt": ("channelConfig.salt", "7", "channel_id_mismatch"),
    "a salt that is none": ("channelConfig.salt", 7, "channel_state"),
    "another slot": ("channelConfig.openSlot", 7, "channel_id_mismatch"),
    "the seller's signature": ("channelConfig.voucherSigner", "server", "payload_type"),
    "no configuration": ("channelConfig", 5, "channel_state"),
}


@pytest.mark.parametrize("name", sorted(FAULTS))
async def test_each_fault_is_refused_by_its_reason_and_nothing_is_held(
    tmp_path: Path, name: str
) -> None:
    shop = BatchShop(ChannelWorld(), Database(f"sqlite:///{tmp_path / 'shop.db'}"))
    buyer = Buyer(shop, batch_client(shop.world))
    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    path, value, reason = FAULTS[name]
    bad = payment.model_copy(update={"payload": tampered(payment.payload, path, value)})
    by_server = await shop.core.verify_payment(bad, bad.accepted)
    by_facilitator = shop.desk.verify(bad, bad.accepted)
    assert (
        by_server.invalid_reason == by_facilitator.invalid_reason == f"{CODE}_{reason}"
    )
    row = shop.channels.get(payment.payload["voucher"]["channelId"])
    assert row is not None
    assert (row.charged, row.holder) == (1_000, None)


@pytest.mark.parametrize("cumulative", [1_000, 1_999, 2_001, 10_001, 2**63, 2**64 - 1])
async def test_sums_that_do_not_follow(
    buyer: Buyer, shop: BatchShop, cumulative: int
) -> None:
    await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    payload = buyer.scheme._payload("voucher", channel, cumulative)
    payment = PaymentPayload(payload=payload, accepted=shop.terms())
    verified = await shop.core.verify_payment(payment, payment.accepted)
    assert not verified.is_valid
    assert verified.invalid_reason == f"{CODE}_cumulative_amount_mismatch"


async def test_nothing_stronger_than_the_deposit(buyer: Buyer, shop: BatchShop) -> None:
    await buyer.pay(10)
    (channel,) = buyer.scheme.channels.all()
    terms = shop.terms(101 - 10)
    payment = PaymentPayload(
        payload=buyer.scheme._payload("voucher", channel, 101), accepted=terms
    )
    verified = await shop.core.verify_payment(payment, terms)
    assert verified.invalid_reason == f"{CODE}_cumulative_exceeds_deposit"


async def test_a_failed_tool_charges_nothing_and_its_voucher_pays_the_next_call(
    buyer: Buyer, shop: BatchShop
) -> None:
    from x402.schemas.hooks import VerifiedPaymentCancelOptions

    await buyer.pay()
    payment = await buyer.sign(shop.terms())
    assert (await shop.core.verify_payment(payment, payment.accepted)).is_valid
    dispatcher = shop.core.create_payment_cancellation_dispatcher(
        payment, payment.accepted
    )
    await dispatcher.cancel(VerifiedPaymentCancelOptions(reason="handler_failed"))
    again = await buyer.sign(shop.terms())
    assert again.payload["voucher"] == payment.payload["voucher"]
    await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    assert (channel.charged, channel.signed) == (2_000, 2_000)


async def test_what_the_chain_said_grows_stale(shop: BatchShop) -> None:
    buyer = Buyer(shop, batch_client(shop.world))
    await buyer.pay()
    now = shop.channels.now_ms()
    shop.channels._now = lambda _connection: now + 61_000
    (channel,) = buyer.scheme.channels.all()
    request = buyer.scheme.refund_payload(channel, alone=True)
    stranger = BatchShop(shop.world, Database())
    assert stranger.desk.settle(
        PaymentPayload(payload=request, accepted=shop.terms()), shop.terms()
    ).success
    payment = await buyer.sign(shop.terms())
    verified = await shop.core.verify_payment(payment, payment.accepted)
    assert verified.invalid_reason == f"{CODE}_channel_closing"


async def test_a_wallet_bounds_what_it_locks(shop: BatchShop) -> None:
    buyer = Buyer(shop, batch_client(shop.world, most=2_500))
    with pytest.raises(PaymentError) as caught:
        await buyer.sign(shop.terms(2_501))
    assert caught.value.code == "DEPOSIT_NOT_ALLOWED"
    first = await buyer.pay(2_000)
    assert first.amount == "2500"


async def test_an_opening_that_is_out_is_sent_again_not_made_anew(
    buyer: Buyer, shop: BatchShop
) -> None:
    first = await buyer.sign(shop.terms())
    second = await buyer.sign(shop.terms())
    assert first.payload["deposit"] == second.payload["deposit"]
    shop.world.svm.expire_blockhash()  # it can no longer land
    third = await buyer.sign(shop.terms())
    assert (
        third.payload["deposit"]["transaction"]
        != first.payload["deposit"]["transaction"]
    )
    assert len(buyer.scheme.channels.all()) == 1


async def test_an_opening_whose_answer_was_lost_is_found_on_chain(
    buyer: Buyer, shop: BatchShop
) -> None:
    payment = await buyer.sign(shop.terms())
    assert (await shop.core.verify_payment(payment, payment.accepted)).is_valid
    assert (
        await shop.core.settle_payment(payment, payment.accepted)
    ).success  # the buyer never hears of it
    voucher = await buyer.sign(shop.terms())
    assert voucher.payload["type"] == "voucher"
    refused = await shop.core.verify_payment(voucher, voucher.accepted)
    demand = await shop.core.create_payment_required_response(
        [shop.terms()], error=refused.invalid_reason, payment_payload=voucher
    )
    assert await buyer.tell(voucher, None, demand) is not None
    await buyer.pay()


def test_signatures_of_others_do_not_check(world: ChannelWorld) -> None:
    channel = Pubkey.from_string(OTHER)
    assert sign_voucher(world.payer, channel, 1) != sign_voucher(Keypair(), channel, 1)


# --- what the wallet has --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("balance", "state", "code"),
    [(999, 1, "INSUFFICIENT_FUNDS"), (10**6, 2, "ACCOUNT_FROZEN")],
)
def test_no_deposit_is_signed_that_the_wallet_cannot_make(
    shop: BatchShop, balance: int, state: int, code: str
) -> None:
    world, client = shop.world, batch_client(shop.world)
    world.put(world.payer.pubkey(), balance, state=state)
    # An estimate says the same.
    for attempt in (client.check, client.create_payment_payload):
        with pytest.raises(PaymentError) as caught:
            attempt(shop.terms(1_000))
        assert caught.value.code == code
    ceiling = world.upto_client()
    for attempt in (ceiling.check, ceiling.create_payment_payload):
        with pytest.raises(PaymentError) as caught:
            attempt(world.ceiling(1_000))
        assert caught.value.code == code
    assert client.channels.all() == []


async def test_a_deposit_is_at_most_what_the_wallet_has(
    buyer: Buyer, shop: BatchShop
) -> None:
    world = shop.world
    world.put(world.payer.pubkey(), 2_500)
    buyer.scheme.check(shop.terms(1_000))
    await buyer.pay()
    (channel,) = buyer.scheme.channels.all()
    assert (channel.deposit, world.held[0]) == (2_500, 0)
    buyer.scheme.check(shop.terms(1_000))  # the channel pays: the wallet needs no more
    await buyer.pay()
    with pytest.raises(
        PaymentError
    ) as caught:  # 500 are left in it, and nothing in the wallet
        buyer.scheme.check(shop.terms(1_000))
    assert caught.value.code == "INSUFFICIENT_FUNDS"

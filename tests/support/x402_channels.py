"""Buyers that pay by payment channel."""

from __future__ import annotations

from typing import Any

from x402 import x402Client
from x402.schemas import (
    PaymentPayload,
    PaymentRequired,
    PaymentRequirements,
    PaymentResponseContext,
    SettleResponse,
)

from mcpsol_py.x402.channels.batch_client import BatchClient
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import keypair


class Buyer:
    """The official core's client with our scheme in it, talking to the core's server directly."""

    def __init__(self, shop: BatchShop, scheme: BatchClient) -> None:
        self.shop, self.scheme = shop, scheme
        self.core = x402Client()
        self.core.set_spend_controls(False)
        self.core.register(DEVNET, scheme)

    async def sign(self, terms: PaymentRequirements) -> PaymentPayload:
        payment = await self.core.create_payment_payload(
            PaymentRequired(accepts=[terms])
        )
        assert isinstance(payment, PaymentPayload)
        return payment

    async def tell(
        self,
        payment: PaymentPayload,
        settled: SettleResponse | None,
        required: PaymentRequired | None = None,
    ) -> Any:
        context = PaymentResponseContext(payment, payment.accepted, settled, required)
        return await self.core.handle_payment_response(context)

    async def pay(self, amount: int = 1_000) -> SettleResponse:
        """One call: verified, served, settled; the receipt comes back to the scheme."""
        payment = await self.sign(self.shop.terms(amount))
        verified = await self.shop.core.verify_payment(payment, payment.accepted)
        assert verified.is_valid, verified.invalid_reason
        settled = await self.shop.core.settle_payment(payment, payment.accepted)
        assert settled.success, settled
        await self.tell(payment, settled)
        return settled


async def claim(shop: BatchShop, *buyers: Buyer, of: str = "claim") -> SettleResponse:
    """The seller's claims of its newest vouchers."""
    entries = []
    for buyer in buyers:
        (channel,) = buyer.scheme.channels.all()
        row = shop.channels.get(channel.channel_id)
        assert row is not None
        payload = buyer.scheme._payload("voucher", channel, row.charged)
        entry = {
            "channelId": channel.channel_id,
            "channelConfig": payload["channelConfig"],
        }
        entries.append(
            entry if of == "settle" else {**entry, "voucher": payload["voucher"]}
        )
    terms = shop.terms()
    inner = {"type": of, ("claims" if of == "claim" else "channels"): entries}
    return shop.desk.settle(PaymentPayload(payload=inner, accepted=terms), terms)


async def refund(
    buyer: Buyer, shop: BatchShop, *, alone: bool = False
) -> SettleResponse:
    (channel,) = buyer.scheme.channels.all()
    terms = shop.terms()
    payment = PaymentPayload(
        payload=buyer.scheme.refund_payload(channel, alone=alone), accepted=terms
    )
    verified = await shop.core.verify_payment(payment, terms)
    if not verified.is_valid:
        return SettleResponse(
            success=False,
            error_reason=verified.invalid_reason,
            transaction="",
            network=DEVNET,
        )
    assert verified.skip_handler is not None
    settled = await shop.core.settle_payment(payment, terms)
    await buyer.tell(payment, settled)
    return settled


def endpoint(shop: BatchShop) -> LocalFacilitator:
    (client,) = shop.core._facilitator_clients
    assert isinstance(client, LocalFacilitator)
    return client


def buyers(shop: BatchShop, count: int) -> list[Buyer]:
    found = []
    for n in range(count):
        payer = keypair(100 + n)
        shop.world.give(payer.pubkey(), 50_000)
        one = ChannelWorld.__new__(ChannelWorld)
        one.__dict__.update(shop.world.__dict__, payer=payer)
        found.append(Buyer(shop, batch_client(one)))
    return found

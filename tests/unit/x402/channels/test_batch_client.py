"""Any order of calls, failures, lost answers, lies and restarts: a wallet signs no more than was charged and one price
more, a merchant charges no more than was signed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    PaymentResponseContext,
    SettleResponse,
)
from x402.schemas.hooks import VerifiedPaymentCancelOptions

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.channels.batch import CODE
from mcpsol_py.x402.channels.redeem import redeem
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.support.machines import run_machine
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client


class WalletMachine(RuleBasedStateMachine):
    """The buyer's record and the seller's, against plain sums. `granted`: prices that the buyer agreed to, one a call.
    `served`: prices of calls that ran and were charged."""

    @initialize()
    def start(self) -> None:
        self.world = ChannelWorld(balance=10**8)
        self.shop = BatchShop(self.world, Database())
        self.wallet = Database()
        self.reopen()
        self.granted = self.served = self.deposited = 0
        self.calls = 0

    def reopen(self) -> None:
        self.client = batch_client(self.world, self.wallet, calls=5)

    def run(self, awaitable: Any) -> Any:
        return asyncio.run(awaitable)

    def sign(self, price: int) -> PaymentPayload | None:
        terms = self.shop.terms(price)
        try:
            payload = self.client.create_payment_payload(terms)
        except PaymentError:  # nothing is signed then
            return None
        self.granted += price
        mine = self.client.channels.get(payload["voucher"]["channelId"])
        assert mine is not None
        # covered when it is signed; a deposit that is given up later leaves it behind, worth what the channel holds
        assert (
            int(payload["voucher"]["maxClaimableAmount"]) <= mine.deposit + mine.pending
        )
        return PaymentPayload(payload=payload, accepted=terms)

    def tell(
        self,
        payment: PaymentPayload,
        settled: SettleResponse | None,
        required: Any = None,
    ) -> bool:
        context = PaymentResponseContext(payment, payment.accepted, settled, required)
        return self.client.scheme_hooks["on_payment_response"](context) is not None

    async def serve(
        self, payment: PaymentPayload, *, fails: bool
    ) -> tuple[SettleResponse | None, str | None]:
        self.calls += 1
        core, terms, context = (
            self.shop.core,
            payment.accepted,
            {"payment_id": f"call {self.calls}"},
        )
        verified = await core.verify_payment(payment, terms, transport_context=context)
        if not verified.is_valid:
            return None, verified.invalid_reason
        if fails:
            controls = core.create_payment_cancellation_dispatcher(
                payment, terms, transport_context=context
            )
            await controls.cancel(VerifiedPaymentCancelOptions(reason="handler_failed"))
            return None, None
        settled = await core.settle_payment(payment, terms, transport_context=context)
        assert settled.success, settled
        self.served += int(terms.amount)
        return settled, None

    async def demand(self, payment: PaymentPayload, reason: str) -> Any:
        terms: PaymentRequirements = payment.accepted
        return await self.shop.core.create_payment_required_response(
            [terms], error=reason, payment_payload=payment
        )

    @rule(price=st.integers(1, 400), fails=st.booleans(), lost=st.booleans())
    def call(self, price: int, fails: bool, lost: bool) -> None:
        """One call; the seller's correction is followed once, as Payer does."""
        for _ in range(2):
            payment = self.sign(price)
            if payment is None:
                return
            settled, reason = self.run(self.serve(payment, fails=fails))
            if reason is None:
                if settled is not None and not lost:
                    self.tell(payment, settled)
                return
            assert reason.startswith(CODE), reason
            if not self.tell(payment, None, self.run(self.demand(payment, reason))):
                return  # the buyer's amount stays reserved: the voucher is out
            self.granted -= (
                price  # another voucher takes its place, for the same reservation
            )

    @rule(price=st.integers(1, 400), more=st.integers(-500, 5_000))
    def lie(self, price: int, more: int) -> None:
        """A receipt over another sum than was signed."""
        payment = self.sign(price)
        if payment is None:
            return
        signed = int(payment.payload["voucher"]["maxClaimableAmount"])
        said = {"chargedCumulativeAmount": str(max(signed + more, 0))}
        before = {c.channel_id: c.charged for c in self.client.channels.all()}
        lying = SettleResponse(
            success=True, transaction="", network=DEVNET, extra={"channelState": said}
        )
        self.tell(payment, lying)
        for channel in self.client.channels.all():
            assert (
                before[channel.channel_id] <= channel.charged <= signed
                or channel.charged == before[channel.channel_id]
            )

    @rule()
    def restart(self) -> None:
        self.reopen()

    @rule()
    def next_block(self) -> None:
        self.world.svm.expire_blockhash()

    @rule()
    def claim(self) -> None:
        self.run(redeem(self.shop.scheme, self.shop.core._facilitator_clients[0]))

    @invariant()
    def nobody_has_more_than_was_agreed(self) -> None:
        if not hasattr(self, "shop"):
            return
        wallet = self.client.channels.all()
        assert sum(c.signed for c in wallet) <= self.granted
        for mine in wallet:
            theirs = self.shop.channels.get(mine.channel_id)
            assert mine.charged <= mine.signed
            if theirs is not None:
                assert theirs.charged <= mine.signed
                assert theirs.claimed <= theirs.charged
        held = self.world.held
        assert held[1] <= self.served <= self.granted
        assert held[0] >= self.world.balance - 500_000  # the deposits' bound


def test_no_seller_gets_more_than_a_wallet_granted() -> None:
    run_machine(WalletMachine, steps=240, length=20)

"""The seller of `batch-settlement`: accepts vouchers against its own record of the channel.

While the record is fresh, a voucher is checked without asking facilitator or chain. The channel is
held before the tool runs and charged after it. Deposits and refunds go through the facilitator.
`redeem` turns vouchers into money later.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
)
from x402.schemas.hooks import (
    AbortResult,
    SkipHandlerDirective,
    SkipHandlerResult,
    SkipSettleResult,
    SkipVerifyResult,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import picked
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.channels.batch import (
    CODE,
    SCHEME,
    SHORTEST_DELAY,
    BatchPayment,
    read_payment,
)
from mcpsol_py.x402.channels.batch_answers import (
    HELD,
    MISMATCH,
    channel_state,
    failed_settlement,
    holder_of,
    invalid_answer,
    is_for_channel,
    refusal_of,
    valid_answer,
    voucher_receipt,
)
from mcpsol_py.x402.channels.program import ChannelProgram
from mcpsol_py.x402.channels.terms import address
from mcpsol_py.x402.channels.voucher import VoucherSigner, close_digest
from mcpsol_py.x402.exact.mechanism import ExactServer, Mints
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.store.channels import PaidChannel, PaidChannels

__all__ = ["BatchServer"]

T = TypeVar("T")

#: How many payments of calls in progress are kept parsed.
_MOST_PARSED = 512


class BatchServer:
    """Sells for vouchers. *authorizer* has channels closed for the payee, and signs nothing else.

    *freshness*: how many seconds the chain's answers are believed. It must be well below the grace
    period, after which a payer can take back everything that no voucher proved on chain. *lease*:
    how many seconds one call holds a channel.
    """

    scheme = SCHEME
    default_asset_transfer_method = "default"
    payment_flows: ClassVar[Mapping[str, Any]] = {
        "default": {"supported": ("authorization",), "default": "authorization"}
    }
    dynamic_extra_fields: ClassVar[list[str]] = [
        "recentBlockhash",
        "lastValidBlockHeight",
        "recentSlot",
        "channelState",
        "voucherState",
    ]

    def __init__(
        self,
        authorizer: VoucherSigner,
        channels: PaidChannels,
        program: ChannelProgram,
        chain: PaymentChain,
        *,
        withdraw_delay: int = 3600,
        min_deposit: int | None = None,
        freshness: float = 60.0,
        lease: float = 120.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if freshness * 2 > withdraw_delay or withdraw_delay < SHORTEST_DELAY:
            raise PaymentError(
                "invalid_payment_requirements",
                f"expected a grace period of at least {SHORTEST_DELAY} s and twice the freshness, "
                f"got {withdraw_delay} s",
            )
        self.authorizer, self.channels, self.program = authorizer, channels, program
        self._delay, self._min_deposit = withdraw_delay, min_deposit
        self._fresh_ms, self._lease_ms, self._clock = (
            int(freshness * 1000),
            int(lease * 1000),
            clock,
        )
        self._mints, self._prices = Mints(chain), ExactServer()
        self._parsed: OrderedDict[
            int, tuple[PaymentPayload, PaymentRequirements, BatchPayment]
        ] = OrderedDict()

    # -- terms

    def get_asset_decimals(self, asset: str, network: str) -> int | None:
        """Return the decimals of a known asset."""
        return self._prices.get_asset_decimals(asset, network)

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        """Read the price of one call. See price.parse_price."""
        return self._prices.parse_price(price, network)

    def validate_facilitator_support(
        self, network: str, kind: SupportedKind, extensions: list[str]
    ) -> str | None:
        """Return a problem that would make every payment fail, or None."""
        try:
            address(
                extra_of(kind).get("feePayer"),
                "invalid_payment_requirements",
                "feePayer",
            )
        except PaymentError:
            return f"the facilitator offers no feePayer for {SCHEME} on {network}"
        return None

    def enhance_payment_requirements(
        self,
        requirements: PaymentRequirements,
        supported_kind: SupportedKind,
        extensions: list[str],
    ) -> PaymentRequirements:
        """Add sponsor, close authorizer, grace period, token program and a hint for the deposit."""
        offered = extra_of(supported_kind)
        extra: dict[str, Any] = {
            **extra_of(requirements),
            **picked(offered, ("feePayer", "maxIdleSecs")),
            "receiverAuthorizer": str(self.authorizer.pubkey()),
            "withdrawDelay": max(self._delay, requirements.max_timeout_seconds),
            "tokenProgram": str(self._mints.get(requirements.asset)[0]),
        }
        if self._min_deposit is not None:
            extra["minDeposit"] = str(max(self._min_deposit, int(requirements.amount)))
        return requirements.model_copy(update={"extra": extra})

    # -- hooks of the official core

    async def before_verify(self, context: Any) -> SkipVerifyResult | None:
        """Check a voucher and hold its channel.

        Return None to ask the facilitator: for deposits and refunds, and for a channel that is new
        or whose record is not fresh.
        """
        try:
            payment = self._read(context)
        except PaymentError as error:
            return invalid_answer(error.code, str(error))
        except ChainUnavailable as error:
            return invalid_answer("unexpected_verify_error", str(error))
        if payment.kind != "voucher":
            return None
        held = await self._hold(
            payment, holder_of(context), checked_within_ms=self._fresh_ms
        )
        if held is not None:
            return valid_answer(payment, held)
        known = await self._db(self.channels.get, payment.channel_id)
        if known is None or known.checked_ms < await self._db(self._horizon):
            return None
        follows = known.charged == payment.cumulative - payment.price
        if follows and payment.cumulative > known.deposit:
            return None  # it may have been topped up without us
        refusal = refusal_of(payment, known)
        return invalid_answer(refusal.code, refusal.message)

    async def after_verify(
        self, context: Any
    ) -> AbortResult | SkipHandlerResult | None:
        """Hold the channel of a payment that the facilitator found valid."""
        extra = extra_of(context.result)
        if not context.result.is_valid or extra.get(HELD):
            return None
        payment, holder = self._read(context), holder_of(context)
        try:
            known = await self._meet(payment, extra)
        except PaymentError as error:
            return AbortResult(reason=error.code, message=str(error))
        if payment.kind == "refund":
            held = await self._hold_for_refund(payment, holder)
        else:
            held = await self._hold(payment, holder, extra_deposit=payment.deposit)
        if held is None:
            again = await self._db(self.channels.get, payment.channel_id)
            refusal = refusal_of(payment, again or known)
            return AbortResult(reason=refusal.code, message=refusal.message)
        if payment.kind != "refund":
            return None
        text = "The channel is closed. The rest goes back to its payer."
        return SkipHandlerResult(
            SkipHandlerDirective(
                "application/json", {"content": [{"type": "text", "text": text}]}
            )
        )

    async def before_settle(self, context: Any) -> SkipSettleResult | None:
        """Charge a voucher. It needs no transaction."""
        try:
            payment = self._read(context)
        except PaymentError as error:
            return SkipSettleResult(failed_settlement(context, error.code, str(error)))
        if payment.kind != "voucher":
            return None
        charged = await self._charge(payment, holder_of(context))
        if charged is None:
            return SkipSettleResult(
                failed_settlement(
                    context,
                    MISMATCH,
                    "the channel was charged for another call meanwhile",
                )
            )
        return SkipSettleResult(
            SettleResponse(
                success=True,
                transaction="",
                network=context.requirements.network,
                payer=str(payment.terms.parties.payer),
                amount="",
                extra={
                    **voucher_receipt(payment),
                    "channelState": channel_state(charged),
                },
            )
        )

    def enrich_settlement_payload(self, context: Any) -> dict[str, Any] | None:
        """Add the authorization of the close that a refund needs, for the sum that was charged."""
        payload = context.payment_payload.payload
        if payload.get("type") != "refund":
            return None
        payment = self._read(context)
        return {
            "closeAuthorization": self.close_authorization(
                payment, context.requirements.max_timeout_seconds
            )
        }

    def close_authorization(
        self, payment: BatchPayment, timeout: int
    ) -> dict[str, Any]:
        """Return a CloseAuthorization (scheme_batch_settlement_svm, section 4.2)."""
        before = int(self._clock()) + timeout
        digest = close_digest(
            payment.network,
            self.program.program_id,
            payment.terms.parties.sponsor,
            payment.terms.channel,
            payment.cumulative,
            0,
            before,
        )
        return {
            "validBefore": before,
            "signature": str(self.authorizer.sign_message(digest)),
        }

    async def after_settle(self, context: Any) -> None:
        """Charge the call that came with a deposit that landed, or close the channel of a refund."""
        payment = self._read(context)
        if payment.kind == "deposit":
            seen = extra_of(context.result).get("channelState") or {}
            balance = read_u64(seen.get("balance"))
            deposit = payment.deposit if balance is None else balance
            if await self._charge(payment, holder_of(context), deposit=deposit) is None:
                raise PaymentError(
                    MISMATCH, "the channel was charged for another call meanwhile"
                )
        elif payment.kind == "refund":
            await self._db(self._close, payment.channel_id)

    async def enrich_settlement_response(self, context: Any) -> dict[str, Any] | None:
        """Add the sum charged so far to the facilitator's state of the channel."""
        payment = self._read(context)
        if payment.kind == "voucher":
            return None
        state = {"chargedCumulativeAmount": str(payment.cumulative)}
        extra: dict[str, Any] = {"channelState": state}
        return (
            {**voucher_receipt(payment), **extra}
            if payment.kind == "deposit"
            else extra
        )

    async def on_settle_failure(self, context: Any) -> None:
        """Release the channel if a deposit or refund certainly does not land."""
        if str(context.error) not in ("settlement_pending", "unexpected_settle_error"):
            await self._let_go(context)

    async def on_verified_payment_canceled(self, context: Any) -> None:
        """Release the channel without a charge, because the tool failed. The voucher may be used
        again.
        """
        await self._let_go(context)

    async def enrich_payment_required_response(
        self, context: Any
    ) -> list[PaymentRequirements] | None:
        """Send a payer whose sum differs from ours the charged sum, with its own signature as
        proof.

        See scheme_batch_settlement_svm, section 4.6.
        """
        payload = context.payment_payload
        if (
            payload is None
            or context.error != MISMATCH
            or payload.accepted.scheme != SCHEME
        ):
            return None
        voucher = payload.payload.get("voucher")
        channel_id = voucher.get("channelId") if isinstance(voucher, Mapping) else None
        if not isinstance(channel_id, str):
            return None
        known = await self._db(self.channels.get, channel_id)
        if known is None:
            return None
        state = _proved_state(known)
        return [
            r.model_copy(update={"extra": {**extra_of(r), **state}})
            if is_for_channel(r, known)
            else r
            for r in context.requirements
        ]

    # -- against our record

    def _read(self, context: Any) -> BatchPayment:
        """Read and check the payment. The core calls several hooks for one payment; it is parsed
        once.
        """
        requirements: PaymentRequirements = context.requirements
        known = self._parsed.get(id(context.payment_payload))
        if (
            known is not None
            and known[0] is context.payment_payload
            and known[1] is requirements
        ):
            return known[2]
        payment = self._checked(context, requirements)
        self._parsed[id(context.payment_payload)] = (
            context.payment_payload,
            requirements,
            payment,
        )
        while len(self._parsed) > _MOST_PARSED:
            self._parsed.popitem(last=False)
        return payment

    def _checked(self, context: Any, requirements: PaymentRequirements) -> BatchPayment:
        token_program, _ = self._mints.get(requirements.asset)
        payment = read_payment(
            context.payment_payload.payload, requirements, self.program, token_program
        )
        if payment.terms.receiver_authorizer != self.authorizer.pubkey():
            raise PaymentError(
                f"{CODE}_receiver_authorizer_mismatch",
                "the terms have another receiver's authorizer",
            )
        return payment

    async def _hold(
        self, payment: BatchPayment, holder: str, **options: Any
    ) -> PaidChannel | None:
        return await self.channels.database.grouped(
            lambda: self.channels.hold(
                payment.channel_id,
                holder,
                payment.cumulative,
                payment.price,
                lease_ms=self._lease_ms,
                **options,
            ),
            lasting=False,  # the paid call stores its next state before the tool runs
        )

    async def _hold_for_refund(
        self, payment: BatchPayment, holder: str
    ) -> PaidChannel | None:
        return await self._db(
            lambda: self.channels.hold(
                payment.channel_id,
                holder,
                payment.cumulative,
                0,
                lease_ms=self._lease_ms,
            )
        )

    async def _charge(
        self, payment: BatchPayment, holder: str, deposit: int | None = None
    ) -> PaidChannel | None:
        return await self._db(
            lambda: self.channels.charge(
                payment.channel_id,
                holder,
                payment.cumulative,
                payment.price,
                payment.signature,
                deposit=deposit,
            )
        )

    async def _meet(
        self, payment: BatchPayment, seen: Mapping[str, Any]
    ) -> PaidChannel:
        """Add the channel to our record, or update it, from the facilitator's answer.

        A new channel counts as charged up to the sum claimed on chain, since nothing else can be
        proved.
        """
        balance, settled = (
            read_u64(seen.get("balance")) or 0,
            read_u64(seen.get("totalClaimed")) or 0,
        )
        t, p = payment.terms, payment.terms.parties
        opening = payment.kind == "deposit"
        new = PaidChannel(
            channel_id=payment.channel_id,
            network=payment.network,
            fee_payer=str(p.sponsor),
            payer=str(p.payer),
            signer=str(p.signer),
            pay_to=str(p.pay_to),
            asset=str(p.mint),
            token_program=str(p.token_program),
            receiver_authorizer=str(t.receiver_authorizer),
            withdraw_delay=t.delay,
            salt=str(p.salt),
            open_slot=p.open_slot,
            state="opening" if opening else "open",
            deposit=balance - payment.deposit,
            charged=settled,
            claimed=settled,
        )
        known: PaidChannel = await self._db(self.channels.begin, new)
        asked = seen.get("withdrawRequestedAt")
        closing_at = asked if isinstance(asked, int) else 0
        if known.state != "opening":
            await self._db(
                lambda: self.channels.saw(
                    payment.channel_id,
                    deposit=balance - payment.deposit,
                    claimed=max(settled, known.claimed),
                    closing_at=closing_at,
                    state="closing" if closing_at else None,
                )
            )
        return known

    async def _let_go(self, context: Any) -> None:
        try:
            payment = self._read(context)
        except PaymentError:
            return
        await self._db(self.channels.let_go, payment.channel_id, holder_of(context))

    def _close(self, channel_id: str) -> None:
        self.channels.saw(channel_id, state="closed")

    def _horizon(self) -> int:
        return self.channels.now_ms() - self._fresh_ms

    async def _db(self, function: Callable[..., T], *args: Any) -> T:
        return await self.channels.database.grouped(function, *args)


def _proved_state(known: PaidChannel) -> dict[str, Any]:
    """Return our record of a channel, and the payer's last voucher as its proof."""
    extra: dict[str, Any] = {"channelState": channel_state(known)}
    if known.signature is not None:
        extra["voucherState"] = {
            "signedMaxClaimable": str(known.charged),
            "expiresAt": 0,
            "signature": known.signature,
        }
    return extra

"""The seller's side of `batch-settlement`: accepts vouchers against its own record, and turns them into money later.

A voucher is checked here, without asking anyone, as long as the chain was looked at a short while ago. It is held
before the tool runs and charged after it; deposits and refunds go through the facilitator.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import orjson
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    VerifyResponse,
)
from x402.schemas.hooks import (
    AbortResult,
    SkipHandlerDirective,
    SkipHandlerResult,
    SkipSettleResult,
    SkipVerifyResult,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.channels.batch import (
    CODE,
    SCHEME,
    SHORTEST_DELAY,
    BatchPayment,
    read_payment,
    voucher_of,
)
from mcpsol_py.x402.channels.channel_facilitator import address
from mcpsol_py.x402.channels.program import ChannelProgram
from mcpsol_py.x402.channels.voucher import Signer, close_digest, read_u64
from mcpsol_py.x402.exact.mechanism import ExactServer, Mints
from mcpsol_py.x402.store.channels import PaidChannel, PaidChannels

__all__ = ["BatchServer"]

T = TypeVar("T")

_MISMATCH = f"{CODE}_cumulative_amount_mismatch"
#: Calls in progress whose payments are kept read.
_LATELY = 512
#: Marks a verification after which the channel is held already.
_HELD = "held"


@dataclass(frozen=True, slots=True)
class _Refusal:
    code: str
    message: str


class BatchServer:
    """Sells for vouchers. *authorizer* has channels closed for the payee, and signs nothing else.

    *freshness*: seconds for which what the chain said is believed; it must lie well below the grace period, in which
    a payer can take back what no voucher proved on chain. *lease*: seconds for which one call holds a channel.
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
        authorizer: Signer,
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
                f"a grace period of {withdraw_delay} s is below {SHORTEST_DELAY} s, or too near to freshness",
            )
        self.authorizer, self.channels, self.program = authorizer, channels, program
        self._delay, self._min_deposit = withdraw_delay, min_deposit
        self._fresh_ms, self._lease_ms, self._clock = (
            int(freshness * 1000),
            int(lease * 1000),
            clock,
        )
        self._mints, self._prices = Mints(chain), ExactServer()
        self._lately: OrderedDict[int, tuple[PaymentPayload, PaymentRequirements, BatchPayment]] = (
            OrderedDict()
        )

    # -- terms

    def get_asset_decimals(self, asset: str, network: str) -> int | None:
        """Decimals of a known asset."""
        return self._prices.get_asset_decimals(asset, network)

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        """See price.parse_price: the price of one call."""
        return self._prices.parse_price(price, network)

    def validate_facilitator_support(
        self, network: str, kind: SupportedKind, extensions: list[str]
    ) -> str | None:
        """A problem that no payment could get over, or None."""
        try:
            address((kind.extra or {}).get("feePayer"), "invalid_payment_requirements", "feePayer")
        except PaymentError:
            return f"the facilitator names no feePayer for {SCHEME} on {network}"
        return None

    def enhance_payment_requirements(
        self,
        requirements: PaymentRequirements,
        supported_kind: SupportedKind,
        extensions: list[str],
    ) -> PaymentRequirements:
        """Adds sponsor, close authorizer, grace period, token program and what a deposit should be."""
        offered = supported_kind.extra or {}
        extra: dict[str, Any] = {
            **(requirements.extra or {}),
            **{name: offered[name] for name in ("feePayer", "maxIdleSecs") if name in offered},
            "receiverAuthorizer": str(self.authorizer.pubkey()),
            "withdrawDelay": max(self._delay, requirements.max_timeout_seconds),
            "tokenProgram": str(self._mints.get(requirements.asset)[0]),
        }
        if self._min_deposit is not None:
            extra["minDeposit"] = str(max(self._min_deposit, int(requirements.amount)))
        return requirements.model_copy(update={"extra": extra})

    # -- hooks of the official core

    async def before_verify(self, context: Any) -> SkipVerifyResult | None:
        """Vouchers are checked and held here; None asks the facilitator (deposits, refunds, a channel that is new to us
        or was not looked at lately)."""
        try:
            payment = self._read(context)
        except PaymentError as error:
            return _invalid(error.code, str(error))
        except ChainUnavailable as error:
            return _invalid("unexpected_verify_error", str(error))
        if payment.kind != "voucher":
            return None
        held = await self._hold(payment, _holder(context), checked_within_ms=self._fresh_ms)
        if held is not None:
            return _valid(payment, held)
        known = await self._db(self.channels.get, payment.channel_id)
        if known is None or known.checked_ms < await self._db(self._horizon):
            return None
        if (
            payment.cumulative > known.deposit
            and known.charged == payment.cumulative - payment.price
        ):
            return None  # it may have been topped up past us
        refusal = _why_not(payment, known)
        return _invalid(refusal.code, refusal.message)

    async def after_verify(self, context: Any) -> AbortResult | SkipHandlerResult | None:
        """What the facilitator found valid is held now."""
        extra = context.result.extra or {}
        if not context.result.is_valid or extra.get(_HELD):
            return None
        payment, holder = self._read(context), _holder(context)
        known = await self._meet(payment, extra)
        if payment.kind == "refund":
            held = await self._hold_for_refund(payment, holder)
        else:
            held = await self._hold(payment, holder, extra_deposit=payment.deposit)
        if held is None:
            again = await self._db(self.channels.get, payment.channel_id)
            refusal = _why_not(payment, again or known)
            return AbortResult(reason=refusal.code, message=refusal.message)
        if payment.kind != "refund":
            return None
        text = "The channel is closed. What was not used goes back to its payer."
        return SkipHandlerResult(
            SkipHandlerDirective("application/json", {"content": [{"type": "text", "text": text}]})
        )

    async def before_settle(self, context: Any) -> SkipSettleResult | None:
        """A voucher is charged here and now; nothing goes on chain for it."""
        try:
            payment = self._read(context)
        except PaymentError as error:
            return SkipSettleResult(_failed(context, error.code, str(error)))
        if payment.kind != "voucher":
            return None
        charged = await self._charge(payment, _holder(context))
        if charged is None:
            return SkipSettleResult(
                _failed(context, _MISMATCH, "the channel was charged for another call meanwhile")
            )
        return SkipSettleResult(
            SettleResponse(
                success=True,
                transaction="",
                network=context.requirements.network,
                payer=str(payment.terms.parties.payer),
                amount="",
                extra={**_receipt(payment), "channelState": _state(charged)},
            )
        )

    def enrich_settlement_payload(self, context: Any) -> dict[str, Any] | None:
        """The close that a refund needs, signed for the very sum that is charged."""
        payload = context.payment_payload.payload
        if payload.get("type") != "refund":
            return None
        payment = self._read(context)
        return {
            "closeAuthorization": self.close_authorization(
                payment, context.requirements.max_timeout_seconds
            )
        }

    def close_authorization(self, payment: BatchPayment, timeout: int) -> dict[str, Any]:
        """A CloseAuthorization (scheme_batch_settlement_svm 4.2)."""
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
        return {"validBefore": before, "signature": str(self.authorizer.sign_message(digest))}

    async def after_settle(self, context: Any) -> None:
        """A deposit landed: the call that it came with is charged. A refund landed: the channel is over."""
        payment = self._read(context)
        if payment.kind == "deposit":
            seen = (context.result.extra or {}).get("channelState") or {}
            balance = read_u64(seen.get("balance"))
            deposit = payment.deposit if balance is None else balance
            if await self._charge(payment, _holder(context), deposit=deposit) is None:
                raise PaymentError(_MISMATCH, "the channel was charged for another call meanwhile")
        elif payment.kind == "refund":
            await self._db(self._close, payment.channel_id)

    async def enrich_settlement_response(self, context: Any) -> dict[str, Any] | None:
        """What is charged in all, beside what the facilitator said of the channel."""
        payment = self._read(context)
        if payment.kind == "voucher":
            return None
        state = {"chargedCumulativeAmount": str(payment.cumulative)}
        extra: dict[str, Any] = {"channelState": state}
        return {**_receipt(payment), **extra} if payment.kind == "deposit" else extra

    async def on_settle_failure(self, context: Any) -> None:
        """A deposit or refund that certainly does not land holds nothing."""
        if str(context.error) not in ("settlement_pending", "unexpected_settle_error"):
            await self._let_go(context)

    async def on_verified_payment_canceled(self, context: Any) -> None:
        """The tool failed, so nothing is charged: the next call may bring the same voucher."""
        await self._let_go(context)

    async def enrich_payment_required_response(
        self, context: Any
    ) -> list[PaymentRequirements] | None:
        """To a payer whose sum is another than ours: what is charged, and its own signature that proves it (4.6)."""
        payload = context.payment_payload
        if payload is None or context.error != _MISMATCH or payload.accepted.scheme != SCHEME:
            return None
        voucher = payload.payload.get("voucher")
        channel_id = voucher.get("channelId") if isinstance(voucher, Mapping) else None
        known = (
            await self._db(self.channels.get, channel_id) if isinstance(channel_id, str) else None
        )
        if known is None:
            return None
        extra: dict[str, Any] = {"channelState": _state(known)}
        if known.signature is not None:
            extra["voucherState"] = {
                "signedMaxClaimable": str(known.charged),
                "expiresAt": 0,
                "signature": known.signature,
            }
        return [
            r.model_copy(update={"extra": {**(r.extra or {}), **extra}}) if _pays(r, known) else r
            for r in context.requirements
        ]

    # -- against our record

    def _read(self, context: Any) -> BatchPayment:
        """The payment, checked. The core asks in several hooks of one call: the same object is read once."""
        requirements: PaymentRequirements = context.requirements
        known = self._lately.get(id(context.payment_payload))
        if known is not None and known[0] is context.payment_payload and known[1] is requirements:
            return known[2]
        payment = self._checked(context, requirements)
        self._lately[id(context.payment_payload)] = (context.payment_payload, requirements, payment)
        while len(self._lately) > _LATELY:
            self._lately.popitem(last=False)
        return payment

    def _checked(self, context: Any, requirements: PaymentRequirements) -> BatchPayment:
        token_program, _ = self._mints.get(requirements.asset)
        payment = read_payment(
            context.payment_payload.payload, requirements, self.program, token_program
        )
        if payment.terms.receiver_authorizer != self.authorizer.pubkey():
            raise PaymentError(
                f"{CODE}_receiver_authorizer_mismatch",
                "the terms name another receiver's authorizer",
            )
        return payment

    async def _hold(self, payment: BatchPayment, holder: str, **options: Any) -> PaidChannel | None:
        return await self.channels.database.grouped(
            lambda: self.channels.hold(
                payment.channel_id,
                holder,
                payment.cumulative,
                payment.price,
                lease_ms=self._lease_ms,
                **options,
            ),
            lasting=False,  # nothing runs on the hold alone: the paid call writes its next state first
        )

    async def _hold_for_refund(self, payment: BatchPayment, holder: str) -> PaidChannel | None:
        return await self._db(
            lambda: self.channels.hold(
                payment.channel_id, holder, payment.cumulative, 0, lease_ms=self._lease_ms
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

    async def _meet(self, payment: BatchPayment, seen: Mapping[str, Any]) -> PaidChannel:
        """The channel in our record, with what the facilitator saw of it. One that is new to us has been charged what
        the chain says, and nothing else can be proved of it."""
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
        await self._db(self.channels.let_go, payment.channel_id, _holder(context))

    def _close(self, channel_id: str) -> None:
        self.channels.saw(channel_id, state="closed")

    def _horizon(self) -> int:
        return self.channels.now_ms() - self._fresh_ms

    async def _db(self, function: Callable[..., T], *args: Any) -> T:
        return await self.channels.database.grouped(function, *args)


def _holder(context: Any) -> str:
    """The call: by its payment id where the paid call has one, else by the payload."""
    given = context.transport_context
    if isinstance(given, Mapping) and isinstance(given.get("payment_id"), str):
        return str(given["payment_id"])
    text = orjson.dumps(context.payment_payload.payload, option=orjson.OPT_SORT_KEYS)
    return "payload:" + hashlib.sha256(text).hexdigest()


def _why_not(payment: BatchPayment, known: PaidChannel) -> _Refusal:
    if known.state in ("closing", "closed"):
        return _Refusal(f"{CODE}_channel_closing", "this channel is being closed")
    if known.charged != payment.cumulative - (0 if payment.kind == "refund" else payment.price):
        # the code alone, as the corrective demand says it
        return _Refusal(_MISMATCH, _MISMATCH)
    if payment.cumulative > known.deposit + payment.deposit:
        return _Refusal(f"{CODE}_cumulative_exceeds_deposit", "the voucher is over the deposit")
    return _Refusal(
        "channel_busy",
        "another call is being served against this channel: repeat this one in a moment",
    )


def _valid(payment: BatchPayment, held: PaidChannel) -> SkipVerifyResult:
    extra = {**_state(held), _HELD: True}
    return SkipVerifyResult(
        VerifyResponse(is_valid=True, payer=str(payment.terms.parties.payer), extra=extra)
    )


def _invalid(code: str, message: str) -> SkipVerifyResult:
    return SkipVerifyResult(
        VerifyResponse(is_valid=False, invalid_reason=code, invalid_message=message)
    )


def _failed(context: Any, code: str, message: str) -> SettleResponse:
    return SettleResponse(
        success=False,
        error_reason=code,
        error_message=message,
        transaction="",
        network=context.requirements.network,
    )


def _receipt(payment: BatchPayment) -> dict[str, Any]:
    return {
        "commitmentId": f"{payment.channel_id}:{payment.cumulative}",
        "chargedAmount": str(payment.price),
        "voucher": voucher_of(payment.terms.channel, payment.cumulative, payment.signature),
    }


def _state(channel: PaidChannel) -> dict[str, Any]:
    return {
        "channelId": channel.channel_id,
        "balance": str(channel.deposit),
        "totalClaimed": str(channel.claimed),
        "withdrawRequestedAt": channel.closing_at,
        "chargedCumulativeAmount": str(channel.charged),
    }


def _pays(requirement: PaymentRequirements, channel: PaidChannel) -> bool:
    wanted = (SCHEME, channel.network, channel.asset, channel.pay_to)
    return (
        requirement.scheme,
        requirement.network,
        requirement.asset,
        requirement.pay_to,
    ) == wanted

"""Verifying, settling and cancelling payments through the official core, and checking its answers
against the chain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import anyio.to_thread
from x402 import x402ResourceServer
from x402.schemas import (
    PaymentRequired,
    PaymentRequirements,
    SettleResponse,
    VerifyResponse,
)
from x402.schemas.errors import PaymentError as CorePaymentError
from x402.schemas.hooks import ResourceVerifyResponse, VerifiedPaymentCancelOptions
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402 import metrics
from mcpsol_py.x402.chain.payment_chain import (
    ChainUnavailable,
    MessageStatus,
    PaymentChain,
)
from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.protocol.payment_ids import Payment, transaction_text
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.selling.facilitator_answers import (
    believed_settlement,
    believed_verification,
)
from mcpsol_py.x402.selling.facilitator_client import (
    FACILITATOR_ERRORS,
    refusal_of_official_client,
)
from mcpsol_py.x402.selling.facilitators import with_fee_payer

__all__ = [
    "Landed",
    "PaymentProcessor",
    "Phase",
    "Requirements",
    "Witness",
    "witness_of",
]

Requirements: TypeAlias = PaymentRequirements | PaymentRequirementsV1
Phase: TypeAlias = Literal["before-handler", "after-handler"]
#: payment -> the state of its transaction on chain; None if it has no transaction, or if the chain
#: cannot be asked.
Witness: TypeAlias = Callable[[Payment], MessageStatus | None]
#: signature -> True: it landed. False: it did not, and cannot any more. None: not known yet.
Landed: TypeAlias = Callable[[str], bool | None]

_DUPLICATE = "duplicate_settlement"
#: How reasons begin that say what is wrong with a payment, so that it was not sent. After any other
#: reason, such as "settlement_failed", it may still land.
_NOT_SENT = (
    "invalid_",
    "insufficient_",
    "unsupported_",
    "token_",
    "network_mismatch",
    "transaction_simulation_failed",
)


def witness_of(chain: PaymentChain) -> Witness:
    """Return a witness that looks at *chain*: for sellers whose facilitator is somebody else's."""
    return partial(_look, chain)


def _look(chain: PaymentChain, payment: Payment) -> MessageStatus | None:
    if payment.get_scheme() != "exact":
        return None
    if caip2(str(payment.get_network())) != chain.network:
        return None
    try:
        return chain.find(bytes(read_transaction(transaction_text(payment))))
    except ChainUnavailable:
        return None


@dataclass(frozen=True, slots=True)
class PaymentProcessor:
    """The official core's resource server, with a check of what its facilitators answer."""

    server: x402ResourceServer
    landed: Landed | None
    witness: Witness | None
    fault: Callable[[str], None]

    # -- reading a payment ---------------------------------------------------------------------

    def match(self, offer: Offer, payment: Payment) -> tuple[PaymentRequirements, Any]:
        """Return the terms of *offer* that *payment* is for: as offered, and in the payment's
        protocol version.

        Raises PaymentError (no_matching_requirements).
        """
        if isinstance(payment, PaymentPayloadV1):
            return _match_v1(offer, payment)
        named = mapping_at(payment.accepted.extra).get("feePayer")
        offered = [
            _for_fee_payer(terms, named) for terms in (*offer.accepts, *offer.earlier)
        ]
        found = self.server.find_matching_requirements(offered, payment)
        if found is None:
            raise PaymentError(
                "no_matching_requirements",
                "the payment's terms are not among those that are accepted here now",
            )
        return found, found

    def flow(self, payment: Payment, requirements: Any) -> str:
        """Return the order in which the scheme settles and runs.

        "authorization": verify, run, settle. "upfront": settle, run. "escrow": settle a deposit,
        run, settle the amount used.
        """
        if isinstance(payment, PaymentPayloadV1):
            return "authorization"
        return self.server.get_payment_flow(payment, requirements)

    async def required(
        self, offer: Offer, payment: Payment, error: str
    ) -> PaymentRequired:
        """Return the 402 body that rejects *payment*, with what its scheme adds to help the payer
        correct it.
        """
        required = offer.payment_required(error)
        if isinstance(payment, PaymentPayloadV1):
            return required
        return await self.server.create_payment_required_response(
            list(required.accepts),
            required.resource,
            error,
            required.extensions,
            payment_payload=payment,
        )

    # -- processing it -------------------------------------------------------------------------

    async def verify(
        self, payment: Payment, requirements: Any, payment_id: str
    ) -> ResourceVerifyResponse:
        """Ask whether the payment would settle."""
        with telemetry.span("verify payment", scheme=requirements.scheme):
            try:
                verified = await self.server.verify_payment(
                    payment, requirements, transport_context={"payment_id": payment_id}
                )
            except (*FACILITATOR_ERRORS, CorePaymentError) as error:
                return ResourceVerifyResponse(_not_verified(error, requirements))
        believed = believed_verification(payment, verified.verify)
        return ResourceVerifyResponse(believed, verified.skip_handler)

    async def cancel(
        self, payment: Payment, requirements: Any, payment_id: str
    ) -> None:
        """Release anything that the scheme holds for a call that failed and is not charged."""
        if isinstance(payment, PaymentPayloadV1):
            return
        dispatcher = self.server.create_payment_cancellation_dispatcher(
            payment, requirements, transport_context={"payment_id": payment_id}
        )
        await dispatcher.cancel(VerifiedPaymentCancelOptions(reason="handler_failed"))

    async def settle(
        self,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        *,
        phase: Phase,
        resumed: bool,
    ) -> SettleResponse:
        """Settle the payment. *resumed*: an earlier attempt of this same call may have settled it
        already.
        """
        started = time.perf_counter()
        with telemetry.span(
            "settle payment",
            scheme=requirements.scheme,
            network=str(requirements.network),
        ) as step:
            settled = await self._ask(payment, requirements, payment_id, phase)
            self.fault("call.settled")
            settled = believed_settlement(payment, requirements, settled)
            settled = await self._checked(payment, settled, resumed)
            if resumed and settled.error_reason == _DUPLICATE:
                settled = await self._earlier_attempt(settled)
            outcome = (
                "ok" if settled.success else settled.error_reason or "settlement_failed"
            )
            step.set(outcome=outcome)
        metrics.observe_settlement(
            requirements.scheme,
            outcome,
            time.perf_counter() - started,
            str(requirements.network),
            str(requirements.asset),
            _amount(settled, requirements),
        )
        return settled

    async def _ask(
        self, payment: Payment, requirements: Any, payment_id: str, phase: Phase
    ) -> SettleResponse:
        try:
            return await self.server.settle_payment(
                payment,
                requirements,
                phase=phase,
                transport_context={"payment_id": payment_id},
            )
        except (
            PaymentError
        ) as error:  # the scheme refused before it asked any facilitator
            return _as_refused(requirements, error.code, str(error))
        except CorePaymentError as error:  # no facilitator was asked
            return _as_refused(requirements, "unsupported_scheme", str(error))
        except FACILITATOR_ERRORS as error:
            return _not_settled(error, requirements)

    async def _checked(
        self, payment: Payment, settled: SettleResponse, resumed: bool
    ) -> SettleResponse:
        """Correct what a facilitator answered, if the witness sees something else on chain.

        A success that did not land is a failure, and a refusal of a payment that landed is a
        success. A duplicate stays a duplicate: it may have paid for another call. A refusal of a
        *resumed* call says nothing about its earlier attempt, which may still land. Nor does a
        reason that only says that settling failed.
        """
        if self.witness is None or settled.error_reason == _DUPLICATE:
            return settled
        if settled.success and not settled.transaction:  # a voucher: nothing was sent
            return settled
        seen = await anyio.to_thread.run_sync(self.witness, payment)
        is_open = resumed or not (settled.error_reason or "").startswith(_NOT_SENT)
        may_land = is_open and (seen is None or seen.state == "unknown")
        if may_land and not settled.success and payment.get_scheme() == "exact":
            return _changed(settled, error_reason="settlement_pending", transaction="")
        if seen is None:
            return settled
        if settled.success == (seen.state == "landed"):
            right = seen.signature if settled.success else None
            return _changed(settled, transaction=right) if right else settled
        return (
            _as_failed(settled, seen) if settled.success else _as_landed(settled, seen)
        )

    async def _earlier_attempt(self, settled: SettleResponse) -> SettleResponse:
        """The outcome of this call's own earlier attempt, which *settled* calls a duplicate after a
        crash.

        A duplicate at the first attempt was paid for somebody else's request, and pays for nothing
        here.
        """
        if await self._has_landed(settled.transaction):
            return _changed(
                settled, success=True, error_reason=None, error_message=None
            )
        return _changed(settled, error_reason="settlement_pending")

    async def _has_landed(self, signature: str) -> bool | None:
        """True also if nobody can be asked. None: the chain gives no answer, or does not know yet."""
        if self.landed is None or not signature:
            return True
        try:
            return await anyio.to_thread.run_sync(self.landed, signature)
        except ChainUnavailable:
            return None


def _not_verified(error: Exception, requirements: Requirements) -> VerifyResponse:
    """The answer for an error of the official client, which raises what a facilitator refuses."""
    refused = None
    if isinstance(error, ValueError):
        refused = refusal_of_official_client(error, VerifyResponse, requirements)
    return refused or VerifyResponse(
        is_valid=False,
        invalid_reason="unexpected_verify_error",
        invalid_message=f"the facilitator gave no answer ({type(error).__name__})",
    )


def _not_settled(error: Exception, requirements: Requirements) -> SettleResponse:
    """As `_not_verified`. Without a refusal, the payment may have been sent."""
    refused = None
    if isinstance(error, ValueError):
        refused = refusal_of_official_client(error, SettleResponse, requirements)
    why = f"the facilitator gave no answer ({type(error).__name__})"
    return refused or _as_refused(requirements, "unexpected_settle_error", why)


def _as_refused(
    requirements: Requirements, reason: str, message: str
) -> SettleResponse:
    return SettleResponse(
        success=False,
        error_reason=reason,
        error_message=message,
        transaction="",
        network=requirements.network,
    )


def _for_fee_payer(terms: PaymentRequirements, named: object) -> PaymentRequirements:
    """*terms* with the fee payer that a payment names.

    The seller does not mind who pays the fee, and the facilitator checks that it can sign. So a
    payment, and a repeat of it, is known after its facilitator has changed its key or is away.
    Channels have terms of their own for each sponsor.
    """
    if terms.scheme != "exact" or not isinstance(named, str) or not is_address(named):
        return terms
    return with_fee_payer(terms, named)


def _match_v1(
    offer: Offer, payment: PaymentPayloadV1
) -> tuple[PaymentRequirements, PaymentRequirementsV1]:
    """A payment of version 1 does not repeat its terms: its transaction tells the token and the fee payer."""
    matches = [
        terms
        for v1, terms in offer.v1_terms()
        if (v1.scheme, v1.network) == (payment.scheme, payment.network)
    ]
    if not matches:
        raise PaymentError(
            "no_matching_requirements",
            "the payment's scheme or network is not accepted here",
        )
    # The verifier refuses a payment of a token that is not accepted, with its own reason.
    used = _accounts(payment)
    found = next((terms for terms in matches if terms.asset in used), matches[0])
    found = _for_fee_payer(found, next(iter(used), None))
    return found, replace(offer, accepts=(found,)).v1()[0]


def _accounts(payment: PaymentPayloadV1) -> list[str]:
    """The accounts of a payment's transaction, the fee payer first; none if it cannot be read."""
    try:
        message = read_transaction(transaction_text(payment)).message
    except PaymentError:
        return []
    return list(map(str, message.account_keys))


def _amount(settled: SettleResponse, requirements: Any) -> int:
    """The base units that were settled, or those that were asked for."""
    amount = base_units(settled.amount)
    return int(requirements.get_amount()) if amount is None else amount


def _as_landed(settled: SettleResponse, seen: MessageStatus) -> SettleResponse:
    return _changed(
        settled,
        success=True,
        error_reason=None,
        error_message=None,
        transaction=seen.signature or "",
    )


def _as_failed(settled: SettleResponse, seen: MessageStatus) -> SettleResponse:
    gone = seen.state in ("failed", "expired")
    return _changed(
        settled,
        success=False,
        error_reason="transaction_failed" if gone else "settlement_pending",
        error_message=f"the chain says: {seen.state}",
    )


def _changed(settled: SettleResponse, **changes: Any) -> SettleResponse:
    return settled.model_copy(update=changes)

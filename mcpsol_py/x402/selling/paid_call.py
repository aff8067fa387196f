"""One paid call: the object that owns its row and takes it from state to state.

Knows no transport. `PaidCalls` makes one for each request and decides which method starts.

A call that reads is verified, run, settled and answered. A call that broadcasts a transaction is
settled before it runs, because its effect cannot be withheld. A result whose payment did not settle
is withheld. A tool runs at most once: if the process dies while it runs, it is not run again unless
an operator says so.

The methods, and the state that the row must be in when they are called:

| method | row's state | then |
|---|---|---|
| `begin` | verifying | verifies, then settles or runs |
| `settle_then_run` | settling | settles, then runs |
| `run_paid` | paid | runs, then answers or settles the amount used |
| `settle_result` | executed | settles, then answers |
| `resume` | any unfinished one | goes on with a call that another process left |
| `answer_ended` | done, failed, unknown | answers from the row |
| `retry` | failed | begins again with a new payment |

Each step is one of `store.call_states.TRANSITIONS`, which says when it may be taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread
from x402.schemas import PaymentRequirements, SettleResponse
from x402.schemas.hooks import ResourceVerifyResponse

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.json_form import json_of
from mcpsol_py.x402.protocol.offer import (
    Answer,
    Offer,
    PaymentRequiredReply,
    Refused,
    Reply,
)
from mcpsol_py.x402.protocol.payment_ids import Payment, claimed_payer
from mcpsol_py.x402.protocol.repeat_proof import check_repeat_proof
from mcpsol_py.x402.selling.facilitators import fee_payer_of
from mcpsol_py.x402.selling.owned_row import OwnedRow
from mcpsol_py.x402.selling.payment_processor import Landed, PaymentProcessor, Phase
from mcpsol_py.x402.selling.replies import (
    in_progress,
    is_undecided,
    outcome_unknown,
    payment_taken,
    proof_required,
    read_receipt,
    settlement_pending,
    taken_over,
)
from mcpsol_py.x402.selling.tool_run import Run, RunFunction, Unfinished, run_tool
from mcpsol_py.x402.store.call_states import (
    CHARGED_NOTHING,
    FIRST_STATE,
    INTERRUPTED,
    NOT_PAID,
    PAID_FIRST,
    PAY_FIRST,
    PAY_PENDING,
    RAN,
    RAN_AND_PAID,
    RETRY,
    RUN_FIRST,
    RUN_PAID,
    SETTLE_PENDING,
    SETTLED,
    TOOL_FAILED,
    UNFINISHED,
    Transition,
)
from mcpsol_py.x402.store.database import now_ms
from mcpsol_py.x402.store.executions import NOBODY, Execution, Executions

#: The reason for which a payment is not valid if no facilitator answered.
_NO_ANSWER = "unexpected_verify_error"

__all__ = ["PaidCall", "SharedParts", "decide_interrupted"]


@dataclass(frozen=True, slots=True)
class SharedParts:
    """What all paid calls of one seller share. The options are those of `PaidCalls`."""

    processor: PaymentProcessor
    executions: Executions
    verify_only: bool
    lease_ms: int
    landed: Landed | None
    on_state: Callable[[str, str, str], None]
    fault: Callable[[str], None]
    #: (offer, fee payer) -> the offer with fee payers of other facilitators than this one's.
    without: Callable[[Offer, str | None], Offer]


@dataclass(slots=True)
class PaidCall:
    """One request with a payment. Every method may raise StorageError, and TakenOver if another
    request owns the row.

    `terms` are the offer's requirements that the payment is for, `requirements` the same in the
    payment's protocol version. `fingerprint` identifies the request, `payment_key` the payment.
    """

    parts: SharedParts
    offer: Offer
    payment: Payment = field(repr=False)
    terms: PaymentRequirements
    requirements: Any
    fingerprint: str
    payment_key: str
    row: OwnedRow
    run: RunFunction = field(repr=False)
    #: The state that the caller was given with a question, and brings back with the answer.
    continuation: str | None = field(default=None, repr=False)

    @property
    def payment_id(self) -> str:
        """The id that names the call's row."""
        return self.row.payment_id

    # -- the row -------------------------------------------------------------------------------

    async def claim(self) -> Execution | None:
        """Add the row in state "verifying". Return the row that has the same payment id or payment,
        if there is one.

        It is claimed before it is verified, because the transaction of a repeated request is spent
        already. Nothing is done on the claim alone, so it need not reach the disk.
        """
        claim = Execution(
            tenant=self.parts.executions.tenant,
            payment_id=self.payment_id,
            fingerprint=self.fingerprint,
            payment_key=self.payment_key,
            resource=self.offer.resource.url,
            state=FIRST_STATE,
            owner=self.row.owner,
            touched_ms=0,
            network=self.terms.network,
            asset=self.terms.asset,
            pay_to=self.terms.pay_to,
            amount=int(self.terms.amount),
        )
        return await self.row.claim(claim, lasting=False)

    async def claim_again(self, known: Execution) -> Reply:
        """Begin a call whose row *known* was refused and removed while this request waited
        for it.
        """
        claim = replace(
            known, payment_key=self.payment_key, state=FIRST_STATE, owner=self.row.owner
        )
        if await self.row.claim(claim, lasting=True) is not None:
            return in_progress()
        return await self.begin()

    def conflict(self, known: Execution) -> Refused | None:
        """Return the refusal if the row *known* is of another call than this one."""
        if known.payment_id != self.payment_id:
            return payment_taken()
        if known.fingerprint != self.fingerprint:
            return Refused(
                "payment_id_conflict",
                "this payment id was used for another request (other arguments or terms)",
            )
        return None

    def check_payer(self, known: Execution) -> Refused | None:
        """Return the refusal if no proof shows that this request is of the payer of *known*.

        Nothing was verified or run yet for a call in state "verifying", and nothing was charged for
        one that failed without an answer. These have nothing to give away.
        """
        if known.state == "verifying" or (
            known.state == "failed" and known.result is None
        ):
            return None
        if known.state == "paid" and self._continues(known):
            return None
        network = str(self.terms.network)
        try:
            wallet = check_repeat_proof(
                self.payment, call_id=self.payment_id, network=network, now_ms=now_ms()
            )
        except PaymentError as error:
            return proof_required(f": {error}")
        if wallet is None:
            return proof_required()
        if wallet != known.payer:
            return proof_required(": the proof is of another wallet")
        return None

    def _continues(self, known: Execution) -> bool:
        """Whether this request brings back the state that the caller of *known* was given."""
        return self.continuation is not None and known.error == continuation_mark(
            self.continuation
        )

    # -- verifying -----------------------------------------------------------------------------

    async def begin(self) -> Reply:
        """verifying → settling or running."""
        verified = await self._verify()
        if not verified.is_valid:
            return await self._reject(verified)
        self.report("verified")
        self.parts.fault("call.verified")
        if self._is_settled_first():
            # Schemes that are settled first are verified by settling: the payer is not proved yet.
            payer = verified.payer or claimed_payer(self.payment)
            await self.row.advance(PAY_FIRST, payer=payer)
            return await self.settle_then_run()
        await self.row.advance(RUN_FIRST, payer=verified.payer)
        self.parts.fault("call.running")
        # A refund, for example: the scheme answers itself.
        if verified.skip_handler is not None:
            self.run = _fixed_answer(verified.skip_handler.body)
        return await self._run_unpaid()

    async def _verify(self) -> ResourceVerifyResponse:
        try:
            return await self.parts.processor.verify(
                self.payment, self.requirements, self.payment_id
            )
        except BaseException:  # nothing happened yet, so the id stays free
            with anyio.CancelScope(shield=True):
                await self.row.forget()
            raise

    async def _reject(self, verified: ResourceVerifyResponse) -> Reply:
        await self.row.forget()
        reason = verified.invalid_reason or "unexpected_verify_error"
        message = verified.invalid_message or reason
        offer = self.offer
        # A new payment should not depend on the same facilitator.
        if reason == _NO_ANSWER:
            offer = self.parts.without(offer, fee_payer_of(self.terms))
        required = await self.parts.processor.required(offer, self.payment, message)
        return PaymentRequiredReply(required, reason)

    def _flow(self) -> str:
        flow = self.parts.processor.flow(self.payment, self.requirements)
        return "upfront" if flow == "authorization" and self.offer.broadcasts else flow

    def _is_settled_first(self) -> bool:
        return self._flow() != "authorization" and not self.parts.verify_only

    # -- run, then settle ----------------------------------------------------------------------

    async def _run_unpaid(self) -> Reply:
        """running → executed, done or failed."""
        result, failed = await self._run_tool(
            Run(self.row), self._abandon, self._abandon
        )
        self.parts.fault("call.ran")
        if failed:
            return await self._answer_failed(result)
        if self.parts.verify_only:
            await self.row.advance(RAN_AND_PAID, result=result)
            self.parts.fault("call.executed")
            return Answer(result, None)
        await self.row.advance(RAN, result=result)
        self.parts.fault("call.executed")
        return await self.settle_result(result)

    async def _answer_failed(self, result: dict[str, Any]) -> Reply:
        """running → failed. A failed tool is not charged: its authorization is not used."""
        await self._cancel()
        if self.payment_id.startswith("voucher:"):
            # The next call brings the same voucher, which also names its row.
            await self.row.forget()
        else:
            await self.row.move(TOOL_FAILED, result=result)
        return Answer(result, None)

    async def settle_result(
        self,
        result: dict[str, Any],
        *,
        charge: int | None = None,
        resumed: bool = False,
    ) -> Reply:
        """executed → done or failed. *charge*: base units to charge instead of the offered
        amount.
        """
        if self.parts.verify_only:
            await self.row.move(SETTLED)
            return Answer(result, None)
        settled = await self._settle("after-handler", charge, resumed)
        if not settled.success:
            return await self._not_settled(settled, SETTLE_PENDING, CHARGED_NOTHING)
        settled = self.offer.receipted(settled)
        await self.row.advance(SETTLED, receipt=json_of(settled))
        self.report("settled")
        self.report("complete")
        return Answer(result, settled)

    # -- settle, then run ----------------------------------------------------------------------

    async def settle_then_run(self, *, resumed: bool = False) -> Reply:
        """settling → paid or failed."""
        settled = await self._settle("before-handler", None, resumed)
        if not settled.success:
            return await self._not_settled(settled, PAY_PENDING, NOT_PAID)
        settled = self.offer.receipted(settled)
        proved = {"payer": settled.payer} if settled.payer else {}
        await self.row.advance(PAID_FIRST, receipt=json_of(settled), **proved)
        self.report("settled")
        self.parts.fault("call.paid")
        return await self.run_paid(settled)

    async def run_paid(self, receipt: SettleResponse | None) -> Reply:
        """paid → running → done, or executed if the amount used is settled next."""
        await self.row.advance(RUN_PAID, error=None)
        self.parts.fault("call.running")
        if self._flow() == "escrow":
            return await self._run_escrow(int(self.requirements.get_amount()))
        result, _failed = await self._run_tool(
            Run(self.row), self._set_aside, self._interrupt
        )
        self.parts.fault("call.ran")
        await self.row.advance(RAN_AND_PAID, result=result)
        self.report("complete")
        return Answer(result, receipt)

    async def _run_escrow(self, ceiling: int) -> Reply:
        """running → executed: a deposit of *ceiling* base units is settled, and what the tool used
        is charged.
        """
        run = Run(self.row, ceiling)
        result, failed = await self._run_tool(
            run, self._set_aside, self._refund_or_interrupt
        )
        self.parts.fault("call.ran")
        charge = _charge_of(run, failed)
        await self.row.advance(RAN, result=result, amount=charge)
        self.parts.fault("call.executed")
        return await self.settle_result(result, charge=charge)

    # -- the tool, and how it may be cut short -------------------------------------------------

    async def _run_tool(
        self,
        run: Run,
        on_unfinished: Callable[[BaseException], Awaitable[None]],
        on_error: Callable[[BaseException], Awaitable[None]],
    ) -> tuple[dict[str, Any], bool]:
        """Run the tool. If it raises, await one of the two callbacks and raise again."""
        try:
            return await run_tool(self.row, self.run, run, self.parts.lease_ms)
        except Unfinished as unfinished:
            await on_unfinished(unfinished)
            raise
        except BaseException as error:  # also a client that went away
            with anyio.CancelScope(shield=True):
                await on_error(error)
            raise

    async def _abandon(self, _error: BaseException) -> None:
        """Remove the row of an unpaid call: nothing is charged, so the id stays free."""
        await self._cancel()
        await self.row.forget()

    async def _set_aside(self, error: BaseException) -> None:
        """running → paid, owned by nobody, so that the next request need not wait for a lease to
        end.
        """
        state = (
            error.result.get("requestState") if isinstance(error, Unfinished) else None
        )
        mark = continuation_mark(state) if isinstance(state, str) and state else None
        await self.row.move(UNFINISHED, to_owner=NOBODY, error=mark)

    async def _interrupt(self, _error: BaseException) -> None:
        """running → unknown: it may have done its work."""
        await self.row.move(INTERRUPTED)

    async def _refund_or_interrupt(self, error: BaseException) -> None:
        """running → executed → failed after an error of the tool: nothing is charged of the
        deposit.
        """
        if not isinstance(error, Exception):
            await self._interrupt(error)
        elif await self.row.move(RAN, amount=0):
            await self._refund()

    # -- settling ------------------------------------------------------------------------------

    async def _settle(
        self, phase: Phase, charge: int | None, resumed: bool
    ) -> SettleResponse:
        requirements = self.requirements
        if charge is not None:
            requirements = requirements.model_copy(update={"amount": str(charge)})
        return await self.parts.processor.settle(
            self.payment, requirements, self.payment_id, phase=phase, resumed=resumed
        )

    async def _not_settled(
        self, settled: SettleResponse, pending: Transition, failed: Transition
    ) -> Reply:
        """Record a settlement that did not succeed, by the step *pending* or *failed*, and withhold
        the result.
        """
        receipt = json_of(settled)
        if is_undecided(settled):
            await self.row.move(pending, receipt=receipt)
            return settlement_pending(settled)
        reason = settled.error_reason or "settlement_failed"
        await self.row.move(failed, result=None, receipt=receipt, error=reason)
        message = f"Settlement failed: {settled.error_message or reason}"
        return PaymentRequiredReply(
            self.offer.payment_required(message), reason, settled
        )

    async def _refund(self, *, resumed: bool = False) -> SettleResponse:
        """executed → failed: settle a deposit with a charge of 0. A new payment may try the call
        again.
        """
        settled = await self._settle("after-handler", 0, resumed)
        if not is_undecided(settled):
            values = {"receipt": json_of(settled), "error": "tool_failed"}
            await self.row.move(CHARGED_NOTHING, result=None, **values)
        return settled

    async def _cancel(self) -> None:
        await self.parts.processor.cancel(
            self.payment, self.requirements, self.payment_id
        )

    # -- a call that was seen before -----------------------------------------------------------

    async def take_over(self, known: Execution) -> bool:
        """Become the owner of *known*, if its owner left it open or its lease has ended."""
        lease_ms = 0 if _is_left_open(known) else self.parts.lease_ms
        return await self.row.take_over(known, lease_ms)

    async def answer_ended(self, known: Execution) -> Reply | None:
        """Answer from the row of a call that has ended. Return None if it has not."""
        match known.state:
            case "done" if known.result is not None:
                return Answer(known.result, read_receipt(known.receipt), repeated=True)
            case "failed" if self.payment_key == known.payment_key:
                return self._answer_unpaid(known)
            case "failed":
                return await self.retry(known)
            case "unknown":
                return outcome_unknown(known)
        return None

    def _answer_unpaid(self, known: Execution) -> Reply:
        """Nobody was charged, so the same payment gets the same answer."""
        if known.error is None and known.result is not None:
            return Answer(known.result, None, repeated=True)
        reason = known.error or "settlement_failed"
        failed = None if reason == "tool_failed" else read_receipt(known.receipt)
        return self._paid_for_nothing(reason, failed)

    def _paid_for_nothing(self, reason: str, settled: SettleResponse | None) -> Reply:
        message = f"This payment paid for nothing: {reason}"
        return PaymentRequiredReply(
            self.offer.payment_required(message), reason, settled
        )

    async def retry(self, known: Execution) -> Reply:
        """failed → verifying, with a new payment for the same payment id."""
        if not await self.row.take_over(known, 0):
            return taken_over()
        await self.row.advance(
            RETRY, payment_key=self.payment_key, result=None, receipt=None, error=None
        )
        return await self.begin()

    async def resume(self, known: Execution) -> Reply:
        """Go on with a call that another process left, now that this request owns it."""
        match known.state:
            case "verifying":
                return await self.begin()
            case "settling":
                return await self.settle_then_run(resumed=True)
            case "paid":
                return await self.run_paid(read_receipt(known.receipt))
            case "executed":
                return await self._resume_executed(known)
        return await decide_interrupted(self.row, known, self.parts.landed)

    async def _resume_executed(self, known: Execution) -> Reply:
        if known.result is None:  # the tool failed, and its deposit is to be refunded
            settled = await self._refund(resumed=True)
            return self._paid_for_nothing("tool_failed", settled)
        charge = known.amount if self._flow() == "escrow" else None
        return await self.settle_result(known.result, charge=charge, resumed=True)

    # -- telling others ------------------------------------------------------------------------

    def report(self, state: str) -> None:
        """Log *state* and hand it to the seller's `on_state`."""
        url = self.offer.resource.url
        telemetry.event(
            "payment", state=state, payment_id=self.payment_id, resource=url
        )
        self.parts.on_state(self.payment_id, state, url)


async def decide_interrupted(
    row: OwnedRow, known: Execution, landed: Landed | None
) -> Reply:
    """running → done or unknown, for a tool that ran when its process died. *row* owns it now.

    The signature that the tool recorded before sending decides. Without one nobody can know whether
    it ran.
    """
    found = None
    if known.signature is not None and landed is not None:
        found = await anyio.to_thread.run_sync(landed, known.signature)
    if found:
        result = {"signature": known.signature, "recovered": True}
        await row.move(RAN_AND_PAID, result=result)
        return Answer(result, read_receipt(known.receipt), repeated=True)
    await row.move(INTERRUPTED)
    return outcome_unknown(known)


def _is_left_open(known: Execution) -> bool:
    """Whether its request has its answer ("settlement_pending", or set aside), so that anybody may
    go on at once.
    """
    if known.owner == NOBODY:
        return True
    receipt = read_receipt(known.receipt)
    return (
        receipt is not None
        and is_undecided(receipt)
        and known.state in ("executed", "settling")
    )


def continuation_mark(state: str) -> str:
    """Return what a row keeps of the state that a caller must bring back."""
    return "continue " + hashlib.sha256(state.encode()).hexdigest()


def _charge_of(run: Run, failed: bool) -> int | None:
    """The base units to charge for *run*."""
    if failed:
        return 0
    return run.ceiling if run.charged is None else run.charged


def _fixed_answer(body: Any) -> RunFunction:
    """Return a run function that runs nothing and answers *body*."""

    async def run(_: Run) -> tuple[dict[str, Any], bool]:
        return body if isinstance(body, dict) else {"content": []}, False

    return run

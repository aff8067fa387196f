"""A paid call, from request to answer: one execution and one payment for each payment id, whatever crashes in between.

Knows no transport: MCP and HTTP hand it a payment and a function to run, and put its reply into their own shapes.

Order (X402.md 1.1, C-61): a read is verified, run, settled, answered ("authorization"); what broadcasts is settled
first ("upfront"). A result whose payment did not settle is withheld. Execution is at most once: what was running when a
process died is never run again by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from x402 import x402ResourceServer
from x402.extensions.payment_identifier import is_valid_payment_id
from x402.extensions.sign_in_with_x import SIWxPayload
from x402.schemas import PaymentRequired, PaymentRequirements, SettleResponse
from x402.schemas.hooks import VerifiedPaymentCancelOptions
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402 import metrics
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, MessageStatus, PaymentChain
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.offer import Answer, NotPaid, Offer, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import Payment, fingerprint, named_id, payment_key
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.store.executions import NOBODY, Execution, Executions, ExecutionState

__all__ = [
    "Gate",
    "Granting",
    "Run",
    "RunFunction",
    "Unfinished",
    "Witness",
    "current_run",
    "witness_of",
]

T = TypeVar("T")


class Unfinished(Exception):
    """Raised by what runs when it did nothing yet and the same call will come again (a person is asked first).

    Nothing is stored or charged for it; what was paid first stays paid, and the next request with the same payment runs
    it. `result` is what the caller is told."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("not done yet")
        self.result = result


class Run:
    """Given to the function that runs: a tool that broadcasts records its transaction's signature before it sends
    it.
    """

    def __init__(self, gate: Gate, payment_id: str, owner: str, ceiling: int | None = None) -> None:
        self._gate, self._id, self._owner = gate, payment_id, owner
        self.payment_id = payment_id
        #: The most that may be charged, where what is used decides (scheme "upto"); None: the price is fixed.
        self.ceiling = ceiling
        #: What is charged; None: all of it.
        self.charged: int | None = None

    def charge(self, amount: int) -> None:
        """Charges *amount* base units of the ceiling that was authorized. A fixed price stays as it is. Raises
        PaymentError when it is over the ceiling."""
        if self.ceiling is None:
            return
        if not 0 <= amount <= self.ceiling:
            raise PaymentError(
                "charge_over_ceiling", f"{amount:,} base units; {self.ceiling:,} are authorized"
            )
        self.charged = amount

    async def will_send(self, signature: str) -> None:
        """Records *signature*. After a crash it alone decides whether the tool did its work."""
        moved = await self._gate._move(
            self._id, self._owner, ("running",), "running", signature=signature
        )
        if not moved:
            raise PaymentError("payment_id_conflict", "another process has taken this call over")


_current: ContextVar[Run | None] = ContextVar("mcpsol_paid_run", default=None)


def current_run() -> Run | None:
    """The paid call that this code runs for, if it does: a tool that broadcasts calls its `will_send` first."""
    return _current.get()


#: Runs the tool; True beside the result means that it failed, and a payment not yet settled is not.
RunFunction: TypeAlias = Callable[[Run], Awaitable[tuple[dict[str, Any], bool]]]
#: payment -> what the chain says of its transaction; None where it has none of its own
Witness: TypeAlias = Callable[[Payment], MessageStatus | None]
#: signature -> True landed, False certainly did not and cannot, None not known yet
Landed: TypeAlias = Callable[[str], bool | None]


def witness_of(chain: PaymentChain) -> Witness:
    """A witness of one's own: for sellers whose facilitator is somebody else, and may be wrong or lie."""

    def look(payment: Payment) -> MessageStatus | None:
        text = payment.payload.get("transaction")
        if (
            text is None
            or "voucher" in payment.payload
            or caip2(str(payment.get_network())) != chain.network
        ):
            return None
        try:
            return chain.find(bytes(read_transaction(text)))
        except ChainUnavailable:
            return None

    return look


class Granting(Protocol):
    """Serves calls that a subscription pays for (subscriptions.grants.Grants)."""

    async def call(
        self, gate: Gate, offer: Offer, proof: SIWxPayload, arguments: object, run: RunFunction
    ) -> Reply:
        """One request with a proof of who asks."""


class Gate:
    """Sells calls. Share `executions` (one database) between all replicas.

    `lease` seconds without a sign of life make an unfinished call another's to finish; `wait` is how long a second
    request for a call in progress waits for the first one's answer. `verify_only` never settles (tests and free
    trials). `landed` looks up what tools broadcast. `grants` serves subscribers. `witness` looks whether what the
    facilitator says of a payment is so. *fault* is called with the name of each step, for tests that stop there.
    """

    def __init__(
        self,
        server: x402ResourceServer,
        executions: Executions,
        *,
        verify_only: bool = False,
        lease: float = 120.0,
        wait: float = 10.0,
        landed: Landed | None = None,
        grants: Granting | None = None,
        witness: Witness | None = None,
        on_state: Callable[[str, str, str], None] = lambda _id, _state, _resource: None,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._server, self._executions = server, executions
        self._verify_only, self._lease_ms, self._wait = verify_only, int(lease * 1000), wait
        self._landed, self._on_state, self._fault = landed, on_state, fault
        self._grants, self._witness = grants, witness

    async def call(
        self,
        offer: Offer,
        payment: Payment | None,
        arguments: object,
        run: RunFunction,
        proof: SIWxPayload | None = None,
    ) -> Reply:
        """One request. *payment* None: the answer is what to pay, unless *proof* shows a wallet whose subscription
        grants the call. While the database is away the answer is Refused ("storage_unavailable")."""
        started = time.perf_counter()
        with telemetry.span("paid call", resource=offer.resource.url) as step:
            try:
                if (
                    payment is None
                    and proof is not None
                    and offer.plans
                    and self._grants is not None
                ):
                    reply = await self._grants.call(self, offer, proof, arguments, run)
                else:
                    reply = await self._call(offer, payment, arguments, run)
            except StorageError as error:
                reply = Refused("storage_unavailable", str(error))
            outcome = _outcome(reply)
            step.set(outcome=outcome)
        metrics.observe_call(outcome, time.perf_counter() - started)
        return reply

    async def _call(
        self, offer: Offer, payment: Payment | None, arguments: object, run: RunFunction
    ) -> Reply:
        if payment is None:
            return NotPaid(
                offer.payment_required("Payment required to access this resource"),
                "payment_required",
            )
        try:
            terms, requirements = self._match(offer, payment)
            payment_id, key = self._identity(offer, payment)
        except PaymentError as error:
            return NotPaid(offer.payment_required(str(error)), error.code)
        mark = fingerprint(offer.resource.url, arguments, terms)
        self._state(payment_id, "created", offer)
        owner = str(uuid.uuid4())
        claim = Execution(
            tenant=self._executions.tenant,
            payment_id=payment_id,
            fingerprint=mark,
            payment_key=key,
            resource=offer.resource.url,
            state="verifying",
            owner=owner,
            touched_ms=0,
            network=terms.network,
            asset=terms.asset,
            pay_to=terms.pay_to,
            amount=int(terms.amount),
        )
        # Claimed before it is verified: a repeat's transaction is spent by now. Nothing is done on the claim alone.
        known = await self._executions.database.grouped(
            self._executions.claim, claim, lasting=False
        )
        if known is None:
            self._state(payment_id, "validated", offer)
            self._fault("gate.claimed")
            return await self._first(offer, payment, requirements, payment_id, owner, run)
        return await self._again(
            offer, payment, requirements, known, payment_id, mark, key, owner, run
        )

    async def knows(self, offer: Offer, payment: Payment) -> bool:
        """Was this payment, or its payment id, seen before? False for one that cannot be read."""
        try:
            payment_id, key = self._identity(offer, payment)
        except PaymentError:
            return False
        found = await self._db(self._executions.get, payment_id)
        return found is not None or await self._db(self._executions.by_payment, key) is not None

    # -- reading the request ------------------------------------------------------------------------------------------

    def _match(
        self, offer: Offer, payment: Payment
    ) -> tuple[PaymentRequirements, PaymentRequirements | PaymentRequirementsV1]:
        """(the offer's terms, the same in the payment's protocol version)."""
        if isinstance(payment, PaymentPayloadV1):
            for v1 in offer.v1():
                if v1.scheme == payment.scheme and v1.network == payment.network:
                    terms = next(
                        r
                        for r in offer.accepts
                        if r.scheme == v1.scheme and r.network == caip2(v1.network)
                    )
                    return terms, v1
            raise PaymentError(
                "no_matching_requirements",
                "the payment is of a scheme or network that is not accepted here",
            )
        found = self._server.find_matching_requirements(list(offer.accepts), payment)
        if found is None:
            raise PaymentError(
                "no_matching_requirements",
                "the payment's terms are not among those accepted here now",
            )
        return found, found

    def _identity(self, offer: Offer, payment: Payment) -> tuple[str, str]:
        key = payment_key(payment)
        payment_id = named_id(payment)
        if payment_id is None:
            if offer.payment_id_required:
                raise PaymentError(
                    "payment_id_required",
                    "this resource asks for a payment-identifier, and none came",
                )
            return key, key
        if not isinstance(payment_id, str) or not is_valid_payment_id(payment_id):
            raise PaymentError(
                "payment_id_invalid", "a payment id is 16 to 128 characters of A-Z a-z 0-9 _ -"
            )
        if key.startswith("voucher:"):
            # One that paid for nothing pays for the next call; that it pays once, its channel sees to.
            key = "voucher:" + hashlib.sha256(f"{key}:{payment_id}".encode()).hexdigest()
        return payment_id, key

    def _flow(self, offer: Offer, payment: Payment, requirements: Any) -> str:
        """ "authorization": verified, run, settled. "upfront": settled, run. "escrow": a deposit is settled, the tool
        runs, what was used is settled (X402.md 1.1)."""
        flow = "authorization"
        if not isinstance(payment, PaymentPayloadV1):
            flow = self._server.get_payment_flow(payment, requirements)
        return "upfront" if flow == "authorization" and offer.broadcasts else flow

    async def _required(self, offer: Offer, payment: Payment, error: str) -> PaymentRequired:
        """The 402 body for a payment that does not do, with what its scheme adds to put the payer right."""
        required = offer.payment_required(error)
        if isinstance(payment, PaymentPayloadV1):
            return required
        return await self._server.create_payment_required_response(
            list(required.accepts),
            required.resource,
            error,
            required.extensions,
            payment_payload=payment,
        )

    async def _cancel(self, payment: Payment, requirements: Any, payment_id: str) -> None:
        """The tool failed and nothing is charged: whatever the scheme holds for this call is let go."""
        if isinstance(payment, PaymentPayloadV1):
            return
        context = {"payment_id": payment_id}
        controls = self._server.create_payment_cancellation_dispatcher(
            payment, requirements, transport_context=context
        )
        await controls.cancel(VerifiedPaymentCancelOptions(reason="handler_failed"))

    # -- the two ways through ------------------------------------------------------------------------------------------

    async def _first(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        try:
            with telemetry.span("verify payment", scheme=requirements.scheme):
                verified = await self._server.verify_payment(
                    payment, requirements, transport_context={"payment_id": payment_id}
                )
        except BaseException:  # nothing happened yet, so the id stays free
            with anyio.CancelScope(shield=True):
                await self._db(self._executions.forget, payment_id, owner)
            raise
        if not verified.is_valid:
            await self._db(self._executions.forget, payment_id, owner)
            reason = verified.invalid_reason or "unexpected_verify_error"
            return NotPaid(
                await self._required(offer, payment, verified.invalid_message or reason), reason
            )
        self._state(payment_id, "verified", offer)
        self._fault("gate.verified")
        if self._flow(offer, payment, requirements) != "authorization" and not self._verify_only:
            if not await self._move(
                payment_id, owner, ("verifying",), "settling", payer=verified.payer
            ):
                return _taken()
            return await self._settle_first(offer, payment, requirements, payment_id, owner, run)
        if not await self._move(payment_id, owner, ("verifying",), "running", payer=verified.payer):
            return _taken()
        self._fault("gate.running")
        if verified.skip_handler is not None:  # not a call: the scheme itself answers (a refund)
            run = _answered(verified.skip_handler.body)
        this = Run(self, payment_id, owner)
        result, failed = await self._run(payment, requirements, this, owner, run, paid=False)
        self._fault("gate.ran")
        if failed:  # a failed tool is not charged: the authorization is simply not used
            await self._cancel(payment, requirements, payment_id)
            if payment_id.startswith(
                "voucher:"
            ):  # the next call brings the same voucher, and no id of its own
                await self._db(self._executions.forget, payment_id, owner)
            else:
                await self._move(payment_id, owner, ("running",), "failed", result=result)
            return Answer(result, None)
        if not await self._move(
            payment_id,
            owner,
            ("running",),
            "done" if self._verify_only else "executed",
            result=result,
        ):
            return _taken()
        self._fault("gate.executed")
        if self._verify_only:
            return Answer(result, None)
        return await self._settle_after(offer, payment, requirements, payment_id, owner, result)

    async def _settle_after(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        owner: str,
        result: dict[str, Any],
        *,
        charge: int | None = None,
        resumed: bool = False,
    ) -> Reply:
        if self._verify_only:
            await self._move(payment_id, owner, ("executed",), "done")
            return Answer(result, None)
        settled = await self._settle(
            payment, _charging(requirements, charge), payment_id, "after-handler", resumed
        )
        if not settled.success:
            return await self._not_settled(offer, payment_id, owner, "executed", settled)
        settled = offer.receipted(settled)
        if not await self._move(payment_id, owner, ("executed",), "done", receipt=_json(settled)):
            return _taken()
        self._state(payment_id, "settled", offer)
        self._state(payment_id, "complete", offer)
        return Answer(result, settled)

    async def _settle_first(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        owner: str,
        run: RunFunction,
        *,
        resumed: bool = False,
    ) -> Reply:
        settled = await self._settle(payment, requirements, payment_id, "before-handler", resumed)
        if not settled.success:
            return await self._not_settled(offer, payment_id, owner, "settling", settled)
        settled = offer.receipted(settled)
        if not await self._move(payment_id, owner, ("settling",), "paid", receipt=_json(settled)):
            return _taken()
        self._state(payment_id, "settled", offer)
        self._fault("gate.paid")
        return await self._run_paid(offer, payment, requirements, payment_id, owner, settled, run)

    async def _settle(
        self,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        phase: Literal["before-handler", "after-handler"],
        resumed: bool,
    ) -> SettleResponse:
        started = time.perf_counter()
        with telemetry.span(
            "settle payment", scheme=requirements.scheme, network=str(requirements.network)
        ) as step:
            settled = await self._settled(payment, requirements, payment_id, phase, resumed)
            outcome = "ok" if settled.success else settled.error_reason or "settlement_failed"
            step.set(outcome=outcome)
        said = settled.amount
        amount = int(said if said is not None and said.isdigit() else requirements.get_amount())
        network, asset = str(requirements.network), str(requirements.asset)
        metrics.observe_settlement(
            requirements.scheme, outcome, time.perf_counter() - started, network, asset, amount
        )
        return settled

    async def _settled(
        self,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        phase: Literal["before-handler", "after-handler"],
        resumed: bool,
    ) -> SettleResponse:
        context = {"payment_id": payment_id}
        try:
            settled = await self._server.settle_payment(
                payment, requirements, phase=phase, transport_context=context
            )
        except PaymentError as error:  # a scheme refused before it asked anybody
            settled = SettleResponse(
                success=False,
                error_reason=error.code,
                error_message=str(error),
                transaction="",
                network=requirements.network,
            )
        self._fault("gate.settled")
        settled = await self._witnessed(payment, settled)
        if settled.error_reason != "duplicate_settlement" or not resumed:
            # A duplicate at the first attempt was paid to somebody else's request: it pays for nothing here.
            return settled
        # Taken up again after a crash: the duplicate is our own earlier attempt. Its signature says how that one ended.
        landed: bool | None = True
        if self._landed is not None and settled.transaction:
            landed = await anyio.to_thread.run_sync(self._landed, settled.transaction)
        if landed:
            return settled.model_copy(
                update={"success": True, "error_reason": None, "error_message": None}
            )
        return settled.model_copy(update={"error_reason": "settlement_pending"})

    async def _witnessed(self, payment: Payment, settled: SettleResponse) -> SettleResponse:
        """What a facilitator says, held against the chain where `witness` looks there: a success that did not land is
        none, and a refusal of what did land is no refusal. A duplicate stays one: it may have paid for another call."""
        if self._witness is None or settled.error_reason == "duplicate_settlement":
            return settled
        if settled.success and not settled.transaction:  # nothing was sent: a voucher
            return settled
        seen = await anyio.to_thread.run_sync(self._witness, payment)
        if seen is None:
            return settled
        if seen.state == "landed":
            fair = {
                "success": True,
                "error_reason": None,
                "error_message": None,
                "transaction": seen.signature or "",
            }
            return settled if settled.success else settled.model_copy(update=fair)
        if not settled.success:
            return settled
        gone = seen.state in ("failed", "expired")
        why = "transaction_failed" if gone else "settlement_pending"
        return settled.model_copy(
            update={
                "success": False,
                "error_reason": why,
                "error_message": f"the chain says: {seen.state}",
            }
        )

    async def _not_settled(
        self,
        offer: Offer,
        payment_id: str,
        owner: str,
        state: ExecutionState,
        settled: SettleResponse,
    ) -> Reply:
        if _undecided(settled):
            await self._move(payment_id, owner, (state,), state, receipt=_json(settled))
            return Refused(
                "settlement_pending",
                "the payment is sent but not confirmed yet: repeat this call with the same payment, never a new one",
                settled,
            )
        reason = settled.error_reason or "settlement_failed"
        await self._move(
            payment_id, owner, (state,), "failed", result=None, receipt=_json(settled), error=reason
        )
        return NotPaid(
            offer.payment_required(f"Settlement failed: {settled.error_message or reason}"),
            reason,
            settled,
        )

    async def _run_paid(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        owner: str,
        receipt: SettleResponse | None,
        run: RunFunction,
    ) -> Reply:
        if not await self._move(payment_id, owner, ("paid",), "running"):
            return _taken()
        self._fault("gate.running")
        ceiling = None
        if self._flow(offer, payment, requirements) == "escrow":
            ceiling = int(requirements.get_amount())
        this = Run(self, payment_id, owner, ceiling)
        result, failed = await self._run(payment, requirements, this, owner, run, paid=True)
        self._fault("gate.ran")
        if ceiling is not None:
            charge = 0 if failed else ceiling if this.charged is None else this.charged
            if not await self._move(
                payment_id, owner, ("running",), "executed", result=result, amount=charge
            ):
                return _taken()
            self._fault("gate.executed")
            return await self._settle_after(
                offer, payment, requirements, payment_id, owner, result, charge=charge
            )
        if not await self._move(payment_id, owner, ("running",), "done", result=result):
            return _taken()
        self._state(payment_id, "complete", offer)
        return Answer(result, receipt)

    async def _refund(
        self,
        payment: Payment,
        requirements: Any,
        payment_id: str,
        owner: str,
        *,
        resumed: bool = False,
    ) -> SettleResponse:
        """The tool broke off after the deposit: nothing is charged. The call may be tried again by a new payment."""
        settled = await self._settle(
            payment, _charging(requirements, 0), payment_id, "after-handler", resumed
        )
        if not _undecided(settled):
            values = {"receipt": _json(settled), "error": "tool_failed"}
            await self._move(payment_id, owner, ("executed",), "failed", result=None, **values)
        return settled

    async def alive(
        self, payment_id: str, owner: str, run: RunFunction, this: Run | None = None
    ) -> tuple[dict[str, Any], bool]:
        """Runs the tool, renewing the lease while it does."""

        every = max(self._lease_ms / 4000, 0.05)

        async def breathe() -> None:
            while True:
                try:
                    await self._db(self._executions.touch, payment_id, owner)
                except StorageError:  # the database may be back before the lease ends
                    pass
                await asyncio.sleep(every)

        breathing: list[asyncio.Task[None]] = []  # most tools are done before their first breath
        loop = asyncio.get_running_loop()
        heart = loop.call_later(every, lambda: breathing.append(loop.create_task(breathe())))
        this = this or Run(self, payment_id, owner)
        token = _current.set(this)
        try:
            return await run(this)
        finally:
            _current.reset(token)
            heart.cancel()
            for task in breathing:
                task.cancel()
            if breathing:
                with anyio.CancelScope(shield=True):  # no write of its own comes after the answer's
                    await asyncio.wait(breathing)

    async def _run(
        self,
        payment: Payment,
        requirements: Any,
        this: Run,
        owner: str,
        run: RunFunction,
        *,
        paid: bool,
    ) -> tuple[dict[str, Any], bool]:
        """The same, and what becomes of the call when it is cut short."""
        payment_id = this.payment_id
        try:
            return await self.alive(payment_id, owner, run, this)
        except Unfinished:
            if paid:  # owned by nobody, so that the next request need not wait for a lease to end
                await self._move(payment_id, owner, ("running",), "paid", to_owner=NOBODY)
            else:
                await self._cancel(payment, requirements, payment_id)
                await self._db(self._executions.forget, payment_id, owner)
            raise
        except BaseException as error:  # also a client that went away: what ran is cut short
            with anyio.CancelScope(shield=True):
                if paid and this.ceiling is not None and isinstance(error, Exception):
                    if await self._move(payment_id, owner, ("running",), "executed", amount=0):
                        await self._refund(payment, requirements, payment_id, owner)
                elif paid:
                    await self._move(payment_id, owner, ("running",), "unknown")
                else:  # not charged, so the id stays free
                    await self._cancel(payment, requirements, payment_id)
                    await self._db(self._executions.forget, payment_id, owner)
            raise

    # -- a payment id that was seen before
    # -------------------------------------------------------------------------------

    async def _again(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        known: Execution,
        payment_id: str,
        mark: str,
        key: str,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        if known.payment_id != payment_id:
            return Refused(
                "payment_id_conflict",
                "this payment was given for another call already; a payment pays once",
            )
        if known.fingerprint != mark:
            return Refused(
                "payment_id_conflict",
                "this payment id stands for another request (other arguments or terms)",
            )
        deadline = asyncio.get_running_loop().time() + self._wait
        while True:
            if known.state == "done" and known.result is not None:
                return Answer(known.result, _read(known.receipt), repeated=True)
            if known.state == "failed":
                return await self._after_failure(
                    offer, payment, requirements, known, key, owner, run
                )
            if known.state == "unknown":
                return _unknown(known)
            if await self._db(self._executions.take_over, payment_id, owner, self._lease_ms, known):
                return await self._resume(offer, payment, requirements, known, owner, run)
            receipt = _read(known.receipt)
            # Left open by a request that has its answer ("settlement_pending"): whoever comes first goes on with it.
            left = (
                receipt is not None
                and _undecided(receipt)
                and known.state in ("executed", "settling")
            )
            left = left or known.owner == NOBODY
            if left and await self._db(self._executions.take_over, payment_id, owner, 0, known):
                return await self._resume(offer, payment, requirements, known, owner, run)
            if asyncio.get_running_loop().time() >= deadline:
                return Refused(
                    "in_progress",
                    "this call is being served: repeat it with the same payment in a moment",
                    receipt,
                )
            await asyncio.sleep(0.02)
            found = await self._db(self._executions.get, payment_id)
            if (
                found is None
            ):  # the first attempt was refused and forgotten: this one is the first now
                return await self._retry(offer, payment, requirements, known, key, owner, run)
            known = found

    async def _retry(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        known: Execution,
        key: str,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        claim = replace(known, payment_key=key, state="verifying", owner=owner)
        standing = await self._db(self._executions.claim, claim)
        if standing is None:
            return await self._first(offer, payment, requirements, known.payment_id, owner, run)
        return Refused(
            "in_progress", "this call is being served: repeat it with the same payment in a moment"
        )

    async def _after_failure(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        known: Execution,
        key: str,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        """Nobody was charged. The same payment gets the same answer; a new one for the same id is a new attempt."""
        if key == known.payment_key:
            if known.error is None and known.result is not None:
                return Answer(known.result, None, repeated=True)
            reason = known.error or "settlement_failed"
            failed = _read(known.receipt) if reason != "tool_failed" else None
            return NotPaid(
                offer.payment_required(f"This payment paid for nothing: {reason}"), reason, failed
            )
        if not await self._db(self._executions.take_over, known.payment_id, owner, 0, known):
            return _taken()
        moved = await self._move(
            known.payment_id,
            owner,
            ("failed",),
            "verifying",
            payment_key=key,
            result=None,
            receipt=None,
            error=None,
        )
        return (
            await self._first(offer, payment, requirements, known.payment_id, owner, run)
            if moved
            else _taken()
        )

    async def _resume(
        self,
        offer: Offer,
        payment: Payment,
        requirements: Any,
        known: Execution,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        """This process now owns a call that another one left (ExecutionState says what each state means then)."""
        payment_id = known.payment_id
        if known.state == "verifying":
            return await self._first(offer, payment, requirements, payment_id, owner, run)
        if known.state == "settling":
            return await self._settle_first(
                offer, payment, requirements, payment_id, owner, run, resumed=True
            )
        if known.state == "paid":
            receipt = _read(known.receipt)
            return await self._run_paid(
                offer, payment, requirements, payment_id, owner, receipt, run
            )
        if known.state == "executed":
            is_escrow = self._flow(offer, payment, requirements) == "escrow"
            if known.result is not None:
                charge = known.amount if is_escrow else None
                result = known.result
                return await self._settle_after(
                    offer,
                    payment,
                    requirements,
                    payment_id,
                    owner,
                    result,
                    charge=charge,
                    resumed=True,
                )
            settled = await self._refund(payment, requirements, payment_id, owner, resumed=True)
            return NotPaid(
                offer.payment_required("This payment paid for nothing: tool_failed"),
                "tool_failed",
                settled,
            )
        return await self.decide(known, owner)

    async def decide(self, known: Execution, owner: str) -> Reply:
        """Of a call that ran when its process died, and which *owner* took over: it may have run. What it recorded
        before sending decides; without that nobody can know."""
        landed = None
        if known.signature is not None and self._landed is not None:
            landed = await anyio.to_thread.run_sync(self._landed, known.signature)
        if landed:
            result = {"signature": known.signature, "recovered": True}
            await self._move(known.payment_id, owner, ("running",), "done", result=result)
            return Answer(result, _read(known.receipt), repeated=True)
        await self._move(known.payment_id, owner, ("running",), "unknown")
        return _unknown(known)

    # -- small things
    # ----------------------------------------------------------------------------------------------------

    async def _move(
        self,
        payment_id: str,
        owner: str,
        expected: tuple[ExecutionState, ...],
        to: ExecutionState,
        **values: Any,
    ) -> bool:
        return await self._db(
            partial(self._executions.move, payment_id, owner, expected, to, **values)
        )

    async def _db(self, function: Callable[..., T], *args: Any) -> T:
        return await self._executions.database.grouped(function, *args)

    def _state(self, payment_id: str, state: str, offer: Offer) -> None:
        telemetry.event("payment", state=state, payment_id=payment_id, resource=offer.resource.url)
        self._on_state(payment_id, state, offer.resource.url)


def _answered(body: Any) -> RunFunction:
    """Runs nothing: *body* is the result."""

    async def run(_: Run) -> tuple[dict[str, Any], bool]:
        return body if isinstance(body, dict) else {"content": []}, False

    return run


def _charging(requirements: Any, charge: int | None) -> Any:
    """The requirements with what is charged instead of the ceiling."""
    return (
        requirements if charge is None else requirements.model_copy(update={"amount": str(charge)})
    )


def _json(response: SettleResponse) -> dict[str, Any]:
    return response.model_dump(by_alias=True, exclude_none=True, mode="json")


def _read(receipt: dict[str, Any] | None) -> SettleResponse | None:
    return None if receipt is None else SettleResponse.model_validate(receipt)


def _outcome(reply: Reply) -> str:
    """How a request was answered, in a word."""
    if isinstance(reply, Answer):
        return "repeated" if reply.repeated else "answered"
    return reply.reason if isinstance(reply, NotPaid) else reply.code


def _undecided(settled: SettleResponse) -> bool:
    """Neither paid nor certainly not paid."""
    return not settled.success and settled.error_reason in (
        "settlement_pending",
        "unexpected_settle_error",
    )


def _taken() -> Refused:
    return Refused(
        "in_progress",
        "another request goes on with this call: repeat it with the same payment in a moment",
    )


def _unknown(known: Execution) -> Refused:
    return Refused(
        "outcome_unknown",
        "the server stopped while this call ran, so it may or may not have done its work; it is not run again. "
        "The operator decides (idl2mcp x402 decide); do not pay again for it.",
        _read(known.receipt),
    )

"""Selling calls: one execution and one payment for each payment id, also over crashes, repeats and
replicas.

Knows no transport: MCP and HTTP hand it a payment and a function to run, and translate its reply.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from x402 import x402ResourceServer
from x402.extensions.sign_in_with_x import SIWxPayload

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402 import metrics
from mcpsol_py.x402.protocol.offer import Offer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import (
    Payment,
    fingerprint,
    is_payment_id,
    named_id,
    payment_key,
)
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.owned_row import OwnedRow, TakenOver
from mcpsol_py.x402.selling.paid_call import PaidCall, SharedParts, decide_interrupted
from mcpsol_py.x402.selling.payment_processor import Landed, PaymentProcessor, Witness
from mcpsol_py.x402.selling.replies import (
    in_progress,
    outcome_of,
    payment_taken,
    read_receipt,
    taken_over,
)
from mcpsol_py.x402.selling.tool_run import Run, RunFunction, run_tool
from mcpsol_py.x402.store.executions import Execution, Executions, PaymentTaken

__all__ = ["CallGrants", "PaidCalls"]

#: Seconds between two looks at a call that another request serves.
_POLL = 0.02


@dataclass(frozen=True, slots=True)
class _Request:
    """One request, as `PaidCalls.call` gets it."""

    offer: Offer
    payment: Payment | None = field(repr=False)
    arguments: object
    run: RunFunction
    proof: SIWxPayload | None = field(repr=False)
    continuation: str | None


class CallGrants(Protocol):
    """Serves calls that a subscription pays for (subscriptions.grants.Grants)."""

    async def call(
        self,
        calls: PaidCalls,
        offer: Offer,
        proof: SIWxPayload,
        arguments: object,
        run: RunFunction,
    ) -> Reply:
        """Serve one request with a proof of who asks."""


class PaidCalls:
    """Sells calls. All replicas of a seller share `executions` (one database).

    *server* is the official core, initialised. *verify_only* never settles, for tests and free
    trials. *lease* is how many seconds without a sign of life make an unfinished call another
    request's to finish. *wait* is how many seconds a second request for a call in progress waits
    for the first one's answer.

    *landed* looks up the signature of a transaction that a tool broadcast. *grants* serves
    subscribers. *witness* looks on chain whether a facilitator's answer is true. *facilitators* are
    those of *server*, if there are several: demands then name the fee payer of one that works.
    *on_state* is called with (payment id, state, resource) as a call proceeds, and *fault* with the name of each
    step, for tests that stop there.
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
        grants: CallGrants | None = None,
        witness: Witness | None = None,
        facilitators: Facilitators | None = None,
        on_state: Callable[[str, str, str], None] = lambda _id, _state, _resource: None,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._executions, self._wait, self._grants = executions, wait, grants
        self._facilitators = facilitators
        self._processor = PaymentProcessor(server, landed, witness, fault)
        self._parts = SharedParts(
            processor=self._processor,
            executions=executions,
            verify_only=verify_only,
            lease_ms=int(lease * 1000),
            landed=landed,
            on_state=on_state,
            fault=fault,
            without=lambda offer, payer: self.current(offer, avoid=payer),
        )

    async def call(
        self,
        offer: Offer,
        payment: Payment | None,
        arguments: object,
        run: RunFunction,
        proof: SIWxPayload | None = None,
        *,
        continuation: str | None = None,
    ) -> Reply:
        """Serve one request.

        Without *payment* the answer says what to pay, unless *proof* is of a wallet whose
        subscription grants the call. A payment that was seen before must bring a proof of its payer
        (protocol.repeat_proof), or the answer is Refused("proof_required"). While the database is
        away it is Refused("storage_unavailable").

        *continuation* is the state that the tool gave its caller with a question (Unfinished), and
        that the caller brings back.
        """
        offer = self.current(offer)
        request = _Request(offer, payment, arguments, run, proof, continuation)
        started = time.perf_counter()
        with telemetry.span("paid call", resource=offer.resource.url) as step:
            try:
                reply = await self._reply(request)
            except TakenOver:
                reply = taken_over()
            except StorageError as error:
                reply = Refused("storage_unavailable", str(error))
            outcome = outcome_of(reply)
            step.set(outcome=outcome)
        metrics.observe_call(outcome, time.perf_counter() - started)
        return reply

    def current(self, offer: Offer, *, avoid: str | None = None) -> Offer:
        """Return *offer* with fee payers of facilitators that work now. *avoid*: the fee payer of
        one that has just failed.
        """
        if self._facilitators is None:
            return offer
        self._facilitators.keep_fresh()
        terms_now = partial(self._facilitators.current_terms, avoid=avoid)
        accepts = tuple(map(terms_now, offer.accepts))
        if accepts == offer.accepts:
            return offer
        return replace(offer, accepts=accepts, earlier=(*offer.accepts, *offer.earlier))

    async def knows(self, offer: Offer, payment: Payment) -> bool:
        """Return True if this payment, or its payment id, was seen before. False if it cannot be
        read.
        """
        try:
            payment_id, key = _identity(offer, payment)
        except PaymentError:
            return False
        database, executions = self._executions.database, self._executions
        if await database.grouped(executions.get, payment_id) is not None:
            return True
        return await database.grouped(executions.by_payment, key) is not None

    async def run_granted(
        self, payment_id: str, owner: str, run: RunFunction
    ) -> tuple[dict[str, Any], bool]:
        """Run the tool of a call that a subscription grants, and renew the lease of its row
        meanwhile.
        """
        row = OwnedRow(self._executions, payment_id, owner)
        return await run_tool(row, run, Run(row), self._parts.lease_ms)

    async def decide(self, known: Execution, owner: str) -> Reply:
        """Decide a call that ran when its process died, after *owner* took it over. See
        `decide_interrupted`.
        """
        row = OwnedRow(self._executions, known.payment_id, owner)
        return await decide_interrupted(row, known, self._parts.landed)

    # -- one request ---------------------------------------------------------------------------

    async def _reply(self, request: _Request) -> Reply:
        if request.payment is not None:
            return await self._serve_paid(request, request.payment)
        offer, proof = request.offer, request.proof
        if proof is not None and offer.plans and self._grants is not None:
            return await self._grants.call(
                self, offer, proof, request.arguments, request.run
            )
        required = offer.payment_required("Payment required to access this resource")
        return PaymentRequiredReply(required, "payment_required")

    async def _serve_paid(self, request: _Request, payment: Payment) -> Reply:
        try:
            call = self._read(request, payment)
        except PaymentError as error:
            return PaymentRequiredReply(
                request.offer.payment_required(str(error)), error.code
            )
        call.report("created")
        try:
            known = await call.claim()
            if known is not None:
                return await self._repeat(call, known)
        except PaymentTaken:
            return payment_taken()
        call.report("validated")
        self._parts.fault("call.claimed")
        return await call.begin()

    def _read(self, request: _Request, payment: Payment) -> PaidCall:
        """Make the PaidCall of a request. Raises PaymentError if its payment fits nothing that is
        offered.
        """
        offer = request.offer
        terms, requirements = self._processor.match(offer, payment)
        payment_id, key = _identity(offer, payment)
        return PaidCall(
            parts=self._parts,
            offer=offer,
            payment=payment,
            terms=terms,
            requirements=requirements,
            fingerprint=fingerprint(offer.resource.url, request.arguments, terms),
            payment_key=key,
            row=OwnedRow(self._executions, payment_id, str(uuid.uuid4())),
            run=request.run,
            continuation=request.continuation,
        )

    async def _repeat(self, call: PaidCall, known: Execution) -> Reply:
        """Answer a request whose payment id or payment has the row *known* already.

        Answer from the row if the call has ended, go on with it if it was left, else wait for its
        answer. A call that may have been paid or run is only for the wallet that paid for it.
        """
        conflict = call.conflict(known)
        if conflict is not None:
            return conflict
        deadline = asyncio.get_running_loop().time() + self._wait
        while True:
            refused = call.check_payer(known)
            if refused is not None:
                return refused
            reply = await call.answer_ended(known)
            if reply is not None:
                return reply
            if await call.take_over(known):
                return await call.resume(known)
            if asyncio.get_running_loop().time() >= deadline:
                return in_progress(read_receipt(known.receipt))
            await asyncio.sleep(_POLL)
            found = await call.row.read()
            if found is None:
                return await call.claim_again(known)
            known = found


def _identity(offer: Offer, payment: Payment) -> tuple[str, str]:
    """Return (payment id, payment key). Raises PaymentError (payment_id_required,
    payment_id_invalid).
    """
    key = payment_key(payment)
    payment_id = named_id(payment)
    if payment_id is None:
        if offer.payment_id_required:
            raise PaymentError(
                "payment_id_required",
                "this resource requires a payment-identifier, and the payment has none",
            )
        return key, key
    if not is_payment_id(payment_id):
        raise PaymentError(
            "payment_id_invalid",
            "a payment id is 16 to 128 characters of A-Z a-z 0-9 _ -",
        )
    if key.startswith("voucher:"):
        # A voucher that paid for nothing pays for the next call. Its channel makes sure that it
        # pays once.
        key = "voucher:" + hashlib.sha256(f"{key}:{payment_id}".encode()).hexdigest()
    return payment_id, key

"""Grant calls by a subscription: proved by a signature, counted against the quota, run at most
once.

The proof's nonce identifies the call, as a payment id identifies a paid one, and its row is in the
same table: a repeat of the same proof gets the stored answer, and counts once. Counting and
starting are one transaction.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio
import orjson
from sqlalchemy import Connection
from x402.extensions.sign_in_with_x import SIWxPayload
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.offer import (
    Answer,
    Offer,
    PaymentRequiredReply,
    Refused,
    Reply,
)
from mcpsol_py.x402.protocol.proof import check_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import RunFunction, Unfinished
from mcpsol_py.x402.store.call_states import (
    INTERRUPTED,
    RAN_AND_PAID,
    RUN_FIRST,
    TOOL_FAILED,
    UNFINISHED_GRANT,
)
from mcpsol_py.x402.store.executions import Execution, Executions
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import Subscription
from mcpsol_py.x402.threads import in_thread

__all__ = ["Grants"]

T = TypeVar("T")


class Grants:
    """Serves calls of subscribers. All replicas must share the database.

    *lease* and *wait* as for PaidCalls. *on_chain* reads subscriptions to plans on chain.
    """

    def __init__(
        self,
        store: SubscriptionStore,
        executions: Executions,
        *,
        on_chain: OnChain | None = None,
        lease: float = 120.0,
        wait: float = 10.0,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._store, self._executions, self._on_chain = store, executions, on_chain
        self._lease_ms, self._wait, self._fault = int(lease * 1000), wait, fault

    async def call(
        self,
        paid_calls: PaidCalls,
        offer: Offer,
        proof: SIWxPayload,
        arguments: object,
        run: RunFunction,
    ) -> Reply:
        """Answer one request with a proof.

        A PaymentRequiredReply has the reason why nothing is granted: `invalid_siwx_…`,
        "no_subscription" or "quota_exceeded".
        """
        now = await self._db(self._store.now_ms)
        try:
            wallet = check_proof(
                proof,
                domain=offer.domain,
                uri=offer.resource.url,
                networks=sorted({r.network for r in offer.accepts}),
                arguments=arguments,
                now_ms=now,
            )
        except PaymentError as error:
            return PaymentRequiredReply(offer.payment_required(str(error)), error.code)
        payment_id = (
            "siwx_" + hashlib.sha256(f"{wallet} {proof.nonce}".encode()).hexdigest()
        )
        fingerprint = _fingerprint(offer.resource.url, arguments, wallet)
        call = _GrantedCall(paid_calls, offer, wallet, payment_id, fingerprint, run)
        known, found = await self._db(self._look, call)
        if known is None:
            found = await self._refreshed(found, call)
            if found is None:
                return call.no_subscription()
            owner = str(uuid.uuid4())
            known = await self._db(
                self._executions.claim, self._claim(call, found, owner)
            )
            if known is None:
                self._fault("grants.claimed")
                return await self._run(call, found, owner)
        return await self._repeat(call, known)

    def _claim(self, call: _GrantedCall, found: Subscription, owner: str) -> Execution:
        return Execution(
            tenant=self._executions.tenant,
            payment_id=call.payment_id,
            fingerprint=call.fingerprint,
            payment_key=call.payment_id,
            resource=call.offer.resource.url,
            state="verifying",
            owner=owner,
            touched_ms=0,
            payer=call.wallet,
            network=found.network,
        )

    def _look(self, call: _GrantedCall) -> tuple[Execution | None, Subscription | None]:
        """Return the call's row, or if it has none a subscription that may grant it."""
        known = self._executions.get(call.payment_id)
        if known is not None:
            return known, None
        return None, self._store.usable(call.wallet, call.offer.plans)

    async def _refreshed(
        self, found: Subscription | None, call: _GrantedCall
    ) -> Subscription | None:
        """Return *found*, read again first if it is on chain."""
        if found is None or found.address is None or self._on_chain is None:
            return found
        await in_thread(self._on_chain.refresh, self._store, found)
        return await self._db(self._store.usable, call.wallet, call.offer.plans)

    async def _db(self, function: Callable[..., T], *args: Any) -> T:
        return await self._store.database.grouped(function, *args)

    async def _move(
        self, call: _GrantedCall, owner: str, move: Any, **options: Any
    ) -> bool:
        """Move the call's row to another state. False if it is no longer ours."""
        return await self._db(
            partial(self._executions.move, call.payment_id, owner, move, **options)
        )

    # -- the first attempt

    async def _run(self, call: _GrantedCall, found: Subscription, owner: str) -> Reply:
        """Count the call, run it, and store its answer."""
        counted: list[tuple[int, int, int | None]] = []

        def count(connection: Connection) -> bool:
            use = self._store.use(connection, found.id)
            counted[:] = [] if use is None else [use]
            return use is not None

        if not await self._move(call, owner, RUN_FIRST, also=count):
            return await self._not_granted(call, found, owner)
        self._fault("grants.running")
        start, used, quota = (
            counted[0] if counted else (found.period_from_ms, 0, found.quota)
        )

        def uncount(connection: Connection) -> bool:
            self._store.give_back(connection, found.id, start)
            return True

        try:
            result, failed = await call.paid_calls.run_granted(
                call.payment_id, owner, call.run
            )
        except Unfinished:  # it did nothing yet; the call comes again and counts then
            if await self._move(call, owner, UNFINISHED_GRANT, also=uncount):
                await self._db(self._executions.forget, call.payment_id, owner)
            raise
        except BaseException:
            # Also a client that disconnected. The tool may have done something, so it stays
            # counted.
            with anyio.CancelScope(shield=True):
                await self._move(call, owner, INTERRUPTED)
            raise
        self._fault("grants.ran")
        if failed:  # a failed tool is not charged
            await self._move(call, owner, TOOL_FAILED, result=result, also=uncount)
            return Answer(result, None)
        receipt = _receipt(found, start, used, quota)
        body = receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
        stored = await self._move(
            call, owner, RAN_AND_PAID, result=result, receipt=body
        )
        return Answer(result, receipt) if stored else _in_progress()

    async def _not_granted(
        self, call: _GrantedCall, found: Subscription, owner: str
    ) -> Reply:
        current = await self._db(self._executions.get, call.payment_id)
        if current is None or current.owner != owner:
            return _in_progress()
        await self._db(self._executions.forget, call.payment_id, owner)
        reason = "it has ended"
        if found.quota:
            reason = f"the {found.quota:,} calls of this period are used up"
        return call.refused(f"Subscription {found.id}: {reason}", "quota_exceeded")

    # -- repeats

    async def _repeat(self, call: _GrantedCall, known: Execution) -> Reply:
        """Answer a repeat of a proof: with the stored answer, or by taking a dead attempt over."""
        if known.fingerprint != call.fingerprint:
            return Refused(
                "payment_id_conflict",
                "this proof was used for another request; sign a new one",
            )
        deadline = asyncio.get_running_loop().time() + self._wait
        while True:
            stored = _stored_reply(known)
            if stored is not None:
                return stored
            owner = str(uuid.uuid4())
            if await self._db(
                self._executions.take_over,
                known.payment_id,
                owner,
                self._lease_ms,
                known,
            ):
                return await self._resume(call, known, owner)
            if asyncio.get_running_loop().time() >= deadline:
                return _in_progress()
            await asyncio.sleep(0.02)
            current = await self._db(self._executions.get, known.payment_id)
            if current is None:  # the first attempt was not granted
                return call.refused(
                    "this proof was not granted; sign a new one", "quota_exceeded"
                )
            known = current

    async def _resume(self, call: _GrantedCall, known: Execution, owner: str) -> Reply:
        """Continue an attempt whose process died."""
        if known.state != "verifying":
            return await call.paid_calls.decide(known, owner)
        usable = await self._db(self._store.usable, call.wallet, call.offer.plans)
        found = await self._refreshed(usable, call)
        if found is None:
            await self._db(self._executions.forget, known.payment_id, owner)
            return call.no_subscription()
        return await self._run(call, found, owner)


@dataclass(frozen=True, slots=True)
class _GrantedCall:
    """A call with a valid proof."""

    paid_calls: PaidCalls
    offer: Offer
    wallet: str
    payment_id: str
    fingerprint: str
    run: RunFunction

    def refused(self, message: str, reason: str) -> PaymentRequiredReply:
        return PaymentRequiredReply(self.offer.payment_required(message), reason)

    def no_subscription(self) -> PaymentRequiredReply:
        message = f"{self.wallet} has no subscription that grants this"
        return self.refused(message, "no_subscription")


def _stored_reply(known: Execution) -> Reply | None:
    """Return the reply to a call that has ended, None if it has not."""
    if known.state in ("done", "failed") and known.result is not None:
        receipt = None
        if known.receipt is not None:
            receipt = SettleResponse.model_validate(known.receipt)
        return Answer(known.result, receipt, repeated=True)
    return _outcome_unknown() if known.state == "unknown" else None


def _fingerprint(resource: str, arguments: object, wallet: str) -> str:
    request = [resource, arguments, ["subscription", wallet]]
    text = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()


def _receipt(
    found: Subscription, start: int, used: int, quota: int | None
) -> SettleResponse:
    """Return a receipt without a transaction. Its extension `subscription` has the count."""
    info: dict[str, Any] = {
        "id": found.id,
        "plan": found.plan_id,
        "periodFrom": start,
        "used": used,
    }
    if quota is not None:
        info["quota"] = quota
    return SettleResponse(
        success=True,
        transaction="",
        network=found.network,
        payer=found.subscriber,
        amount="0",
        extensions={"subscription": {"info": info}},
    )


def _in_progress() -> Refused:
    return Refused(
        "in_progress",
        "this call is in progress; repeat it with the same proof in a moment",
    )


def _outcome_unknown() -> Refused:
    return Refused(
        "outcome_unknown",
        "the server stopped while this call ran, so it may or may not have done its work; it is "
        "not run again. Sign a new proof to repeat the call.",
    )

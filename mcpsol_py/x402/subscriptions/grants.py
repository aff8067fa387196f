"""Calls that a subscription pays for: proved by a signature, counted against the period's quota, run at most once.

The proof's nonce names the call, as a payment id names a paid one, and its row is in the same table: a repeat of the
same proof gets the stored answer, and counts once. Counting and starting are one transaction.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import orjson
from sqlalchemy import Connection
from x402.extensions.sign_in_with_x import SIWxPayload
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.offer import Answer, Offer, PaymentRequiredReply, Refused, Reply
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
from mcpsol_py.x402.subscriptions.store import SubscriptionBook
from mcpsol_py.x402.subscriptions.terms import Subscription

__all__ = ["Grants"]

T = TypeVar("T")


class Grants:
    """Serves calls to who has a subscription. Share the database between all replicas.

    *lease* and *wait* as for PaidCalls; *on_chain* reads subscriptions on chain, where plans are there.
    """

    def __init__(
        self,
        book: SubscriptionBook,
        executions: Executions,
        *,
        on_chain: OnChain | None = None,
        lease: float = 120.0,
        wait: float = 10.0,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._book, self._executions, self._on_chain = book, executions, on_chain
        self._lease_ms, self._wait, self._fault = int(lease * 1000), wait, fault

    async def call(
        self,
        paid_calls: PaidCalls,
        offer: Offer,
        proof: SIWxPayload,
        arguments: object,
        run: RunFunction,
    ) -> Reply:
        """One request with a proof. 402 says why it grants nothing: `invalid_siwx_…`, "no_subscription",
        "quota_exceeded"."""
        networks = sorted({r.network for r in offer.accepts})
        now = await self._db(self._book.now_ms)
        try:
            wallet = check_proof(
                proof,
                domain=offer.domain,
                uri=offer.resource.url,
                networks=networks,
                arguments=arguments,
                now_ms=now,
            )
        except PaymentError as error:
            return PaymentRequiredReply(offer.payment_required(str(error)), error.code)
        payment_id = "siwx_" + hashlib.sha256(f"{wallet} {proof.nonce}".encode()).hexdigest()
        mark = _fingerprint(offer.resource.url, arguments, wallet)
        known, found = await self._db(self._look, payment_id, wallet, offer.plans)
        if known is None:
            found = await self._fresh(found, wallet, offer.plans)
            if found is None:
                return PaymentRequiredReply(
                    offer.payment_required(f"{wallet} has no subscription for this"),
                    "no_subscription",
                )
            owner = str(uuid.uuid4())
            claim = Execution(
                tenant=self._executions.tenant,
                payment_id=payment_id,
                fingerprint=mark,
                payment_key=payment_id,
                resource=offer.resource.url,
                state="verifying",
                owner=owner,
                touched_ms=0,
                payer=wallet,
                network=found.network,
            )
            known = await self._db(self._executions.claim, claim)
            if known is None:
                self._fault("grants.claimed")
                return await self._first(paid_calls, offer, found, payment_id, owner, run)
        return await self._again(paid_calls, offer, wallet, known, mark, run)

    def _look(
        self, payment_id: str, wallet: str, plans: tuple[str, ...]
    ) -> tuple[Execution | None, Subscription | None]:
        known = self._executions.get(payment_id)
        return known, None if known is not None else self._book.usable(wallet, plans)

    async def _fresh(
        self, found: Subscription | None, wallet: str, plans: tuple[str, ...]
    ) -> Subscription | None:
        """What stands on chain is read there first."""
        if found is not None and found.address is not None and self._on_chain is not None:
            await _thread(self._on_chain.refresh, self._book, found)
            found = await self._db(self._book.usable, wallet, plans)
        return found

    async def _db(self, function: Callable[..., T], *args: Any) -> T:
        return await self._book.database.grouped(function, *args)

    async def _first(
        self,
        paid_calls: PaidCalls,
        offer: Offer,
        found: Subscription,
        payment_id: str,
        owner: str,
        run: RunFunction,
    ) -> Reply:
        counted: list[tuple[int, int, int | None]] = []

        def count(connection: Connection) -> bool:
            use = self._book.use(connection, found.id)
            if use is not None:
                counted[:] = [use]
            return use is not None

        if not await self._db(
            partial(self._executions.move, payment_id, owner, RUN_FIRST, also=count)
        ):
            standing = await self._db(self._executions.get, payment_id)
            if standing is None or standing.owner != owner:
                return _taken()
            await self._db(self._executions.forget, payment_id, owner)
            reason = (
                f"the {found.quota:,} calls of this period are used up"
                if found.quota
                else "it has ended"
            )
            return PaymentRequiredReply(
                offer.payment_required(f"Subscription {found.id}: {reason}"), "quota_exceeded"
            )
        self._fault("grants.running")
        start, used, quota = counted[0] if counted else (found.period_from_ms, 0, found.quota)
        try:
            result, failed = await paid_calls.run_granted(payment_id, owner, run)
        except Unfinished:  # it did nothing yet: the call comes again, and counts then
            undo = partial(self._undo, found.id, start)
            if await self._db(
                partial(self._executions.move, payment_id, owner, UNFINISHED_GRANT, also=undo)
            ):
                await self._db(self._executions.forget, payment_id, owner)
            raise
        except (
            BaseException
        ):  # also a client that went away. It may have done something, so it stays counted.
            with anyio.CancelScope(shield=True):
                await self._db(partial(self._executions.move, payment_id, owner, INTERRUPTED))
            raise
        self._fault("grants.ran")
        if failed:  # a failed tool is not charged
            undo = partial(self._undo, found.id, start)
            await self._db(
                partial(
                    self._executions.move,
                    payment_id,
                    owner,
                    TOOL_FAILED,
                    result=result,
                    also=undo,
                )
            )
            return Answer(result, None)
        receipt = _receipt(found, start, used, quota)
        body = receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
        moved = partial(
            self._executions.move,
            payment_id,
            owner,
            RAN_AND_PAID,
            result=result,
            receipt=body,
        )
        return Answer(result, receipt) if await self._db(moved) else _taken()

    def _undo(self, subscription_id: str, start: int, connection: Connection) -> bool:
        self._book.give_back(connection, subscription_id, start)
        return True

    async def _again(
        self,
        paid_calls: PaidCalls,
        offer: Offer,
        wallet: str,
        known: Execution,
        mark: str,
        run: RunFunction,
    ) -> Reply:
        if known.fingerprint != mark:
            return Refused(
                "payment_id_conflict",
                "this proof was given for another request already; sign a new one",
            )
        deadline = asyncio.get_running_loop().time() + self._wait
        while True:
            receipt = (
                None if known.receipt is None else SettleResponse.model_validate(known.receipt)
            )
            if known.state in ("done", "failed") and known.result is not None:
                return Answer(known.result, receipt, repeated=True)
            if known.state == "unknown":
                return _unknown()
            owner = str(uuid.uuid4())
            if await self._db(
                self._executions.take_over, known.payment_id, owner, self._lease_ms, known
            ):
                if known.state != "verifying":
                    return await paid_calls.decide(known, owner)
                found = await self._fresh(
                    await self._db(self._book.usable, wallet, offer.plans), wallet, offer.plans
                )
                if found is None:
                    await self._db(self._executions.forget, known.payment_id, owner)
                    return PaymentRequiredReply(
                        offer.payment_required(f"{wallet} has no subscription for this"),
                        "no_subscription",
                    )
                return await self._first(paid_calls, offer, found, known.payment_id, owner, run)
            if asyncio.get_running_loop().time() >= deadline:
                return _taken()
            await asyncio.sleep(0.02)
            standing = await self._db(self._executions.get, known.payment_id)
            if standing is None:  # the first attempt was granted nothing
                return PaymentRequiredReply(
                    offer.payment_required("this proof was granted nothing: sign a new one"),
                    "quota_exceeded",
                )
            known = standing


async def _thread(function: Callable[..., T], *args: Any) -> T:
    return await anyio.to_thread.run_sync(partial(function, *args))


def _fingerprint(resource: str, arguments: object, wallet: str) -> str:
    told = orjson.dumps(
        [resource, arguments, ["subscription", wallet]], option=orjson.OPT_SORT_KEYS
    )
    return hashlib.sha256(told).hexdigest()


def _receipt(found: Subscription, start: int, used: int, quota: int | None) -> SettleResponse:
    """Nothing moved, so there is no transaction; what was counted stands in the extension `subscription`."""
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


def _taken() -> Refused:
    return Refused(
        "in_progress", "this call is being served: repeat it with the same proof in a moment"
    )


def _unknown() -> Refused:
    return Refused(
        "outcome_unknown",
        "the server stopped while this call ran, so it may or may not have done its work; it is not run again. "
        "Sign a new proof to make the call anew.",
    )

"""Paying for one logical call at most once, within a budget; MCP and HTTP clients (buyer.py, http_buyer.py) stand on
it.

A call that costs nothing goes through untouched. A demand is paid once: the price is checked, the amount reserved, the
payment signed, kept, and sent. If the answer does not come, the same payment is sent again, never a second one: the
budget keeps it under the call's payment id, over crashes and restarts.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import anyio.to_thread
import orjson
from x402 import x402Client
from x402.extensions.payment_identifier import (
    PAYMENT_IDENTIFIER,
    append_payment_identifier_to_extensions,
)
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements, SettleResponse
from x402.schemas.hooks import PaymentResponseContext
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1, PaymentRequirementsV1

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError
from mcpsol_py.names import clean_text
from mcpsol_py.x402 import metrics
from mcpsol_py.x402.buying.budget import Budget, Spending
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.transaction import read_transaction
from mcpsol_py.x402.protocol.mcp_wire import Demand, Dialect, parse_payment
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.payment_ids import payment_key

__all__ = [
    "REFUSALS",
    "Asked",
    "Bought",
    "Payer",
    "Purses",
    "Selector",
    "cheapest",
    "reconcile",
    "vouchers_first",
]

R = TypeVar("R")
Requirement = PaymentRequirements | PaymentRequirementsV1
Payment = PaymentPayload | PaymentPayloadV1
#: Picks one of the requirements that can be met; None pays nothing.
Selector = Callable[[Sequence[Requirement]], Requirement | None]

#: What the chain proves of a payment's charge, in base units; None: nothing (yet).
Proof = Callable[[Payment], int | None]

#: Refusals before anything was signed: another payer may try.
UNSIGNED = (
    "NO_REQUIREMENTS",
    "ASSET_NOT_ALLOWED",
    "PAYEE_NOT_ALLOWED",
    "AMOUNT_EXCEEDS_MAX",
    "BUDGET_EXCEEDED",
    "DEPOSIT_NOT_ALLOWED",
    "NO_DELEGATION",
    "DELEGATION_EXPIRED",
)
#: What a seller says when the same payment should be asked for again (gate.Refused).
_AGAIN = ("in_progress", "settlement_pending", "storage_unavailable")
#: All that a seller of ours says which is neither an answer nor a demand (gate.Refused).
REFUSALS = (*_AGAIN, "payment_id_conflict", "outcome_unknown")


def cheapest(options: Sequence[Requirement]) -> Requirement | None:
    """The first of the lowest amount."""
    return min(options, key=lambda r: int(r.get_amount()), default=None)


def vouchers_first(options: Sequence[Requirement]) -> Requirement | None:
    """Vouchers over a channel where they are taken, since they cost no transaction; else the cheapest."""
    return cheapest([r for r in options if r.scheme == "batch-settlement"]) or cheapest(options)


@dataclass(frozen=True, slots=True)
class Asked(Generic[R]):
    """What came of one request: a `result`, or a `demand` to pay. `lost`: no answer came, for this reason.

    `refused`: the seller neither asks for payment nor answers (gate.Refused's code), with its words in `message`.
    """

    result: R | None = None
    demand: Demand | None = None
    receipt: SettleResponse | None = None
    refused: str | None = None
    message: str = ""
    lost: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Bought(Generic[R]):
    """A call's result. `receipt` None: nothing was charged. `repeated`: it was paid for before, and `amount` is 0.

    `payment_id` names the call in the budget's history."""

    result: R
    receipt: SettleResponse | None = None
    amount: int = 0
    asset: str | None = None
    payment_id: str | None = None
    repeated: bool = False


#: Makes the request, with a payment (in the seller's dialect) or without.
Ask = Callable[[Payment | None, Dialect], Awaitable[Asked[R]]]


class Payer:
    """Pays demands. *signer* makes the payments: the official core's client, with a scheme registered for each network.
    Its own spend controls are switched off, since *budget* stands in their place. *patience*: seconds to go on asking
    with one payment.
    """

    def __init__(
        self,
        signer: x402Client,
        budget: Budget,
        *,
        select: Selector = cheapest,
        patience: float = 30.0,
        proofs: Mapping[str, Proof] = MappingProxyType({}),
    ) -> None:
        """*proofs*: by scheme, what the chain proves of a payment's charge (UptoClient.charged). A seller's word that
        it took less than it could is never booked."""
        self._signer, self.budget = signer, budget
        self._select, self._patience, self._proofs = select, patience, dict(proofs)
        self._turns: dict[tuple[str, ...], asyncio.Lock] = {}
        signer.set_spend_controls(False)

    async def call(
        self,
        ask: Ask[R],
        request: object,
        resource: str,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> Bought[R]:
        """Asks, pays what is demanded (at most *max_amount* base units), and asks again with the payment.

        *request* is what is asked for, JSON-safe: a payment id stands for one request. *payment_id* makes repeats of
        one logical call one: give the same for each try, over restarts too. Raises PaymentError: AMOUNT_EXCEEDS_MAX,
        BUDGET_EXCEEDED and the budget's others (nothing signed); NO_REQUIREMENTS (no way to pay that this wallet has);
        PAYMENT_REJECTED, SETTLEMENT_FAILED (the seller did not take the payment, or asks for more now: it is not paid
        twice); OUTCOME_UNKNOWN (sent; no answer that says more: call again with the same payment id).
        """
        with telemetry.span("pay", resource=clean_text(resource, 200)) as step:
            try:
                done = await self._call(ask, request, resource, max_amount, payment_id)
            except PaymentError as error:
                step.set(outcome=error.code)
                metrics.observe_payment(error.code)
                raise
            outcome = "repeated" if done.repeated else "free" if done.receipt is None else "paid"
            step.set(outcome=outcome)
        metrics.observe_payment(outcome)
        return done

    async def _call(
        self,
        ask: Ask[R],
        request: object,
        resource: str,
        max_amount: int | None,
        payment_id: str | None,
    ) -> Bought[R]:
        call_id = payment_id or "pay_" + secrets.token_hex(16)
        mark = hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()
        known: Spending | None = await _thread(self.budget.get, call_id) if payment_id else None
        if (
            known is not None and known.payment is not None
        ):  # a repeat, perhaps after a restart: the same payment again
            if known.request != mark:
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT", "this payment id stands for another request already"
                )
            done = await self._present(known, "object", ask)
            return replace(done, amount=0, repeated=True) if known.state == "spent" else done
        first = await ask(None, "object")
        if first.demand is None:
            if first.result is None:
                raise PaymentError("PAY_FAILED", first.message or "no answer") from first.lost
            return Bought(first.result)
        chosen = self._choose(first.demand)
        spending = Spending(
            wallet=self.budget.wallet,
            payment_id=call_id,
            session=self.budget.session,
            network=caip2(str(chosen.network)),
            asset=chosen.asset,
            amount=_amount(chosen),
            pay_to=chosen.pay_to,
            resource=_resource(first.demand) or resource,
            request=mark,
        )
        held: Spending = await _thread(lambda: self.budget.reserve(spending, max_amount=max_amount))
        if held.payment is None and _terms(held) != _terms(spending):
            # Another call of this id, or one that was killed, holds another price: what is signed is what was reserved.
            raise PaymentError(
                "PAYMENT_ID_CONFLICT", "this payment id is held for other terms than are asked now"
            )
        async with self._turn(chosen):
            if held.payment is None:
                held = await self._sign(held, first.demand, chosen)
            return await self._present(held, first.demand.dialect, ask, first.demand)

    @asynccontextmanager
    async def _turn(self, chosen: Requirement) -> AsyncIterator[None]:
        """Vouchers of one channel follow on each other, so calls to one payee take turns. Between processes the
        seller's correction does what this does here."""
        if chosen.scheme != "batch-settlement":
            yield
            return
        key = (
            str(chosen.network),
            chosen.asset,
            chosen.pay_to,
            str((chosen.extra or {}).get("feePayer")),
        )
        async with self._turns.setdefault(key, asyncio.Lock()):
            yield

    # -- one step each ------------------------------------------------------------------------------------------------

    def _choose(self, demand: Demand) -> Requirement:
        chosen = self._select([r for r in demand.required.accepts if self._can_pay(r)])
        if chosen is None:
            asked = ", ".join(
                f"{r.scheme} on {r.network} of {r.asset}" for r in demand.required.accepts[:5]
            )
            raise PaymentError(
                "NO_REQUIREMENTS", f"nothing that is asked can be paid by this wallet: {asked}"
            )
        return chosen

    def _can_pay(self, requirement: Requirement) -> bool:
        version = 1 if isinstance(requirement, PaymentRequirementsV1) else 2
        registered = self._signer.get_registered_schemes().get(version, [])
        return (
            any(
                r["scheme"] == requirement.scheme and r["network"] == requirement.network
                for r in registered
            )
            and requirement.asset in self.budget.limits.assets
            and _amount(requirement) > 0
        )

    async def _sign(self, held: Spending, demand: Demand, chosen: Requirement) -> Spending:
        required = demand.required.model_copy(update={"accepts": [chosen]})
        try:
            payment = await self._signer.create_payment_payload(required)
            if isinstance(required, PaymentRequired) and required.extensions:
                extensions = dict(required.extensions)
                if PAYMENT_IDENTIFIER in extensions:
                    append_payment_identifier_to_extensions(extensions, held.payment_id)
                payment = payment.model_copy(update={"extensions": extensions})
        except BaseException:  # nothing left this process: the amount is free again
            await _thread(self.budget.abandon, held.payment_id)
            raise
        body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
        # Of two calls with one payment id the first to be kept counts: the other one's payment is never sent.
        keep = partial(
            self.budget.signed,
            held.payment_id,
            body,
            payment_key(payment),
            instead_of=held.payment_key,
        )
        await _thread(keep)
        kept: Spending | None = await _thread(self.budget.get, held.payment_id)
        assert kept is not None  # signed() wrote it
        return kept

    async def _present(
        self,
        held: Spending,
        dialect: Dialect,
        ask: Ask[R],
        demand: Demand | None = None,
        corrections: int = 3,
    ) -> Bought[R]:
        """Sends the payment, again if no answer says how it ended, and books what came of it."""
        assert held.payment is not None  # callers hold a signed one
        payment = parse_payment(held.payment)
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            asked = await ask(payment, dialect)
            corrected = await self._tell(payment, asked)
            charged = await self._book(held, payment, asked.receipt)
            if asked.demand is not None:
                price = _price(held, asked.demand)
                if corrected and corrections and demand is not None and price is not None:
                    # The seller showed by our own signature that this voucher does not follow: sign the one that does.
                    held = await self._sign(held, asked.demand, price)
                    return await self._present(held, dialect, ask, demand, corrections - 1)
                raise self._rejected(held, asked.demand, asked.receipt)
            if asked.refused is not None and asked.refused not in _AGAIN:
                raise PaymentError(
                    asked.refused.upper(),
                    f"the seller refused: {asked.message} (payment {held.payment_id})",
                )
            if asked.result is not None and asked.refused is None:
                # Without a receipt it is not charged so far, but the payment is out until it expires: see reconcile().
                return Bought(asked.result, asked.receipt, charged, held.asset, held.payment_id)
            if asyncio.get_running_loop().time() >= deadline:
                raise PaymentError(
                    "OUTCOME_UNKNOWN",
                    f"payment {held.payment_id} is out; no answer says how it ended: call again with this payment id",
                ) from asked.lost
            await asyncio.sleep(0.25)

    async def _book(self, held: Spending, payment: Payment, receipt: SettleResponse | None) -> int:
        """Books a receipt; what was charged, in base units."""
        if receipt is None or not receipt.success:
            return 0
        proof = self._proofs.get(payment.get_scheme())
        proved: int | None = await _thread(proof, payment) if proof is not None else None
        amount = held.amount if proved is None else min(proved, held.amount)
        await _thread(
            partial(self.budget.spent, held.payment_id, receipt.transaction, amount=amount)
        )
        return amount

    async def _tell(self, payment: Payment, asked: Asked[R]) -> bool:
        """Tells the scheme what came of its payment, by the official core's hook. True: it was put right, and would
        sign another one now."""
        if isinstance(payment, PaymentPayloadV1) or (
            asked.receipt is None and asked.demand is None
        ):
            return False
        required = asked.demand.required if asked.demand is not None else None
        context = PaymentResponseContext(payment, payment.accepted, asked.receipt, required)
        return await self._signer.handle_payment_response(context) is not None

    def _rejected(
        self, held: Spending, again: Demand, receipt: SettleResponse | None
    ) -> PaymentError:
        """Asked to pay again. Never done by itself: the seller holds a signed payment, and may have raised its
        price.
        """
        price = min(
            (_amount(r) for r in again.required.accepts if r.asset == held.asset), default=0
        )
        raised = (
            f" It asks {price:,} base units now, {held.amount:,} before."
            if price > held.amount
            else ""
        )
        failed = receipt is not None and not receipt.success
        reason = (
            receipt.error_reason
            if receipt is not None and receipt.error_reason
            else again.required.error
        )
        return PaymentError(
            "SETTLEMENT_FAILED" if failed else "PAYMENT_REJECTED",
            f"the seller did not take payment {held.payment_id}: {reason or 'no reason given'}.{raised}",
        )


def _terms(spending: Spending) -> tuple[str, str, str, int]:
    return spending.network, spending.asset, spending.pay_to, spending.amount


def _price(held: Spending, demand: Demand) -> Requirement | None:
    """The terms that this spending was reserved for, in a demand that asks no more."""
    for r in demand.required.accepts:
        terms = (caip2(str(r.network)), r.asset, r.pay_to, _amount(r), r.scheme)
        if terms == (held.network, held.asset, held.pay_to, held.amount, "batch-settlement"):
            return r
    return None


class Purses:
    """Several payers in order of priority: each call is paid by the first that can, within its own limits.

    One that holds this payment id already goes on with it. Buyers take it where they take a Payer.
    """

    def __init__(self, payers: Sequence[Payer]) -> None:
        if not payers:
            raise PaymentError("NO_REQUIREMENTS", "no payer is configured")
        self._payers = list(payers)

    async def call(
        self,
        ask: Ask[R],
        request: object,
        resource: str,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> Bought[R]:
        """As Payer.call. What it raises where none can pay is the first one's reason."""
        call_id = payment_id or "pay_" + secrets.token_hex(16)
        refused: PaymentError | None = None
        for payer in await self._order(payment_id):
            try:
                return await payer.call(
                    ask, request, resource, max_amount=max_amount, payment_id=call_id
                )
            except PaymentError as error:
                if error.code not in UNSIGNED:
                    raise
                refused = refused or error
        assert refused is not None  # there is at least one payer
        raise refused

    async def _order(self, payment_id: str | None) -> list[Payer]:
        """The payer that signed for this id before comes alone: no other may pay for it again."""
        if payment_id is not None:
            for payer in self._payers:
                known: Spending | None = await _thread(payer.budget.get, payment_id)
                if known is not None and known.state != "released":
                    return [payer]
        return self._payers


async def reconcile(budget: Budget, chain: PaymentChain) -> int:
    """Books payments that got no answer: landed ones as spent, those that can no longer land as released. Returns how
    many.
    """
    settled = 0
    for row in await _thread(budget.open):
        payload = (row.payment or {}).get("payload", {})
        text = payload.get("transaction", payload.get("openTransaction"))
        if text is None:
            continue
        found = await _thread(chain.find, bytes(read_transaction(text)))
        if found.state == "landed":
            await _thread(budget.spent, row.payment_id, found.signature)
        elif found.state in ("failed", "expired"):
            await _thread(budget.release, row.payment_id)
        else:
            continue
        settled += 1
    return settled


async def _thread(function: Callable[..., Any], *args: Any) -> Any:
    return await anyio.to_thread.run_sync(lambda: function(*args))


def _amount(requirement: Requirement) -> int:
    text = requirement.get_amount()
    return int(text) if text.isascii() and text.isdigit() else 0


def _resource(demand: Demand) -> str | None:
    required = demand.required
    if isinstance(required, PaymentRequiredV1):
        return required.accepts[0].resource
    return required.resource.url if required.resource is not None else None

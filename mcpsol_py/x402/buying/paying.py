"""Pay for one logical call at most once, within a budget. The MCP and HTTP buyers build on this
module.

A call that costs nothing passes through. If the seller demands payment, the price is checked, the
amount reserved, the payment signed, stored, and sent. If no answer comes, the same payment is sent
again, never a second one: the budget keeps it under the call's payment id, across crashes and
restarts.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import orjson
from anyio import CancelScope
from x402 import x402Client
from x402.extensions.payment_identifier import (
    PAYMENT_IDENTIFIER,
    append_payment_identifier_to_extensions,
)
from x402.schemas import PaymentRequired, SettleResponse
from x402.schemas.hooks import PaymentResponseContext
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1, PaymentRequirementsV1

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError
from mcpsol_py.names import clean_text
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402 import metrics
from mcpsol_py.x402.buying.budget import (
    Budget,
    ReadSources,
    Spending,
    voucher_channel,
    voucher_sum,
)
from mcpsol_py.x402.buying.outcomes import (
    REFUSALS,
    RETRY_REFUSALS,
    Ask,
    AskOutcome,
    Bought,
    Payment,
    Requirement,
    Selector,
    cheapest,
    vouchers_first,
)
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.channels.batch_client import corrected_sum
from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.channels.upto_client import UptoClient, ceiling_charge
from mcpsol_py.x402.exact import received, source_account
from mcpsol_py.x402.exact.source_account import SourceAccount
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.mcp_wire import Demand, Dialect, parse_payment
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.payment_ids import (
    check_payment_id,
    payment_key,
    transaction_text,
)
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.protocol.proof import MessageSigner
from mcpsol_py.x402.protocol.repeat_proof import PROOF_REQUIRED, with_repeat_proof
from mcpsol_py.x402.threads import in_thread

__all__ = [
    "REFUSALS",
    "AskOutcome",
    "Bought",
    "CallPayer",
    "Payment",
    "Place",
    "Selector",
    "PaymentSigner",
    "Wallets",
    "cheapest",
    "reconcile",
    "vouchers_first",
]

R = TypeVar("R")

#: Returns what the chain proves of a payment's charge, in base units; None if it proves nothing
#: (yet).
ChargeProof = Callable[[Payment], int | None]
#: Reads the token accounts that can pay with a token (a mint). Raises PaymentError, ChainUnavailable.
SourcesOf = Callable[[str], Sequence[SourceAccount]]


@dataclass(frozen=True, slots=True)
class PaymentSigner:
    """Makes payments: the official core's client, with a scheme registered for each network.

    `checks`: by scheme, a function that raises PaymentError for requirements that this signer
    cannot meet now. It signs nothing.
    """

    core: x402Client
    checks: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)


#: Refusals before anything was signed: another payer may try.
UNSIGNED = (
    "NO_REQUIREMENTS",
    "ASSET_NOT_ALLOWED",
    "PAYEE_NOT_ALLOWED",
    "AMOUNT_EXCEEDS_MAX",
    "BUDGET_EXCEEDED",
    "DEPOSIT_NOT_ALLOWED",
    "INVALID_REQUIREMENT",
    "invalid_payment_requirements",
    "network_mismatch",
    "payee_account_missing",
    *received.REFUSALS,
    *source_account.REFUSALS,
)
#: How often a voucher is signed anew because the seller showed that the last one did not follow.
_CORRECTIONS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call goes: the host, and the tool of an MCP server. The history names both."""

    host: str = ""
    tool: str = ""


_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class _Call(Generic[R]):
    """One logical call: how to make the request, and what identifies it."""

    ask: Ask[R]
    id: str
    request_hash: str
    resource: str
    place: Place
    max_amount: int | None


class CallPayer:
    """Pays for calls whose sellers demand it.

    *signer* makes the payments. The official core's own spend controls are switched off, because
    *budget* replaces them. *select* picks one of the ways to pay. *patience*: how many seconds to
    repeat a request with one payment.
    """

    def __init__(
        self,
        signer: PaymentSigner | x402Client,
        budget: Budget,
        *,
        sources: Mapping[str, SourcesOf] = MappingProxyType({}),
        by_account: Mapping[str, PaymentSigner] = MappingProxyType({}),
        select: Selector = cheapest,
        patience: float = 30.0,
        proofs: Mapping[str, ChargeProof] = MappingProxyType({}),
        wallet: MessageSigner | None = None,
    ) -> None:
        """*wallet* is the payer's key. It proves to a seller, which must not give a paid answer to
        anybody else, that a repeated request is the payer's.

        *sources*: by scheme, the token accounts that its payments come from. *by_account*: the
        signers of those that are not the wallet's own.

        *proofs*: by scheme, a function that returns what the chain proves of a payment's charge
        (UptoClient.charged). A seller's claim that it took less than the maximum is never booked.
        Without a proof the maximum stays reserved, and `reconcile` books the settled amount.
        """
        self._signer = (
            signer if isinstance(signer, PaymentSigner) else PaymentSigner(signer)
        )
        self._sources, self._by_account, self.budget = (
            dict(sources),
            dict(by_account),
            budget,
        )
        self._select, self._patience, self._proofs = select, patience, dict(proofs)
        self._wallet = wallet
        self._turns: dict[tuple[str, ...], asyncio.Lock] = {}
        for one in (self._signer, *self._by_account.values()):
            one.core.set_spend_controls(False)

    async def call(
        self,
        ask: Ask[R],
        request: object,
        resource: str,
        *,
        place: Place = _NOWHERE,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> Bought[R]:
        """Ask, pay the price (at most *max_amount* base units), and ask again with the
        payment.

        *request* describes the call, JSON-safe: a payment id belongs to one request. *payment_id*
        joins repeats of one logical call: give the same id for each try, also after a restart.

        Raises PaymentError: AMOUNT_EXCEEDS_MAX, BUDGET_EXCEEDED and the budget's others (nothing
        signed); NO_REQUIREMENTS (this wallet can pay in none of the ways offered);
        PAYMENT_REJECTED, SETTLEMENT_FAILED (the seller did not take the payment, or now asks for
        more: it is not paid twice); OUTCOME_UNKNOWN (sent, but no answer says more: call again with
        the same payment id).
        """
        if payment_id:
            check_payment_id(payment_id)
        call = _Call(
            ask,
            payment_id or new_payment_id(),
            hashlib.sha256(
                orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
            ).hexdigest(),
            resource,
            place,
            max_amount,
        )
        with telemetry.span("pay", resource=clean_text(resource, 200)) as step:
            try:
                repeated = await self._repeat(call) if payment_id else None
                done = repeated if repeated is not None else await self._first(call)
            except PaymentError as error:
                step.set(outcome=error.code)
                metrics.observe_payment(error.code)
                raise
            outcome = _outcome(done)
            step.set(outcome=outcome)
        metrics.observe_payment(outcome)
        return done

    async def _repeat(self, call: _Call[R]) -> Bought[R] | None:
        """Send the payment that this call signed earlier, perhaps before a restart. None if it
        signed none.
        """
        known = await in_thread(self.budget.get, call.id)
        if known is None or known.payment is None:
            return None
        if known.request != call.request_hash:
            raise PaymentError(
                "PAYMENT_ID_CONFLICT", "this payment id was used for another request"
            )
        done = await self._present(known, "object", call.ask)
        return (
            replace(done, amount=0, repeated=True) if known.state == "spent" else done
        )

    async def _first(self, call: _Call[R]) -> Bought[R]:
        """Ask without a payment, and pay if the seller demands it."""
        first = await call.ask(None, "object")
        if first.demand is None:
            if first.result is None:
                raise PaymentError(
                    "PAY_FAILED", first.message or "no answer"
                ) from first.lost
            return Bought(first.result, first.receipt)
        return await self._pay(call, first.demand)

    async def _pay(self, call: _Call[R], demand: Demand) -> Bought[R]:
        """Pay in the first of the ways offered in which this wallet can pay now."""
        refused: PaymentError | None = None
        for chosen in self._choices(demand):
            async with self._turn(chosen):
                try:
                    held = await self._signed(call, demand, chosen)
                except PaymentError as error:
                    if error.code not in UNSIGNED:
                        raise
                    refused = refused or error
                    continue
                return await self._present(held, demand.dialect, call.ask, demand)
        assert refused is not None  # there is at least one choice
        raise refused

    async def _signed(
        self, call: _Call[R], demand: Demand, chosen: Requirement
    ) -> Spending:
        """Reserve the price and sign the payment. A failure leaves nothing reserved."""
        held = await self._reserve(call, demand, chosen)
        if held.payment is None:
            async with released_unless_signed(self.budget, [held.payment_id]):
                held = await self._sign(held, demand, chosen)
        return held

    @asynccontextmanager
    async def _turn(self, chosen: Requirement) -> AsyncIterator[None]:
        """Let calls to one payee take turns, because each voucher of a channel builds on the one
        before.

        Between processes the seller's correction does the same.
        """
        if chosen.scheme != "batch-settlement":
            yield
            return
        fee_payer = extra_of(chosen).get("feePayer")
        key = (str(chosen.network), chosen.asset, chosen.pay_to, str(fee_payer))
        async with self._turns.setdefault(key, asyncio.Lock()):
            yield

    # --- one step each ----------------------------------------------------------------------------

    def _choices(self, demand: Demand) -> Iterator[Requirement]:
        """Return the ways to pay that this wallet understands, in the order of its selector.

        Raises PaymentError (NO_REQUIREMENTS) if there is none.
        """
        options = [r for r in demand.required.accepts if self._can_pay(r)]
        chosen = self._select(options)
        if chosen is None:
            raise PaymentError("NO_REQUIREMENTS", _cannot_pay(demand))
        while chosen is not None:
            yield chosen
            options = [option for option in options if option is not chosen]
            chosen = self._select(options)

    def _can_pay(self, requirement: Requirement) -> bool:
        if (
            requirement.asset not in self.budget.limits.assets
            or _amount(requirement) <= 0
        ):
            return False
        version = 1 if isinstance(requirement, PaymentRequirementsV1) else 2
        registered = self._signer.core.get_registered_schemes().get(version, [])
        wanted = (requirement.scheme, requirement.network)
        return any((row["scheme"], row["network"]) == wanted for row in registered)

    async def _reserve(
        self, call: _Call[R], demand: Demand, chosen: Requirement
    ) -> Spending:
        spending = self._spending(call, chosen, _resource(demand) or call.resource)
        held = await in_thread(
            self.budget.reserve,
            spending,
            max_amount=call.max_amount,
            sources=self._read_sources(chosen),
        )
        if held.payment is None and _terms(held) != _terms(spending):
            # Another call of this id, or one that was killed, reserved another price. Sign only
            # the reserved terms.
            raise PaymentError(
                "PAYMENT_ID_CONFLICT",
                "this payment id holds a reservation for other terms",
            )
        return held

    def _spending(self, call: _Call[R], chosen: Requirement, resource: str) -> Spending:
        return Spending(
            wallet=self.budget.wallet,
            payment_id=call.id,
            session=self.budget.session,
            network=caip2(str(chosen.network)),
            asset=chosen.asset,
            amount=_amount(chosen),
            pay_to=chosen.pay_to,
            resource=resource,
            request=call.request_hash,
            host=call.place.host,
            tool=call.place.tool,
        )

    def _read_sources(self, chosen: Requirement) -> ReadSources | None:
        """Return what reads the accounts that may give a payment. Vouchers take from a channel."""
        of = self._sources.get(chosen.scheme)
        return None if of is None else partial(of, chosen.asset)

    async def check(self, requirement: Requirement) -> None:
        """Raise the PaymentError with which this wallet would refuse to pay *requirement* now.

        Nothing is reserved or signed.
        """
        if requirement.asset not in self.budget.limits.assets:
            raise PaymentError(
                "ASSET_NOT_ALLOWED", f"this wallet does not spend {requirement.asset}"
            )
        if not self._can_pay(requirement):
            raise PaymentError(
                "INVALID_REQUIREMENT", "this wallet cannot pay in this way"
            )
        call: _Call[Any] = _Call(_no_request, new_payment_id(), "", "", _NOWHERE, None)
        spending = self._spending(call, requirement, "")
        sources = self._read_sources(requirement)
        source = await in_thread(self.budget.check, spending, sources=sources)
        check = self._signer_of(source).checks.get(requirement.scheme)
        if check is not None:
            await in_thread(check, requirement)

    def _signer_of(self, source: str | None) -> PaymentSigner:
        return self._by_account.get(source or "", self._signer)

    async def _sign(
        self,
        held: Spending,
        demand: Demand,
        chosen: Requirement,
        *,
        first: bool = False,
    ) -> Spending:
        required = demand.required.model_copy(update={"accepts": [chosen]})
        payment = await self._signer_of(held.source).core.create_payment_payload(
            required
        )
        if isinstance(required, PaymentRequired) and required.extensions:
            extensions = dict(required.extensions)
            if PAYMENT_IDENTIFIER in extensions:
                append_payment_identifier_to_extensions(extensions, held.payment_id)
            payment = payment.model_copy(update={"extensions": extensions})
        body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
        if held.payment is not None and not await self._is_covered(held, body, first):
            raise PaymentError(
                "BUDGET_EXCEEDED",
                f"the next voucher would exceed what {held.payment_id} reserved",
            )
        # If two calls share a payment id, the payment stored first counts; the other one is never
        # sent.
        await in_thread(
            self.budget.signed,
            held.payment_id,
            body,
            payment_key(payment),
            instead_of=held.payment_key,
            held=held,
        )
        kept = await in_thread(self.budget.get, held.payment_id)
        assert kept is not None  # signed() wrote it
        return kept

    async def _present(
        self,
        held: Spending,
        dialect: Dialect,
        ask: Ask[R],
        demand: Demand | None = None,
        corrections: int = _CORRECTIONS,
    ) -> Bought[R]:
        """Send the payment, repeat it until an answer says how it ended, and book the result."""
        assert held.payment is not None  # callers hold a signed one
        payment = parse_payment(held.payment)
        deadline = asyncio.get_running_loop().time() + self._patience
        proved = payment
        while True:
            asked = await ask(proved, dialect)
            if (
                asked.refused == PROOF_REQUIRED
                and proved is payment
                and self._wallet is not None
            ):
                proved = with_repeat_proof(payment, self._wallet, held.network)
                continue
            corrected = await self._report_response(payment, asked)
            charged = await self._book(held, payment, asked.receipt)
            if asked.demand is not None:
                price = _same_price(held, asked.demand)
                may_correct = corrected and corrections > 0 and demand is not None
                if (
                    may_correct
                    and price is not None
                    and await self._may_sign_again(
                        held, asked.demand, corrections == _CORRECTIONS
                    )
                ):
                    # The seller proved, by our own signature, that this voucher does not follow.
                    # Sign the next one.
                    held = await self._sign(
                        held, asked.demand, price, first=corrections == _CORRECTIONS
                    )
                    return await self._present(
                        held, dialect, ask, demand, corrections - 1
                    )
                raise _rejection(held, asked.demand, asked.receipt)
            if asked.refused is not None and asked.refused not in RETRY_REFUSALS:
                raise PaymentError(
                    asked.refused.upper(),
                    f"the seller refused: {asked.message} (payment {held.payment_id})",
                )
            if asked.result is not None and asked.refused is None:
                # Without a receipt nothing is charged yet, but the payment may land until it
                # expires: see reconcile().
                return Bought(
                    asked.result, asked.receipt, charged, held.asset, held.payment_id
                )
            if asyncio.get_running_loop().time() >= deadline:
                raise PaymentError(
                    "OUTCOME_UNKNOWN",
                    f"payment {held.payment_id} was sent, and no answer says how it ended: "
                    "call again with this payment id",
                ) from asked.lost
            await asyncio.sleep(0.25)

    async def _may_sign_again(self, held: Spending, again: Demand, first: bool) -> bool:
        """Whether the calls of a channel reserved the sum that the seller proved, and one price
        more. A voucher charged without an answer keeps its reservation.
        """
        channel = voucher_channel(held.payment)
        charged = corrected_sum(again.required, channel)
        if charged is None:  # the channel closed: its voucher may still be claimed
            return False
        total = charged + held.amount
        return await in_thread(
            self.budget.covers, held.payment_id, channel, total, first=first
        )

    async def _is_covered(
        self, held: Spending, body: Mapping[str, Any], first: bool
    ) -> bool:
        """Whether the calls of its channel reserved the sum of this voucher."""
        channel = voucher_channel(body)
        signed = voucher_sum(body, channel)
        if signed is None or channel != voucher_channel(held.payment):
            return False
        return await in_thread(
            self.budget.covers, held.payment_id, channel, signed, first=first
        )

    async def _book(
        self, held: Spending, payment: Payment, receipt: SettleResponse | None
    ) -> int:
        """Book a receipt and return the charge, in base units: the most, if it is not proved yet."""
        if receipt is None or not receipt.success:
            return 0
        amount = await self._proved_charge(held, payment)
        if amount is None:
            return held.amount
        amount = min(amount, held.amount)
        await in_thread(
            self.budget.spent, held.payment_id, receipt.transaction, amount=amount
        )
        return amount

    async def _proved_charge(self, held: Spending, payment: Payment) -> int | None:
        """The charge of a payment that was settled: its amount, or for some schemes what the chain
        proves. None: not proved yet.
        """
        proof = self._proofs.get(payment.get_scheme())
        if proof is None:
            return held.amount
        try:
            return await in_thread(proof, payment)
        except ChainUnavailable:
            return None

    async def _report_response(self, payment: Payment, asked: AskOutcome[R]) -> bool:
        """Report a payment's outcome to its scheme, by the official core's hook.

        Return True if the scheme corrected its state and would sign another payment now.
        """
        if isinstance(payment, PaymentPayloadV1):
            return False
        if asked.receipt is None and asked.demand is None:
            return False
        required = asked.demand.required if asked.demand is not None else None
        context = PaymentResponseContext(
            payment, payment.accepted, asked.receipt, required
        )
        return await self._signer.core.handle_payment_response(context) is not None


class Wallets:
    """Several payers in order of priority: the first that can, within its own limits, pays for a
    call.

    A payer that already holds this payment id continues with it. Buyers accept this in place of a
    CallPayer.
    """

    def __init__(self, payers: Sequence[CallPayer]) -> None:
        if not payers:
            raise PaymentError("NO_REQUIREMENTS", "no payer is configured")
        self._payers = list(payers)

    async def call(
        self,
        ask: Ask[R],
        request: object,
        resource: str,
        *,
        place: Place = _NOWHERE,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> Bought[R]:
        """See CallPayer.call. If no payer can pay, raises the first one's error."""
        call_id = payment_id or new_payment_id()
        refused: PaymentError | None = None
        for payer in await self._order(payment_id):
            try:
                return await payer.call(
                    ask,
                    request,
                    resource,
                    place=place,
                    max_amount=max_amount,
                    payment_id=call_id,
                )
            except PaymentError as error:
                if error.code not in UNSIGNED or await _has_signed(payer, call_id):
                    raise
                refused = refused or error
        assert refused is not None  # there is at least one payer
        raise refused

    async def check(self, requirement: Requirement) -> None:
        """See CallPayer.check. If no payer can pay, raises the first one's error."""
        refused: PaymentError | None = None
        for payer in self._payers:
            try:
                await payer.check(requirement)
            except PaymentError as error:
                refused = refused or error
            else:
                return
        assert refused is not None  # there is at least one payer
        raise refused

    async def _order(self, payment_id: str | None) -> list[CallPayer]:
        """Return the payer that signed for this id before, alone, since no other may pay for it;
        else all.
        """
        if payment_id is not None:
            for payer in self._payers:
                if await _has_signed(payer, payment_id, or_reserved=True):
                    return [payer]
        return self._payers


async def _has_signed(
    payer: CallPayer, payment_id: str, *, or_reserved: bool = False
) -> bool:
    """Whether a payer has signed a payment for this call that may still land."""
    known = await in_thread(payer.budget.get, payment_id)
    if known is None or known.state == "released":
        return False
    return or_reserved or known.state != "reserved"


@asynccontextmanager
async def released_unless_signed(
    budget: Budget, payment_ids: Sequence[str]
) -> AsyncIterator[None]:
    """Release these reservations if the block fails or is cancelled before a payment is stored for
    them, since nothing has left this process then.
    """
    try:
        yield
    except BaseException:
        with CancelScope(shield=True):
            for payment_id in payment_ids:
                await in_thread(budget.abandon, payment_id)
        raise


async def reconcile(budget: Budget, chain: PaymentChain) -> int:
    """Book payments that got no answer: as spent if they landed, as released if they can no longer
    land.

    Return how many were booked.
    """
    settled = 0
    await in_thread(budget.release_left)
    for row in await in_thread(budget.open):
        payment = parse_payment(row.payment) if row.payment else None
        text = transaction_text(payment) if payment is not None else None
        if payment is None or text is None:
            continue
        age_ms = await in_thread(budget.age_ms, row)
        found = await in_thread(
            chain.find, bytes(read_transaction(text)), age_ms=age_ms
        )
        if found.state == "landed":
            assert found.signature is not None  # a landed message was found by it
            amount = await in_thread(_landed_charge, chain, payment, row.amount)
            if amount is None:
                continue
            await in_thread(
                budget.spent, row.payment_id, found.signature, amount=amount
            )
        elif found.state in ("failed", "expired"):
            await in_thread(budget.release, row.payment_id)
        else:
            continue
        settled += 1
    return settled


def _landed_charge(chain: PaymentChain, payment: Payment, amount: int) -> int | None:
    """Return what a payment of *amount* that landed has cost. None: its channel is still open."""
    if payment.get_scheme() != UptoClient.scheme:
        return amount
    return ceiling_charge(OURS, chain, payment, amount)


async def _no_request(_payment: Payment | None, _dialect: Dialect) -> AskOutcome[Any]:
    raise AssertionError("a check makes no request")


def new_payment_id() -> str:
    """Return a random payment id."""
    return "pay_" + secrets.token_hex(16)


def _outcome(done: Bought[R]) -> str:
    if done.repeated:
        return "repeated"
    if done.asset is not None:
        return "paid" if done.receipt is not None else "failed"
    return "free" if done.receipt is None else "granted"


def _rejection(
    held: Spending, again: Demand, receipt: SettleResponse | None
) -> PaymentError:
    """Return the error for a seller that asks to be paid again.

    A buyer never pays again by itself: the seller holds a signed payment, and may have raised its
    price.
    """
    prices = [_amount(r) for r in again.required.accepts if r.asset == held.asset]
    price = min(prices, default=0)
    raised = ""
    if price > held.amount:
        raised = f" It asks {price:,} base units now, {held.amount:,} before."
    failed = receipt is not None and not receipt.success
    reason = receipt.error_reason if receipt is not None else None
    reason = reason or again.required.error or "no reason given"
    return PaymentError(
        "SETTLEMENT_FAILED" if failed else "PAYMENT_REJECTED",
        f"the seller did not take payment {held.payment_id}: {reason}.{raised}",
    )


def _cannot_pay(demand: Demand) -> str:
    offered = demand.required.accepts
    if not offered:
        return "the server demands payment, but none of its ways to pay can be read"
    asked = ", ".join(f"{r.scheme} on {r.network} of {r.asset}" for r in offered[:5])
    return f"this wallet cannot pay in any of the ways offered: {asked}"


def _terms(spending: Spending) -> tuple[str, str, str, int]:
    return spending.network, spending.asset, spending.pay_to, spending.amount


def _same_price(held: Spending, demand: Demand) -> Requirement | None:
    """Return the terms that this spending was reserved for, if *demand* still offers them for the
    same price.
    """
    for r in demand.required.accepts:
        terms = (caip2(str(r.network)), r.asset, r.pay_to, _amount(r), r.scheme)
        if terms == (
            held.network,
            held.asset,
            held.pay_to,
            held.amount,
            "batch-settlement",
        ):
            return r
    return None


def _amount(requirement: Requirement) -> int:
    return base_units(requirement.get_amount()) or 0


def _resource(demand: Demand) -> str | None:
    required = demand.required
    if isinstance(required, PaymentRequiredV1):
        return required.accepts[0].resource if required.accepts else None
    return required.resource.url if required.resource is not None else None

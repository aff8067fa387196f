"""Paying for tool calls: wraps a client of the official MCP SDK. One logical call is paid at most once, within a
budget.

A call that costs nothing goes through untouched. A demand is paid once: the price is checked, the amount reserved, the
payment
signed, kept, and sent. If the answer does not come, the same payment is sent again, never a second one: the budget
keeps it under
the call's payment id, over crashes and restarts.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import mcp_types as types
import orjson
from mcp import Client, MCPError
from x402 import x402Client
from x402.extensions.payment_identifier import PAYMENT_IDENTIFIER, append_payment_identifier_to_extensions
from x402.schemas import PaymentRequired, PaymentRequirements, SettleResponse
from x402.schemas.v1 import PaymentRequiredV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.budget import Budget, Spending
from mcpsol_py.x402.chain import Chain
from mcpsol_py.x402.exact.transaction import read_transaction
from mcpsol_py.x402.gate import payment_key
from mcpsol_py.x402.networks import caip2
from mcpsol_py.x402.wire import (
    Demand,
    Dialect,
    parse_payment,
    payment_meta,
    read_demand,
    read_demand_error,
    read_receipt,
)

__all__ = ["Buyer", "Paid", "cheapest", "reconcile"]

Requirement = PaymentRequirements | PaymentRequirementsV1
#: Picks one of the requirements that can be met; None pays nothing.
Selector = Callable[[Sequence[Requirement]], Requirement | None]

#: What a seller says when the same payment should be asked for again (gate.Refused).
_AGAIN = ("in_progress", "settlement_pending")


def cheapest(options: Sequence[Requirement]) -> Requirement | None:
    """The first of the lowest amount."""
    return min(options, key=lambda r: int(r.get_amount()), default=None)


@dataclass(frozen=True, slots=True)
class Paid:
    """A call's result. `receipt` None: nothing was charged. `payment_id` names the call in the budget's history."""

    result: types.CallToolResult
    receipt: SettleResponse | None = None
    amount: int = 0
    asset: str | None = None
    payment_id: str | None = None


class Buyer:
    """Calls tools and pays for them.

    *payer* makes the payments: the official core's client, with a scheme registered for each network. Its own spend
    controls are
    switched off, since *budget* stands in their place. Payments that got no answer are booked by reconcile().
    """

    def __init__(
        self,
        client: Client,
        payer: x402Client,
        budget: Budget,
        *,
        select: Selector = cheapest,
        patience: float = 30.0,
    ) -> None:
        self._client, self._payer, self._budget = client, payer, budget
        self._select, self._patience = select, patience
        payer.set_spend_controls(False)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
        read_timeout_seconds: float | None = None,
    ) -> Paid:
        """Calls a tool and pays what it asks, at most *max_amount* base units.

        *payment_id* makes repeats of one logical call one: give the same for each try, over restarts too. Raises
        PaymentError:
        AMOUNT_EXCEEDS_MAX, BUDGET_EXCEEDED and the budget's others (nothing signed); NO_REQUIREMENTS (no way to pay
        that this
        wallet has); PAYMENT_REJECTED (the seller did not take the payment, or asks for more now: it is not paid twice);
        OUTCOME_UNKNOWN (sent; no answer that says more: call again with the same payment id).
        """
        call_id = payment_id or "pay_" + secrets.token_hex(16)
        known = await _thread(self._budget.get, call_id) if payment_id else None

        def ask(meta: dict[str, Any] | None) -> Awaitable[tuple[dict[str, Any], Demand | None]]:
            return self._ask(name, arguments, meta, read_timeout_seconds)

        if known is not None and known.payment is not None:  # a repeat, perhaps after a restart: the same payment again
            if known.request != _request(name, arguments):
                raise PaymentError("PAYMENT_ID_CONFLICT", "this payment id stands for another request already")
            return await self._present(known, "object", ask)
        result, demand = await ask(None)
        if demand is None:
            return Paid(types.CallToolResult.model_validate(result))
        chosen = self._choose(demand)
        spending = Spending(
            wallet=self._budget.wallet,
            payment_id=call_id,
            session=self._budget.session,
            network=caip2(str(chosen.network)),
            asset=chosen.asset,
            amount=_amount(chosen),
            pay_to=chosen.pay_to,
            resource=_resource(demand, name),
            request=_request(name, arguments),
        )
        held = await _thread(lambda: self._budget.reserve(spending, max_amount=max_amount))
        if held.payment is None:
            held = await self._sign(held, demand, chosen)
        return await self._present(held, demand.dialect, ask)

    # -- one step each ------------------------------------------------------------------------------------------------

    async def _ask(
        self, name: str, arguments: dict[str, Any] | None, meta: Any, timeout: float | None
    ) -> tuple[dict[str, Any], Demand | None]:
        try:
            result = await self._client.call_tool(name, arguments, meta=meta, read_timeout_seconds=timeout)
        except MCPError as error:
            demand = read_demand_error(error.error.code, error.error.data)
            if demand is None:
                raise
            return {}, demand
        body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
        return body, read_demand(body)

    def _choose(self, demand: Demand) -> Requirement:
        options = [r for r in demand.required.accepts if self._can_pay(r)]
        chosen = self._select(options)
        if chosen is None:
            asked = ", ".join(f"{r.scheme} on {r.network} of {r.asset}" for r in demand.required.accepts[:5])
            raise PaymentError("NO_REQUIREMENTS", f"nothing that is asked can be paid by this wallet: {asked}")
        return chosen

    def _can_pay(self, requirement: Requirement) -> bool:
        version = 1 if isinstance(requirement, PaymentRequirementsV1) else 2
        registered = self._payer.get_registered_schemes().get(version, [])
        return (
            any(r["scheme"] == requirement.scheme and r["network"] == requirement.network for r in registered)
            and requirement.asset in self._budget.limits.assets
            and _amount(requirement) > 0
        )

    async def _sign(self, held: Spending, demand: Demand, chosen: Requirement) -> Spending:
        required = demand.required.model_copy(update={"accepts": [chosen]})
        try:
            payment = await self._payer.create_payment_payload(required)
            if isinstance(required, PaymentRequired) and required.extensions:
                extensions = dict(required.extensions)
                if PAYMENT_IDENTIFIER in extensions:
                    append_payment_identifier_to_extensions(extensions, held.payment_id)
                payment = payment.model_copy(update={"extensions": extensions})
        except BaseException:  # nothing left this process: the amount is free again
            await _thread(self._budget.release, held.payment_id)
            raise
        body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
        await _thread(self._budget.signed, held.payment_id, body, payment_key(payment))
        kept: Spending | None = await _thread(self._budget.get, held.payment_id)
        assert kept is not None  # signed() wrote it
        return kept

    async def _present(
        self, held: Spending, dialect: Dialect, ask: Callable[[dict[str, Any] | None], Awaitable[Any]]
    ) -> Paid:
        """Sends the payment, again if no answer says how it ended, and books what came of it."""
        assert held.payment is not None  # callers hold a signed one
        meta = payment_meta(parse_payment(held.payment), dialect)
        deadline = asyncio.get_running_loop().time() + self._patience
        lost: BaseException | None = None
        while True:
            try:
                result, again = await ask(meta)
            except (MCPError, OSError, TimeoutError) as error:
                lost = error
                result, again = None, None
            if result is not None and again is None:
                receipt = read_receipt(result)
                refused = (result.get("structuredContent") or {}).get("reason") if result.get("isError") else None
                if refused not in _AGAIN:
                    return await self._book(held, result, receipt, refused)
            elif again is not None:
                return await self._rejected(held, again, read_receipt(result) if result else None)
            if asyncio.get_running_loop().time() >= deadline:
                raise PaymentError(
                    "OUTCOME_UNKNOWN",
                    f"payment {held.payment_id} is out; no answer says how it ended: call again with this payment id",
                ) from lost
            await asyncio.sleep(0.25)

    async def _book(
        self,
        held: Spending,
        result: Mapping[str, Any],
        receipt: SettleResponse | None,
        refused: object,
    ) -> Paid:
        if receipt is not None and receipt.success:
            await _thread(self._budget.spent, held.payment_id, receipt.transaction)
        if refused is not None:
            raise PaymentError(
                str(refused).upper(), f"the seller refused the call: {_text(result)} (payment {held.payment_id})"
            )
        answer = types.CallToolResult.model_validate(result)
        if receipt is None or not receipt.success:
            # An answer without a receipt: not charged so far, but the payment is out until it expires. reconcile()
            # frees it.
            return Paid(answer, receipt, 0, held.asset, held.payment_id)
        return Paid(answer, receipt, held.amount, held.asset, held.payment_id)

    async def _rejected(self, held: Spending, again: Demand, receipt: SettleResponse | None) -> Paid:
        """Asked to pay again. Never done by itself: the seller holds a signed payment, and may have raised its
        price.
        """
        price = min((_amount(r) for r in again.required.accepts if r.asset == held.asset), default=0)
        raised = f" It asks {price:,} base units now, {held.amount:,} before." if price > held.amount else ""
        reason = receipt.error_reason if receipt is not None and receipt.error_reason else again.required.error
        raise PaymentError(
            "SETTLEMENT_FAILED" if receipt is not None else "PAYMENT_REJECTED",
            f"the seller did not take payment {held.payment_id}: {reason or 'no reason given'}.{raised}",
        )


async def reconcile(budget: Budget, chain: Chain) -> int:
    """Books payments that got no answer: landed ones as spent, those that can no longer land as released. Returns how
    many.
    """
    settled = 0
    for row in await _thread(budget.open):
        text = (row.payment or {}).get("payload", {}).get("transaction")
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


def _request(name: str, arguments: dict[str, Any] | None) -> str:
    return hashlib.sha256(orjson.dumps([name, arguments or {}], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _resource(demand: Demand, name: str) -> str:
    required = demand.required
    if isinstance(required, PaymentRequiredV1):
        return required.accepts[0].resource
    return required.resource.url if required.resource is not None else f"mcp://tool/{name}"


def _text(result: Mapping[str, Any]) -> str:
    texts = [b.get("text", "") for b in result.get("content") or [] if isinstance(b, Mapping)]
    return " ".join(texts)[:300]

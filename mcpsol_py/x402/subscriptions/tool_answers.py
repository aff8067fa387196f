"""Answers of the subscription tools: plans, subscriptions, demands and errors as tool results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.protocol.mcp_wire import RESPONSE_META, payment_required_result
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply
from mcpsol_py.x402.protocol.older_names import ERROR_META, older_error
from mcpsol_py.x402.protocol.payment_ids import Payment
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.subscriptions.terms import Subscription, SubscriptionPlan

__all__ = [
    "demand_answer",
    "paid_answer",
    "plan_body",
    "subscription_body",
    "tool_answer",
    "tool_error",
]


def plan_body(plan: SubscriptionPlan, renewal: str | None) -> dict[str, Any]:
    """Return a plan as the tools show it. *renewal*: the delegate that collects later charges."""
    body: dict[str, Any] = {
        "id": plan.id,
        "name": plan.name,
        "description": plan.description,
        "price": format_amount(plan.price, plan.network, plan.asset),
        "amount": str(plan.price),
        "asset": plan.asset,
        "network": plan.network,
        "payTo": plan.pay_to,
        "interval": plan.period,
        "features": list(plan.features),
        "maxApiCalls": plan.quota,
        "trialSeconds": plan.trial_ms // 1000,
        "graceSeconds": plan.grace_ms // 1000,
        "maxCharges": plan.max_charges,
        "open": plan.open,
    }
    if plan.address is not None:
        body["address"] = plan.address
    elif renewal is not None and plan.period != "one-time":
        body["renewal"] = {"delegate": renewal, "amountPerPeriod": str(plan.price)}
    return body


def subscription_body(
    found: Subscription, history: Sequence[Mapping[str, Any]], *, used: int, now_ms: int
) -> dict[str, Any]:
    """Return a subscription as the tools show it. *history*: its charges; *used*: calls of this
    period.
    """
    return {
        "id": found.id,
        "userId": found.subscriber,
        "planId": found.plan_id,
        "status": found.state(now_ms),
        "usable": found.grants(now_ms),
        "startDate": _iso(found.created_ms),
        "endDate": None if found.due_ms is None else _iso(found.due_ms),
        "autoRenew": found.renews and found.cancelled_ms is None,
        "nextPlanId": found.next_plan_id,
        "callsUsed": used,
        "callsLeft": None if found.quota is None else max(found.quota - used, 0),
        "address": found.address,
        "lastError": found.error,
        "paymentHistory": [
            {
                "id": f"{found.id}#{row['number']}",
                "amount": str(row["amount"]),
                "token": found.asset,
                "txHash": row["signature"],
                "status": "confirmed" if row["state"] == "landed" else "pending",
            }
            for row in history
        ],
    }


def tool_answer(body: dict[str, Any]) -> dict[str, Any]:
    """Return *body* as a tool result."""
    return {
        "content": [{"type": "text", "text": orjson.dumps(body).decode()}],
        "structuredContent": body,
    }


def tool_error(code: str, message: str, **details: Any) -> dict[str, Any]:
    """Return an error result with a code of ERROR_CODES."""
    body: dict[str, Any] = {"error": True, "code": code, "message": message}
    if details:
        body["details"] = details
    return {**tool_answer(body), "isError": True}


def demand_answer(
    reply: PaymentRequiredReply, payment: Payment | None
) -> dict[str, Any]:
    """Return x402's demand, with the error code and the terms in older clients' names in `_meta`."""
    body = payment_required_result(reply.required, reply.failed)
    # A plan's demand without a payment says so, whatever its reason was.
    reason = "payment_required" if payment is None else reply.reason
    error = older_error(reply.required, reason, payment)
    return {**body, "_meta": {**body["_meta"], ERROR_META: error}}


def paid_answer(reply: Answer) -> dict[str, Any]:
    """Return a tool result with its receipt."""
    if reply.receipt is None:
        return reply.result
    receipt = reply.receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
    return {
        **reply.result,
        "_meta": {**mapping_at(reply.result, "_meta"), RESPONSE_META: receipt},
    }


def _iso(ms: int) -> str:
    return (
        datetime.fromtimestamp(ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )

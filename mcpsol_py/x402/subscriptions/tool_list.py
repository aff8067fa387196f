"""The subscription tools as MCP lists them, and the codes of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from x402.schemas import PaymentRequirements

from mcpsol_py.x402.protocol.json_form import json_of
from mcpsol_py.x402.protocol.older_names import older_terms
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan

__all__ = ["ERROR_CODES", "TOOLS", "TOOLS_BY_NAME", "with_prices"]

ERROR_CODES = (
    "PAYMENT_REQUIRED",
    "PAYMENT_INVALID",
    "PAYMENT_EXPIRED",
    "PAYMENT_INSUFFICIENT",
    "SUBSCRIPTION_NOT_FOUND",
    "SUBSCRIPTION_EXPIRED",
    "PLAN_NOT_FOUND",
    "INVALID_WALLET_ADDRESS",
    "INVALID_PARAMETERS",
    "INTERNAL_ERROR",
    "RATE_LIMITED",
    "SIGNATURE_REQUIRED",  # the subscriber must sign: knowing the id is not enough
)


def _tool(
    name: str, description: str, read_only: bool, **properties: str
) -> dict[str, Any]:
    described = {
        key: {"type": "string", "description": text} for key, text in properties.items()
    }
    schema = {
        "type": "object",
        "properties": described,
        "required": list(properties),
        "additionalProperties": False,
    }
    hints = {
        "readOnlyHint": read_only,
        "destructiveHint": name == "cancel_subscription",
        "idempotentHint": True,
    }
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": hints,
    }


_PLAN = "The plan's id, from list_subscriptions."
_SUBSCRIPTION = "The subscription's id, from subscribe."
TOOLS = (
    _tool("list_subscriptions", "List the plans and their prices.", True),
    _tool("get_subscription_info", "Show one plan.", True, planId=_PLAN),
    _tool(
        "subscribe",
        "Subscribe a wallet to a plan, or pay a period that is due. Asks for the plan's price (x402), "
        "or for the wallet's signature if the plan begins with a free trial. For a plan on chain it "
        "returns a transaction to sign.",
        False,
        planId=_PLAN,
        walletAddress="The wallet that subscribes (base58).",
    ),
    _tool(
        "check_subscription",
        "Show a subscription's status, its paid time, and how many calls are left.",
        True,
        subscriptionId=_SUBSCRIPTION,
    ),
    _tool(
        "cancel_subscription",
        "Cancel a subscription. Paid time stays usable, and nothing more is charged. Asks for the "
        "subscriber's signature.",
        False,
        subscriptionId=_SUBSCRIPTION,
    ),
)
TOOLS_BY_NAME = {tool["name"]: tool for tool in TOOLS}


def with_prices(
    tool: dict[str, Any],
    plans: Sequence[SubscriptionPlan],
    terms: Mapping[str, PaymentRequirements],
) -> dict[str, Any]:
    """Return *tool* with the prices of *plans* in its description, and in `_meta` the x402 *terms*
    of each plan id.
    """
    if not plans:
        return tool
    prices = "; ".join(map(_price_text, plans))
    listed = [
        {"planId": plan_id, "accepts": [json_of(asked)], **older_terms(asked, plan_id)}
        for plan_id, asked in terms.items()
    ]
    accepts = list(map(json_of, terms.values()))
    return {
        **tool,
        "description": f"{tool['description']}\nPlans: {prices}.",
        "_meta": {"x402": {"x402Version": 2, "accepts": accepts, "plans": listed}},
    }


def _price_text(plan: SubscriptionPlan) -> str:
    price = format_amount(plan.price, plan.network, plan.asset)
    trial = ", with a free trial" if plan.trial_ms else ""
    return f"{plan.id} costs {price} ({plan.period}{trial})"

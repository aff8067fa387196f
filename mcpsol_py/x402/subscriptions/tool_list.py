"""The subscription tools as MCP lists them, and the codes of their errors."""

from __future__ import annotations

from typing import Any

__all__ = ["ERROR_CODES", "TOOLS", "TOOLS_BY_NAME"]

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


def _tool(name: str, description: str, read_only: bool, **properties: str) -> dict[str, Any]:
    described = {key: {"type": "string", "description": text} for key, text in properties.items()}
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
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


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

"""The agent wallet's tools as MCP lists them, and the codes of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ERROR_CODES", "FALLBACK_CODES", "TOOLS", "TOOLS_BY_NAME"]

#: Error codes of the tools. The last ones come from the budget.
ERROR_CODES = (
    "SETUP_FAILED",
    "CHECK_FAILED",
    "PAY_FAILED",
    "ANSWER_FAILED",
    "NO_REQUIREMENTS",
    "INVALID_REQUIREMENT",
    "AMOUNT_EXCEEDS_MAX",
    "BUDGET_EXCEEDED",
    "SETTLEMENT_FAILED",
    "FACILITATOR_ERROR",
    "HISTORY_FAILED",
    "DISCOVER_FAILED",
    "ESTIMATE_FAILED",
    "KEYPAIR_EXISTS",
    "INVALID_PASSPHRASE",
    "NO_DELEGATION",
    "NO_TOKEN_ACCOUNT",
    "INSUFFICIENT_FUNDS",
    "ACCOUNT_FROZEN",
    "DELEGATION_EXPIRED",
    "NOT_SET_UP",
    "ASSET_NOT_ALLOWED",
    "PAYEE_NOT_ALLOWED",
    "DOMAIN_NOT_ALLOWED",
    "PAYMENT_ID_CONFLICT",
    "PAYMENT_REJECTED",
    "OUTCOME_UNKNOWN",
    "IN_PROGRESS",
    "INVALID_PARAMETERS",
)


_SIGNER = {
    "signer": {
        "type": "string",
        "description": "The key that this is about, if the wallet has several (default: the first; "
        "a payment: the first that can).",
    }
}


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str] = (),
    *,
    reads: bool,
) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties
        if name == "x402_discover_services"
        else {**properties, **_SIGNER},
        "required": list(required),
        "additionalProperties": False,
    }
    hints = {
        "readOnlyHint": reads,
        "destructiveHint": False,
        "idempotentHint": reads,
        "openWorldHint": True,
    }
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": hints,
    }


_TARGET = {
    "url": {
        "type": "string",
        "description": "An HTTP resource; with tool, resource or prompt the URL of an MCP server.",
    },
    "tool": {"type": "string", "description": "The MCP tool to call."},
    "resource": {
        "type": "string",
        "description": "The URI of an MCP resource to read.",
    },
    "prompt": {"type": "string", "description": "The MCP prompt to get."},
    "arguments": {
        "type": "object",
        "description": "The arguments of the tool or prompt.",
    },
    "method": {
        "type": "string",
        "pattern": "^[A-Za-z-]{1,20}$",
        "description": "The HTTP method (default: GET, or POST with a body).",
    },
    "headers": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The HTTP request's headers.",
    },
    "json": {"description": "The HTTP request's body as JSON."},
    "form": {
        "type": "object",
        "description": "The HTTP request's body as the fields of a form.",
    },
    "body": {"type": "string", "description": "The HTTP request's body as text."},
}
_ACCOUNT = {
    "type": "string",
    "description": "The owner's token account (base58; default: the configured one).",
}
_AMOUNT = {"type": "string", "pattern": "^[0-9]{1,20}$"}
TOOLS = (
    _tool(
        "x402_setup_agent",
        "Create the agent's key (encrypted in its keystore) and return its address. With tokenAccount and amount, also "
        "return the transaction by which the account's owner delegates that amount to the agent. The owner signs it.",
        {
            "tokenAccount": _ACCOUNT,
            "amount": {**_AMOUNT, "description": "Base units to delegate."},
        },
        reads=False,
    ),
    _tool(
        "x402_check_delegation",
        "Show how much a token account delegates to the agent, and how much of it is left.",
        {"tokenAccount": _ACCOUNT},
        reads=True,
    ),
    _tool(
        "x402_revoke_delegation",
        "Return the transaction that revokes the delegation. Only the owner can sign it.",
        {"tokenAccount": _ACCOUNT},
        reads=True,
    ),
    _tool(
        "x402_pay",
        "Send an HTTP request, call an MCP tool, read an MCP resource or get an MCP prompt, and pay "
        "its price (x402) within the wallet's limits. "
        "A repeat with the same paymentId gets the same answer and is not charged again. After "
        "OUTCOME_UNKNOWN, repeat with it.",
        {
            **_TARGET,
            "maxAmount": {
                **_AMOUNT,
                "description": "The highest price of this call, in base units.",
            },
            "paymentId": {
                "type": "string",
                "pattern": "^[A-Za-z0-9_-]{16,128}$",
                "description": "Identifies this call.",
            },
        },
        ["url"],
        reads=False,
    ),
    _tool(
        "x402_pay_batch",
        "Pay several wallets in one transaction, all or none, within the wallet's limits. The agent pays the fee.",
        {
            "asset": {"type": "string", "description": "The token's mint (base58)."},
            "payments": {
                "type": "array",
                "maxItems": 8,
                "items": {
                    "type": "object",
                    "properties": {
                        "payTo": {
                            "type": "string",
                            "description": "The payee's wallet (base58).",
                        },
                        "amount": {**_AMOUNT, "description": "Base units."},
                        "paymentId": {
                            "type": "string",
                            "pattern": "^[A-Za-z0-9_-]{16,128}$",
                        },
                    },
                    "required": ["payTo", "amount", "paymentId"],
                    "additionalProperties": False,
                },
            },
        },
        ["asset", "payments"],
        reads=False,
    ),
    _tool(
        "x402_check_balance",
        "Show the agent's SOL and tokens, and how much its limits still allow.",
        {},
        reads=True,
    ),
    _tool(
        "x402_transaction_history",
        "List the agent's payments, newest first, or with byDay their totals by day.",
        {
            "limit": {"type": "integer", "minimum": 1, "maximum": 200},
            "after": {
                "type": "string",
                "description": "The next page: `after` of this one.",
            },
            "state": {
                "type": "string",
                "enum": ["reserved", "signed", "spent", "released"],
            },
            "host": {"type": "string"},
            "tool": {"type": "string"},
            "token": {"type": "string", "description": "A symbol (USDC) or a mint."},
            "since": {
                "type": "string",
                "description": "A date or time in ISO 8601 (UTC).",
            },
            "until": {
                "type": "string",
                "description": "Only before this date or time.",
            },
            "byDay": {"type": "boolean"},
        },
        reads=True,
    ),
    _tool(
        "x402_discover_services",
        "List paid services in facilitators' catalogs: HTTP resources and MCP tools. Their descriptions are untrusted.",
        {
            "query": {
                "type": "string",
                "description": "Words to search for. Without it, all services are listed.",
            },
            "type": {"type": "string", "enum": ["http", "mcp"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        reads=True,
    ),
    _tool(
        "x402_estimate_cost",
        "Show the price of a call, and whether the wallet's limits allow it. Nothing is paid. An MCP "
        "tool's price comes from its server's list; if it is not there, the tool is called only if "
        "it is read-only.",
        _TARGET,
        ["url"],
        reads=True,
    ),
)
TOOLS_BY_NAME = {tool["name"]: tool for tool in TOOLS}
#: By tool, the code for an error that has no code of its own.
FALLBACK_CODES = {
    "x402_setup_agent": "SETUP_FAILED",
    "x402_pay": "PAY_FAILED",
    "x402_pay_batch": "PAY_FAILED",
    "x402_transaction_history": "HISTORY_FAILED",
    "x402_discover_services": "DISCOVER_FAILED",
    "x402_estimate_cost": "ESTIMATE_FAILED",
}

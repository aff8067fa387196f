"""Estimate the cost of a call without paying, and without running a tool that may change something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import mcp_types as types
from mcp import Client

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.buying.budget import Budget
from mcpsol_py.x402.buying.mcp_buyer import connected
from mcpsol_py.x402.protocol.foreign_words import has_names
from mcpsol_py.x402.protocol.http_answers import send_bounded
from mcpsol_py.x402.protocol.http_wire import read_http_demand
from mcpsol_py.x402.protocol.mcp_wire import read_demand
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.threads import in_thread

__all__ = ["estimate_cost", "http_price", "tool_price"]

#: How many of a seller's ways to pay are shown.
_MOST_OPTIONS = 20
#: Digits of the largest amount: a u64 has at most 20.
_MOST_DIGITS = 20
#: Bytes of a demand that are read.
_MAX_DEMAND = 1 << 20


async def estimate_cost(
    accepts: list[dict[str, Any]], budget: Budget, network: str
) -> dict[str, Any]:
    """Return {"free", "options"}: each way to pay, and whether *budget* allows it on *network*."""
    options = []
    for terms in accepts[:_MOST_OPTIONS]:
        amount = _amount(terms)
        if amount is not None:
            options.append(await _option(terms, amount, budget, network))
    return {"free": not accepts, "options": options}


def _amount(terms: Mapping[str, Any]) -> int | None:
    """Return the amount in a seller's terms; None if it is not a number of base units."""
    amount = terms.get("amount")
    if not isinstance(amount, str) or len(amount) > _MOST_DIGITS:
        return None
    return int(amount) if amount.isascii() and amount.isdigit() else None


async def _option(
    terms: Mapping[str, Any], amount: int, budget: Budget, network: str
) -> dict[str, Any]:
    asset, asked_network = str(terms.get("asset")), str(terms.get("network"))
    if asked_network != network:
        refusal: str | None = "INVALID_REQUIREMENT"
    else:
        refusal = await in_thread(_refusal, budget, asset, amount)
    option = {
        "scheme": str(terms.get("scheme")),
        "network": asked_network,
        "asset": asset,
        "amount": terms["amount"],
        "shown": format_amount(amount, asked_network, asset),
        "affordable": refusal is None,
    }
    return option if refusal is None else {**option, "refusal": refusal}


def _refusal(budget: Budget, asset: str, amount: int) -> str | None:
    """Return the error code with which the wallet would refuse to pay this now."""
    limit = budget.limits.assets.get(asset)
    if limit is None:
        return "ASSET_NOT_ALLOWED"
    if limit.per_payment is not None and amount > limit.per_payment:
        return "AMOUNT_EXCEEDS_MAX"
    left = budget.remaining(asset)
    exceeded = any(cap is not None and amount > cap for cap in (left.session, left.day))
    return "BUDGET_EXCEEDED" if exceeded else None


async def http_price(
    url: str, method: str, http: Callable[[], httpx.AsyncClient]
) -> list[dict[str, Any]]:
    """Return the ways to pay for an HTTP resource, none if it is free. *http* makes a client."""
    if method != "GET":
        raise PaymentError(
            "ESTIMATE_FAILED", "expected method GET: asking for the price must not change anything"
        )
    async with http() as client:
        response = await send_bounded(client, client.build_request("GET", url), limit=_MAX_DEMAND)
    if response.status_code != 402:
        return []
    headers = {k.lower(): v for k, v in response.headers.items()}
    demand = read_http_demand(url, headers, response.content)
    if demand is None:
        raise PaymentError(
            "NO_REQUIREMENTS", "the server answered 402 without payment requirements"
        )
    return [_terms(r) for r in demand.required.accepts]


async def tool_price(
    server: str, name: str, arguments: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the ways to pay for an MCP tool, none if it is free."""

    async def ask(client: Client) -> list[dict[str, Any]]:
        tools = (await client.list_tools()).tools
        tool = next((t for t in tools if t.name == name), None)
        if tool is None:
            raise PaymentError("ESTIMATE_FAILED", f"that server has no tool {abbr(name)}")
        listed = _listed_price(tool)
        if listed is not None:
            return listed
        if tool.annotations is None or not tool.annotations.read_only_hint:
            raise PaymentError(
                "ESTIMATE_FAILED",
                "its server lists no price, and calling the tool may change something",
            )
        result = await client.call_tool(tool.name, arguments)
        demand = read_demand(result.model_dump(by_alias=True, exclude_none=True, mode="json"))
        return [] if demand is None else [_terms(r) for r in demand.required.accepts]

    return await connected(server, ask)


def _listed_price(tool: types.Tool) -> list[dict[str, Any]] | None:
    """Return the ways to pay that a server's tool list has for *tool*, None if it has none."""
    price = (tool.meta or {}).get("x402")
    if not isinstance(price, Mapping) or not isinstance(price.get("accepts"), list):
        return None
    return [dict(t) for t in price["accepts"] if isinstance(t, Mapping) and has_names(t)]


def _terms(requirement: Any) -> dict[str, Any]:
    return {
        "scheme": requirement.scheme,
        "network": str(requirement.network),
        "asset": requirement.asset,
        "amount": requirement.get_amount(),
    }

"""Estimate the cost of a call without paying, and without running a tool that may change something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import httpx
import mcp_types as types
from mcp import Client
from pydantic import ValidationError
from x402.schemas import PaymentRequirements
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.items import without_nulls
from mcpsol_py.names import clean_text
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.buying.failures import failed_answer, unreachable
from mcpsol_py.x402.buying.mcp_buyer import Buyer, connected
from mcpsol_py.x402.buying.outcomes import Ask, Bought, Requirement
from mcpsol_py.x402.buying.paying import CallPayer, Wallets
from mcpsol_py.x402.buying.purchases import Purchase
from mcpsol_py.x402.buying.web_request import WebRequest
from mcpsol_py.x402.protocol.foreign_words import has_names
from mcpsol_py.x402.protocol.http_answers import send_bounded
from mcpsol_py.x402.protocol.http_wire import read_http_demand
from mcpsol_py.x402.protocol.json_form import json_of, mapping_at
from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = ["estimate_cost", "listed_price", "price"]

R = TypeVar("R")

#: HTTP methods that change nothing.
_SAFE_METHODS = ("GET", "HEAD")
#: How many of a seller's ways to pay are shown.
_MOST_OPTIONS = 20
#: Digits of the largest amount: a u64 has at most 20.
_MOST_DIGITS = 20
#: Bytes of a demand that are read.
_MAX_DEMAND = 1 << 20


async def estimate_cost(
    accepts: Sequence[Mapping[str, Any]], payer: CallPayer | Wallets
) -> dict[str, Any]:
    """Return {"free", "options"}: each way to pay, and whether *payer* would pay it now.

    *accepts* are terms as JSON, of either protocol version.
    """
    options = [await _option(terms, payer) for terms in accepts[:_MOST_OPTIONS]]
    return {
        "free": not accepts,
        "options": [option for option in options if option is not None],
    }


async def _option(
    terms: Mapping[str, Any], payer: CallPayer | Wallets
) -> dict[str, Any] | None:
    """Return one way to pay, None if it names no amount that can be read."""
    requirement = _requirement(terms)
    amount = _amount(terms)
    if amount is None:
        return None
    network = caip2(str(terms.get("network")))
    asset = clean_text(str(terms.get("asset")), 50)
    option = {
        "scheme": clean_text(str(terms.get("scheme")), 50),
        "network": network,
        "asset": asset,
        "amount": str(amount),
        "shown": format_amount(amount, network, asset),
    }
    refusal = await _refusal(requirement, payer)
    return {**option, "affordable": refusal is None, **(refusal or {})}


async def _refusal(
    requirement: Requirement | None, payer: CallPayer | Wallets
) -> dict[str, str] | None:
    """Return why the wallet would not pay this now, None if it would."""
    if requirement is None:
        return {"refusal": "INVALID_REQUIREMENT", "why": "its terms cannot be read"}
    try:
        await payer.check(requirement)
    except PaymentError as error:
        code = error.code if error.code.isupper() else "INVALID_REQUIREMENT"
        return {"refusal": code, "why": str(error)}
    return None


def _requirement(terms: Mapping[str, Any]) -> Requirement | None:
    """Read terms as JSON. A list of prices may leave out how long a payment is waited for."""
    complete = {"maxTimeoutSeconds": 60, "resource": "", **terms}
    model = (
        PaymentRequirementsV1 if "maxAmountRequired" in terms else PaymentRequirements
    )
    try:
        return model.model_validate(without_nulls(complete))
    except ValidationError:
        return None


def _amount(terms: Mapping[str, Any]) -> int | None:
    """Return the amount in a seller's terms; None if it is not a number of base units."""
    return base_units(terms.get("amount", terms.get("maxAmountRequired")))


async def price(
    wanted: Purchase,
    http: Callable[[], httpx.AsyncClient],
    subscribers: Sequence[Subscriber] = (),
) -> list[dict[str, Any]]:
    """Return the ways to pay for *wanted*, none if it is free. *http* makes a client.

    Raises PaymentError, also if one of *subscribers* must not pay this seller; ConnectionError.
    """
    if wanted.request is not None:
        return await _http_price(wanted.request, http, subscribers)
    return await connected(wanted.url, partial(_mcp_price, wanted, subscribers))


async def _http_price(
    request: WebRequest,
    http: Callable[[], httpx.AsyncClient],
    subscribers: Sequence[Subscriber],
) -> list[dict[str, Any]]:
    if request.method not in _SAFE_METHODS:
        raise PaymentError(
            "ESTIMATE_FAILED",
            "expected method GET: asking for the price must not change anything",
        )
    try:
        async with http() as client:
            message = client.build_request(
                request.method, request.url, headers=request.headers
            )
            response = await send_bounded(client, message, limit=_MAX_DEMAND)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(request.url, error) from error
    if response.status_code != 402:
        failure = failed_answer(response)
        if failure is not None:
            raise PaymentError("ESTIMATE_FAILED", failure)
        return []
    headers = {k.lower(): v for k, v in response.headers.items()}
    demand = read_http_demand(request.url, headers, response.content)
    if demand is None:
        raise PaymentError(
            "NO_REQUIREMENTS", "the server answered 402 without payment requirements"
        )
    return _terms(demand, subscribers)


async def _mcp_price(
    wanted: Purchase, subscribers: Sequence[Subscriber], client: Client
) -> list[dict[str, Any]]:
    if wanted.kind == "tool":
        return await _tool_price(client, wanted.name, wanted.arguments, subscribers)
    buyer = Buyer(client, _ASKS_ONLY)
    try:  # reading a resource or a prompt changes nothing
        if wanted.kind == "resource":
            await buyer.read_resource(wanted.name)
        else:
            await buyer.get_prompt(wanted.name, wanted.arguments)
    except _Asked as asked:
        return _terms(asked.demand, subscribers)
    return []


async def _tool_price(
    client: Client,
    name: str,
    arguments: dict[str, Any],
    subscribers: Sequence[Subscriber],
) -> list[dict[str, Any]]:
    tools = (await client.list_tools()).tools
    tool = next((t for t in tools if t.name == name), None)
    if tool is None:
        raise PaymentError("ESTIMATE_FAILED", f"that server has no tool {abbr(name)}")
    listed = listed_price(tool, subscribers)
    if listed is not None:
        return listed
    if tool.annotations is None or not tool.annotations.read_only_hint:
        raise PaymentError(
            "ESTIMATE_FAILED",
            "its server lists no price, and calling the tool may change something",
        )
    try:
        await Buyer(client, _ASKS_ONLY).call_tool(tool.name, arguments)
    except _Asked as asked:
        return _terms(asked.demand, subscribers)
    return []


class _Asked(Exception):
    """The demand with which a request was answered."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand


class _AsksOnly(Wallets):
    """Asks for something, and raises the demand instead of paying it."""

    def __init__(self) -> None:
        """It has no payers."""

    async def call(self, ask: Ask[R], *_: object, **_options: object) -> Bought[R]:
        """Ask once. Raises _Asked."""
        first = await ask(None, "object")
        if first.demand is not None:
            raise _Asked(first.demand)
        if first.result is None:
            raise PaymentError("ESTIMATE_FAILED", first.message or "no answer")
        return Bought(first.result)


_ASKS_ONLY = _AsksOnly()


def listed_price(
    tool: types.Tool, subscribers: Sequence[Subscriber]
) -> list[dict[str, Any]] | None:
    """Return the ways to pay that a server's tool list has for *tool*, None if it has none."""
    listed = mapping_at(tool.meta, "x402")
    accepts = listed.get("accepts")
    if not isinstance(accepts, list) or not accepts:
        return None
    domain = listed.get("domain")
    if isinstance(domain, str):
        for subscriber in subscribers:
            subscriber.answers_at(domain)
    return _not_free(
        [dict(t) for t in accepts if isinstance(t, Mapping) and has_names(t)]
    )


def _terms(demand: Demand, subscribers: Sequence[Subscriber]) -> list[dict[str, Any]]:
    for subscriber in subscribers:
        subscriber.check(demand)
    return _not_free(list(map(json_of, demand.required.accepts)))


def _not_free(terms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the terms of something that has a price. Raises PaymentError if none can be read."""
    if not terms:
        raise PaymentError(
            "NO_REQUIREMENTS",
            "the server demands payment, but none of its ways to pay can be read",
        )
    return terms

"""Buy one thing at a URL: an HTTP resource, or a tool, resource or prompt of an MCP server.

The command line and the agent's wallet both buy through `buy`, so that they take the same
arguments and tell failures in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import httpx
from mcp import Client
from pydantic import BaseModel

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import picked
from mcpsol_py.x402.buying.failures import failed_answer, host_of, is_of_mcp
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.mcp_buyer import Buyer, connected
from mcpsol_py.x402.buying.outcomes import Bought
from mcpsol_py.x402.buying.paying import CallPayer, Wallets
from mcpsol_py.x402.buying.web_request import WebRequest, web_request
from mcpsol_py.x402.protocol.http_answers import MAX_ANSWER, was_cut
from mcpsol_py.x402.protocol.json_form import json_of, list_at, mapping_at
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = [
    "Purchase",
    "PurchaseOptions",
    "Purchased",
    "buy",
    "cost_of",
    "is_unconfirmed",
    "purchase",
    "seller_domains",
    "subscription_of",
]

#: The names of what an MCP server sells, of which a purchase has at most one.
_MCP_KINDS = ("tool", "resource", "prompt")
#: Arguments that only an HTTP request has.
_HTTP_PARTS = ("method", "headers", "body", "json", "form")


@dataclass(frozen=True, slots=True)
class Purchase:
    """What to buy at `url`: `request`, or the `kind` of an MCP server that is called `name`."""

    url: str
    request: WebRequest | None = None
    kind: str = ""
    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PurchaseOptions:
    """`http` makes the client for HTTP resources, `max_answer` bounds the bytes of their answers.

    Other options as CallPayer.call.
    """

    http: Callable[[], httpx.AsyncClient]
    subscriber: Subscriber | Sequence[Subscriber] | None = None
    max_amount: int | None = None
    payment_id: str | None = None
    max_answer: int = MAX_ANSWER


@dataclass(frozen=True, slots=True)
class Purchased:
    """A bought answer. `text`: the answer's text. `body`: an MCP result by the protocol's names.

    `failure` says why the answer is an error, None if it is a success. `is_of_mcp`: it is an MCP
    server's answer to a request that is not of MCP.
    """

    bought: Bought[Any]
    text: str
    failure: str | None = None
    status: int | None = None
    body: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    is_of_mcp: bool = False


def purchase(given: Mapping[str, Any]) -> Purchase:
    """Read {url, tool | resource | prompt, arguments} or {url, method, headers, body | json | form}.

    Raises PaymentError (INVALID_PARAMETERS).
    """
    url = str(given["url"])
    kinds = [kind for kind in _MCP_KINDS if kind in given]
    parts = picked(given, _HTTP_PARTS)
    if len(kinds) > 1 or (kinds and parts):
        named = ", ".join([*kinds, *parts])
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"expected a tool, a resource, a prompt or an HTTP request, got {named}",
        )
    if not kinds:
        if "arguments" in given:
            raise PaymentError(
                "INVALID_PARAMETERS", "arguments: expected a tool or a prompt too"
            )
        return Purchase(url, web_request(url, **parts))
    arguments = dict(given.get("arguments") or {})
    if kinds == ["prompt"] and not all(
        isinstance(value, str) for value in arguments.values()
    ):
        raise PaymentError(
            "INVALID_PARAMETERS", "arguments: expected texts for a prompt"
        )
    return Purchase(url, None, kinds[0], str(given[kinds[0]]), arguments)


async def buy(
    wanted: Purchase, payer: CallPayer | Wallets, options: PurchaseOptions
) -> Purchased:
    """Ask for *wanted* and pay its price. Errors as CallPayer.call and `connected`."""
    limits: Any = {"max_amount": options.max_amount, "payment_id": options.payment_id}
    if wanted.request is not None:
        async with options.http() as client:
            web = HttpBuyer(
                client,
                payer,
                subscriber=options.subscriber,
                max_answer=options.max_answer,
            )
            return _web_answer(await web.send(wanted.request, **limits))

    async def call(client: Client) -> Bought[Any]:
        host = host_of(wanted.url)
        buyer = Buyer(client, payer, subscriber=options.subscriber, host=host)
        if wanted.kind == "resource":
            return await buyer.read_resource(wanted.name, **limits)
        if wanted.kind == "prompt":
            return await buyer.get_prompt(wanted.name, wanted.arguments, **limits)
        return await buyer.call_tool(wanted.name, wanted.arguments, **limits)

    return _mcp_answer(await connected(wanted.url, call))


def cost_of(bought: Bought[Any]) -> str:
    """Say in words whether the purchase was paid for."""
    if bought.receipt is not None and bought.asset is not None:
        return "the payment settled"
    if is_unconfirmed(bought):
        return (
            f"payment {bought.payment_id} was sent and no receipt came, so its sum stays reserved "
            "until the chain shows whether it landed"
        )
    return "nothing was paid"


def is_unconfirmed(bought: Bought[Any]) -> bool:
    """Whether a payment was sent and no receipt says how it ended."""
    return bought.receipt is None and bought.asset is not None


def subscription_of(bought: Bought[Any]) -> dict[str, Any] | None:
    """Return {id, plan, used, quota} of the subscription that granted a call, None if none did."""
    extensions = bought.receipt.extensions if bought.receipt is not None else None
    info = mapping_at(extensions, "subscription", "info")
    if bought.asset is not None or not info:
        return None
    return picked(info, ("id", "plan", "used", "quota"))


def seller_domains(url: str, named: Mapping[str, str]) -> frozenset[str]:
    """Return the domains that the seller at *url* may name in its challenges: its host, with and
    without the port, and those that *named* gives for patterns of hosts.
    """
    host = host_of(url)
    name = host.rpartition(":")[0] or host
    own = {host, name}
    return frozenset(
        own | {d for pattern, d in named.items() if fnmatchcase(name, pattern)}
    )


def _web_answer(bought: Bought[httpx.Response]) -> Purchased:
    answer = bought.result
    return Purchased(
        bought,
        answer.text,
        failed_answer(answer),
        answer.status_code,
        cut=was_cut(answer),
        is_of_mcp=is_of_mcp(answer),
    )


def _mcp_answer(bought: Bought[BaseModel]) -> Purchased:
    body = json_of(bought.result)
    failure = "the tool answered with an error" if body.get("isError") else None
    return Purchased(bought, "\n".join(_texts(body)), failure, body=body)


def _texts(body: Mapping[str, Any]) -> list[str]:
    """The texts in the result of a tool, a resource or a prompt."""
    messages = [mapping_at(message, "content") for message in list_at(body, "messages")]
    blocks = [*list_at(body, "content"), *list_at(body, "contents"), *messages]
    return [_text(mapping_at(block)) for block in blocks]


def _text(block: Mapping[str, Any]) -> str:
    text = block.get("text", mapping_at(block, "resource").get("text"))
    return (
        text
        if isinstance(text, str)
        else f"[{block.get('mimeType') or block.get('type')}]"
    )

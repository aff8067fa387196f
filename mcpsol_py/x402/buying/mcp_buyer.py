"""Pay for MCP requests (tools, resources, prompts): wraps a client of the official MCP SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ValidationError

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.bounded_mcp import bounded_http
from mcpsol_py.x402.buying.failures import unreachable
from mcpsol_py.x402.buying.outcomes import REFUSALS, AskOutcome, Bought, Payment
from mcpsol_py.x402.buying.paying import CallPayer, Place, Wallets
from mcpsol_py.x402.protocol.foreign_words import seller_words
from mcpsol_py.x402.protocol.json_form import json_of, list_at, mapping_at
from mcpsol_py.x402.protocol.mcp_wire import (
    Dialect,
    payment_meta,
    read_demand,
    read_demand_error,
    read_receipt,
)
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, proof_meta
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = ["Buyer", "Paid", "connected"]

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Paid: TypeAlias = Bought[types.CallToolResult]

#: How often a proof is presented again while the seller works on the call, and the seconds in
#: between.
_PROOF_ATTEMPTS, _PROOF_PAUSE = 20, 0.25
_BUSY = ("in_progress", "storage_unavailable")
#: The SDK raises these for an answer that is not of the protocol, or not of the tool's own schema.
_UNREADABLE = (ValidationError, RuntimeError)


@dataclass(frozen=True, slots=True)
class _Request(Generic[R]):
    """One request of the protocol: how to send it with a `_meta`, and what identifies it.

    `asked` is what a subscription's proof is signed for, in the seller's words.
    """

    send: Callable[[Any], Awaitable[R]]
    identity: list[Any]
    uri: str
    asked: dict[str, Any]


class Buyer:
    """Calls tools, reads resources and gets prompts, and pays with *payer* if they demand it.

    If *subscriber*, or one of several, has a subscription that grants a request, it presents that instead of a payment.
    *host*: the server's, for the history.
    """

    def __init__(
        self,
        client: Client,
        payer: CallPayer | Wallets,
        *,
        subscriber: Subscriber | Sequence[Subscriber] | None = None,
        host: str = "",
    ) -> None:
        self._client, self._payer = client, payer
        self._subscribers = Subscriber.listed(subscriber)
        self._host = host

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
        read_timeout_seconds: float | None = None,
    ) -> Paid:
        """Call a tool and pay its price. Options and errors as CallPayer.call; other errors
        are the SDK's.
        """

        async def send(meta: Any) -> types.CallToolResult:
            return await self._client.call_tool(
                name, arguments, meta=meta, read_timeout_seconds=read_timeout_seconds
            )

        given = arguments or {}
        asked = {"tool": name, "arguments": given}
        request = _Request(send, [name, given], f"mcp://tool/{name}", asked)
        return await self._buy(request, max_amount, payment_id)

    async def read_resource(
        self, uri: str, *, max_amount: int | None = None, payment_id: str | None = None
    ) -> Bought[types.ReadResourceResult]:
        """Read a resource and pay its price, as `call_tool`."""

        async def send(meta: Any) -> types.ReadResourceResult:
            return await self._client.read_resource(uri, meta=meta)

        request = _Request(send, ["resource", uri], uri, {"resource": uri})
        return await self._buy(request, max_amount, payment_id)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        max_amount: int | None = None,
        payment_id: str | None = None,
    ) -> Bought[types.GetPromptResult]:
        """Get a prompt and pay its price, as `call_tool`."""

        async def send(meta: Any) -> types.GetPromptResult:
            return await self._client.get_prompt(name, arguments, meta=meta)

        given = arguments or {}
        asked = {"prompt": name, "arguments": given}
        identity = ["prompt", name, given]
        request = _Request(send, identity, f"mcp://prompt/{name}", asked)
        return await self._buy(request, max_amount, payment_id)

    async def _buy(
        self, request: _Request[R], max_amount: int | None, payment_id: str | None
    ) -> Bought[R]:
        async def ask(payment: Payment | None, dialect: Dialect) -> AskOutcome[R]:
            if payment is not None:
                return await _ask_paying(request, payment, dialect)
            first = await _ask_free(request, None)
            answer = first
            for subscriber in self._subscribers:
                answer = await self._prove(request, first, subscriber, payment_id)
                if answer.demand is None and not _wants_signature(answer.result):
                    break
            return answer

        return await self._payer.call(
            ask,
            request.identity,
            request.uri,
            place=Place(self._host, request.asked.get("tool", "")),
            max_amount=max_amount,
            payment_id=payment_id,
        )

    async def _prove(
        self,
        request: _Request[R],
        first: AskOutcome[R],
        subscriber: Subscriber,
        payment_id: str | None,
    ) -> AskOutcome[R]:
        """Ask again with a subscriber's proof, if the seller asks for one. Return *first* if it does
        not accept the proof or still wants payment.
        """
        named = (request.uri, request.asked, payment_id)
        if first.demand is not None:
            proof = subscriber.answer(first.demand, *named)
        else:
            proof = subscriber.answer_challenge(_challenge(first.result), *named)
        if proof is None:
            return first
        granted = first
        # A proof counts once, however often it is presented.
        for _ in range(_PROOF_ATTEMPTS):
            granted = await _ask_free(request, proof_meta(proof))
            if granted.refused not in _BUSY:
                break
            await asyncio.sleep(_PROOF_PAUSE)
        return first if granted.demand is not None else granted


def _error_of(result: BaseModel | None) -> Mapping[str, Any]:
    return mapping_at(
        json_of(result) if result is not None else {}, "structuredContent"
    )


def _wants_signature(result: BaseModel | None) -> bool:
    """Whether a subscription tool of our sellers wants the signature of another wallet."""
    return _error_of(result).get("code") == "SIGNATURE_REQUIRED"


def _challenge(result: BaseModel | None) -> Mapping[str, Any]:
    """The challenge in an error result of our sellers' subscription tools, {} if it has none."""
    if not _wants_signature(result):
        return {}
    return mapping_at(_error_of(result), "details", SIGN_IN_WITH_X)


async def _ask_free(request: _Request[R], meta: Any) -> AskOutcome[R]:
    try:
        return _read(await request.send(meta))
    except MCPError as error:
        asked = _read_error(error)
        if asked.lost is not None:
            raise
        return asked


async def _ask_paying(
    request: _Request[R], payment: Payment, dialect: Dialect
) -> AskOutcome[R]:
    try:
        return _read(await request.send(payment_meta(payment, dialect)))
    except MCPError as error:
        return _read_error(error)
    except (OSError, *_UNREADABLE) as error:
        return AskOutcome(lost=error, message=type(error).__name__)


async def connected(server: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Return the result of *work* with a client of the MCP server at a URL.

    Exceptions of *work* pass unchanged, not inside the connection's exception group, but an error
    of the server becomes PaymentError (SERVER_ERROR). Raises ConnectionError if the server cannot
    be reached.
    """
    failed: Exception | None = None
    try:
        async with (
            bounded_http() as http,
            Client(streamable_http_client(server, http_client=http)) as client,
        ):
            try:
                return await work(client)
            except Exception as error:  # noqa: BLE001  # raised below, outside the connection's task group
                failed = error
    except Exception as error:
        if failed is None:
            raise unreachable(server, error) from error
    assert failed is not None  # else work's result was returned
    if isinstance(failed, MCPError):
        said = seller_words(failed.error.message)
        raise PaymentError(
            "SERVER_ERROR", f"the server answered with an error: {said}"
        ) from failed
    if isinstance(failed, _UNREADABLE):
        raise PaymentError(
            "SERVER_ERROR", "the server's answer cannot be read"
        ) from failed
    raise failed


def _read(result: R) -> AskOutcome[R]:
    body = json_of(result)
    receipt, demand = read_receipt(body), read_demand(body)
    if demand is not None:
        return AskOutcome(demand=demand, receipt=receipt)
    structured = mapping_at(body, "structuredContent") if body.get("isError") else {}
    texts = [
        str(mapping_at(block).get("text", "")) for block in list_at(body, "content")
    ]
    message = seller_words(" ".join(texts))
    return AskOutcome(result, None, receipt, _refusal(structured), message)


def _read_error(error: MCPError) -> AskOutcome[Any]:
    """Read a JSON-RPC error: a demand, a refusal of our sellers, or neither, which is `lost`."""
    data, message = error.error.data, seller_words(error.error.message)
    receipt = read_receipt({"structuredContent": data})
    demand = read_demand_error(error.error.code, data)
    if demand is not None:
        return AskOutcome(demand=demand, receipt=receipt)
    refused = _refusal(mapping_at(data))
    if refused is not None:
        return AskOutcome(receipt=receipt, refused=refused, message=message)
    return AskOutcome(lost=error, message=message)


def _refusal(structured: Mapping[str, Any]) -> str | None:
    """Return the refusal code in an error of our sellers."""
    reason = structured.get("reason")
    return reason if isinstance(reason, str) and reason in REFUSALS else None

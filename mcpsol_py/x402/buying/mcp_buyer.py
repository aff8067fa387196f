"""Pay for tool calls: wraps a client of the official MCP SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from mcpsol_py.x402.buying.bounded_mcp import bounded_http
from mcpsol_py.x402.buying.outcomes import REFUSALS, AskOutcome, Bought, Payment
from mcpsol_py.x402.buying.paying import CallPayer, Wallets
from mcpsol_py.x402.protocol.foreign_words import seller_words
from mcpsol_py.x402.protocol.mcp_wire import (
    Demand,
    Dialect,
    payment_meta,
    read_demand,
    read_demand_error,
    read_receipt,
)
from mcpsol_py.x402.protocol.proof import proof_meta
from mcpsol_py.x402.subscriptions.subscriber import Subscriber

__all__ = ["Buyer", "Paid", "connected"]

T = TypeVar("T")
Paid: TypeAlias = Bought[types.CallToolResult]
_Outcome: TypeAlias = AskOutcome[types.CallToolResult]

#: How often a proof is presented again while the seller works on the call, and the seconds in
#: between.
_PROOF_ATTEMPTS, _PROOF_PAUSE = 20, 0.25
_BUSY = ("in_progress", "storage_unavailable")


class Buyer:
    """Calls tools and pays with *payer* if they demand it.

    If *subscriber* has a subscription that grants a call, it presents that instead of a payment.
    """

    def __init__(
        self, client: Client, payer: CallPayer | Wallets, *, subscriber: Subscriber | None = None
    ) -> None:
        self._client, self._payer, self._subscriber = client, payer, subscriber

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
        call = _ToolCall(name, arguments, read_timeout_seconds)

        async def ask(payment: Payment | None, dialect: Dialect) -> _Outcome:
            if payment is not None:
                return await self._ask_paying(call, payment, dialect)
            first = await self._ask_free(call)
            if first.demand is None or self._subscriber is None:
                return first
            return await self._prove(call, first, first.demand, self._subscriber, payment_id)

        return await self._payer.call(
            ask, [name, arguments or {}], call.uri, max_amount=max_amount, payment_id=payment_id
        )

    async def _send(self, call: _ToolCall, meta: Any) -> types.CallToolResult:
        return await self._client.call_tool(
            call.name, call.arguments, meta=meta, read_timeout_seconds=call.timeout
        )

    async def _ask_free(self, call: _ToolCall) -> _Outcome:
        try:
            return _read(await self._send(call, None))
        except MCPError as error:
            demand = read_demand_error(error.error.code, error.error.data)
            if demand is None:
                raise
            return AskOutcome(demand=demand)

    async def _ask_paying(self, call: _ToolCall, payment: Payment, dialect: Dialect) -> _Outcome:
        try:
            return _read(await self._send(call, payment_meta(payment, dialect)))
        except MCPError as error:
            demand = read_demand_error(error.error.code, error.error.data)
            if demand is not None:
                return AskOutcome(demand=demand)
            return AskOutcome(lost=error, message=seller_words(error.error.message))
        except (OSError, TimeoutError) as error:
            return AskOutcome(lost=error, message=type(error).__name__)

    async def _prove(
        self,
        call: _ToolCall,
        first: _Outcome,
        demand: Demand,
        subscriber: Subscriber,
        payment_id: str | None,
    ) -> _Outcome:
        """Call again with a subscription's proof. Return *first* if the seller does not
        accept one or still wants payment.
        """
        arguments = {"tool": call.name, "arguments": call.arguments or {}}
        proof = subscriber.answer(demand, call.uri, arguments, payment_id)
        if proof is None:
            return first
        for _ in range(_PROOF_ATTEMPTS):  # a proof counts once, however often it is presented
            granted = _read(await self._send(call, proof_meta(proof)))
            if granted.refused not in _BUSY:
                break
            await asyncio.sleep(_PROOF_PAUSE)
        return first if granted.demand is not None else granted


@dataclass(frozen=True, slots=True)
class _ToolCall:
    name: str
    arguments: dict[str, Any] | None
    timeout: float | None

    @property
    def uri(self) -> str:
        return f"mcp://tool/{self.name}"


async def connected(server: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Return the result of *work* with a client of the MCP server at a URL.

    Exceptions of *work* pass unchanged, not inside the connection's exception group. Raises
    ConnectionError if the server cannot be reached.
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
            raise ConnectionError(
                f"the MCP server does not answer: {type(_first(error)).__name__}"
            ) from error
    assert failed is not None  # else work's result was returned
    raise failed


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _read(result: types.CallToolResult) -> _Outcome:
    body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    receipt, demand = read_receipt(body), read_demand(body)
    if demand is not None:
        return AskOutcome(demand=demand, receipt=receipt)
    texts = [block.get("text", "") for block in body.get("content") or []]
    message = seller_words(" ".join(texts))
    return AskOutcome(result=result, receipt=receipt, refused=_refusal(body), message=message)


def _refusal(body: Mapping[str, Any]) -> str | None:
    """Return the refusal code in an error result of our sellers."""
    structured = body.get("structuredContent")
    if not body.get("isError") or not isinstance(structured, Mapping):
        return None
    reason = structured.get("reason")
    return reason if isinstance(reason, str) and reason in REFUSALS else None

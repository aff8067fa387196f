"""Paying for tool calls: wraps a client of the official MCP SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError

from mcpsol_py.x402.buying.paying import REFUSALS, Asked, Bought, Payer, Payment, Purses
from mcpsol_py.x402.protocol.mcp_wire import (
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


class Buyer:
    """Calls tools and pays for them with *payer*; first, where *subscriber* has a subscription that grants the call,
    it asks for that."""

    def __init__(
        self, client: Client, payer: Payer | Purses, *, subscriber: Subscriber | None = None
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
        """Calls a tool and pays what it asks. Options and errors as Payer.call; other errors are the SDK's."""

        async def ask(payment: Payment | None, dialect: Dialect) -> Asked[types.CallToolResult]:
            meta: Any = None if payment is None else payment_meta(payment, dialect)
            try:
                result = await self._client.call_tool(
                    name, arguments, meta=meta, read_timeout_seconds=read_timeout_seconds
                )
            except MCPError as error:
                demand = read_demand_error(error.error.code, error.error.data)
                if demand is not None:
                    return Asked(demand=demand)
                if payment is None:
                    raise
                return Asked(lost=error, message=error.error.message)
            except (OSError, TimeoutError) as error:
                if payment is None:
                    raise
                return Asked(lost=error, message=type(error).__name__)
            return _read(result)

        uri, asked = f"mcp://tool/{name}", {"tool": name, "arguments": arguments or {}}

        async def ask_or_prove(
            payment: Payment | None, dialect: Dialect
        ) -> Asked[types.CallToolResult]:
            first = await ask(payment, dialect)
            if payment is not None or first.demand is None or self._subscriber is None:
                return first
            proof = self._subscriber.answer(first.demand, uri, asked, payment_id)
            if proof is None:
                return first
            for _ in range(20):  # the same proof counts once, however often it is shown
                result = await self._client.call_tool(
                    name,
                    arguments,
                    meta=_meta(proof_meta(proof)),
                    read_timeout_seconds=read_timeout_seconds,
                )
                granted = _read(result)
                if granted.refused not in ("in_progress", "storage_unavailable"):
                    break
                await asyncio.sleep(0.25)
            return first if granted.demand is not None else granted

        request = [name, arguments or {}]
        return await self._payer.call(
            ask_or_prove, request, uri, max_amount=max_amount, payment_id=payment_id
        )


async def connected(server: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """What *work* does with a client of the MCP server at a URL. What it raises comes as it is, not in a group of the
    connection's; ConnectionError where the server cannot be reached.
    """
    failed: Exception | None = None
    try:
        async with Client(server) as client:
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


def _meta(value: dict[str, Any]) -> Any:
    """The SDK's type of `_meta` names its own keys only."""
    return value


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _read(result: types.CallToolResult) -> Asked[types.CallToolResult]:
    body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    receipt, demand = read_receipt(body), read_demand(body)
    if demand is not None:
        return Asked(demand=demand, receipt=receipt)
    structured = body.get("structuredContent")
    reason = (
        structured.get("reason")
        if body.get("isError") and isinstance(structured, Mapping)
        else None
    )
    texts = [b.get("text", "") for b in body.get("content") or []]
    return Asked(
        result=result, receipt=receipt, refused=_refusal(reason), message=" ".join(texts)[:300]
    )


def _refusal(reason: object) -> str | None:
    return reason if isinstance(reason, str) and reason in REFUSALS else None

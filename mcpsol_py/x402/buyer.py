"""Paying for tool calls: wraps a client of the official MCP SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError

from mcpsol_py.x402.paying import REFUSALS, Asked, Bought, Payer, Payment
from mcpsol_py.x402.wire import Dialect, payment_meta, read_demand, read_demand_error, read_receipt

__all__ = ["Buyer", "Paid", "connected"]

T = TypeVar("T")
Paid: TypeAlias = Bought[types.CallToolResult]


class Buyer:
    """Calls tools and pays for them with *payer*."""

    def __init__(self, client: Client, payer: Payer) -> None:
        self._client, self._payer = client, payer

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

        request = [name, arguments or {}]
        return await self._payer.call(ask, request, f"mcp://tool/{name}", max_amount=max_amount, payment_id=payment_id)


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
            raise ConnectionError(f"the MCP server does not answer: {type(_first(error)).__name__}") from error
    assert failed is not None  # else work's result was returned
    raise failed


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _read(result: types.CallToolResult) -> Asked[types.CallToolResult]:
    body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    receipt, demand = read_receipt(body), read_demand(body)
    if demand is not None:
        return Asked(demand=demand, receipt=receipt)
    structured = body.get("structuredContent")
    reason = structured.get("reason") if body.get("isError") and isinstance(structured, Mapping) else None
    texts = [b.get("text", "") for b in body.get("content") or []]
    return Asked(result=result, receipt=receipt, refused=_refusal(reason), message=" ".join(texts)[:300])


def _refusal(reason: object) -> str | None:
    return reason if isinstance(reason, str) and reason in REFUSALS else None

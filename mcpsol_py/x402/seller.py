"""Selling on an MCP server: wraps the handlers of the official SDK's server, for tools, resources and prompts.

paid = Paid(gate, {"weather": offer})
Server("shop", on_list_tools=paid.list_tools(list_tools), on_call_tool=paid.call_tool(call_tool))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.gate import Gate, NotPaid, Offer, Refused, Reply, Run
from mcpsol_py.x402.price import format_amount
from mcpsol_py.x402.wire import EXTENSION, RESPONSE_META, payment_required_result, read_payment, v1_error_data

__all__ = ["Paid", "PaymentRequiredResult"]

Context: TypeAlias = ServerRequestContext[Any, Any]
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class PaymentRequiredResult(types.Result):
    """The draft extension's result (X402.md 2.2), used only where both sides advertise it."""

    result_type: str = "payment_required"
    payment_required: dict[str, Any]


class Paid:
    """Sells what *offers* name: tools by name, resources by URI, prompts by name. Everything else stays free.

    `v1_errors`: unpaid calls are JSON-RPC error 402 in version 1's shape, for peers that know only that (another shape,
    so a switch).
    """

    def __init__(self, gate: Gate, offers: Mapping[str, Offer], *, v1_errors: bool = False) -> None:
        self.gate, self.offers, self._v1_errors = gate, dict(offers), v1_errors

    def extension(self) -> dict[str, dict[str, Any]]:
        """For ServerCapabilities.extensions: that this server speaks the draft extension."""
        return {EXTENSION: {}}

    def list_tools(
        self, handler: Callable[[Context, Any], Awaitable[types.ListToolsResult]]
    ) -> Callable[[Context, Any], Awaitable[types.ListToolsResult]]:
        """Says the price in each paid tool's description and `_meta`.

        Its outputSchema is dropped: TypeScript clients hold a demand for payment against it too (X402.md 2.4).
        """

        async def listed(ctx: Context, params: Any) -> types.ListToolsResult:
            result = await handler(ctx, params)
            return result.model_copy(update={"tools": [self._priced(t) for t in result.tools]})

        return listed

    def _priced(self, tool: types.Tool) -> types.Tool:
        offer = self.offers.get(tool.name)
        if offer is None:
            return tool
        prices = [format_amount(int(r.amount), r.network, r.asset) for r in offer.accepts]
        terms = [
            {"scheme": r.scheme, "network": r.network, "amount": r.amount, "asset": r.asset, "payTo": r.pay_to}
            for r in offer.accepts
        ]
        text = f"{tool.description or ''}\nCosts {' or '.join(prices)} a call (x402).".strip()
        return tool.model_copy(
            update={
                "description": text,
                "output_schema": None,
                "meta": {**(tool.meta or {}), "x402": {"accepts": terms}},
            }
        )

    def call_tool(
        self, handler: Callable[[Context, types.CallToolRequestParams], Awaitable[Any]]
    ) -> Callable[[Context, types.CallToolRequestParams], Awaitable[Any]]:
        """Sells tools. The handler runs once for each payment; its result is withheld until it is paid."""

        async def called(ctx: Context, params: types.CallToolRequestParams) -> Any:
            offer = self.offers.get(params.name)
            if offer is None:
                return await handler(ctx, params)
            arguments = {"tool": params.name, "arguments": params.arguments or {}}
            reply = await self._sell(offer, params.meta, arguments, lambda: handler(ctx, params))
            if isinstance(reply, NotPaid):
                return self._demand(ctx, offer, reply)
            if isinstance(reply, Refused):
                return types.CallToolResult.model_validate(_refusal(reply))
            return types.CallToolResult.model_validate(_with_receipt(reply.result, reply.receipt, reply.repeated))

        return called

    def read_resource(
        self, handler: Callable[[Context, types.ReadResourceRequestParams], Awaitable[Any]]
    ) -> Callable[[Context, types.ReadResourceRequestParams], Awaitable[Any]]:
        """Sells resources. An unpaid read is JSON-RPC error 402, since its result has no room for a demand."""

        async def read(ctx: Context, params: types.ReadResourceRequestParams) -> Any:
            offer = self.offers.get(str(params.uri))
            if offer is None:
                return await handler(ctx, params)
            reply = await self._sell(offer, params.meta, {"resource": str(params.uri)}, lambda: handler(ctx, params))
            return types.ReadResourceResult.model_validate(self._plain(ctx, offer, reply))

        return read

    def get_prompt(
        self, handler: Callable[[Context, types.GetPromptRequestParams], Awaitable[Any]]
    ) -> Callable[[Context, types.GetPromptRequestParams], Awaitable[Any]]:
        """Sells prompts, as read_resource does."""

        async def got(ctx: Context, params: types.GetPromptRequestParams) -> Any:
            offer = self.offers.get(params.name)
            if offer is None:
                return await handler(ctx, params)
            arguments = {"prompt": params.name, "arguments": params.arguments or {}}
            reply = await self._sell(offer, params.meta, arguments, lambda: handler(ctx, params))
            return types.GetPromptResult.model_validate(self._plain(ctx, offer, reply))

        return got

    # -- shared
    # ---------------------------------------------------------------------------------------------------------

    async def _sell(
        self, offer: Offer, meta: Any, arguments: dict[str, Any], handler: Callable[[], Awaitable[Any]]
    ) -> Reply:
        try:
            payment = read_payment(dict(meta) if meta else None)
        except PaymentError as error:
            return NotPaid(offer.payment_required(str(error)), error.code)

        async def run(_: Run) -> tuple[dict[str, Any], bool]:
            result = await handler()
            body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
            return body, bool(body.get("isError"))

        return await self.gate.call(offer, payment, arguments, run)

    def _demand(self, ctx: Context, offer: Offer, reply: NotPaid) -> Any:
        if self._v1_errors:
            raise MCPError(
                402, "Payment required", v1_error_data(offer.v1(), reply.required.error or "Payment required")
            )
        body = payment_required_result(reply.required, reply.failed)
        if _speaks_extension(ctx):
            return PaymentRequiredResult.model_validate({"payment_required": body["structuredContent"]})
        return types.CallToolResult.model_validate(body)

    def _plain(self, ctx: Context, offer: Offer, reply: Reply) -> dict[str, Any]:
        if isinstance(reply, NotPaid):
            body = payment_required_result(reply.required, reply.failed)["structuredContent"]
            data = v1_error_data(offer.v1(), reply.required.error or "") if self._v1_errors else body
            raise MCPError(402, "Payment required", data)
        if isinstance(reply, Refused):
            raise MCPError(-32603, reply.message, {"reason": reply.code, RESPONSE_META: _receipt(reply.receipt)})
        return _with_receipt(reply.result, reply.receipt, reply.repeated)


def _speaks_extension(ctx: Context) -> bool:
    capabilities = dict(ctx.meta or {}).get(_CAPABILITIES)
    extensions = getattr(capabilities, "extensions", None)
    if extensions is None and isinstance(capabilities, Mapping):
        extensions = capabilities.get("extensions")
    return EXTENSION in (extensions or {})


def _receipt(receipt: SettleResponse | None) -> dict[str, Any] | None:
    return None if receipt is None else receipt.model_dump(by_alias=True, exclude_none=True, mode="json")


def _with_receipt(result: dict[str, Any], receipt: SettleResponse | None, repeated: bool) -> dict[str, Any]:
    if receipt is None:
        return result
    meta = {**(result.get("_meta") or {}), RESPONSE_META: _receipt(receipt)}
    if repeated:
        meta["x402/repeated"] = True
    return {**result, "_meta": meta}


def _refusal(reply: Refused) -> dict[str, Any]:
    """Not a demand: paying again is never the remedy."""
    body: dict[str, Any] = {"reason": reply.code, "message": reply.message}
    meta: dict[str, Any] = {}
    receipt = _receipt(reply.receipt)
    if receipt is not None:
        meta[RESPONSE_META] = receipt
    return {
        "isError": True,
        "content": [{"type": "text", "text": reply.message}],
        "structuredContent": body,
        "_meta": meta,
    }

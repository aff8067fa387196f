"""Selling on an MCP server, as middleware of the official SDK's server: tools, resources and prompts.

server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
server.middleware.append(Paid(paid_calls, {"weather": offer}))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.methods import is_input_required
from pydantic import BaseModel
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.mcp_wire import (
    EXTENSION,
    RESPONSE_META,
    payment_required_result,
    read_payment,
    v1_error_data,
)
from mcpsol_py.x402.protocol.offer import Offer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.payment_extension import PaymentRequiredResult
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.protocol.proof import read_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run, Unfinished

__all__ = ["Paid"]

Context: TypeAlias = ServerRequestContext[Any, Any]
#: What is for sale: by name (tools, prompts) or URI (resources); None for what is free.
Offers: TypeAlias = Mapping[str, Offer] | Callable[[str], Offer | None]
#: (tool, arguments) of a call -> those of the tool that it really calls: a search surface calls others by name.
Unwrap: TypeAlias = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]]
#: (tool, arguments) -> the result with which the tool would fail if it ran now, or None
Rehearse: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


async def _no_rehearsal(_tool: str, _arguments: dict[str, Any]) -> dict[str, Any] | None:
    return None


class Paid:
    """Sells what *offers* name: tools by name, resources by URI, prompts by name. Everything else stays free.

    `v1_errors`: unpaid calls are JSON-RPC error 402 in version 1's shape, for peers that know only that (another shape,
    so a switch). *unwrap* says which tool a call is really of. *rehearse* is asked before a tool that broadcasts is
    settled for: what would fail is answered, and not charged.
    """

    def __init__(
        self,
        paid_calls: PaidCalls,
        offers: Offers,
        *,
        v1_errors: bool = False,
        unwrap: Unwrap = lambda name, arguments: (name, arguments),
        rehearse: Rehearse = _no_rehearsal,
    ) -> None:
        self.paid_calls, self._v1_errors, self._speaks_extension = paid_calls, v1_errors, False
        self.offer: Callable[[str], Offer | None] = offers if callable(offers) else offers.get
        self._unwrap, self._rehearse = unwrap, rehearse

    def install(self, server: Server[Any]) -> None:
        """Puts this before *server*, and says in its capabilities that it speaks the draft extension (X402.md 2.2):
        clients that say so too are asked for payment by a result of its own type. Without this the extension is not
        used, since a result type that was not agreed on is an error to its reader."""
        server.middleware.append(self)
        server.extensions = {**server.extensions, EXTENSION: {}}
        self._speaks_extension = True

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """One request of any method."""
        params = ctx.params or {}
        if ctx.method == "tools/list":
            listed = _dict(await call_next(ctx))
            return {**listed, "tools": [self._priced(t) for t in listed.get("tools", [])]}
        if ctx.method == "tools/call" and isinstance(params.get("name"), str):
            return await self._call(ctx, params, call_next)
        if ctx.method == "resources/read" and isinstance(params.get("uri"), str):
            return await self._get(ctx, params["uri"], {"resource": params["uri"]}, call_next)
        if ctx.method == "prompts/get" and isinstance(params.get("name"), str):
            asked = {"prompt": params["name"], "arguments": params.get("arguments") or {}}
            return await self._get(ctx, params["name"], asked, call_next)
        return await call_next(ctx)

    def _priced(self, tool: dict[str, Any]) -> dict[str, Any]:
        """Says the price in a paid tool's description and `_meta`.

        Its outputSchema is dropped: TypeScript clients hold a demand for payment against it too (X402.md 2.4).
        """
        offer = self.offer(str(tool.get("name")))
        if offer is None:
            return tool
        prices = dict.fromkeys(
            format_amount(int(r.amount), r.network, r.asset) for r in offer.accepts
        )
        terms = [
            {
                "scheme": r.scheme,
                "network": r.network,
                "amount": r.amount,
                "asset": r.asset,
                "payTo": r.pay_to,
            }
            for r in offer.accepts
        ]
        free = f" Nothing with a subscription to {' or '.join(offer.plans)}." if offer.plans else ""
        text = f"{tool.get('description') or ''}\nCosts {' or '.join(prices)} a call (x402).{free}".strip()
        meta = {**(tool.get("_meta") or {}), "x402": {"accepts": terms}}
        return {
            **{k: v for k, v in tool.items() if k != "outputSchema"},
            "description": text,
            "_meta": meta,
        }

    async def _call(
        self, ctx: Context, params: Mapping[str, Any], call_next: CallNext
    ) -> HandlerResult:
        """A tool's call. The handler runs once for each payment; its result is withheld until it is paid."""
        given = params.get("arguments")
        name, arguments = self._unwrap(
            params["name"], dict(given) if isinstance(given, Mapping) else {}
        )
        offer = self.offer(name)
        if offer is None:
            return await call_next(ctx)
        try:
            reply = await self._sell(
                ctx, offer, {"tool": name, "arguments": arguments}, call_next, name, arguments
            )
        except Unfinished as unfinished:
            return unfinished.result
        if isinstance(reply, PaymentRequiredReply):
            return self._demand(ctx, offer, reply)
        if isinstance(reply, Refused):
            return types.CallToolResult.model_validate(_refusal(reply))
        return _with_receipt(_shown(reply.result), reply.receipt, reply.repeated)

    async def _get(
        self, ctx: Context, name: str, asked: dict[str, Any], call_next: CallNext
    ) -> HandlerResult:
        """A resource or a prompt. An unpaid one is JSON-RPC error 402, since its result has no room for a demand."""
        offer = self.offer(name)
        if offer is None:
            return await call_next(ctx)
        try:
            reply = await self._sell(ctx, offer, asked, call_next)
        except Unfinished as unfinished:
            return unfinished.result
        if isinstance(reply, PaymentRequiredReply):
            body = payment_required_result(reply.required, reply.failed)["structuredContent"]
            data = (
                v1_error_data(offer.v1(), reply.required.error or "") if self._v1_errors else body
            )
            raise MCPError(402, "Payment required", data)
        if isinstance(reply, Refused):
            raise MCPError(
                -32603,
                reply.message,
                {"reason": reply.code, RESPONSE_META: _receipt(reply.receipt)},
            )
        return _with_receipt(reply.result, reply.receipt, reply.repeated)

    async def _sell(
        self,
        ctx: Context,
        offer: Offer,
        asked: dict[str, Any],
        call_next: CallNext,
        tool: str | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> Reply:
        try:
            payment = read_payment(_meta(ctx))
            proof = read_proof(_meta(ctx)) if offer.plans else None
        except PaymentError as error:
            return PaymentRequiredReply(offer.payment_required(str(error)), error.code)
        if (
            payment is not None
            and tool is not None
            and offer.broadcasts
            and not await self.paid_calls.knows(offer, payment)
        ):
            failed = await self._rehearse(tool, arguments or {})
            if failed is not None:
                raise Unfinished(failed)

        async def run(_: Run) -> tuple[dict[str, Any], bool]:
            body = _dict(await call_next(ctx))
            if is_input_required(
                body
            ):  # a person is asked first; the same call comes again with the answer
                raise Unfinished(body)
            return body, bool(body.get("isError"))

        return await self.paid_calls.call(offer, payment, asked, run, proof)

    def _demand(self, ctx: Context, offer: Offer, reply: PaymentRequiredReply) -> HandlerResult:
        if self._v1_errors:
            raise MCPError(
                402,
                "Payment required",
                v1_error_data(offer.v1(), reply.required.error or "Payment required"),
            )
        body = payment_required_result(reply.required, reply.failed)
        if self._speaks_extension and _speaks_extension(ctx):
            return PaymentRequiredResult.model_validate(
                {"paymentRequired": body["structuredContent"]}
            )
        return types.CallToolResult.model_validate(body)


def _meta(ctx: Context) -> dict[str, Any] | None:
    meta = (ctx.params or {}).get("_meta")
    return dict(meta) if isinstance(meta, Mapping) and meta else None


def _dict(result: HandlerResult) -> dict[str, Any]:
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, exclude_none=True, mode="json")
    return result or {}


def _speaks_extension(ctx: Context) -> bool:
    capabilities = (_meta(ctx) or {}).get(_CAPABILITIES)
    extensions = getattr(capabilities, "extensions", None)
    if extensions is None and isinstance(capabilities, Mapping):
        extensions = capabilities.get("extensions")
    return EXTENSION in (extensions or {})


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A tool's result; what was found out after a crash (a signature that landed) is given the form of one."""
    if "content" in result:
        return result
    signature = result.get("signature")
    found = (
        f"Its transaction {signature} is on the chain."
        if signature
        else "It did its work; its answer is lost."
    )
    text = f"The server stopped while this call ran. {found}"
    content = [{"type": "text", "text": text}]
    return {
        "resultType": "complete",
        "content": content,
        "structuredContent": result,
        "isError": False,
    }


def _receipt(receipt: SettleResponse | None) -> dict[str, Any] | None:
    return (
        None
        if receipt is None
        else receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
    )


def _with_receipt(
    result: dict[str, Any], receipt: SettleResponse | None, repeated: bool
) -> dict[str, Any]:
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

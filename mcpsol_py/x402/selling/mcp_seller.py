"""Selling on an MCP server, as middleware of the official SDK's server: tools, resources and
prompts.

server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
server.middleware.append(Paid(paid_calls, {"weather": offer}))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.methods import is_input_required
from x402.schemas import SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import without
from mcpsol_py.x402.protocol.json_form import body_of, json_of, mapping_at, text_at
from mcpsol_py.x402.protocol.mcp_wire import (
    EXTENSION,
    REPEATED_META,
    RESPONSE_META,
    payment_required_result,
    read_payment,
    v1_error_data,
)
from mcpsol_py.x402.protocol.offer import Offer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.older_names import ERROR_META, older_error
from mcpsol_py.x402.protocol.payment_extension import PaymentRequiredResult
from mcpsol_py.x402.protocol.payment_ids import Payment
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.protocol.proof import read_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run, Unfinished

__all__ = ["Paid"]

Context: TypeAlias = ServerRequestContext[Any, Any]
#: Prices: by name (tools, prompts) or URI (resources). None: it is free.
Offers: TypeAlias = Mapping[str, Offer] | Callable[[str], Offer | None]
#: (tool, arguments) of a call -> those of the tool that it really calls. A search tool calls others
#: by name.
Unwrap: TypeAlias = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]]
#: (tool, arguments) -> the result with which the tool would fail if it ran now, or None.
Rehearse: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PAYMENT_REQUIRED = 402
_INTERNAL_ERROR = -32603


async def _no_rehearsal(
    _tool: str, _arguments: dict[str, Any]
) -> dict[str, Any] | None:
    return None


@dataclass(frozen=True, slots=True)
class _Request:
    """A request for something that costs. `asked` is what the payment pays for; `tool` is None for
    a resource or prompt.
    """

    ctx: Context
    call_next: CallNext
    offer: Offer
    asked: dict[str, Any]
    tool: str | None = None

    async def run(self, _: Run) -> tuple[dict[str, Any], bool]:
        """Call the server's own handler."""
        body = body_of(await self.call_next(self.ctx))
        if is_input_required(body):  # a person is asked, and the same call comes again
            raise Unfinished(body)
        return body, bool(body.get("isError"))


class Paid:
    """Sells what *offers* name: tools by name, resources by URI, prompts by name. Everything else
    stays free.

    *v1_errors*: an unpaid call is answered with JSON-RPC error 402 in version 1's shape, for peers
    that know nothing else. *unwrap* says which tool a call is really of. *rehearse* is asked before
    a tool that broadcasts is settled for: if the tool would fail, its result is answered and
    nothing is charged.
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
        self.paid_calls, self._v1_errors, self._speaks_extension = (
            paid_calls,
            v1_errors,
            False,
        )
        self.offer: Callable[[str], Offer | None] = (
            offers if callable(offers) else offers.get
        )
        self._unwrap, self._rehearse = unwrap, rehearse

    def install(self, server: Server[Any]) -> None:
        """Put this before *server*'s handlers, and offer the draft extension org.x402/payment in
        its capabilities.

        Clients that offer it too are asked for payment by a result of its own type. Without this
        call the extension is not used, because a client fails on a result type that was not
        negotiated.
        """
        server.middleware.append(self)
        server.extensions = {**server.extensions, EXTENSION: {}}
        self._speaks_extension = True

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Handle one request of any method."""
        if ctx.method == "tools/list":
            listed = body_of(await call_next(ctx))
            return {**listed, "tools": list(map(self._priced, listed.get("tools", [])))}
        name, asked = self._asked(ctx)
        offer = self.offer(name) if asked else None
        if offer is None:
            return await call_next(ctx)
        is_tool = "tool" in asked
        request = _Request(ctx, call_next, offer, asked, tool=name if is_tool else None)
        answer = self._answer_call if is_tool else self._answer_get
        try:
            return answer(request, await self._sell(request))
        except Unfinished as unfinished:
            return unfinished.result

    def _asked(self, ctx: Context) -> tuple[str, dict[str, Any]]:
        """Return the name of the tool, resource or prompt that a request is for, and what a payment of
        it pays for. Nothing for other requests.
        """
        params = mapping_at(ctx.params)
        match ctx.method, params.get("name"), params.get("uri"):
            case "tools/call", str(called), _:
                given = dict(mapping_at(params, "arguments"))
                name, arguments = self._unwrap(called, given)
                return name, {"tool": name, "arguments": arguments}
            case "resources/read", _, str(uri):
                return uri, {"resource": uri}
            case "prompts/get", str(name), _:
                return name, {
                    "prompt": name,
                    "arguments": params.get("arguments") or {},
                }
        return "", {}

    def _priced(self, tool: dict[str, Any]) -> dict[str, Any]:
        """Add the price to a paid tool's description and `_meta`.

        Its outputSchema is removed, because TypeScript clients validate a demand for payment
        against it too.
        """
        found = self.offer(str(tool.get("name")))
        if found is None:
            return tool
        offer = self.paid_calls.current(found)
        priced = without(tool, "outputSchema")
        priced["description"] = (
            f"{tool.get('description') or ''}\n{_price_text(offer)}".strip()
        )
        priced["_meta"] = {**mapping_at(tool, "_meta"), "x402": offer.listed()}
        return priced

    # -- the two kinds of request --------------------------------------------------------------

    def _answer_call(self, request: _Request, reply: Reply) -> HandlerResult:
        """The answer to a tool's call. The handler runs once for each payment, and its result is
        withheld until it is paid.
        """
        if isinstance(reply, PaymentRequiredReply):
            return self._demand(request.ctx, request.offer, reply)
        if isinstance(reply, Refused):
            return types.CallToolResult.model_validate(_refusal(reply))
        return _with_receipt(_tool_result(reply.result), reply.receipt, reply.repeated)

    def _answer_get(self, request: _Request, reply: Reply) -> HandlerResult:
        """The answer for a resource or a prompt. Its result has no room for a demand, so an unpaid
        one is JSON-RPC error 402.
        """
        if isinstance(reply, PaymentRequiredReply):
            raise self._demand_error(request.offer, reply)
        if isinstance(reply, Refused):
            data = {"reason": reply.code, RESPONSE_META: _receipt(reply.receipt)}
            raise MCPError(_INTERNAL_ERROR, reply.message, data)
        return _with_receipt(reply.result, reply.receipt, reply.repeated)

    async def _sell(self, request: _Request) -> Reply:
        offer, meta = request.offer, _meta(request.ctx)
        try:
            payment = read_payment(meta)
            proof = read_proof(meta) if offer.plans else None
        except PaymentError as error:
            return PaymentRequiredReply(offer.payment_required(str(error)), error.code)
        if payment is not None and offer.broadcasts and request.tool is not None:
            await self._rehearse_first(request.tool, request, payment)
        return await self.paid_calls.call(
            offer,
            payment,
            request.asked,
            request.run,
            proof,
            continuation=text_at(request.ctx.params, "requestState"),
        )

    async def _rehearse_first(
        self, tool: str, request: _Request, payment: Payment
    ) -> None:
        """Rehearse a call that was not seen before. Raises Unfinished if the tool would fail
        now.
        """
        if await self.paid_calls.knows(request.offer, payment):
            return
        failed = await self._rehearse(tool, request.asked["arguments"])
        if failed is not None:
            raise Unfinished(failed)

    # -- demands -------------------------------------------------------------------------------

    def _demand(
        self, ctx: Context, offer: Offer, reply: PaymentRequiredReply
    ) -> HandlerResult:
        if self._v1_errors:
            raise _v1_error(offer, reply.required.error or "Payment required")
        body = payment_required_result(reply.required, reply.failed)
        body["_meta"][ERROR_META] = older_error(reply.required, reply.reason)
        if self._speaks_extension and _speaks_extension(ctx):
            return PaymentRequiredResult.model_validate(
                {"paymentRequired": body["structuredContent"]}
            )
        return types.CallToolResult.model_validate(body)

    def _demand_error(self, offer: Offer, reply: PaymentRequiredReply) -> MCPError:
        if self._v1_errors:
            return _v1_error(offer, reply.required.error or "")
        body = payment_required_result(reply.required, reply.failed)
        return MCPError(
            _PAYMENT_REQUIRED, "Payment required", body["structuredContent"]
        )


def _v1_error(offer: Offer, message: str) -> MCPError:
    return MCPError(
        _PAYMENT_REQUIRED, "Payment required", v1_error_data(offer.v1(), message)
    )


def _price_text(offer: Offer) -> str:
    prices = dict.fromkeys(
        format_amount(int(r.amount), r.network, r.asset) for r in offer.accepts
    )
    text = f"Costs {' or '.join(prices)} a call (x402)."
    if offer.plans:
        text += f" Nothing with a subscription to {' or '.join(offer.plans)}."
    return text


def _meta(ctx: Context) -> dict[str, Any]:
    return dict(mapping_at(ctx.params, "_meta"))


def _speaks_extension(ctx: Context) -> bool:
    """Whether the client offers the draft extension."""
    capabilities = _meta(ctx).get(_CAPABILITIES)
    extensions = getattr(capabilities, "extensions", None)
    return EXTENSION in mapping_at(extensions or mapping_at(capabilities, "extensions"))


def _tool_result(result: dict[str, Any]) -> dict[str, Any]:
    """A tool's result. One that was found out after a crash (a signature that landed) is put into
    that form.
    """
    if "content" in result:
        return result
    signature = result.get("signature")
    found = (
        f"Its transaction {signature} is on the chain."
        if signature
        else "It did its work; its answer is lost."
    )
    text = f"The server stopped while this call ran. {found}"
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "structuredContent": result,
        "isError": False,
    }


def _receipt(receipt: SettleResponse | None) -> dict[str, Any] | None:
    return None if receipt is None else json_of(receipt)


def _with_receipt(
    result: dict[str, Any], receipt: SettleResponse | None, repeated: bool
) -> dict[str, Any]:
    if receipt is None:
        return result
    meta = {**mapping_at(result, "_meta"), RESPONSE_META: json_of(receipt)}
    if repeated:
        meta[REPEATED_META] = True
    return {**result, "_meta": meta}


def _refusal(reply: Refused) -> dict[str, Any]:
    """A refusal as a tool result. It is not a demand: paying again does not help."""
    return {
        "isError": True,
        "content": [{"type": "text", "text": reply.message}],
        "structuredContent": {"reason": reply.code, "message": reply.message},
        "_meta": {}
        if reply.receipt is None
        else {RESPONSE_META: json_of(reply.receipt)},
    }

"""Shops served over MCP and HTTP."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from x402.schemas import PaymentPayload

from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.http_seller import PaidHttp
from mcpsol_py.x402.selling.mcp_seller import Paid
from tests.support.x402_shop import Shop


def serve(shop: Shop, *, v1_errors: bool = False, broken: bool = False) -> Server[Any]:
    offer = shop.offer()
    document = Offer(
        offer.resource.model_copy(update={"url": "doc://price-list"}), offer.accepts
    )
    brief = Offer(
        offer.resource.model_copy(update={"url": "mcp://prompt/brief"}), offer.accepts
    )
    offers = {"quote": offer, "doc://price-list": document, "brief": brief}
    paid = Paid(shop.paid_calls(), offers, v1_errors=v1_errors)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        output = {
            "type": "object",
            "properties": {"answer": {"type": "integer"}},
            "required": ["answer"],
        }
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name="quote",
                    description="A quote.",
                    input_schema=schema,
                    output_schema=output,
                ),
                types.Tool(
                    name="free", description="Costs nothing.", input_schema=schema
                ),
            ]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        shop.runs.append(params.name)
        if broken:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text="no luck")], is_error=True
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text="42")],
            structured_content={"answer": 42},
        )

    async def read_resource(
        ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        shop.runs.append(str(params.uri))
        return types.ReadResourceResult(
            contents=[
                types.TextResourceContents(
                    uri=params.uri, text="prices", mime_type="text/plain"
                )
            ]
        )

    async def get_prompt(
        ctx: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        shop.runs.append(params.name)
        text = types.TextContent(
            type="text", text=f"About {(params.arguments or {}).get('city')}."
        )
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=text)]
        )

    server: Server[Any] = Server(
        "shop",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_read_resource=read_resource,
        on_get_prompt=get_prompt,
    )
    server.middleware.append(paid)
    return server


def meta_of(payment: PaymentPayload) -> dict[str, Any]:
    return payment.model_dump(by_alias=True, exclude_none=True)


def paying(payment: object) -> Any:
    return {PAYMENT_META: payment}


def wire(result: Any) -> dict[str, Any]:
    body: dict[str, Any] = result.model_dump(
        by_alias=True, exclude_none=True, mode="json"
    )
    return body


def app_of(shop: Shop) -> PaidHttp:
    async def weather(request: Request) -> Response:
        body = await request.body()
        shop.runs.append((request.query_params.get("city"), body))
        if request.query_params.get("city") == "Nowhere":
            return JSONResponse({"error": "no such city"}, 404)
        return JSONResponse({"sun": True}, headers={"X-Kept": "yes"})

    async def free(request: Request) -> Response:
        return Response("free")

    async def echo(request: Request) -> Response:
        body = await request.body()
        kind = request.headers.get("content-type")
        said = {"method": request.method, "type": kind, "body": body.decode()}
        return JSONResponse({**said, "mark": request.headers.get("x-mark")})

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    inner = Starlette(
        routes=[
            Route("/weather", weather, methods=["GET", "POST"]),
            Route("/free", free),
            Route("/echo", echo, methods=methods),
        ]
    )
    offers = {("GET", "/weather"): shop.offer(), ("POST", "/weather"): shop.offer()}
    offers |= {(method, "/echo"): shop.offer() for method in methods}
    return PaidHttp(inner, shop.paid_calls(), offers)

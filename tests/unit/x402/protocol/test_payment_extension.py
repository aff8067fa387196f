"""The draft extension: used when both sides offer it, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server

from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.protocol.mcp_wire import EXTENSION
from mcpsol_py.x402.protocol.payment_extension import PaymentExtension
from mcpsol_py.x402.selling.mcp_seller import Paid
from tests.support.x402_buyers import budget_of, payer_of
from tests.support.x402_shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def serve(shop: Shop, *, offers: bool) -> tuple[Server[Any], list[dict[str, Any]]]:
    """A shop, and what its handlers really answered."""
    told: list[dict[str, Any]] = []

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="quote", input_schema={"type": "object"})]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        shop.runs.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="42")])

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )

    async def listen(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        if ctx.method == "tools/call":
            told.append(
                answer
                if isinstance(answer, dict)
                else answer.model_dump(by_alias=True, exclude_none=True)
            )
        return answer

    server.middleware.append(listen)
    paid = Paid(shop.paid_calls(), {"quote": shop.offer()})
    if offers:
        paid.install(server)
    else:
        server.middleware.append(paid)
    return server, told


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("speaks", [True, False])
@pytest.mark.parametrize("offers", [True, False])
async def test_the_extension_is_used_where_both_offer_it(
    shop: Shop, tmp_path: Path, offers: bool, speaks: bool, mode: Any
) -> None:
    server, told = serve(shop, offers=offers)
    async with Client(
        server, mode=mode, extensions=[PaymentExtension()] if speaks else None
    ) as client:
        bought = await Buyer(
            client, payer_of(shop, budget_of(shop, tmp_path))
        ).call_tool("quote", {})
    assert bought.receipt is not None
    assert (bought.amount, shop.paid, shop.runs) == (10_000, 10_000, ["quote"])
    agreed = offers and speaks and mode == "auto"  # the earlier era has no result types
    assert told[0].get("resultType") == ("payment_required" if agreed else "complete")
    assert ("paymentRequired" in told[0], "isError" in told[0]) == (agreed, not agreed)
    asked = told[0]["paymentRequired"] if agreed else told[0]["structuredContent"]
    assert asked["accepts"][0]["amount"] == "10000"


@pytest.mark.parametrize("offers", [True, False])
async def test_the_server_says_so_in_its_capabilities(shop: Shop, offers: bool) -> None:
    server, _ = serve(shop, offers=offers)
    async with Client(server) as client:
        capabilities = client.server_capabilities
    assert (EXTENSION in (capabilities.extensions or {})) == offers


async def test_a_client_that_does_not_buy_reads_an_ordinary_demand(shop: Shop) -> None:
    server, _ = serve(shop, offers=True)
    async with Client(server, extensions=[PaymentExtension()]) as client:
        result = await client.call_tool("quote", {})
    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["accepts"][0]["amount"] == "10000"
    assert shop.runs == []

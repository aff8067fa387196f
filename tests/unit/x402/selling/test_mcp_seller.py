"""Selling over MCP, asked by the official SDK's client in both protocol eras."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import mcp_types as types
import orjson
import pytest
from mcp import Client, MCPError
from mcp.server import Server
from x402.schemas import PaymentRequired

from mcpsol_py.x402.protocol.mcp_wire import (
    ERROR_META,
    PAYMENT_META,
    RESPONSE_META,
    read_demand,
)
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from tests.support.x402_sellers import meta_of, paying, serve, wire
from tests.support.x402_shop import Shop

ERAS = ["legacy", "auto"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "payments.db")


@pytest.mark.parametrize("era", ERAS)
async def test_ask_pay_and_repeat(shop: Shop, era: Any) -> None:
    async with Client(serve(shop), mode=era) as client:
        tools = (await client.list_tools()).tools
        assert "0.01 USDC" in (tools[0].description or "")
        assert tools[0].output_schema is None
        asked = wire(await client.call_tool("quote", {"city": "Bern"}))
        assert asked["isError"]
        assert orjson.loads(asked["content"][0]["text"]) == asked["structuredContent"]
        assert asked["_meta"][ERROR_META] == asked["structuredContent"]
        demand = read_demand(asked)
        assert demand is not None
        assert isinstance(demand.required, PaymentRequired)
        assert demand.required.accepts == [shop.world.requirements()]
        payment = meta_of(shop.payment())
        paid = wire(
            await client.call_tool("quote", {"city": "Bern"}, meta=paying(payment))
        )
        assert not paid.get("isError")
        assert paid["structuredContent"] == {"answer": 42}
        assert paid["_meta"][RESPONSE_META]["success"]
        again = wire(
            await client.call_tool("quote", {"city": "Bern"}, meta=paying(payment))
        )
        assert again["structuredContent"] == {"answer": 42}
        assert again["_meta"]["x402/repeated"]
        assert (shop.runs, shop.paid) == (["quote"], 10_000)
        free = wire(await client.call_tool("free", {}))
        assert not free.get("isError")


@pytest.mark.parametrize("form", ["json text", "base64", "vercel"])
async def test_payments_in_other_dialects(shop: Shop, form: str) -> None:
    text = orjson.dumps(meta_of(shop.payment())).decode()
    encoded = base64.b64encode(text.encode()).decode()
    meta: Any = {
        "json text": {PAYMENT_META: text},
        "base64": {PAYMENT_META: encoded},
        "vercel": {"x402.payment": encoded},
    }[form]
    async with Client(serve(shop)) as client:
        assert not (await client.call_tool("quote", {}, meta=meta)).is_error
    assert shop.paid == 10_000


@pytest.mark.parametrize(
    "payment",
    [
        "?",
        "e30=",
        7,
        {},
        {"x402Version": 9},
        {"x402Version": 2, "payload": 5},
        "x" * 10**6,
    ],
)
async def test_what_is_no_payment_is_asked_for_again(
    shop: Shop, payment: object
) -> None:
    async with Client(serve(shop)) as client:
        asked = wire(await client.call_tool("quote", {}, meta=paying(payment)))
    assert asked["structuredContent"]["accepts"]
    assert shop.runs == []


async def test_a_failing_tool_is_not_charged(shop: Shop) -> None:
    async with Client(serve(shop, broken=True)) as client:
        result = wire(
            await client.call_tool("quote", {}, meta=paying(meta_of(shop.payment())))
        )
    assert result["content"][0]["text"] == "no luck"
    assert RESPONSE_META not in result.get("_meta", {})
    assert shop.paid == 0


async def test_a_failed_settlement_withholds_the_result(shop: Shop) -> None:
    payment = meta_of(shop.payment())
    run = shop.world.chain.send

    def drain(transaction: bytes) -> str:
        shop.world.give(shop.world.payer.pubkey(), 0)
        return run(transaction)

    shop.world.chain.send = drain  # type: ignore[method-assign]  # the fault under test
    async with Client(serve(shop)) as client:
        result = wire(await client.call_tool("quote", {}, meta=paying(payment)))
    assert result["isError"]
    assert not re.search(r"\b42\b", orjson.dumps(result["content"]).decode())
    assert result["structuredContent"][RESPONSE_META]["success"] is False
    assert payment["payload"]["transaction"] not in orjson.dumps(result).decode()


async def test_version_1_peers_get_a_json_rpc_error(shop: Shop) -> None:
    async with Client(serve(shop, v1_errors=True)) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("quote", {})
    assert caught.value.error.code == 402
    assert caught.value.error.data["x402Version"] == 1
    assert caught.value.error.data["accepts"][0]["network"] == "solana-devnet"


@pytest.mark.parametrize("era", ERAS)
async def test_resources_are_sold_too(shop: Shop, era: Any) -> None:
    async with Client(serve(shop), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("doc://price-list")
        assert caught.value.error.code == 402
        assert caught.value.error.data["accepts"]
        bought = await client.read_resource(
            "doc://price-list", meta=paying(meta_of(shop.payment()))
        )
    assert wire(bought)["contents"][0]["text"] == "prices"
    assert wire(bought)["_meta"][RESPONSE_META]["success"]
    assert (shop.runs, shop.paid) == (["doc://price-list"], 10_000)


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_are_sold_too(shop: Shop, era: Any) -> None:
    offer = shop.offer()
    prompt = Offer(
        offer.resource.model_copy(update={"url": "mcp://prompt/plan"}), offer.accepts
    )

    async def get_prompt(
        ctx: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        shop.runs.append(params.name)
        text = types.TextContent(type="text", text="the plan")
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=text)]
        )

    server: Server[Any] = Server("shop", on_get_prompt=get_prompt)
    server.middleware.append(Paid(shop.paid_calls(), {"plan": prompt}))
    async with Client(server, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("plan")
        assert (caught.value.error.code, shop.runs) == (402, [])
        payment = paying(meta_of(shop.payment()))
        bought = [await client.get_prompt("plan", meta=payment) for _ in range(2)]
    assert [wire(b)["messages"][0]["content"]["text"] for b in bought] == [
        "the plan"
    ] * 2
    assert (shop.runs, shop.paid) == (["plan"], 10_000)

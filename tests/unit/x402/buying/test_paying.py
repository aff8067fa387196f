"""Choosing one of the ways to pay that a seller offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from solders.pubkey import Pubkey
from x402.schemas import ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana import ids
from mcpsol_py.x402.buying.budget import SpendingLimit, SpendingLimits
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.json_form import json_of
from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META
from mcpsol_py.x402.protocol.offer import Offer, PaymentRequiredReply
from mcpsol_py.x402.selling.mcp_seller import Paid
from tests.support.odd_numbers import NOT_UNITS
from tests.support.x402_buyers import budget_of, buyer_of
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, mint_data, token_data

USDG = Pubkey.from_string(ids.DEVNET_USDG)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def selling(shop: Shop, offer: Offer, **options: Any) -> Server[Any]:
    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        shop.runs.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="42")])

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="quote", input_schema={"type": "object"})]
        )

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(Paid(shop.paid_calls(), {"quote": offer}, **options))
    return server


def offering(shop: Shop, *others: Any) -> Server[Any]:
    """The shop, whose demands have *others* before its own terms."""

    async def add(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        if ctx.method != "tools/call" or PAYMENT_META in dict(
            ctx.params.get("_meta") or {}
        ):
            return answer
        body = answer if isinstance(answer, dict) else json_of(answer)
        demand = body.get("structuredContent")
        if demand and "accepts" in demand:
            demand["accepts"] = [*others, *demand["accepts"]]
        return types.CallToolResult.model_validate(body)

    server = selling(shop, shop.offer())
    server.middleware.insert(0, add)
    return server


def terms(shop: Shop, **changes: Any) -> dict[str, Any]:
    body = shop.world.requirements(1_000).model_dump(by_alias=True, mode="json")
    return {**body, **changes}


async def test_offers_that_are_not_understood_are_passed_over(
    shop: Shop, tmp_path: Path
) -> None:
    odd = [
        terms(shop, scheme="lightning"),
        terms(
            shop,
            network="eip155:8453",
            asset="0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        ),
        terms(shop, amount=1_000),
        terms(shop, amount="0"),
        terms(shop, amount="1.5"),
        terms(shop, extra={}),
        terms(shop, extra={"feePayer": "nobody"}),
        terms(shop, payTo="x"),
        *(terms(shop, amount=text) for text in (*NOT_UNITS, str(2**63))),
        {"scheme": "exact"},
        7,
    ]
    budget = budget_of(shop, tmp_path)
    async with Client(offering(shop, *odd)) as client:
        bought = await buyer_of(client, shop, budget).call_tool("quote", {})
    assert (bought.amount, shop.paid) == (10_000, 10_000)
    (row,) = budget.history()
    assert (row.state, row.amount) == ("spent", 10_000)


async def test_a_seller_without_any_way_that_can_be_read_is_refused(
    shop: Shop, tmp_path: Path
) -> None:
    async def only_odd(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        demand = {"x402Version": 2, "accepts": [terms(shop, amount=1_000)]}
        return types.CallToolResult(
            content=[], structured_content=demand, is_error=True
        )

    server: Server[Any] = Server("shop", on_call_tool=only_odd)
    async with Client(server) as client:
        with pytest.raises(
            PaymentError, match="none of its ways to pay can be read"
        ) as caught:
            await buyer_of(client, shop, budget_of(shop, tmp_path)).call_tool(
                "quote", {}
            )
    assert caught.value.code == "NO_REQUIREMENTS"


def two_tokens(shop: Shop) -> Offer:
    """The shop's offer in USDC, and for the same price in USDG."""
    world = shop.world
    world.set_account(USDG, mint_data(6), TOKEN_PROGRAM)
    for owner, amount in ((world.payer.pubkey(), 50_000), (world.payee.pubkey(), 0)):
        account = associated_token_address(owner, USDG, TOKEN_PROGRAM)
        world.set_account(account, token_data(USDG, owner, amount), TOKEN_PROGRAM)
    usdc = world.requirements()
    usdg = usdc.model_copy(update={"asset": str(USDG)})
    return Offer(ResourceInfo(url="mcp://tool/quote"), (usdc, usdg))


@pytest.mark.parametrize("v1_errors", [False, True])
@pytest.mark.parametrize("token", [USDC, USDG])
async def test_each_of_several_tokens_can_be_paid_with(
    shop: Shop, tmp_path: Path, token: Pubkey, v1_errors: bool
) -> None:
    """A payment of version 1 does not say which of the terms it meets: its transfer does."""
    server = selling(shop, two_tokens(shop), v1_errors=v1_errors)
    budget = budget_of(shop, tmp_path)
    budget.limits = SpendingLimits({str(token): SpendingLimit()})
    async with Client(server) as client:
        bought = await buyer_of(client, shop, budget).call_tool("quote", {})
    assert (bought.amount, bought.asset) == (10_000, str(token))
    assert bought.receipt is not None
    assert bought.receipt.success


async def test_the_next_offer_is_taken_if_the_first_exceeds_its_limit(
    shop: Shop, tmp_path: Path
) -> None:
    server = selling(shop, two_tokens(shop))
    budget = budget_of(shop, tmp_path)
    budget.limits = SpendingLimits(
        {str(USDC): SpendingLimit(per_payment=9_999), str(USDG): SpendingLimit()}
    )
    async with Client(server) as client:
        bought = await buyer_of(client, shop, budget).call_tool("quote", {})
    assert (bought.asset, shop.paid) == (str(USDG), 0)
    assert [row.asset for row in budget.history()] == [str(USDG)]


#: Ids that other software may give. Each would be another call, or could not be stored or shown as it is.
ODD_IDS = ("short", "a" * 129, "pay_0123456789abcdef\n", "pay_0123456789abcde\0", "pay_é123456789abcdef",
           "pay_0123456789 abcdef", "pay_0123456789\u202eabcdef", "../../0123456789abcdef")  # fmt: skip


@pytest.mark.parametrize("payment_id", ODD_IDS)
async def test_an_odd_payment_id_is_refused_by_both_sides(
    shop: Shop, tmp_path: Path, payment_id: str
) -> None:
    budget = budget_of(shop, tmp_path)
    async with Client(selling(shop, shop.offer())) as client:
        with pytest.raises(
            PaymentError, match="expected a payment id of 16 to 128"
        ) as caught:
            await buyer_of(client, shop, budget).call_tool(
                "quote", {}, payment_id=payment_id
            )
    assert caught.value.code == "INVALID_PARAMETERS"
    assert budget.history() == []
    reply = await shop.paid_calls().call(
        shop.offer(), shop.payment(payment_id), {}, shop.run
    )
    assert isinstance(reply, PaymentRequiredReply)
    assert reply.reason == "payment_id_invalid"
    assert (shop.runs, shop.paid) == ([], 0)

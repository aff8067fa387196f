"""The five tools: by their names, with their codes, over the official SDK's client."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server

from mcpsol_py.x402.protocol.mcp_wire import RESPONSE_META, read_demand
from mcpsol_py.x402.protocol.older_names import ERROR_META
from mcpsol_py.x402.store.merchant_log import MerchantLog
from mcpsol_py.x402.subscriptions.tools import ERROR_CODES
from tests.support.x402_shop import Crash
from tests.unit.x402.payments import keypair
from tests.unit.x402.subscriptions.merchant import DAY, Merchant, paying

NAMES = [
    "list_subscriptions",
    "get_subscription_info",
    "subscribe",
    "check_subscription",
    "cancel_subscription",
]


async def ask(
    merchant: Merchant, tool: str, *meta: dict[str, Any], **arguments: str
) -> dict[str, Any]:
    """The tool's result, by wire names. *meta*: none or one."""
    return await merchant.tools().call(tool, arguments, meta[0] if meta else {})


def body(result: dict[str, Any]) -> dict[str, Any]:
    assert not result.get("isError"), result
    found: dict[str, Any] = result["structuredContent"]
    return found


def code(result: dict[str, Any]) -> str:
    assert result["isError"]
    told = (
        result["_meta"][ERROR_META]
        if "_meta" in result
        else result["structuredContent"]
    )
    assert told["error"] is True
    assert told["message"]
    assert told["code"] in ERROR_CODES
    return str(told["code"])


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_any_server_has_them_beside_its_own(merchant: Merchant, era: Any) -> None:
    merchant.plan()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="own", input_schema={"type": "object"})]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=params.name)]
        )

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(merchant.tools())
    async with Client(server, mode=era) as client:
        listed = {t.name: t for t in (await client.list_tools()).tools}
        assert list(listed) == ["own", *NAMES]
        subscribe = listed["subscribe"]
        assert "pro costs 0.01 USDC (" in (subscribe.description or "")
        terms = (subscribe.meta or {})["x402"]
        assert [t["amount"] for t in terms["accepts"]] == ["10000"]
        assert (terms["plans"][0]["planId"], terms["plans"][0]["paymentAddress"]) == (
            "pro",
            terms["accepts"][0]["payTo"],
        )
        assert (await client.call_tool("own", {})).content[0].text == "own"  # type: ignore[union-attr]  # text above
        plans = (await client.call_tool("list_subscriptions", {})).structured_content
        assert plans["plans"][0]["price"] == "0.01 USDC"
        arguments = {"planId": "pro", "walletAddress": merchant.address}
        meta: Any = paying(merchant.payment())
        paid = await client.call_tool("subscribe", arguments, meta=meta)
        assert paid.structured_content["subscription"]["status"] == "active"


async def test_subscribe_check_and_cancel(merchant: Merchant) -> None:
    merchant.plan(description="All tools", features=("quotes", "history"))
    about = body(await ask(merchant, "get_subscription_info", planId="pro"))["plan"]
    assert (about["amount"], about["interval"], about["maxApiCalls"]) == (
        "10000",
        "86400s",
        3,
    )
    arguments = {"planId": "pro", "walletAddress": merchant.address}
    asked = await ask(merchant, "subscribe", **arguments)
    assert code(asked) == "PAYMENT_REQUIRED"
    demand = read_demand(asked)
    assert demand is not None
    assert demand.required.accepts == [merchant.world.requirements(10_000)]
    payment = paying(merchant.payment())
    paid = await ask(merchant, "subscribe", payment, **arguments)
    made = body(paid)["subscription"]
    assert paid["_meta"][RESPONSE_META]["success"]
    assert (made["status"], made["userId"], made["callsLeft"]) == (
        "active",
        merchant.address,
        3,
    )
    assert (
        made["paymentHistory"][0]["txHash"]
        == paid["_meta"][RESPONSE_META]["transaction"]
    )
    again = body(await ask(merchant, "subscribe", payment, **arguments))["subscription"]
    assert (again["id"], merchant.shop.paid) == (made["id"], 10_000)
    # Nothing is due: nothing is asked.
    standing = body(await ask(merchant, "subscribe", **arguments))
    assert standing["subscription"]["id"] == made["id"]
    assert (
        body(await ask(merchant, "check_subscription", subscriptionId=made["id"]))[
            "subscription"
        ]
        == made
    )

    cancelling = {"subscriptionId": made["id"]}
    unsigned = await ask(merchant, "cancel_subscription", **cancelling)
    assert code(unsigned) == "SIGNATURE_REQUIRED"
    assert unsigned["structuredContent"]["details"]["sign-in-with-x"]["info"]["nonce"]
    stranger = merchant.signed("cancel_subscription", cancelling, keypair(9))
    assert (
        code(await ask(merchant, "cancel_subscription", stranger, **cancelling))
        == "SIGNATURE_REQUIRED"
    )
    other = merchant.signed("cancel_subscription", {"subscriptionId": "sub_other"})
    assert (
        code(await ask(merchant, "cancel_subscription", other, **cancelling))
        == "SIGNATURE_REQUIRED"
    )
    signed = merchant.signed("cancel_subscription", cancelling)
    ended = body(await ask(merchant, "cancel_subscription", signed, **cancelling))[
        "subscription"
    ]
    assert (ended["status"], ended["usable"], ended["autoRenew"]) == (
        "cancelled",
        True,
        False,
    )
    merchant.clock.ms += DAY
    assert not body(
        await ask(merchant, "check_subscription", subscriptionId=made["id"])
    )["subscription"]["usable"]
    told = [
        (e.actor, e.action)
        for e in MerchantLog(merchant.shop.database).history(subject=made["id"])
    ]
    assert (merchant.address, "subscription.cancelled") in told


async def test_what_has_ended_does_not_come_back_without_a_new_payment(
    merchant: Merchant,
) -> None:
    merchant.plan()
    first = merchant.subscribed()
    merchant.book.cancel(first, merchant.address)
    arguments = {"planId": "pro", "walletAddress": merchant.address}
    assert code(await ask(merchant, "subscribe", **arguments)) == "PAYMENT_REQUIRED"
    made = body(
        await ask(merchant, "subscribe", paying(merchant.payment()), **arguments)
    )["subscription"]
    assert made["id"] != first
    merchant.clock.ms += 2 * DAY
    assert merchant.book.get(made["id"]).state(merchant.clock.ms) == "expired"
    signed = merchant.signed("cancel_subscription", {"subscriptionId": made["id"]})
    assert (
        code(
            await ask(
                merchant, "cancel_subscription", signed, subscriptionId=made["id"]
            )
        )
        == "SUBSCRIPTION_EXPIRED"
    )
    assert code(await ask(merchant, "subscribe", **arguments)) == "PAYMENT_REQUIRED"


async def test_a_trial_is_for_who_signs_and_once(merchant: Merchant) -> None:
    merchant.plan(trial_ms=DAY)
    arguments = {"planId": "pro", "walletAddress": merchant.address}
    asked = await ask(merchant, "subscribe", **arguments)
    assert code(asked) == "PAYMENT_REQUIRED"
    assert "sign-in-with-x" in asked["structuredContent"]["extensions"]
    stranger = merchant.signed("subscribe", arguments, keypair(9))
    assert (
        code(await ask(merchant, "subscribe", stranger, **arguments))
        == "SIGNATURE_REQUIRED"
    )
    signed = merchant.signed("subscribe", arguments)
    trial = body(await ask(merchant, "subscribe", signed, **arguments))["subscription"]
    assert (trial["status"], trial["usable"], merchant.shop.paid) == (
        "pending",
        True,
        0,
    )
    assert (
        body(await ask(merchant, "subscribe", signed, **arguments))["subscription"][
            "id"
        ]
        == trial["id"]
    )
    merchant.clock.ms += DAY
    paid = body(
        await ask(merchant, "subscribe", paying(merchant.payment()), **arguments)
    )["subscription"]
    assert (paid["id"], paid["status"]) == (trial["id"], "active")
    merchant.clock.ms += 3 * DAY
    again = merchant.signed("subscribe", arguments)
    assert (
        code(await ask(merchant, "subscribe", again, **arguments))
        == "INVALID_PARAMETERS"
    )


async def test_payments_that_do_not_do(merchant: Merchant) -> None:
    merchant.plan()
    arguments = {"planId": "pro", "walletAddress": merchant.address}
    little = merchant.payment(9_999)
    assert (
        code(await ask(merchant, "subscribe", paying(little), **arguments))
        == "PAYMENT_INSUFFICIENT"
    )
    lying = little.model_copy(update={"accepted": merchant.world.requirements(10_000)})
    assert (
        code(await ask(merchant, "subscribe", paying(lying), **arguments))
        == "PAYMENT_INSUFFICIENT"
    )
    assert (
        code(await ask(merchant, "subscribe", {"x402/payment": "?"}, **arguments))
        == "PAYMENT_INVALID"
    )
    spent = merchant.payment()
    body(await ask(merchant, "subscribe", paying(spent), **arguments))
    other = {**arguments, "walletAddress": str(keypair(9).pubkey())}
    assert (
        code(await ask(merchant, "subscribe", paying(spent), **other))
        == "PAYMENT_INVALID"
    )
    assert merchant.shop.paid == 10_000


@pytest.mark.parametrize("point", ["call.paid", "call.running", "call.ran"])
async def test_a_crash_after_the_payment_loses_no_subscription(
    merchant: Merchant, point: str
) -> None:
    """The payment landed and the process died before it could be booked, or before it could say so."""
    import asyncio

    merchant.plan()
    arguments = {"planId": "pro", "walletAddress": merchant.address}
    payment = paying(merchant.payment())

    def crash(at: str) -> None:
        if at == point:
            raise Crash(at)

    dying = merchant.tools()
    dying._paid_calls = merchant.shop.paid_calls(fault=crash)
    with pytest.raises(Crash):
        await dying.call("subscribe", arguments, payment)
    await asyncio.sleep(0.06)
    made = body(await ask(merchant, "subscribe", payment, **arguments))["subscription"]
    assert made["status"] == "active"
    assert len(made["paymentHistory"]) == 1
    assert made["paymentHistory"][0]["txHash"]
    assert [s.id for s in merchant.book.of(merchant.address)] == [made["id"]]
    assert merchant.shop.paid == 10_000

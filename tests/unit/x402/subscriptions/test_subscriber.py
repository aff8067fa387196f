"""The subscriber's client: a proof where a subscription grants the call, a payment where none does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from x402.schemas import ResourceInfo

from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.http_seller import PaidHttp
from mcpsol_py.x402.store.database import now_ms
from mcpsol_py.x402.subscriptions.subscriber import Subscriber
from tests.support.x402_buyers import budget_of, payer_of
from tests.unit.x402.subscriptions.merchant import DOMAIN, Merchant, serve


@pytest.fixture
def club(sqlite_merchant: Merchant) -> Merchant:
    sqlite_merchant.clock.ms = now_ms()
    sqlite_merchant.plan(quota=2)
    sqlite_merchant.subscribed()
    return sqlite_merchant


async def test_granted_calls_cost_nothing_and_the_next_one_is_paid(
    club: Merchant, tmp_path: Path
) -> None:
    budget = budget_of(club.shop, tmp_path)
    async with Client(serve(club)) as client:
        buyer = Buyer(
            client,
            payer_of(club.shop, budget),
            subscriber=Subscriber(club.wallet, [DOMAIN]),
        )
        amounts = [
            (await buyer.call_tool("quote", {"n": str(n)})).amount for n in range(3)
        ]
    assert amounts == [0, 0, 10_000]
    assert (club.shop.paid, len(club.shop.runs), len(budget.history())) == (
        10_000,
        3,
        1,
    )


async def test_repeats_of_one_logical_call_count_once(
    club: Merchant, tmp_path: Path
) -> None:
    budget = budget_of(club.shop, tmp_path)
    for _ in range(3):
        async with Client(serve(club)) as client:
            buyer = Buyer(
                client,
                payer_of(club.shop, budget),
                subscriber=Subscriber(club.wallet, [DOMAIN]),
            )
            await buyer.call_tool("quote", {}, payment_id="pay_0123456789abcdef")
    assert (club.shop.runs, club.book.used(club.book.of(club.address)[0])) == (
        ["quote"],
        1,
    )


async def test_nothing_is_signed_for_a_seller_that_was_not_named(
    club: Merchant, tmp_path: Path
) -> None:
    async with Client(serve(club)) as client:
        payer = payer_of(club.shop, budget_of(club.shop, tmp_path))
        buyer = Buyer(
            client, payer, subscriber=Subscriber(club.wallet, ["other.example"])
        )
        assert (await buyer.call_tool("quote", {})).amount == 10_000
    subscriber = Subscriber(club.wallet, [DOMAIN])
    demand = Demand(club.offer().payment_required("pay"))
    assert subscriber.answer(demand, "mcp://tool/quote", {}) is not None
    # A challenge for another tool.
    assert subscriber.answer(demand, "mcp://tool/other", {}) is None
    assert (
        subscriber.answer(
            Demand(club.shop.offer().payment_required("pay")), "mcp://tool/quote", {}
        )
        is None
    )


async def test_over_http_too(club: Merchant, tmp_path: Path) -> None:
    url = "http://quotes.example/report?day=1"
    offer = Offer(
        ResourceInfo(url=url),
        (club.world.requirements(),),
        plans=("pro",),
        domain=DOMAIN,
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        club.shop.runs.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"report"})

    paid = PaidHttp(app, club.paid_calls(), {("GET", "/report"): offer})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=paid)) as client:
        payer = payer_of(club.shop, budget_of(club.shop, tmp_path))
        buyer = HttpBuyer(client, payer, subscriber=Subscriber(club.wallet, [DOMAIN]))
        got = [await buyer.request("get", url) for _ in range(3)]
    assert [b.result.text for b in got] == ["report"] * 3
    assert [b.amount for b in got] == [0, 0, 10_000]
    assert club.shop.paid == 10_000

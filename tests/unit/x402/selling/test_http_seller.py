"""x402 over HTTP: the middleware and the paying client against each other and against the official SDK's client."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import SpendingLimit
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.protocol.http_wire import read_http_demand
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.support.x402_buyers import budget_of, payer_of
from tests.support.x402_sellers import app_of
from tests.support.x402_shop import Shop

URL = "http://shop.test/weather?city=Bern"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def http(shop: Shop) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app_of(shop)))


async def test_paid_once_and_a_repeat_is_given_again(shop: Shop, tmp_path: Path) -> None:
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=30_000))
    async with http(shop) as client:
        buyer = HttpBuyer(client, payer_of(shop, budget))
        assert (await buyer.request("GET", "http://shop.test/free")).result.text == "free"
        first = await buyer.request("GET", URL, payment_id="pay_0123456789abcdef")
        again = await buyer.request("GET", URL, payment_id="pay_0123456789abcdef")
    assert first.receipt is not None
    assert (first.result.json(), first.result.headers["x-kept"], first.amount) == (
        {"sun": True},
        "yes",
        10_000,
    )
    assert (again.result.json(), again.receipt) == (first.result.json(), first.receipt)
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_an_error_of_the_app_is_not_charged(shop: Shop, tmp_path: Path) -> None:
    async with http(shop) as client:
        bought = await HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path))).request(
            "GET", "http://shop.test/weather?city=Nowhere"
        )
    assert (bought.result.status_code, bought.receipt, shop.paid) == (404, None, 0)


async def test_the_body_belongs_to_the_request(shop: Shop, tmp_path: Path) -> None:
    async with http(shop) as client:
        buyer = HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path)))
        one = await buyer.request("POST", "http://shop.test/weather", content=b"one")
        two = await buyer.request("POST", "http://shop.test/weather", content=b"two")
        assert one.payment_id != two.payment_id
    assert shop.runs == [(None, b"one"), (None, b"two")]
    assert shop.paid == 20_000


async def test_the_402_says_the_same_in_all_three_forms(shop: Shop) -> None:
    async with http(shop) as client:
        response = await client.get(URL)
    assert response.status_code == 402
    headers = {k.lower(): v for k, v in response.headers.items()}
    v2 = read_http_demand(URL, {"payment-required": headers["payment-required"]}, b"")
    seed = read_http_demand(URL, {"x-payment-required": headers["x-payment-required"]}, b"")
    v1 = read_http_demand(URL, {}, response.content)
    assert v2 is not None
    assert seed is not None
    assert v1 is not None
    assert v2.required == seed.required
    assert [r.get_amount() for r in (*v2.required.accepts, *v1.required.accepts)] == [
        "10000",
        "10000",
    ]
    assert response.json()["x402Version"] == 1


def test_the_oldest_form_is_read_header_by_header() -> None:
    headers = {
        "x-payment-amount": "500000",
        "x-payment-payto": "Payee",
        "x-payment-token": "Mint",
        "x-payment-network": "solana-devnet",
    }
    demand = read_http_demand("http://x.test/", headers, b"")
    assert demand is not None
    (terms,) = demand.required.accepts
    assert (terms.get_amount(), terms.pay_to, terms.asset, terms.network) == (
        "500000",
        "Payee",
        "Mint",
        DEVNET,
    )
    assert read_http_demand("http://x.test/", {"x-payment-amount": "1"}, b"<html>") is None


@pytest.mark.parametrize(
    "value", ["???", base64.b64encode(b"[1]").decode(), base64.b64encode(b"{}").decode()]
)
async def test_a_payment_that_cannot_be_read_is_a_bad_request(shop: Shop, value: str) -> None:
    async with http(shop) as client:
        response = await client.get(URL, headers={"PAYMENT-SIGNATURE": value})
    assert (response.status_code, shop.runs) == (400, [])
    assert response.json()["error"] in ("invalid_payload", "invalid_x402_version")


async def test_a_402_without_terms_is_not_paid(shop: Shop, tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _r: httpx.Response(402, text="pay up"))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(PaymentError) as caught:
            await HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path))).request("GET", URL)
    assert caught.value.code == "NO_REQUIREMENTS"


async def test_the_official_http_client_pays_us(shop: Shop) -> None:
    """x402's own httpx client with its own flow; only the Solana mechanism in it is ours."""
    signer = x402Client()
    signer.register(DEVNET, ExactClient(shop.world.payer, shop.world.chain))
    signer.set_spend_controls(False)
    transport = x402AsyncTransport(signer, httpx.ASGITransport(app=app_of(shop)))
    async with httpx.AsyncClient(transport=transport) as client:
        response = await client.get(URL)
    assert (response.status_code, response.json()) == (200, {"sun": True})
    receipt: dict[str, Any] = orjson.loads(base64.b64decode(response.headers["payment-response"]))
    assert receipt["success"]
    assert shop.paid == 10_000

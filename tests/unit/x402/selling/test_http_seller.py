"""x402 over HTTP: the middleware and the paying client against each other and against the official SDK's client."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.schemas import ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import SpendingLimit
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.protocol.http_wire import read_http_demand
from mcpsol_py.x402.protocol.json_form import json_of
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.http_seller import PaidHttp
from tests.support.x402_buyers import budget_of, payer_of
from tests.support.x402_sellers import app_of
from tests.support.x402_shop import Shop

URL = "http://shop.test/weather?city=Bern"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def http(shop: Shop) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app_of(shop)))


async def test_paid_once_and_a_repeat_is_given_again(
    shop: Shop, tmp_path: Path
) -> None:
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=30_000))
    async with http(shop) as client:
        buyer = HttpBuyer(client, payer_of(shop, budget))
        assert (
            await buyer.request("GET", "http://shop.test/free")
        ).result.text == "free"
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
        bought = await HttpBuyer(
            client, payer_of(shop, budget_of(shop, tmp_path))
        ).request("GET", "http://shop.test/weather?city=Nowhere")
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
    seed = read_http_demand(
        URL, {"x-payment-required": headers["x-payment-required"]}, b""
    )
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


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("weather.example:8000", "http://weather.example:8000"),
        ("[::1]:80", "http://[::1]:80"),
        ("evil/\u00e9 <b>", "http://shop.test:8000"),
        ("", "http://shop.test:8000"),
    ],
)
def test_a_demand_names_its_resource_by_a_whole_url(
    shop: Shop, host: str, origin: str
) -> None:
    """Clients of version 1 refuse another one."""
    resource = ResourceInfo(url="/weather", description="the weather")
    offer = replace(shop.offer(), resource=resource)
    paid = PaidHttp(Starlette(), shop.paid_calls(), {("GET", "/weather"): offer})
    sent = asyncio.run(answered(paid, host.encode()))
    headers = {k.decode(): v for k, v in sent[0]["headers"]}
    v2 = json.loads(base64.b64decode(headers["payment-required"]))
    v1 = json.loads(sent[1]["body"])
    assert v2["resource"]["url"] == v1["accepts"][0]["resource"] == f"{origin}/weather"
    assert resource.url == "/weather"  # the offer itself is the same at every address


async def answered(app: PaidHttp, host: bytes) -> list[Any]:
    """What the app sends to a GET that no client would make."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/weather", "scheme": "http"}
    await app(
        {**scope, "headers": [(b"host", host)], "server": ("shop.test", 8000)},
        receive,
        send,
    )
    return sent


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"error": "Invalid payment", "reason": "too little"}',
            "Invalid payment, too little",
        ),
        (b'{"error": "\\u001b[31mred"}', "red"),
        (b"<html>", "requirements"),
        (b'{"error": 7}', "requirements"),
    ],
)
async def test_a_refusal_without_requirements_keeps_the_shops_words(
    shop: Shop, tmp_path: Path, body: bytes, words: str
) -> None:
    """As x402-solana refuses a payment."""

    def handle(request: httpx.Request) -> httpx.Response:
        if "payment-signature" in request.headers:
            return httpx.Response(402, content=body)
        return httpx.Response(
            402, json=json_of(shop.offer().payment_required("pay first"))
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
        buyer = HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path)))
        with pytest.raises(PaymentError) as caught:
            await buyer.request("GET", URL)
    assert caught.value.code == "PAYMENT_REJECTED"
    assert str(caught.value).endswith(words)
    assert "\x1b" not in str(caught.value)


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
    assert (
        read_http_demand("http://x.test/", {"x-payment-amount": "1"}, b"<html>") is None
    )


@pytest.mark.parametrize(
    "value",
    ["???", base64.b64encode(b"[1]").decode(), base64.b64encode(b"{}").decode()],
)
async def test_a_payment_that_cannot_be_read_is_a_bad_request(
    shop: Shop, value: str
) -> None:
    async with http(shop) as client:
        response = await client.get(URL, headers={"PAYMENT-SIGNATURE": value})
    assert (response.status_code, shop.runs) == (400, [])
    assert response.json()["error"] in ("invalid_payload", "invalid_x402_version")


async def test_a_402_without_terms_is_not_paid(shop: Shop, tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _r: httpx.Response(402, text="pay up"))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(PaymentError) as caught:
            await HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path))).request(
                "GET", URL
            )
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
    receipt: dict[str, Any] = orjson.loads(
        base64.b64decode(response.headers["payment-response"])
    )
    assert receipt["success"]
    assert shop.paid == 10_000


# --- a sold path is closed ------------------------------------------------------------------------


class _Plain:
    """An app without routes: it answers every request and WebSocket, whatever the method."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.runs.append((scope["type"], scope["path"]))
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"secret"})


async def ask(app: Any, method: str, path: str, **scope: Any) -> list[dict[str, Any]]:
    """Give an app one request, as a server would, and return what it sent."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asked = {"type": "http", "method": method, "path": path, "headers": [], **scope}
    await app(asked, receive, send)
    return sent


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "get", "OPTIONS", "PUT", "DELETE", "TRACE"]
)
async def test_no_method_of_a_sold_path_is_free(shop: Shop, method: str) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/weather"): shop.offer()})
    start, _ = await ask(paid, method, "/weather")
    expected = {"GET": 402, "HEAD": 402, "OPTIONS": 204}
    assert (start["status"], app.runs) == (expected.get(method.upper(), 405), [])
    if start["status"] != 402:
        assert dict(start["headers"])[b"allow"] == b"GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path",
    [
        "/weather/",
        "//weather",
        "/weather//",
        "/%77eather",
        "/%2577eather",
        "/./weather",
        "/free/../weather",
        "/free/%2e%2e/weather",
        "/weather%2f",
        "/%2Fweather",
        "weather",
    ],
)
async def test_another_spelling_of_a_sold_path_is_sold(shop: Shop, path: str) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/weather"): shop.offer()})
    start, _ = await ask(paid, "GET", path)
    assert (start["status"], app.runs) == (402, [])


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/api/weather", "/api"),
        ("/api//weather/", "/api"),
        ("/weather", "/api"),
        ("/api/../api/weather", "/api"),
    ],
)
async def test_a_mounted_app_is_sold(shop: Shop, path: str, root: str) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/weather"): shop.offer()})
    start, _ = await ask(paid, "GET", path, root_path=root)
    assert (start["status"], app.runs) == (402, [])


async def test_a_path_is_sold_with_its_mount_if_the_server_leaves_the_mount_out(
    shop: Shop,
) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/api/weather"): shop.offer()})
    start, _ = await ask(paid, "GET", "/weather", root_path="/api")
    assert (start["status"], app.runs) == (402, [])


async def test_starlette_mounts_what_is_sold(shop: Shop) -> None:
    app = Starlette(routes=[Mount("/api", app_of(shop))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as client:
        asked = await client.get("http://shop.test/api/weather")
        free = await client.get("http://shop.test/api/free")
    assert (asked.status_code, free.text, shop.runs) == (402, "free", [])


async def test_a_payment_for_another_spelling_gets_the_sold_path(
    shop: Shop, tmp_path: Path
) -> None:
    async with http(shop) as client:
        buyer = HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path)))
        bought = await buyer.request("GET", "http://shop.test/weather/?city=Bern")
    assert (bought.result.status_code, bought.result.json()) == (200, {"sun": True})
    assert (shop.runs, shop.paid) == ([("Bern", b"")], 10_000)


async def test_head_costs_what_get_costs(shop: Shop, tmp_path: Path) -> None:
    async with http(shop) as client:
        bought = await HttpBuyer(
            client, payer_of(shop, budget_of(shop, tmp_path))
        ).request("HEAD", URL)
    assert (bought.result.status_code, bought.result.content) == (200, b"")
    assert bought.result.headers["content-length"] == str(len(b'{"sun":true}'))
    assert shop.paid == 10_000


async def test_a_websocket_on_a_sold_path_is_refused(shop: Shop) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/weather"): shop.offer()})
    sent = await ask(paid, "GET", "/weather/", type="websocket")
    assert (sent, app.runs) == ([{"type": "websocket.close", "code": 1008}], [])


async def test_other_paths_and_scopes_reach_the_app(shop: Shop) -> None:
    app = _Plain()
    paid = PaidHttp(app, shop.paid_calls(), {("GET", "/weather"): shop.offer()})
    await ask(paid, "GET", "/weathers")
    await ask(paid, "GET", "/weather/today")
    await ask(paid, "GET", "/live", type="websocket")
    assert app.runs == [
        ("http", "/weathers"),
        ("http", "/weather/today"),
        ("websocket", "/live"),
    ]

"""Functions with a price on the official MCP server, on FastMCP, on Starlette and on FastAPI, paid by our buyers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import fastapi
import fastmcp
import httpx
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport

from mcpsol_py.errors import PaymentError, SourceError
from mcpsol_py.x402 import paid, sell
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.storefront import Storefront
from tests.support.x402_buyers import budget_of, payer_of
from tests.support.x402_shop import Shop

PRICE = 1_000
F = TypeVar("F", bound=Callable[..., Any])


class Server(Protocol):
    """What MCPServer and FastMCP have in common."""

    def tool(self, name: str | None = None) -> Callable[[F], F]: ...
    def prompt(self) -> Callable[[F], F]: ...
    def resource(self, uri: str) -> Callable[[F], F]: ...


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "buyer.db")


@pytest.fixture
def sell_it(shop: Shop, tmp_path: Path) -> Iterator[Callable[..., Storefront]]:
    """`sell` on the shop's chain, with its sponsor in this process."""
    opened = []

    def selling(target: object, **options: Any) -> Storefront:
        storefront = sell(
            target,
            pay_to=str(shop.world.payee.pubkey()),
            sponsor=shop.world.sponsor,
            database=f"sqlite:///{tmp_path / 'sales.db'}",
            chain=shop.world.chain,
            **options,
        )
        opened.append(storefront)
        return storefront

    yield selling
    for storefront in opened:
        storefront.database.close()


@pytest.fixture(params=[MCPServer, fastmcp.FastMCP], ids=["official", "fastmcp"])
def server(request: pytest.FixtureRequest) -> Server:
    made: Server = request.param("weather")
    return made


def weather(server: Server, runs: list[str]) -> None:
    """Tools of each kind: sync and async, with a name of its own, free, failing, and paid first."""

    @server.tool()
    @paid("$0.001")
    def forecast(city: str) -> str:
        """The weather of tomorrow."""
        runs.append(city)
        return f"sunny in {city}"

    @server.tool(name="hourly")
    @paid("$0.001", "0.002 USDG")
    async def hours(city: str) -> dict[str, int]:
        runs.append(city)
        return {"9": 12}

    @server.tool()
    def free() -> str:
        return "free"

    @server.tool()
    @paid("$0.001")
    def broken() -> str:
        raise ValueError("out of order")

    @server.tool()
    @paid("$0.001", settle="first")
    def order(city: str) -> str:
        runs.append(city)
        raise ValueError("out of order")


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def buyer(client: Client, shop: Shop, tmp_path: Path) -> Buyer:
    return Buyer(client, payer_of(shop, budget_of(shop, tmp_path)))


async def test_tools_are_sold(
    server: Server, shop: Shop, tmp_path: Path, sell_it: Callable[..., Storefront]
) -> None:
    runs: list[str] = []
    weather(server, runs)
    storefront = sell_it(server)
    async with Client(_mcp(server)) as client:
        unpaid = await client.call_tool("forecast", {"city": "Bern"})
        assert (unpaid.is_error, runs) == (True, [])
        assert unpaid.structured_content["accepts"][0]["amount"] == str(PRICE)
        buys = await buyer(client, shop, tmp_path)
        first = await buys.call_tool(
            "forecast", {"city": "Bern"}, payment_id="pay_forecast_0001"
        )
        again = await buys.call_tool(
            "forecast", {"city": "Bern"}, payment_id="pay_forecast_0001"
        )
        assert text_of(first.result) == "sunny in Bern"
        assert (again.result.content, shop.paid, runs) == (
            first.result.content,
            PRICE,
            ["Bern"],
        )
        hourly = await buys.call_tool("hourly", {"city": "Thun"})
        assert (hourly.result.structured_content, shop.paid) == ({"9": 12}, 2 * PRICE)
        assert text_of(await client.call_tool("free", {})) == "free"
    states = [(c.resource, c.state, c.amount) for c in storefront.executions.history()]
    assert states == [
        ("mcp://tool/hourly", "done", PRICE),
        ("mcp://tool/forecast", "done", PRICE),
    ]


async def test_a_tool_that_fails_costs_nothing_unless_it_is_paid_first(
    server: Server, shop: Shop, tmp_path: Path, sell_it: Callable[..., Storefront]
) -> None:
    runs: list[str] = []
    weather(server, runs)
    sell_it(server)
    async with Client(_mcp(server)) as client:
        buys = await buyer(client, shop, tmp_path)
        failed = await buys.call_tool("broken", {})
        assert (failed.result.is_error, shop.paid) == (True, 0)
        ordered = await buys.call_tool("order", {"city": "Bern"})
        assert (ordered.result.is_error, shop.paid, runs) == (True, PRICE, ["Bern"])


async def test_the_list_shows_prices(
    server: Server, sell_it: Callable[..., Storefront]
) -> None:
    weather(server, [])
    sell_it(server)
    async with Client(_mcp(server)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert "Costs 0.001 USDC or 0.002 USDG a call" in (
        tools["hourly"].description or ""
    )
    assert tools["forecast"].input_schema["required"] == ["city"]
    assert "Costs" not in (tools["free"].description or "")
    assert tools["forecast"].meta is not None
    assert tools["forecast"].meta["x402"]["accepts"][0]["amount"] == str(PRICE)


async def test_a_tool_that_comes_later_is_sold(
    server: Server, shop: Shop, sell_it: Callable[..., Storefront]
) -> None:
    sell_it(server)
    runs: list[str] = []
    weather(server, runs)
    async with Client(_mcp(server)) as client:
        assert (await client.call_tool("forecast", {"city": "Bern"})).is_error
    assert runs == []


async def test_the_other_order_of_decorators_sells_too(
    server: Server, sell_it: Callable[..., Storefront]
) -> None:
    runs: list[str] = []

    @paid("$0.001")
    @server.tool()
    def forecast(city: str) -> str:
        runs.append(city)
        return city

    sell_it(server)
    async with Client(_mcp(server)) as client:
        assert (await client.call_tool("forecast", {"city": "Bern"})).is_error
    assert runs == []


async def test_a_server_that_was_not_given_to_sell_gives_nothing_away(
    server: Server,
) -> None:
    runs: list[str] = []
    weather(server, runs)
    async with Client(_mcp(server)) as client:
        for name in ("forecast", "hourly"):
            assert (await client.call_tool(name, {"city": "Bern"})).is_error
    assert runs == []


def _mcp(server: Server) -> Any:
    """FastMCP's server in the form that the official client takes."""
    return getattr(server, "_mcp_server", server)


# --- web apps -------------------------------------------------------------------------------------


def starlette_app(runs: list[str]) -> Any:
    @paid("$0.001")
    async def forecast(request: Request) -> JSONResponse:
        runs.append(request.path_params["city"])
        return JSONResponse({"city": request.path_params["city"]})

    @paid("$0.001")
    def of_the_thread(request: Request) -> JSONResponse:
        runs.append("thread")
        return JSONResponse({}, 404)

    async def free(request: Request) -> JSONResponse:
        return JSONResponse("free")

    @paid("$0.001")
    async def stream(socket: WebSocket) -> None:
        runs.append("socket")

    inner = Starlette(routes=[Route("/{city}", forecast)])
    return Starlette(
        routes=[
            Route("/weather/health", free),
            Route("/weather/{city}", forecast, methods=["GET", "POST"]),
            Route("/thread", of_the_thread),
            Mount("/inner", inner),
            WebSocketRoute("/stream", stream),
        ]
    )


def fastapi_app(runs: list[str]) -> Any:
    app = fastapi.FastAPI()
    router, starlette_router = fastapi.APIRouter(prefix="/inner"), fastapi.APIRouter()

    @app.get("/weather/health")
    async def free() -> str:
        return "free"

    @app.get("/weather/{city}")
    @app.post("/weather/{city}")
    @paid("$0.001")
    async def forecast(city: str, unit: str = "C") -> dict[str, str]:
        runs.append(city)
        return {"city": city}

    @app.get("/thread")
    @paid("$0.001")
    def of_the_thread() -> None:
        runs.append("thread")
        raise fastapi.HTTPException(404)

    @router.get("/{city}")
    @paid("$0.001")
    def inner(city: str) -> dict[str, str]:
        runs.append(city)
        return {"city": city}

    @paid("$0.001")
    async def old(request: Request) -> JSONResponse:
        runs.append("old")
        return JSONResponse({})

    starlette_router.add_route("/old", old)
    router.include_router(starlette_router)
    app.include_router(router)
    return app


@pytest.fixture(params=[starlette_app, fastapi_app], ids=["starlette", "fastapi"])
def web(request: pytest.FixtureRequest) -> tuple[Any, list[str]]:
    runs: list[str] = []
    return request.param(runs), runs


def over(app: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://shop.test")


async def test_routes_are_sold(
    web: tuple[Any, list[str]],
    shop: Shop,
    tmp_path: Path,
    sell_it: Callable[..., Storefront],
) -> None:
    app, runs = web
    sell_it(app, public_url="https://shop.example/")
    async with over(app) as client:
        assert (await client.get("/weather/health")).json() == "free"
        unpaid = await client.get("/weather/Bern")
        assert (unpaid.status_code, runs) == (402, [])
        assert (
            unpaid.json()["accepts"][0]["resource"]
            == "https://shop.example/weather/{city}"
        )
        buys = HttpBuyer(client, payer_of(shop, budget_of(shop, tmp_path)))
        url = "http://shop.test/weather/Bern"
        first = await buys.request("GET", url, payment_id="pay_weather_00001")
        again = await buys.request("GET", url, payment_id="pay_weather_00001")
        assert first.result.json() == again.result.json() == {"city": "Bern"}
        assert (runs, shop.paid) == (["Bern"], PRICE)
        assert (
            await buys.request("GET", "http://shop.test/inner/Thun")
        ).result.json() == {"city": "Thun"}
        failed = await buys.request("GET", "http://shop.test/thread")
        assert (failed.result.status_code, shop.paid) == (404, 2 * PRICE)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/weather/Bern"),
        ("HEAD", "/weather/Bern"),
        ("POST", "/weather/Bern"),
        ("GET", "/weather/%42ern"),
        ("GET", "//weather/Bern"),
        ("GET", "/weather/Bern/"),
        ("GET", "/weather/./Bern"),
        ("OPTIONS", "/weather/Bern"),
        ("PUT", "/weather/Bern"),
        ("GET", "/inner/Bern"),
        ("GET", "/inner/old"),
        ("HEAD", "/thread"),
    ],
)
async def test_no_way_to_a_sold_endpoint_is_free(
    web: tuple[Any, list[str]],
    sell_it: Callable[..., Storefront],
    method: str,
    path: str,
) -> None:
    app, runs = web
    sell_it(app)
    async with over(app) as client:
        answer = await client.request(method, path)
    assert (runs, answer.status_code // 100 in (3, 4)) == ([], True)


async def test_an_app_that_was_not_given_to_sell_gives_nothing_away(
    web: tuple[Any, list[str]],
) -> None:
    app, runs = web
    async with over(app) as client:
        assert (await client.get("/weather/Bern")).status_code == 500
        assert (await client.get("/weather/health")).status_code == 200
    assert runs == []


async def test_the_official_http_client_pays(
    web: tuple[Any, list[str]], shop: Shop, sell_it: Callable[..., Storefront]
) -> None:
    app, runs = web
    sell_it(app)
    signer = x402Client()
    signer.register(DEVNET, ExactClient(shop.world.payer, shop.world.chain))
    transport = x402AsyncTransport(signer, httpx.ASGITransport(app=app))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://shop.test"
    ) as client:
        assert (await client.get("/weather/Bern")).json() == {"city": "Bern"}
    assert (runs, shop.paid) == (["Bern"], PRICE)


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"pay_to": "me"}, "invalid_payee"),
        ({"sponsor": None}, "invalid_settlement"),
        ({"facilitators": ["https://f.example"]}, "invalid_settlement"),
    ],
)
def test_wrong_settings_are_refused_at_the_start(
    shop: Shop, tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    good: dict[str, Any] = {
        "pay_to": str(shop.world.payee.pubkey()),
        "sponsor": shop.world.sponsor,
    }
    database = f"sqlite:///{tmp_path / 'none.db'}"
    with pytest.raises(PaymentError) as caught:
        sell(
            MCPServer("s"),
            chain=shop.world.chain,
            database=database,
            **(good | options),
        )
    assert caught.value.code == code
    assert not (tmp_path / "none.db").exists()


def test_a_key_file_needs_its_passphrase(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IDL2MCP_PASSPHRASE", raising=False)
    with pytest.raises(SourceError, match="passphrase"):
        sell(
            MCPServer("s"),
            pay_to=str(shop.world.payee.pubkey()),
            sponsor=tmp_path / "sponsor.json",
            database=f"sqlite:///{tmp_path / 'sales.db'}",
            chain=shop.world.chain,
        )


def test_other_things_are_not_sold() -> None:
    with pytest.raises(PaymentError, match="expected an MCPServer"):
        sell(object(), pay_to="x")


def test_a_wrong_price_stops_the_start_of_an_app(
    sell_it: Callable[..., Storefront],
) -> None:
    @paid("$0.0000001")
    async def endpoint(request: Request) -> JSONResponse:
        return JSONResponse({})

    with pytest.raises(PaymentError, match="decimals"):
        sell_it(Starlette(routes=[Route("/", endpoint)]))


# --- resources and prompts ------------------------------------------------------------------------


def library(server: Server, runs: list[str]) -> None:
    """A tool, a prompt and resources, some with the same name."""

    @server.tool(name="brief")
    def free_tool() -> str:
        return "free"

    @server.prompt()
    @paid("$0.001")
    def brief(city: str) -> str:
        """What to say about a city."""
        runs.append(city)
        return f"About {city}."

    @server.prompt()
    def greeting() -> str:
        return "Hello."

    @server.resource("doc://prices")
    @paid("$0.001")
    def prices() -> str:
        runs.append("prices")
        return "all prices"

    @server.resource("doc://{name}/chapter")
    @paid("$0.001", settle="first")
    async def chapter(name: str) -> str:
        runs.append(name)
        return f"chapter {name}"

    @server.resource("doc://index")
    def index() -> str:
        return "free"


async def test_resources_and_prompts_are_sold(
    server: Server, shop: Shop, tmp_path: Path, sell_it: Callable[..., Storefront]
) -> None:
    runs: list[str] = []
    library(server, runs)
    sell_it(server)
    async with Client(_mcp(server)) as client:
        wallet = await buyer(client, shop, tmp_path)
        for bought, text in (
            (await wallet.get_prompt("brief", {"city": "Bern"}), "About Bern."),
            (await wallet.read_resource("doc://prices"), "all prices"),
            (await wallet.read_resource("doc://two/chapter"), "chapter two"),
        ):
            assert bought.amount == PRICE
            assert text in str(bought.result)
        assert (runs, shop.paid) == (["Bern", "prices", "two"], 3 * PRICE)
        for free in (
            await wallet.get_prompt("greeting"),
            await wallet.read_resource("doc://index"),
            await wallet.call_tool("brief", {}),
        ):
            assert free.amount == 0
        for ask in (
            client.get_prompt("brief", {"city": "Thun"}),
            client.read_resource("doc://three/chapter"),
        ):
            with pytest.raises(MCPError) as caught:
                await ask
            assert caught.value.error.code == 402
        assert "doc://three/chapter" in str(caught.value.error.data)
        with pytest.raises(MCPError):
            await client.read_resource("doc://nothing")
    assert (len(runs), shop.paid) == (3, 3 * PRICE)


async def test_a_payment_for_one_resource_reads_no_other(
    server: Server, shop: Shop, tmp_path: Path, sell_it: Callable[..., Storefront]
) -> None:
    """Both are of one template, so their terms are the same."""
    runs: list[str] = []
    library(server, runs)
    sell_it(server)
    sent: list[Any] = []
    async with Client(_mcp(server)) as client:
        read = client.read_resource

        async def keeping(uri: str, **options: Any) -> Any:
            sent.append(options.get("meta"))
            return await read(uri, **options)

        client.read_resource = keeping  # type: ignore[method-assign]
        await (await buyer(client, shop, tmp_path)).read_resource("doc://one/chapter")
        with pytest.raises(MCPError):
            await read("doc://two/chapter", meta=sent[-1])
    assert runs == ["one"]


def test_a_facilitator_is_known_by_name(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CDP_API_KEY_ID", raising=False)
    payee, kept = str(shop.world.payee.pubkey()), f"sqlite:///{tmp_path / 'sales.db'}"
    for named, words in (
        ("cdp", "CDP_API_KEY_ID"),
        ("cpd", "expected a URL or one of cdp"),
    ):
        with pytest.raises(PaymentError, match=words):
            sell(
                MCPServer("x"),
                pay_to=payee,
                facilitators=[named],
                database=kept,
                chain=shop.world.chain,
            )

"""A bridge that sells to strangers: its operator's pages, what nobody may buy, and who does not pay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest
import uvicorn
from mcp import Client

from mcpsol_py.bridge.http import HttpSettings, http_app
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from tests.functional.cli import Cli
from tests.ports import free_port
from tests.support.http_bridge import ask, http_server_at
from tests.support.paid_bridge import CREATE, Shop

CONFIG = """
[[program]]
source = "counter"

[http]
public = true
hosts = ["shop.example"]
proxies = ["127.0.0.1"]
operator_port = {operator_port}
unpaid_per_minute = {unpaid}

[payments]
pay_to = "@merchant"
sponsors = ["@sponsor"]
prices = {{ "*" = "$0.001" }}
"""
SETUP = """
[wallets]
merchant = 1
sponsor = 1
[mints]
usdc = { decimals = 6, address = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU" }
[tokens]
merchant_usdc = { mint = "@usdc", owner = "@merchant" }
"""
TOKEN: dict[str, Any] = {"Authorization": "Bearer the-operators-token"}
LIST = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
).encode()
OPERATORS = ("/payments", "/calls", "/audit", "/metrics")


@pytest.fixture
def public(cli: Cli, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URLs of a public bridge: for buyers, and for its operator."""
    unpaid = getattr(request, "param", 60)
    port = free_port(2)
    cli.write("setup.toml", SETUP)
    config = cli.write(
        "b.toml",
        'setup = "setup.toml"\n' + CONFIG.format(operator_port=port + 1, unpaid=unpaid),
    )
    with http_server_at(
        port, cli.folder, "--config", config, IDL2MCP_TOKEN="the-operators-token"
    ) as url:
        yield url, f"http://127.0.0.1:{port + 1}"


def test_strangers_see_the_tools_and_operators_the_sales(
    public: tuple[str, str], cli: Cli
) -> None:
    shop, own = public
    for path in OPERATORS:
        assert ask(f"{shop}{path}")[0] == 401, path
        assert ask(f"{shop}{path}", **TOKEN)[0] == 200, path
        assert ask(f"{own}{path}")[0] == 200, path
        assert ask(f"{own}{path}", Host="evil.example")[0] in (401, 421), path
    assert json.loads(ask(f"{shop}/healthz")[1]) == {"status": "ok"}
    assert "programs" in json.loads(ask(f"{shop}/healthz", **TOKEN)[1])
    assert "programs" in json.loads(ask(f"{own}/healthz")[1])
    # No node for strangers.
    assert ask(f"{shop}/rpc", method="POST", body=b"{}")[0] == 404
    assert ask(f"{shop}/", X_Forwarded_For="203.0.113.1")[0] == 200
    told = (cli.folder / "stderr.txt").read_text()
    assert "Traceback" not in told


@pytest.mark.parametrize("public", [5], indirect=True)
def test_who_does_not_pay_is_limited_by_the_address_that_the_proxy_tells(
    public: tuple[str, str],
) -> None:
    shop, _ = public

    def listed(address: str, **more: str) -> int:
        sent: dict[str, Any] = {"X_Forwarded_For": address, **more}
        return ask(f"{shop}/", **sent)[0]

    assert [listed("203.0.113.1") for _ in range(7)] == [200] * 5 + [429] * 2
    assert listed("203.0.113.2") == 200
    # One network of IPv6 is one client; an operator is never limited.
    addresses = [f"2001:db8::{number}" for number in range(1, 8)]
    assert [listed(address) for address in addresses] == [200] * 5 + [429] * 2
    assert {listed("203.0.113.1", **TOKEN) for _ in range(7)} == {200}


def test_without_a_proxy_its_header_is_not_believed(cli: Cli) -> None:
    config = f'[[program]]\nsource = "{cli.idl}"\n[http]\npublic = true\nunpaid_per_minute = 3\n'
    port = free_port(2)
    with http_server_at(
        port, cli.folder, "--config", cli.write("b.toml", config)
    ) as url:
        codes = [ask(f"{url}/", X_Forwarded_For=f"1.1.1.{n}")[0] for n in range(5)]
        assert codes == [200] * 3 + [429] * 2
        # No token and no port of its own: nobody sees them.
        assert ask(f"{url}/metrics")[0] == 401


# --- in this process, with a buyer who pays ------------------------------------------------------


@asynccontextmanager
async def served(shop: Shop, **settings: Any) -> AsyncIterator[str]:
    port = free_port()
    app: Any = http_app(
        shop.server,
        shop.bridge,
        HttpSettings(port=port, public=True, stateless=True, **settings),
    )
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none")
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await running


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    made = Shop(tmp_path, **getattr(request, "param", {}))
    with made.opened:
        yield made


async def test_a_paid_call_lifts_the_limit_and_a_repeat_does_not(shop: Shop) -> None:
    async with served(shop, unpaid_per_minute=6) as url, Client(url) as client:
        buyer = Buyer(client, shop.payer())
        for _ in range(6):  # with its demand each takes two requests of six
            assert not (
                await buyer.call_tool("counter_initialize", CREATE)
            ).result.is_error
        paid = await buyer.call_tool(
            "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
        )
        assert paid.amount == 1_000

        async def repeat() -> None:
            for _ in range(15):
                again = await buyer.call_tool(
                    "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
                )
                assert again.repeated

        with pytest.raises(PaymentError):  # no answer comes any more
            await repeat()
        async with httpx.AsyncClient() as other:
            assert (await other.post(url, content=LIST)).status_code == 429
    assert shop.takings == 7_000


@pytest.mark.parametrize("shop", [{"mode": "send"}], indirect=True)
async def test_a_stranger_can_only_buy_what_sends(shop: Shop) -> None:
    shop.bridge.price = {"counter_increment": "0.001 USDC"}.get
    async with served(shop) as url, Client(url) as client:
        buyer = Buyer(client, shop.payer())
        refused = await buyer.call_tool("counter_initialize", CREATE)
        assert refused.result.is_error
        assert "not for sale" in json.dumps(refused.result.model_dump(mode="json"))
    assert (shop.count(), shop.takings) == (-1, 0)


@pytest.mark.parametrize(
    "shop",
    [
        {
            "mode": "send",
            "outflow": {
                "SOL": {
                    "per_call": 10_000_000,
                    "per_day": 100_000_000,
                    "confirm_above": 1,
                }
            },
        }
    ],
    indirect=True,
)
async def test_a_stranger_is_not_asked_to_confirm_for_the_owner(shop: Shop) -> None:
    asked: list[str] = []

    async def answer(
        context: Any, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"send": True})

    async with served(shop) as url, Client(url, elicitation_callback=answer) as client:
        refused = await Buyer(client, shop.payer()).call_tool(
            "counter_initialize", CREATE
        )
        assert refused.result.is_error
        assert "strangers" in json.dumps(refused.result.model_dump(mode="json"))
    assert (asked, shop.count(), shop.takings) == ([], -1, 0)

"""A bridge whose tools cost something: the demo from two terminals, and calls that build, send, ask, fail or crash."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature
from x402.schemas import SettleResponse

from idl2mcp.config.payments import DEMO_PAYMENTS, open_shop, read_payments
from idl2mcp.local_cluster import wallet
from mcpsol_py.bridge.explorer.content import FactsBlock, TableBlock
from mcpsol_py.bridge.explorer.payments_page import PaymentsPage
from mcpsol_py.bridge.sender import Submission
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import SvmNode
from mcpsol_py.errors import PaymentError, SourceError, TransportError
from mcpsol_py.solana import ids
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.chain.payment_chain import svm_chain
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import LocalFacilitator, make_facilitator
from mcpsol_py.x402.protocol.networks import LOCAL
from mcpsol_py.x402.selling.paid_call import PaidCall
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.functional.cli import Cli
from tests.functional.svm_node import listening
from tests.ports import free_port
from tests.support.http_bridge import http_server_at
from tests.support.paid_bridge import CREATE, Shop


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    made = Shop(tmp_path, **getattr(request, "param", {}))
    with made.opened:
        yield made


SEND = pytest.mark.parametrize("shop", [{"mode": "send"}], indirect=True)


async def test_prices_are_told_and_charged_once(shop: Shop) -> None:
    async with Client(shop.server) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert "Costs 0.001 USDC a call" in (
            tools["counter_increment"].description or ""
        )
        assert "Costs" not in (tools["counter_get_state"].description or "")
        unpaid = await client.call_tool("counter_initialize", CREATE)
        assert unpaid.is_error
        buyer = Buyer(client, shop.payer())
        bought = await buyer.call_tool(
            "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
        )
        assert not bought.result.is_error
        assert bought.result.structured_content is not None
        assert bought.amount == shop.takings == 1_000
        again = await buyer.call_tool(
            "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
        )
        assert again.repeated
        assert again.result.structured_content == bought.result.structured_content
        assert shop.takings == 1_000


async def test_the_order_of_payment_and_work_is_chosen_by_tool(shop: Shop) -> None:
    """A call that fails costs nothing if the tool runs first, and its price if the payment settles first."""
    fails = {"amount": "1", "accounts": {"authority": "@alice"}}
    settle = {"counter_increment": "first", "*": "after"}
    shop.payments = read_payments({**DEMO_PAYMENTS, "settle": settle})
    async with Client(shop.open()) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        first, after = (
            (tools[name].meta or {})["x402"]["accepts"]
            for name in ("counter_increment", "counter_initialize")
        )
        assert [(t["scheme"], t["extra"].get("paymentFlow")) for t in first] == [
            ("exact", "upfront")
        ]
        assert [t["scheme"] for t in after] == ["exact", "batch-settlement"]
        buyer = Buyer(client, shop.payer())
        bought = await buyer.call_tool("counter_increment", fails)
        assert (bought.result.is_error, shop.takings) == (True, 1_000)
        await buyer.call_tool("counter_initialize", CREATE)
    assert shop.takings == 2_000


@pytest.mark.parametrize("shop", [{"mode": "send"}], indirect=True)
def test_a_tool_that_sends_cannot_be_paid_after_it_ran(shop: Shop) -> None:
    payments = read_payments({**DEMO_PAYMENTS, "settle": {"*": "after"}})
    with (
        ExitStack() as opened,
        pytest.raises(SourceError, match="settle first") as caught,
    ):
        open_shop(payments, shop.bridge, None, shop.cluster, opened)
    assert caught.value.path == "payments.settle"


async def test_terms_are_shown_as_x402_writes_them_and_under_older_names(
    shop: Shop,
) -> None:
    async with Client(shop.server) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        listed = (tools["counter_initialize"].meta or {})["x402"]
        asked = await client.call_tool("counter_initialize", CREATE)
    demand = asked.structured_content
    assert (listed["accepts"], listed["resource"]) == (
        demand["accepts"],
        demand["resource"],
    )
    terms = demand["accepts"][0]
    older = {
        "version": "1.0",
        "network": terms["network"],
        "paymentAddress": terms["payTo"],
        "amount": "1000",
        "token": terms["asset"],
    }
    assert older.items() <= listed.items()
    error = (asked.meta or {})["mcpsol/error"]
    assert (error["error"], error["code"]) == (True, "PAYMENT_REQUIRED")
    assert error["paymentRequired"] == older


@pytest.mark.parametrize("lies", [True, False])
async def test_anothers_facilitator_is_held_against_the_chain(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, lies: bool
) -> None:
    chain = svm_chain(shop.cluster.transport, network=LOCAL)
    kept = Database("sqlite://")
    shop.opened.callback(kept.close)
    made = make_facilitator(
        chain, KeypairSponsor(wallet("sponsor")), SqlSettlements(kept)
    )

    class Another(LocalFacilitator):
        async def settle(self, payload: Any, requirements: Any) -> Any:
            if lies:
                return SettleResponse(
                    success=True, transaction=str(Signature.default()), network=LOCAL
                )
            return await super().settle(payload, requirements)

    monkeypatch.setattr(
        "mcpsol_py.x402.selling.facilitator_client.custom_facilitator",
        lambda _name: Another(made),
    )
    without = {
        k: v for k, v in DEMO_PAYMENTS.items() if k not in ("sponsors", "vouchers")
    }
    database = f"sqlite:///{shop.folder / 'another.db'}"
    shop.payments = read_payments(
        {**without, "facilitators": ["another"], "database": database}
    )
    async with Client(shop.open()) as client:
        buyer = Buyer(client, shop.payer())
        if not lies:
            bought = await buyer.call_tool("counter_initialize", CREATE)
            assert (bought.amount, shop.takings, bought.result.is_error) == (
                1_000,
                1_000,
                False,
            )
            return
        with pytest.raises(PaymentError) as caught:
            await buyer.call_tool(
                "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
            )
    assert (caught.value.code, shop.takings) == ("OUTCOME_UNKNOWN", 0)


async def test_what_fails_in_simulation_is_not_charged(shop: Shop) -> None:
    async with Client(shop.server) as client:
        bought = await Buyer(client, shop.payer()).call_tool(
            "counter_increment", {"amount": "1", "accounts": {"authority": "@alice"}}
        )
        assert bought.result.is_error
        assert bought.receipt is None
    assert shop.takings == 0


@pytest.mark.parametrize("shop", [{"surface": "lazy"}], indirect=True)
async def test_the_search_surface_sells_the_tool_that_it_calls(shop: Shop) -> None:
    async with Client(shop.server) as client:
        found = await client.call_tool("describe_tool", {"name": "counter_initialize"})
        assert "Costs 0.001 USDC" in found.structured_content["tool"]["description"]
        for arguments in (CREATE, json.dumps(CREATE)):
            asked = await client.call_tool(
                "call_tool", {"name": "counter_initialize", "arguments": arguments}
            )
            assert asked.is_error
            assert asked.structured_content["x402Version"] == 2
        bought = await Buyer(client, shop.payer()).call_tool(
            "call_tool", {"name": "counter_initialize", "arguments": CREATE}
        )
        assert not bought.result.is_error
    assert shop.takings == 1_000


@SEND
async def test_a_call_that_sends_is_paid_first_and_runs_once(shop: Shop) -> None:
    payer = shop.payer()
    async with Client(shop.server) as client:
        buyer = Buyer(client, payer)
        await buyer.call_tool("counter_initialize", CREATE)
        for _ in range(2):
            bought = await buyer.call_tool(
                "counter_increment", {"amount": "2"}, payment_id="pay_increment_0001"
            )
            assert bought.result.structured_content is not None
            assert bought.result.structured_content["signature"]
    assert (shop.count(), shop.takings) == (7, 2_000)


@SEND
async def test_what_the_policy_or_the_program_refuses_is_not_charged(
    shop: Shop,
) -> None:
    async with Client(shop.server) as client:
        buyer = Buyer(client, shop.payer())
        early = await buyer.call_tool("counter_increment", {"amount": "1"})
        assert early.result.is_error
        await buyer.call_tool("counter_initialize", CREATE)
        # The policy does not name it.
        refused = await buyer.call_tool("counter_decrement", {"amount": "1"})
        assert refused.result.is_error
        assert "policy" in json.dumps(refused.result.model_dump(mode="json"))
        wrong = await buyer.call_tool("counter_increment", {"amount": "no number"})
        assert wrong.result.is_error
    assert (shop.count(), shop.takings) == (5, 1_000)


@SEND
@pytest.mark.parametrize("at", ["before it was sent", "after it landed"])
async def test_a_server_that_dies_while_sending_is_decided_by_the_signature(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    payer = shop.payer()
    async with Client(shop.server) as client:
        await Buyer(client, payer).call_tool("counter_initialize", CREATE)

    class Killed(Exception):
        """The process is gone: what would tidy up after an exception is patched out below."""

    sends = Submission.run

    async def dying(self: Submission) -> str:
        if at == "after it landed":
            await sends(self)
        raise Killed

    payment_id = "pay_increment_0001"
    with monkeypatch.context() as patched:
        patched.setattr(Submission, "run", dying)
        patched.setattr(PaidCall, "_interrupt", _write_nothing)
        async with Client(shop.server) as client:
            with pytest.raises(PaymentError) as lost:
                await Buyer(client, payer).call_tool(
                    "counter_increment", {"amount": "2"}, payment_id=payment_id
                )
        assert lost.value.code == "OUTCOME_UNKNOWN"
    _expire_lease(shop)
    async with Client(shop.open()) as client:
        buyer = Buyer(client, payer)
        if at == "after it landed":
            bought = await buyer.call_tool(
                "counter_increment", {"amount": "2"}, payment_id=payment_id
            )
            assert bought.result.is_error is not True
            assert "recovered" in json.dumps(
                bought.result.model_dump(mode="json", by_alias=True)
            )
            assert shop.count() == 7
        else:
            with pytest.raises(PaymentError) as caught:
                await buyer.call_tool(
                    "counter_increment", {"amount": "2"}, payment_id=payment_id
                )
            assert caught.value.code == "OUTCOME_UNKNOWN"
            assert shop.count() == 5
    assert shop.takings == 2_000


async def _write_nothing(*_: Any) -> None:
    """A killed process writes nothing more: the clean-up after a mere exception does not happen."""


def _expire_lease(shop: Shop) -> None:
    from sqlalchemy import text

    kept = Database(f"sqlite:///{shop.folder / 'sales.db'}")
    with kept.engine.begin() as connection:
        connection.execute(
            text("update executions set touched_ms = :early"), {"early": 0}
        )
    kept.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
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
async def test_a_person_is_asked_and_the_payment_waits_for_the_answer(
    shop: Shop, mode: Any
) -> None:
    asked: list[str] = []

    async def answer(
        context: Any, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"send": True})

    async with Client(shop.server, mode=mode, elicitation_callback=answer) as client:
        bought = await Buyer(client, shop.payer()).call_tool(
            "counter_initialize", CREATE
        )
    assert asked
    assert not bought.result.is_error
    assert (shop.count(), shop.takings) == (5, 1_000)


async def test_sales_are_listed_and_shown(shop: Shop, cli: Cli) -> None:
    async with Client(shop.server) as client:
        await Buyer(client, shop.payer()).call_tool(
            "counter_initialize", CREATE, payment_id="pay_0123456789abcdef"
        )
    url = f"sqlite:///{shop.folder / 'sales.db'}"
    listed = cli("x402", "sales", "--database", url, "--json")
    (row,) = listed.json["sales"]
    assert (row["state"], row["amount"], row["paymentId"]) == (
        "done",
        "1000",
        "pay_0123456789abcdef",
    )
    assert "0.001 USDC" in cli("x402", "sales", "--database", url).out
    refused = cli("x402", "decide", "pay_0123456789abcdef", "again", "--database", url)
    assert refused.code == 1
    assert '"done"' in refused.err
    page = PaymentsPage(Executions(Database(url)))
    overview = await page.page([], {})
    assert overview is not None
    totals, calls = overview.blocks
    assert isinstance(totals, TableBlock)
    assert totals.rows[0][0].text == "0.001 USDC"
    assert isinstance(calls, TableBlock)
    assert calls.rows[0][1].text == "counter_initialize"
    one = await page.page(["pay_0123456789abcdef"], {})
    assert one is not None
    assert any(
        isinstance(block, FactsBlock) and block.heading == "Receipt"
        for block in one.blocks
    )
    assert await page.page(["pay_unknown_00000000"], {}) is None


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({"pay_too": "x"}, "payments.pay_too"),
        ({}, "payments.pay_to"),
        ({"pay_to": 7}, "payments.pay_to"),
        ({"pay_to": "@merchant"}, "payments.prices"),
        (
            {"pay_to": "@merchant", "prices": {"counter_initialize": 0.5}},
            "payments.prices.counter_initialize",
        ),
        (
            {"pay_to": "@merchant", "prices": {"x": "$1"}, "v1_errors": 1},
            "payments.v1_errors",
        ),
        (
            {"pay_to": "@merchant", "prices": {"x": "$1"}, "settle": {"x": "later"}},
            "payments.settle.x",
        ),
        (
            {
                "pay_to": "@merchant",
                "prices": {"x": "$1"},
                "facilitators": [{"url": 7}],
            },
            "payments.facilitators[0].url",
        ),
        (
            {"pay_to": "@merchant", "prices": {"x": "$1"}, "sponsors": "@sponsor"},
            "payments.sponsors",
        ),
    ],
)
def test_a_wrong_configuration_names_its_key(table: dict[str, Any], path: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_payments(table)
    assert caught.value.path == path


def _priced(asset: str) -> dict[str, Any]:
    return {"prices": {"counter_increment": {"amount": "5", "asset": asset}}}


PLAN = {"id": "basic", "price": "$1", "period": "monthly"}


def test_a_price_takes_the_name_of_its_mint(shop: Shop) -> None:
    payments = read_payments({**DEMO_PAYMENTS, **_priced("@usdc")})
    with ExitStack() as opened:
        sold = open_shop(payments, shop.bridge, None, shop.cluster, opened)
        offer = sold.paid.offer("counter_increment")
        assert offer is not None
        ways = {(way.asset, way.amount) for way in offer.accepts}
        assert ways == {(shop.cluster.names["usdc"], "5")}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"prices": {"counter_incremnt": "$1"}}, "payments.prices.counter_incremnt"),
        ({"prices": {"counter_increment": "a dollar"}}, "payments.prices"),
        ({"prices": {"counter_increment": "$0.0000001"}}, "payments.prices"),
        # A pattern that an earlier one shadows, wholly; one that is shadowed in part is in use.
        (
            {"prices": {"counter_*": "$1", "counter_increment": "$2"}},
            "payments.prices.counter_increment",
        ),
        ({"prices": {"*": "free", "vault_*": "$2"}}, "payments.prices.vault_*"),
        ({"pay_to": "@mallory"}, "payments"),  # who has no account for USDC
        ({"sponsors": []}, "payments"),
        ({"settle": {"counter_incremnt": "first"}}, "payments.settle.counter_incremnt"),
        ({"pay_to": "nobody"}, "payments.pay_to"),
        (_priced("nobody"), "payments.prices.counter_increment.asset"),
        (_priced("@nobody"), "payments.prices.counter_increment.asset"),
        (
            {
                "domain": "shop.example",
                "plans": [{**PLAN, "price": {"amount": "5", "asset": "x"}}],
            },
            "payments.plans[0].price.asset",
        ),
    ],
)
def test_a_price_list_that_cannot_be_kept_stops_the_start(
    shop: Shop, change: dict[str, Any], path: str
) -> None:
    payments = read_payments({**DEMO_PAYMENTS, **change})
    with ExitStack() as opened, pytest.raises(Exception, match=".") as caught:
        open_shop(payments, shop.bridge, None, shop.cluster, opened)
    assert path in str(caught.value)


def test_a_cluster_for_payments_that_does_not_answer_is_the_networks_fault(
    shop: Shop,
) -> None:
    payments = read_payments({**DEMO_PAYMENTS, "url": "http://127.0.0.1:9"})
    with ExitStack() as opened, pytest.raises(TransportError):
        open_shop(payments, shop.bridge, None, shop.cluster, opened)


def test_paid_goes_with_demo(cli: Cli) -> None:
    ran = cli("serve", "counter", "--paid")
    assert ran.code == 2
    assert "--demo" in ran.err


def test_the_demo_from_two_terminals(cli: Cli) -> None:
    """A paid call, its receipt, a repeat that is not charged, and a refusal at the budget's edge: all offline."""
    port = free_port()
    serve = ["serve", "--demo", "--paid", "--transport", "http", "--port", str(port)]
    place = cli.folder / "tmp"
    place.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "idl2mcp", *serve],
        cwd=cli.folder,
        env={**os.environ, "TMPDIR": str(place)},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            _wait(port, server)
            base = f"http://127.0.0.1:{port}"
            common = (
                "--url",
                f"{base}/rpc",
                "--wallet",
                "@alice",
                "--max",
                "$0.01",
                "--per-day",
                "$0.002",
            )
            pay = (
                "x402",
                "pay",
                f"{base}/mcp",
                "counter_initialize",
                "--args",
                json.dumps(CREATE),
                *common,
            )
            store = ("--database", "sqlite:///purse.db")
            first = cli(*pay, *store, "--id", "pay_0123456789abcdef", "--json")
            assert first.code == 0, first.err
            assert (first.json["paid"], first.json["repeated"]) == ("1000", False)
            assert first.json["receipt"]["success"]
            again = cli(*pay, *store, "--id", "pay_0123456789abcdef", "--json")
            assert (again.json["paid"], again.json["repeated"]) == ("0", True)
            assert again.json["receipt"] == first.json["receipt"]
            assert again.json["result"] == first.json["result"]
            voucher = cli(
                *pay,
                *store,
                "--deposit",
                "$0.02",
                "--id",
                "pay_by_voucher_0001",
                "--json",
            )
            assert voucher.code == 0, voucher.err
            assert voucher.json["paid"] == "1000"
            dear = cli(*pay[:3], "vault_initialize", *common, *store)
            assert dear.code == 1
            assert "0 are left" in dear.err
            with urllib.request.urlopen(f"{base}/payments") as response:  # loopback
                assert "counter_initialize" in response.read().decode()
            listed = cli(
                "x402",
                "history",
                "--wallet",
                str(wallet("alice").pubkey()),
                *store,
                "--json",
            )
            assert (
                cli("x402", "history", "--wallet", "@alice", *store, "--json").json
                == listed.json
            )
            assert cli("x402", "history", "--wallet", "alice", *store).code == 2
            assert [
                (row["amount"], row["state"]) for row in listed.json["payments"]
            ] == [("1000", "spent")] * 2
            assert list(place.glob("idl2mcp-*"))  # the sales are kept there
        finally:
            server.terminate()
            server.communicate(timeout=30)
    # It came to its own end: vouchers were turned into tokens, and nothing is left.
    assert server.returncode == 0
    assert not list(place.glob("idl2mcp-*"))


def _wait(port: int, server: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, server.stderr.read() if server.stderr else ""
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not come up")


async def test_vouchers_pay_for_calls_and_become_money_later(shop: Shop) -> None:
    """One deposit, then a signature a call; the merchant's worker turns the newest voucher into tokens."""
    at_first = shop.takings
    async with Client(shop.server) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        terms = (tools["counter_initialize"].meta or {})["x402"]["accepts"]
        assert [t["scheme"] for t in terms] == ["exact", "batch-settlement"]
        assert (tools["counter_initialize"].description or "").count("0.001 USDC") == 1
        buyer = Buyer(client, shop.payer(deposit=20_000))
        for start in ("1", "2", "3"):
            bought = await buyer.call_tool(
                "counter_initialize", {**CREATE, "start": start}
            )
            assert not bought.result.is_error
            assert bought.amount == 1_000
    assert shop.takings == at_first
    assert shop.worker is not None
    assert (await shop.worker.run_once(all_jobs=True))["vouchers"] > 0
    assert shop.takings == at_first + 3_000
    await shop.worker.run_once(all_jobs=True)
    assert shop.takings == at_first + 3_000


def test_the_price_table_and_the_payee_are_told_at_the_start(cli: Cli) -> None:
    with http_server_at(free_port(2), cli.folder, "--demo", "--paid"):
        told = (cli.folder / "stderr.txt").read_text()
    lines = [line.split() for line in told.splitlines()]
    assert ["counter_increment", "0.001", "USDC"] in lines
    assert ["counter_get_state", "free"] in lines
    assert f"payments go to {wallet('merchant').pubkey()} on {LOCAL}" in told
    assert "warning" not in told


def test_a_payee_without_a_token_account_stops_the_start(cli: Cli) -> None:
    config = """
[[program]]
source = "counter"
[payments]
pay_to = "@merchant"
sponsors = ["@sponsor"]
prices = { "*" = "$0.001" }
"""
    ran = cli("serve", "--config", cli.write("b.toml", config), "--transport", "http")
    assert ran.code == 1
    assert "does not exist on this cluster" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("sales",),
        ("subscriptions",),
        ("webhooks", "list"),
        ("webhooks", "events"),
        ("webhooks", "again", "msg_1"),
        ("webhooks", "remove", "1"),
        ("decide", "pay_0123456789abcdef", "done"),
        ("history", "--wallet", "@alice"),
    ],
)
def test_a_query_creates_no_database(cli: Cli, command: tuple[str, ...]) -> None:
    for name in ("none.db", "folder/none.db"):
        ran = cli("x402", *command, "--database", f"sqlite:///{cli.folder / name}")
        assert ran.code == 1
        assert "expected a database of payments, got none" in ran.err
        assert not (cli.folder / name).exists()
    other = cli.folder / "other.db"
    for content, said in (
        (b"", "got none"),
        (b"no database at all" * 99, "not a database"),
    ):
        other.write_bytes(content)
        ran = cli("x402", *command, "--database", f"sqlite:///{other}")
        assert (ran.code, said in ran.err) == (1, True), ran.err
        assert other.read_bytes() == content


def test_an_event_that_is_never_sent_is_refused(cli: Cli) -> None:
    at = ("--database", f"sqlite:///{cli.folder / 'sales.db'}")
    add = ("x402", "webhooks", "add", "https://shop.example/hook")
    ran = cli(*add, "--event", "subscription.charge", *at)
    assert ran.code == 2
    assert "Did you mean 'subscription.charged'?" in ran.err
    assert "subscription.expired" in ran.err
    assert not (cli.folder / "sales.db").exists()
    good = cli(*add, "--event", "subscription.charged", "--event", "*", *at, "--json")
    assert good.json["events"] == ["subscription.charged", "*"]


def test_vouchers_need_the_account_of_the_treasury(shop: Shop) -> None:
    treasury = Pubkey.from_string(shop.cluster.address("@treasury_usdc"))
    shop.cluster.svm.set_account(treasury, Account(0, b"", Pubkey.default()))
    with (
        ExitStack() as opened,
        pytest.raises(SourceError, match=ids.X402_TREASURY_OWNER),
    ):
        open_shop(shop.payments, shop.bridge, None, shop.cluster, opened)
    without = {k: v for k, v in DEMO_PAYMENTS.items() if k != "vouchers"}
    with ExitStack() as opened:
        open_shop(read_payments(without), shop.bridge, None, shop.cluster, opened)


def test_play_money_wallets_pay_on_an_embedded_chain_only(cli: Cli) -> None:
    """Everybody knows their keys. The network's name does not tell the chains apart, its genesis hash does."""
    pay = ("x402", "pay", "http://127.0.0.1:9/", "--wallet", "@alice", "--max", "$0.01")
    store = ("--database", f"sqlite:///{cli.folder / 'purse.db'}")
    with listening(SvmNode(SvmTransport(), genesis=ids.DEVNET_GENESIS)) as url:
        refused = cli(*pay, *store, "--url", url)
    assert refused.code == 2
    assert "wallets of a local cluster" in refused.err

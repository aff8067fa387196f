"""A bridge whose tools can be subscribed to: [[payments.plans]], the tools beside the program's, and the worker."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import Server

from idl2mcp.config.payments import DEMO_PAYMENTS, open_shop, read_payments
from idl2mcp.local_cluster import wallet
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.errors import SourceError
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.protocol.mcp_wire import RESPONSE_META, read_demand
from mcpsol_py.x402.protocol.networks import LOCAL
from mcpsol_py.x402.protocol.proof import (
    SIGN_IN_WITH_X,
    proof_meta,
    request_mark,
    sign_proof,
)
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from tests.functional.cli import Cli
from tests.support.paid_bridge import CREATE, Shop

PLANS = [
    {
        "id": "pro",
        "name": "Pro",
        "price": "$0.05",
        "period": "monthly",
        "quota": 2,
        "tools": ["counter_*"],
    }
]


class Club(Shop):
    def open(self) -> Server[Any]:
        table = {
            **DEMO_PAYMENTS,
            "database": f"sqlite:///{self.folder / 'sales.db'}",
            "plans": PLANS,
        }
        self.payments = read_payments(
            {**table, "domain": "demo.example", "collector": "@sponsor"}
        )
        server = make_server(self.bridge)
        opened = open_shop(self.payments, self.bridge, None, self.cluster, self.opened)
        assert opened.subscriptions is not None
        server.middleware.append(opened.paid)
        server.middleware.append(opened.subscriptions)
        return server


@pytest.fixture
def club(tmp_path: Path) -> Iterator[Club]:
    made = Club(tmp_path)
    with made.opened:
        yield made


def wire(result: Any) -> dict[str, Any]:
    body: dict[str, Any] = result.model_dump(
        by_alias=True, exclude_none=True, mode="json"
    )
    return body


async def test_an_agent_subscribes_once_and_calls_without_paying(club: Club) -> None:
    async with Client(club.server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "subscribe" in tools
        assert "Nothing with a subscription to pro." in (
            tools["counter_initialize"].description or ""
        )
        asked = wire(await client.call_tool("counter_initialize", CREATE))
        demand = read_demand(asked)
        assert demand is not None
        extension = demand.required.extensions[SIGN_IN_WITH_X]  # type: ignore[union-attr,index]  # version 2 has them
        payer = club.payer()
        joined = await Buyer(client, payer).call_tool(
            "subscribe",
            {"planId": "pro", "walletAddress": str(wallet("alice").pubkey())},
        )
        assert joined.amount == 50_000
        assert club.takings == 50_000

        def proof() -> Any:
            uri = extension["info"]["uri"]
            mark = request_mark(
                uri, {"tool": "counter_initialize", "arguments": CREATE}
            )
            signed = sign_proof(
                wallet("alice"),
                extension["info"],
                LOCAL,
                request_id=mark,
                nonce=secrets.token_hex(16),
            )
            return proof_meta(signed)

        for used in (1, 2):
            answered = wire(
                await client.call_tool("counter_initialize", CREATE, meta=proof())
            )
            assert not answered.get("isError"), answered
            told = answered["_meta"][RESPONSE_META]["extensions"]["subscription"][
                "info"
            ]
            assert (told["plan"], told["used"], told["quota"]) == ("pro", used, 2)
        over = wire(await client.call_tool("counter_initialize", CREATE, meta=proof()))
        assert read_demand(over) is not None  # used up: paid by the call from here on
        vault = wire(await client.call_tool("vault_deposit", {}))
        assert SIGN_IN_WITH_X not in (vault.get("structuredContent") or {}).get(
            "extensions", {}
        )
    assert club.takings == 50_000


@pytest.mark.parametrize(
    ("plans", "path"),
    [
        ({}, "payments.plans"),
        ([{"id": "a", "price": "$1"}], "payments.plans[0].period"),
        (
            [{"id": "a", "price": "$1", "period": "monthly", "qota": 1}],
            "payments.plans[0].qota",
        ),
        (
            [{"id": "a", "price": "$1", "period": "monthly", "quota": "many"}],
            "payments.plans[0].quota",
        ),
    ],
)
def test_plans_that_cannot_be_read(plans: Any, path: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_payments({**DEMO_PAYMENTS, "domain": "tools.example", "plans": plans})
    assert caught.value.path == path


def test_subscribers_must_know_whom_they_sign_for() -> None:
    with pytest.raises(SourceError) as caught:
        read_payments({**DEMO_PAYMENTS, "plans": PLANS})
    assert caught.value.path == "payments.domain"


def test_a_worker_delivers_what_waits_and_says_so(tmp_path: Path, cli: Cli) -> None:
    url = f"sqlite:///{tmp_path / 'sales.db'}"
    database = Database(url)
    webhooks = Webhooks(database)
    webhooks.add("http://127.0.0.1:9/nobody", allow_http=True)
    webhooks.emit("paid", {})
    database.close()
    outcome = cli("x402", "worker", "--database", url, "--once", "--json")
    assert outcome.json["done"] == {"default:webhooks": 0, "default:pending": 0}
    database = Database(url)
    (delivery,) = Webhooks(database).deliveries()
    assert (delivery.attempts, delivery.state, delivery.error) == (
        1,
        "pending",
        "ConnectError",
    )
    database.close()


def test_a_merchant_looks_after_events_and_subscribers(
    tmp_path: Path, cli: Cli
) -> None:
    url = f"sqlite:///{tmp_path / 'sales.db'}"
    at = ("--database", url)
    # Https is wanted.
    assert cli("x402", "webhooks", "add", "http://127.0.0.1:9/", *at).code == 1
    made = cli(
        "x402", "webhooks", "add", "http://127.0.0.1:9/", "--allow-http", *at, "--json"
    ).json
    assert made["secret"].startswith("whsec_")
    shown = cli("x402", "webhooks", "list", *at)
    assert made["id"] in shown.out
    assert made["secret"] not in shown.out
    database = Database(url)
    book = SubscriptionStore(database)
    alice = str(wallet("alice").pubkey())
    book.add_plan(
        SubscriptionPlan("pro", "Pro", LOCAL, alice, alice, 5, "monthly", quota=3)
    )
    book.pay("pro", alice, "pay_1", "sig")
    (event,) = cli("x402", "webhooks", "events", *at, "--json").json
    assert (event["type"], event["state"]) == ("subscription.opened", "pending")
    # It is not dead.
    assert cli("x402", "webhooks", "again", event["id"], *at).code == 2
    hooks = Webhooks(database)
    hooks.give_up(hooks.deliveries()[0], "gone")
    assert cli("x402", "webhooks", "again", event["id"], *at).code == 0
    assert hooks.deliveries()[0].state == "pending"
    (row,) = cli("x402", "subscriptions", *at, "--json").json
    assert (row["plan"], row["subscriber"], row["state"], row["callsUsed"]) == (
        "pro",
        alice,
        "active",
        0,
    )
    assert cli("x402", "webhooks", "remove", made["id"], *at).code == 0
    assert hooks.all() == []
    database.close()

"""A subscriber's wallet and `idl2mcp x402 pay`, against a seller of plans that listens on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.client.keys import create_keystore
from mcpsol_py.x402.buying.agent import AgentWallet, WalletSettings
from mcpsol_py.x402.buying.agent_tools import AgentTools, AllowedHosts
from mcpsol_py.x402.buying.budget import SpendingLimit, SpendingLimits
from mcpsol_py.x402.store.database import Database, now_ms
from tests.functional.cli import Cli
from tests.support.x402_shop import Shop
from tests.support.x402_shop_server import listening_app
from tests.unit.x402.payments import USDC
from tests.unit.x402.subscriptions.merchant import DAY, DOMAIN, Merchant, serve

PASSPHRASE = "correct horse battery"
PRICE = 10_000


@pytest.fixture
def club(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Merchant:
    monkeypatch.setattr("mcpsol_py.client.keys._N", 1 << 10)
    monkeypatch.setattr("mcpsol_py.client.keys._N_MIN", 1 << 10)
    merchant = Merchant(Shop(tmp_path / "shop.db"))
    merchant.clock.ms = now_ms()
    merchant.plan(quota=2, trial_ms=DAY)
    return merchant


@pytest.fixture
def url(club: Merchant) -> Iterator[str]:
    server = serve(club)
    server.middleware.append(club.tools())
    with listening_app(server.streamable_http_app(streamable_http_path="/mcp")) as url:
        yield f"{url}/mcp"


class Agent:
    """An agent's wallet with tokens of its own. Its tools are called as an MCP client calls them."""

    def __init__(
        self, club: Merchant, folder: Path, url: str, domains: dict[str, str]
    ) -> None:
        self.database = Database(f"sqlite:///{folder / 'wallet.db'}")
        limits = SpendingLimits({str(USDC): SpendingLimit(per_payment=PRICE)})
        settings = WalletSettings(folder / "agent.json", limits, domains=domains)
        chain = club.world.chain
        self.wallet = AgentWallet(chain, self.database, settings, lambda: PASSPHRASE)
        self.address = self.wallet.set_up()
        club.world.give(Pubkey.from_string(self.address), 100_000)
        self.tools, self.url = (
            AgentTools(self.wallet, reach=AllowedHosts(local=True)),
            url,
        )

    async def pay(self, tool: str, **arguments: str) -> dict[str, Any]:
        """Call a tool of the seller, and return what x402_pay says."""
        asked = {"url": self.url, "tool": tool, "arguments": arguments}
        result = await self.tools.call("x402_pay", asked)
        said: dict[str, Any] = json.loads(result["content"][0]["text"])
        return said


def answer(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said["answer"]["text"])
    return found


async def test_a_trial_its_calls_and_its_end_cost_nothing(
    club: Merchant, tmp_path: Path, url: str
) -> None:
    agent = Agent(club, tmp_path, url, {"127.0.0.1": DOMAIN})
    subscribing = {"planId": "pro", "walletAddress": agent.address}
    tried = await agent.pay("subscribe", **subscribing)
    assert (tried["paid"], answer(tried)["subscription"]["status"]) == ("0", "pending")
    subscription = answer(tried)["subscription"]["id"]

    granted = [await agent.pay("quote", n=str(n)) for n in range(2)]
    assert [(one["paid"], one["subscription"]["used"]) for one in granted] == [
        ("0", 1),
        ("0", 2),
    ]
    again = await agent.pay("subscribe", **subscribing)  # nothing is due
    assert (again["paid"], answer(again)["subscription"]["id"]) == ("0", subscription)
    assert club.shop.paid == 0

    # The quota is used up: the call is paid for itself.
    used_up = await agent.pay("quote", n="3")
    assert (used_up["paid"], "subscription" in used_up) == (str(PRICE), False)
    checked = await agent.pay("check_subscription", subscriptionId=subscription)
    assert answer(checked)["subscription"]["callsUsed"] == 2

    cancelled = await agent.pay("cancel_subscription", subscriptionId=subscription)
    assert (cancelled["paid"], answer(cancelled)["subscription"]["status"]) == (
        "0",
        "cancelled",
    )
    assert club.shop.paid == PRICE
    agent.database.close()


async def test_after_its_trial_a_wallet_subscribes_by_paying(
    club: Merchant, tmp_path: Path, url: str
) -> None:
    agent = Agent(club, tmp_path, url, {"127.*": DOMAIN})
    subscribing = {"planId": "pro", "walletAddress": agent.address}
    await agent.pay("subscribe", **subscribing)
    club.clock.ms += 3 * DAY  # the trial and the time to pay after it are over
    paid = await agent.pay("subscribe", **subscribing)
    assert (paid["paid"], answer(paid)["subscription"]["status"]) == (
        str(PRICE),
        "active",
    )
    (row,) = agent.wallet.budget().history()
    assert (row.host, row.tool, row.state) == (url.split("/")[2], "subscribe", "spent")
    agent.database.close()


async def test_nothing_is_paid_or_signed_for_a_seller_who_names_another_domain(
    club: Merchant, tmp_path: Path, url: str
) -> None:
    """It could pass the proof on to the seller that the wallet subscribed to."""
    agent = Agent(club, tmp_path, url, {"other.example": DOMAIN})
    club.book.pay("pro", agent.address, "pay_1", "sig")
    refused = await agent.pay("quote")
    assert refused["error"] == "DOMAIN_NOT_ALLOWED"
    assert DOMAIN in refused["message"]
    assert (club.shop.paid, club.shop.runs, agent.wallet.budget().history()) == (
        0,
        [],
        [],
    )
    agent.database.close()


def test_the_command_uses_a_subscription(
    club: Merchant, cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", PASSPHRASE)
    monkeypatch.setattr("idl2mcp.x402.buying.open_chain", lambda _url: club.world.chain)
    create_keystore(cli.folder / "payer.json", club.wallet, PASSPHRASE)
    club.subscribed()
    own = ["--url", "devnet", "--wallet", cli.folder / "payer.json", "--max", "$0.01"]
    own += ["--database", f"sqlite:///{cli.folder / 'payments.db'}"]
    granted = cli("x402", "pay", url, "quote", *own, "--domain", DOMAIN)
    assert (granted.code, granted.out, club.shop.paid) == (0, "42\n", 0)
    assert "(1 of 2 calls); nothing was paid" in granted.err
    refused = cli("x402", "pay", url, "quote", *own)
    assert (refused.code, club.shop.paid) == (1, 0)
    assert "not the host that was asked" in refused.err

"""Other people's packages over HTTP, both ways, on the chain of `idl2mcp serve --demo --paid` as shipped: their buyers
at our shop, our buyer at their shops with our facilitator behind them, and their facilitators behind our shop.

docs/interop.md lists the packages. Those of crates.io compile for ten minutes: `make peers` runs them.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import fastapi
import httpx
import pytest
from fastapi.responses import PlainTextResponse
from solders.pubkey import Pubkey

from idl2mcp.local_cluster import wallet
from mcpsol_py.errors import PaymentError
from mcpsol_py.solana import ids
from mcpsol_py.x402 import paid, sell
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.http_buyer import BoughtResponse, HttpBuyer
from mcpsol_py.x402.buying.paying import reconcile
from mcpsol_py.x402.buying.purchases import is_unconfirmed
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import TOKEN
from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.ports import free_port
from tests.support.http_bridge import http_server_at
from tests.support.one_url_node import at_one_url
from tests.support.x402_middleman import MODES, Middleman, meddling
from tests.support.x402_peer import REGISTRIES, PeerProcess, running_peer
from tests.support.x402_shop_server import closing_at_the_end, listening_app

pytestmark = pytest.mark.oracle

PRICE = 1_000
BUYERS = {
    "npm": ("@x402/fetch", "@x402/axios", "x402-fetch", "x402-axios", "x402-solana"),
    "PyPI": ("x402[httpx]", "x402[requests]"),
    "crates": ("x402-reqwest",),
}
SELLERS = {
    "npm": ("@x402/express", "@x402/hono", "x402-express", "x402-hono", "x402-solana"),
    "PyPI": ("x402[fastapi]", "x402[flask]"),
    "crates": ("x402-axum", "x402-axum v1"),
}
FACILITATORS = {
    "npm": ("@x402/svm",),
    "PyPI": ("x402",),
    "crates": ("x402-facilitator-local",),
}


def seed(name: str) -> str:
    return bytes(wallet(name))[:32].hex()


class Town:
    """The chain of the demo, our facilitator and our shop there, and a middleman before everything."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self.opened, self.numbers = folder, opened, itertools.count()
        port = free_port(2)
        demo = opened.enter_context(http_server_at(port, folder, "--demo", "--paid"))
        self.rpc, self.websocket = f"{demo}/rpc", f"ws://127.0.0.1:{port + 1}"
        self.chain = rpc_chain(self.rpc)
        opened.callback(self.chain.close)
        self.runs: list[str] = []
        self.middleman: Middleman = opened.enter_context(meddling())
        self.peers: dict[str, PeerProcess] = {}
        self.shops: dict[tuple[str, str], str] = {}
        sponsor, settlements = (
            KeypairSponsor(wallet("sponsor")),
            SqlSettlements(self._database()),
        )
        ours = make_facilitator(self.chain, sponsor, settlements)
        self.facilitator = opened.enter_context(listening_app(facilitator_app(ours)))
        self.shop = self.shop_with(self.facilitator)

    def shop_with(self, facilitator: str) -> str:
        """The URL of a shop of ours that settles with this facilitator."""
        settling = HttpFacilitator(facilitator)
        app = fastapi.FastAPI(lifespan=closing_at_the_end(settling))

        @app.get("/forecast")
        @paid("$0.001")
        def forecast() -> PlainTextResponse:
            self.runs.append("forecast")
            return PlainTextResponse("sunny")

        storefront = sell(
            app,
            pay_to=self.merchant,
            chain=self.chain,
            facilitators=[settling],
            database=self._database_url(),
        )
        self.opened.callback(storefront.database.close)
        return self.opened.enter_context(listening_app(app))

    def peer(self, registry: str) -> PeerProcess:
        if registry not in self.peers:
            self.peers[registry] = self.opened.enter_context(running_peer(registry))
        return self.peers[registry]

    def their_shop(self, registry: str, package: str) -> str:
        """The URL of the package's shop, which settles with our facilitator."""
        if (registry, package) not in self.shops:
            terms = {"facilitator": self.facilitator, "pay_to": self.merchant}
            self.shops[registry, package] = self.peer(registry).ask(
                "sell", package, **terms
            )
        return self.shops[registry, package]

    def their_facilitator(self, registry: str, package: str) -> str:
        node = {"rpc": self.rpc, "websocket": self.websocket}
        return str(
            self.peer(registry).ask("facilitate", package, **node, seed=seed("sponsor"))
        )

    def wrongly(self, mode: str, shop: str) -> tuple[str, str]:
        """(the shop's URL, the node's URL) at which an honest buyer pays wrongly."""
        if mode == "expired":
            return shop, self.middleman.before(self.rpc, mode)
        return self.middleman.before(shop, mode), self.rpc

    def buy_with(
        self, registry: str, package: str, shop: str, rpc: str = ""
    ) -> dict[str, Any]:
        """What the package's buyer gets from GET *shop*/forecast."""
        asked = {
            "url": f"{shop}/forecast",
            "rpc": rpc or self.rpc,
            "seed": seed("alice"),
        }
        told: dict[str, Any] = self.peer(registry).ask("buy", package, **asked)
        return told

    async def buy(self, url: str, rpc: str = "") -> tuple[BoughtResponse, str]:
        """What our buyer gets from GET *url*/forecast, and the payment's state in its reconciled books."""
        chain = rpc_chain(rpc or self.rpc)
        kept = self._database()
        limits = SpendingLimits({ids.DEVNET_USDC: SpendingLimit(per_payment=PRICE)})
        budget = Budget(kept, str(wallet("alice").pubkey()), limits, session="peers")
        payer = wallet_payer(wallet("alice"), chain, budget, kept, patience=5.0)
        try:
            async with httpx.AsyncClient(timeout=60) as client:
                bought = await HttpBuyer(client, payer).request(
                    "GET", f"{url}/forecast"
                )
            await reconcile(budget, chain)
            booked = budget.get(str(bought.payment_id))
            return bought, booked.state if booked is not None else ""
        finally:
            chain.close()

    def wait_for_a_block(self) -> None:
        """Two equal payments in one block are the same transaction, if the buyer puts no nonce into them."""
        last, deadline = self.chain.latest_blockhash(), time.monotonic() + 10
        while self.chain.latest_blockhash() == last and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def merchant(self) -> str:
        return str(wallet("merchant").pubkey())

    @property
    def takings(self) -> int:
        mint, program = Pubkey.from_string(ids.DEVNET_USDC), Pubkey.from_string(TOKEN)
        account = associated_token_address(wallet("merchant").pubkey(), mint, program)
        (found,) = self.chain.get_accounts([str(account)])
        assert found is not None
        return int.from_bytes(found.data[64:72], "little")

    @contextmanager
    def nothing_is_sold(self) -> Iterator[None]:
        before = self.takings, len(self.runs)
        yield
        assert (self.takings, len(self.runs)) == before

    def _database_url(self) -> str:
        return f"sqlite:///{self.folder / f'{next(self.numbers)}.db'}"

    def _database(self) -> Database:
        kept = Database(self._database_url())
        self.opened.callback(kept.close)
        return kept


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with ExitStack() as opened:
        yield Town(tmp_path_factory.mktemp("town"), opened)


def each(packages: Mapping[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    pairs = [
        (registry, package) for registry in REGISTRIES for package in packages[registry]
    ]
    return pytest.mark.parametrize(
        ("registry", "package"), pairs, ids=[f"{r}: {p}" for r, p in pairs]
    )


#: What our shop answers to a wrong payment, by mode.
OUR_REASONS = {
    "underpaid": "pays 999 base units; exactly 1,000 were asked for",
    "elsewhere": "accepted here",
    "expired": "would fail on chain: BlockhashNotFound",
}
#: What our buyer raises when a shop of others refuses its wrong payment: the code, and words of the message.
THEIR_REASONS = {
    "underpaid": ("PAYMENT_REJECTED", "amount_insufficient"),
    "elsewhere": ("NO_REQUIREMENTS", "cannot pay in any of the ways offered"),
    "expired": ("PAYMENT_REJECTED", "simulation_failed"),
}
#: The same when the facilitator is another one, in a pattern.
FACILITATORS_REASONS = {
    "underpaid": "(?i)amount",
    "expired": "(?i)blockhash ?not ?found",
}


@each(BUYERS)
def test_their_buyer_pays_our_shop(town: Town, registry: str, package: str) -> None:
    town.wait_for_a_block()
    before = town.takings
    told = town.buy_with(registry, package, town.shop)
    assert (told["status"], told["body"]) == (200, "sunny"), told
    assert told["receipt"]["success"], told
    assert town.takings == before + PRICE


@pytest.mark.parametrize("mode", MODES)
@each(BUYERS)
def test_our_shop_refuses_their_wrong_payment_with_a_reason(
    town: Town, registry: str, package: str, mode: str
) -> None:
    with town.nothing_is_sold():
        told = town.buy_with(registry, package, *town.wrongly(mode, town.shop))
    assert told["status"] == 402
    assert OUR_REASONS[mode] in json.dumps([told["demand"], told["body"]])


@each(SELLERS)
async def test_our_buyer_pays_their_shop(
    town: Town, registry: str, package: str
) -> None:
    before = town.takings
    bought, state = await town.buy(town.their_shop(registry, package))
    assert (bought.result.status_code, bought.result.text) == (200, "sunny")
    assert town.takings == before + PRICE
    # Its shop sends no receipt, so our buyer finds the payment on the chain.
    if package == "x402-solana":
        assert is_unconfirmed(bought)
    else:
        assert bought.amount == PRICE
    assert state == "spent"


@pytest.mark.parametrize("mode", MODES)
@each(SELLERS)
async def test_our_buyer_says_why_their_shop_refused(
    town: Town, registry: str, package: str, mode: str
) -> None:
    shop = town.their_shop(registry, package)
    with town.nothing_is_sold(), pytest.raises(PaymentError) as caught:
        await town.buy(*town.wrongly(mode, shop))
    code, words = THEIR_REASONS[mode]
    assert (caught.value.code, words in str(caught.value)) == (code, True), caught.value


@each(FACILITATORS)
async def test_their_facilitator_settles_for_our_shop(
    town: Town, registry: str, package: str
) -> None:
    shop = town.shop_with(town.their_facilitator(registry, package))
    before = town.takings
    bought, state = await town.buy(shop)
    assert (bought.result.text, bought.amount, state) == ("sunny", PRICE, "spent")
    assert town.takings == before + PRICE
    for mode, words in FACILITATORS_REASONS.items():
        with town.nothing_is_sold(), pytest.raises(PaymentError, match=words) as caught:
            await town.buy(*town.wrongly(mode, shop))
        assert caught.value.code == "PAYMENT_REJECTED"


async def test_a_facilitator_of_version_1_settles_payments_without_a_memo(
    town: Town,
) -> None:
    """Behind a shop of version 1. It takes exactly three instructions, and our payments have a memo as their nonce."""
    with at_one_url(town.rpc, town.websocket) as node:
        peer, sponsor = town.peer("npm"), seed("sponsor")
        facilitator = peer.ask("facilitate", "x402", rpc=node, seed=sponsor)
        terms = {"facilitator": facilitator, "pay_to": town.merchant}
        shop = peer.ask("sell", "x402-express", **terms)
        with (
            town.nothing_is_sold(),
            pytest.raises(PaymentError, match="instructions_length") as caught,
        ):
            await town.buy(shop)
        assert caught.value.code == "PAYMENT_REJECTED"
        town.wait_for_a_block()
        before, told = town.takings, town.buy_with("npm", "x402-fetch", shop)
        assert (told["status"], told["receipt"]["success"]) == (200, True), told
        assert town.takings == before + PRICE


def test_a_facilitator_of_version_1_alone_is_refused_at_the_start(town: Town) -> None:
    facilitator = town.their_facilitator("npm", "x402")
    with pytest.raises(PaymentError, match="in version 2 of x402") as caught:
        town.shop_with(facilitator)
    assert caught.value.code == "invalid_settlement"

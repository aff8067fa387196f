"""`upto` over HTTP with the npm packages, both ways: at most 1,000 units are asked for, and 640 of them charged.

@x402/svm is the only package that has it on Solana. It knows the audited program's address alone, at which this chain
has our build of the program (tests/unit/x402/channel_payments.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from x402 import x402Client, x402ResourceServer
from x402.schemas import ResourceInfo

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.http_buyer import HttpBuyer
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.channels.upto import UptoClient, UptoFacilitator, UptoServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from mcpsol_py.x402.selling.http_seller import PaidHttp
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.payment_terms import payment_terms
from mcpsol_py.x402.selling.tool_run import current_run
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.functional.svm_node import SvmNode, listening
from tests.support.x402_peer import PeerProcess, running_peer
from tests.support.x402_shop_server import closing_at_the_end, listening_app
from tests.unit.x402.channel_payments import AUDITED, ChannelWorld
from tests.unit.x402.payments import USDC

pytestmark = pytest.mark.oracle

MOST, CHARGE = 1_000, 640


class Scene:
    """A chain with the channel program, our facilitator on it, and the npm packages."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self.opened = folder, opened
        self.world = ChannelWorld(program=AUDITED, now=int(time.time()))
        node = SvmNode(SvmTransport(self.world.svm))
        self.rpc = opened.enter_context(listening(node))
        self.chain = rpc_chain(self.rpc)
        opened.callback(self.chain.close)
        self.peer: PeerProcess = opened.enter_context(running_peer("npm"))
        sponsor, settlements = (
            KeypairSponsor(self.world.sponsor),
            SqlSettlements(self._database()),
        )
        desk = UptoFacilitator(self.chain, sponsor, AUDITED, settlements, poll=0.01)
        ours = make_facilitator(self.chain, sponsor, settlements, channels=[desk])
        self.facilitator = opened.enter_context(listening_app(facilitator_app(ours)))

    def our_shop(self, facilitator: str) -> str:
        async def forecast(_: Request) -> PlainTextResponse:
            run = current_run()
            assert run is not None
            run.charge(CHARGE)
            return PlainTextResponse("sunny")

        settling = HttpFacilitator(facilitator, timeout=30)
        core = x402ResourceServer(settling)
        core.register(DEVNET, UptoServer(self.world.authorizer, self.chain))
        core.initialize()
        price = {"amount": str(MOST), "asset": str(USDC)}
        payee = str(self.world.payee.pubkey())
        terms = payment_terms(core, price, pay_to=payee, network=DEVNET, scheme="upto")
        offer = Offer(ResourceInfo(url="/forecast"), tuple(terms))
        app = Starlette(
            routes=[Route("/forecast", forecast)], lifespan=closing_at_the_end(settling)
        )
        paid_calls = PaidCalls(core, Executions(self._database()))
        paid = PaidHttp(app, paid_calls, {("GET", "/forecast"): offer})
        return self.opened.enter_context(listening_app(paid))

    async def buy(self, shop: str) -> int:
        """What our buyer is charged for GET *shop*/forecast."""
        payer = self.world.payer
        client, address = UptoClient(payer, self.chain, AUDITED), str(payer.pubkey())
        limits = SpendingLimits({str(USDC): SpendingLimit(per_payment=MOST)})
        budget = Budget(self._database(), address, limits, session="upto")
        signer = x402Client().register(DEVNET, client)
        paying = CallPayer(
            signer, budget, proofs={"upto": client.charged}, patience=5.0
        )
        async with httpx.AsyncClient(timeout=60) as http:
            bought = await HttpBuyer(http, paying).request("GET", f"{shop}/forecast")
        assert bought.result.text == "sunny"
        return bought.amount

    def _database(self) -> Database:
        kept = Database(f"sqlite:///{self.folder / f'{time.monotonic_ns()}.db'}")
        self.opened.callback(kept.close)
        return kept


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with ExitStack() as opened:
        yield Scene(tmp_path_factory.mktemp("upto"), opened)


def is_charged(scene: Scene, before: tuple[int, int]) -> bool:
    return scene.world.held == (before[0] - CHARGE, before[1] + CHARGE)


def test_their_fetch_pays_our_shop(scene: Scene) -> None:
    before, shop = scene.world.held, scene.our_shop(scene.facilitator)
    asked: dict[str, Any] = {"rpc": scene.rpc, "seed": (b"\1" * 32).hex()}
    told = scene.peer.ask("buy", "@x402/fetch", url=f"{shop}/forecast", **asked)
    assert (told["status"], told["body"]) == (200, "sunny"), told
    assert (told["receipt"]["success"], told["receipt"]["amount"]) == (
        True,
        str(CHARGE),
    )
    assert is_charged(scene, before)


@pytest.mark.parametrize("package", ["@x402/express", "@x402/hono"])
async def test_our_buyer_pays_their_shop(scene: Scene, package: str) -> None:
    before = scene.world.held
    terms = {
        "facilitator": scene.facilitator,
        "pay_to": str(scene.world.payee.pubkey()),
    }
    upto = {"scheme": "upto", "authorizer": (b"\4" * 32).hex(), "charge": str(CHARGE)}
    shop = scene.peer.ask("sell", package, **terms, **upto)
    assert await scene.buy(shop) == CHARGE
    assert is_charged(scene, before)


async def test_their_facilitator_settles_for_our_shop(scene: Scene) -> None:
    before, asked = scene.world.held, {"rpc": scene.rpc, "seed": (b"\2" * 32).hex()}
    shop = scene.our_shop(scene.peer.ask("facilitate", "@x402/svm", **asked))
    assert await scene.buy(shop) == CHARGE
    assert is_charged(scene, before)

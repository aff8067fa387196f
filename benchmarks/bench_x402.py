"""Payments off chain: verification beside the official Python SDK's, paid calls a second by vouchers and with
settlement, and what a price adds to a call. Everything runs as in production: SQLite on disk with full syncs, the
official core's server, PaidCalls; the chain is a LiteSVM.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server import Server
from solders.keypair import Keypair
from x402 import x402Client, x402FacilitatorSync, x402ResourceServer
from x402.schemas import PaymentPayload, PaymentRequired, ResourceInfo

from benchmarks.yardstick import Limit, NotMeasured, Row, Yardstick
from mcpsol_py.x402.exact.mechanism import ExactFacilitator, ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META, read_payment
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World

PEER = (
    Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol"))
    / "x402peer-venv"
    / "bin"
    / "python"
)
HERE = Path(__file__).resolve().parent
WALLETS, CALLS, EXACT = 32, 40, 300


async def _run(_: Run) -> tuple[dict[str, Any], bool]:
    return {"content": [{"type": "text", "text": "42"}]}, False


def _wire(payment: PaymentPayload) -> dict[str, Any]:
    return payment.model_dump(by_alias=True, exclude_none=True, mode="json")


async def _vouchers(folder: Path) -> float:
    """Paid calls a second: `WALLETS` wallets call at once, each payment from the bytes of the request to the recorded
    receipt. Signing, which the payers do, is not counted."""
    world = ChannelWorld()
    shop = BatchShop(world, Database(f"sqlite:///{folder / 'vouchers.db'}"))
    paid_calls = PaidCalls(shop.core, Executions(shop.database))
    terms = shop.terms(100)
    offer = Offer(ResourceInfo(url="mcp://tool/quote"), (terms,))
    wire: list[list[dict[str, Any]]] = []
    for _ in range(WALLETS):
        payer = Keypair()
        world.give(payer.pubkey(), 10**6)
        one = ChannelWorld.__new__(ChannelWorld)
        one.__dict__.update(world.__dict__, payer=payer)
        scheme = batch_client(one, calls=CALLS + 2)
        core = x402Client()
        core.set_spend_controls(False)
        core.register(DEVNET, scheme)
        opening = await core.create_payment_payload(PaymentRequired(accepts=[terms]))
        assert isinstance(opening, PaymentPayload)
        reply = await paid_calls.call(offer, opening, {"n": -1}, _run)
        assert isinstance(reply, Answer), reply
        (channel,) = scheme.channels.all()
        listed = []
        for n in range(CALLS):
            payload = scheme._payload("voucher", channel, 100 * (n + 2))
            listed.append(_wire(PaymentPayload(payload=payload, accepted=terms)))
        wire.append(listed)

    async def wallet(payments: list[dict[str, Any]]) -> None:
        for n, body in enumerate(payments):
            payment = read_payment({PAYMENT_META: body})
            reply = await paid_calls.call(offer, payment, {"n": n}, _run)
            assert isinstance(reply, Answer), reply

    started = time.perf_counter()
    await asyncio.gather(*(wallet(p) for p in wire))
    took = time.perf_counter() - started
    assert (
        sum(row.charged for row in shop.channels.due(WALLETS + 1))
        == 100 * (CALLS + 1) * WALLETS
    )
    return WALLETS * CALLS / took


def _exact_calls(world: World, database: Database, **options: Any) -> PaidCalls:
    desk = ExactFacilitator(
        world.chain, KeypairSponsor(world.sponsor), SqlSettlements(database), poll=0.01
    )
    facilitator = x402FacilitatorSync()
    facilitator.register([DEVNET], desk)
    server = x402ResourceServer(LocalFacilitator(facilitator))
    server.register(DEVNET, ExactServer())
    server.initialize()
    return PaidCalls(server, Executions(database), **options)


async def _settled(folder: Path) -> float:
    """Paid calls a second by `exact`, each settled on chain (LiteSVM)."""
    world = World(balance=10**9)
    paid_calls = _exact_calls(world, Database(f"sqlite:///{folder / 'exact.db'}"))
    terms = world.requirements(100)
    offer = Offer(ResourceInfo(url="mcp://tool/quote"), (terms,))
    wire = [_wire(world.pay(terms)) for _ in range(EXACT)]
    gates = asyncio.Semaphore(16)

    async def call(n: int, body: dict[str, Any]) -> None:
        async with gates:
            reply = await paid_calls.call(
                offer, read_payment({PAYMENT_META: body}), {"n": n}, _run
            )
            assert isinstance(reply, Answer), reply

    started = time.perf_counter()
    await asyncio.gather(*(call(n, body) for n, body in enumerate(wire)))
    took = time.perf_counter() - started
    assert world.tokens(world.payee.pubkey()) == 100 * EXACT
    return EXACT / took


async def _overhead(folder: Path) -> float:
    """p99 of a paid tool's call minus that of a free one, in ms, over MCP in process, verified and not settled."""
    world = World(balance=10**9)
    paid_calls = _exact_calls(
        world, Database(f"sqlite:///{folder / 'overhead.db'}"), verify_only=True
    )
    terms = world.requirements(100)
    times: dict[str, list[float]] = {"quote": [], "free": []}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=n, input_schema={"type": "object"}) for n in times]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="42")])

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(
        Paid(
            paid_calls, {"quote": Offer(ResourceInfo(url="mcp://tool/quote"), (terms,))}
        )
    )
    metas: list[Any] = [{PAYMENT_META: _wire(world.pay(terms))} for _ in range(EXACT)]
    async with Client(server) as client:
        for n in range(EXACT):
            for name, meta in (("free", None), ("quote", metas[n])):
                started = time.perf_counter()
                result = await client.call_tool(name, {"n": n}, meta=meta)
                times[name].append(time.perf_counter() - started)
                assert not result.is_error, result

    def p99(name: str) -> float:
        return sorted(times[name][20:])[int((EXACT - 20) * 0.99)]

    return (p99("quote") - p99("free")) * 1e3


def _commit(folder: Path) -> float:
    """Milliseconds of a commit of plain SQLite there, with full syncs: the median of fifty."""
    with closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as plain:
        plain.execute("PRAGMA journal_mode=WAL")
        plain.execute("PRAGMA synchronous=FULL")
        plain.execute("CREATE TABLE t (a)")
        times = []
        for n in range(50):
            started = time.perf_counter()
            plain.execute("INSERT INTO t VALUES (?)", (n,))
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def _verification() -> tuple[float, float]:
    """Seconds for one verification of an `exact` payment, its simulation on a LiteSVM of the same accounts included:
    ours, and the official SDK's, the best of some rounds taken in turns over one list of payments."""
    if not PEER.exists():
        raise NotMeasured(
            f"the official SDK is not installed at {PEER}: run `make oracles`"
        )
    world = World(balance=10**9)
    terms = world.requirements(100)
    payments = [world.pay(terms) for _ in range(200)]
    wallets = [world.payer.pubkey(), world.payee.pubkey()]
    keys = [USDC, *(associated_token_address(w, USDC, TOKEN_PROGRAM) for w in wallets)]
    found = world.chain.get_accounts([str(k) for k in keys])
    given = {
        "payments": [_wire(p) for p in payments],
        "terms": terms.model_dump(by_alias=True, exclude_none=True, mode="json"),
        "sponsor": bytes(world.sponsor).hex(),
        "blockhash": str(world.chain.latest_blockhash()),
        "accounts": {
            str(k): [str(a.owner), a.data.hex()]
            for k, a in zip(keys, found, strict=True)
            if a is not None
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "payments.json"
        file.write_text(json.dumps(given), encoding="utf-8")
        command = [str(PEER), str(HERE / "x402_peer_verify.py"), str(file)]
        best = [math.inf, math.inf]
        desk = ExactFacilitator(world.chain, KeypairSponsor(world.sponsor))
        for _ in range(3):
            for _ in range(5):
                started = time.perf_counter()
                for payment in payments:
                    assert desk.verify(payment, terms).is_valid
                best[0] = min(best[0], (time.perf_counter() - started) / len(payments))
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=120
            )
            best[1] = min(best[1], float(done.stdout.split()[-1]))
    return best[0], best[1]


def measure() -> list[Row]:
    """The rows."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("MCPSOL_BENCH_DIR")) as name:
        folder = Path(name)
        voucher = max(asyncio.run(_vouchers(_new(folder, n))) for n in range(3))
        rows.append(
            _at_least(
                "paid calls by vouchers, verified and recorded (SQLite)", voucher, 500
            )
        )
        settled = max(asyncio.run(_settled(_new(folder, 10 + n))) for n in range(2))
        rows.append(_at_least("paid calls settled on LiteSVM", settled, 100))
        overhead = min(asyncio.run(_overhead(_new(folder, 20 + n))) for n in range(3))
        note = f"three writes, two of which wait for the disk; a commit takes {_commit(folder):.2g} ms on this disk now"
        rows.append(
            Limit(
                "p99 of a paid tool over a free one, without settlement",
                overhead,
                15,
                "ms",
                note,
            )
        )
    try:
        ours, peer = _verification()
    except NotMeasured as missing:
        print(f"not measured: {missing}")
        return rows
    note = "PyPI x402 on the same payments; each with its simulation on a LiteSVM"
    rows.append(
        Yardstick(
            "verification of one exact payment",
            ours * 1e6,
            peer * 1e6,
            "µs",
            needed=1,
            note=note,
        )
    )
    return rows


def _new(folder: Path, number: int) -> Path:
    made = folder / str(number)
    made.mkdir()
    return made


def _at_least(what: str, found: float, needed: float) -> Row:
    return Limit(
        f"{what}: ms a call",
        1000 / found,
        1000 / needed,
        "ms",
        f"{found:,.0f} a second; needs {needed:,.0f}",
    )

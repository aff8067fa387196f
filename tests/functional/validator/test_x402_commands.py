"""`idl2mcp x402`: a facilitator process, a shop that charges through it, and a payer, on a real node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from x402 import x402ResourceServer
from x402.schemas import AssetAmount, ResourceConfig, ResourceInfo

from mcpsol_py.client.keys import create_keystore
from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.http_seller import PaidHttp
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from tests.functional.validator.node import Validator
from tests.ports import free_port
from tests.unit.x402.payments import USDC, keypair

pytestmark = pytest.mark.validator

PASSPHRASE = "correct horse battery"
ENVIRONMENT = {**os.environ, "IDL2MCP_PASSPHRASE": PASSPHRASE}


def idl2mcp(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "idl2mcp", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )


@pytest.fixture
def facilitator(validator: Validator, tmp_path: Path) -> Iterator[str]:
    validator.airdrop(keypair(2).pubkey())
    create_keystore(tmp_path / "sponsor.json", keypair(2), PASSPHRASE)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "x402",
        "facilitator",
        "--url",
        validator.url,
        "--port",
        str(port),
    ]
    command += [
        "--wallet",
        str(tmp_path / "sponsor.json"),
        "--database",
        f"sqlite:///{tmp_path / 'facilitator.db'}",
    ]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(f"{url}/supported")
            yield url
        finally:
            process.terminate()


@pytest.fixture
def shop(validator: Validator, facilitator: str, tmp_path: Path) -> Iterator[str]:
    chain = rpc_chain(validator.url)
    over_http = HttpFacilitator(facilitator, timeout=60.0)
    core = x402ResourceServer(Facilitators([over_http], timeout=60.0))
    core.register(chain.network, ExactServer())
    core.initialize()
    price = AssetAmount(amount="2500", asset=str(USDC))
    terms = ResourceConfig(
        scheme="exact",
        network=chain.network,
        pay_to=str(keypair(3).pubkey()),
        price=price,
        max_timeout_seconds=60,
    )
    offer = Offer(
        ResourceInfo(url="http://shop/report"),
        tuple(core.build_payment_requirements(terms)),
    )

    async def report(request: Request) -> Response:
        return PlainTextResponse("the report")

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await over_http.aclose()

    inner = Starlette(routes=[Route("/report", report)], lifespan=lifespan)
    paid_calls = PaidCalls(
        core, Executions(Database(f"sqlite:///{tmp_path / 'shop.db'}"))
    )
    app = PaidHttp(inner, paid_calls, {("GET", "/report"): offer})
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host="127.0.0.1",
            port=port,
            log_level="error",
            lifespan="on",
            ws="none",
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/report"
    server.should_exit = True
    thread.join(10)
    chain.close()


def _wait(url: str) -> None:
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer")


def test_pay_repeat_refuse_and_look_back(
    validator: Validator, shop: str, tmp_path: Path
) -> None:
    create_keystore(tmp_path / "payer.json", keypair(1), PASSPHRASE)
    common = ["--url", validator.url, "--wallet", str(tmp_path / "payer.json")]
    common += ["--database", f"sqlite:///{tmp_path / 'payer.db'}", "--json"]
    price = ["--max", json.dumps({"amount": "2500", "asset": str(USDC)})]
    call = ["x402", "pay", shop, *common, "--id", "pay_0123456789abcdef"]
    first = idl2mcp(*call, *price)
    assert first.returncode == 0, first.stderr
    paid = json.loads(first.stdout)
    assert (paid["status"], paid["body"], paid["paid"], paid["receipt"]["success"]) == (
        200,
        "the report",
        "2500",
        True,
    )
    again = json.loads(idl2mcp(*call, *price).stdout)
    assert again["receipt"] == paid["receipt"]
    too_much = idl2mcp(
        "x402",
        "pay",
        shop,
        *common,
        "--max",
        json.dumps({"amount": "2499", "asset": str(USDC)}),
    )
    assert too_much.returncode == 1
    assert json.loads(too_much.stdout)["error"]["code"] == "AMOUNT_EXCEEDS_MAX"
    address = str(keypair(1).pubkey())
    listed = json.loads(
        idl2mcp("x402", "history", "--wallet", address, *common[4:]).stdout
    )
    assert [
        (p["state"], p["amount"], p["transaction"]) for p in listed["payments"]
    ] == [("spent", "2500", paid["receipt"]["transaction"])]
    for output in (first, too_much):
        assert PASSPHRASE not in output.stdout + output.stderr
        assert str(keypair(1)) not in output.stdout + output.stderr

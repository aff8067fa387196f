"""`idl2mcp serve --demo --paid` as shipped, paid by the official SDKs through the JSON-RPC that it serves."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.x402.protocol.networks import DEVNET
from tests.oracles.environment import ORACLES, node, x402_python
from tests.ports import free_port
from tests.support.http_bridge import http_server_at
from tests.support.paid_bridge import CREATE

pytestmark = pytest.mark.oracle

PEERS = ORACLES / "x402"
#: The key of the demo's @alice, as docs/cli.md gives it.
ALICE = hashlib.sha256(b"mcpsol local wallet: alice").hexdigest()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the demo; the next one is its WebSocket's."""
    port = free_port(2)
    with http_server_at(port, tmp_path_factory.mktemp("demo"), "--demo", "--paid"):
        yield port


def ran(*command: str) -> dict[str, Any]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def script(folder: Path, name: str, *arguments: str) -> dict[str, Any]:
    if not (folder / "node_modules").is_dir():
        pytest.skip("the payment peers are not installed: run `make oracles`")
    return ran(node(), str(folder / name), *arguments)


def test_the_typescript_sdk_pays_and_kit_waits_for_confirmations(demo: int) -> None:
    base, call = f"http://127.0.0.1:{demo}", ("counter_initialize", json.dumps(CREATE))
    told = script(
        PEERS,
        "play_money.mjs",
        f"{base}/mcp",
        f"{base}/rpc",
        f"ws://127.0.0.1:{demo + 1}",
        ALICE,
        *call,
    )
    paid, confirmed = told["paid"], told["confirmed"]
    assert (paid["network"], paid["isError"], paid["receipt"]["success"]) == (
        DEVNET,
        False,
        True,
    )
    # Twice the same airdrop, less the fee of a transaction.
    assert confirmed["balance"] == 2 * 3_000_000_000 - 5_000
    assert 1 < confirmed["slot"] <= confirmed["slotNow"]
    assert confirmed["status"] == "finalized"


def test_web3_finds_the_websocket_and_waits_on_it(demo: int) -> None:
    told = script(ORACLES, "web3_node.mjs", f"http://127.0.0.1:{demo}/rpc")
    assert [int(part) for part in told["version"]["solana-core"].split(".")]
    assert told["balances"] == [2_000_000_000, 4_000_000_000]
    assert told["changes"] == [5_000_000]
    assert told["slots"] >= 2
    # The newest blockhash is another one after a second and a half, and the one before is still valid.
    assert (told["moved"], told["stillValid"]) == (True, True)


def test_the_python_sdk_pays(demo: int) -> None:
    base = f"http://127.0.0.1:{demo}"
    told = ran(
        x402_python(),
        str(PEERS / "official_http_client.py"),
        f"{base}/mcp",
        f"{base}/rpc",
        ALICE,
        "counter_initialize",
        json.dumps(CREATE),
    )
    assert (told["isError"], told["paid"], told["receipt"]["success"]) == (
        False,
        True,
        True,
    )
    assert told["receipt"]["network"] == DEVNET

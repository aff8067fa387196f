"""`idl2mcp x402 wallet`: an agent pays a paid bridge from its owner's account, with a facilitator and a chain that are
all processes of this machine; and configurations that are wrong."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from solders.transaction import VersionedTransaction

from idl2mcp.config.agent_wallet import open_agent_wallet
from idl2mcp.config.payments import DEMO_PAYMENTS_SETUP
from idl2mcp.local_cluster import wallet
from mcpsol_py.errors import SourceError
from mcpsol_py.x402.chain.payment_chain import PaymentChain, rpc_chain
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import LOCAL
from mcpsol_py.x402.worker.alerts import webhook_alert
from mcpsol_py.x402.worker.webhooks import verify
from tests.functional.cli import Cli
from tests.functional.svm_node import SvmNode, listening
from tests.ports import free_port
from tests.support.loopback import Handler, serving
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World

PASSPHRASE = "correct horse battery"
CREATE = {"start": "5", "accounts": {"authority": "@alice"}}


@pytest.fixture
def demo(cli: Cli) -> Iterator[str]:
    """The paid demo as a process; its base URL."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "serve",
        "--demo",
        "--paid",
        "--transport",
        "http",
        "--port",
        str(port),
    ]
    with subprocess.Popen(
        command, cwd=cli.folder, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"nothing answers at {url}")


def owner_signs(chain: PaymentChain, transaction: str) -> None:
    """What alice's own wallet does with a transaction that it is given."""
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    chain.send(bytes(VersionedTransaction(message, [wallet("alice")])))


async def test_an_agent_pays_a_bridge_from_its_owners_account(
    cli: Cli, demo: str
) -> None:
    account = str(
        associated_token_address(wallet("alice").pubkey(), USDC, TOKEN_PROGRAM)
    )
    path = cli.write(
        "wallet.toml",
        f'keystore = "agent.json"\nurl = "{demo}/rpc"\ndatabase = "sqlite:///wallet.db"\nsources = ["{account}"]\n'
        'local = true\n[limits.USDC]\nper_payment = "$0.005"\nper_session = "$0.002"\nper_day = "$1"\n',
    )
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "idl2mcp", "x402", "wallet", str(path)],
        cwd=str(cli.folder),
        env={**os.environ, "IDL2MCP_PASSPHRASE": PASSPHRASE},
    )
    chain = rpc_chain(f"{demo}/rpc")
    async with Client(parameters) as client:

        async def said(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            text = json.loads(result.content[0].text)  # type: ignore[union-attr]  # these tools answer text
            assert isinstance(text, dict)
            return text

        made = await said("x402_setup_agent", amount="3000")
        owner_signs(chain, made["approval"]["transaction"])
        assert (await said("x402_check_delegation"))["shown"] == "0.003 USDC"
        target = {"url": f"{demo}/mcp", "tool": "counter_initialize"}
        cost = await said("x402_estimate_cost", **target)
        assert (cost["options"][0]["shown"], cost["options"][0]["affordable"]) == (
            "0.001 USDC",
            True,
        )
        call = {**target, "arguments": CREATE, "paymentId": "pay_0123456789abcdef"}
        first = await said("x402_pay", **call)
        assert (first["paid"], first["answer"]["isError"]) == ("1000", False)
        again = await said("x402_pay", **call)
        assert (again["paid"], again["repeated"]) == ("0", True)
        dear = await said("x402_pay", url=f"{demo}/mcp", tool="vault_initialize")
        assert dear["error"] == "AMOUNT_EXCEEDS_MAX"
        await said("x402_pay", **target, arguments={**CREATE, "start": "6"})
        over = await said("x402_pay", **target, arguments={**CREATE, "start": "7"})
        assert over["error"] == "BUDGET_EXCEEDED"
        revoked = await said("x402_revoke_delegation")
        owner_signs(chain, revoked["transaction"])
        assert (await said("x402_check_delegation"))["error"] == "NO_DELEGATION"
    (found,) = chain.get_accounts([account])
    assert found is not None
    assert int.from_bytes(found.data[64:72], "little") == 1_000_000 - 2_000
    chain.close()
    assert PASSPHRASE not in (cli.folder / "agent.json").read_text()


def test_a_facilitator_without_a_cluster_brings_its_own(cli: Cli) -> None:
    """The official core's client of a facilitator sees what it supports; its chain answers at /rpc."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "x402",
        "facilitator",
        "--port",
        str(port),
    ]
    with subprocess.Popen(
        command, cwd=cli.folder, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/supported")
            kinds = httpx.get(f"http://127.0.0.1:{port}/supported").json()["kinds"]
            served = {
                (scheme, LOCAL) for scheme in ("exact", "upto", "batch-settlement")
            }
            served.add(("exact", "solana-devnet"))  # for clients of version 1
            assert {(k["scheme"], k["network"]) for k in kinds} == served
            chain = rpc_chain(f"http://127.0.0.1:{port}/rpc")
            fee_payer = next(
                k["extra"]["feePayer"] for k in kinds if k["scheme"] == "exact"
            )
            (sponsor,) = chain.get_accounts([fee_payer])
            assert sponsor is not None
            assert sponsor.lamports > 0
            mint = DEMO_PAYMENTS_SETUP["mints"]["usdc"]["address"]
            assert chain.get_accounts([mint])[0] is not None
            chain.close()
        finally:
            process.terminate()


# --- configurations --------------------------------------------------------------------------------------------------

GOOD = 'keystore = "a.json"\nurl = "URL"\ndatabase = "sqlite:///w.db"\n[limits.USDC]\nper_day = "$1"\n'


SECOND = '"$1"\n[[signers]]\nkeystore = "{}"\nlimits.USDC.{} = "$1"'


@pytest.fixture
def node() -> Iterator[str]:
    with listening(SvmNode(World().transport)) as url:
        yield url


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (("keystore", "keystroe"), "keystroe"),
        (('keystore = "a.json"\n', ""), "keystore"),
        (('"sqlite:///w.db"', "7"), "database"),
        (("[limits.USDC]", "[limits.DOGE]"), "limits.DOGE"),
        (("per_day", "per_year"), "limits.USDC.per_year"),
        (('"$1"', "1.5"), "limits.USDC.per_day"),
        (('"$1"', '"1 PYUSD"'), "limits.USDC.per_day"),
        (("[limits.USDC]", 'sources = ["x"]\n[limits.USDC]'), "sources[0]"),
        (("[limits.USDC]", "hosts = [7]\n[limits.USDC]"), "hosts"),
        (("[limits.USDC]", 'alert = "https://x"\n[limits.USDC]'), "alert"),
        (
            ("[limits.USDC]", '[[signers]]\nkeystore = "b.json"\n[limits.USDC]'),
            "signers[0].limits",
        ),
        (
            (
                '"$1"',
                '"$1"\n[[signers]]\nkeystore = "x/a.json"\nlimits.USDC.per_day = "$1"',
            ),
            "signers[0].keystore",
        ),
        (
            (
                '"$1"',
                '"$1"\n[[signers]]\nkeystore = "b.json"\nlimits.USDC.per_year = "$1"',
            ),
            "signers[0].limits.USDC.per_year",
        ),
    ],
)
def test_a_wrong_configuration_names_its_key(
    tmp_path: Path, node: str, change: tuple[str, str], path: str
) -> None:
    file = tmp_path / "wallet.toml"
    file.write_text(GOOD.replace(*change).replace("URL", node))
    with ExitStack() as opened, pytest.raises(SourceError) as caught:
        open_agent_wallet(file, opened)
    assert caught.value.path == path


def test_signers_are_read_in_order_of_priority(tmp_path: Path, node: str) -> None:
    file = tmp_path / "wallet.toml"
    more = '[[signers]]\nkeystore = "b.json"\npayees = []\nlimits.USDC.per_day = "$2"\n'
    file.write_text(GOOD.replace("URL", node) + more + more.replace("b.json", "c.json"))
    with ExitStack() as opened:
        wallets = open_agent_wallet(file, opened).wallets
        assert [one.settings.keystore.name for one in wallets] == [
            "a.json",
            "b.json",
            "c.json",
        ]
        caps = [one.settings.limits.assets[str(USDC)].per_day for one in wallets]
        assert caps == [1_000_000, 2_000_000, 2_000_000]
        assert [one.settings.limits.payees for one in wallets] == [
            None,
            frozenset(),
            frozenset(),
        ]


def test_limits_in_base_units_of_a_mint(tmp_path: Path, node: str) -> None:
    file = tmp_path / "wallet.toml"
    file.write_text(
        GOOD.replace("[limits.USDC]", f"[limits.{USDC}]")
        .replace('"$1"', "77")
        .replace("URL", node)
    )
    with ExitStack() as opened:
        limits = open_agent_wallet(file, opened).wallet.settings.limits
        assert limits.assets[str(USDC)].per_day == 77


# --- alerts ----------------------------------------------------------------------------------------------------------


def test_an_alert_is_signed_and_sent_again_until_it_is_taken() -> None:
    secret = "whsec_" + base64.b64encode(b"0" * 32).decode()
    got: list[tuple[dict[str, str], str]] = []
    taken = threading.Event()

    class Receiver(Handler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            got.append((headers, self.body().decode()))
            self.answer(status=503 if len(got) == 1 else 200)
            if len(got) == 2:
                taken.set()

    with serving(Receiver) as url:
        alert = webhook_alert(f"{url}/", secret, pauses=(0.01, 0.01))
        alert(str(USDC), 900, 1000, "day")
        assert taken.wait(20)
    assert len(got) == 2
    assert got[0][0]["webhook-id"] == got[1][0]["webhook-id"]
    for headers, body in got:
        assert verify(secret, headers, body)
        assert not verify(secret, headers, body.replace("900", "901"))
    assert json.loads(got[1][1])["data"] == {
        "asset": str(USDC),
        "spent": "900",
        "limit": "1000",
        "kind": "day",
    }

"""A shop whose payments settle by facilitators of other processes, one of which is down at the start."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

from idl2mcp.local_cluster import wallet
from tests.functional.cli import Cli
from tests.ports import free_port
from tests.support.http_bridge import http_server_at
from tests.support.loopback import Handler, serving
from tests.support.paid_bridge import CREATE

CONFIG = """
[[program]]
source = "counter"
[payments]
url = "{live}/rpc"
pay_to = "{pay_to}"
facilitators = {facilitators}
database = "sqlite:///sales.db"
prices = {{ "*" = "$0.001" }}
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a facilitator with a chain of its own."""
    port = free_port(2)
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
        command, cwd=tmp_path_factory.mktemp("live"), stderr=subprocess.DEVNULL
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(f"{url}/supported")
            yield url
        finally:
            process.terminate()


def _wait(url: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"{url} did not come up")


def config(cli: Cli, live: str, *facilitators: str, pay_to: str = "merchant") -> str:
    text = CONFIG.format(
        live=live,
        facilitators=json.dumps(list(facilitators)),
        pay_to=wallet(pay_to).pubkey(),
    )
    return cli.write("b.toml", text)


def test_a_dead_facilitator_is_told_and_the_other_one_settles(
    cli: Cli, live: str
) -> None:
    dead, port = f"http://127.0.0.1:{free_port()}", free_port(2)
    with http_server_at(
        port, cli.folder, "--config", config(cli, live, dead, live)
    ) as url:
        told = (cli.folder / "stderr.txt").read_text()
        assert f"facilitator {dead}: warning: does not answer" in told
        assert f"facilitator {live}: answers" in told
        pay = ("x402", "pay", f"{url}/mcp", "initialize", "--args", json.dumps(CREATE))
        common = (
            "--url",
            f"{live}/rpc",
            "--wallet",
            "@alice",
            "--max",
            "$0.01",
            "--json",
        )
        paid = cli(*pay, *common, "--database", "sqlite:///purse.db")
        assert (paid.code, paid.json["paid"]) == (0, "1000"), paid.err


def test_no_facilitator_that_answers_stops_the_start(cli: Cli, live: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    ran = cli("serve", "--config", config(cli, live, dead), "--transport", "http")
    assert ran.code != 0
    assert "no facilitator is usable" in ran.err
    assert "Traceback" not in ran.err


def test_a_payee_without_an_account_on_the_cluster_stops_the_start(
    cli: Cli, live: str
) -> None:
    ran = cli(
        "serve",
        "--config",
        config(cli, live, live, pay_to="nobody"),
        "--transport",
        "http",
    )
    assert ran.code == 1
    assert f"--owner {wallet('nobody').pubkey()}" in ran.err


def test_facilitators_of_another_network_are_refused_in_plain_words(
    cli: Cli, live: str
) -> None:
    mainnet = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
    kind = {"x402Version": 2, "scheme": "exact", "network": mainnet}
    kind["extra"] = {"feePayer": str(wallet("sponsor").pubkey())}
    body = json.dumps({"kinds": [kind], "extensions": [], "signers": {}}).encode()

    class Elsewhere(Handler):
        def do_GET(self) -> None:
            self.answer(body)

    with serving(Elsewhere) as url:
        ran = cli("serve", "--config", config(cli, live, url), "--transport", "http")
    assert ran.code == 1
    assert (
        "no configured facilitator settles exact payments on solana:EtWTRABZ" in ran.err
    )

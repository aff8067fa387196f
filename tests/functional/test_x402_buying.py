"""`idl2mcp x402 pay` and `history` against a shop that listens on loopback, on one LiteSVM."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py.client.keys import create_keystore
from tests.functional.cli import Cli, Ran
from tests.ports import free_port
from tests.support.x402_channel_store import Store
from tests.support.x402_shop import Shop
from tests.support.x402_shop_server import listening_app, shop_server

PASSPHRASE = "correct horse battery"


class Payer:
    """`idl2mcp x402 pay` with the key of the shop's payer."""

    def __init__(self, cli: Cli, shop: Shop, url: str) -> None:
        self.cli, self.shop, self.url = cli, shop, url
        self.database = f"sqlite:///{cli.folder / 'payments.db'}"

    def pay(self, path: str, *options: object, wallet: str = "payer.json") -> Ran:
        target = path if "://" in path else self.url + path
        own = [
            "--url",
            "devnet",
            "--wallet",
            self.cli.folder / wallet,
            "--max",
            "$0.01",
        ]
        return self.cli(
            "x402", "pay", target, *own, "--database", self.database, *options
        )


@pytest.fixture
def payer(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Payer]:
    monkeypatch.setattr("mcpsol_py.client.keys._N", 1 << 10)
    monkeypatch.setattr("mcpsol_py.client.keys._N_MIN", 1 << 10)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", PASSPHRASE)
    shop = Shop(tmp_path / "shop.db")
    monkeypatch.setattr("idl2mcp.x402.buying.open_chain", lambda _url: shop.world.chain)
    create_keystore(tmp_path / "payer.json", shop.world.payer, PASSPHRASE)
    create_keystore(tmp_path / "poor.json", Keypair(), PASSPHRASE)
    with shop_server(shop) as url:
        yield Payer(cli, shop, url)


FORM = ["--form", "a=1 2", "--form", "b=x", "--form", "b=y&z"]
#: Options of a request, and the method, Content-Type and body that arrive.
REQUESTS: list[tuple[list[str], str, str | None, str]] = [
    ([], "GET", None, ""),
    (["--method", "delete"], "DELETE", None, ""),
    (["--json-body", '{"a": [1, "é"]}'], "POST", "application/json", '{"a":[1,"é"]}'),
    (["--json-body", "null", "--method", "PUT"], "PUT", "application/json", "null"),
    (FORM, "POST", "application/x-www-form-urlencoded", "a=1+2&b=x&b=y%26z"),
    (["--body", "plain", "-H", "Content-Type: text/x"], "POST", "text/x", "plain"),
    (
        ["--json-body", "{}", "-H", "content-type: application/ld+json"],
        "POST",
        "application/ld+json",
        "{}",
    ),
]


def test_any_request_is_paid_for(payer: Payer) -> None:
    for number, (options, method, kind, body) in enumerate(REQUESTS, 1):
        ran = payer.pay("/web/echo", *options, "-H", "X-Mark: yes", "--json")
        assert ran.code == 0
        said = json.loads(ran.json["body"])
        assert said == {"method": method, "type": kind, "body": body, "mark": "yes"}
        assert (ran.json["paid"], payer.shop.paid) == ("10000", 10_000 * number)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--resource", "doc://price-list"], "prices"),
        (["--prompt", "brief", "--args", '{"city": "Bern"}'], "About Bern."),
        (["quote", "--args", '{"city": "Bern"}'], "42"),
    ],
)
def test_any_request_of_an_mcp_server_is_paid_for_once(
    payer: Payer, options: list[str], text: str
) -> None:
    for repeated in (False, True):
        ran = payer.pay("/mcp", *options, "--json", "--id", "pay_0123456789abcdef")
        assert (ran.code, ran.json["body"], ran.json["repeated"]) == (0, text, repeated)
        assert ran.json["receipt"]["success"]
    assert (payer.shop.paid, len(payer.shop.runs)) == (10_000, 1)


#: What is asked for, the exit code, and what the command says. Nothing is paid.
FAILURES: list[tuple[str, list[str], int, str]] = [
    ("/web/nothing", [], 1, "answered 404 Not Found; nothing was paid"),
    ("/mcp", [], 2, "this is an MCP server, so name the tool to call"),
    ("/mcp", ["--json-body", "{}"], 2, "idl2mcp x402 pay URL TOOL"),
    ("/web/free", ["quote"], 3, "is not an MCP server"),
    ("https://no-such-host.invalid/x", [], 3, "its name is not known"),
    ("ftp://example.com/x", [], 1, "expected an http or https URL"),
    ("/web/echo", ["--header", "X-PAYMENT: x"], 1, "written by the wallet itself"),
    ("/web/echo", ["--header", "A: b\r\nHost: c"], 1, "the header A has characters"),
    ("/web/echo", ["--header", "nothing"], 2, "expected NAME:VALUE"),
    (
        "/web/echo",
        ["--body", "a", "--form", "b=c"],
        1,
        "only one of body, json and form",
    ),
    ("/mcp", ["quote", "--prompt", "brief"], 1, "got tool, prompt"),
    (
        "/mcp",
        ["--prompt", "brief", "--args", '{"n": 1}'],
        1,
        "expected texts for a prompt",
    ),
]


def test_failures_say_what_is_wrong(payer: Payer) -> None:
    for path, options, code, words in FAILURES:
        ran = payer.pay(path, *options)
        assert (ran.code, words in ran.err) == (code, True), ran
    assert payer.shop.paid == 0


def test_a_server_that_refuses_connections_is_the_networks_fault(payer: Payer) -> None:
    for options in ([], ["quote"]):
        ran = payer.pay(f"http://127.0.0.1:{free_port()}/x", *options)
        assert ran.code == 3
        assert "does not answer: it" in ran.err


def test_a_failed_answer_is_printed_and_is_a_failure(payer: Payer) -> None:
    ran = payer.pay("/web/weather?city=Nowhere", "--json")
    assert ran.code == 1
    assert (ran.json["status"], ran.json["paid"]) == (404, "0")
    assert json.loads(ran.json["body"]) == {"error": "no such city"}


def test_history_is_filtered_paged_summed_and_written_as_csv(payer: Payer) -> None:
    for path in ("/web/echo", "/web/weather"):
        assert payer.pay(path).code == 0
    assert payer.pay("/mcp", "quote").code == 0
    wallet = ["--wallet", payer.shop.world.payer.pubkey(), "--database", payer.database]

    def history(*options: object) -> Any:
        ran = payer.cli("x402", "history", *wallet, *options)
        assert ran.code == 0
        return ran

    first = history("--limit", 2, "--json").json
    rest = history("--limit", 2, "--after", first["after"], "--json").json
    assert ([row["tool"] for row in first["payments"]], "after" in rest) == (
        ["quote", ""],
        False,
    )
    assert [row["tool"] for row in rest["payments"]] == [""]
    host = payer.url.removeprefix("http://")
    (quote,) = history(
        "--tool", "quote", "--host", host, "--token", "USDC", "--json"
    ).json["payments"]
    assert (quote["state"], quote["shown"], quote["host"]) == (
        "spent",
        "0.01 USDC",
        host,
    )
    assert history("--state", "signed", "--json").json["payments"] == []
    assert history("--until", "2020-01-01", "--json").json["payments"] == []
    (day,) = history("--by-day", "--json").json["days"]
    assert (day["payments"], day["amount"], day["pending"]) == (3, "30000", "0")
    table = list(csv.DictReader(io.StringIO(history("--csv").out)))
    assert [row["amount"] for row in table] == ["10000"] * 3
    assert "0.03 USDC" in history("--by-day").out


HIDDEN = "\u202e\x7f\u200b\x9b\U000e0041"


def test_a_sellers_answer_is_cleaned_before_it_is_printed(payer: Payer) -> None:
    for options in ([], ["--json"]):
        ran = payer.pay("/web/echo", "--body", f"pay{HIDDEN}load", *options)
        assert ran.code == 0
        shown = ran.out + ran.err + (ran.json["body"] if options else "")
        assert "payload" in shown
        assert not set(HIDDEN) & set(shown)


def test_a_ceiling_is_paid_and_what_was_used_is_booked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    store = Store(shop, "upto", used=300)
    # The command has this machine's clock.
    store.world.later(int(time.time()) - store.world.now)
    monkeypatch.setattr(
        "idl2mcp.x402.buying.open_chain", lambda _url: store.world.chain
    )
    monkeypatch.setattr("mcpsol_py.client.keys._N", 1 << 10)
    monkeypatch.setattr("mcpsol_py.client.keys._N_MIN", 1 << 10)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", PASSPHRASE)
    create_keystore(tmp_path / "payer.json", store.world.payer, PASSPHRASE)
    kept = ["--database", f"sqlite:///{tmp_path / 'payments.db'}"]
    own = ["--url", "devnet", "--wallet", tmp_path / "payer.json", *kept, "--json"]
    with listening_app(
        store.serve().streamable_http_app(streamable_http_path="/mcp")
    ) as url:
        too_little = cli("x402", "pay", f"{url}/mcp", "quote", *own, "--max", "$0.0009")
        paid = cli("x402", "pay", f"{url}/mcp", "quote", *own, "--max", "$0.001")
    assert (too_little.code, "one payment may take at most 900" in too_little.err) == (
        1,
        True,
    )
    assert (paid.code, paid.json["paid"], paid.json["receipt"]["amount"]) == (
        0,
        "300",
        "300",
    )
    wallet = ["--wallet", store.world.payer.pubkey(), *kept]
    (row,) = cli("x402", "history", *wallet, "--json").json["payments"]
    assert (row["state"], row["amount"]) == ("spent", "300")
    assert store.world.held == (store.world.balance - 300, 300)

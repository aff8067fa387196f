"""`idl2mcp x402 sales` and `refund`, and the order of payment and work by tool, from the command line and in TOML."""

from __future__ import annotations

import asyncio
import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mcpsol_py.x402.protocol.offer import Answer
from mcpsol_py.x402.store.merchant_log import MerchantLog
from tests.functional.cli import Cli
from tests.functional.svm_node import SvmNode, listening
from tests.support.x402_shop import Shop

PRICE = 10_000
TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop that has sold two calls."""
    shop = Shop(tmp_path / "sales.db")
    for number in (1, 2):
        payment = shop.payment(f"pay_sold_call_{number:04}")
        call = shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
        assert isinstance(asyncio.run(call), Answer)
    return shop


def url_of(shop: Shop) -> str:
    return f"sqlite:///{shop.path}"


def test_sales_are_listed_in_a_span_by_tool_and_as_csv(shop: Shop, cli: Cli) -> None:
    asked = ("x402", "sales", "--database", url_of(shop))
    assert len(cli(*asked, "--since", "1d", "--json").json["sales"]) == 2
    assert cli(*asked, "--until", "2026-01-01", "--json").json["sales"] == []
    assert (
        len(cli(*asked, "--tool", "quote", "--since", TODAY, "--json").json["sales"])
        == 2
    )
    assert cli(*asked, "--tool", "other", "--json").json["sales"] == []
    rows = list(csv.DictReader(io.StringIO(cli(*asked, "--csv").out)))
    assert [(row["amount"], row["resource"]) for row in rows] == [
        (str(PRICE), "mcp://tool/quote")
    ] * 2
    assert cli(*asked, "--until", "2026-01-01", "--csv").out.startswith(
        "time,state,amount,"
    )


def test_totals_by_day_and_tool(shop: Shop, cli: Cli) -> None:
    asked = ("x402", "sales", "--database", url_of(shop), "--by", "day", "--by", "tool")
    (total,) = cli(*asked, "--json").json["totals"]
    assert (total["day"], total["resource"]) == (TODAY, "mcp://tool/quote")
    assert (total["payments"], total["amount"], total["refunded"]) == (
        2,
        str(2 * PRICE),
        "0",
    )
    assert "0.02 USDC" in cli(*asked).out
    assert (
        cli(*asked, "--csv")
        .out.splitlines()[1]
        .startswith(f"{TODAY},mcp://tool/quote,2,20000")
    )


@pytest.mark.parametrize(
    "moment", ["yesterday", "2026-13-01", "7x", "99999999999d", ""]
)
def test_a_moment_that_is_none_is_a_usage_error(
    shop: Shop, cli: Cli, moment: str
) -> None:
    refused = cli("x402", "sales", "--database", url_of(shop), "--since", moment)
    assert refused.code == 2
    assert "expected 2026-11-28" in refused.err


def test_csv_and_json_are_two_things(shop: Shop, cli: Cli) -> None:
    assert cli("x402", "sales", "--database", url_of(shop), "--csv", "--json").code == 2


def test_a_refund_from_the_command_line(
    shop: Shop, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcpsol_py.client.keys import create_keystore

    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "a passphrase")
    world, key = shop.world, tmp_path / "merchant.json"
    create_keystore(key, world.payee, "a passphrase")
    world.svm.airdrop(world.payee.pubkey(), 10**9)
    node = SvmNode(world.transport)
    with listening(node) as rpc:
        asked = [
            "x402",
            "refund",
            "pay_sold_call_0001",
            "--url",
            rpc,
            "--wallet",
            str(key),
        ]
        asked += ["--database", url_of(shop)]
        part = cli(*asked, "--amount", "$0.004", "--reason", "late", "--json")
        assert part.code == 0, part.err + part.out
        assert part.json["amount"] == "4000"
        assert "0.006 USDC sent back" in cli(*asked).out
        again = cli(*asked)
        assert (again.code, "was refunded in full" in again.err) == (1, True)
        beyond = cli(*asked[:6], "@merchant?", *asked[7:])
        assert (
            beyond.code,
            "such names are wallets of a local cluster" in beyond.err,
        ) == (2, True)
        assert cli("x402", "refund", "pay_nobody_0001", *asked[3:]).code == 1
    assert shop.paid == PRICE
    totals = cli("x402", "sales", "--database", url_of(shop), "--by", "tool", "--json")
    assert totals.json["totals"][0]["refunded"] == str(PRICE)
    actions = [entry.action for entry in MerchantLog(shop.database).history()]
    assert actions.count("refund.landed") == 2

"""`idl2mcp x402 prune`, `erase`, `backup` and `restore`, and the table in docs/x402-storage.md of what they remove."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from sqlalchemy import update

from mcpsol_py.x402.protocol.offer import Answer
from mcpsol_py.x402.store import schema
from tests.functional.cli import Cli
from tests.support.x402_shop import Shop

DAY = 86_400_000


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop that has sold a call five days ago."""
    shop = Shop(tmp_path / "sales.db")
    call = shop.paid_calls().call(shop.offer(), shop.payment(), {}, shop.run)
    assert isinstance(asyncio.run(call), Answer)
    with shop.database.begin() as connection:
        for table in (schema.executions, schema.settlements):
            older = table.c.touched_ms - 5 * DAY
            connection.execute(update(table).values(touched_ms=older))
    return shop


def test_old_calls_are_pruned(shop: Shop, cli: Cli) -> None:
    asked = (
        "x402",
        "prune",
        "--database",
        f"sqlite:///{shop.path}",
        "--json",
        "--before",
    )
    assert cli(*asked, "1d").code == 1
    assert cli(*asked, "6d").json["removed"]["executions"] == 0
    removed = cli(*asked, "4d").json["removed"]
    assert {name: count for name, count in removed.items() if count} == {
        "executions": 1,
        "settlements": 1,
    }


def test_a_wallet_is_erased_and_what_stays_is_told(shop: Shop, cli: Cli) -> None:
    wallet = str(shop.world.payer.pubkey())
    asked = ("x402", "erase", wallet, "--database", f"sqlite:///{shop.path}")
    told = cli(*asked, "--json").json
    assert (told["removed"]["executions"], told["kept"]["receipts"]) == (1, 1)
    assert "kept: nothing" in cli(*asked, "--receipts").out
    assert cli("x402", "erase", "nobody", *asked[3:]).code == 2


def test_a_database_is_copied_and_restored(shop: Shop, cli: Cli) -> None:
    copy, new = cli.folder / "copy.db", "sqlite:///new.db"
    assert (
        cli("x402", "backup", str(copy), "--database", f"sqlite:///{shop.path}").code
        == 0
    )
    assert (
        cli("x402", "backup", str(copy), "--database", f"sqlite:///{shop.path}").code
        == 1
    )
    assert cli("x402", "restore", str(copy), "--database", new).code == 0
    assert len(cli("x402", "sales", "--database", new, "--json").json["sales"]) == 1
    assert cli("x402", "restore", str(copy), "--database", new).code == 1
    assert (
        cli("x402", "backup", "other.db", "--database", "sqlite:///none.db").code != 0
    )
    assert not (cli.folder / "none.db").exists()


def test_the_page_names_each_table_that_rows_are_removed_from(repo: Path) -> None:
    page = (repo / "docs" / "x402-storage.md").read_text(encoding="utf-8")
    section = page.split("## Retention and erasure")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section)) & set(schema.metadata.tables)
    assert named == {
        "executions",
        "receipts",
        "settlements",
        "spendings",
        "channels",
        "wallet_channels",
        "deliveries",
        "payment_owners",
    }

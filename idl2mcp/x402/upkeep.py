"""`idl2mcp x402 prune`, `erase`, `backup` and `restore`: upkeep of a database of payments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.x402.merchant import merchant_options
from idl2mcp.x402.storage import open_existing_database
from idl2mcp.x402.times import Moment

__all__ = ["backup", "erase", "prune", "restore"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_database = click.option(
    "--database",
    metavar="URL",
    required=True,
    help="A SQLite database: sqlite:///sales.db",
)


@click.command("prune")
@click.option(
    "--before",
    type=Moment(),
    required=True,
    help="Only rows older than this: 2026-11-28, or 90d.",
)
@merchant_options
@report.json_option
def prune(before: datetime, database: str, merchant: str, as_json: bool) -> None:
    """Remove old calls, payments and events that have ended. Receipts and the audit log stay."""
    from mcpsol_py.x402.store.retention import Retention

    older_ms = int((datetime.now(UTC) - before).total_seconds() * 1000)
    removed = Retention(open_existing_database(database), merchant).prune(older_ms)
    report.emit({"removed": removed}, _table("removed", removed), as_json=as_json)


@click.command("erase")
@click.argument("wallet", metavar="ADDRESS")
@click.option(
    "--receipts", is_flag=True, help="Its receipts too, which are your accounts."
)
@merchant_options
@report.json_option
def erase(
    wallet: str, receipts: bool, database: str, merchant: str, as_json: bool
) -> None:
    """Remove what has ended of one wallet, and tell what of it stays."""
    from mcpsol_py.x402.store.retention import Retention

    address = str(inputs.address(wallet, "ADDRESS"))
    retention = Retention(open_existing_database(database), merchant)
    removed = retention.erase(address, receipts=receipts)
    kept = retention.kept(address)
    text = f"{_table('removed', removed)}\n{_table('kept', kept)}"
    report.emit({"removed": removed, "kept": kept}, text, as_json=as_json)


@click.command("backup")
@click.argument("file", type=_FILE)
@_database
@report.json_option
def backup(file: Path, database: str, as_json: bool) -> None:
    """Copy a SQLite database to FILE, also while it is in use."""
    from mcpsol_py.x402.store.backup import back_up

    back_up(open_existing_database(database), file)
    report.emit({"file": str(file)}, f"{file}: copied", as_json=as_json)


@click.command("restore")
@click.argument("file", type=_FILE)
@_database
@report.json_option
def restore(file: Path, database: str, as_json: bool) -> None:
    """Make a new SQLite database of a copy that `backup` made."""
    from mcpsol_py.x402.store.backup import restore as make
    from mcpsol_py.x402.store.database import Database

    made = Database(database, migrate=False)
    click.get_current_context().call_on_close(made.close)
    make(file, made)
    report.emit(
        {"file": str(file), "database": database},
        f"{database}: restored; budgets of wallets begin tomorrow (UTC)",
        as_json=as_json,
    )


def _table(head: str, counts: Mapping[str, int]) -> str:
    rows = [[name, str(count)] for name, count in counts.items() if count]
    return (
        "\n".join(report.table([[head, "rows"], *rows])) if rows else f"{head}: nothing"
    )

"""The merchant's commands: `idl2mcp x402 decide`, `subscriptions`, `webhooks …` and `worker`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.x402.storage import (
    KEY_FILE,
    open_chain,
    open_database,
    open_existing_database,
)

if TYPE_CHECKING:
    from mcpsol_py.x402.store.webhooks import Webhooks

__all__ = ["decide", "merchant_options", "subscriptions", "webhooks", "worker"]


_database = click.option(
    "--database",
    metavar="URL",
    required=True,
    help="The server's database (payments.database of its configuration).",
)
_merchant = click.option(
    "--merchant",
    default="default",
    show_default=True,
    help="The merchant, if the database has several.",
)


def merchant_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--database`` and ``--merchant``."""
    return _database(_merchant(function))


def _webhooks(database: str, merchant: str) -> Webhooks:
    from mcpsol_py.x402.store.webhooks import Webhooks

    return Webhooks(open_existing_database(database), merchant)


@click.command("decide")
@click.argument("payment_id", metavar="PAYMENT")
@click.argument("outcome", type=click.Choice(["done", "again"]))
@merchant_options
@report.json_option
def decide(
    payment_id: str, outcome: str, database: str, merchant: str, as_json: bool
) -> None:
    """Decide the outcome of a call that the server could not finish.

    done: the call did its work. again: it did not, so the next request with the same payment runs it. Nothing is
    charged twice.
    """
    from mcpsol_py.errors import PaymentError
    from mcpsol_py.x402.store.executions import Executions

    executions = Executions(open_existing_database(database), merchant)
    if not executions.decide(payment_id, "done" if outcome == "done" else "again"):
        found = executions.get(payment_id)
        why = (
            "no such payment"
            if found is None
            else f'it is "{found.state}", not "unknown"'
        )
        raise PaymentError(
            "nothing_to_decide",
            f"{payment_id}: {why}; `idl2mcp x402 sales` lists the payments",
        )
    report.emit(
        {"payment": payment_id, "outcome": outcome},
        f"{payment_id}: {outcome}",
        as_json=as_json,
    )


def _known_events(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Raise click.BadParameter for an event that is never sent."""
    from mcpsol_py.errors import suggest
    from mcpsol_py.x402.store.webhooks import EVENTS

    for event in given:
        if event not in (*EVENTS, "*"):
            known = suggest(event, EVENTS)
            raise click.BadParameter(
                f"expected an event, or * for all, got {event!r}. {known}"
            )
    return given


@click.group("webhooks")
def webhooks() -> None:
    """Manage webhooks: signed events of payments and subscriptions (docs/x402-subscriptions.md)."""


@webhooks.command("add")
@click.argument("url")
@click.option(
    "--event",
    "events",
    multiple=True,
    default=("*",),
    callback=_known_events,
    help="An event type, for example subscription.charged (default: all).",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="Allow http://, for receivers on this machine and in private networks.",
)
@merchant_options
@report.json_option
def add(
    url: str,
    events: tuple[str, ...],
    allow_http: bool,
    database: str,
    merchant: str,
    as_json: bool,
) -> None:
    """Send events to URL. Prints the secret that signs them; it is shown only once."""
    from mcpsol_py.x402.store.webhooks import Webhooks

    # Receivers may be added before the first sale.
    made = Webhooks(open_database(database), merchant).add(
        url, events, allow_http=allow_http
    )
    report.emit(
        {"id": made.id, "url": url, "events": list(events), "secret": made.secret},
        made.secret,
        as_json=as_json,
    )


@webhooks.command("list")
@merchant_options
@report.json_option
def listed(database: str, merchant: str, as_json: bool) -> None:
    """List the webhooks."""
    found = [
        {"id": h.id, "url": h.url, "events": list(h.events)}
        for h in _webhooks(database, merchant).all()
    ]
    rows = [[str(h["id"]), str(h["url"]), ", ".join(h["events"])] for h in found]
    report.emit(
        found,
        report.table([["id", "url", "events"], *rows]) if rows else "none",
        as_json=as_json,
    )


@webhooks.command("events")
@click.option(
    "--state", type=click.Choice(["pending", "delivered", "dead"]), help="Only these."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@merchant_options
@report.json_option
def events(
    state: str | None, limit: int, database: str, merchant: str, as_json: bool
) -> None:
    """List the newest events and their deliveries."""
    found = [
        {
            "id": d.id,
            "type": d.type,
            "state": d.state,
            "attempts": d.attempts,
            "error": d.error,
        }
        for d in _webhooks(database, merchant).deliveries(state, limit)
    ]
    rows = [
        [
            str(d["id"]),
            str(d["type"]),
            str(d["state"]),
            str(d["attempts"]),
            str(d["error"] or ""),
        ]
        for d in found
    ]
    head = ["id", "type", "state", "tries", "why"]
    report.emit(found, report.table([head, *rows]) if rows else "none", as_json=as_json)


@webhooks.command("again")
@click.argument("event_id", metavar="ID")
@merchant_options
@report.json_option
def again(event_id: str, database: str, merchant: str, as_json: bool) -> None:
    """Send a dead event again."""
    hooks = _webhooks(database, merchant)
    if event_id not in {d.id for d in hooks.deliveries("dead", 10_000)}:
        raise click.UsageError(f"{event_id}: no dead event has that id")
    hooks.again(event_id)
    report.emit(
        {"id": event_id}, f"{event_id}: the worker will send it", as_json=as_json
    )


@webhooks.command("remove")
@click.argument("webhook_id", metavar="ID")
@merchant_options
@report.json_option
def remove(webhook_id: str, database: str, merchant: str, as_json: bool) -> None:
    """Remove a webhook."""
    _webhooks(database, merchant).remove(webhook_id)
    report.emit({"id": webhook_id}, f"{webhook_id}: removed", as_json=as_json)


@click.command("subscriptions")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@merchant_options
@report.json_option
def subscriptions(limit: int, database: str, merchant: str, as_json: bool) -> None:
    """List the subscriptions, newest first: state, end of the paid period, calls used, errors."""
    from datetime import UTC, datetime

    from mcpsol_py.x402.subscriptions.store import SubscriptionStore

    book = SubscriptionStore(open_existing_database(database), merchant)
    now, found = book.now_ms(), []
    for row in book.newest(limit):
        end = (
            None
            if row.due_ms is None
            else datetime.fromtimestamp(row.due_ms / 1000, UTC)
        )
        found.append(
            {
                "id": row.id,
                "plan": row.plan_id,
                "subscriber": row.subscriber,
                "state": row.state(now),
                "paidUntil": None if end is None else end.isoformat(timespec="seconds"),
                "callsUsed": book.used(row),
                "error": row.error,
            }
        )
    head = ["id", "plan", "subscriber", "state", "until", "calls", "why"]
    lines = [
        ["" if value is None else str(value) for value in row.values()] for row in found
    ]
    report.emit(
        found,
        report.table([head, *lines]) if lines else "no subscriptions",
        as_json=as_json,
    )


@click.command("worker")
@click.option(
    "--url", help="The cluster's JSON-RPC. Without it, only events are delivered."
)
@click.option(
    "--wallet",
    type=KEY_FILE,
    help="The collector's key file, which signs the charges of subscriptions.",
)
@click.option(
    "--merchant",
    multiple=True,
    default=("default",),
    show_default=True,
    help="The merchant; may be given several times.",
)
@click.option("--once", is_flag=True, help="Run each job once and stop.")
@click.option(
    "--queue",
    metavar="URL",
    help="procrastinate's PostgreSQL database (default: --database, if it is PostgreSQL).",
)
@_database
@report.json_option
def worker(
    url: str | None,
    wallet: Path | None,
    merchant: tuple[str, ...],
    once: bool,
    queue: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Charge due subscriptions, deliver events, and settle pending payments.

    Any number of workers may run at once. On PostgreSQL, procrastinate's queue distributes the jobs; on SQLite, the
    workers take turns.
    """
    from idl2mcp.passphrases import passphrase
    from idl2mcp.x402.worker import run_worker
    from mcpsol_py.client.keys import open_keypair

    key = None if wallet is None else open_keypair(wallet, passphrase(wallet))
    opened = open_database(database)
    chain = None if url is None else open_chain(url)
    at = queue or (None if opened.is_sqlite else database)
    if not once:
        report.note(
            f"worker for {', '.join(merchant)}"
            + ("" if key is None else f", collecting as {key.pubkey()}")
        )
    done = asyncio.run(run_worker(opened, chain, key, merchant, once=once, queue=at))
    if once:
        text = report.table(
            [["job", "done"], *([name, str(count)] for name, count in done.items())]
        )
        report.emit({"done": done}, text, as_json=as_json)

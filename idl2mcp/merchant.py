"""`idl2mcp x402 subscriptions` and `idl2mcp x402 webhooks …`: what a merchant looks after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report

if TYPE_CHECKING:
    from mcpsol_py.x402.store.webhooks import Webhooks

__all__ = ["subscriptions", "webhooks"]


def _shared(function: Any) -> Any:
    for option in (
        click.option("--database", metavar="URL", required=True, help="The server's: payments.database."),
        click.option("--merchant", default="default", show_default=True, help="Whose."),
    ):
        function = option(function)
    return function


def _open(database: str, merchant: str) -> Webhooks:
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.store.webhooks import Webhooks

    return Webhooks(Database(database), merchant)


@click.group("webhooks")
def webhooks() -> None:
    """Where events of payments and subscriptions are sent, signed (docs/x402-subscriptions.md)."""


@webhooks.command("add")
@click.argument("url")
@click.option("--event", "events", multiple=True, default=("*",), help="A type, as subscription.charged; default: all.")
@click.option("--allow-http", is_flag=True, help="For receivers on this machine and in private networks.")
@_shared
@report.json_option
def add(url: str, events: tuple[str, ...], allow_http: bool, database: str, merchant: str, as_json: bool) -> None:
    """Send events to URL. Prints the secret that they are signed with; it is not shown again."""
    made = _open(database, merchant).add(url, events, allow_http=allow_http)
    report.emit(
        {"id": made.id, "url": url, "events": list(events), "secret": made.secret}, made.secret, as_json=as_json
    )


@webhooks.command("list")
@_shared
@report.json_option
def listed(database: str, merchant: str, as_json: bool) -> None:
    """The addresses."""
    found = [{"id": h.id, "url": h.url, "events": list(h.events)} for h in _open(database, merchant).all()]
    rows = [[str(h["id"]), str(h["url"]), ", ".join(h["events"])] for h in found]
    report.emit(found, report.table([["id", "url", "events"], *rows]) if rows else "none", as_json=as_json)


@webhooks.command("events")
@click.option("--state", type=click.Choice(["pending", "delivered", "dead"]), help="Only these.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@_shared
@report.json_option
def events(state: str | None, limit: int, database: str, merchant: str, as_json: bool) -> None:
    """The newest events, and what became of them."""
    found = [
        {"id": d.id, "type": d.type, "state": d.state, "attempts": d.attempts, "error": d.error}
        for d in _open(database, merchant).deliveries(state, limit)
    ]
    rows = [[str(d["id"]), str(d["type"]), str(d["state"]), str(d["attempts"]), str(d["error"] or "")] for d in found]
    head = ["id", "type", "state", "tries", "why"]
    report.emit(found, report.table([head, *rows]) if rows else "none", as_json=as_json)


@webhooks.command("again")
@click.argument("event_id", metavar="ID")
@_shared
def again(event_id: str, database: str, merchant: str) -> None:
    """Send a dead event anew."""
    hooks = _open(database, merchant)
    if event_id not in {d.id for d in hooks.deliveries("dead", 10_000)}:
        raise click.UsageError(f"{event_id}: there is no dead event of that id")
    hooks.again(event_id)
    report.note(f"{event_id}: the worker sends it")


@webhooks.command("remove")
@click.argument("webhook_id", metavar="ID")
@_shared
def remove(webhook_id: str, database: str, merchant: str) -> None:
    """Send nothing there any more."""
    _open(database, merchant).remove(webhook_id)
    report.note(f"{webhook_id}: removed")


@click.command("subscriptions")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@_shared
@report.json_option
def subscriptions(limit: int, database: str, merchant: str, as_json: bool) -> None:
    """Who subscribed to what, newest first: state, end of what is paid, calls of this period, what went wrong."""
    from datetime import UTC, datetime

    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.subscriptions.book import SubscriptionBook

    book = SubscriptionBook(Database(database), merchant)
    now, found = book.now_ms(), []
    for row in book.newest(limit):
        end = None if row.due_ms is None else datetime.fromtimestamp(row.due_ms / 1000, UTC)
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
    lines = [["" if value is None else str(value) for value in row.values()] for row in found]
    report.emit(found, report.table([head, *lines]) if lines else "nobody has subscribed", as_json=as_json)

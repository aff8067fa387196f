"""`idl2mcp x402 sales` and `refund`: list the sales, and send payments back."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.x402.csv_output import csv_text
from idl2mcp.x402.merchant import merchant_options
from idl2mcp.x402.storage import open_chain, open_existing_database, open_wallet
from idl2mcp.x402.times import span_ms, span_options
from mcpsol_py.utc import time_of

if TYPE_CHECKING:
    from mcpsol_py.x402.store.executions import Execution
    from mcpsol_py.x402.store.receipts import Receipt
    from mcpsol_py.x402.store.sales import SalesTotal

__all__ = ["refund", "sales"]

_TOOL = "mcp://tool/"


@click.command("sales")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@span_options
@click.option("--tool", help="Only sales of this tool or URL.")
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(["day", "tool"]),
    help="Total the payments by day (UTC) or by tool; both may be given.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")
@merchant_options
@report.json_option
def sales(
    limit: int,
    since: datetime | None,
    until: datetime | None,
    tool: str | None,
    by: tuple[str, ...],
    as_csv: bool,
    database: str,
    merchant: str,
    as_json: bool,
) -> None:
    """List the sales, newest first: each paid call with its state. Or, with --by, their totals."""
    from mcpsol_py.x402.store.sales import Sales
    from mcpsol_py.x402.store.spans import Span

    if as_csv and as_json:
        raise click.UsageError("--csv and --json: expected one of them")
    kept, span = (
        Sales(open_existing_database(database), merchant),
        Span(**span_ms(since, until)),
    )
    resource = (
        tool if tool is None or "://" in tool or tool.startswith("/") else _TOOL + tool
    )
    if by:
        groups: Any = by
        rows = [
            _total_row(t) for t in kept.totals(groups, span=span, resource=resource)
        ]
        document, shown = "totals", [_total_line(row) for row in rows]
    else:
        rows = [_call_row(c) for c in kept.calls(limit, span=span, resource=resource)]
        document, shown = "sales", [_call_line(row) for row in rows]
    if as_csv:
        report.emit(
            None, csv_text(rows, _TOTAL_FIELDS if by else _CALL_FIELDS), as_json=False
        )
        return
    head = _TOTAL_HEAD if by else _CALL_HEAD
    text = report.table([head, *shown]) if rows else f"{merchant} has no sales"
    report.emit({"merchant": merchant, document: rows}, text, as_json=as_json)


@click.command("refund")
@click.argument("payment_id", metavar="PAYMENT")
@click.option(
    "--url",
    required=True,
    help="The cluster's JSON-RPC, on which the payment was made.",
)
@click.option(
    "--wallet",
    required=True,
    metavar="FILE",
    help='The key file that pays the refund and its fee, or "@merchant" of a local cluster.',
)
@click.option("--amount", metavar="PRICE", help="Less than all of it, such as $0.0005.")
@click.option("--reason", default="", help="For the merchant's log.")
@merchant_options
@report.json_option
def refund(
    payment_id: str,
    url: str,
    wallet: str,
    amount: str | None,
    reason: str,
    database: str,
    merchant: str,
    as_json: bool,
) -> None:
    """Send a payment back to its payer, at most once and at most its amount. The merchant's log keeps it.

    If its outcome is not known, the same command tells it later.
    """
    from mcpsol_py.x402.selling.refunds import Refunds
    from mcpsol_py.x402.store.receipts import Receipts
    from mcpsol_py.x402.store.refund_log import RefundLog

    kept = open_existing_database(database)
    receipts = Receipts(kept, merchant)
    receipt = receipts.get(payment_id)
    units = None if amount is None else _base_units(amount, payment_id, receipt)
    chain = open_chain(url)
    refunds = Refunds(
        receipts, RefundLog(kept, merchant), chain, open_wallet(wallet, chain)
    )
    made = asyncio.run(refunds.refund(payment_id, units, reason=reason))
    text = f"{payment_id}: {_money(receipt, made.amount)} sent back to {made.payer}, transaction {made.signature}"
    report.emit(
        {
            "payment": payment_id,
            "amount": str(made.amount),
            "payer": made.payer,
            "transaction": made.signature,
        },
        text,
        as_json=as_json,
    )


def _base_units(text: str, payment_id: str, receipt: Receipt | None) -> int:
    """An amount of the token that was paid."""
    from mcpsol_py.errors import PaymentError
    from mcpsol_py.x402.protocol.price import parse_price

    if receipt is None or receipt.asset is None:
        raise PaymentError(
            "no_receipt", f"{payment_id}: no payment of that id has landed"
        )
    price = parse_price(text, str(receipt.network))
    if price.mint != receipt.asset:
        raise PaymentError("invalid_price", f"{payment_id} was paid in {receipt.asset}")
    return price.amount


_CALL_FIELDS = (
    "time",
    "state",
    "amount",
    "asset",
    "network",
    "payer",
    "resource",
    "paymentId",
    "signature",
)
_TOTAL_FIELDS = (
    "day",
    "resource",
    "payments",
    "amount",
    "refunded",
    "asset",
    "network",
)
_CALL_HEAD = ["time", "state", "amount", "for", "payment"]
_TOTAL_HEAD = ["day", "tool", "payments", "amount", "refunded"]


def _call_row(call: Execution) -> dict[str, Any]:
    return {
        "time": time_of(call.created_ms),
        "state": call.state,
        "amount": None if call.amount is None else str(call.amount),
        "asset": call.asset,
        "network": call.network,
        "payer": call.payer,
        "resource": call.resource,
        "paymentId": call.payment_id,
        "signature": (call.receipt or {}).get("transaction"),
    }


def _call_line(row: dict[str, Any]) -> list[str]:
    return [
        row["time"],
        row["state"],
        _shown(row, "amount"),
        row["resource"],
        row["paymentId"],
    ]


def _total_row(total: SalesTotal) -> dict[str, Any]:
    return {
        "day": total.day,
        "resource": total.resource,
        "payments": total.payments,
        "amount": str(total.amount),
        "refunded": str(total.refunded),
        "asset": total.asset,
        "network": total.network,
    }


def _total_line(row: dict[str, Any]) -> list[str]:
    tool = str(row["resource"] or "").removeprefix(_TOOL)
    amounts = [
        _shown(row, "amount"),
        _shown(row, "refunded") if row["refunded"] != "0" else "",
    ]
    return [row["day"] or "", tool, str(row["payments"]), *amounts]


def _shown(row: dict[str, Any], name: str) -> str:
    from mcpsol_py.x402.protocol.price import format_amount

    if row[name] is None:
        return ""
    return format_amount(int(row[name]), str(row["network"]), str(row["asset"]))


def _money(receipt: Receipt | None, amount: int) -> str:
    row = {"amount": str(amount), "network": receipt and receipt.network}
    return _shown({**row, "asset": receipt and receipt.asset}, "amount")

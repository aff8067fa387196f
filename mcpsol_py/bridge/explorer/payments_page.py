"""The payments page of the explorer: paid calls with their state and receipt, and their totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio.to_thread

from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    CellKind,
    FactsBlock,
    PageContent,
    TableBlock,
)
from mcpsol_py.names import clean_text
from mcpsol_py.utc import time_of
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.store.executions import Execution, Executions

__all__ = ["PaymentsPage"]

_MAX_LISTED = 100

#: The meaning of each state for the merchant.
_MEANING = {
    "verifying": "the payment is being checked",
    "running": "running now, or stopped while it ran",
    "executed": "ran; the payment is being settled",
    "settling": "the payment is being settled; not run yet",
    "paid": "paid; not run yet",
    "done": "answered",
    "failed": "not charged",
    "unknown": "stopped while it ran: `idl2mcp x402 decide` finds out whether it took effect",
}
_STATE_KINDS: dict[str, CellKind] = {"done": "good", "failed": "bad", "unknown": "bad"}


class PaymentsPage:
    """A `Section`: /payments lists paid calls, newest first, /payments/<id> shows one."""

    slug = "payments"
    title = "Payments"
    for_operators = True

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    async def page(
        self, path: Sequence[str], query: Mapping[str, str]
    ) -> PageContent | None:
        """See Section. Raises StorageError."""
        if not path:
            calls = await anyio.to_thread.run_sync(
                self._executions.history, _MAX_LISTED
            )
            return _calls_page(calls)
        if len(path) > 1:
            return None
        call = await anyio.to_thread.run_sync(self._executions.get, path[0])
        return None if call is None else _call_page(call)


def _calls_page(calls: Sequence[Execution]) -> PageContent:
    rows = [
        (
            Cell(time_of(call.created_ms)),
            Cell(_name(call.resource)),
            Cell(_price(call), "number"),
            Cell(call.state, _STATE_KINDS.get(call.state, "text")),
            Cell(call.payer or "", "code"),
            Cell(_short(call.payment_id), "code", f"/payments/{call.payment_id}"),
        )
        for call in calls
    ]
    table = TableBlock(
        "Paid calls", ("Time", "Call", "Price", "State", "Payer", "Payment"), rows
    )
    about = f"The newest {_MAX_LISTED} paid calls. A payment id pays for one call."
    return PageContent("Payments", about, (_totals(calls), table))


def _totals(calls: Sequence[Execution]) -> Block:
    """Return the number and the sum of the settled payments, by network and token."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for call in calls:
        receipt = call.receipt or {}
        if not receipt.get("success") or not call.network or not call.asset:
            continue
        key = call.network, call.asset
        count, total = totals.get(key, (0, 0))
        totals[key] = count + 1, total + _charged(call, receipt)
    rows = [
        (
            Cell(format_amount(total, network, asset), "number"),
            Cell(str(count), "number"),
            Cell(network, "code"),
        )
        for (network, asset), (count, total) in totals.items()
    ]
    columns = ("Amount", "Payments", "Network")
    return TableBlock("Income from these calls", columns, rows, empty="None yet.")


def _charged(call: Execution, receipt: Mapping[str, object]) -> int:
    """Return the amount on the receipt, which may be less than the price, or else the price."""
    charged = base_units(receipt.get("amount"))
    return call.amount or 0 if charged is None else charged


def _call_page(call: Execution) -> PageContent:
    state_kind = _STATE_KINDS.get(call.state, "text")
    facts: list[tuple[str, str | None, CellKind]] = [
        ("Call", call.resource, "code"),
        ("Price", _price(call), "text"),
        ("State", f"{call.state}: {_MEANING[call.state]}", state_kind),
        ("Payer", call.payer, "code"),
        ("Paid to", call.pay_to, "code"),
        ("Network", call.network, "code"),
        ("Time", time_of(call.created_ms), "text"),
        ("Sent by the tool", call.signature, "code"),
        ("Refused because", call.error and clean_text(call.error, 200), "text"),
    ]
    blocks: list[Block] = [
        FactsBlock("", [(name, Cell(text, kind)) for name, text, kind in facts if text])
    ]
    if call.receipt is not None:
        blocks.append(FactsBlock("Receipt", _receipt_rows(call.receipt)))
    heading = f"Payment {_short(call.payment_id)}"
    return PageContent(
        heading, call.payment_id, blocks, "bad" if state_kind == "bad" else ""
    )


def _receipt_rows(receipt: Mapping[str, object]) -> list[tuple[str, Cell]]:
    return [
        (key, Cell(clean_text(str(value), 300), "code"))
        for key, value in receipt.items()
    ]


def _name(resource: str) -> str:
    return clean_text(resource.removeprefix("mcp://tool/"), 100)


def _short(payment_id: str) -> str:
    return payment_id if len(payment_id) <= 24 else f"{payment_id[:20]}…"


def _price(call: Execution) -> str:
    if call.amount is None or call.asset is None:
        return ""
    return format_amount(call.amount, call.network or "", call.asset)

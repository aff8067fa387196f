"""The explorer's payments page: what was sold, what it brought in, and each paid call's state and receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import anyio.to_thread

from mcpsol_py.bridge.explorer.pages import Block, Cell, Content, Facts, Kind, Table
from mcpsol_py.names import clean_text
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.store.executions import Execution, Executions

__all__ = ["PaymentsPage"]

_SHOWN = 100

#: what each state means to the merchant
_MEANING = {
    "verifying": "being checked",
    "running": "running now, or stopped while it ran",
    "executed": "ran; being settled",
    "settling": "being settled; not run yet",
    "paid": "paid; not run yet",
    "done": "answered",
    "failed": "not charged",
    "unknown": "stopped while it ran: `idl2mcp x402 decide` says whether it did its work",
}
_KINDS: dict[str, Kind] = {"done": "good", "failed": "bad", "unknown": "bad"}


class PaymentsPage:
    """A `Section`: /payments lists paid calls, newest first, /payments/<id> shows one."""

    slug = "payments"
    title = "Payments"

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    async def page(self, path: Sequence[str], query: Mapping[str, str]) -> Content | None:
        """See Section. Raises StorageError."""
        if not path:
            return self._list(await anyio.to_thread.run_sync(self._executions.history, _SHOWN))
        found = (
            await anyio.to_thread.run_sync(self._executions.get, path[0])
            if len(path) == 1
            else None
        )
        return None if found is None else self._one(found)

    def _list(self, calls: Sequence[Execution]) -> Content:
        rows = [
            (
                Cell(_time(call.created_ms)),
                Cell(_name(call.resource)),
                Cell(_price(call), "number"),
                Cell(call.state, _KINDS.get(call.state, "text")),
                Cell(call.payer or "", "code"),
                Cell(_short(call.payment_id), "code", f"/payments/{call.payment_id}"),
            )
            for call in calls
        ]
        about = f"The newest {_SHOWN} paid calls. A payment id pays for one call, once."
        columns = ("At", "Call", "Price", "State", "Payer", "Payment")
        return Content("Payments", about, (self._totals(calls), Table("Paid calls", columns, rows)))

    @staticmethod
    def _totals(calls: Sequence[Execution]) -> Block:
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for call in calls:
            receipt = call.receipt or {}
            if receipt.get("success") and call.network and call.asset:
                count, total = sums.get((call.network, call.asset), (0, 0))
                charged = receipt.get("amount")
                amount = (
                    int(charged)
                    if isinstance(charged, str) and charged.isdigit()
                    else call.amount or 0
                )
                sums[call.network, call.asset] = (count + 1, total + amount)
        rows = [
            (
                Cell(format_amount(total, network, asset), "number"),
                Cell(str(count), "number"),
                Cell(network, "code"),
            )
            for (network, asset), (count, total) in sums.items()
        ]
        return Table(
            "Taken in by these calls", ("Amount", "Payments", "Network"), rows, empty="Nothing yet."
        )

    @staticmethod
    def _one(call: Execution) -> Content:
        facts = [
            ("Call", Cell(call.resource, "code")),
            ("Price", Cell(_price(call))),
            (
                "State",
                Cell(f"{call.state}: {_MEANING[call.state]}", _KINDS.get(call.state, "text")),
            ),
            ("Payer", Cell(call.payer or "", "code")),
            ("Paid to", Cell(call.pay_to or "", "code")),
            ("Network", Cell(call.network or "", "code")),
            ("At", Cell(_time(call.created_ms))),
            ("Sent by the tool", Cell(call.signature or "", "code")),
            ("Refused because", Cell(clean_text(call.error or "", 200))),
        ]
        blocks: list[Block] = [Facts("", [(name, cell) for name, cell in facts if cell.text])]
        if call.receipt is not None:
            receipt = [
                (key, Cell(clean_text(str(value), 300), "code"))
                for key, value in call.receipt.items()
            ]
            blocks.append(Facts("Receipt", receipt))
        return Content(
            f"Payment {_short(call.payment_id)}",
            call.payment_id,
            blocks,
            "bad" if call.state in ("failed", "unknown") else "",
        )


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _name(resource: str) -> str:
    return clean_text(resource.removeprefix("mcp://tool/"), 100)


def _short(payment_id: str) -> str:
    return payment_id if len(payment_id) <= 24 else f"{payment_id[:20]}…"


def _price(call: Execution) -> str:
    if call.amount is None or call.asset is None:
        return ""
    return format_amount(call.amount, call.network or "", call.asset)

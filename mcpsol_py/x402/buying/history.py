"""What a wallet paid: payments by state, host, tool, token and time, in pages, and totals by day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, case, func, select

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.utc import date_of, time_of
from mcpsol_py.whole_numbers import whole_number
from mcpsol_py.x402.buying.budget import Spending, read_spending
from mcpsol_py.x402.protocol.networks import DEFAULT_ASSETS
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import spendings
from mcpsol_py.x402.store.spans import FOREVER, Span, start_of_day

__all__ = [
    "STATES",
    "DayTotal",
    "History",
    "HistoryFilter",
    "HistoryPage",
    "day_row",
    "history_row",
]

#: The states of a payment (budget.Spending).
STATES = ("reserved", "signed", "spent", "released")
_DAY = start_of_day(spendings.c.created_ms)


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which payments: None or "" means any. `token` is a symbol or a mint.

    From `since_ms`, before `until_ms`, in UTC milliseconds since 1970.
    """

    state: str | None = None
    host: str | None = None
    tool: str | None = None
    token: str | None = None
    since_ms: int = 0
    until_ms: int = FOREVER

    def condition(self) -> ColumnElement[bool]:
        """Return the SQL condition. Raises PaymentError (INVALID_PARAMETERS)."""
        c = spendings.c
        found = Span(self.since_ms, self.until_ms).covers(c.created_ms)
        if self.state:
            found &= c.state == _known_state(self.state)
        if self.host:
            host = self.host.lower()
            found &= (c.host == host) | c.host.startswith(f"{host}:", autoescape=True)
        if self.tool:
            found &= c.tool == self.tool
        if self.token:
            found &= c.asset.in_(_mints(self.token))
        return found


def _known_state(state: str) -> str:
    if state not in STATES:
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"expected a state of {', '.join(STATES)}, got {abbr(state)}",
        )
    return state


def _mints(token: str) -> list[str]:
    """The mints that a token's name means: itself, or those of its symbol on each network."""
    if is_address(token):
        return [token]
    symbol = token.upper()
    found = {
        a.mint
        for assets in DEFAULT_ASSETS.values()
        for a in assets
        if a.symbol == symbol
    }
    if not found:
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"expected a token's symbol or mint, got {abbr(token)}",
        )
    return sorted(found)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Payments, newest first. `after` names the next page, None if there is none."""

    rows: list[Spending]
    after: str | None = None


@dataclass(frozen=True, slots=True)
class DayTotal:
    """The payments of one day ("2026-11-28", UTC) and token, in base units.

    `spent` landed. `pending` is reserved or sent, and may land.
    """

    day: str
    network: str
    asset: str
    payments: int
    spent: int
    pending: int


_ALL = HistoryFilter()


class History:
    """The payments of one wallet. Methods raise StorageError."""

    def __init__(self, database: Database, wallet: str) -> None:
        self._db, self.wallet = database, wallet

    def page(
        self, limit: int = 50, *, where: HistoryFilter = _ALL, after: str | None = None
    ) -> HistoryPage:
        """Return at most *limit* payments, after the page that gave *after*.

        Raises PaymentError (INVALID_PARAMETERS).
        """
        c = spendings.c
        condition = (c.wallet == self.wallet) & where.condition()
        if after is not None:
            made, payment_id = _cursor(after)
            condition &= (c.created_ms < made) | (
                (c.created_ms == made) & (c.payment_id > payment_id)
            )
        newest = (
            select(spendings)
            .where(condition)
            .order_by(c.created_ms.desc(), c.payment_id)
            .limit(limit + 1)
        )
        found = self._db.fetch_all(newest, read_spending)
        rows = found[:limit]
        if len(found) <= limit:
            return HistoryPage(rows, None)
        return HistoryPage(rows, f"{rows[-1].created_ms}.{rows[-1].payment_id}")

    def days(self, *, where: HistoryFilter = _ALL) -> list[DayTotal]:
        """Return the totals by day and token, newest first. Released payments do not count."""
        c = spendings.c
        landed = c.state == "spent"
        totals = (
            select(
                _DAY,
                c.network,
                c.asset,
                func.count(),
                func.sum(case((landed, c.amount), else_=0)),
                func.sum(case((landed, 0), else_=c.amount)),
            )
            .where(
                (c.wallet == self.wallet) & (c.state != "released") & where.condition()
            )
            .group_by(_DAY, c.network, c.asset)
            .order_by(_DAY.desc(), c.network, c.asset)
        )
        return self._db.fetch_all(totals, _day_total)


def _day_total(row: Any) -> DayTotal:
    day, network, asset, n, spent, pending = row
    return DayTotal(date_of(int(day)), network, asset, int(n), int(spent), int(pending))


def _cursor(text: str) -> tuple[int, str]:
    made, point, payment_id = text.partition(".")
    made_ms = whole_number(made, FOREVER)
    if not point or made_ms is None:
        raise PaymentError("INVALID_PARAMETERS", f"after: no page ends at {abbr(text)}")
    return made_ms, payment_id


def history_row(row: Spending) -> dict[str, Any]:
    """Return a payment as it is shown. It has no signed payment."""
    return {
        "time": time_of(row.created_ms),
        "state": row.state,
        "amount": str(row.amount),
        "shown": format_amount(row.amount, row.network, row.asset),
        "asset": row.asset,
        "network": row.network,
        "payTo": row.pay_to,
        "host": row.host,
        "tool": row.tool,
        "resource": row.resource,
        "paymentId": row.payment_id,
        "transaction": row.signature,
    }


def day_row(total: DayTotal) -> Mapping[str, Any]:
    """Return a day's total as it is shown."""
    return {
        "day": total.day,
        "payments": total.payments,
        "amount": str(total.spent),
        "pending": str(total.pending),
        "shown": format_amount(total.spent, total.network, total.asset),
        "asset": total.asset,
        "network": total.network,
    }

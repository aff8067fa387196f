"""What a merchant has sold: calls in a span of time, and totals by day and by resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson
from sqlalchemy import ColumnElement, Table, func, select

from mcpsol_py.utc import date_of
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Execution, read_execution
from mcpsol_py.x402.store.schema import audit_log, executions, receipts
from mcpsol_py.x402.store.spans import Span, start_of_day

__all__ = ["Grouping", "Sales", "SalesTotal"]

Grouping: TypeAlias = Literal["day", "tool"]
_TOKEN = (receipts.c.network, receipts.c.asset)
_DAY = start_of_day(receipts.c.issued_ms)


@dataclass(frozen=True, slots=True)
class SalesTotal:
    """Payments of one token that landed: how many, and their sum in base units. `refunded` of it was
    sent back. `day` ("2026-11-28", UTC) and `resource` are None unless totals are grouped by them.
    """

    day: str | None
    resource: str | None
    network: str | None
    asset: str | None
    payments: int
    amount: int
    refunded: int


class Sales:
    """The sales of one merchant. Methods raise StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def calls(
        self, limit: int = 100, *, span: Span | None = None, resource: str | None = None
    ) -> list[Execution]:
        """Return paid calls, the newest first."""
        conditions = _conditions(
            executions, executions.c.created_ms, self.tenant, span or Span(), resource
        )
        newest = (
            select(executions)
            .where(*conditions)
            .order_by(executions.c.created_ms.desc())
        )
        page = newest.order_by(executions.c.payment_id).limit(limit)
        return self._db.fetch_all(page, read_execution, self.tenant)

    def totals(
        self,
        by: Sequence[Grouping] = (),
        *,
        span: Span | None = None,
        resource: str | None = None,
    ) -> list[SalesTotal]:
        """Return the totals of each token, by day of the payment, by resource, or by both."""
        conditions = _conditions(
            receipts, receipts.c.issued_ms, self.tenant, span or Span(), resource
        )
        groups = {"day": _DAY.label("day_ms"), "tool": receipts.c.resource}
        keys = [*(groups[name] for name in dict.fromkeys(by)), *_TOKEN]
        counted = (
            func.count().label("payments"),
            func.coalesce(func.sum(receipts.c.amount), 0),
        )
        sums = (
            select(*keys, *counted).where(*conditions).group_by(*keys).order_by(*keys)
        )
        joined = receipts.join(
            audit_log,
            (audit_log.c.tenant == receipts.c.tenant)
            & (audit_log.c.subject == receipts.c.payment_id)
            & (audit_log.c.action == "refund.landed"),
        )
        refunds = (
            select(*keys, audit_log.c.details).select_from(joined).where(*conditions)
        )
        refunded = Counter[tuple[Any, ...]]()
        for row in self._rows(refunds):
            refunded[tuple(row[:-1])] += int(orjson.loads(row.details)["amount"])
        return [_total(by, row, refunded[tuple(row[:-2])]) for row in self._rows(sums)]

    def _rows(self, wanted: Any) -> Any:
        return self._db.run(lambda c, _: c.execute(wanted).all(), self.tenant)


def _conditions(
    table: Table,
    time: ColumnElement[int],
    tenant: str,
    span: Span,
    resource: str | None,
) -> list[ColumnElement[bool]]:
    found = [table.c.tenant == tenant, span.covers(time)]
    return found if resource is None else [*found, table.c.resource == resource]


def _total(by: Sequence[Grouping], row: Any, refunded: int) -> SalesTotal:
    return SalesTotal(
        day=date_of(int(row.day_ms)) if "day" in by else None,
        resource=row.resource if "tool" in by else None,
        network=row.network,
        asset=row.asset,
        payments=int(row.payments),
        amount=int(row[-1]),
        refunded=refunded,
    )

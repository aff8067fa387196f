"""Removing old rows and those of one wallet. What still decides about money stays.

Unfinished calls, payments on their way, open channels and the keys of payments that were sold are
never removed: a payment whose call is gone is refused, not sold again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.store import schema
from mcpsol_py.x402.store.database import Database

__all__ = ["LEAST_AGE_MS", "Retention"]

#: Rows younger than two days are kept: a payment may come again while it can be on its way, and a
#: day's budget counts all spending.
LEAST_AGE_MS = 2 * 86_400_000


@dataclass(frozen=True, slots=True)
class _Removable:
    """Rows that nobody needs any more: those whose *state* is one of *ended*. `wallet` is the column
    with the wallet that they are about. Rows with a `tenant` are removed for one merchant.
    """

    table: Table
    ended: tuple[str, ...]
    wallet: str

    def conditions(self, tenant: str) -> list[ColumnElement[bool]]:
        columns = self.table.c
        found: list[ColumnElement[bool]] = [columns.state.in_(self.ended)]
        if "tenant" in columns:
            found.append(columns.tenant == tenant)
        return found


_REMOVABLE = (
    _Removable(schema.executions, ("done", "failed"), "payer"),
    _Removable(schema.settlements, ("landed", "failed"), "payer"),
    _Removable(schema.spendings, ("spent", "released"), "wallet"),
    _Removable(schema.channels, ("closed",), "payer"),
    _Removable(schema.wallet_channels, ("closed",), "wallet"),
)
#: Events have no column with a wallet; their text may name one.
_EVENTS = _Removable(schema.deliveries, ("delivered", "dead"), "body")


class Retention:
    """Removes rows of one merchant, and of the payer's and facilitator's tables, which all share.

    Methods return how many rows of each table were removed, and raise StorageError.
    """

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def prune(self, older_ms: int) -> dict[str, int]:
        """Remove what has ended and was not touched for *older_ms* milliseconds. Receipts, the audit
        log, plans and subscriptions stay.

        Raises PaymentError (too_recent) for less than LEAST_AGE_MS.
        """
        if older_ms < LEAST_AGE_MS:
            raise PaymentError("too_recent", "rows are kept for two days at least")

        def work(connection: Connection, _again: bool) -> dict[str, int]:
            before = self._db.now_ms(connection) - older_ms
            return {
                one.table.name: self._remove(
                    connection, one, one.table.c.touched_ms < before
                )
                for one in (*_REMOVABLE, _EVENTS)
            }

        return self._db.run(work, self.tenant)

    def erase(self, wallet: str, *, receipts: bool = False) -> dict[str, int]:
        """Remove what has ended of *wallet*, as a buyer and as a payer; with *receipts* its receipts
        too. Subscriptions, the audit log and the rows of the last two days stay.
        """

        def work(connection: Connection, _again: bool) -> dict[str, int]:
            before = self._db.now_ms(connection) - LEAST_AGE_MS
            removed = {
                one.table.name: self._remove(
                    connection,
                    one,
                    (one.table.c[one.wallet] == wallet)
                    & (one.table.c.touched_ms < before),
                )
                for one in _REMOVABLE
            }
            named = schema.deliveries.c.body.contains(wallet, autoescape=True)
            old = schema.deliveries.c.touched_ms < before
            removed["deliveries"] = self._remove(connection, _EVENTS, named & old)
            if receipts:
                its = delete(schema.receipts).where(*self._receipts_of(wallet))
                removed["receipts"] = connection.execute(its).rowcount
            return removed

        return self._db.run(work, self.tenant)

    def kept(self, wallet: str) -> dict[str, int]:
        """Return how many rows name *wallet* still, by table."""

        def work(connection: Connection, _again: bool) -> dict[str, int]:
            counts = {
                one.table.name: self._count(connection, one.table, one.wallet, wallet)
                for one in _REMOVABLE
            }
            counts["receipts"] = self._count(
                connection, schema.receipts, "payer", wallet
            )
            subscriptions = self._count(
                connection, schema.subscriptions, "subscriber", wallet
            )
            return {**counts, "subscriptions": subscriptions}

        return self._db.run(work, self.tenant)

    def _receipts_of(self, wallet: str) -> tuple[ColumnElement[bool], ...]:
        return (
            schema.receipts.c.tenant == self.tenant,
            schema.receipts.c.payer == wallet,
        )

    def _remove(
        self, connection: Connection, one: _Removable, condition: ColumnElement[bool]
    ) -> int:
        its = delete(one.table).where(*one.conditions(self.tenant), condition)
        return connection.execute(its).rowcount

    def _count(
        self, connection: Connection, table: Table, column: str, wallet: str
    ) -> int:
        conditions: list[Any] = [table.c[column] == wallet]
        if "tenant" in table.c:
            conditions.append(table.c.tenant == self.tenant)
        counted = select(func.count()).select_from(table).where(*conditions)
        return int(connection.execute(counted).scalar_one())

"""Settlements in SQL (exact.settle.SettlementStore), shared by processes and kept over crashes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import Connection, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.x402.exact.settle import Settlement, State
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import settlements as table

__all__ = ["SqlSettlements"]


class SqlSettlements:
    """See SettlementStore. Times come from the database unless *clock_ms* is given.

    Methods raise StorageError.
    """

    def __init__(
        self, database: Database, clock_ms: Callable[[], int] | None = None
    ) -> None:
        self._db, self._now = database, database.clock(clock_ms)

    def claim(self, settlement: Settlement) -> Settlement | None:
        """See SettlementStore. Of two claims at once, the primary key lets one through."""
        mark = uuid.uuid4().hex

        def work(connection: Connection, _again: bool) -> None:
            now = self._now(connection)
            row = {
                "key": settlement.key,
                "signature": settlement.signature,
                "payer": settlement.payer,
                "wire": settlement.wire,
                "state": settlement.state,
                "error": settlement.error,
                "claimed_by": mark,
                "created_ms": now,
                "touched_ms": now,
            }
            connection.execute(insert(table).values(row))

        try:
            self._db.run(work)
        except IntegrityError:
            row = self._row(settlement.key)
            # This claim went through before, and its answer was lost.
            return None if row is None or row.claimed_by == mark else _settlement(row)
        return None

    def _row(self, key: str) -> Any:
        return self._db.run(
            lambda c, _: c.execute(
                select(table).where(table.c.key == key)
            ).one_or_none()
        )

    def get(self, key: str) -> Settlement | None:
        """See SettlementStore."""
        return self._db.fetch_one(select(table).where(table.c.key == key), _settlement)

    def take_over(self, key: str, lease: float) -> bool:
        """See SettlementStore. It is one UPDATE, so one caller wins."""
        mark = uuid.uuid4().hex

        def work(connection: Connection, again: bool) -> bool:
            now = self._now(connection)
            stale = and_(
                table.c.state == "sending",
                table.c.touched_ms <= now - int(lease * 1000),
            )
            free = update(table).where(
                table.c.key == key, or_(table.c.state == "pending", stale)
            )
            taken = free.values(state="sending", claimed_by=mark, touched_ms=now)
            if connection.execute(taken).rowcount == 1:
                return True
            claimed_by = select(table.c.claimed_by).where(table.c.key == key)
            return again and connection.execute(claimed_by).scalar() == mark

        return self._db.run(work)

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """See SettlementStore."""
        where = update(table).where(table.c.key == key)
        self._db.run(
            lambda c, _: c.execute(
                where.values(state=state, error=error, touched_ms=self._now(c))
            )
        )

    def age_ms(self, key: str) -> int:
        """See SettlementStore."""

        def work(connection: Connection, _again: bool) -> int:
            made = select(table.c.created_ms).where(table.c.key == key)
            created = connection.execute(made).scalar()
            return 0 if created is None else self._now(connection) - int(created)

        return self._db.run(work)

    def release(self, key: str) -> None:
        """See SettlementStore."""
        self._db.run(lambda c, _: c.execute(delete(table).where(table.c.key == key)))

    def open(self) -> list[Settlement]:
        """Return the settlements that have neither landed nor failed, for a worker to reconcile."""
        unfinished = (
            select(table)
            .where(table.c.state.in_(("sending", "pending")))
            .order_by(table.c.created_ms)
        )
        return self._db.fetch_all(unfinished, _settlement)


def _settlement(row: Any) -> Settlement:
    return Settlement(
        row.key,
        row.signature,
        row.payer,
        bytes(row.wire),
        cast(State, row.state),
        row.error,
    )

"""exact.settle's SettlementStore in SQL: shared by processes and replicas, kept over crashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.x402.exact.settle import Settlement, State
from mcpsol_py.x402.store.database import Database, now_ms
from mcpsol_py.x402.store.schema import settlements as table

__all__ = ["SqlSettlements"]


class SqlSettlements:
    """See SettlementStore."""

    def __init__(self, database: Database, clock_ms: Callable[[], int] = now_ms) -> None:
        self._db, self._now = database, clock_ms

    def claim(self, settlement: Settlement) -> Settlement | None:
        """See SettlementStore: the primary key decides between two who claim at once."""
        now = self._now()
        row = {
            "key": settlement.key,
            "signature": settlement.signature,
            "payer": settlement.payer,
            "wire": settlement.wire,
            "state": settlement.state,
            "error": settlement.error,
            "created_ms": now,
            "touched_ms": now,
        }
        try:
            with self._db.engine.begin() as connection:
                connection.execute(insert(table).values(row))
        except IntegrityError:
            return self.get(settlement.key)
        return None

    def get(self, key: str) -> Settlement | None:
        """See SettlementStore."""
        with self._db.engine.begin() as connection:
            row = connection.execute(select(table).where(table.c.key == key)).one_or_none()
        return None if row is None else _settlement(row)

    def take_over(self, key: str, lease: float) -> bool:
        """See SettlementStore: one UPDATE, so one caller wins."""
        now = self._now()
        stale = and_(table.c.state == "sending", table.c.touched_ms <= now - int(lease * 1000))
        statement = (
            update(table)
            .where(table.c.key == key, or_(table.c.state == "pending", stale))
            .values(state="sending", touched_ms=now)
        )
        with self._db.engine.begin() as connection:
            return connection.execute(statement).rowcount == 1

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """See SettlementStore."""
        with self._db.engine.begin() as connection:
            connection.execute(
                update(table).where(table.c.key == key).values(state=state, error=error, touched_ms=self._now())
            )

    def release(self, key: str) -> None:
        """See SettlementStore."""
        with self._db.engine.begin() as connection:
            connection.execute(delete(table).where(table.c.key == key))

    def open(self) -> list[Settlement]:
        """All that is neither landed nor failed: what a worker reconciles with the chain."""
        with self._db.engine.begin() as connection:
            rows = connection.execute(
                select(table).where(table.c.state.in_(("sending", "pending"))).order_by(table.c.created_ms)
            ).all()
        return [_settlement(r) for r in rows]


def _settlement(row: Any) -> Settlement:
    return Settlement(row.key, row.signature, row.payer, bytes(row.wire), cast(State, row.state), row.error)

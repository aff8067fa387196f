"""Paid calls in SQL: one row a payment id, moved on only by whoever owns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.x402.store.database import Database, now_ms
from mcpsol_py.x402.store.schema import executions as table

__all__ = ["Execution", "ExecutionState", "Executions"]

#: What each means when the process that wrote it died right after:
#: "verifying": nothing happened yet. "running": the tool may or may not have run. "executed": it ran, its result waits
#: for the
#: settlement. "settling": paid first, the tool has not started. "paid": paid, the tool has not started. "done":
#: answered.
#: "failed": nobody was charged, nothing more comes. "unknown": it may have run; only a person or a rule decides.
ExecutionState = Literal["verifying", "running", "executed", "settling", "paid", "done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Execution:
    """One row. `result` and `receipt` are JSON objects."""

    tenant: str
    payment_id: str
    fingerprint: str
    payment_key: str
    resource: str
    state: ExecutionState
    owner: str
    touched_ms: int
    payer: str | None = None
    network: str | None = None
    asset: str | None = None
    pay_to: str | None = None
    amount: int | None = None
    result: dict[str, Any] | None = None
    receipt: dict[str, Any] | None = None
    signature: str | None = None
    error: str | None = None
    created_ms: int = 0


class Executions:
    """The paid calls of one tenant (merchant)."""

    def __init__(self, database: Database, tenant: str = "default", clock_ms: Callable[[], int] = now_ms) -> None:
        self._db, self.tenant, self._now = database, tenant, clock_ms

    def claim(self, row: Execution) -> Execution | None:
        """Records a new call; returns what stands in its way instead: the row of the same payment id, or of the same
        payment.
        """
        now = self._now()
        values = {**_values(row), "created_ms": now, "touched_ms": now}
        try:
            with self._db.engine.begin() as connection:
                connection.execute(insert(table).values(values))
        except IntegrityError:
            return self.get(row.payment_id) or self.by_payment(row.payment_key)
        return None

    def get(self, payment_id: str) -> Execution | None:
        """The call of that payment id."""
        return self._one(table.c.payment_id == payment_id)

    def by_payment(self, payment_key: str) -> Execution | None:
        """The call that this payment was given for."""
        return self._one(table.c.payment_key == payment_key)

    def _one(self, condition: Any) -> Execution | None:
        with self._db.engine.begin() as connection:
            row = connection.execute(select(table).where(table.c.tenant == self.tenant, condition)).one_or_none()
        return None if row is None else _execution(row)

    def move(
        self, payment_id: str, owner: str, expected: Sequence[ExecutionState], to: ExecutionState, **values: Any
    ) -> bool:
        """Moves the row on if *owner* still has it and it is in one of *expected*. False: somebody else has it now."""
        for key in ("result", "receipt"):
            if values.get(key) is not None:
                values[key] = orjson.dumps(values[key]).decode()
        statement = (
            update(table)
            .where(
                table.c.tenant == self.tenant,
                table.c.payment_id == payment_id,
                table.c.owner == owner,
                table.c.state.in_(tuple(expected)),
            )
            .values(state=to, touched_ms=self._now(), **values)
        )
        with self._db.engine.begin() as connection:
            return connection.execute(statement).rowcount == 1

    def touch(self, payment_id: str, owner: str) -> None:
        """Renews the owner's lease."""
        with self._db.engine.begin() as connection:
            connection.execute(
                update(table)
                .where(table.c.tenant == self.tenant, table.c.payment_id == payment_id, table.c.owner == owner)
                .values(touched_ms=self._now())
            )

    def take_over(self, payment_id: str, owner: str, lease_ms: int, seen: Execution) -> bool:
        """Makes *owner* the owner if nobody touched the row since it was *seen* and its lease is over. One caller
        wins.
        """
        statement = (
            update(table)
            .where(
                and_(
                    table.c.tenant == self.tenant,
                    table.c.payment_id == payment_id,
                    table.c.owner == seen.owner,
                    table.c.state == seen.state,
                    table.c.touched_ms == seen.touched_ms,
                    table.c.touched_ms <= self._now() - lease_ms,
                )
            )
            .values(owner=owner, touched_ms=self._now())
        )
        with self._db.engine.begin() as connection:
            return connection.execute(statement).rowcount == 1

    def forget(self, payment_id: str, owner: str) -> None:
        """Removes a call that certainly neither ran nor was paid, so that the id may be used again."""
        with self._db.engine.begin() as connection:
            connection.execute(
                delete(table).where(
                    table.c.tenant == self.tenant,
                    table.c.payment_id == payment_id,
                    table.c.owner == owner,
                    table.c.state.in_(("verifying", "running", "settling")),
                )
            )

    def history(self, limit: int = 100) -> list[Execution]:
        """The newest calls first."""
        with self._db.engine.begin() as connection:
            rows = connection.execute(
                select(table).where(table.c.tenant == self.tenant).order_by(table.c.created_ms.desc()).limit(limit)
            ).all()
        return [_execution(r) for r in rows]


def _values(row: Execution) -> dict[str, Any]:
    return {
        "tenant": row.tenant,
        "payment_id": row.payment_id,
        "fingerprint": row.fingerprint,
        "payment_key": row.payment_key,
        "resource": row.resource,
        "state": row.state,
        "owner": row.owner,
        "payer": row.payer,
        "network": row.network,
        "asset": row.asset,
        "pay_to": row.pay_to,
        "amount": row.amount,
    }


def _execution(row: Any) -> Execution:
    return Execution(
        tenant=row.tenant,
        payment_id=row.payment_id,
        fingerprint=row.fingerprint,
        payment_key=row.payment_key,
        resource=row.resource,
        state=row.state,
        owner=row.owner,
        touched_ms=row.touched_ms,
        payer=row.payer,
        network=row.network,
        asset=row.asset,
        pay_to=row.pay_to,
        amount=row.amount,
        result=None if row.result is None else orjson.loads(row.result),
        receipt=None if row.receipt is None else orjson.loads(row.receipt),
        signature=row.signature,
        error=row.error,
        created_ms=row.created_ms,
    )

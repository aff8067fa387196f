"""Paid calls in SQL: one row a payment id, moved on only by whoever owns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.x402.store.audit import note
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.receipts import enter_receipt
from mcpsol_py.x402.store.schema import executions as table
from mcpsol_py.x402.store.statements import Statement, row_of

__all__ = ["NOBODY", "Execution", "ExecutionState", "Executions"]

T = TypeVar("T")
#: owns a call that was left unfinished on purpose: the next request takes it up at once
NOBODY = "nobody"

#: What each means when the process that wrote it died right after:
#: "verifying": nothing happened yet. "running": the tool may or may not have run. "executed": it ran, its result waits
#: for the
#: settlement. "settling": paid first, the tool has not started. "paid": paid, the tool has not started. "done":
#: answered.
#: "failed": nobody was charged, nothing more comes. "unknown": it may have run; only a person or a rule decides.
ExecutionState = Literal[
    "verifying", "running", "executed", "settling", "paid", "done", "failed", "unknown"
]


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
    """The paid calls of one tenant (merchant). Times are the database's clock unless *clock_ms* is given.

    Every method may raise StorageError; it repeats itself while the database fails over, and knows its own traces then.
    """

    def __init__(
        self, database: Database, tenant: str = "default", clock_ms: Callable[[], int] | None = None
    ) -> None:
        self.database, self.tenant, self._clock = database, tenant, clock_ms

    def _now(self, connection: Connection) -> int:
        return self.database.now_ms(connection) if self._clock is None else self._clock()

    def _run(self, work: Callable[[Connection, bool], T]) -> T:
        return self.database.run(work, self.tenant)

    def claim(self, row: Execution) -> Execution | None:
        """Records a new call; returns what stands in its way instead: the row of the same payment id, or of the same
        payment.
        """

        def work(connection: Connection, _again: bool) -> None:
            now = self._now(connection)
            _INSERT.count(connection, {**_values(row), "created_ms": now, "touched_ms": now})

        try:
            self._run(work)
        except IntegrityError:
            found = self.get(row.payment_id) or self.by_payment(row.payment_key)
            # Owners are drawn at random, so a row of ours is this very claim, whose answer was lost on the way.
            ours = found is not None and (found.owner, found.payment_id) == (
                row.owner,
                row.payment_id,
            )
            return None if ours else found
        return None

    def get(self, payment_id: str) -> Execution | None:
        """The call of that payment id."""
        row = self._run(lambda c, _: _GET.one(c, {"t": self.tenant, "p": payment_id}))
        return None if row is None else _execution(row)

    def by_payment(self, payment_key: str) -> Execution | None:
        """The call that this payment was given for."""
        return self._one(table.c.payment_key == payment_key)

    def _one(self, condition: Any) -> Execution | None:
        def work(connection: Connection, _again: bool) -> Any:
            return connection.execute(
                select(table).where(table.c.tenant == self.tenant, condition)
            ).one_or_none()

        row = self._run(work)
        return None if row is None else _execution(row)

    def move(
        self,
        payment_id: str,
        owner: str,
        expected: Sequence[ExecutionState],
        to: ExecutionState,
        *,
        also: Callable[[Connection], bool] | None = None,
        to_owner: str | None = None,
        **values: Any,
    ) -> bool:
        """Moves the row on if *owner* still has it and it is in one of *expected*. False: somebody else has it now.

        It then is *to_owner*'s, if that is given. *also* runs in the same transaction; when it says False, nothing is
        moved. A receipt of a payment that landed is entered among the receipts in the same transaction.
        """
        receipt = values.get("receipt")
        if to_owner is not None:
            values["owner"] = to_owner
        for key in ("result", "receipt"):
            if values.get(key) is not None:
                values[key] = orjson.dumps(values[key]).decode()
        mine = (
            (table.c.tenant == self.tenant)
            & (table.c.payment_id == payment_id)
            & (table.c.owner == owner)
        )
        moving = _moving(len(expected), tuple(sorted(values)))
        bound = {
            "t": self.tenant,
            "p": payment_id,
            "o": owner,
            "to": to,
            **{f"v_{k}": v for k, v in values.items()},
        }
        bound |= {f"from_{n}": state for n, state in enumerate(expected)}

        def work(connection: Connection, again: bool) -> bool:
            now = self._now(connection)
            if moving.count(connection, {**bound, "now": now}) != 1:
                return (
                    again and connection.execute(select(table.c.state).where(mine)).scalar() == to
                )
            if also is not None and not also(connection):
                raise _Undo
            if (
                receipt is not None
                and receipt.get("success")
                and "subscription" not in (receipt.get("extensions") or {})
            ):
                enter_receipt(connection, self.tenant, payment_id, receipt, now)
            return True

        try:
            return self._run(work)
        except _Undo:
            return False

    def touch(self, payment_id: str, owner: str) -> None:
        """Renews the owner's lease."""
        mine = (
            (table.c.tenant == self.tenant)
            & (table.c.payment_id == payment_id)
            & (table.c.owner == owner)
        )
        self._run(lambda c, _: c.execute(update(table).where(mine).values(touched_ms=self._now(c))))

    def take_over(self, payment_id: str, owner: str, lease_ms: int, seen: Execution) -> bool:
        """Makes *owner* the owner if nobody touched the row since it was *seen* and its lease is over. One caller
        wins.
        """
        its = (table.c.tenant == self.tenant) & (table.c.payment_id == payment_id)

        def work(connection: Connection, again: bool) -> bool:
            now = self._now(connection)
            untouched = (
                (table.c.owner == seen.owner)
                & (table.c.state == seen.state)
                & (table.c.touched_ms == seen.touched_ms)
                & (table.c.touched_ms <= now - lease_ms)
            )
            taken = update(table).where(its, untouched).values(owner=owner, touched_ms=now)
            if connection.execute(taken).rowcount == 1:
                return True
            return again and connection.execute(select(table.c.owner).where(its)).scalar() == owner

        return self._run(work)

    def forget(self, payment_id: str, owner: str) -> None:
        """Removes a call that certainly neither ran nor was paid, so that the id may be used again."""
        condition = (
            (table.c.tenant == self.tenant)
            & (table.c.payment_id == payment_id)
            & (table.c.owner == owner)
            & table.c.state.in_(("verifying", "running", "settling"))
        )
        self._run(lambda c, _: c.execute(delete(table).where(condition)))

    def decide(self, payment_id: str, outcome: Literal["done", "again"]) -> bool:
        """An operator's word on an "unknown" call: "done", it did its work; "again", it did not, and the next request
        with the same payment runs it. False where the call is not "unknown" (any more).
        """
        call = self.get(payment_id)
        if call is None or call.state != "unknown":
            return False

        def told(connection: Connection) -> bool:
            note(
                connection,
                self.tenant,
                self._now(connection),
                "operator",
                "call.decided",
                payment_id,
                outcome=outcome,
            )
            return True

        if outcome == "done":
            result = {"decided": "done"}
            return self.move(payment_id, call.owner, ("unknown",), "done", result=result, also=told)
        to: ExecutionState = "paid" if (call.receipt or {}).get("success") else "verifying"
        return self.move(payment_id, call.owner, ("unknown",), to, to_owner=NOBODY, also=told)

    def history(self, limit: int = 100) -> list[Execution]:
        """The newest calls first."""
        newest = (
            select(table)
            .where(table.c.tenant == self.tenant)
            .order_by(table.c.created_ms.desc())
            .limit(limit)
        )
        return [_execution(r) for r in self._run(lambda c, _: c.execute(newest).all())]

    def undecided(self, older_ms: int, limit: int = 100) -> list[Execution]:
        """Calls that nobody touched for *older_ms* and which have no end: what a worker looks at (oldest first)."""

        def work(connection: Connection, _again: bool) -> Any:
            open_states = ("verifying", "running", "executed", "settling", "paid")
            return connection.execute(
                select(table)
                .where(
                    table.c.tenant == self.tenant,
                    table.c.state.in_(open_states),
                    table.c.touched_ms <= self._now(connection) - older_ms,
                )
                .order_by(table.c.touched_ms)
                .limit(limit)
            ).all()

        return [_execution(r) for r in self._run(work)]


_ROW = row_of(table)
_MINE = (table.c.tenant == bindparam("t")) & (table.c.payment_id == bindparam("p"))
_GET = Statement(select(table).where(_MINE), _ROW)
_INSERT = Statement(
    insert(table).values(
        {
            name: bindparam(name)
            for name in (
                *(
                    "tenant",
                    "payment_id",
                    "fingerprint",
                    "payment_key",
                    "resource",
                    "state",
                    "owner",
                    "payer",
                ),
                *("network", "asset", "pay_to", "amount", "created_ms", "touched_ms"),
            )
        }
    )
)


@cache
def _moving(froms: int, columns: tuple[str, ...]) -> Statement:
    """The UPDATE that moves a call on from one of so many states, and sets these columns."""
    states = or_(*(table.c.state == bindparam(f"from_{n}") for n in range(froms)))
    given: dict[str, Any] = {name: bindparam(f"v_{name}") for name in columns}
    changed = {**given, "state": bindparam("to"), "touched_ms": bindparam("now")}
    return Statement(
        update(table).where(_MINE, table.c.owner == bindparam("o"), states).values(changed)
    )


class _Undo(Exception):
    """Ends a transaction without effect."""


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

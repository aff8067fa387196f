"""Paid calls in SQL: one row for each payment id, which only its owner moves on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeVar

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.items import names_of
from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.store.call_states import (
    DECIDED_DONE,
    DECIDED_PAID,
    DECIDED_UNPAID,
    FORGETTABLE,
    UNFINISHED_STATES,
    ExecutionState,
    Transition,
)
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.payment_owners import own_payment
from mcpsol_py.x402.store.receipts import enter_receipt
from mcpsol_py.x402.store.rows import values_of
from mcpsol_py.x402.store.schema import executions as table
from mcpsol_py.x402.store.schema import payment_owners as owners
from mcpsol_py.x402.store.statements import Statement, row_of

__all__ = ["NOBODY", "Execution", "Executions", "PaymentTaken", "read_execution"]

T = TypeVar("T")


class PaymentTaken(Exception):
    """The payment belongs to another call, perhaps of another tenant."""


#: The owner of a call that was left unfinished on purpose. The next request goes on with it at
#: once.
NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Execution:
    """One row. `result` and `receipt` are JSON objects. Times are UTC milliseconds since 1970."""

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
    """The paid calls of one tenant (merchant). Times are the database's clock unless *clock_ms* is
    given.

    Every method may raise StorageError. A method that was repeated because its answer was lost
    recognises what its earlier attempt wrote.
    """

    def __init__(
        self,
        database: Database,
        tenant: str = "default",
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        self.database, self.tenant = database, tenant
        self._now = database.clock(clock_ms)

    def _run(self, work: Callable[[Connection, bool], T]) -> T:
        return self.database.run(work, self.tenant)

    def claim(self, row: Execution) -> Execution | None:
        """Record a new call and return None, or return the row that has its payment id or its
        payment already.

        Raises PaymentTaken if another tenant of this database has the payment.
        """

        def work(connection: Connection, _again: bool) -> None:
            now = self._now(connection)
            values = values_of(row, _CLAIMED)
            _INSERT.count(connection, {**values, "created_ms": now, "touched_ms": now})
            own_payment(connection, self.tenant, row.payment_key)

        for _ in range(_CLAIMS):
            try:
                self._run(work)
            except IntegrityError:
                found = self.get(row.payment_id) or self.by_payment(row.payment_key)
                if found is not None:
                    return None if _same_claim(found, row) else found
                # Its call may have been forgotten meanwhile. If not, it is another tenant's.
            else:
                return None
        raise PaymentTaken

    def get(self, payment_id: str) -> Execution | None:
        """Return the call of that payment id."""
        row = self._run(lambda c, _: _GET.one(c, {"t": self.tenant, "p": payment_id}))
        return None if row is None else read_execution(row)

    def by_payment(self, payment_key: str) -> Execution | None:
        """Return the call that this payment was given for."""
        its = select(table).where(
            table.c.tenant == self.tenant, table.c.payment_key == payment_key
        )
        return self.database.fetch_one(its, read_execution, self.tenant)

    def move(
        self,
        payment_id: str,
        owner: str,
        step: Transition,
        *,
        also: Callable[[Connection], bool] | None = None,
        to_owner: str | None = None,
        **values: Any,
    ) -> bool:
        """Move the row by *step* and set the columns *values*. Return False if the row is not in
        the step's source state any more, or has another owner.

        *to_owner* is the owner afterwards. *also* runs in the same transaction; if it returns
        False, nothing is written. The receipt of a payment that landed is entered among the
        receipts in the same transaction. Raises PaymentTaken if a new `payment_key` belongs to
        another call.
        """
        receipt: Mapping[str, Any] | None = values.get("receipt")
        columns = _columns(values, to_owner)
        moving = _moving(tuple(sorted(columns)))
        bound = {f"v_{name}": value for name, value in columns.items()}
        bound |= {"t": self.tenant, "p": payment_id, "o": owner}
        bound |= {"from": step.source, "to": step.target}

        def work(connection: Connection, again: bool) -> bool:
            now = self._now(connection)
            if moving.count(connection, {**bound, "now": now}) != 1:
                return (
                    again and self._state(connection, payment_id, owner) == step.target
                )
            if also is not None and not also(connection):
                raise _Undo
            if "payment_key" in values:
                own_payment(connection, self.tenant, values["payment_key"])
            if receipt is not None and _has_landed(receipt):
                enter_receipt(connection, self.tenant, payment_id, dict(receipt), now)
            return True

        try:
            return self._run(work)
        except _Undo:
            return False
        except IntegrityError:
            raise PaymentTaken from None

    def _state(self, connection: Connection, payment_id: str, owner: str) -> object:
        mine = self._owned(payment_id, owner)
        return connection.execute(select(table.c.state).where(mine)).scalar()

    def _is(self, payment_id: str) -> Any:
        return (table.c.tenant == self.tenant) & (table.c.payment_id == payment_id)

    def _owned(self, payment_id: str, owner: str) -> Any:
        return self._is(payment_id) & (table.c.owner == owner)

    def touch(self, payment_id: str, owner: str) -> None:
        """Renew the owner's lease."""
        mine = update(table).where(self._owned(payment_id, owner))
        self._run(lambda c, _: c.execute(mine.values(touched_ms=self._now(c))))

    def take_over(
        self, payment_id: str, owner: str, lease_ms: int, seen: Execution
    ) -> bool:
        """Make *owner* the owner, if nobody touched the row since it was *seen* and its lease has
        ended.

        Of several callers one succeeds.
        """
        its = self._is(payment_id)

        def work(connection: Connection, again: bool) -> bool:
            now = self._now(connection)
            untouched = (
                (table.c.owner == seen.owner)
                & (table.c.state == seen.state)
                & (table.c.touched_ms == seen.touched_ms)
                & (table.c.touched_ms <= now - lease_ms)
            )
            taken = (
                update(table).where(its, untouched).values(owner=owner, touched_ms=now)
            )
            if connection.execute(taken).rowcount == 1:
                return True
            return (
                again
                and connection.execute(select(table.c.owner).where(its)).scalar()
                == owner
            )

        return self._run(work)

    def forget(self, payment_id: str, owner: str) -> None:
        """Remove a call that certainly neither ran nor was paid, so that its id may be used again."""
        mine = self._owned(payment_id, owner) & table.c.state.in_(FORGETTABLE)

        def work(connection: Connection, _again: bool) -> None:
            its_key = select(table.c.payment_key).where(mine)
            connection.execute(delete(owners).where(owners.c.key.in_(its_key)))
            connection.execute(delete(table).where(mine))

        self._run(work)

    def decide(self, payment_id: str, outcome: Literal["done", "again"]) -> bool:
        """Record an operator's decision on an "unknown" call. Return False if the call is not
        "unknown" any more.

        "done": it did its work. "again": it did not, and the next request with the same payment
        runs it.
        """
        call = self.get(payment_id)
        if call is None or call.state != "unknown":
            return False

        def log(connection: Connection) -> bool:
            now = self._now(connection)
            record_action(
                connection,
                self.tenant,
                now,
                "operator",
                "call.decided",
                payment_id,
                outcome=outcome,
            )
            return True

        if outcome == "done":
            result = {"decided": "done"}
            return self.move(
                payment_id, call.owner, DECIDED_DONE, result=result, also=log
            )
        step = (
            DECIDED_PAID if mapping_at(call.receipt).get("success") else DECIDED_UNPAID
        )
        return self.move(payment_id, call.owner, step, to_owner=NOBODY, also=log)

    def history(self, limit: int = 100) -> list[Execution]:
        """Return the newest calls, newest first."""
        newest = (
            select(table)
            .where(table.c.tenant == self.tenant)
            .order_by(table.c.created_ms.desc())
            .limit(limit)
        )
        return self.database.fetch_all(newest, read_execution, self.tenant)

    def undecided(self, older_ms: int, limit: int = 100) -> list[Execution]:
        """Return unfinished calls that nobody touched for *older_ms*, oldest first."""

        def work(connection: Connection, _again: bool) -> Any:
            return connection.execute(
                select(table)
                .where(
                    table.c.tenant == self.tenant,
                    table.c.state.in_(UNFINISHED_STATES),
                    table.c.touched_ms <= self._now(connection) - older_ms,
                )
                .order_by(table.c.touched_ms)
                .limit(limit)
            ).all()

        return list(map(read_execution, self._run(work)))


_ROW = row_of(table)
_MINE = (table.c.tenant == bindparam("t")) & (table.c.payment_id == bindparam("p"))
_GET = Statement(select(table).where(_MINE), _ROW)
#: The columns that a claim sets, besides its times.
_CLAIMED = (
    "tenant",
    "payment_id",
    "fingerprint",
    "payment_key",
    "resource",
    "state",
    "owner",
    "payer",
    "network",
    "asset",
    "pay_to",
    "amount",
)
_INSERT = Statement(
    insert(table).values(
        {name: bindparam(name) for name in (*_CLAIMED, "created_ms", "touched_ms")}
    )
)
#: How often a claim is tried, if the call that has its payment disappears meanwhile.
_CLAIMS = 2
_JSON_COLUMNS = ("result", "receipt")
_FIELDS = tuple(names_of(fields(Execution)))


@cache
def _moving(columns: tuple[str, ...]) -> Statement:
    """The UPDATE that moves a call on and sets these columns."""
    given: dict[str, Any] = {name: bindparam(f"v_{name}") for name in columns}
    changed = {**given, "state": bindparam("to"), "touched_ms": bindparam("now")}
    mine = (
        _MINE & (table.c.owner == bindparam("o")) & (table.c.state == bindparam("from"))
    )
    return Statement(update(table).where(mine).values(changed))


class _Undo(Exception):
    """Ends a transaction without effect."""


def _columns(values: Mapping[str, Any], to_owner: str | None) -> dict[str, Any]:
    """*values* as the columns hold them: JSON as text."""
    columns = dict(values)
    for name in _JSON_COLUMNS:
        if columns.get(name) is not None:
            columns[name] = orjson.dumps(columns[name]).decode()
    if to_owner is not None:
        columns["owner"] = to_owner
    return columns


def _same_claim(found: Execution, row: Execution) -> bool:
    """Whether *found* is the claim *row* itself, whose answer was lost. Owners are drawn at random."""
    return (found.owner, found.payment_id) == (row.owner, row.payment_id)


def _has_landed(receipt: Mapping[str, Any]) -> bool:
    """Whether *receipt* is of a payment that landed. A call granted by a subscription has no
    payment.
    """
    return bool(receipt.get("success")) and "subscription" not in mapping_at(
        receipt, "extensions"
    )


def read_execution(row: Any) -> Execution:
    """Return the call of a row of the table."""
    values = values_of(row, _FIELDS)
    for name in _JSON_COLUMNS:
        if values[name] is not None:
            values[name] = orjson.loads(values[name])
    return Execution(**values)

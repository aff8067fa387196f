"""The plans that a merchant offers, in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from solders.pubkey import Pubkey
from sqlalchemy import Connection, insert, select, update

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.store.database import Database, now_ms
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.rows import one_row, values_of
from mcpsol_py.x402.store.schema import plans as plan_table
from mcpsol_py.x402.store.webhooks import Event, emit
from mcpsol_py.x402.subscriptions.terms import (
    Subscription,
    SubscriptionPlan,
    check_period,
)

__all__ = ["PLAN_TERMS", "PlanStore", "check_wallet"]

T = TypeVar("T")
#: The fields that a subscription copies from its plan.
PLAN_TERMS = (
    "network",
    "asset",
    "pay_to",
    "price",
    "period",
    "grace_ms",
    "quota",
    "max_charges",
)


def check_wallet(address: object) -> str:
    """Return *address* if it is a wallet's. Raises PaymentError (INVALID_WALLET_ADDRESS)."""
    try:
        if isinstance(address, str) and str(Pubkey.from_string(address)) == address:
            return address
    except ValueError:
        pass
    raise PaymentError(
        "INVALID_WALLET_ADDRESS", f"{abbr(address)} is not a Solana address"
    )


class PlanStore:
    """The plans of one merchant. Methods may raise StorageError.

    *clock_ms* replaces the database's clock in tests.
    """

    def __init__(
        self,
        database: Database,
        tenant: str = "default",
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        self.database, self.tenant, self._clock = database, tenant, clock_ms
        self.now = database.clock(clock_ms)

    def now_ms(self) -> int:
        """Return the time if no transaction is open, in UTC milliseconds since 1970."""
        if self._clock is not None:
            return self._clock()
        if self.database.is_sqlite:
            return now_ms()
        return self.run(lambda connection, _: self.now(connection))

    def run(self, work: Callable[[Connection, bool], T]) -> T:
        """Run a transaction of this merchant. See Database.run."""
        return self.database.run(work, self.tenant)

    # -- plans

    def add_plan(self, plan: SubscriptionPlan) -> SubscriptionPlan:
        """Offer *plan*, or offer new terms under its id. Existing subscriptions keep their terms.

        Raises PaymentError (INVALID_PARAMETERS) for impossible terms.
        """
        _check_plan(plan)
        values = values_of(
            plan, (*PLAN_TERMS, "name", "description", "trial_ms", "open", "address")
        )
        values["features"] = orjson.dumps(list(plan.features)).decode()

        def work(connection: Connection, _again: bool) -> None:
            now = self.now(connection)
            its = (plan_table.c.tenant == self.tenant) & (plan_table.c.id == plan.id)
            changed = connection.execute(
                update(plan_table).where(its).values(**values, touched_ms=now)
            ).rowcount
            if not changed:
                row = {
                    **values,
                    "tenant": self.tenant,
                    "id": plan.id,
                    "created_ms": now,
                    "touched_ms": now,
                }
                connection.execute(insert(plan_table).values(row))
            record_action(
                connection,
                self.tenant,
                now,
                "merchant",
                "plan.offered",
                plan.id,
                price=plan.price,
            )

        self.run(work)
        return plan

    def set_plan_open(self, plan_id: str, is_open: bool) -> None:
        """Open a plan for new subscribers, or close it. Existing subscriptions do not change."""

        def work(connection: Connection, _again: bool) -> None:
            now = self.now(connection)
            its = (plan_table.c.tenant == self.tenant) & (plan_table.c.id == plan_id)
            if not connection.execute(
                update(plan_table).where(its).values(open=is_open, touched_ms=now)
            ).rowcount:
                raise _no_plan(plan_id)
            record_action(
                connection,
                self.tenant,
                now,
                "merchant",
                "plan.open" if is_open else "plan.closed",
                plan_id,
            )

        self.run(work)

    def plans(self, *, open_only: bool = True) -> list[SubscriptionPlan]:
        """Return the plans, the cheapest first."""
        wanted = select(plan_table).where(plan_table.c.tenant == self.tenant)
        if open_only:
            wanted = wanted.where(plan_table.c.open)
        wanted = wanted.order_by(plan_table.c.price, plan_table.c.id)
        return self.database.fetch_all(wanted, _plan, self.tenant)

    def plan(self, plan_id: str) -> SubscriptionPlan:
        """Return the plan of that id. Raises PaymentError (PLAN_NOT_FOUND)."""
        return self.run(lambda c, _: self.plan_in(c, plan_id))

    def plan_in(
        self, connection: Connection, plan_id: str, *, lock: bool = False
    ) -> SubscriptionPlan:
        """Return the plan in an open transaction. *lock*: lock its row until the transaction ends."""
        wanted = select(plan_table).where(
            plan_table.c.tenant == self.tenant, plan_table.c.id == plan_id
        )
        found = one_row(connection, wanted, _plan, lock=lock)
        if found is None:
            raise _no_plan(plan_id)
        return found

    # -- events

    def announce(
        self,
        connection: Connection,
        now: int,
        kind: Event,
        about: Subscription,
        **more: Any,
    ) -> None:
        """Emit an event for webhooks, in the caller's transaction."""
        data = {
            "subscriptionId": about.id,
            "planId": about.plan_id,
            "subscriber": about.subscriber,
            "status": about.state(now),
            **more,
        }
        emit(connection, self.tenant, now, kind, data)


def _check_plan(plan: SubscriptionPlan) -> None:
    check_period(plan.period)
    check_wallet(plan.pay_to)
    check_wallet(plan.asset)
    wrong = [
        name
        for name, is_valid in (
            ("id", 0 < len(plan.id) <= 64),
            ("price", 0 < plan.price < 2**63),
            ("trial", plan.trial_ms >= 0),
            ("grace", plan.grace_ms >= 0),
            ("quota", plan.quota is None or plan.quota >= 0),
            ("number of charges", plan.max_charges is None or plan.max_charges >= 1),
        )
        if not is_valid
    ]
    if wrong:
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"plan {abbr(plan.id)}: {', '.join(wrong)} out of range",
        )


def _no_plan(plan_id: object) -> PaymentError:
    return PaymentError(
        "PLAN_NOT_FOUND",
        f"plan {abbr(plan_id)} does not exist; list_subscriptions lists the plans",
    )


def _plan(row: Any) -> SubscriptionPlan:
    values = values_of(row, SubscriptionPlan.__dataclass_fields__)
    return SubscriptionPlan(**{**values, "features": tuple(orjson.loads(row.features))})

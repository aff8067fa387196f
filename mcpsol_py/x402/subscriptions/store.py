"""Subscriptions of one merchant in SQL: opened, paid, changed, cancelled, and mirrored from the
chain.

Every change is one transaction, which also writes the merchant's log and the events for webhooks. A
subscription on chain has a row too, a mirror of its account (onchain.py), so that readers need only
this table.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.rows import one_row, values_of
from mcpsol_py.x402.store.schema import charges
from mcpsol_py.x402.store.schema import subscriptions as table
from mcpsol_py.x402.subscriptions.plan_store import PLAN_TERMS, check_wallet
from mcpsol_py.x402.subscriptions.quota_store import QuotaStore, subscription_of
from mcpsol_py.x402.subscriptions.terms import Subscription, SubscriptionPlan, boundary

__all__ = ["SubscriptionStore", "check_wallet"]


class SubscriptionStore(QuotaStore):
    """The plans and subscriptions of one merchant. Methods may raise StorageError.

    *clock_ms* replaces the database's clock in tests.
    """

    def try_out(self, plan_id: str, subscriber: str, mark: str) -> Subscription:
        """Start the plan's free trial. *mark* identifies the proof: a repeat gets the same
        subscription.

        Raises PaymentError: INVALID_PARAMETERS if the plan has no trial or is closed, or if this
        wallet has subscribed to it before.
        """

        def work(connection: Connection, _again: bool) -> Subscription:
            plan = self.plan_in(connection, plan_id, lock=True)
            known = self._marked(connection, mark)
            if known is not None:
                return known
            if not plan.open or not plan.trial_ms:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    f"plan {plan_id} has no free trial, or is closed to new subscribers",
                )
            had = select(table.c.id).where(
                table.c.tenant == self.tenant,
                table.c.subscriber == subscriber,
                table.c.plan_id == plan_id,
            )
            if connection.execute(had).first() is not None:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    f"this wallet has subscribed to plan {plan_id} before",
                )
            now = self.now(connection)
            due = now + plan.trial_ms
            return self._open(
                connection,
                plan,
                subscriber,
                mark,
                now,
                anchor=due,
                start=now,
                due=due,
                charges=0,
            )

        return self.run(work)

    def pay(
        self, plan_id: str, subscriber: str, mark: str, signature: str
    ) -> Subscription:
        """Book a payment of the plan's price that landed as *signature*.

        It pays the next period of the wallet's subscription, or opens one if the wallet has none or
        its subscription is cancelled or expired. *mark* is the payment's id, which is booked once.
        """

        def work(connection: Connection, _again: bool) -> Subscription:
            # The lock makes two payments of one wallet wait for each other.
            plan = self.plan_in(connection, plan_id, lock=True)
            known = self._marked(connection, mark)
            if known is not None:
                return known
            booked = connection.execute(
                select(charges.c.subscription_id).where(
                    charges.c.tenant == self.tenant, charges.c.payment_key == mark
                )
            ).scalar()
            if booked is not None:
                return self.get_in(connection, booked)
            now = self.now(connection)
            current = self._live(connection, plan_id, subscriber, now)
            if current is not None and current.price == plan.price and current.renews:
                start, end = current.next_period(now)
                self.book_charge(
                    connection,
                    current,
                    start,
                    end,
                    now,
                    mark=mark,
                    signature=signature,
                    switch=False,
                )
                return self.get_in(connection, current.id)

            due = boundary(plan.period, now, 1)
            made = self._open(
                connection,
                plan,
                subscriber,
                mark,
                now,
                anchor=now,
                start=now,
                due=due,
                charges=1,
            )
            self._enter_charge(
                connection, made.id, 1, plan.price, now, due, now, mark, signature
            )
            return made

        return self.run(work)

    def change(self, subscription_id: str, plan_id: str) -> Subscription:
        """Change to another plan of the same mint, from the next charge on. Raises PaymentError."""

        def work(connection: Connection, _again: bool) -> Subscription:
            plan = self.plan_in(connection, plan_id)
            current = self.get_in(connection, subscription_id, lock=True)
            now = self.now(connection)
            self._must_live(current, now)
            if current.address is not None or plan.address is not None:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    "the subscriber changes a subscription on chain, by a transaction",
                )
            if (plan.asset, plan.network) != (
                current.asset,
                current.network,
            ) or not plan.open:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    f"plan {plan_id} is closed, or priced in another token",
                )
            if self._in_flight(connection, current.id):
                raise PaymentError(
                    "RATE_LIMITED",
                    f"subscription {current.id} is being charged; try again in a minute",
                )
            self.set(connection, current.id, now, next_plan_id=plan_id)
            record_action(
                connection,
                self.tenant,
                now,
                current.subscriber,
                "subscription.changed",
                current.id,
                plan=plan_id,
            )
            changed = replace(current, next_plan_id=plan_id)
            self.announce(connection, now, "subscription.changed", changed)
            return changed

        return self.run(work)

    def cancel(self, subscription_id: str, actor: str) -> Subscription:
        """Cancel. Paid time stays usable, and nothing more is charged. A second call changes
        nothing.

        Raises PaymentError: SUBSCRIPTION_NOT_FOUND; SUBSCRIPTION_EXPIRED if it has ended already.
        """

        def work(connection: Connection, _again: bool) -> Subscription:
            current = self.get_in(connection, subscription_id, lock=True)
            if current.cancelled_ms is not None:
                return current
            now = self.now(connection)
            self._must_live(current, now)
            # A charge that was sent may still land: the worker checks once more, to book it.
            later = now if self._in_flight(connection, current.id) else None
            self.set(connection, current.id, now, cancelled_ms=now, next_try_ms=later)
            record_action(
                connection,
                self.tenant,
                now,
                actor,
                "subscription.cancelled",
                current.id,
            )
            cancelled = replace(current, cancelled_ms=now, next_try_ms=later)
            self.announce(connection, now, "subscription.cancelled", cancelled)
            return cancelled

        return self.run(work)

    # -- used by charging and mirroring too

    def set(
        self, connection: Connection, subscription_id: str, now_ms: int, **values: Any
    ) -> None:
        """Change the row, in the caller's transaction."""
        its = update(table).where(
            table.c.tenant == self.tenant, table.c.id == subscription_id
        )
        connection.execute(its.values(**values, touched_ms=now_ms))

    def book_charge(
        self,
        connection: Connection,
        current: Subscription,
        start: int,
        end: int | None,
        now_ms: int,
        *,
        mark: str,
        signature: str,
        enter: bool = True,
        switch: bool = True,
    ) -> None:
        """Book a charge that landed for the period from *start* to *end*, in the caller's
        transaction.

        Only this method extends a subscription off chain. If a change of plan was agreed to, its
        terms apply from now on, unless *switch* is False. *enter* False: the charge has a row
        already.
        """
        is_early = bool(current.due_ms) and now_ms < (current.due_ms or 0)
        values: dict[str, Any] = {
            "period_from_ms": current.period_from_ms if is_early else start,
            "due_ms": end,
            "charges": current.charges + 1,
            "tries": 0,
            "error": None,
        }
        amount = current.price
        if switch and current.next_plan_id is not None:
            plan = self.plan_in(connection, current.next_plan_id)

            end = boundary(plan.period, start, 1)
            values |= values_of(plan, PLAN_TERMS)
            values |= {
                "plan_id": plan.id,
                "next_plan_id": None,
                "anchor_ms": start,
                "due_ms": end,
            }
            values["charges"] = 1  # of these terms, as on chain
            amount = plan.price
        later = replace(
            current,
            charges=values["charges"],
            due_ms=end,
            max_charges=values.get("max_charges", current.max_charges),
        )
        values["next_try_ms"] = end
        self.set(connection, current.id, now_ms, **values)
        if enter:
            number = self.next_number(connection, current.id)
            self._enter_charge(
                connection,
                current.id,
                number,
                amount,
                start,
                end,
                now_ms,
                mark,
                signature,
            )
        record_action(
            connection,
            self.tenant,
            now_ms,
            current.subscriber,
            "subscription.charged",
            current.id,
            amount=amount,
        )
        self.announce(
            connection,
            now_ms,
            "subscription.charged",
            replace(later, period_from_ms=start),
            amount=str(amount),
            transaction=signature,
        )

    def next_number(self, connection: Connection, subscription_id: str) -> int:
        """Return the number of the next charge."""
        last = select(func.max(charges.c.number)).where(
            charges.c.tenant == self.tenant,
            charges.c.subscription_id == subscription_id,
        )
        return int(connection.execute(last).scalar() or 0) + 1

    def _enter_charge(
        self,
        connection: Connection,
        subscription_id: str,
        number: int,
        amount: int,
        start: int,
        end: int | None,
        now: int,
        mark: str,
        signature: str,
    ) -> None:
        row = {
            "tenant": self.tenant,
            "subscription_id": subscription_id,
            "number": number,
            "amount": amount,
            "state": "landed",
            "owner": "",
            "payment_key": mark,
            "signature": signature,
            "period_from_ms": start,
            "period_to_ms": end,
            "created_ms": now,
            "touched_ms": now,
        }
        connection.execute(insert(charges).values(row))

    def mirror(self, plan: SubscriptionPlan, values: dict[str, Any]) -> Subscription:
        """Write the fields of an account on chain (onchain.py) into its row, which is created if
        needed.
        """
        address = values["address"]

        def work(connection: Connection, _again: bool) -> Subscription:
            now = self.now(connection)
            wanted = select(table).where(
                table.c.tenant == self.tenant, table.c.id == address
            )
            row = connection.execute(wanted.with_for_update()).one_or_none()
            if row is None:
                return self._open_mirror(connection, now, plan, values)
            before = subscription_of(row)
            if before.due_ms == values["due_ms"] and values["cancelled_ms"] is None:
                values.pop("next_try_ms")  # keep the worker's
            self.set(
                connection, address, now, **values, plan_id=plan.id, quota=plan.quota
            )
            after = self.get_in(connection, address)
            if before.cancelled_ms is None and after.cancelled_ms is not None:
                self.announce(connection, now, "subscription.cancelled", after)
            elif (
                after.charges != before.charges
                or after.period_from_ms != before.period_from_ms
            ):
                self.announce(
                    connection,
                    now,
                    "subscription.charged",
                    after,
                    amount=str(after.price),
                )
            return after

        return self.run(work)

    def _open_mirror(
        self,
        connection: Connection,
        now: int,
        plan: SubscriptionPlan,
        values: dict[str, Any],
    ) -> Subscription:
        address = values["address"]
        row = {
            "quota": plan.quota,
            "plan_id": plan.id,
            **values,
            "tenant": self.tenant,
            "id": address,
            "opened_by": address,
            "auto_renew": True,
            "tries": 0,
            "created_ms": now,
            "touched_ms": now,
        }
        connection.execute(insert(table).values(row))
        record_action(
            connection,
            self.tenant,
            now,
            values["subscriber"],
            "subscription.opened",
            address,
            plan=plan.id,
        )
        made = self.get_in(connection, address)
        self.announce(connection, now, "subscription.opened", made)
        return made

    def _open(
        self,
        connection: Connection,
        plan: SubscriptionPlan,
        subscriber: str,
        mark: str,
        now: int,
        *,
        anchor: int,
        start: int,
        due: int | None,
        charges: int,
    ) -> Subscription:
        made = Subscription(
            id="sub_" + uuid.uuid4().hex,
            plan_id=plan.id,
            subscriber=check_wallet(subscriber),
            **values_of(plan, PLAN_TERMS),
            anchor_ms=anchor,
            period_from_ms=start,
            due_ms=due,
            charges=charges,
            opened_by=mark,
            created_ms=now,
        )
        made = replace(made, next_try_ms=due)
        row = values_of(made, Subscription.__dataclass_fields__)
        connection.execute(
            insert(table).values(**row, tenant=self.tenant, touched_ms=now)
        )
        record_action(
            connection,
            self.tenant,
            now,
            subscriber,
            "subscription.opened",
            made.id,
            plan=plan.id,
        )
        self.announce(connection, now, "subscription.opened", made)
        return made

    def _marked(self, connection: Connection, mark: str) -> Subscription | None:
        wanted = select(table).where(
            table.c.tenant == self.tenant, table.c.opened_by == mark
        )
        return one_row(connection, wanted, subscription_of)

    def _live(
        self, connection: Connection, plan_id: str, subscriber: str, now: int
    ) -> Subscription | None:
        wanted = (
            select(table)
            .where(
                table.c.tenant == self.tenant,
                table.c.subscriber == subscriber,
                table.c.plan_id == plan_id,
                table.c.cancelled_ms.is_(None),
                table.c.address.is_(None),
            )
            .with_for_update()
        )
        for row in connection.execute(wanted).all():
            found = subscription_of(row)
            if (
                found.state(now) in ("pending", "active", "past_due")
                and found.due_ms is not None
            ):
                return found
        return None

    def _in_flight(self, connection: Connection, subscription_id: str) -> bool:
        wanted = select(charges.c.number).where(
            charges.c.tenant == self.tenant,
            charges.c.subscription_id == subscription_id,
            charges.c.state == "signed",
        )
        return connection.execute(wanted).first() is not None

    def _must_live(self, current: Subscription, now: int) -> None:
        state = current.state(now)
        if state in ("cancelled", "expired"):
            raise PaymentError(
                "SUBSCRIPTION_EXPIRED",
                f"subscription {current.id} is {state}; subscribe again",
            )

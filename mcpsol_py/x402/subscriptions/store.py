"""Plans and subscriptions of one merchant in SQL: opened, paid, changed, cancelled, and their quotas.

Every change is one transaction, which also writes the audit log and the events for webhooks. A subscription on chain
has a row too: it mirrors the account (onchain.py), so that all that reads subscriptions reads one kind.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from solders.pubkey import Pubkey
from sqlalchemy import Connection, func, insert, select, update

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.store.database import Database, now_ms
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.schema import charges, usages
from mcpsol_py.x402.store.schema import plans as plan_table
from mcpsol_py.x402.store.schema import subscriptions as table
from mcpsol_py.x402.store.webhooks import emit
from mcpsol_py.x402.subscriptions.terms import Plan, Subscription, boundary, check_period

__all__ = ["SubscriptionBook", "check_wallet"]

T = TypeVar("T")
#: What a subscription copies from its plan.
_TERMS = ("network", "asset", "pay_to", "price", "period", "grace_ms", "quota", "max_charges")


def check_wallet(address: object) -> str:
    """*address* when it is a wallet's. Raises PaymentError (INVALID_WALLET_ADDRESS)."""
    try:
        if isinstance(address, str) and str(Pubkey.from_string(address)) == address:
            return address
    except ValueError:
        pass
    raise PaymentError("INVALID_WALLET_ADDRESS", f"{abbr(address)} is no Solana address")


class SubscriptionBook:
    """The plans and subscriptions of one merchant. Methods may raise StorageError.

    *clock_ms* stands in for the database's clock in tests.
    """

    def __init__(
        self, database: Database, tenant: str = "default", clock_ms: Callable[[], int] | None = None
    ) -> None:
        self.database, self.tenant, self._clock = database, tenant, clock_ms

    def now(self, connection: Connection) -> int:
        """UTC milliseconds since 1970."""
        return self.database.now_ms(connection) if self._clock is None else self._clock()

    def now_ms(self) -> int:
        """The same, when no transaction is open."""
        if self._clock is not None:
            return self._clock()
        return (
            now_ms()
            if self.database.is_sqlite
            else self.run(lambda connection, _: self.now(connection))
        )

    def run(self, work: Callable[[Connection, bool], T]) -> T:
        """A transaction of this merchant: see Database.run."""
        return self.database.run(work, self.tenant)

    # -- plans --------------------------------------------------------------------------------------------------------

    def add_plan(self, plan: Plan) -> Plan:
        """Offers *plan*, or offers it anew under its id: whoever is subscribed keeps the terms agreed to.

        Raises PaymentError (INVALID_PARAMETERS) for terms that cannot be."""
        check_period(plan.period)
        check_wallet(plan.pay_to)
        check_wallet(plan.asset)
        numbers = (plan.trial_ms, plan.grace_ms)
        if not 0 < plan.price < 2**63 or min(numbers) < 0 or not plan.id or len(plan.id) > 64:
            raise PaymentError(
                "INVALID_PARAMETERS", f"plan {abbr(plan.id)}: price, trial, grace or id cannot be"
            )
        if (plan.quota is not None and plan.quota < 0) or (
            plan.max_charges is not None and plan.max_charges < 1
        ):
            raise PaymentError(
                "INVALID_PARAMETERS", f"plan {plan.id}: quota or number of charges cannot be"
            )
        values = {
            k: getattr(plan, k)
            for k in (*_TERMS, "name", "description", "trial_ms", "open", "address")
        }
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
                connection, self.tenant, now, "merchant", "plan.offered", plan.id, price=plan.price
            )

        self.run(work)
        return plan

    def set_plan_open(self, plan_id: str, is_open: bool) -> None:
        """Takes new subscribers, or no more. Nothing changes for whoever is subscribed."""

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

    def plans(self, *, open_only: bool = True) -> list[Plan]:
        """The plans, the cheapest first."""
        wanted = select(plan_table).where(plan_table.c.tenant == self.tenant)
        if open_only:
            wanted = wanted.where(plan_table.c.open)
        wanted = wanted.order_by(plan_table.c.price, plan_table.c.id)
        return [_plan(r) for r in self.run(lambda c, _: c.execute(wanted).all())]

    def plan(self, plan_id: str) -> Plan:
        """The plan of that id. Raises PaymentError (PLAN_NOT_FOUND)."""
        return self.run(lambda c, _: self.plan_in(c, plan_id))

    def plan_in(self, connection: Connection, plan_id: str, *, lock: bool = False) -> Plan:
        """The same, in an open transaction; *lock* makes others who lock it wait."""
        wanted = select(plan_table).where(
            plan_table.c.tenant == self.tenant, plan_table.c.id == plan_id
        )
        row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
        if row is None:
            raise _no_plan(plan_id)
        return _plan(row)

    # -- subscriptions ------------------------------------------------------------------------------------------------

    def get(self, subscription_id: str) -> Subscription:
        """The subscription of that id. Raises PaymentError (SUBSCRIPTION_NOT_FOUND)."""
        return self.run(lambda c, _: self.get_in(c, subscription_id))

    def get_in(
        self, connection: Connection, subscription_id: str, *, lock: bool = False
    ) -> Subscription:
        """The same, in an open transaction; *lock* makes others who lock it wait."""
        wanted = select(table).where(table.c.tenant == self.tenant, table.c.id == subscription_id)
        row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
        if row is None:
            raise PaymentError(
                "SUBSCRIPTION_NOT_FOUND", f"there is no subscription {abbr(subscription_id)}"
            )
        return _subscription(row)

    def of(self, subscriber: str) -> list[Subscription]:
        """All subscriptions of a wallet, the newest first."""
        wanted = select(table).where(
            table.c.tenant == self.tenant, table.c.subscriber == subscriber
        )
        wanted = wanted.order_by(table.c.created_ms.desc(), table.c.id)
        return [_subscription(r) for r in self.run(lambda c, _: c.execute(wanted).all())]

    def newest(self, limit: int = 100) -> list[Subscription]:
        """The newest of all wallets."""
        wanted = select(table).where(table.c.tenant == self.tenant)
        wanted = wanted.order_by(table.c.created_ms.desc(), table.c.id).limit(limit)
        return [_subscription(r) for r in self.run(lambda c, _: c.execute(wanted).all())]

    def on_chain(self) -> list[Subscription]:
        """Those that mirror an account and may still change there."""
        wanted = select(table).where(
            table.c.tenant == self.tenant,
            table.c.address.is_not(None),
            table.c.cancelled_ms.is_(None),
        )
        return [_subscription(r) for r in self.run(lambda c, _: c.execute(wanted).all())]

    def opened_by(self, mark: str) -> Subscription | None:
        """The subscription that this payment or proof made."""
        wanted = select(table).where(table.c.tenant == self.tenant, table.c.opened_by == mark)
        row = self.run(lambda c, _: c.execute(wanted).one_or_none())
        return None if row is None else _subscription(row)

    def try_out(self, plan_id: str, subscriber: str, mark: str) -> Subscription:
        """Starts the plan's free trial. *mark* names the proof that asked for it: a repeat gets the same subscription.

        Raises PaymentError: INVALID_PARAMETERS where the plan has no trial, is closed, or this wallet had one of this
        plan before."""

        def work(connection: Connection, _again: bool) -> Subscription:
            plan = self.plan_in(connection, plan_id, lock=True)
            known = self._marked(connection, mark)
            if known is not None:
                return known
            if not plan.open or not plan.trial_ms:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    f"plan {plan_id} has no free trial, or takes no subscribers",
                )
            had = select(table.c.id).where(
                table.c.tenant == self.tenant,
                table.c.subscriber == subscriber,
                table.c.plan_id == plan_id,
            )
            if connection.execute(had).first() is not None:
                raise PaymentError(
                    "INVALID_PARAMETERS", f"this wallet has subscribed to plan {plan_id} before"
                )
            now = self.now(connection)
            due = now + plan.trial_ms
            return self._open(
                connection, plan, subscriber, mark, now, anchor=due, start=now, due=due, charges=0
            )

        return self.run(work)

    def pay(self, plan_id: str, subscriber: str, mark: str, signature: str) -> Subscription:
        """Books a payment of the plan's price that landed as *signature*: opens a subscription, or pays the next period
        of the one that this wallet has. *mark*, the payment's id, is booked once.

        A cancelled or expired one stays so: the payment opens another."""

        def work(connection: Connection, _again: bool) -> Subscription:
            plan = self.plan_in(
                connection, plan_id, lock=True
            )  # two payments of one wallet queue here
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
                connection, plan, subscriber, mark, now, anchor=now, start=now, due=due, charges=1
            )
            self._enter_charge(connection, made.id, 1, plan.price, now, due, now, mark, signature)
            return made

        return self.run(work)

    def change(self, subscription_id: str, plan_id: str) -> Subscription:
        """Agrees to the terms of another plan of the same mint, from the next charge on. Raises PaymentError."""

        def work(connection: Connection, _again: bool) -> Subscription:
            plan = self.plan_in(connection, plan_id)
            current = self.get_in(connection, subscription_id, lock=True)
            now = self.now(connection)
            self._must_live(current, now)
            if current.address is not None or plan.address is not None:
                raise PaymentError(
                    "INVALID_PARAMETERS",
                    "a subscription on chain is changed by the subscriber there",
                )
            if (plan.asset, plan.network) != (current.asset, current.network) or not plan.open:
                raise PaymentError(
                    "INVALID_PARAMETERS", f"plan {plan_id} is closed, or priced in another token"
                )
            if self._in_flight(connection, current.id):
                raise PaymentError(
                    "RATE_LIMITED",
                    f"subscription {current.id} is being charged: ask again in a minute",
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
            self._tell(connection, now, "subscription.changed", changed)
            return changed

        return self.run(work)

    def cancel(self, subscription_id: str, actor: str) -> Subscription:
        """Cancels: what is paid stays paid and goes on being granted, nothing more is charged. Twice is once.

        Raises PaymentError: SUBSCRIPTION_NOT_FOUND; SUBSCRIPTION_EXPIRED for one that has ended already."""

        def work(connection: Connection, _again: bool) -> Subscription:
            current = self.get_in(connection, subscription_id, lock=True)
            if current.cancelled_ms is not None:
                return current
            now = self.now(connection)
            self._must_live(current, now)
            # A charge that is out may land yet: the worker looks once more, to book it.
            later = now if self._in_flight(connection, current.id) else None
            self.set(connection, current.id, now, cancelled_ms=now, next_try_ms=later)
            record_action(connection, self.tenant, now, actor, "subscription.cancelled", current.id)
            cancelled = replace(current, cancelled_ms=now, next_try_ms=later)
            self._tell(connection, now, "subscription.cancelled", cancelled)
            return cancelled

        return self.run(work)

    # -- quotas -------------------------------------------------------------------------------------------------------

    def usable(self, subscriber: str, plan_ids: tuple[str, ...]) -> Subscription | None:
        """A subscription of that wallet which grants calls of one of these plans now; one with calls left if there is
        one."""

        def work(connection: Connection, _again: bool) -> Subscription | None:
            wanted = select(table).where(
                table.c.tenant == self.tenant,
                table.c.subscriber == subscriber,
                table.c.plan_id.in_(plan_ids),
            )
            now, best = self.now(connection), None
            for row in connection.execute(wanted.order_by(table.c.created_ms)).all():
                found = _subscription(row)
                if not found.grants(now):
                    continue
                if (
                    found.quota is None
                    or self._used(connection, found, found.quota_period(now)) < found.quota
                ):
                    return found
                best = found
            return best

        return self.run(work)

    def use(
        self, connection: Connection, subscription_id: str
    ) -> tuple[int, int, int | None] | None:
        """Counts one call, in the caller's transaction: (the period's start, used, quota). None: nothing is granted.

        The subscription's row is the lock that calls of all replicas queue at."""
        found = self.get_in(connection, subscription_id, lock=True)
        now = self.now(connection)
        if not found.grants(now):
            return None
        start = found.quota_period(now)
        used = self._used(connection, found, start)
        if found.quota is not None and used >= found.quota:
            return None
        key = {"tenant": self.tenant, "subscription_id": found.id, "period_from_ms": start}
        if used or self._has_usage(connection, key):
            its = self._usage(found.id, start)
            connection.execute(update(usages).where(its).values(used=usages.c.used + 1))
        else:
            connection.execute(insert(usages).values(**key, used=1))
        return start, used + 1, found.quota

    def give_back(self, connection: Connection, subscription_id: str, period_from_ms: int) -> None:
        """Takes one call back that certainly did nothing, in the caller's transaction."""
        its = self._usage(subscription_id, period_from_ms) & (usages.c.used > 0)
        connection.execute(update(usages).where(its).values(used=usages.c.used - 1))

    def used(self, subscription: Subscription) -> int:
        """Calls counted in the period that runs now."""

        def work(connection: Connection, _again: bool) -> int:
            return self._used(
                connection, subscription, subscription.quota_period(self.now(connection))
            )

        return self.run(work)

    def _usage(self, subscription_id: str, start: int) -> Any:
        return (
            (usages.c.tenant == self.tenant)
            & (usages.c.subscription_id == subscription_id)
            & (usages.c.period_from_ms == start)
        )

    def _used(self, connection: Connection, subscription: Subscription, start: int) -> int:
        found = connection.execute(
            select(usages.c.used).where(self._usage(subscription.id, start))
        ).scalar()
        return int(found or 0)

    def _has_usage(self, connection: Connection, key: dict[str, Any]) -> bool:
        its = self._usage(key["subscription_id"], key["period_from_ms"])
        return bool(
            connection.execute(select(func.count()).select_from(usages).where(its)).scalar()
        )

    # -- pieces that charging and mirroring use too -------------------------------------------------------------------

    def set(self, connection: Connection, subscription_id: str, now_ms: int, **values: Any) -> None:
        """Changes the row, in the caller's transaction."""
        its = update(table).where(table.c.tenant == self.tenant, table.c.id == subscription_id)
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
        """Books a charge that landed for the period from *start* to *end*, in the caller's transaction: the one place
        that moves a subscription on. With a change of plan agreed to, its terms hold from now on, unless *switch* is
        False. *enter* False: the charge has its row already."""
        values: dict[str, Any] = {
            "period_from_ms": current.period_from_ms
            if current.due_ms and now_ms < current.due_ms
            else start,
            "due_ms": end,
            "charges": current.charges + 1,
            "tries": 0,
            "error": None,
        }
        amount = current.price
        if switch and current.next_plan_id is not None:
            plan = self.plan_in(connection, current.next_plan_id)

            end = boundary(plan.period, start, 1)
            values |= {k: getattr(plan, k) for k in _TERMS}
            values |= {"plan_id": plan.id, "next_plan_id": None, "anchor_ms": start, "due_ms": end}
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
                connection, current.id, number, amount, start, end, now_ms, mark, signature
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
        self._tell(
            connection,
            now_ms,
            "subscription.charged",
            replace(later, period_from_ms=start),
            amount=str(amount),
            transaction=signature,
        )

    def next_number(self, connection: Connection, subscription_id: str) -> int:
        """The number of the charge that comes after those on record."""
        last = select(func.max(charges.c.number)).where(
            charges.c.tenant == self.tenant, charges.c.subscription_id == subscription_id
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

    def charges_of(self, subscription_id: str) -> list[dict[str, Any]]:
        """Its charges, the first first: number, amount, state, signature, period_from_ms, period_to_ms."""
        columns = ("number", "amount", "state", "signature", "period_from_ms", "period_to_ms")
        wanted = (
            select(*(charges.c[name] for name in columns))
            .where(charges.c.tenant == self.tenant, charges.c.subscription_id == subscription_id)
            .order_by(charges.c.number)
        )
        return [dict(r._mapping) for r in self.run(lambda c, _: c.execute(wanted).all())]

    def mirror(self, plan: Plan, values: dict[str, Any]) -> Subscription:
        """Writes what an account on chain says (onchain.py): the row is made or brought up to date."""
        address = values["address"]

        def work(connection: Connection, _again: bool) -> Subscription:
            now = self.now(connection)
            wanted = select(table).where(table.c.tenant == self.tenant, table.c.id == address)
            row = connection.execute(wanted.with_for_update()).one_or_none()
            if row is None:
                terms = {"quota": plan.quota, "plan_id": plan.id}
                made = {
                    **terms,
                    **values,
                    "tenant": self.tenant,
                    "id": address,
                    "opened_by": address,
                }
                made |= {"auto_renew": True, "tries": 0, "created_ms": now, "touched_ms": now}
                connection.execute(insert(table).values(made))
                record_action(
                    connection,
                    self.tenant,
                    now,
                    values["subscriber"],
                    "subscription.opened",
                    address,
                    plan=plan.id,
                )
                found = self.get_in(connection, address)
                self._tell(connection, now, "subscription.opened", found)
                return found
            before = _subscription(row)
            if before.due_ms == values["due_ms"] and values["cancelled_ms"] is None:
                values.pop("next_try_ms")  # as the worker left it
            self.set(connection, address, now, **values, plan_id=plan.id, quota=plan.quota)
            after = self.get_in(connection, address)
            if before.cancelled_ms is None and after.cancelled_ms is not None:
                self._tell(connection, now, "subscription.cancelled", after)
            elif after.charges != before.charges or after.period_from_ms != before.period_from_ms:
                self._tell(connection, now, "subscription.charged", after, amount=str(after.price))
            return after

        return self.run(work)

    def _open(
        self,
        connection: Connection,
        plan: Plan,
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
            **{name: getattr(plan, name) for name in _TERMS},
            anchor_ms=anchor,
            period_from_ms=start,
            due_ms=due,
            charges=charges,
            opened_by=mark,
            created_ms=now,
        )
        made = replace(made, next_try_ms=due)
        row = {name: getattr(made, name) for name in Subscription.__dataclass_fields__}
        connection.execute(insert(table).values(**row, tenant=self.tenant, touched_ms=now))
        record_action(
            connection, self.tenant, now, subscriber, "subscription.opened", made.id, plan=plan.id
        )
        self._tell(connection, now, "subscription.opened", made)
        return made

    def _marked(self, connection: Connection, mark: str) -> Subscription | None:
        wanted = select(table).where(table.c.tenant == self.tenant, table.c.opened_by == mark)
        row = connection.execute(wanted).one_or_none()
        return None if row is None else _subscription(row)

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
            found = _subscription(row)
            if found.state(now) in ("pending", "active", "past_due") and found.due_ms is not None:
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
                "SUBSCRIPTION_EXPIRED", f"subscription {current.id} is {state}: subscribe anew"
            )

    def _tell(
        self, connection: Connection, now: int, kind: str, about: Subscription, **more: Any
    ) -> None:
        data = {
            "subscriptionId": about.id,
            "planId": about.plan_id,
            "subscriber": about.subscriber,
            "status": about.state(now),
            **more,
        }
        emit(connection, self.tenant, now, kind, data)


def _no_plan(plan_id: object) -> PaymentError:
    return PaymentError(
        "PLAN_NOT_FOUND",
        f"there is no plan {abbr(plan_id)}; list_subscriptions names those there are",
    )


def _plan(row: Any) -> Plan:
    names = (n for n in Plan.__dataclass_fields__ if n != "features")
    return Plan(**{n: getattr(row, n) for n in names}, features=tuple(orjson.loads(row.features)))


def _subscription(row: Any) -> Subscription:
    return Subscription(**{name: getattr(row, name) for name in Subscription.__dataclass_fields__})

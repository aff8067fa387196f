"""Reading a merchant's subscriptions, and counting calls against their quotas, in SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.store.rows import one_row, values_of
from mcpsol_py.x402.store.schema import charges, usages
from mcpsol_py.x402.store.schema import subscriptions as table
from mcpsol_py.x402.subscriptions.plan_store import PlanStore
from mcpsol_py.x402.subscriptions.terms import Subscription

__all__ = ["QuotaStore", "subscription_of"]


class QuotaStore(PlanStore):
    """A merchant's subscriptions, to read, and the calls that they grant."""

    # -- reading

    def get(self, subscription_id: str) -> Subscription:
        """Return the subscription of that id. Raises PaymentError (SUBSCRIPTION_NOT_FOUND)."""
        return self.run(lambda c, _: self.get_in(c, subscription_id))

    def get_in(
        self, connection: Connection, subscription_id: str, *, lock: bool = False
    ) -> Subscription:
        """Return it in an open transaction. *lock*: lock its row until the transaction ends."""
        wanted = select(table).where(
            table.c.tenant == self.tenant, table.c.id == subscription_id
        )
        found = one_row(connection, wanted, subscription_of, lock=lock)
        if found is None:
            raise PaymentError(
                "SUBSCRIPTION_NOT_FOUND",
                f"subscription {abbr(subscription_id)} does not exist",
            )
        return found

    def of(self, subscriber: str) -> list[Subscription]:
        """Return all subscriptions of a wallet, newest first."""
        wanted = select(table).where(
            table.c.tenant == self.tenant, table.c.subscriber == subscriber
        )
        wanted = wanted.order_by(table.c.created_ms.desc(), table.c.id)
        return self.database.fetch_all(wanted, subscription_of, self.tenant)

    def newest(self, limit: int = 100) -> list[Subscription]:
        """Return the newest subscriptions of all wallets."""
        wanted = select(table).where(table.c.tenant == self.tenant)
        wanted = wanted.order_by(table.c.created_ms.desc(), table.c.id).limit(limit)
        return self.database.fetch_all(wanted, subscription_of, self.tenant)

    def on_chain(self) -> list[Subscription]:
        """Return the subscriptions that mirror an account and may still change there."""
        wanted = select(table).where(
            table.c.tenant == self.tenant,
            table.c.address.is_not(None),
            table.c.cancelled_ms.is_(None),
        )
        return self.database.fetch_all(wanted, subscription_of, self.tenant)

    def opened_by(self, mark: str) -> Subscription | None:
        """Return the subscription that this payment or proof opened."""
        wanted = select(table).where(
            table.c.tenant == self.tenant, table.c.opened_by == mark
        )
        return self.database.fetch_one(wanted, subscription_of, self.tenant)

    def charges_of(self, subscription_id: str) -> list[dict[str, Any]]:
        """Return its charges, oldest first.

        Each has number, amount, state, signature, period_from_ms and period_to_ms.
        """
        columns = (
            "number",
            "amount",
            "state",
            "signature",
            "period_from_ms",
            "period_to_ms",
        )
        wanted = (
            select(*(charges.c[name] for name in columns))
            .where(
                charges.c.tenant == self.tenant,
                charges.c.subscription_id == subscription_id,
            )
            .order_by(charges.c.number)
        )
        return self.database.fetch_all(
            wanted, lambda row: dict(row._mapping), self.tenant
        )

    # -- quotas

    def usable(self, subscriber: str, plan_ids: tuple[str, ...]) -> Subscription | None:
        """Return a subscription of that wallet that grants calls of one of these plans now.

        One with calls left is preferred.
        """

        def work(connection: Connection, _again: bool) -> Subscription | None:
            wanted = select(table).where(
                table.c.tenant == self.tenant,
                table.c.subscriber == subscriber,
                table.c.plan_id.in_(plan_ids),
            )
            now, best = self.now(connection), None
            for row in connection.execute(wanted.order_by(table.c.created_ms)).all():
                found = subscription_of(row)
                if not found.grants(now):
                    continue
                if found.quota is None:
                    return found
                if self._used(connection, found, found.quota_period(now)) < found.quota:
                    return found
                best = found
            return best

        return self.run(work)

    def use(
        self, connection: Connection, subscription_id: str
    ) -> tuple[int, int, int | None] | None:
        """Count one call in the caller's transaction. Return (start of the period, used, quota),
        None if not granted.

        The subscription's row is locked, so that the calls of all replicas are counted one after
        the other.
        """
        found = self.get_in(connection, subscription_id, lock=True)
        now = self.now(connection)
        if not found.grants(now):
            return None
        start = found.quota_period(now)
        used = self._used(connection, found, start)
        if found.quota is not None and used >= found.quota:
            return None
        key = {
            "tenant": self.tenant,
            "subscription_id": found.id,
            "period_from_ms": start,
        }
        if used or self._has_usage(connection, key):
            its = self._usage(found.id, start)
            connection.execute(update(usages).where(its).values(used=usages.c.used + 1))
        else:
            connection.execute(insert(usages).values(**key, used=1))
        return start, used + 1, found.quota

    def give_back(
        self, connection: Connection, subscription_id: str, period_from_ms: int
    ) -> None:
        """Uncount one call that certainly did nothing, in the caller's transaction."""
        its = self._usage(subscription_id, period_from_ms) & (usages.c.used > 0)
        connection.execute(update(usages).where(its).values(used=usages.c.used - 1))

    def used(self, subscription: Subscription) -> int:
        """Return how many calls were counted in the current period."""

        def work(connection: Connection, _again: bool) -> int:
            return self._used(
                connection,
                subscription,
                subscription.quota_period(self.now(connection)),
            )

        return self.run(work)

    def _usage(self, subscription_id: str, start: int) -> Any:
        return (
            (usages.c.tenant == self.tenant)
            & (usages.c.subscription_id == subscription_id)
            & (usages.c.period_from_ms == start)
        )

    def _used(
        self, connection: Connection, subscription: Subscription, start: int
    ) -> int:
        found = connection.execute(
            select(usages.c.used).where(self._usage(subscription.id, start))
        ).scalar()
        return int(found or 0)

    def _has_usage(self, connection: Connection, key: dict[str, Any]) -> bool:
        its = self._usage(key["subscription_id"], key["period_from_ms"])
        return bool(
            connection.execute(
                select(func.count()).select_from(usages).where(its)
            ).scalar()
        )


def subscription_of(row: Any) -> Subscription:
    """Return the subscription in a row of the table."""
    return Subscription(**values_of(row, Subscription.__dataclass_fields__))

"""Charge due subscriptions: each period once, no matter which worker runs this and where it stops.

A charge is a row before it is a transaction. One worker claims it, signs it (the bytes are stored
before they are sent), and waits until it landed. Another worker takes over after a crash, with the
same bytes, which the chain executes once. A new transaction is signed only after the old one can
certainly no longer land.

Off chain, the subscriber approves the merchant's collector as SPL delegate of a token account. On
chain, the payment program moves the tokens when asked, by anyone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from sqlalchemy import Connection, delete, insert, select, update

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
)
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.settle import Settlement, SettlementStore, reconcile
from mcpsol_py.x402.exact.transaction import (
    associated_token_address,
    compute_unit_limit,
    compute_unit_price,
    memo,
    message_hash,
)
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.schema import charges
from mcpsol_py.x402.store.schema import subscriptions as table
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import Subscription

__all__ = ["Charging", "Collector", "DelegatedCollector", "OnChainCollector"]

#: Milliseconds to wait after the first, second, … failed try. The last one repeats until the grace
#: ends.
BACKOFF_MS = (60_000, 300_000, 1_800_000, 7_200_000, 21_600_000)
#: Reasons after which a charge may still land: it was sent, or another worker waits for it.
_MAY_LAND = ("settlement_pending", "duplicate_settlement")


class Collector(Protocol):
    """Builds the transaction of one charge."""

    def build(
        self, subscription: Subscription, amount: int, label: str
    ) -> VersionedTransaction:
        """Return it signed. *label* identifies the charge. Raises PaymentError, ChainUnavailable."""


class DelegatedCollector:
    """Takes the price from the subscriber's ATA as its delegate, *key*, which also pays the fee."""

    def __init__(self, chain: PaymentChain, key: Keypair) -> None:
        self._chain, self._key, self._mints = chain, key, Mints(chain)

    @property
    def address(self) -> str:
        """The delegate that subscribers approve."""
        return str(self._key.pubkey())

    def build(
        self, subscription: Subscription, amount: int, label: str
    ) -> VersionedTransaction:
        """See Collector."""
        program, decimals = self._mints.payable(
            subscription.asset, amount, to=subscription.pay_to
        )
        mint = Pubkey.from_string(subscription.asset)
        source, destination = (
            associated_token_address(Pubkey.from_string(owner), mint, program)
            for owner in (subscription.subscriber, subscription.pay_to)
        )
        accounts = [
            AccountMeta(source, False, True),
            AccountMeta(mint, False, False),
            AccountMeta(destination, False, True),
            AccountMeta(self._key.pubkey(), True, False),
        ]
        data = b"\x0c" + amount.to_bytes(8, "little") + bytes([decimals])
        return _signed(
            self._chain, self._key, Instruction(program, data, accounts), memo(label)
        )


class OnChainCollector:
    """Asks the payment program to charge. *key* pays the fee."""

    def __init__(self, on_chain: OnChain, key: Keypair) -> None:
        self._on_chain, self._key = on_chain, key

    def build(
        self, subscription: Subscription, amount: int, label: str
    ) -> VersionedTransaction:
        """See Collector."""
        return _signed(
            self._on_chain.chain,
            self._key,
            self._on_chain.charge_instruction(subscription),
            memo(label),
            units=120_000,
        )


def _signed(
    chain: PaymentChain, key: Keypair, *instructions: Instruction, units: int = 40_000
) -> VersionedTransaction:
    blockhash = chain.latest_blockhash()
    listed = [compute_unit_limit(units), compute_unit_price(1), *instructions]
    return VersionedTransaction(
        MessageV0.try_compile(key.pubkey(), listed, [], blockhash), [key]
    )


@dataclass(frozen=True, slots=True)
class _Charge:
    number: int
    amount: int
    owner: str
    wire: bytes | None = field(repr=False)


class Charging:
    """Charges the due subscriptions of *store*.

    *collectors*: by network, for subscriptions off chain. *on_chain*: by network, for those on
    chain. *lease*: after so many seconds without progress, another worker takes a charge over.
    *fault* is called with the name of each step, for tests that stop there.
    """

    def __init__(
        self,
        store: SubscriptionStore,
        settlements: SettlementStore,
        chains: Mapping[str, PaymentChain],
        collectors: Mapping[str, Collector],
        *,
        on_chain: Mapping[str, tuple[OnChain, Collector]] | None = None,
        lease: float = 120.0,
        timeout: float = 30.0,
        poll: float = 0.5,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._store, self._settlements = store, settlements
        self._chains, self._collectors, self._on_chain = (
            chains,
            collectors,
            on_chain or {},
        )
        self._lease_ms, self._timeout, self._poll = int(lease * 1000), timeout, poll
        self._fault = fault

    def run_due(self, limit: int = 100) -> int:
        """Charge up to *limit* due subscriptions, one after the other. Return how many charges
        landed.
        """
        landed = 0
        for _ in range(limit):
            claimed = self._store.run(self._claim)
            if claimed is None:
                break
            subscription, charge = claimed
            if charge is not None:
                self._fault("charge.claimed")
                landed += self._charge(subscription, charge)
        return landed

    # -- claiming ----------------------------------------------------------------------------------

    def _claim(
        self, connection: Connection, _again: bool
    ) -> tuple[Subscription, _Charge | None] | None:
        """Claim the charge of the next due subscription for a lease. None if no subscription is
        due.

        The charge is None if there is nothing to do now. Rows that another worker has locked are
        skipped.
        """
        store, now = self._store, self._store.now(connection)
        due = (
            select(table.c.id)
            .where(table.c.tenant == store.tenant, table.c.next_try_ms <= now)
            .order_by(table.c.next_try_ms)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        found = connection.execute(due).scalar()
        if found is None:
            return None
        subscription = store.get_in(connection, found)
        started = self._started(connection, subscription, now)
        if started is None and not subscription.chargeable(now):
            self._put_off(connection, subscription, now)
            return subscription, None
        if (
            started is not None
            and started.owner
            and started.touched_ms > now - self._lease_ms
        ):
            store.set(
                connection, found, now, next_try_ms=started.touched_ms + self._lease_ms
            )
            return subscription, None
        store.set(connection, found, now, next_try_ms=now + self._lease_ms)
        if started is not None:
            return subscription, self._take_over(connection, found, started, now)
        return subscription, self._begin(connection, subscription, now)

    def _started(
        self, connection: Connection, subscription: Subscription, now: int
    ) -> Any:
        """Return the row of a charge that was claimed or signed, None if there is none."""
        its = self._its(subscription.id)
        row = connection.execute(
            select(charges).where(its, charges.c.state.in_(("claimed", "signed")))
        ).one_or_none()
        if row is None or row.state == "signed" or subscription.chargeable(now):
            return row
        # Nothing was signed, and meanwhile the subscriber paid or cancelled.
        connection.execute(delete(charges).where(its, charges.c.number == row.number))
        return None

    def _take_over(
        self, connection: Connection, subscription_id: str, started: Any, now: int
    ) -> _Charge:
        owner = str(uuid.uuid4())
        its = self._its(subscription_id) & (charges.c.number == started.number)
        connection.execute(
            update(charges).where(its).values(owner=owner, touched_ms=now)
        )
        wire = None if started.wire is None else bytes(started.wire)
        return _Charge(int(started.number), int(started.amount), owner, wire)

    def _begin(
        self, connection: Connection, subscription: Subscription, now: int
    ) -> _Charge:
        store, owner = self._store, str(uuid.uuid4())
        amount = subscription.price
        if subscription.next_plan_id is not None:
            amount = store.plan_in(connection, subscription.next_plan_id).price
        number = store.next_number(connection, subscription.id)
        row = {
            "tenant": store.tenant,
            "subscription_id": subscription.id,
            "number": number,
            "amount": amount,
            "state": "claimed",
            "owner": owner,
            "created_ms": now,
            "touched_ms": now,
        }
        connection.execute(insert(charges).values(row))
        return _Charge(number, amount, owner, None)

    def _its(self, subscription_id: str) -> Any:
        return (charges.c.tenant == self._store.tenant) & (
            charges.c.subscription_id == subscription_id
        )

    def _put_off(
        self, connection: Connection, subscription: Subscription, now: int
    ) -> None:
        """Wait until the subscription is due, or announce that it has expired."""
        state = subscription.state(now)
        later = None if state in ("expired", "cancelled") else subscription.due_ms
        self._store.set(connection, subscription.id, now, next_try_ms=later)
        if state == "expired":
            record_action(
                connection,
                self._store.tenant,
                now,
                "worker",
                "subscription.expired",
                subscription.id,
            )
            self._store.announce(connection, now, "subscription.expired", subscription)

    # -- one charge --------------------------------------------------------------------------------

    def _charge(self, subscription: Subscription, charge: _Charge) -> bool:
        """Bring a claimed charge to its end. Return True if it landed and was booked here."""
        chain = self._chains.get(subscription.network)
        if chain is None:
            return self._failed(
                subscription,
                charge,
                f"no cluster is configured for {subscription.network}",
            )
        try:
            wire = charge.wire or self._sign(chain, subscription, charge)
            if wire is None:
                return False
            self._fault("charge.signed")
            transaction = VersionedTransaction.from_bytes(wire)
            key, signature = message_hash(transaction), str(transaction.signatures[0])
            self._settlements.claim(
                Settlement(key, signature, subscription.subscriber, wire, "pending")
            )
            self._fault("charge.recorded")
            reconcile(
                chain, self._settlements, key, timeout=self._timeout, poll=self._poll
            )
        except PaymentError as error:
            if error.code in _MAY_LAND:
                return self._wait(subscription, charge, str(error))
            return self._failed(subscription, charge, str(error))
        except (ChainUnavailable, ChainRejected) as error:
            return self._wait(
                subscription, charge, f"the cluster did not answer ({error})"
            )
        self._fault("charge.landed")
        booked = self._store.run(
            lambda connection, again: self._land(
                connection, subscription, charge, key, signature
            )
        )
        self._fault("charge.booked")
        return booked

    def _sign(
        self, chain: PaymentChain, subscription: Subscription, charge: _Charge
    ) -> bytes | None:
        """Build, simulate and store the transaction. None if there is nothing to send any more."""
        collector = self._collector(subscription, charge)
        if collector is None:
            return None
        label = f"{subscription.id}#{charge.number}"
        transaction = collector.build(subscription, charge.amount, label)
        error = chain.simulation_error(transaction)
        if error is not None:
            raise PaymentError(
                "transaction_simulation_failed",
                f"the charge would fail on chain: {error}",
            )
        wire = bytes(transaction)
        values = {
            "state": "signed",
            "wire": wire,
            "payment_key": message_hash(transaction),
            "signature": str(transaction.signatures[0]),
        }

        def keep(connection: Connection, again: bool) -> bool:
            """False if another worker has taken the charge over."""
            its = self._mine(
                subscription, charge, ("claimed", "signed") if again else ("claimed",)
            )
            now = self._store.now(connection)
            kept = update(charges).where(its).values(**values, touched_ms=now)
            return connection.execute(kept).rowcount == 1

        return wire if self._store.run(keep) else None

    def _collector(
        self, subscription: Subscription, charge: _Charge
    ) -> Collector | None:
        """Return the collector of a subscription, None if the charge turned out not to be due."""
        if subscription.address is None:
            if subscription.network not in self._collectors:
                raise PaymentError(
                    "INTERNAL_ERROR", "charges by delegation are not configured"
                )
            return self._collectors[subscription.network]
        known = self._on_chain.get(subscription.network)
        if known is None:
            raise PaymentError("INTERNAL_ERROR", "charges on chain are not configured")
        on_chain, collector = known
        current = on_chain.refresh(self._store, subscription, now=True)
        if current.due_ms != subscription.due_ms or current.cancelled_ms is not None:
            # Another party charged, or the subscriber cancelled.
            self._drop(subscription, charge)
            return None
        return collector

    def _mine(
        self, subscription: Subscription, charge: _Charge, states: tuple[str, ...]
    ) -> Any:
        return (
            self._its(subscription.id)
            & (charges.c.number == charge.number)
            & (charges.c.owner == charge.owner)
            & charges.c.state.in_(states)
        )

    def _land(
        self,
        connection: Connection,
        subscription: Subscription,
        charge: _Charge,
        key: str,
        signature: str,
    ) -> bool:
        """Book the charge and extend the subscription, in one transaction. False if another worker
        did.
        """
        store, now = self._store, self._store.now(connection)
        current = store.get_in(connection, subscription.id, lock=True)
        start, end = current.next_period(now)
        values = {
            "state": "landed",
            "period_from_ms": start,
            "period_to_ms": end,
            "touched_ms": now,
        }
        its = (
            self._its(subscription.id)
            & (charges.c.number == charge.number)
            & (charges.c.state == "signed")
        )
        if (
            connection.execute(update(charges).where(its).values(**values)).rowcount
            != 1
        ):
            return False
        if current.address is not None:
            # The mirror reads the rest from the account, the next time.
            store.set(connection, current.id, now, next_try_ms=now, tries=0, error=None)
            record_action(
                connection,
                store.tenant,
                now,
                "worker",
                "subscription.charged",
                current.id,
                amount=charge.amount,
            )
        else:
            store.book_charge(
                connection,
                current,
                start,
                end,
                now,
                mark=key,
                signature=signature,
                enter=False,
            )
        return True

    # -- charges that did not land

    def _drop(self, subscription: Subscription, charge: _Charge) -> None:
        """Delete a charge that was not sent and is no longer due."""
        self._store.run(
            lambda c, _: c.execute(
                delete(charges).where(self._mine(subscription, charge, ("claimed",)))
            )
        )

    def _wait(self, subscription: Subscription, charge: _Charge, why: str) -> bool:
        """Keep a charge that may still land, for the next worker."""

        def work(connection: Connection, _again: bool) -> None:
            now = self._store.now(connection)
            its = self._mine(subscription, charge, ("claimed", "signed"))
            if connection.execute(
                update(charges).where(its).values(owner="", touched_ms=now)
            ).rowcount:
                self._store.set(
                    connection,
                    subscription.id,
                    now,
                    next_try_ms=now + 10_000,
                    error=why[:300],
                )

        self._store.run(work)
        return False

    def _failed(self, subscription: Subscription, charge: _Charge, why: str) -> bool:
        """Delete a charge that certainly did not land, and try again until the grace ends."""

        def work(connection: Connection, _again: bool) -> None:
            its = self._mine(subscription, charge, ("claimed", "signed"))
            if not connection.execute(delete(charges).where(its)).rowcount:
                return
            now = self._store.now(connection)
            current = self._store.get_in(connection, subscription.id, lock=True)
            wait = BACKOFF_MS[min(current.tries, len(BACKOFF_MS) - 1)]
            end = now if current.due_ms is None else current.due_ms + current.grace_ms
            # At the latest when the grace ends, to announce that it has expired.
            later = min(now + wait, max(end, now + 1))
            self._store.set(
                connection,
                current.id,
                now,
                tries=current.tries + 1,
                next_try_ms=later,
                error=why[:300],
            )
            record_action(
                connection,
                self._store.tenant,
                now,
                "worker",
                "charge.failed",
                current.id,
                why=why[:300],
            )
            if not current.tries:
                self._store.announce(
                    connection, now, "subscription.past_due", current, reason=why[:300]
                )

        self._store.run(work)
        return False

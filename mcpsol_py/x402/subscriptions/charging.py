"""Charging subscriptions that are due: each period once, whoever runs this, wherever it stops.

A charge is a row before it is a transaction: claimed by one worker, then signed (the bytes are kept before they are
sent), then landed. What a dead worker left is taken over with the same bytes, which the chain takes once. A new
transaction is signed only after the old one certainly cannot land any more.

Off chain the subscriber approved the merchant's collector as SPL delegate of the token account; on chain the payment
program moves the tokens, and anyone may ask it to.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from sqlalchemy import Connection, delete, insert, select, update

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainRejected, ChainUnavailable, PaymentChain
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
from mcpsol_py.x402.store.webhooks import emit
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionBook
from mcpsol_py.x402.subscriptions.terms import Subscription

__all__ = ["Charging", "Collector", "DelegatedCollector", "OnChainCollector"]

#: Milliseconds to the next try after the first, second, … that failed; then the last one again, while the grace lasts.
BACKOFF_MS = (60_000, 300_000, 1_800_000, 7_200_000, 21_600_000)


class Collector(Protocol):
    """Makes the transaction of one charge."""

    def build(self, subscription: Subscription, amount: int, label: str) -> VersionedTransaction:
        """Signed, ready to be sent. *label* names the charge. Raises PaymentError, ChainUnavailable."""


class DelegatedCollector:
    """Takes the price from the subscriber's associated token account, whose delegate *key* is; *key* pays the fee."""

    def __init__(self, chain: PaymentChain, key: Keypair) -> None:
        self._chain, self._key, self._mints = chain, key, Mints(chain)

    @property
    def address(self) -> str:
        """Whom subscribers approve."""
        return str(self._key.pubkey())

    def build(self, subscription: Subscription, amount: int, label: str) -> VersionedTransaction:
        """See Collector."""
        program, decimals = self._mints.get(subscription.asset)
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
        return _signed(self._chain, self._key, Instruction(program, data, accounts), memo(label))


class OnChainCollector:
    """Asks the payment program to charge; *key* pays the fee and signs nothing else."""

    def __init__(self, on_chain: OnChain, key: Keypair) -> None:
        self._on_chain, self._key = on_chain, key

    def build(self, subscription: Subscription, amount: int, label: str) -> VersionedTransaction:
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
    return VersionedTransaction(MessageV0.try_compile(key.pubkey(), listed, [], blockhash), [key])


@dataclass(frozen=True, slots=True)
class _Charge:
    number: int
    amount: int
    owner: str
    wire: bytes | None


class Charging:
    """Charges what is due in *book*. *collectors* by network; *on_chain* for subscriptions that stand there.

    *lease* seconds without a sign of life make a charge another worker's to finish. *fault* is called with the name of
    each step, for tests that stop there.
    """

    def __init__(
        self,
        book: SubscriptionBook,
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
        self._book, self._settlements = book, settlements
        self._chains, self._collectors, self._on_chain = chains, collectors, on_chain or {}
        self._lease_ms, self._timeout, self._poll, self._fault = (
            int(lease * 1000),
            timeout,
            poll,
            fault,
        )

    def run_due(self, limit: int = 100) -> int:
        """Charges up to *limit* subscriptions whose time has come, one after the other. Returns how many landed."""
        landed = 0
        for _ in range(limit):
            claimed = self._book.run(self._claim)
            if claimed is None:
                break
            subscription, charge = claimed
            if charge is not None:
                self._fault("charge.claimed")
                landed += self._charge(subscription, charge)
        return landed

    # -- claiming -----------------------------------------------------------------------------------------------------

    def _claim(
        self, connection: Connection, _again: bool
    ) -> tuple[Subscription, _Charge | None] | None:
        """The next subscription that is due, and its charge, which is ours for a lease. (subscription, None): looked
        at, nothing to charge. Workers pass over rows that another one has locked."""
        book, now = self._book, self._book.now(connection)
        due = (
            select(table.c.id)
            .where(table.c.tenant == book.tenant, table.c.next_try_ms <= now)
            .order_by(table.c.next_try_ms)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        found = connection.execute(due).scalar()
        if found is None:
            return None
        subscription = book.get_in(connection, found)
        standing = connection.execute(
            select(charges).where(self._its(found), charges.c.state.in_(("claimed", "signed")))
        ).one_or_none()
        if (
            standing is not None
            and standing.state == "claimed"
            and not subscription.chargeable(now)
        ):
            connection.execute(
                delete(charges).where(self._its(found), charges.c.number == standing.number)
            )
            standing = None  # nothing was signed, and meanwhile it was paid by hand or cancelled
        if standing is None and not subscription.chargeable(now):
            self._put_off(connection, subscription, now)
            return subscription, None
        if standing is not None and standing.owner and standing.touched_ms > now - self._lease_ms:
            book.set(connection, found, now, next_try_ms=standing.touched_ms + self._lease_ms)
            return subscription, None
        owner = str(uuid.uuid4())
        book.set(connection, found, now, next_try_ms=now + self._lease_ms)
        if standing is not None:
            its = update(charges).where(self._its(found), charges.c.number == standing.number)
            connection.execute(its.values(owner=owner, touched_ms=now))
            wire = None if standing.wire is None else bytes(standing.wire)
            return subscription, _Charge(int(standing.number), int(standing.amount), owner, wire)
        amount = subscription.price
        if subscription.next_plan_id is not None:
            amount = book.plan_in(connection, subscription.next_plan_id).price
        number = book.next_number(connection, found)
        row = {
            "tenant": book.tenant,
            "subscription_id": found,
            "number": number,
            "amount": amount,
            "state": "claimed",
            "owner": owner,
            "created_ms": now,
            "touched_ms": now,
        }
        connection.execute(insert(charges).values(row))
        return subscription, _Charge(number, amount, owner, None)

    def _its(self, subscription_id: str) -> Any:
        return (charges.c.tenant == self._book.tenant) & (
            charges.c.subscription_id == subscription_id
        )

    def _put_off(self, connection: Connection, subscription: Subscription, now: int) -> None:
        """Not chargeable now: the end is told, or the next look is when it is due."""
        state = subscription.state(now)
        later = None if state in ("expired", "cancelled") else subscription.due_ms
        self._book.set(connection, subscription.id, now, next_try_ms=later)
        if state == "expired":
            record_action(
                connection,
                self._book.tenant,
                now,
                "worker",
                "subscription.expired",
                subscription.id,
            )
            self._tell(connection, now, "subscription.expired", subscription)

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
        emit(connection, self._book.tenant, now, kind, data)

    # -- one charge ---------------------------------------------------------------------------------------------------

    def _charge(self, subscription: Subscription, charge: _Charge) -> bool:
        chain = self._chains.get(subscription.network)
        if chain is None:
            return self._failed(
                subscription, charge, f"no cluster for {subscription.network} is set up here"
            )
        try:
            wire = charge.wire
            if wire is None:
                wire = self._sign(chain, subscription, charge)
                if wire is None:
                    return False
            self._fault("charge.signed")
            transaction = VersionedTransaction.from_bytes(wire)
            key, signature = message_hash(transaction), str(transaction.signatures[0])
            self._settlements.claim(
                Settlement(key, signature, subscription.subscriber, wire, "pending")
            )
            self._fault("charge.recorded")
            reconcile(chain, self._settlements, key, timeout=self._timeout, poll=self._poll)
        except PaymentError as error:
            if error.code in (
                "settlement_pending",
                "duplicate_settlement",
            ):  # out, or another worker waits for it
                return self._wait(subscription, charge, str(error))
            return self._failed(subscription, charge, str(error))
        except (ChainUnavailable, ChainRejected) as error:
            return self._wait(subscription, charge, f"the cluster did not answer ({error})")
        self._fault("charge.landed")
        booked = self._book.run(
            lambda connection, again: self._land(connection, subscription, charge, key, signature)
        )
        self._fault("charge.booked")
        return booked

    def _sign(
        self, chain: PaymentChain, subscription: Subscription, charge: _Charge
    ) -> bytes | None:
        """Builds, tries and keeps the transaction. None: another worker has the charge now."""
        label = f"{subscription.id}#{charge.number}"
        if subscription.address is not None:
            known = self._on_chain.get(subscription.network)
            if known is None:
                raise PaymentError("INTERNAL_ERROR", "charges on chain are not set up here")
            on_chain, collector = known
            fresh = on_chain.refresh(self._book, subscription, now=True)
            if (
                fresh.due_ms != subscription.due_ms or fresh.cancelled_ms is not None
            ):  # somebody charged, or cancelled
                self._drop(subscription, charge)
                return None
        else:
            if subscription.network not in self._collectors:
                raise PaymentError("INTERNAL_ERROR", "charges by delegation are not set up here")
            collector = self._collectors[subscription.network]
        transaction = collector.build(subscription, charge.amount, label)
        error = chain.simulation_error(transaction)
        if error is not None:
            raise PaymentError(
                "transaction_simulation_failed", f"the charge would fail on chain: {error}"
            )
        wire = bytes(transaction)
        values = {
            "state": "signed",
            "wire": wire,
            "payment_key": message_hash(transaction),
            "signature": str(transaction.signatures[0]),
        }

        def keep(connection: Connection, again: bool) -> bool:
            its = self._mine(subscription, charge, ("claimed", "signed") if again else ("claimed",))
            now = self._book.now(connection)
            return (
                connection.execute(
                    update(charges).where(its).values(**values, touched_ms=now)
                ).rowcount
                == 1
            )

        return wire if self._book.run(keep) else None

    def _mine(self, subscription: Subscription, charge: _Charge, states: tuple[str, ...]) -> Any:
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
        """Books the charge and moves the subscription on, in one transaction: whoever gets here first."""
        book, now = self._book, self._book.now(connection)
        current = book.get_in(connection, subscription.id, lock=True)
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
        if connection.execute(update(charges).where(its).values(**values)).rowcount != 1:
            return False
        if (
            current.address is not None
        ):  # the mirror takes the rest from the account at its next reading
            book.set(connection, current.id, now, next_try_ms=now, tries=0, error=None)
            record_action(
                connection,
                book.tenant,
                now,
                "worker",
                "subscription.charged",
                current.id,
                amount=charge.amount,
            )
        else:
            book.book_charge(
                connection, current, start, end, now, mark=key, signature=signature, enter=False
            )
        return True

    # -- what did not work --------------------------------------------------------------------------------------------

    def _drop(self, subscription: Subscription, charge: _Charge) -> None:
        """Nothing was sent and nothing is due any more."""
        self._book.run(
            lambda c, _: c.execute(
                delete(charges).where(self._mine(subscription, charge, ("claimed",)))
            )
        )

    def _wait(self, subscription: Subscription, charge: _Charge, why: str) -> bool:
        """It may land yet: the row stays, and whoever comes next goes on with it."""

        def work(connection: Connection, _again: bool) -> None:
            now = self._book.now(connection)
            its = self._mine(subscription, charge, ("claimed", "signed"))
            if connection.execute(
                update(charges).where(its).values(owner="", touched_ms=now)
            ).rowcount:
                self._book.set(
                    connection, subscription.id, now, next_try_ms=now + 10_000, error=why[:300]
                )

        self._book.run(work)
        return False

    def _failed(self, subscription: Subscription, charge: _Charge, why: str) -> bool:
        """It certainly did not land: the charge is dropped, and tried anew while the grace lasts."""

        def work(connection: Connection, _again: bool) -> None:
            its = self._mine(subscription, charge, ("claimed", "signed"))
            if not connection.execute(delete(charges).where(its)).rowcount:
                return
            now = self._book.now(connection)
            current = self._book.get_in(connection, subscription.id, lock=True)
            wait = BACKOFF_MS[min(current.tries, len(BACKOFF_MS) - 1)]
            end = now if current.due_ms is None else current.due_ms + current.grace_ms
            later = min(
                now + wait, max(end, now + 1)
            )  # at the end of the grace once more, to tell that it has expired
            self._book.set(
                connection,
                current.id,
                now,
                tries=current.tries + 1,
                next_try_ms=later,
                error=why[:300],
            )
            record_action(
                connection,
                self._book.tenant,
                now,
                "worker",
                "charge.failed",
                current.id,
                why=why[:300],
            )
            if not current.tries:
                self._tell(connection, now, "subscription.past_due", current, reason=why[:300])

        self._book.run(work)
        return False

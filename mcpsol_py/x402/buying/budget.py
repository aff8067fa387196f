"""What a wallet may spend: limits for a payment, a session and a day, enforced by an atomic
reservation before signing.

A reservation counts until the payment can certainly no longer land. So a wallet never spends more
than its owner allowed, even if calls run in parallel, processes crash, or sellers keep a signed
payment without answering. What the wallet's token accounts can give (a balance, an SPL delegation)
applies as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import orjson
from sqlalchemy import (
    BigInteger,
    Connection,
    case,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from mcpsol_py.errors import PaymentError
from mcpsol_py.utc import date_of
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.buying.token_sources import cannot_give
from mcpsol_py.x402.exact.source_account import SourceAccount
from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.rows import one_row
from mcpsol_py.x402.store.schema import spendings, wallets

__all__ = [
    "Budget",
    "ReadSources",
    "Remaining",
    "Spending",
    "SpendingLimit",
    "SpendingLimits",
    "read_spending",
]

#: Reads the token accounts that a payment may come from, in order of preference.
ReadSources: TypeAlias = Callable[[], Sequence[SourceAccount]]
#: (asset, spent, limit, kind of the limit)
Alert: TypeAlias = tuple[str, int, int, str]
SpendingState = Literal["reserved", "signed", "spent", "released"]

#: How long a reservation belongs to its call before a payment is signed, in milliseconds. A call
#: that was killed or cancelled signs nothing.
_LEASE_MS = 120_000


@dataclass(frozen=True, slots=True)
class SpendingLimit:
    """Limits for one token, in base units; None means no limit of that kind."""

    per_payment: int | None = None
    per_session: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """Limits by mint. A wallet does not spend a mint without an entry.

    `payees`: the only wallets that may be paid; None allows any.
    """

    assets: Mapping[str, SpendingLimit]
    payees: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """One payment for one logical call, `payment_id`.

    `state`: "reserved" (nothing signed yet), "signed" (a payment was sent and may land), "spent"
    (it landed), "released" (it did not land and cannot).
    """

    wallet: str
    payment_id: str
    session: str
    network: str
    asset: str
    amount: int
    pay_to: str
    resource: str
    request: str
    state: SpendingState = "reserved"
    payment: dict[str, Any] | None = field(default=None, repr=False)
    payment_key: str | None = None
    signature: str | None = None
    created_ms: int = 0
    #: When the state last changed: for a "signed" payment, when it was signed.
    touched_ms: int = 0
    #: The token account that pays, None if it is not a transfer of this wallet.
    source: str | None = None
    #: The host that was asked, and its MCP tool, "" if not known.
    host: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Remaining:
    """How much of the limits is left, in base units; None means no limit of that kind."""

    session: int | None
    day: int | None


class Budget:
    """The budget of one wallet in one session, kept in *database*, shared by all processes that use
    the wallet.

    *alert* is called with (asset, spent, limit, kind) if a reservation is the first to pass 80 % of
    a limit, or reaches the limit.
    """

    def __init__(
        self,
        database: Database,
        wallet: str,
        limits: SpendingLimits,
        *,
        session: str,
        clock_ms: Callable[[], int] | None = None,
        alert: Callable[
            [str, int, int, str], None
        ] = lambda _asset, _spent, _limit, _kind: None,
    ) -> None:
        self._db, self.wallet, self.limits, self.session = (
            database,
            wallet,
            limits,
            session,
        )
        self._now, self._alert = database.clock(clock_ms), alert
        with suppress(IntegrityError):  # another process entered it at the same time
            self._db.run(self._enter)

    def _enter(self, connection: Connection, _again: bool) -> None:
        mine = select(wallets.c.address).where(wallets.c.address == self.wallet)
        if connection.execute(mine).first() is None:
            connection.execute(
                insert(wallets).values(
                    address=self.wallet, touched_ms=self._now(connection)
                )
            )

    def reserve(
        self,
        spending: Spending,
        *,
        max_amount: int | None = None,
        sources: ReadSources | None = None,
    ) -> Spending:
        """Reserve, or return the reservation that this payment id already has (a repeat of the same
        logical call).

        *sources*: the token accounts that can give the amount, for a payment by transfer. What is
        reserved or sent counts against them. The reservation names the one that pays.

        If it raises, nothing was reserved. Raises PaymentError: AMOUNT_EXCEEDS_MAX (this payment),
        BUDGET_EXCEEDED (session, day or delegation), ASSET_NOT_ALLOWED, PAYEE_NOT_ALLOWED,
        PAYMENT_ID_CONFLICT (the id was used for another request), those of `source_account`.
        """
        return self._reserve_all(
            [(spending, self._allowed(spending, max_amount))], sources
        )[0]

    def reserve_all(
        self, batch: Sequence[Spending], *, sources: ReadSources | None = None
    ) -> list[Spending]:
        """Reserve several payments of one asset, all or none.

        Raises as `reserve`, and PAYMENT_ID_CONFLICT if a payment was signed for one of the ids.
        """
        limits = [(spending, self._allowed(spending, None)) for spending in batch]
        return self._reserve_all(limits, sources, fresh=True)

    def check(
        self, spending: Spending, *, sources: ReadSources | None = None
    ) -> str | None:
        """Raise what `reserve` would raise now, and reserve nothing. Return the source that would
        pay.
        """
        limit = self._allowed(spending, None)
        since: int = self._db.run(lambda connection, _: self._now(connection))
        found = None if sources is None else sources()

        def work(connection: Connection, _again: bool) -> str | None:
            day = self._take_turn(connection, self._now(connection))
            self._check_limits(connection, spending, limit, day)
            return self._source_of(connection, spending, found, since)

        return self._db.run(work)

    def _reserve_all(
        self,
        batch: Sequence[tuple[Spending, SpendingLimit]],
        sources: ReadSources | None,
        *,
        fresh: bool = False,
    ) -> list[Spending]:
        """Reserve in one transaction, and raise the alerts after it. *fresh*: nothing may be signed
        for the ids yet.
        """
        since: int = self._db.run(lambda connection, _: self._now(connection))
        # Read outside the transaction, so a payment that lands meanwhile counts twice rather than
        # not at all.
        found = None if sources is None else sources()

        def work(
            connection: Connection, _again: bool
        ) -> tuple[list[Spending], list[Alert]]:
            made: list[Spending] = []
            alerts: list[Alert] = []
            for spending, limit in batch:
                one, its_alerts = self._reserve(
                    connection, spending, limit, since, found
                )
                made.append(one)
                alerts += its_alerts
            if fresh and any(one.state != "reserved" for one in made):
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT", "a payment of this batch was made before"
                )
            return made, alerts

        reserved, alerts = self._db.run(work)
        for alert in alerts:
            self._alert(*alert)
        return reserved

    def _reserve(
        self,
        connection: Connection,
        spending: Spending,
        limit: SpendingLimit,
        since: int,
        sources: Sequence[SourceAccount] | None,
    ) -> tuple[Spending, list[Alert]]:
        """Reserve one payment. If it runs again after a lost answer, it finds its own reservation."""
        now = self._now(connection)
        day = self._take_turn(connection, now)
        known = self._get(connection, spending.payment_id)
        if known is not None and known.state != "released":
            if known.request != spending.request:
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT",
                    "this payment id was used for another request",
                )
            if known.state == "reserved":  # this call is its owner now
                its = update(spendings).where(self._is(spending.payment_id))
                connection.execute(its.values(touched_ms=now))
            return known, []
        source = self._source_of(connection, spending, sources, since)
        alerts = self._check_limits(connection, spending, limit, day)
        row = {
            "wallet": self.wallet,
            "payment_id": spending.payment_id,
            "session": self.session,
            "day": day,
            "network": spending.network,
            "asset": spending.asset,
            "amount": spending.amount,
            "pay_to": spending.pay_to,
            "resource": spending.resource,
            "request": spending.request,
            "state": "reserved",
            "payment": None,
            "payment_key": None,
            "signature": None,
            "source": source,
            "host": spending.host[:255],
            "tool": spending.tool[:128],
            "touched_ms": now,
        }
        if known is None:
            connection.execute(insert(spendings).values(**row, created_ms=now))
        else:
            connection.execute(
                update(spendings).where(self._is(spending.payment_id)).values(**row)
            )
        made = self._get(connection, spending.payment_id)
        assert made is not None  # written in this transaction
        return made, alerts

    def _take_turn(self, connection: Connection, now: int) -> str:
        """Lock the wallet's row and return the day that counts: the latest that was ever reserved
        in, so that no day begins again when the clock is set back.

        The first to update the row goes first. (SQLite holds its own lock already.)
        """
        latest = case(
            (wallets.c.touched_ms < now, literal(now, BigInteger)),
            else_=wallets.c.touched_ms,
        )
        touched = connection.execute(
            update(wallets)
            .where(wallets.c.address == self.wallet)
            .values(touched_ms=latest)
            .returning(wallets.c.touched_ms)
        ).scalar_one()
        self._release_left(connection, now)
        return date_of(int(touched))

    def _release_left(self, connection: Connection, now: int) -> None:
        """Release reservations whose call ended without signing. If such a call comes back, it
        cannot sign any more (`signed`).
        """
        left = (
            (spendings.c.wallet == self.wallet)
            & (spendings.c.state == "reserved")
            & ~spendings.c.touched_ms.between(now - _LEASE_MS, now + _LEASE_MS)
        )
        connection.execute(
            update(spendings).where(left).values(state="released", touched_ms=now)
        )

    def _check_limits(
        self, connection: Connection, spending: Spending, limit: SpendingLimit, day: str
    ) -> list[Alert]:
        """Check the limits of the session and the day, and return the alerts that this payment
        raises.
        """
        alerts: list[Alert] = []
        for kind, cap, condition in (
            ("session", limit.per_session, spendings.c.session == self.session),
            ("day", limit.per_day, spendings.c.day == day),
        ):
            if cap is None:
                continue
            before = self._sum(connection, spending.asset, condition)
            after = before + spending.amount
            if after > cap:
                raise PaymentError(
                    "BUDGET_EXCEEDED",
                    f"{spending.amount:,} base units would make {after:,} of {cap:,} a {kind}; "
                    f"{max(cap - before, 0):,} are left",
                )
            passes_80_percent = before * 10 < cap * 8 <= after * 10
            if passes_80_percent or after == cap:
                alerts.append((spending.asset, after, cap, kind))
        return alerts

    def _source_of(
        self,
        connection: Connection,
        spending: Spending,
        sources: Sequence[SourceAccount] | None,
        since: int,
    ) -> str | None:
        """Return the first account that can give the amount, besides payments from it that are
        reserved or sent, or may have landed since it was read. None if *sources* is.
        """
        if sources is None:
            return None
        left: list[tuple[SourceAccount, int]] = []
        for source in sources:
            rest = source.available - self._pending(
                connection, spending.asset, source, since
            )
            if source.refusal is None and spending.amount <= rest:
                return source.address
            left.append((source, rest))
        raise cannot_give(spending.amount, left)

    def _pending(
        self, connection: Connection, asset: str, source: SourceAccount, since: int
    ) -> int:
        landed_since = (spendings.c.state == "spent") & (
            spendings.c.touched_ms >= since
        )
        open_or_new = spendings.c.state.in_(("reserved", "signed")) | landed_since
        return self._sum(
            connection, asset, (spendings.c.source == source.address) & open_or_new
        )

    def _allowed(self, spending: Spending, max_amount: int | None) -> SpendingLimit:
        if spending.amount <= 0:
            raise PaymentError(
                "INVALID_REQUIREMENT",
                f"expected an amount above 0, got {spending.amount}",
            )
        limit = self.limits.assets.get(spending.asset)
        if limit is None:
            raise PaymentError(
                "ASSET_NOT_ALLOWED", f"this wallet does not spend {spending.asset}"
            )
        if self.limits.payees is not None and spending.pay_to not in self.limits.payees:
            raise PaymentError(
                "PAYEE_NOT_ALLOWED",
                f"{spending.pay_to} is not a payee that this wallet may pay",
            )
        caps = [c for c in (max_amount, limit.per_payment) if c is not None]
        if caps and spending.amount > min(caps):
            raise PaymentError(
                "AMOUNT_EXCEEDS_MAX",
                f"the price is {spending.amount:,} base units; one payment may take at most {min(caps):,}",
            )
        return limit

    def signed(
        self,
        payment_id: str,
        payment: dict[str, Any],
        payment_key: str,
        *,
        instead_of: str | None = None,
        held: Spending | None = None,
    ) -> bool:
        """Store the signed payment, before it leaves this process.

        *instead_of* is the key of the payment that this one replaces. *held*: the reservation that
        it was signed for. Return False if another call of the same payment id stored its payment
        first: send that one. Raises PaymentError(RESERVATION_LOST) if the amount was released
        meanwhile, or reserved again on other terms. In both cases this payment must not be sent.
        """
        text = orjson.dumps(payment).decode()
        before = (
            spendings.c.payment_key.is_(None)
            if instead_of is None
            else spendings.c.payment_key == instead_of
        )
        mine = (spendings.c.state != "released") & before & self._is(payment_id)
        if held is not None:
            mine &= (
                (spendings.c.amount == held.amount)
                & (spendings.c.asset == held.asset)
                & (spendings.c.pay_to == held.pay_to)
                & (spendings.c.network == held.network)
            )

        def work(connection: Connection, _again: bool) -> Spending | None:
            kept = (
                update(spendings)
                .where(mine)
                .values(
                    state="signed",
                    payment=text,
                    payment_key=payment_key,
                    touched_ms=self._now(connection),
                )
            )
            connection.execute(kept)
            return self._get(connection, payment_id)

        kept: Spending | None = self._db.run(work)
        if kept is None or kept.state == "released" or kept.payment_key is None:
            raise PaymentError(
                "RESERVATION_LOST",
                f"the amount of {payment_id} was released before it was signed",
            )
        return kept.payment_key == payment_key

    def covers(
        self, payment_id: str, channel: str, cumulative: int, *, first: bool = False
    ) -> bool:
        """Whether the calls paid by vouchers of this channel reserved *cumulative* base units in
        all, so that a voucher over that sum exceeds nothing.

        *payment_id*: the call for which the voucher is meant. *first*: it was not corrected yet. A
        channel that was opened outside this budget is not known here, so the first call on it
        follows one correction.
        """
        held = self.get(payment_id)
        if held is None:
            return False
        same = select(spendings).where(
            spendings.c.wallet == self.wallet,
            spendings.c.network == held.network,
            spendings.c.asset == held.asset,
            spendings.c.pay_to == held.pay_to,
            spendings.c.state.in_(("signed", "spent")),
        )
        rows = self._db.fetch_all(same, read_spending)
        paid = [row for row in rows if voucher_sum(row.payment, channel)]
        is_foreign = mapping_at(held.payment, "payload").get("type") == "voucher" and [
            row.payment_id for row in paid
        ] == [payment_id]
        return (is_foreign and first) or cumulative <= sum(row.amount for row in paid)

    def spent(
        self, payment_id: str, signature: str, *, amount: int | None = None
    ) -> None:
        """Book the payment as landed. *amount* is the charge, if it is proved to be less than was
        reserved; more is never booked.
        """
        self._set(payment_id, state="spent", signature=signature)
        if amount is not None:
            less = (
                update(spendings)
                .where(self._is(payment_id), spendings.c.amount > amount)
                .values(amount=amount)
            )
            self._db.run(lambda c, _: c.execute(less))

    def release(self, payment_id: str) -> None:
        """Release the amount. Only if nothing was signed, or the signed payment can no longer land."""
        self._set(payment_id, state="released", payment=None)

    def abandon(self, payment_id: str) -> None:
        """Release the amount if nothing was signed. A payment that another call of this payment id
        signed stays.
        """
        its = update(spendings).where(
            self._is(payment_id), spendings.c.state == "reserved"
        )
        self._db.run(
            lambda c, _: c.execute(
                its.values(state="released", touched_ms=self._now(c))
            )
        )

    def release_left(self) -> None:
        """Release reservations whose call ended without signing, as each reservation does."""
        self._db.run(lambda c, _: self._release_left(c, self._now(c)))

    def get(self, payment_id: str) -> Spending | None:
        """Return the spending of that payment id."""
        return self._db.run(lambda connection, _: self._get(connection, payment_id))

    def remaining(self, asset: str) -> Remaining:
        """Return how much is left today and in this session."""
        limit = self.limits.assets.get(asset, SpendingLimit(0, 0, 0))

        def sums(connection: Connection, _again: bool) -> tuple[int, int]:
            now = self._now(connection)
            self._release_left(connection, now)
            touched = select(wallets.c.touched_ms).where(
                wallets.c.address == self.wallet
            )
            latest = max(now, int(connection.execute(touched).scalar_one()))
            today = spendings.c.day == date_of(latest)
            return (
                self._sum(connection, asset, spendings.c.session == self.session),
                self._sum(connection, asset, today),
            )

        session, day = self._db.run(sums)
        return Remaining(
            None if limit.per_session is None else max(limit.per_session - session, 0),
            None if limit.per_day is None else max(limit.per_day - day, 0),
        )

    def history(self, limit: int = 100) -> list[Spending]:
        """Return the newest spendings, newest first."""
        newest = (
            select(spendings)
            .where(spendings.c.wallet == self.wallet)
            .order_by(spendings.c.created_ms.desc(), spendings.c.payment_id)
            .limit(limit)
        )
        return self._db.fetch_all(newest, read_spending)

    def open(self) -> list[Spending]:
        """Return payments that were sent and are not yet known to have landed or failed."""
        out = select(spendings).where(
            spendings.c.wallet == self.wallet, spendings.c.state == "signed"
        )
        return self._db.fetch_all(out, read_spending)

    def age_ms(self, spending: Spending) -> int:
        """Return the milliseconds since the state of this spending last changed."""
        now: int = self._db.run(lambda connection, _: self._now(connection))
        return now - spending.touched_ms

    # -- SQL ----

    def _is(self, payment_id: str) -> Any:
        return (spendings.c.wallet == self.wallet) & (
            spendings.c.payment_id == payment_id
        )

    def _get(self, connection: Connection, payment_id: str) -> Spending | None:
        return one_row(
            connection, select(spendings).where(self._is(payment_id)), read_spending
        )

    def _sum(self, connection: Connection, asset: str, condition: Any) -> int:
        total = connection.execute(
            select(func.coalesce(func.sum(spendings.c.amount), 0)).where(
                spendings.c.wallet == self.wallet,
                spendings.c.asset == asset,
                spendings.c.state != "released",
                condition,
            )
        ).scalar_one()
        return int(total)

    def _set(self, payment_id: str, **values: Any) -> None:
        its = update(spendings).where(self._is(payment_id))
        self._db.run(
            lambda c, _: c.execute(its.values(**values, touched_ms=self._now(c)))
        )


def voucher_sum(payment: Mapping[str, Any] | None, channel: str) -> int | None:
    """Return the sum of a payment by a voucher of this channel, None for another payment."""
    if (
        payment is None
        or mapping_at(payment, "accepted").get("scheme") != "batch-settlement"
    ):
        return None
    voucher = mapping_at(payment, "payload", "voucher")
    if voucher.get("channelId") != channel:
        return None
    return read_u64(voucher.get("maxClaimableAmount"))


def voucher_channel(payment: Mapping[str, Any] | None) -> str:
    """Return the channel of a payment by a voucher, "" for another payment."""
    channel = mapping_at(payment, "payload", "voucher").get("channelId")
    return channel if isinstance(channel, str) else ""


def read_spending(row: Any) -> Spending:
    """Return a row of the table as it is used."""
    return Spending(
        wallet=row.wallet,
        payment_id=row.payment_id,
        session=row.session,
        network=row.network,
        asset=row.asset,
        amount=int(row.amount),
        pay_to=row.pay_to,
        resource=row.resource,
        request=row.request,
        state=cast(SpendingState, row.state),
        payment=None if row.payment is None else orjson.loads(row.payment),
        payment_key=row.payment_key,
        signature=row.signature,
        created_ms=int(row.created_ms),
        touched_ms=int(row.touched_ms),
        source=row.source,
        host=row.host or "",
        tool=row.tool or "",
    )

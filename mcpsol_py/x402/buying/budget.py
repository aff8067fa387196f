"""What an agent may spend: limits for a payment, a session and a day, held in one atomic reservation before it signs.

A reservation counts from the moment it is made until the payment certainly cannot land any more. So parallel calls,
crashes and sellers who take a signed payment and say nothing cannot make a wallet spend more than its owner allowed.
The chain's own cap (an SPL delegation) stands below all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast

import orjson
from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import spendings, wallets

__all__ = ["Budget", "Limit", "Limits", "Remaining", "Spending"]

#: (asset, spent, limit, kind of the limit)
Alert: TypeAlias = tuple[str, int, int, str]
SpendingState = Literal["reserved", "signed", "spent", "released"]


@dataclass(frozen=True, slots=True)
class Limit:
    """Base units of one token; None is no limit of that kind."""

    per_payment: int | None = None
    per_session: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits by mint. A mint that is not named is not spent at all. `payees` None: any; else only these wallets are
    paid.
    """

    assets: Mapping[str, Limit]
    payees: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """One payment for one logical call, `payment_id`. "reserved": nothing signed yet. "signed": a payment is out and
    may land. "spent": it landed. "released": it certainly did not and cannot."""

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


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of a limit, in base units; None where there is no limit of that kind."""

    session: int | None
    day: int | None


class Budget:
    """The budget of one wallet in one session, kept in *database*, shared by all processes that use the wallet.

    *delegated* reads what the chain still lets the wallet take of an asset by delegation (None: no such cap); what is
    reserved or on its way counts against it. *alert* is called with (asset, spent, limit, kind) when a reservation is
    the first to take a limit over 80 % or to its end.
    """

    def __init__(
        self,
        database: Database,
        wallet: str,
        limits: Limits,
        *,
        session: str,
        clock_ms: Callable[[], int] | None = None,
        alert: Callable[[str, int, int, str], None] = lambda _asset, _spent, _limit, _kind: None,
        delegated: Callable[[str], int | None] = lambda _asset: None,
    ) -> None:
        self._delegated = delegated
        self._db, self.wallet, self.limits, self.session = database, wallet, limits, session
        self._clock, self._alert = clock_ms, alert
        try:
            self._db.run(self._enter)
        except IntegrityError:
            pass  # another process entered it in this moment

    def _enter(self, connection: Connection, _again: bool) -> None:
        if (
            connection.execute(
                select(wallets.c.address).where(wallets.c.address == self.wallet)
            ).first()
            is None
        ):
            connection.execute(
                insert(wallets).values(address=self.wallet, touched_ms=self._now(connection))
            )

    def _now(self, connection: Connection) -> int:
        return self._db.now_ms(connection) if self._clock is None else self._clock()

    def reserve(self, spending: Spending, *, max_amount: int | None = None) -> Spending:
        """Reserves, or returns the reservation that this payment id has already (a repeat of the same logical call).

        Raises PaymentError: AMOUNT_EXCEEDS_MAX (this payment), BUDGET_EXCEEDED (session or day), ASSET_NOT_ALLOWED,
        PAYEE_NOT_ALLOWED, PAYMENT_ID_CONFLICT (the id stands for another request). Nothing is reserved then.
        """
        limit = self._allowed(spending, max_amount)
        since: int = self._db.run(lambda connection, _: self._now(connection))
        cap = self._delegated(
            spending.asset
        )  # read outside the transaction: what lands meanwhile is counted twice
        made, alerts = self._reserve_all([(spending, limit)], since, cap)
        return self._told(made, alerts)[0]

    def reserve_all(self, batch: Sequence[Spending]) -> list[Spending]:
        """Reserves several payments of one asset, all or none. Raises as `reserve`."""
        limits = [(spending, self._allowed(spending, None)) for spending in batch]
        since: int = self._db.run(lambda connection, _: self._now(connection))
        cap = self._delegated(batch[0].asset)
        return self._told(*self._reserve_all(limits, since, cap))

    def _reserve_all(
        self, batch: Sequence[tuple[Spending, Limit]], since: int, cap: int | None
    ) -> tuple[list[Spending], list[Alert]]:
        def work(connection: Connection, _again: bool) -> tuple[list[Spending], list[Alert]]:
            made, alerts = [], []
            for spending, limit in batch:
                one, told = self._reserve(connection, spending, limit, since, cap)
                made.append(one)
                alerts += told
            return made, alerts

        return self._db.run(work)

    def _told(self, made: list[Spending], alerts: list[Alert]) -> list[Spending]:
        for told in alerts:
            self._alert(*told)
        return made

    def _reserve(
        self, connection: Connection, spending: Spending, limit: Limit, since: int, cap: int | None
    ) -> tuple[Spending, list[Alert]]:
        """Run again after a lost answer, it finds its own reservation."""
        now = self._now(connection)
        # The wallet's row is the lock: whoever updates it first goes first (SQLite holds its own lock already).
        connection.execute(
            update(wallets).where(wallets.c.address == self.wallet).values(touched_ms=now)
        )
        known = self._get(connection, spending.payment_id)
        if known is not None and known.state != "released":
            if known.request != spending.request:
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT", "this payment id stands for another request already"
                )
            return known, []
        self._check_delegation(connection, spending, since, cap)
        day = _day(now)
        alerts: list[Alert] = []
        for kind, cap, condition in (
            ("session", limit.per_session, spendings.c.session == self.session),
            ("day", limit.per_day, spendings.c.day == day),
        ):
            if cap is None:
                continue
            spent = self._sum(connection, spending.asset, condition)
            if spent + spending.amount > cap:
                raise PaymentError(
                    "BUDGET_EXCEEDED",
                    f"{spending.amount:,} base units would make {spent + spending.amount:,} of {cap:,} a {kind}; "
                    f"{max(cap - spent, 0):,} are left",
                )
            if (
                spent * 10 < cap * 8 <= (spent + spending.amount) * 10
                or spent + spending.amount == cap
            ):
                alerts.append((spending.asset, spent + spending.amount, cap, kind))
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
            "touched_ms": now,
        }
        if known is None:
            connection.execute(insert(spendings).values(**row, created_ms=now))
        else:
            connection.execute(update(spendings).where(self._is(spending.payment_id)).values(**row))
        made = self._get(connection, spending.payment_id)
        assert made is not None  # written in this transaction
        return made, alerts

    def _check_delegation(
        self, connection: Connection, spending: Spending, since: int, cap: int | None
    ) -> None:
        """The chain's cap, less what is on its way and what may have landed since the cap was read."""
        if cap is None:
            return
        landed_since = (spendings.c.state == "spent") & (spendings.c.touched_ms >= since)
        out = self._sum(
            connection, spending.asset, spendings.c.state.in_(("reserved", "signed")) | landed_since
        )
        if out + spending.amount > cap:
            raise PaymentError(
                "BUDGET_EXCEEDED",
                f"{spending.amount:,} base units are over what the owner delegates: {cap:,}, of which {out:,} are on "
                "their way",
            )

    def _allowed(self, spending: Spending, max_amount: int | None) -> Limit:
        if spending.amount <= 0:
            raise PaymentError("INVALID_REQUIREMENT", f"an amount of {spending.amount} is no price")
        limit = self.limits.assets.get(spending.asset)
        if limit is None:
            raise PaymentError("ASSET_NOT_ALLOWED", f"this wallet does not spend {spending.asset}")
        if self.limits.payees is not None and spending.pay_to not in self.limits.payees:
            raise PaymentError(
                "PAYEE_NOT_ALLOWED", f"{spending.pay_to} is not among the payees of this wallet"
            )
        caps = [c for c in (max_amount, limit.per_payment) if c is not None]
        if caps and spending.amount > min(caps):
            raise PaymentError(
                "AMOUNT_EXCEEDS_MAX",
                f"the price is {spending.amount:,} base units; a payment may take {min(caps):,}",
            )
        return limit

    def signed(
        self,
        payment_id: str,
        payment: dict[str, Any],
        payment_key: str,
        *,
        instead_of: str | None = None,
    ) -> bool:
        """Keeps the signed payment, before it leaves this process. False: another call of the same payment id has kept
        one meanwhile, and that one is to be sent. *instead_of* is the key of the payment that this one replaces.
        Raises PaymentError(RESERVATION_LOST) when its amount was given back meanwhile. In both cases it must not leave.
        """
        text = orjson.dumps(payment).decode()
        before = (
            spendings.c.payment_key.is_(None)
            if instead_of is None
            else spendings.c.payment_key == instead_of
        )
        held = (spendings.c.state != "released") & before & self._is(payment_id)

        def work(connection: Connection, _again: bool) -> Spending | None:
            kept = (
                update(spendings)
                .where(held)
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
        if kept is None or kept.state == "released":
            raise PaymentError(
                "RESERVATION_LOST",
                f"the amount of {payment_id} was given back before it was signed",
            )
        return kept.payment_key == payment_key

    def spent(self, payment_id: str, signature: str, *, amount: int | None = None) -> None:
        """The payment landed, as *signature*. *amount*: what was charged, where that is proved to be less than was
        reserved; more is never booked."""
        self._set(payment_id, state="spent", signature=signature)
        if amount is not None:
            less = (
                update(spendings)
                .where(self._is(payment_id), spendings.c.amount > amount)
                .values(amount=amount)
            )
            self._db.run(lambda c, _: c.execute(less))

    def release(self, payment_id: str) -> None:
        """Gives the amount back. Only where nothing was signed, or what was signed can no longer land."""
        self._set(payment_id, state="released", payment=None)

    def abandon(self, payment_id: str) -> None:
        """Gives the amount back where nothing was signed. What another call of the same payment id signed stays."""
        its = update(spendings).where(self._is(payment_id), spendings.c.state == "reserved")
        self._db.run(lambda c, _: c.execute(its.values(state="released", touched_ms=self._now(c))))

    def get(self, payment_id: str) -> Spending | None:
        """The spending of that payment id."""
        return self._db.run(lambda connection, _: self._get(connection, payment_id))

    def remaining(self, asset: str) -> Remaining:
        """What is left today and in this session."""
        limit = self.limits.assets.get(asset, Limit(0, 0, 0))

        def sums(connection: Connection, _again: bool) -> tuple[int, int]:
            today = spendings.c.day == _day(self._now(connection))
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
        """The newest first."""
        newest = (
            select(spendings)
            .where(spendings.c.wallet == self.wallet)
            .order_by(spendings.c.created_ms.desc(), spendings.c.payment_id)
            .limit(limit)
        )
        return [_spending(r) for r in self._db.run(lambda c, _: c.execute(newest).all())]

    def open(self) -> list[Spending]:
        """Payments that are out, of which it is not known yet whether they landed."""
        out = select(spendings).where(
            spendings.c.wallet == self.wallet, spendings.c.state == "signed"
        )
        return [_spending(r) for r in self._db.run(lambda c, _: c.execute(out).all())]

    # -- SQL ----

    def _is(self, payment_id: str) -> Any:
        return (spendings.c.wallet == self.wallet) & (spendings.c.payment_id == payment_id)

    def _get(self, connection: Connection, payment_id: str) -> Spending | None:
        row = connection.execute(select(spendings).where(self._is(payment_id))).one_or_none()
        return None if row is None else _spending(row)

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
        self._db.run(lambda c, _: c.execute(its.values(**values, touched_ms=self._now(c))))


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def _spending(row: Any) -> Spending:
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
    )

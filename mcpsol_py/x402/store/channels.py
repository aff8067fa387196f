"""Channels in SQL: the channels that pay a merchant, and the channels whose rent a facilitator pays.

A channel keeps one accepted amount and one signature, and a single UPDATE moves them. So if two calls bring the same
voucher, on any threads, processes or replicas, only one of them is served.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, cast

from sqlalchemy import Connection, bindparam, delete, insert, null, or_, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import names_of, without_nulls
from mcpsol_py.whole_numbers import MAX_UNITS
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.payment_owners import own_channel
from mcpsol_py.x402.store.rows import one_row, values_of
from mcpsol_py.x402.store.schema import channels as table
from mcpsol_py.x402.store.schema import payment_owners as owners
from mcpsol_py.x402.store.schema import sponsored_channels as sponsored
from mcpsol_py.x402.store.statements import Statement, row_of

__all__ = ["PaidChannel", "PaidChannels", "PaidState", "Sponsored", "SponsoredChannels"]

T = TypeVar("T")
PaidState = Literal["opening", "open", "closing", "sealed", "closed"]
#: States in which a channel may still owe its merchant something.
_OWING: tuple[PaidState, ...] = ("open", "closing", "sealed")


@dataclass(frozen=True, slots=True)
class PaidChannel:
    """One channel, as its merchant knows it. Amounts in base units.

    Accepted vouchers add up to `charged`, and `signature` is the newest one's. `claimed` and `paid_out` are the sums
    on chain. State "opening": the deposit was checked and has not landed. "sealed": no voucher
    counts any more, and the payout has not landed. `closing_at`: when the payer asked to close,
    in seconds since 1970, or 0.
    """

    channel_id: str
    network: str
    fee_payer: str
    payer: str
    signer: str
    pay_to: str
    asset: str
    token_program: str
    receiver_authorizer: str
    withdraw_delay: int
    salt: str
    open_slot: int
    state: PaidState = "opening"
    deposit: int = 0
    charged: int = 0
    signature: str | None = field(default=None, repr=False)
    claimed: int = 0
    paid_out: int = 0
    closing_at: int = 0
    holder: str | None = None
    held_until_ms: int = 0
    charged_for: str | None = None
    checked_ms: int = 0
    touched_ms: int = 0

    @property
    def unclaimed(self) -> int:
        """What the newest voucher proves beyond the last claim."""
        return self.charged - self.claimed


_NAMES = names_of(fields(PaidChannel))


class PaidChannels:
    """The channels of one tenant. Every method may raise StorageError."""

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

    def _is(self, channel_id: str) -> Any:
        return (table.c.tenant == self.tenant) & (table.c.channel_id == channel_id)

    def now_ms(self) -> int:
        """Return the time on the clock of `checked_ms`."""
        return self._run(lambda c, _: self._now(c))

    def get(self, channel_id: str) -> PaidChannel | None:
        """Return a channel, or None if it never paid this merchant."""
        return self._run(lambda c, _: self._read(c, channel_id))

    def _read(self, connection: Connection, channel_id: str) -> PaidChannel | None:
        return one_row(connection, select(table).where(self._is(channel_id)), _channel)

    def begin(self, channel: PaidChannel) -> PaidChannel:
        """Add a channel whose opening was checked, unless it exists. Return the stored channel.

        Raises PaymentError (CHANNEL_TAKEN) if it pays another tenant of this database.
        """
        values = values_of(channel, _NAMES)

        def work(connection: Connection, _again: bool) -> None:
            now = self._now(connection)
            stamped = {
                **values,
                "tenant": self.tenant,
                "created_ms": now,
                "touched_ms": now,
            }
            connection.execute(insert(table).values(stamped))
            own_channel(connection, self.tenant, channel.channel_id)

        with suppress(IntegrityError):
            self._run(work)
        found = self.get(channel.channel_id)
        if found is None:
            raise PaymentError(
                "CHANNEL_TAKEN",
                f"channel {channel.channel_id} pays another merchant of this database",
            )
        return found

    def hold(
        self,
        channel_id: str,
        holder: str,
        cumulative: int,
        price: int,
        *,
        lease_ms: int,
        extra_deposit: int = 0,
        checked_within_ms: int | None = None,
    ) -> PaidChannel | None:
        """Reserve the channel for the call *holder*, whose voucher of *cumulative* pays *price*.

        Return the channel if the call holds it now. Return None if the voucher does not continue from `charged`,
        exceeds the deposit plus *extra_deposit* (which comes with the call), the channel is not open, another call
        holds it, or the chain was not read within *checked_within_ms*.
        """
        if cumulative > MAX_UNITS:
            return None

        def work(connection: Connection, _again: bool) -> PaidChannel | None:
            now = self._now(connection)
            values = {
                "t": self.tenant,
                "c": channel_id,
                "h": holder,
                "now": now,
                "until": now + lease_ms,
                "also": "opening" if extra_deposit else "open",
                "before": cumulative - price,
                "least": cumulative - extra_deposit,
                "since": 0 if checked_within_ms is None else now - checked_within_ms,
            }
            done = _HOLD.one(connection, values)
            return None if done is None else _channel(done)

        return self._run(work)

    def charge(
        self,
        channel_id: str,
        holder: str,
        cumulative: int,
        price: int,
        signature: str,
        *,
        deposit: int | None = None,
    ) -> PaidChannel | None:
        """Accept the voucher for good and return the channel, also if this same call was charged before.

        Return None if another call was charged meanwhile. *deposit*: the new deposit on chain, if the call brought one.
        """
        if cumulative > MAX_UNITS:
            return None

        def work(connection: Connection, _again: bool) -> PaidChannel | None:
            now = self._now(connection)
            values = {
                "t": self.tenant,
                "c": channel_id,
                "h": holder,
                "now": now,
                "before": cumulative - price,
                "sum": cumulative,
                "signature": signature,
                "deposit": deposit,
            }
            done = (_CHARGE if deposit is None else _CHARGE_DEPOSIT).one(
                connection, values
            )
            if done is not None:
                return _channel(done)
            found = self._read(connection, channel_id)
            again = found is not None and (found.charged, found.charged_for) == (
                cumulative,
                holder,
            )
            return found if again else None

        return self._run(work)

    def let_go(self, channel_id: str, holder: str) -> None:
        """Free the channel after a call that was not charged. Delete the channel if its opening never landed."""

        def work(connection: Connection, _again: bool) -> None:
            mine = self._is(channel_id) & (table.c.holder == holder)
            unopened = select(table.c.channel_id).where(
                mine, table.c.state == "opening"
            )
            connection.execute(delete(owners).where(owners.c.key.in_(unopened)))
            connection.execute(delete(table).where(mine, table.c.state == "opening"))
            connection.execute(
                update(table)
                .where(mine)
                .values(holder=None, touched_ms=self._now(connection))
            )

        self._run(work)

    def saw(
        self,
        channel_id: str,
        *,
        deposit: int | None = None,
        claimed: int | None = None,
        paid_out: int | None = None,
        closing_at: int | None = None,
        state: PaidState | None = None,
    ) -> None:
        """Record the state of the channel that was just read from the chain."""

        def work(connection: Connection, _again: bool) -> None:
            now = self._now(connection)
            values: dict[str, Any] = {"checked_ms": now, "touched_ms": now}
            seen = {
                "deposit": deposit,
                "claimed": claimed,
                "paid_out": paid_out,
                "closing_at": closing_at,
                "state": state,
            }
            values |= without_nulls(seen)
            connection.execute(
                update(table).where(self._is(channel_id)).values(**values)
            )

        self._run(work)

    def due(self, limit: int = 200) -> list[PaidChannel]:
        """Return channels with something to claim or pay out, the longest untouched first."""
        owing = or_(
            table.c.charged > table.c.claimed, table.c.claimed > table.c.paid_out
        )
        wanted = (
            select(table)
            .where(table.c.tenant == self.tenant, table.c.state.in_(_OWING), owing)
            .order_by(table.c.touched_ms)
            .limit(limit)
        )
        return self.database.fetch_all(wanted, _channel, self.tenant)


_ROW = row_of(table)
_FREE = or_(
    table.c.holder.is_(None),
    table.c.holder == bindparam("h"),
    table.c.held_until_ms < bindparam("now"),
)
_FOLLOWS = (
    (table.c.tenant == bindparam("t"))
    & (table.c.channel_id == bindparam("c"))
    & (table.c.charged == bindparam("before"))
    & _FREE
)
_HOLD = Statement(
    update(table)
    .where(
        _FOLLOWS,
        or_(table.c.state == "open", table.c.state == bindparam("also")),
        table.c.deposit >= bindparam("least"),
        table.c.checked_ms >= bindparam("since"),
    )
    .values(
        holder=bindparam("h"),
        held_until_ms=bindparam("until"),
        touched_ms=bindparam("now"),
    )
    .returning(table),
    _ROW,
)
_CHARGED = {
    "charged": bindparam("sum"),
    "signature": bindparam("signature"),
    "holder": null(),
    "charged_for": bindparam("h"),
    "touched_ms": bindparam("now"),
}
_CHARGE = Statement(
    update(table)
    .where(_FOLLOWS, table.c.state == "open", table.c.deposit >= bindparam("sum"))
    .values(**_CHARGED)
    .returning(table),
    _ROW,
)
_CHARGE_DEPOSIT = Statement(
    update(table)
    .where(_FOLLOWS, or_(table.c.state == "open", table.c.state == "opening"))
    .values(
        **_CHARGED,
        deposit=bindparam("deposit"),
        state="open",
        checked_ms=bindparam("now"),
    )
    .returning(table),
    _ROW,
)


@dataclass(frozen=True, slots=True)
class Sponsored:
    """A channel whose rent a facilitator pays.

    `expires_at` in seconds since 1970; if it is 0, the channel counts as idle from `touched_ms` on.
    """

    network: str
    channel_id: str
    scheme: str
    pay_to: str
    token_program: str
    receiver_authorizer: str
    expires_at: int = 0
    touched_ms: int = 0


_SPONSORED = names_of(fields(Sponsored))


class SponsoredChannels:
    """The sponsored channels of a facilitator, and who may ask to close each (batch_facilitator.Bindings)."""

    def __init__(
        self, database: Database, clock_ms: Callable[[], int] | None = None
    ) -> None:
        self._database, self._now = database, database.clock(clock_ms)

    def keep(self, row: Sponsored) -> str:
        """Add a channel before its opening is sent. Return the first authorizer that was bound to it."""
        values = values_of(row, _SPONSORED)

        def work(connection: Connection, _again: bool) -> None:
            connection.execute(
                insert(sponsored).values(
                    {**values, "touched_ms": self._now(connection)}
                )
            )

        try:
            self._database.run(work)
        except IntegrityError:
            self.touch(row.network, row.channel_id)
        bound = self.bound(row.network, row.channel_id)
        assert bound is not None  # inserted here or by another process
        return bound

    def bound(self, network: str, channel: str) -> str | None:
        """Return the authorizer bound to a channel, None for an unknown channel."""
        wanted = select(sponsored.c.receiver_authorizer).where(
            self._is(network, channel)
        )
        found = self._database.run(lambda c, _: c.execute(wanted).scalar())
        return None if found is None else str(found)

    @staticmethod
    def _is(network: str, channel: str) -> Any:
        return (sponsored.c.network == network) & (sponsored.c.channel_id == channel)

    def touch(self, network: str, channel: str) -> None:
        """Record activity on a channel, so that it does not count as idle."""

        def work(connection: Connection, _again: bool) -> None:
            mine = self._is(network, channel)
            connection.execute(
                update(sponsored).where(mine).values(touched_ms=self._now(connection))
            )

        self._database.run(work)

    def forget(self, network: str, channel: str) -> None:
        """Delete a channel that no longer exists on chain."""
        self._database.run(
            lambda c, _: c.execute(delete(sponsored).where(self._is(network, channel)))
        )

    def all(self, network: str, limit: int = 500) -> list[Sponsored]:
        """Return the channels of a network, the longest untouched first."""
        wanted = (
            select(sponsored)
            .where(sponsored.c.network == network)
            .order_by(sponsored.c.touched_ms)
            .limit(limit)
        )
        return self._database.fetch_all(
            wanted, lambda row: Sponsored(**values_of(row, _SPONSORED))
        )

    def now_ms(self) -> int:
        """Return the time on the clock of `touched_ms`."""
        return self._database.run(lambda c, _: self._now(c))


def _channel(row: Any) -> PaidChannel:
    values = values_of(row, _NAMES)
    return PaidChannel(**{**values, "state": cast(PaidState, values["state"])})

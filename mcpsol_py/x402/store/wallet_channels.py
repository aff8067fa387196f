"""The channels that a wallet pays from: sums deposited, charged and signed, stored before anything is sent.

A voucher covers the sum that the seller has confirmed plus one price. The confirmed sum never exceeds the highest
voucher that this wallet has signed, whatever the seller claims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, cast

from sqlalchemy import Connection, func, insert, select, update

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import names_of
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.rows import one_row, values_of
from mcpsol_py.x402.store.schema import wallet_channels as table
from mcpsol_py.x402.store.schema import wallets

__all__ = ["WalletChannel", "WalletChannels"]

T = TypeVar("T")
WalletState = Literal["opening", "open", "closed"]


@dataclass(frozen=True, slots=True)
class WalletChannel:
    """One channel. Amounts in base units.

    `deposit` has landed, and `pending` is being deposited by `transaction`. The seller has confirmed `charged`.
    `signed` is the highest voucher ever signed.
    """

    wallet: str
    channel_id: str
    network: str
    fee_payer: str
    pay_to: str
    asset: str
    token_program: str
    receiver_authorizer: str
    withdraw_delay: int
    salt: str
    open_slot: int
    state: WalletState = "opening"
    deposit: int = 0
    charged: int = 0
    signed: int = 0
    pending: int = 0
    transaction: str | None = field(default=None, repr=False)
    touched_ms: int = 0


_NAMES = names_of(fields(WalletChannel))


class WalletChannels:
    """The channels of one wallet, shared by all processes that use it. Every method may raise StorageError."""

    def __init__(
        self, database: Database, wallet: str, clock_ms: Callable[[], int] | None = None
    ) -> None:
        self._database, self.wallet = database, wallet
        self._now = database.clock(clock_ms)

    def now_ms(self) -> int:
        """Return the clock of the rows, in milliseconds since 1970."""
        return self._run(lambda connection, _again: self._now(connection))

    def _run(self, work: Callable[[Connection, bool], T]) -> T:
        return self._database.run(work)

    def _is(self, channel_id: str) -> Any:
        return (table.c.wallet == self.wallet) & (table.c.channel_id == channel_id)

    def get(self, channel_id: str) -> WalletChannel | None:
        """Return a channel, or None if this wallet does not have it."""
        return self._run(lambda c, _: self._read(c, channel_id))

    def _read(self, connection: Connection, channel_id: str) -> WalletChannel | None:
        return one_row(connection, select(table).where(self._is(channel_id)), _channel)

    def usable(
        self,
        network: str,
        fee_payer: str,
        pay_to: str,
        asset: str,
        receiver_authorizer: str,
        withdraw_delay: int,
    ) -> list[WalletChannel]:
        """Return the channels on these terms that are not closed, the newest first."""
        wanted = (
            select(table)
            .where(
                table.c.wallet == self.wallet,
                table.c.network == network,
                table.c.fee_payer == fee_payer,
                table.c.pay_to == pay_to,
                table.c.asset == asset,
                table.c.receiver_authorizer == receiver_authorizer,
                table.c.withdraw_delay == withdraw_delay,
                table.c.state != "closed",
            )
            .order_by(table.c.created_ms.desc())
        )
        return self._database.fetch_all(wanted, _channel)

    def all(self) -> list[WalletChannel]:
        """Return all channels that are not closed, the newest first."""
        wanted = (
            select(table)
            .where(table.c.wallet == self.wallet, table.c.state != "closed")
            .order_by(table.c.created_ms.desc())
        )
        return self._database.fetch_all(wanted, _channel)

    def locked(self, network: str, asset: str) -> int:
        """Return what the channels of a token that are not closed hold, and deposits on their way, less what
        was charged.
        """
        return self._run(lambda c, _: self._locked(c, network, asset))

    def _locked(self, connection: Connection, network: str, asset: str) -> int:
        held = table.c.deposit + table.c.pending - table.c.charged
        total = connection.execute(
            select(func.coalesce(func.sum(held), 0)).where(
                table.c.wallet == self.wallet,
                table.c.network == network,
                table.c.asset == asset,
                table.c.state != "closed",
            )
        )
        return int(total.scalar_one())

    def _check_locked(
        self, connection: Connection, network: str, asset: str, locked: int | None
    ) -> None:
        """Raise PaymentError(CHANNEL_CONFLICT) if another call has locked more than *locked* meanwhile.

        Deposits of one wallet take turns by its row.
        """
        if locked is None:
            return
        mine = wallets.c.address == self.wallet
        connection.execute(select(wallets.c.address).where(mine).with_for_update())
        if self._locked(connection, network, asset) > locked:
            raise PaymentError(
                "CHANNEL_CONFLICT",
                "another call made a deposit meanwhile: ask for the same call again",
            )

    def begin(self, channel: WalletChannel, *, locked: int | None = None) -> None:
        """Add a channel whose opening is about to be sent.

        *locked*: what the channels of its token locked when its deposit was decided. Raises
        PaymentError(CHANNEL_CONFLICT) if they lock more by now.
        """
        values = values_of(channel, _NAMES)

        def work(connection: Connection, again: bool) -> None:
            if again and self._read(connection, channel.channel_id) is not None:
                return
            self._check_locked(connection, channel.network, channel.asset, locked)
            now = self._now(connection)
            connection.execute(
                insert(table).values({**values, "created_ms": now, "touched_ms": now})
            )

        self._run(work)

    def sign(
        self,
        channel_id: str,
        cumulative: int,
        price: int,
        *,
        pending: int = 0,
        transaction: str | None = None,
        locked: int | None = None,
    ) -> None:
        """Record a voucher of *cumulative* (the confirmed charges plus *price*) before it is signed.

        *pending*: base units that *transaction* deposits along with it; *locked* as in `begin`, for a new deposit.
        Raises PaymentError(CHANNEL_CONFLICT) if the voucher does not continue from the confirmed sum, or exceeds the
        deposit.
        """

        def work(connection: Connection, again: bool) -> bool:
            if locked is not None and not again:
                known = self._read(connection, channel_id)
                if known is not None:
                    self._check_locked(connection, known.network, known.asset, locked)
            mine = (
                self._is(channel_id)
                & (table.c.state != "closed")
                & (table.c.charged == cumulative - price)
            )
            values: dict[str, Any] = {"touched_ms": self._now(connection)}
            if transaction is None:
                mine &= table.c.deposit + table.c.pending >= cumulative
            else:
                mine &= table.c.deposit + pending >= cumulative
                values |= {"pending": pending, "transaction": transaction}
            if (
                connection.execute(update(table).where(mine).values(**values)).rowcount
                != 1
            ):
                return False
            higher = self._is(channel_id) & (table.c.signed < cumulative)
            connection.execute(update(table).where(higher).values(signed=cumulative))
            return True

        if price <= 0 or not self._run(work):
            raise PaymentError(
                "CHANNEL_CONFLICT",
                f"channel {channel_id} moved on meanwhile: ask for the same call again",
            )

    def confirmed(self, channel_id: str, charged: int) -> bool:
        """Record the total that the seller says it has charged.

        Return False if it is less than the seller confirmed before, or more than this wallet ever signed.
        """

        def work(connection: Connection, _again: bool) -> bool:
            mine = (
                self._is(channel_id)
                & (table.c.charged <= charged)
                & (table.c.signed >= charged)
            )
            values = {"charged": charged, "touched_ms": self._now(connection)}
            return (
                connection.execute(update(table).where(mine).values(**values)).rowcount
                == 1
            )

        return self._run(work)

    def saw(
        self,
        channel_id: str,
        *,
        deposit: int | None,
        state: WalletState,
        drop_pending: bool = False,
    ) -> None:
        """Record the state of a channel on chain. A *deposit* of None keeps the stored one.

        *drop_pending*: the pending deposit has landed, or never will.
        """

        def work(connection: Connection, _again: bool) -> None:
            values: dict[str, Any] = {
                "state": state,
                "touched_ms": self._now(connection),
            }
            if deposit is not None:
                values["deposit"] = deposit
            if drop_pending:
                values |= {"pending": 0, "transaction": None}
            connection.execute(
                update(table).where(self._is(channel_id)).values(**values)
            )

        self._run(work)


def _channel(row: Any) -> WalletChannel:
    values = values_of(row, _NAMES)
    return WalletChannel(**{**values, "state": cast(WalletState, values["state"])})

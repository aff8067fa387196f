"""Plans, and what a subscription's times say at a given moment. No clock, no database, no chain.

Only times and counts are kept; the state follows from them, by the same machine as on chain (docs/x402-program.md):

    pending ──(paid)──> active ──(due)──> past_due ──(charged)──> active
       │                  │                   └──(due + grace)──> expired
       │                  └──(due, nothing more agreed)─────────> expired
       └──(due + grace, never paid)─────────────────────────────> expired
    pending, active, past_due, expired ──cancel──> cancelled

Neither of the two ends leads anywhere: who comes back subscribes anew, and pays.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from mcpsol_py.errors import PaymentError, abbr

__all__ = ["State", "Plan", "Subscription", "boundary", "check_period", "period_at"]

State = Literal["pending", "active", "past_due", "cancelled", "expired"]

_SECONDS = re.compile(r"([1-9][0-9]{0,9})s")
_MONTHS = {"monthly": 1, "yearly": 12}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_period(period: str) -> str:
    """*period* as it is, when it is "monthly", "yearly", "one-time" or seconds ("2592000s"). Raises PaymentError."""
    if period in ("monthly", "yearly", "one-time") or _SECONDS.fullmatch(period):
        return period
    raise PaymentError(
        "INVALID_PARAMETERS",
        f'{abbr(period)} is no period; "monthly", "yearly", "one-time" and "3600s" are',
    )


def boundary(period: str, anchor_ms: int, number: int) -> int | None:
    """Where period *number* (0, 1, …) starts, in UTC milliseconds; the end of a one-time purchase is None, never.

    Months are the calendar's, by the anchor's day, or the month's last where it has no such day: from 31 January on,
    the next start at 28 or 29 February and 31 March.

    >>> boundary("60s", 1_000, 2)
    121000
    """
    if period == "one-time":
        return anchor_ms if number == 0 else None
    if period in _MONTHS:
        start = _EPOCH + timedelta(milliseconds=anchor_ms)
        months = start.year * 12 + start.month - 1 + number * _MONTHS[period]
        year, month = divmod(months, 12)
        day = min(start.day, calendar.monthrange(year, month + 1)[1])
        moved = start.replace(year=year, month=month + 1, day=day)
        return (moved - _EPOCH) // timedelta(milliseconds=1)
    found = _SECONDS.fullmatch(period)
    if found is None:
        check_period(period)
        raise AssertionError("check_period takes no other")
    return anchor_ms + number * int(found[1]) * 1000


def period_at(period: str, anchor_ms: int, ms: int) -> int:
    """The number of the period that *ms* is in; 0 also before the first one."""
    if period == "one-time" or ms <= anchor_ms:
        return 0
    if period in _MONTHS:
        then, start = (
            _EPOCH + timedelta(milliseconds=ms),
            _EPOCH + timedelta(milliseconds=anchor_ms),
        )
        guess = ((then.year - start.year) * 12 + then.month - start.month) // _MONTHS[period]
        here = boundary(period, anchor_ms, guess)
        return guess if here is not None and here <= ms else guess - 1
    found = _SECONDS.fullmatch(period)
    return (ms - anchor_ms) // (int(found[1]) * 1000) if found else 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be subscribed to: `price` base units of `asset` on `network`, to `pay_to`, for each `period`.

    `trial_ms` come free before the first charge. For `grace_ms` after a charge is due it may still be made, and calls
    are granted. `quota`: calls a period, None for any number. `max_charges` ends it by itself. `address`: the plan's
    account, for a plan on chain.
    """

    id: str
    name: str
    network: str
    asset: str
    pay_to: str
    price: int
    period: str
    description: str = ""
    features: tuple[str, ...] = ()
    trial_ms: int = 0
    grace_ms: int = 0
    quota: int | None = None
    max_charges: int | None = None
    open: bool = True
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription with the terms that were agreed to. Times in UTC milliseconds since 1970.

    `anchor_ms`: periods are counted from here. `period_from_ms` to `due_ms`: what is paid, or the trial (`charges` 0).
    `due_ms` None: paid for ever. `next_plan_id`: the plan whose terms hold from the next charge on. `opened_by`: the
    payment or proof that it was made with. `tries`, `next_try_ms`, `error`: of the charge that is due.
    """

    id: str
    plan_id: str
    subscriber: str
    network: str
    asset: str
    pay_to: str
    price: int
    period: str
    grace_ms: int
    quota: int | None
    max_charges: int | None
    anchor_ms: int
    period_from_ms: int
    due_ms: int | None
    charges: int
    auto_renew: bool = True
    cancelled_ms: int | None = None
    next_plan_id: str | None = None
    address: str | None = None
    opened_by: str = ""
    tries: int = 0
    next_try_ms: int | None = None
    error: str | None = None
    created_ms: int = 0

    def state(self, now_ms: int) -> State:
        """What it is at *now_ms*: see the module."""
        if self.cancelled_ms is not None:
            return "cancelled"
        if self.due_ms is None or now_ms < self.due_ms:
            return "active" if self.charges else "pending"
        if not self.renews or now_ms >= self.due_ms + self.grace_ms:
            return "expired"
        return "past_due"

    @property
    def renews(self) -> bool:
        """Another charge was agreed to."""
        more = self.max_charges is None or self.charges < self.max_charges
        return (
            more
            and (self.auto_renew or not self.charges)
            and (self.period != "one-time" or not self.charges)
        )

    def grants(self, now_ms: int) -> bool:
        """Calls are granted: in the trial, in what is paid (also when it is cancelled meanwhile), and in the grace."""
        if self.due_ms is None or now_ms < self.due_ms:
            return True
        return self.state(now_ms) == "past_due"

    def chargeable(self, now_ms: int) -> bool:
        """A charge may be made."""
        return self.state(now_ms) == "past_due"

    def quota_period(self, now_ms: int) -> int:
        """The start of the period that a call at *now_ms* counts for."""
        if now_ms < self.anchor_ms:
            return self.period_from_ms  # the trial
        start = boundary(
            self.period, self.anchor_ms, period_at(self.period, self.anchor_ms, now_ms)
        )
        return self.anchor_ms if start is None else start

    def next_period(self, now_ms: int) -> tuple[int, int | None]:
        """(start, end) of the period that a charge at *now_ms* pays.

        That is the one running now, never also an earlier one that nobody charged; before the due time the one that
        follows what is paid.
        """
        at = now_ms if self.due_ms is None else max(now_ms, self.due_ms)
        number = period_at(self.period, self.anchor_ms, at)
        start = boundary(self.period, self.anchor_ms, number)
        return (self.anchor_ms if start is None else start), boundary(
            self.period, self.anchor_ms, number + 1
        )

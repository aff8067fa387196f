"""Plans, and the state of a subscription at a given time. Without clock, database or chain.

Only times and counts are stored. The state is computed from them, with the same rules as on chain
(docs/x402-program.md):

    pending ──(paid)──> active ──(due)──> past_due ──(charged)──> active
       │                  │                   └──(due + grace)──> expired
       │                  └──(due, nothing more agreed)─────────> expired
       └──(due + grace, never paid)─────────────────────────────> expired
    pending, active, past_due, expired ──cancel──> cancelled

"cancelled" and "expired" are final: to come back, a wallet subscribes and pays again.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from mcpsol_py._moved import renamed
from mcpsol_py.errors import PaymentError, abbr

__all__ = [
    "State",
    "SubscriptionPlan",
    "Subscription",
    "boundary",
    "check_period",
    "period_at",
]

State = Literal["pending", "active", "past_due", "cancelled", "expired"]

_SECONDS = re.compile(r"([1-9][0-9]{0,9})s")
_MONTHS = {"monthly": 1, "yearly": 12}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_period(period: str) -> str:
    """Return *period* if it is "monthly", "yearly", "one-time" or seconds ("2592000s").

    Raises PaymentError.
    """
    if period in ("monthly", "yearly", "one-time") or _SECONDS.fullmatch(period):
        return period
    raise PaymentError(
        "INVALID_PARAMETERS",
        f'{abbr(period)} is not a period; expected "monthly", "yearly", "one-time" or "3600s"',
    )


def boundary(period: str, anchor_ms: int, number: int) -> int | None:
    """Return the start of period *number* (0, 1, …) in UTC milliseconds.

    A one-time purchase has no period 1: None. Months are calendar months, starting at the anchor's
    day, or at the month's last day if it is shorter: after 31 January follow 28 or 29 February and
    31 March.

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
        raise AssertionError("check_period accepts no other period")
    return anchor_ms + number * int(found[1]) * 1000


def period_at(period: str, anchor_ms: int, ms: int) -> int:
    """Return the number of the period that contains *ms*; 0 also before the first one."""
    if period == "one-time" or ms <= anchor_ms:
        return 0
    if period in _MONTHS:
        then = _EPOCH + timedelta(milliseconds=ms)
        start = _EPOCH + timedelta(milliseconds=anchor_ms)
        guess = ((then.year - start.year) * 12 + then.month - start.month) // _MONTHS[
            period
        ]
        guessed_start = boundary(period, anchor_ms, guess)
        return guess if guessed_start is not None and guessed_start <= ms else guess - 1
    found = _SECONDS.fullmatch(period)
    return (ms - anchor_ms) // (int(found[1]) * 1000) if found else 0


@dataclass(frozen=True, slots=True)
class SubscriptionPlan:
    """A plan: `price` base units of `asset` on `network`, paid to `pay_to` for each `period`.

    `trial_ms`: free time before the first charge. `grace_ms`: how long after a charge is due it may
    still be made; calls are granted meanwhile. `quota`: calls in a period, None for any number.
    `max_charges`: the plan ends after so many. `address`: the plan's account, for a plan on chain.
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
    """A subscription with the agreed terms. Times in UTC milliseconds since 1970.

    `anchor_ms`: the start of period 0. `period_from_ms` to `due_ms`: the time that is paid, or the
    trial (`charges` 0); `due_ms` None means paid for ever. `next_plan_id`: the plan whose terms
    apply from the next charge on. `opened_by`: the payment or proof that opened it. `tries`,
    `next_try_ms`, `error`: of the charge that is due.
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
        """Return the state at *now_ms*. The module's docstring shows the states."""
        if self.cancelled_ms is not None:
            return "cancelled"
        if self.due_ms is None or now_ms < self.due_ms:
            return "active" if self.charges else "pending"
        if not self.renews or now_ms >= self.due_ms + self.grace_ms:
            return "expired"
        return "past_due"

    @property
    def renews(self) -> bool:
        """Whether another charge was agreed to."""
        if self.max_charges is not None and self.charges >= self.max_charges:
            return False
        return not self.charges or (self.auto_renew and self.period != "one-time")

    def grants(self, now_ms: int) -> bool:
        """Whether calls are granted: in the trial, in paid time (also after a cancellation), in the
        grace.
        """
        if self.due_ms is None or now_ms < self.due_ms:
            return True
        return self.state(now_ms) == "past_due"

    def chargeable(self, now_ms: int) -> bool:
        """Whether a charge may be made."""
        return self.state(now_ms) == "past_due"

    def quota_period(self, now_ms: int) -> int:
        """Return the start of the period that a call at *now_ms* counts for."""
        if now_ms < self.anchor_ms:
            return self.period_from_ms  # the trial
        return self._start_of(period_at(self.period, self.anchor_ms, now_ms))

    def next_period(self, now_ms: int) -> tuple[int, int | None]:
        """Return (start, end) of the period that a charge at *now_ms* pays.

        After the due time this is the current period; earlier ones that nobody charged are skipped.
        Before the due time it is the period after the paid time.
        """
        at = now_ms if self.due_ms is None else max(now_ms, self.due_ms)
        number = period_at(self.period, self.anchor_ms, at)
        return self._start_of(number), boundary(self.period, self.anchor_ms, number + 1)

    def _start_of(self, number: int) -> int:
        """Return the start of a period; of a one-time period, the time when it was paid."""
        start = boundary(self.period, self.anchor_ms, number)
        return self.anchor_ms if start is None else start


def __getattr__(name: str) -> object:
    return renamed(__name__, name)

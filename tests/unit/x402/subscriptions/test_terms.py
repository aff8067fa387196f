"""Periods of the calendar and of seconds, and the states that follow from a subscription's times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.subscriptions.terms import (
    Subscription,
    boundary,
    check_period,
    period_at,
)

PERIODS = st.one_of(
    st.sampled_from(["monthly", "yearly"]), st.integers(1, 10**8).map(lambda n: f"{n}s")
)
MOMENTS = st.integers(0, 4_000_000_000_000)  # to the year 2096


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("period", "anchor", "starts"),
    [
        (
            "monthly",
            "2027-01-31T10:00:00",
            ["2027-02-28T10:00:00", "2027-03-31T10:00:00", "2027-04-30T10:00:00"],
        ),
        (
            "monthly",
            "2027-11-30T00:00:00",
            ["2027-12-30T00:00:00", "2028-01-30T00:00:00", "2028-02-29T00:00:00"],
        ),
        (
            "yearly",
            "2028-02-29T23:59:59",
            ["2029-02-28T23:59:59", "2030-02-28T23:59:59", "2031-02-28T23:59:59"],
        ),
        (
            "86400s",
            "2027-01-31T10:00:00",
            ["2027-02-01T10:00:00", "2027-02-02T10:00:00", "2027-02-03T10:00:00"],
        ),
    ],
)
def test_periods_start_where_the_calendar_says(
    period: str, anchor: str, starts: list[str]
) -> None:
    assert [boundary(period, at(anchor), n) for n in (1, 2, 3)] == [
        at(s) for s in starts
    ]


@given(PERIODS, MOMENTS, MOMENTS)
def test_every_moment_is_in_exactly_one_period(
    period: str, anchor: int, ms: int
) -> None:
    number = period_at(period, anchor, ms)
    start, end = boundary(period, anchor, number), boundary(period, anchor, number + 1)
    assert start is not None
    assert end is not None
    assert start < end
    if ms >= anchor:
        assert start <= ms < end
    else:
        assert number == 0


@pytest.mark.parametrize(
    "period",
    ["", "0s", "-1s", "weekly", "1.5s", "s", "99999999999s", "MONTHLY", "1s\n"],
)
def test_what_is_no_period(period: str) -> None:
    with pytest.raises(PaymentError) as caught:
        check_period(period)
    assert caught.value.code == "INVALID_PARAMETERS"


def one(**changed: object) -> Subscription:
    terms: dict[str, object] = {
        "id": "s", "plan_id": "p", "subscriber": "w", "network": "n", "asset": "a", "pay_to": "m", "price": 1,
        "period": "100s", "grace_ms": 30_000, "quota": None, "max_charges": 3, "anchor_ms": 50_000,
        "period_from_ms": 50_000, "due_ms": 150_000, "charges": 1,
    }  # fmt: skip
    return Subscription(**{**terms, **changed})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("changed", "now", "state", "grants"),
    [
        (
            {"charges": 0, "period_from_ms": 0, "due_ms": 50_000},
            49_999,
            "pending",
            True,
        ),
        (
            {"charges": 0, "period_from_ms": 0, "due_ms": 50_000},
            50_000,
            "past_due",
            True,
        ),
        (
            {"charges": 0, "period_from_ms": 0, "due_ms": 50_000},
            80_000,
            "expired",
            False,
        ),
        ({}, 149_999, "active", True),
        ({}, 150_000, "past_due", True),
        ({}, 179_999, "past_due", True),
        ({}, 180_000, "expired", False),
        ({"charges": 3}, 149_999, "active", True),
        ({"charges": 3}, 150_000, "expired", False),
        ({"cancelled_ms": 60_000}, 149_999, "cancelled", True),
        ({"cancelled_ms": 60_000}, 150_000, "cancelled", False),
        ({"auto_renew": False}, 150_000, "expired", False),
        ({"period": "one-time", "due_ms": None}, 10**15, "active", True),
    ],
)
def test_states_follow_from_times(
    changed: dict[str, object], now: int, state: str, grants: bool
) -> None:
    assert (one(**changed).state(now), one(**changed).grants(now)) == (state, grants)


def test_a_late_charge_pays_the_period_that_runs_now() -> None:
    """As on chain: missed periods do not pile up, and the schedule does not move."""
    late = one(grace_ms=10**9)
    assert late.next_period(151_000) == (150_000, 250_000)
    assert late.next_period(451_000) == (450_000, 550_000)
    # Paid ahead: the one that follows.
    assert late.next_period(60_000) == (150_000, 250_000)

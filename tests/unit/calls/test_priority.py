"""Priority fees and their limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py.calls.priority import MOST_LAMPORTS, PriorityFee
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import InvalidTransaction
from mcpsol_py.solana.compute_budget import MAX_UNITS
from mcpsol_py.solana.fees import priority_fee

KEY = Pubkey(bytes([5] * 32))
units = st.integers(1, MAX_UNITS)
amounts = st.integers(0, 2**64 - 1)


def price(fee: PriorityFee, recent: list[int], units: int) -> int | None:
    return run(fee.price_for(ScriptedTransport(fees=recent), [KEY], units))


@given(st.lists(amounts, max_size=20), units, st.integers(0, 10**12))
def test_what_is_measured_never_exceeds_the_limit(
    recent: list[int], units: int, most: int
) -> None:
    found = price(PriorityFee("auto", most), recent, units)
    assert found is not None
    assert priority_fee(units, found) <= most
    assert found <= max(recent, default=0)


@given(amounts, units, st.integers(0, 10**12))
def test_a_number_is_taken_as_it_is_or_refused(
    number: int, units: int, most: int
) -> None:
    fee = PriorityFee(number, most)
    if priority_fee(units, number) <= most:
        assert price(fee, [], units) == number
    else:
        with pytest.raises(InvalidTransaction, match=f"the limit is {most:,}"):
            price(fee, [], units)


def test_the_upper_quartile_of_recent_fees_is_paid() -> None:
    assert price(PriorityFee("auto"), [100, 1, 3, 2], 100_000) == 100
    assert price(PriorityFee("auto"), [5, 1, 1, 1, 1], 100_000) == 1
    assert price(PriorityFee("auto"), [], 100_000) == 0
    assert (
        price(PriorityFee("auto"), [10**12], MAX_UNITS)
        == MOST_LAMPORTS * 10**6 // MAX_UNITS
    )


def test_without_a_price_nothing_is_paid() -> None:
    assert price(PriorityFee(), [7], 100_000) is None

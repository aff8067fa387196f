"""Whole numbers of others: plain decimal text within its range is read, anything else is None, and nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.whole_numbers import (
    MAX_UNITS,
    U64_MAX,
    base_units,
    read_u64,
    whole_number,
)
from tests.support.odd_numbers import NOT_UNITS


@given(st.integers(0, 2**70), st.integers(0, U64_MAX))
def test_a_number_within_the_range_is_read(number: int, most: int) -> None:
    assert whole_number(str(number), most) == (number if number <= most else None)


def test_the_ranges() -> None:
    assert read_u64(str(U64_MAX)) == U64_MAX == 2**64 - 1
    assert base_units(str(MAX_UNITS)) == MAX_UNITS == 2**63 - 1
    assert read_u64(str(U64_MAX + 1)) is base_units(str(MAX_UNITS + 1)) is None


@given(
    st.one_of(st.text(), st.from_regex(r"[\d_+\-. ]{1,30}"), st.floats(), st.booleans())
)
def test_nothing_raises_and_only_its_own_text_is_read(value: object) -> None:
    number = read_u64(value)
    assert number is None or str(number) == value


@pytest.mark.parametrize("text", NOT_UNITS)
def test_what_int_or_isdigit_would_take_is_not_read(text: str) -> None:
    assert read_u64(text) is base_units(text) is None

"""Times as text and back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.utc import date_of, milliseconds, read_time, time_of

#: Up to the year 9999.
SECONDS = st.integers(0, 253_402_300_799)


@given(SECONDS)
def test_a_time_is_read_as_it_was_written(second: int) -> None:
    assert milliseconds(read_time(time_of(second * 1000))) == second * 1000
    assert time_of(second * 1000).startswith(date_of(second * 1000))


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert read_time("2026-11-28") == datetime(2026, 11, 28, tzinfo=UTC)
    assert read_time("2026-11-28T09:30+02:00") == datetime(
        2026, 11, 28, 7, 30, tzinfo=UTC
    )
    with pytest.raises(ValueError, match="isoformat"):
        read_time("soon")

"""Shortening: what is returned fits, begins like the value, and says what it lost."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.calls.shorten import shorten

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.text(max_size=300),
        st.binary(max_size=300).map(lambda raw: "0x" + raw.hex()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=60),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=100,
)


def _begins(short: Any, whole: Any) -> bool:
    if isinstance(whole, dict):
        return short.keys() == whole.keys() and all(
            _begins(short[k], whole[k]) for k in whole
        )
    if isinstance(whole, list):
        return len(short) <= len(whole) and all(map(_begins, short, whole))
    if isinstance(whole, str):
        return whole.startswith(short)
    return bool(short == whole)


@given(JSON, st.integers(10, 400))
def test_a_shortened_value_begins_like_the_whole(value: Any, room: int) -> None:
    short, notes = shorten(value, room)
    assert _begins(short, value)
    assert (short == value) == (not notes)
    if len(orjson.dumps(value)) <= room:
        assert short == value


def test_large_lists_and_bytes_fit_and_say_how_much_there_is() -> None:
    value = {
        "herd": list(range(20_000)),
        "wool": "0x" + "ab" * 20_000,
        "name": "x" * 9_000,
    }
    short, notes = shorten(value, 16_000)
    assert len(orjson.dumps(short)) <= 16_000
    assert short["herd"] == list(range(200))
    assert short["wool"] == "0x" + "ab" * 1_999
    assert notes == [
        "herd: the first 200 of 20,000 items",
        "wool: the first 1,999 of 20,000 bytes",
        "name: the first 4,000 of 9,000 characters",
    ]


def test_lists_within_lists_are_cut_further() -> None:
    short, notes = shorten([[list(range(100))] * 100] * 100, 16_000)
    assert len(orjson.dumps(short)) <= 16_000
    assert notes[0] == "the value: the first 10 of 100 items"
    assert notes[-1] == "91 more parts are shortened"

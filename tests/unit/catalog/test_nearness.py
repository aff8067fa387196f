"""Nearness: texts that mean the same are near, though they share no word."""

from __future__ import annotations

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.catalog.nearness import NearnessTo, packed_vector
from mcpsol_py.catalog.words import text_stems


def _near(one: str, other: str) -> float:
    return NearnessTo(text_stems(one)).of(packed_vector(text_stems(other)))


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("undo", "revert", "deposit"),
        ("founder", "creator", "price"),
        ("lottery", "randomness", "oracle"),
        ("salary", "payment", "oracle"),
    ],
)
def test_words_of_one_meaning_are_near(text: str, near: str, far: str) -> None:
    assert _near(text, near) > _near(text, far) + 0.1


def test_a_text_without_known_words_is_near_to_nothing() -> None:
    assert packed_vector(["qzxv"]) == b""
    assert _near("qzxv", "deposit") == _near("deposit", "qzxv") == 0.0


@given(
    st.lists(
        st.sampled_from(["deposit", "swap", "lottery", "qzxv", "tree", "cook"]),
        min_size=1,
    )
)
def test_a_packed_vector_has_the_length_of_all_others(words: list[str]) -> None:
    packed = packed_vector(words)
    length = math.hypot(*array("b", packed))
    assert not packed or abs(length - 127) < 5
    assert not packed or NearnessTo(words).of(packed) == pytest.approx(1.0, abs=0.03)

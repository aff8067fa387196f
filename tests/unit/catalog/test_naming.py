"""The programs that a question names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcpsol_py.catalog.documents import ProgramText
from mcpsol_py.catalog.index import Entry, SearchIndex
from mcpsol_py.catalog.naming import programs_named
from mcpsol_py.catalog.words import tokens

NAMES = {
    1: ("scop",),
    2: ("zorblax", "lazer"),
    3: ("zorblax", "vault"),
    4: ("msolq",),
    5: ("onqueu",),
    6: ("stak", "pool"),
    7: ("let", "me", "buy"),
    8: ("zorblax",),
}


@pytest.fixture
def index() -> Iterator[SearchIndex]:
    index = SearchIndex()
    texts = [
        ProgramText(" ".join(n), None, (n,), n, (), (), is_known=False)
        for n in NAMES.values()
    ]
    index.write(
        ([Entry(text.name, text.name, None, "file", text)] for text in texts), "1"
    )
    index.finish("1")
    yield index
    index.close()


def _named(index: SearchIndex, text: str) -> dict[int, float]:
    """The strongest strength of each program."""
    return {
        one.program: one.strength for one in programs_named(index, tokens(text), text)
    }


def test_a_title_counts_before_other_names(index: SearchIndex) -> None:
    """Red before titles were read: "zorblax lazer" is a longer name than "scope"."""
    named = _named(index, "Scope: update the prices out of Zorblax Lazer")
    assert max(named, key=named.__getitem__) == 1


def test_without_a_title_the_longest_name_counts_most(index: SearchIndex) -> None:
    named = _named(index, "update the prices of zorblax lazer")
    assert max(named, key=named.__getitem__) == 2


@pytest.mark.parametrize(
    "text", ["note: zorblax lazer update", ": zorblax lazer", "zorblax lazer:"]
)
def test_a_colon_after_something_else_is_no_title(
    index: SearchIndex, text: str
) -> None:
    named = _named(index, text)
    assert max(named, key=named.__getitem__) == 2


def test_a_typed_word_is_mended(index: SearchIndex) -> None:
    assert 2 in _named(index, "zorbalx deposit")


def test_two_words_together_are_not_mended(index: SearchIndex) -> None:
    """Red when they were: "em solq" is no wrong spelling of "msolq"."""
    assert 4 not in _named(index, "against em solq")


def test_a_filler_is_no_part_of_a_brand(index: SearchIndex) -> None:
    assert 5 in _named(index, "onqueue: pay")
    assert 5 not in _named(index, "pay on queue")


@pytest.mark.parametrize(
    "text",
    [
        "the stake pool program: change the fee",
        "change the fee with the stake pool program",
        "stake-pool fee",
        "StakePool fee",
        "stake_pool fee",
    ],
)
def test_an_ordinary_name_is_meant_where_it_is_written_as_one(
    index: SearchIndex, text: str
) -> None:
    """Red while only brands and titles named a program surely."""
    assert _named(index, text)[6] > _named(index, "stake with a pool")[6]


def test_fillers_are_a_name_where_they_are_written_as_one(index: SearchIndex) -> None:
    assert 7 in _named(index, "LetMeBuy edit the store")
    assert 7 not in _named(index, "let me buy a token")


def test_a_wrong_letter_is_mended_beside_another_brand(index: SearchIndex) -> None:
    """Red while words were mended only where no brand was known."""
    assert 4 in _named(index, "msloq beside zorblax")


def test_a_word_of_english_is_no_wrong_spelling(index: SearchIndex) -> None:
    assert 1 not in _named(index, "score a goal")


def test_the_first_letter_is_right(index: SearchIndex) -> None:
    assert 4 not in _named(index, "nsolq")


def test_a_brand_names_its_longer_names_less_than_the_whole(index: SearchIndex) -> None:
    named = _named(index, "zorblax: pay")
    assert named[8] > named[2] > 0
    assert _named(index, "zorblax lazer: pay")[2] > named[8]

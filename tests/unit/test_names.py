from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py import names
from mcpsol_py.names import (
    ByName,
    by_name,
    camel,
    clean_text,
    forms,
    pascal,
    rust_ident,
    snake,
    words,
)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("setValue", ("set", "value")),
        ("mintV1", ("mint", "v1")),
        ("ix2", ("ix2",)),
        ("swap2Tokens", ("swap2", "tokens")),
        ("HTTPServer", ("http", "server")),
        ("parseJSON2", ("parse", "json2")),
        ("token_2022", ("token", "2022")),
        ("r#type", ("type",)),
        ("open position::a-b", ("open", "position", "a", "b")),
        ("_reserved1", ("reserved1",)),
        ("A", ("a",)),
        ("aB", ("a", "b")),
        ("A0B0", ("a0b0",)),
        ("swapV2", ("swap", "v2")),
        ("", ()),
    ],
)
def test_words_are_split_as_heck_does(name: str, parts: tuple[str, ...]) -> None:
    assert words(name) == parts


@given(st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True))
def test_plain_shapes_are_split_as_all_others_are(name: str) -> None:
    quick = words(name)
    words.cache_clear()
    plain = "#" + name  # "#" separates words, and keeps the name off the quick way
    assert words(plain) == quick


@given(st.from_regex(r"[a-z]{2,5}(_[a-z]{2,5}){0,3}", fullmatch=True))
def test_styles_are_one_name(name: str) -> None:
    assert {snake(form) for form in (*forms(name), camel(name), pascal(name))} == {name}


CASES: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    camel,
    pascal,
    snake,
    str,
)


@given(
    st.lists(
        st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True),
        unique_by=names.letters,
    ),
    st.data(),
)
def test_every_spelling_finds_its_name(known: list[str], data: st.DataObject) -> None:
    found = by_name(known)
    for name in known:
        assert found.get(data.draw(st.sampled_from(CASES))(name)) == name


@given(
    st.from_regex(r"[A-Za-z]{1,6}", fullmatch=True),
    st.from_regex(r"[A-Za-z]{1,6}", fullmatch=True),
)
def test_names_of_other_letters_are_not_found(known: str, given_name: str) -> None:
    assert (given_name in by_name([known])) == (known.lower() == given_name.lower())


@pytest.mark.parametrize("spelling", ["nft", "nFt", "Nft"])
def test_a_spelling_of_two_names_finds_neither(spelling: str) -> None:
    two = ByName({"NFt": 1, "nFT": 2})
    assert spelling not in two
    assert (two.get("NFt"), two.get("nFT")) == (1, 2)


def test_two_spellings_of_one_value_find_it() -> None:
    value = object()
    assert ByName({"NFt": value, "nFT": value}).get("nft") is value


@given(st.text(max_size=20))
def test_any_text_becomes_an_identifier(text: str) -> None:
    for style in ("snake", "pascal", "screaming"):
        ident = rust_ident(text, style).removeprefix("r#")
        assert ident.isascii()
        assert ident.isidentifier()
        assert rust_ident(text, style) not in names.RUST_KEYWORDS


@given(st.text(max_size=60))
def test_cleaned_text_prints_on_its_own_lines_only(text: str) -> None:
    cleaned = clean_text(text, 40)
    assert len(cleaned) <= 40
    assert not any(ord(c) < 32 and c not in "\t\n" for c in cleaned)
    assert not any(c in "\u202e\u2066\u200b\u2028\u2029\u0085\x7f" for c in cleaned)
    assert clean_text(cleaned, 40) == cleaned

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py import names
from mcpsol_py.names import camel, clean_text, forms, pascal, rust_ident, snake, words


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

"""Text of a source in Rust: it never leaves its literal, identifier or comment."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from mcpsol_py.names import RUST_KEYWORDS
from mcpsol_py.render import rust
from tests.unit.render.rust_lexer import tokens

HOSTILE = [
    '"; panic!(); //',
    "*/ fn evil() {} /*",
    'r#"# "#',
    "a\nb\r\nc\u2028d\u2029e\x0bf\x85g",
    "{{ crate }} {% for %}",
    "\u202eevil\u202c \u200b",
    "\\",
    "'",
    "```\nfn main() {}\n```",
    "[link](http://x) <script>",
    "\0",
    "- item\n+ item\n1. item\n# head",
]
texts = st.one_of(
    st.text(max_size=300),
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE)).map("".join),
)


def rust_string_value(literal: str) -> str:
    """What rustc makes of a string literal, as the Rust reference says."""
    assert literal[0] == literal[-1] == '"'
    simple = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "0": "\0"}

    def one(found: re.Match[str]) -> str:
        escape = found.group(1)
        return chr(int(escape[2:-1], 16)) if escape.startswith("u") else simple[escape]

    return re.sub(r"\\(u\{[0-9a-f]+\}|.)", one, literal[1:-1])


def rust_bytes_value(literal: str) -> bytes:
    assert literal[:2] == 'b"'
    simple = {"n": 10, "r": 13, "t": 9, '"': 34, "\\": 92}

    def one(found: re.Match[str]) -> str:
        escape = found.group(1)
        return chr(int(escape[1:], 16) if escape.startswith("x") else simple[escape])

    return re.sub(r"\\(x[0-9a-f]{2}|.)", one, literal[2:-1]).encode("latin-1")


@given(texts)
def test_a_string_literal_is_one_token_with_that_value(text: str) -> None:
    literal = rust.string(text)
    assert literal.isascii()
    assert literal.isprintable()
    assert list(tokens(literal)) == [("string", "")]
    assert rust_string_value(literal) == text


@given(st.binary(max_size=300))
@example(bytes(range(256)))
def test_a_byte_string_literal_is_one_token_with_those_bytes(data: bytes) -> None:
    literal = rust.byte_string(data)
    assert literal.isascii()
    assert list(tokens(literal)) == [("string", "")]
    assert rust_bytes_value(literal) == data


@given(st.binary(min_size=1, max_size=64))
def test_a_byte_array_holds_those_bytes(data: bytes) -> None:
    assert bytes(int(x, 16) for x in rust.byte_array(data)[1:-1].split(", ")) == data


@given(texts)
def test_documentation_and_comments_have_no_token(text: str) -> None:
    for lines in (rust.doc([text]), rust.doc([text], inner=True), rust.comment([text])):
        assert list(tokens("\n".join(lines))) == []
        for line in lines:
            assert line.startswith("//")
            assert len(line.splitlines()) == 1
            assert not set(line) & set(
                "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\0"
            )


def test_a_megabyte_of_text_is_cut() -> None:
    lines = rust.doc(["x " * 500_000])
    assert sum(map(len, lines)) < 5000


@given(texts)
def test_an_identifier_is_one_identifier(text: str) -> None:
    for style in ("snake", "pascal", "screaming"):
        name = rust.ident(text, style)
        assert [kind for kind, _ in tokens(name)] == ["ident"]
        assert name.removeprefix("r#").isascii()
        assert name == "_unnamed" or name not in RUST_KEYWORDS
        assert name not in ("self", "Self", "super", "crate", "_")


@given(st.lists(texts, max_size=8))
def test_no_name_is_given_out_twice(names: list[str]) -> None:
    taken = rust.IdentifierPool("type_", "self_")
    given_out = [taken.take(n) for n in [*names, *names]]
    assert len(set(given_out)) == len(given_out)
    assert not {"type_", "self_"} & set(given_out)


def test_names_that_clippy_refuses_are_changed() -> None:
    assert rust.IdentifierPool().take("foo") == "foo_"


def test_numbers_are_grouped_as_clippy_wants() -> None:
    assert [rust.number(n) for n in (0, 9999, 10_000, -123456)] == [
        "0",
        "9999",
        "10_000",
        "-123_456",
    ]


def test_the_lexer_sees_what_it_must() -> None:
    code = 'fn f<\'a>(x: &\'a str) -> u8 { /* a /* b */ c */ "x\\"y"; b\'\\\'\'; r#"a"b"#; 1_u8 } // end'
    kinds = [text or kind for kind, text in tokens(code)]
    expected = "fn ident < lifetime > ( ident : & lifetime ident ) - > ident { string ; char ; string ; number }"
    assert kinds == expected.split()

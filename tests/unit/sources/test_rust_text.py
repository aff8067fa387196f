import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    Array,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Tuple,
    Type,
    TypeArg,
    Unsupported,
    vec,
)
from mcpsol_py.sources.rust_text import parse

DEFINED = {"Point", "Wrapper"}.__contains__


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("COption<Pubkey>", Option(PUBKEY, U32, fixed=True)),
        ("SmallVec<u8,Pubkey>", Array(PUBKEY, U8)),
        ("SmallVec<u16, u8>", Array(U8, U16)),
        ("(u8,[u8;32])", Tuple((U8, Array(U8, 32)))),
        ("(u8,)", Tuple((U8,))),
        ("(u8)", U8),
        ("()", Struct(())),
        ("usize", U64),
        ("[ [u16 ; 2] ; 3 ]", Array(Array(U16, 2), 3)),
        ("Vec<Option<bool>>", vec(Option(BOOL))),
        ("Box<Point>", Link("Point")),
        ("Box<[u8]>", BORSH_BYTES),
        ("std::collections::HashMap<String, u8>", Map(BORSH_STRING, U8, U32)),
        ("BTreeSet<u8>", Set(U8, U32)),
        ("state::Point", Link("Point")),
        ("Wrapper<u8, 3>", Link("Wrapper", (TypeArg(U8), TypeArg(3)))),
        ("PhantomData<u8>", Struct(())),
        ("Undefined", Link("Undefined")),
    ],
)
def test_certain_meanings(text: str, node: Type) -> None:
    assert parse(text, DEFINED) == node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("&[u8]", BORSH_BYTES),
        ("&str", BORSH_STRING),
        ("&'static str", BORSH_STRING),
        ("&'astr", BORSH_STRING),
        ("&[u16]", vec(U16)),
        ("&[u8; 4]", Array(U8, 4)),
    ],
)
def test_references_are_certain_in_constants_only(text: str, node: Type) -> None:
    assert parse(text, DEFINED, constant=True) == node
    assert isinstance(parse(text, DEFINED), Unsupported)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Vec<",
        "Vec<u8",
        "Vec<u8>>",
        "[u8; N]",
        "[u8]",
        "SmallVec<[u8; 4]>",
        "SmallVec<i8, u8>",
        "Vec<u8, u8>",
        "Mystery<u8>",
        "fn(u8)",
        "u8 u8",
        "str",
        "[u8; 99999999999999]",
        "Vec<" * 40 + "u8" + ">" * 40,
        "u8" * 400,
    ],
)
def test_uncertain_meanings_are_said_and_not_guessed(text: str) -> None:
    node = parse(text, DEFINED)
    assert isinstance(node, Unsupported)
    assert "without a certain meaning" in node.why


@given(
    st.text(alphabet="Vecu8<>[](),;&' :OptionPubkey3", max_size=40)
    | st.text(max_size=40)
)
def test_no_text_raises(text: str) -> None:
    parse(text, DEFINED)
    parse(text, DEFINED, constant=True)

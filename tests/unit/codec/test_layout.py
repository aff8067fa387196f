"""Sizes, bounds and C layouts, by hand. tests/oracles/test_borsh.py asks rustc for the same."""

from __future__ import annotations

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    BORSH_STRING,
    I8,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    U128,
    Array,
    Enum,
    Field,
    FixedSize,
    Link,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
    ZeroableOption,
    is_bytes,
    vec,
)


def made(*types: TypeDef) -> Codecs:
    return Codecs(ProgramModel("p", types=types))


def struct(**fields: Type) -> Struct:
    return Struct(tuple(Field(name, node) for name, node in fields.items()))


@pytest.mark.parametrize(
    ("node", "fixed", "least"),
    [
        (U128, 16, 16),
        (PUBKEY, 32, 32),
        (ShortU16(), None, 1),
        (BORSH_STRING, None, 4),
        (Option(U64), None, 1),
        (Option(U64, U32, fixed=True), 12, 12),
        (ZeroableOption(U64), 8, 8),
        (ZeroableOption(U64, b"\xff"), None, 1),
        (RemainderOption(U64), None, 0),
        (Array(vec(U8), 3), None, 12),
        (Array(vec(U8), 0), 0, 0),
        (Tuple((U8, U16)), 3, 3),
        (Enum((Variant("A", Tuple((U8,))), Variant("B", Tuple((I8,))))), 2, 2),
        (Enum((Variant("A"), Variant("B", Tuple((I8,))))), None, 1),
        (FixedSize(String(), 9), 9, 9),
        (Sentinel(String(), b"ab"), None, 2),
        (SizePrefixed(U64, U8), None, 1),
        (Offset(U8, 3, "pre", "padded"), 4, 4),
        (Offset(U8, 3, "pre", "relative"), None, 0),
    ],
)
def test_sizes(node: Type, fixed: int | None, least: int) -> None:
    layouts = Layouts(Resolver(ProgramModel("p")))
    assert (layouts.fixed_size(node), layouts.least(node)) == (fixed, least)


def test_a_type_that_holds_itself_has_no_fixed_size() -> None:
    codecs = made(TypeDef("Node", struct(value=U64, next=Option(Link("Node")))))
    assert codecs.codec(Link("Node")).fixed_size is None
    assert codecs.layouts.least(Link("Node")) == 9


def test_c_pads_to_natural_alignment_and_u128_aligns_to_eight() -> None:
    codecs = made(
        TypeDef("A", struct(a=U8, wide=U128, b=U16), layout="c"),
        TypeDef("P", struct(a=U8, wide=U128, b=U16), layout="packed"),
        TypeDef("Big", struct(a=U8), layout="c", align=32),
        TypeDef(
            "Out",
            struct(a=U8, inner=Link("A"), key=PUBKEY, c=Option(U64, U32, fixed=True)),
            layout="c",
        ),
    )
    assert (
        codecs.codec(Link("A")).encode({"a": 1, "wide": 2, "b": 3}).hex()
        == "01" + "00" * 7 + "02" + "00" * 15 + "03" + "00" * 7
    )
    assert codecs.codec(Link("P")).fixed_size == 19
    assert codecs.codec(Link("Big")).fixed_size == 32
    assert codecs.codec(Link("Out")).fixed_size == 8 + 32 + 32 + 16


def test_c_layouts_hold_from_the_top_and_not_under_borsh() -> None:
    codecs = made(
        TypeDef("A", struct(a=U8, b=U32), layout="c"),
        TypeDef("B", struct(x=U8, a=Link("A"))),
    )
    value = {"a": 1, "b": 2}
    assert codecs.codec(Link("A")).encode(value).hex() == "0100000002000000"
    assert codecs.codec(Link("B")).encode({"x": 9, "a": value}).hex() == "090102000000"


def test_transparent_is_its_only_field() -> None:
    codecs = made(
        TypeDef("T", Tuple((Link("A"),)), layout="transparent"),
        TypeDef("A", struct(a=U8, b=U32), layout="c"),
        TypeDef("Two", struct(a=U8, b=U8), layout="transparent"),
    )
    assert (
        codecs.codec(Link("T")).encode([{"a": 1, "b": 2}]).hex() == "0100000002000000"
    )
    with pytest.raises(NotUsable, match="for types of one field"):
        codecs.codec(Link("Two"))


def test_padding_may_hold_anything_when_read() -> None:
    codecs = made(TypeDef("A", struct(a=U8, b=U32), layout="c"))
    assert codecs.codec(Link("A")).decode(b"\x01abc\x02\0\0\0") == {"a": 1, "b": 2}


@pytest.mark.parametrize("node", [BORSH_STRING, vec(U8), Option(U8), ShortU16()])
def test_what_has_no_fixed_place_is_refused_in_a_c_layout(node: Type) -> None:
    with pytest.raises(NotUsable, match="no fixed place in memory"):
        made(TypeDef("A", struct(a=U8, b=node), layout="c")).codec(Link("A"))


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(NotUsable, match="has the layout 'custom:mine'"):
        made(TypeDef("A", struct(a=U8), layout="custom:mine")).codec(vec(Link("A")))


def test_bytes_are_arrays_of_u8_alone() -> None:
    assert is_bytes(vec(U8))
    assert is_bytes(Array(U8, 3))
    assert not is_bytes(vec(I8))
    assert not is_bytes(vec(Link("U8")))

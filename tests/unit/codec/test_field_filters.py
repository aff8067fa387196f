"""Filters on fields of accounts: the offsets and bytes that a node compares."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.codec.field_filters import FieldFilters
from mcpsol_py.errors import EncodeError, NotUsable, UnknownName
from mcpsol_py.model import program as model
from mcpsol_py.model.types import (
    BORSH_STRING,
    U8,
    U16,
    U32,
    U64,
    Array,
    Bytes,
    Enum,
    Field,
    FixedSize,
    Int,
    Link,
    Option,
    Struct,
    Type,
    TypeDef,
    Variant,
)
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.program import Program

KEY = Pubkey.new_unique()
TERMS = Struct((Field("rate", U16), Field("mint", PubkeyType())))
STATE = Struct(
    (
        Field("authority", PubkeyType()),
        Field("terms", Link("Terms")),
        Field("delegate", Option(PubkeyType(), U32, fixed=True)),
        Field("kind", Enum((Variant("open"), Variant("closed")))),
        Field("nick_name", BORSH_STRING),
        Field("count", U64),
    )
)
MARK = b"state_ds"
MARKED = (0, MARK)


def filters(
    where: dict[str, Any], *, body: Type = STATE, **account: Any
) -> FieldFilters:
    account.setdefault("discriminator", model.Discriminator(MARK))
    kind = model.AccountType("State", type=body, **account)
    types = (TypeDef("Terms", TERMS),)
    program = Program(model.ProgramModel("bank", (), accounts=(kind,), types=types))
    return FieldFilters(program.codecs, kind, where)


def test_without_fields_the_discriminator_is_compared() -> None:
    assert filters({}).for_node() == [MARKED]


@pytest.mark.parametrize(
    ("path", "value", "offset", "wanted"),
    [
        ("authority", KEY, 8, bytes(KEY)),
        ("authority", str(KEY), 8, bytes(KEY)),
        ("terms.rate", 3, 40, b"\3\0"),
        ("terms.mint", KEY, 42, bytes(KEY)),
        ("terms", {"rate": 1, "mint": KEY}, 40, b"\1\0" + bytes(KEY)),
        ("delegate", KEY, 74, b"\1\0\0\0" + bytes(KEY)),
        ("delegate", None, 74, bytes(4)),
        ("kind", "closed", 110, b"\1"),
        ("nick_name", "bob", 111, b"\3\0\0\0bob"),
        ("nickName", "bob", 111, b"\3\0\0\0bob"),
    ],
)
def test_a_field_is_compared_at_its_offset(
    path: str, value: object, offset: int, wanted: bytes
) -> None:
    assert filters({path: value}).for_node() == [MARKED, (offset, wanted)]


def test_a_field_after_one_of_variable_size_is_refused() -> None:
    with pytest.raises(NotUsable, match="follows 'nick_name', whose size varies"):
        filters({"count": 1})


def test_an_unknown_field_is_named_with_its_struct() -> None:
    with pytest.raises(UnknownName, match="rate"):
        filters({"terms.rat": 1})


def test_a_field_of_what_has_no_fields_is_refused() -> None:
    with pytest.raises(NotUsable, match=r"State\.authority is pubkey, not a struct"):
        filters({"authority.x": 1})


def test_a_value_must_fit_its_field() -> None:
    with pytest.raises(EncodeError, match=r"State\.terms\.rate"):
        filters({"terms.rate": 70_000})


def test_padding_of_a_c_layout_is_skipped() -> None:
    body = Struct((Field("flag", U8), Field("amount", U64)))
    kind = model.AccountType("State", model.Discriminator(MARK), Link("Raw"))
    types = (TypeDef("Raw", body, layout="c"),)
    program = Program(model.ProgramModel("bank", (), accounts=(kind,), types=types))
    found = FieldFilters(program.codecs, kind, {"amount": 5}).for_node()
    assert found == [MARKED, (16, struct.pack("<Q", 5))]


def test_a_node_gets_four_filters_at_most() -> None:
    body = Struct(tuple(Field(f"f{number}", U8) for number in range(6)))
    found = filters({f"f{number}": number for number in range(6)}, body=body)
    assert len(found.for_node()) == 4
    assert found.match(MARK + bytes(range(6)))
    assert not found.match(MARK + bytes([0, 1, 2, 3, 4, 6]))


def test_the_filter_by_size_counts() -> None:
    body = Struct(tuple(Field(f"f{number}", U8) for number in range(6)))
    sized = (model.Discriminator(size=14),)
    found = filters(
        {f"f{number}": number for number in range(6)}, body=body, also=sized
    )
    assert len(found.for_node()) == 3


def test_a_node_compares_128_bytes_at_most() -> None:
    value = bytes(200)
    body = Struct(
        (Field("data", Array(Int(8), 200)), Field("name", FixedSize(Bytes(), 4)))
    )
    found = filters({"data": value}, body=body)
    assert [len(wanted) for _, wanted in found.for_node()] == [8, 128]
    assert not found.match(MARK + bytes(199) + b"\1" + bytes(4))

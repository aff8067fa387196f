"""The forms that each kind of value is read in, and how others are refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import EncodeError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    I8,
    PUBKEY,
    U8,
    U32,
    U64,
    U128,
    Array,
    Enum,
    Field,
    Int,
    Map,
    Option,
    Set,
    ShortU16,
    Struct,
    Tuple,
    Type,
    Variant,
    vec,
)

KEY = "Vote111111111111111111111111111111111111111"
CODECS = Codecs(ProgramModel("p"))


@pytest.mark.parametrize(
    ("node", "value", "number"),
    [
        (U64, 2**64 - 1, 2**64 - 1),
        (U64, "18446744073709551615", 2**64 - 1),
        (U64, 2**53 - 1, 2**53 - 1),
        (U8, "255", 255),
        (I8, "-128", -128),
        (U8, True.__int__(), 1),
        (ShortU16(), 65535, 65535),
    ],
)
def test_integers_are_read_as_numbers_and_as_decimal_text(
    node: Int | ShortU16, value: object, number: int
) -> None:
    assert leaf.int_of(node, value, strict=False) == number


@pytest.mark.parametrize(
    ("node", "value", "says"),
    [
        (U64, 2**53, "may have lost digits"),
        (U128, 10**30, "may have lost digits"),
        (Int(64, signed=True), -(2**53), "may have lost digits"),
        (U64, 1.5, "1.5, which is a fraction or inexact"),
        (U64, 1e300, "is a fraction or inexact"),
        (U8, 256, r"256 is out of range for u8 \(0 to 255\)"),
        (I8, -129, r"-129 is out of range for i8 \(-128 to 127\)"),
        (U8, True, "got bool True"),
        (U8, None, "got null"),
        (U8, "0x10", "decimal text, got '0x10'"),
        (U8, "1_0", "decimal text"),
        (U64, "1.5", "got '1.5'. An amount is a number of base units, without a point"),
        (U64, "9" * 1000, "decimal text"),
        (U8, [1], "got a list"),
        (U8, math.nan, "is a fraction or inexact"),
    ],
)
def test_integers_over_json_that_are_refused_say_why(
    node: Int, value: object, says: str
) -> None:
    with pytest.raises(EncodeError, match=says) as caught:
        leaf.int_of(node, value, strict=True)
    assert caught.value.value is value


def test_a_whole_float_is_an_integer_over_json_alone() -> None:
    assert leaf.int_of(U64, 5.0, strict=True) == 5
    with pytest.raises(EncodeError):
        leaf.int_of(U64, 5.0, strict=False)


@pytest.mark.parametrize(
    "value",
    [
        "0x0102ff",
        "0X0102FF",
        "base64:AQL/",
        "base58:LiA",
        [1, 2, 255],
        b"\x01\x02\xff",
        bytearray(b"\x01\x02\xff"),
        "[1,2,255]",
    ],
)
def test_bytes_are_read_by_their_prefix_or_as_numbers(value: object) -> None:
    assert leaf.bytes_of(value) == b"\x01\x02\xff"


@pytest.mark.parametrize(
    "value",
    [
        "0x1",
        "0xzz",
        "base64:A",
        "base58:0",
        "abc",
        [256],
        [-1],
        [True],
        [1.0],
        5,
        None,
        "base58:" + "1" * 9000,
    ],
)
def test_what_is_no_bytes_is_refused(value: object) -> None:
    with pytest.raises(EncodeError):
        leaf.bytes_of(value)


@pytest.mark.parametrize(
    "value", [KEY, Address.from_string(KEY), bytes(Address.from_string(KEY))]
)
def test_keys_are_read_in_three_forms(value: object) -> None:
    assert leaf.address_of(value) == bytes(Address.from_string(KEY))


@pytest.mark.parametrize(
    "value", ["", "1", KEY[:-1] + "0", "0x" + "00" * 32, b"short", 5, None, [0] * 32]
)
def test_what_is_no_key_is_refused(value: object) -> None:
    with pytest.raises(EncodeError, match="base58 address"):
        leaf.address_of(value)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (F64, "NaN"),
        (F64, "Infinity"),
        (F32, "-Infinity"),
        (F64, 1),
        (F32, 1.5),
        (F64, "2.5e3"),
        (F32, 1e38),
    ],
)
def test_floats_take_numbers_and_three_words(node: Type, value: object) -> None:
    assert len(CODECS.codec(node).encode_json(value)) in (4, 8)


@pytest.mark.parametrize(
    ("node", "value"),
    [(F64, "inf"), (F64, "nan"), (F64, True), (F32, 1e39), (F64, 10**400), (F64, None)],
)
def test_what_is_no_float_is_refused(node: Type, value: object) -> None:
    with pytest.raises(EncodeError):
        CODECS.codec(node).encode_json(value)


PAIR = Struct((Field("a", U8), Field("b", vec(U8))))


@pytest.mark.parametrize(
    ("node", "value", "data"),
    [
        (PAIR, '{"a": 1, "b": "0x02"}', "010100000002"),
        (PAIR, {"a": "1", "b": "[2]"}, "010100000002"),
        (vec(U32), "[1, 2]", "020000000100000002000000"),
        (Tuple((U8, BOOL)), '[1, "true"]', "0101"),
        (Map(U8, U8, U8), "[[1, 2]]", "010102"),
        (Map(BORSH_STRING, U8, U8), '{"k": 2}', "01010000006b02"),
        (
            Enum((Variant("A"), Variant("B", PAIR))),
            '{"B": {"a": 1, "b": []}}',
            "010100000000",
        ),
        (Option(Option(PAIR)), '{"some": {"a": 1, "b": []}}', "01010100000000"),
        (Set(U8, U8), "0x0201", "020201"),
    ],
)
def test_json_text_is_read_if_the_type_expects_an_object_or_a_list(
    node: Type, value: object, data: str
) -> None:
    assert CODECS.codec(node).encode_json(value).hex() == data


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (BORSH_STRING, '{"a": 1}'),
        (vec(U32), "[1, 2"),
        (PAIR, "a"),
        (BORSH_BYTES, "abc"),
        (PAIR, "[" * 100_000),
    ],
)
def test_json_text_is_not_read_for_other_types(node: Type, value: Any) -> None:
    if node == BORSH_STRING:
        assert CODECS.codec(node).encode_json(value)[4:] == value.encode()
    else:
        with pytest.raises(EncodeError):
            CODECS.codec(node).encode_json(value)


@pytest.mark.parametrize(
    ("node", "value"), [(PAIR, '{"a": 1, "b": []}'), (BOOL, "true")]
)
def test_json_text_is_not_read_in_python(node: Type, value: str) -> None:
    with pytest.raises(EncodeError):
        CODECS.codec(node).encode(value)


@pytest.mark.parametrize("value", ["Ab", "ab", {"Ab": {}}, {"Ab": None}])
def test_variants_are_found_by_name_in_any_case(value: object) -> None:
    node = Enum((Variant("Zz"), Variant("Ab"), Variant("OtherOne", Tuple((U8,)))))
    assert CODECS.codec(node).encode(value) == b"\x01"
    assert CODECS.codec(node).encode({"other_one": [3]}) == b"\x02\x03"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("Nope", "unknown variant 'Nope'. .*Available: A, B."),
        ({"A": {}, "B": [1]}, "expected one variant"),
        (0, "expected a variant by name"),
        ("B", "variant 'B' holds"),
        ({"A": [1]}, "variant 'A' holds nothing"),
        ({"B": [1, 2]}, "a list of 1"),
        (None, "expected a variant by name"),
    ],
)
def test_what_is_no_variant_is_refused(value: object, says: str) -> None:
    with pytest.raises(EncodeError, match=says):
        CODECS.codec(Enum((Variant("A"), Variant("B", Tuple((U8,)))))).encode(value)


def test_a_set_holds_each_value_once() -> None:
    with pytest.raises(EncodeError, match="in the set already") as caught:
        CODECS.codec(Set(U8, U8)).encode([1, 2, 1])
    assert caught.value.path == "[2]"


def test_a_map_holds_each_key_once() -> None:
    with pytest.raises(EncodeError, match="in the map already") as caught:
        CODECS.codec(Map(PUBKEY, U8, U8)).encode(
            [[KEY, 1], [Address.from_string(KEY), 2]]
        )
    assert caught.value.path == "[1]"


@pytest.mark.parametrize(
    ("node", "value", "says"),
    [
        (Array(U8, 3), b"ab", "exactly 3 bytes, got 2"),
        (Array(U8, U8), bytes(300), "at most 255 bytes, .*got 300"),
        (Array(U32, 2), [1], "exactly 2 items, got 1"),
    ],
)
def test_arrays_of_another_length_are_refused(
    node: Type, value: Any, says: str
) -> None:
    with pytest.raises(EncodeError, match=says):
        CODECS.codec(node).encode(value)

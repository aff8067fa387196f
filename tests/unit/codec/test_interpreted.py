"""Errors say where: the path in the value, the offset in the data, what was found."""

from __future__ import annotations

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.layout import MAX_DEPTH
from mcpsol_py.errors import DecodeError, EncodeError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    BOOL,
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
    HiddenPrefix,
    Link,
    Map,
    Offset,
    Option,
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
    vec,
)

NODE = TypeDef("Node", Struct((Field("next", Option(Link("Node"))),)))
CODECS = Codecs(ProgramModel("p", types=(NODE,)))
ITEM = Struct((Field("name", BORSH_STRING), Field("size", U16)))
PARAMS = Struct(
    (
        Field(
            "params",
            Struct(
                (
                    Field("items", vec(ITEM)),
                    Field("pick", Enum((Variant("A", Tuple((U8,))),))),
                )
            ),
        ),
    )
)


def test_an_encode_error_has_its_path_type_and_value() -> None:
    good = {"name": "a", "size": 1}
    value = {
        "params": {
            "items": [good, good, good, {"name": "b", "size": 70_000}],
            "pick": {"A": [1]},
        }
    }
    with pytest.raises(EncodeError) as caught:
        CODECS.codec(PARAMS).encode(value)
    error = caught.value
    assert (error.path, error.type, error.value) == (
        "params.items[3].size",
        "u16",
        70_000,
    )
    assert (
        str(error) == "params.items[3].size: 70000 is out of range for u16 (0 to 65535)"
    )
    assert error.details()["path"] == "params.items[3].size"


def test_a_decode_error_has_its_path_and_offset() -> None:
    value = {
        "params": {
            "items": [{"name": "a", "size": 1}, {"name": "b", "size": 2}],
            "pick": {"A": [1]},
        }
    }
    data = CODECS.codec(PARAMS).encode(value)
    with pytest.raises(DecodeError) as caught:
        CODECS.codec(PARAMS).decode(data[:16])
    error = caught.value
    assert (error.path, error.offset, error.wanted, error.left) == (
        "params.items[1].size",
        16,
        2,
        0,
    )


def test_an_unknown_tag_has_its_path_and_offset() -> None:
    value = {"params": {"items": [], "pick": {"A": [1]}}}
    data = CODECS.codec(PARAMS).encode(value)
    with pytest.raises(
        DecodeError,
        match=r"^params.pick: no variant has tag 9; there are 1 \(at offset 4\)$",
    ):
        CODECS.codec(PARAMS).decode(data[:-2] + b"\x09\x01")


@pytest.mark.parametrize(
    ("node", "data", "offset", "says"),
    [
        (U64, b"\0" * 7, 0, "expected 8 bytes of u64 at offset 0, got 7"),
        (U64, b"\0" * 9, 8, "1 byte is left over after the value, from offset 8"),
        (BOOL, b"\x02", 0, "expected a bool of 0 or 1, got 2"),
        (Option(U8), b"\x02\0", 0, "tag of 0 or 1, got 2"),
        (BORSH_STRING, b"\x02\0\0\0\xff\xfe", 4, "not utf8"),
        (
            BORSH_STRING,
            b"\xff\xff\xff\xff",
            4,
            "expected 4294967295 bytes of str at offset 4, got 0",
        ),
        (
            vec(U64),
            b"\xff\xff\xff\xffabc",
            0,
            "expected 4294967295 items of at least 8 bytes at offset 0, got 3",
        ),
        (
            vec(Struct(())),
            b"\xff\xff\xff\xff",
            0,
            "at most 65536 items that may take no bytes, got 4294967295",
        ),
        (vec(vec(U8)), b"\xff\xff\0\0" + bytes(16), 0, "items of at least 4 bytes"),
        (
            Map(U32, U32, U32),
            b"\xff\xff\0\0" + bytes(16),
            0,
            "items of at least 8 bytes",
        ),
        (Array(Struct(()), None), b"a", 0, "take no bytes"),
        (Enum((Variant("A"),)), b"\x01", 0, "no variant has tag 1"),
        (Sentinel(String(), b"\0"), b"abc", 0, "expected the end mark 0x00"),
        (
            HiddenPrefix(U8, b"ab"),
            b"axc",
            0,
            "expected the constant bytes 0x6162, got 0x6178",
        ),
        (
            SizePrefixed(U8, U8),
            b"\x02ab",
            2,
            "its prefix says 2 bytes, but 1 of them are left over",
        ),
        (
            SizePrefixed(U32, U8),
            b"\x02ab",
            1,
            "expected 4 bytes of u32 at offset 1, got 2",
        ),
        (ShortU16(), b"\x80\x80\x80\x01", 0, "more than three bytes"),
        (ShortU16(), b"\x80\0", 0, "the shortest compact-u16"),
        (ShortU16(), b"\xff\xff\x7f", 0, "over 65,535"),
        (ShortU16(), b"\x80", 0, "expected [12] bytes? of shortU16"),
        (
            Offset(U8, 9, "pre", "absolute"),
            b"abc",
            0,
            "moves to 9, outside the 3 bytes",
        ),
        (Offset(U8, -9, "post", "relative"), b"abc", 1, "moves to -8, outside"),
    ],
)
def test_bytes_that_do_not_fit_are_named_with_their_offset(
    node: Type, data: bytes, offset: int, says: str
) -> None:
    with pytest.raises(DecodeError, match=says) as caught:
        CODECS.codec(node).decode(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize("data", [5, "0x00", None, [1]])
def test_only_bytes_are_decoded(data: object) -> None:
    with pytest.raises(DecodeError, match="expected bytes, got"):
        CODECS.codec(U8).decode_from(data)  # type: ignore[arg-type]  # that is the point


def test_other_byte_types_are_decoded() -> None:
    assert (
        CODECS.codec(U16).decode(bytearray(b"\x01\0"))
        == CODECS.codec(U16).decode(memoryview(b"\x01\0"))
        == 1
    )


def nested(levels: int) -> dict[str, object]:
    deep: dict[str, object] = {"next": None}
    for _ in range(levels):
        deep = {"next": deep}
    return deep


def test_values_may_nest_up_to_the_bound() -> None:
    codec = CODECS.codec(Link("Node"))
    deep = nested(MAX_DEPTH - 1)
    data = codec.encode(deep)
    assert codec.decode(data) == deep
    assert codec.encode_json(codec.to_json(deep)) == data


def test_values_that_nest_deeper_are_refused() -> None:
    with pytest.raises(EncodeError, match="deeper than 64 levels"):
        CODECS.codec(Link("Node")).encode(nested(5000))


def test_data_that_nests_deeper_is_refused() -> None:
    with pytest.raises(DecodeError, match="deeper than 64 levels"):
        CODECS.codec(Link("Node")).decode(b"\x01" * 5000 + b"\0")


@pytest.mark.parametrize(
    ("node", "value", "says"),
    [
        (FixedSize(String(), 2), "abc", "at most 2 bytes, got 3"),
        (Sentinel(Bytes(), b"\0\0"), b"a\0\0b", "contains its end mark"),
        (Sentinel(Bytes(), b"\0\0"), b"a\0", "contains its end mark"),
        (ZeroableOption(U16), 0, "mean absent"),
        (ZeroableOption(U16, b"\xff"), 0x01FF, "mean absent"),
        (Offset(U8, -1, "pre", "relative"), 1, "before the start"),
        (Offset(U8, 1, "pre", "relative"), 1, "past the end|outside"),
        (
            Struct((Field("a", U8),)),
            {"a": 1, "b": 2},
            "unknown field 'b'. .*Available: a",
        ),
        (Struct((Field("a", U8), Field("b", U8))), {"a": 1}, "missing field 'b'"),
        (Tuple((U8,)), [], "a list of 1"),
        (vec(U8), {"a": 1}, "got an object"),
        (vec(U32), "12", "expected a list"),
        (Map(U8, U8, U8), [[1]], r"\[key, value\]"),
        (BORSH_STRING, b"abc", "expected text"),
        (BORSH_STRING, "\ud800", "utf8"),
        (String("base58"), "0", "base58"),
        (String("base16"), "0", "base16"),
    ],
)
def test_values_that_the_bytes_could_not_give_back_are_refused(
    node: Type, value: object, says: str
) -> None:
    with pytest.raises(EncodeError, match=says):
        CODECS.codec(node).encode(value)

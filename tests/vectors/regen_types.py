"""Writes types.json: one type, value and bytes a row. Run it with a new row in TABLE, and look at what changed.

The bytes are given here by hand, from each format's own rule; encoding is not asked. A row that names a `rust` type
is held against the borsh crate or rustc's memory layout by tests/oracles/test_borsh.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcpsol_py.model.serial import type_to_json
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    I128,
    I256,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    U128,
    U256,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Default,
    Enum,
    Field,
    FixedSize,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Map,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Variant,
    ZeroableOption,
    vec,
)

KEY = "Vote111111111111111111111111111111111111111"
KEY_HEX = "0761481d357474bb7c4d7624ebd3bdb3d8355e73d11043fc0da3538000000000"


def struct(**fields: Type) -> Struct:
    """A struct of these fields."""
    return Struct(tuple(Field(name, node) for name, node in fields.items()))


MIXED = Enum(
    (
        Variant("Nothing"),
        Variant("One", Tuple((U64,))),
        Variant("Two", Tuple((U8, BORSH_STRING))),
        Variant("Named", struct(key=Array(U8, 32), list=vec(U16))),
    )
)
U32BE, U64BE = Int(32, big_endian=True), Int(64, big_endian=True)
ff = "ff".__mul__

#: (type, JSON value, hex[, the Rust oracle's name])
TABLE: list[tuple[Any, ...]] = [
    (U8, 255, "ff", "u8"),
    (I8, -1, "ff", "i8"),
    (U16, 258, "0201", "u16"),
    (I16, -2, "feff", "i16"),
    (U32, 4294967295, ff(4), "u32"),
    (I32, -2147483648, "00000080", "i32"),
    (U64, "18446744073709551615", ff(8), "u64"),
    (I64, "-9223372036854775808", "0000000000000080", "i64"),
    (U128, "340282366920938463463374607431768211455", ff(16), "u128"),
    (I128, "-1", ff(16), "i128"),
    (U256, str(2**255 + 1), "01" + "00" * 30 + "80"),
    (I256, "-2", "fe" + ff(31)),
    (U64BE, "1", "0000000000000001"),
    (Int(16, signed=True, big_endian=True), -2, "fffe"),
    (Int(128, big_endian=True), "258", "00" * 14 + "0102"),
    (ShortU16(), 0, "00"),
    (ShortU16(), 127, "7f"),
    (ShortU16(), 128, "8001"),
    (ShortU16(), 16384, "808001"),
    (ShortU16(), 65535, "ffff03"),
    (F32, 1.5, "0000c03f", "f32"),
    (F64, -2.25, "00000000000002c0", "f64"),
    (F64, "Infinity", "000000000000f07f", "f64"),
    (F64, "-Infinity", "000000000000f0ff"),
    (F64, "NaN", "000000000000f87f"),
    (Float(32, True), 1.5, "3fc00000"),
    (BOOL, True, "01", "bool"),
    (Bool(U32), True, "01000000"),
    (PUBKEY, KEY, KEY_HEX),
    (BORSH_STRING, "", "00000000", "string"),
    (BORSH_STRING, "Zürich ☃", "0b0000005ac3bc7269636820e29883", "string"),
    (BORSH_BYTES, "0x0102ff", "030000000102ff", "bytes"),
    (Array(U8, 32), "0x" + "07" * 32, "07" * 32, "bytes32"),
    (vec(U8), "0x0102", "020000000102"),
    (SizePrefixed(String(), U8), "hi", "026869"),
    (SizePrefixed(String(), ShortU16()), "x" * 128, "8001" + "78" * 128),
    (SizePrefixed(Bytes(), Int(16, big_endian=True)), "0xaa", "0001aa"),
    (SizePrefixed(struct(a=U8, rest=String()), U8), {"a": 1, "rest": "z"}, "02017a"),
    (FixedSize(String(), 4), "ab", "61620000"),
    (FixedSize(String("base16"), 2), "beef", "beef"),
    (FixedSize(Bytes(), 3), "0x010203", "010203"),
    (String("base58"), "2NEpo7TZRRrLZSi2U", "48656c6c6f20576f726c6421"),
    (String("base64"), "SGk=", "4869"),
    (Sentinel(String(), b"\0"), "hi", "686900"),
    (Sentinel(Bytes(), b"\xff\xff"), "0x01ff02", "01ff02ffff"),
    (Option(U64), None, "00", "option_u64"),
    (Option(U64), "5", "010500000000000000", "option_u64"),
    (Option(Option(U8)), {"some": None}, "0100"),
    (Option(Option(U8)), {"some": 5}, "010105"),
    (Option(Option(U8)), None, "00"),
    (Option(U8, U32), 7, "0100000007"),
    (Option(PUBKEY, U32, fixed=True), None, "00" * 36),
    (Option(PUBKEY, U32, fixed=True), KEY, "01000000" + KEY_HEX),
    (Option(U64, U32, fixed=True), None, "00" * 12),
    (ZeroableOption(PUBKEY), None, "00" * 32),
    (ZeroableOption(PUBKEY), KEY, KEY_HEX),
    (ZeroableOption(U16, b"\xff\xff"), None, "ffff"),
    (ZeroableOption(U16, b"\xff\xff"), 0, "0000"),
    (struct(a=U8, rest=RemainderOption(U64)), {"a": 1, "rest": None}, "01"),
    (
        struct(a=U8, rest=RemainderOption(U64)),
        {"a": 1, "rest": "2"},
        "010200000000000000",
    ),
    (vec(U64), ["1", "2"], "0200000001000000000000000200000000000000", "vec_u64"),
    (
        vec(vec(BORSH_STRING)),
        [["a"], []],
        "02000000010000000100000061" + "00000000",
        "vec_vec_string",
    ),
    (vec(Option(U16)), [None, 258], "0200000000010201", "vec_option_u16"),
    (
        Array(U64, 4),
        ["1", "2", "3", "4"],
        "".join(f"0{i}00000000000000" for i in (1, 2, 3, 4)),
        "array_u64_4",
    ),
    (Array(BORSH_STRING, 2), ["a", ""], "010000006100000000", "array_string_2"),
    (Array(U16, U8), [1, 2], "0201000200"),
    (Array(U16, ShortU16()), [1], "010100"),
    (Array(U16, None), [1, 2], "01000200"),
    (Set(U16, U8), [2, 1], "0202000100"),
    (Set(BORSH_STRING, U32), ["a", "b"], "0200000001000000610100000062", "btree_set"),
    (
        Map(U32, BORSH_STRING, U32),
        [[1, "a"]],
        "01000000010000000100000061",
        "btree_map",
    ),
    (
        Map(U16, U64, U32),
        [[1, "2"], [3, "4"]],
        "02000000010002000000000000000300" + "0400000000000000",
        "hash_map",
    ),
    (
        Tuple((U8, BORSH_STRING, BOOL)),
        [1, "a", True],
        "01010000006101",
        "tuple_u8_string_bool",
    ),
    (Tuple(()), [], ""),
    (Struct(()), {}, "", "Unit"),
    (struct(a=U8, b=struct(c=U16)), {"a": 1, "b": {"c": 2}}, "010200"),
    (MIXED, "Nothing", "00", "Mixed"),
    (MIXED, {"One": ["5"]}, "010500000000000000", "Mixed"),
    (MIXED, {"Two": [5, "a"]}, "02050100000061", "Mixed"),
    (
        MIXED,
        {"Named": {"key": "0x" + "01" * 32, "list": [1]}},
        "03" + "01" * 32 + "010000000100",
        "Mixed",
    ),
    (Enum((Variant("A"), Variant("B")), U32), "B", "01000000"),
    (Enum((Variant("A"), Variant("B")), U32BE), "B", "00000001"),
    (Enum((Variant("A", value=3), Variant("B", value=7))), "B", "07"),
    (Enum((Variant("A"), Variant("B", Tuple((U8,)))), ShortU16()), {"B": [9]}, "0109"),
    (HiddenPrefix(U16, b"\x2a"), 1, "2a0100"),
    (HiddenSuffix(U16, b"\x2a"), 1, "01002a"),
    (Offset(U8, 2, "pre", "padded"), 1, "000001"),
    (Offset(U8, 2, "post", "padded"), 1, "010000"),
    (
        Tuple(
            (
                Offset(U8, 1, "pre", "absolute"),
                Offset(Offset(U8, 0, "pre", "absolute"), 2, "post", "absolute"),
            )
        ),
        [1, 2],
        "0201",
    ),
    (
        Tuple(
            (
                Offset(U8, 1, "pre", "relative"),
                Offset(Offset(U8, -2, "pre", "relative"), 1, "post", "relative"),
            )
        ),
        [1, 2],
        "0201",
    ),
    (Tuple((U16, Offset(U8, -1, "pre", "absolute"))), [258, 9], "020109"),
    (Amount(U64, 9, "SOL"), "1000000000", "00ca9a3b00000000"),
    (DateTime(I64), "-1", ff(8)),
    (
        Struct((Field("tag", U8, default=Default(7, omitted=True)), Field("a", U8))),
        {"a": 1},
        "0701",
    ),
]


def text() -> str:
    """What the file holds."""
    rows = []
    for node, value, data, *rust in TABLE:
        row = {"type": type_to_json(node), "value": value, "hex": data}
        rows.append(row | ({"rust": rust[0]} if rust else {}))
    about = (
        "Types (docs/wire.md, 'The model as JSON'), values in JSON form (DESIGN 6) and their bytes, for every reader "
        "and writer. `rust`: the oracle in tests/oracles/borsh knows the type by this name. Written by regen_types.py."
    )
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{\n "about": {json.dumps(about)},\n "vectors": [\n{lines}\n ]\n}}\n'


if __name__ == "__main__":
    Path(__file__).with_name("types.json").write_text(text())

"""Instruction data: discriminators, names in any case style, defaults, and finding instructions."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec, find_instruction
from mcpsol_py.errors import DecodeError, EncodeError, NotUsable
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.model.types import (
    PUBKEY,
    U8,
    U32,
    U64,
    Default,
    Field,
    Link,
    Offset,
    Option,
    Struct,
    Type,
    TypeDef,
    Unsupported,
    vec,
)


def instruction(name: str, data: bytes, *args: Field, **more: Any) -> Instruction:
    return Instruction(name, Discriminator(data, **more), args)


def codec(one: Instruction, *types: TypeDef) -> InstructionCodec:
    return InstructionCodec(Codecs(ProgramModel("p", (one,), types=types)), one)


@pytest.mark.parametrize("size", [0, 1, 2, 4, 8, 12])
def test_discriminators_of_any_length_come_first(size: int) -> None:
    made = codec(instruction("go", bytes(range(1, size + 1)), Field("amount", U64)))
    data = made.encode({"amount": 5})
    assert data == bytes(range(1, size + 1)) + b"\x05" + bytes(7)
    assert made.decode(data) == {"amount": 5}
    assert made.decode_json(data) == {"amount": "5"}


def test_no_arguments_is_the_discriminator_alone() -> None:
    made = codec(instruction("go", b"12345678"))
    assert made.encode({}) == b"12345678"
    assert made.decode(b"12345678") == {}


ARGS = (Field("amount_in", U64), Field("minOut", U8))


@pytest.mark.parametrize(
    "args",
    [
        {"amount_in": 1, "minOut": 2},
        {"amountIn": 1, "min_out": 2},
        {"AmountIn": "1", "MinOut": "2"},
    ],
)
def test_names_are_read_in_any_form(args: dict[str, Any]) -> None:
    made = codec(instruction("swap", b"\x09", *ARGS))
    assert (
        made.encode(args) == made.encode_json(args) == b"\x09\x01" + bytes(7) + b"\x02"
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"amount_in": 1}, "^swap: missing argument 'minOut'"),
        (
            {"amount_in": 1, "minOut": 2, "x": 3},
            "^swap: unknown argument 'x'. .*Available: amount_in, minOut",
        ),
        ({"amount_inn": 1, "minOut": 2}, "Did you mean 'amount_in'"),
        ({"amount_in": -1, "minOut": 2}, "^swap.amount_in: -1 is out of range for u64"),
        (
            {"amount_in": True, "minOut": 2},
            "^swap.amount_in: u64: expected an integer, got bool True",
        ),
        ([1, 2], "^swap: .*an object with its arguments by name"),
        (None, "^swap: .*an object with its arguments by name"),
    ],
)
@pytest.mark.parametrize("encode", ["encode", "encode_json"])
def test_wrong_arguments_are_named_with_the_instruction(
    encode: str, args: Any, says: str
) -> None:
    made = codec(instruction("swap", b"\x09", *ARGS))
    with pytest.raises(EncodeError, match=says):
        getattr(made, encode)(args)


def with_defaults() -> InstructionCodec:
    fields = (
        Field("tag", U8, default=Default(7, omitted=True)),
        Field("fee", U64, default=Default("10")),
        Field("a", U8),
    )
    return codec(Instruction("go", Discriminator(b"\x07", consumed=False), fields))


def test_arguments_with_a_default_may_be_left_out() -> None:
    made = with_defaults()
    assert (
        made.encode({"a": 1})
        == made.encode({"fee": 10, "a": 1})
        == b"\x07\x0a" + bytes(7) + b"\x01"
    )
    assert made.decode(made.encode({"a": 1})) == {"fee": 10, "a": 1}


def test_omitted_arguments_cannot_be_given() -> None:
    with pytest.raises(EncodeError, match="unknown argument 'tag'"):
        with_defaults().encode({"tag": 7, "a": 1})


def test_omitted_arguments_must_have_their_value_in_data() -> None:
    with pytest.raises(
        DecodeError, match="expected the discriminator 0x07 at offset 0, got 0x08"
    ):
        with_defaults().decode(b"\x08\x0a" + bytes(7) + b"\x01")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "^go: expected the discriminator 0x0102 at offset 0, got 0x"),
        (b"\x01\x03", "got 0x0103"),
        (
            b"\x01\x02",
            "^go.a: the data ends too early: expected 1 byte of u8 at offset 2, got 0",
        ),
        (
            b"\x01\x02\x05\x06\x07",
            "^go: 2 bytes are left over after the arguments, from offset 3",
        ),
    ],
)
def test_other_data_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        codec(instruction("go", b"\x01\x02", Field("a", U8))).decode(data)


def test_struct_arguments_may_be_given_flat_where_each_name_has_one_home() -> None:
    params = TypeDef("Params", Struct((Field("price", U64), Field("memo", Option(U8)))))
    empty = TypeDef("Nothing", Struct(()))
    made = codec(
        instruction(
            "go",
            b"\x01",
            Field("id", U8),
            Field("params", Link("Params")),
            Field("none", Link("Nothing")),
        ),
        params,
        empty,
    )
    nested = {"id": 1, "params": {"price": 2, "memo": None}, "none": {}}
    assert made.encode({"id": 1, "price": 2, "memo": None}) == made.encode(nested)
    with pytest.raises(EncodeError, match="unknown argument 'price'"):
        made.encode(nested | {"price": 3})


def test_flat_names_of_two_structs_are_refused() -> None:
    params = TypeDef("Params", Struct((Field("price", U64),)))
    made = codec(
        instruction(
            "go", b"\x01", Field("a", Link("Params")), Field("b", Link("Params"))
        ),
        params,
    )
    with pytest.raises(EncodeError, match="unknown argument 'price'"):
        made.encode({"price": 1})


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (
            instruction("odd", b"\x01", Field("a", vec(Link("Missing")))),
            "instruction 'odd' cannot be used: type 'Missing' is not defined",
        ),
        (
            instruction(
                "odd", b"\x01", Field("a", Unsupported("X", "only the program knows"))
            ),
            "only the program knows",
        ),
        (
            Instruction(
                "odd", Discriminator(b"\x01"), disabled="the reader disabled it"
            ),
            "the reader disabled it",
        ),
        (instruction("odd", b"\x01", offset=3), "expected a field at its offset 3"),
    ],
)
def test_an_instruction_that_cannot_be_encoded_says_why(
    odd: Instruction, says: str
) -> None:
    with pytest.raises(NotUsable, match=says):
        codec(odd)


def test_arguments_with_moving_offsets_are_encoded_too() -> None:
    made = codec(
        instruction(
            "go",
            b"\x01",
            Field("a", U8),
            Field("b", Offset(Offset(U8, 0, "pre", "absolute"), 2, "post", "absolute")),
        )
    )
    with pytest.raises(EncodeError, match="^go"):
        made.encode({"a": 1})
    assert made.encode({"a": 1, "b": 2}) == b"\x01\x02\x00"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x01", "short"),
        (b"\x01\x02\x05", "long"),
        (b"\x01\x03", None),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00\x00", "wide"),
        (b"\x02\x00\x00\x00\x00", "narrow"),
        (b"\x07\x07", None),
    ],
)
def test_the_longest_discriminator_wins_then_what_decodes(
    data: bytes, name: str | None
) -> None:
    model = ProgramModel(
        "p",
        (
            instruction("short", b"\x01"),
            instruction("long", b"\x01\x02", Field("a", U8)),
            instruction("wide", b"\x02", Field("a", U64)),
            instruction("narrow", b"\x02", Field("a", U32)),
        ),
    )
    found = find_instruction(model, data)
    if name is None:
        assert found is None or found.name == "short"
    else:
        assert found is not None
        assert found.name == name


def test_a_program_of_one_instruction_needs_no_discriminator() -> None:
    memo = Instruction("memo", Discriminator(origin="none"), (Field("key", PUBKEY),))
    found = find_instruction(ProgramModel("memo", (memo,)), bytes(32))
    assert found is memo


def test_the_encoder_is_compiled_into_the_attribute() -> None:
    made = codec(instruction("go", b"\x01", Field("a", U8)))
    before = made.encode
    made.encode({"a": 1})
    assert made.encode != before
    assert made.encode({"a": 2}) == b"\x01\x02"


def test_types_are_compiled_at_their_first_use() -> None:
    def deep(levels: int) -> Type:
        return U8 if not levels else Struct((Field("a", deep(levels - 1)),))

    made = codec(instruction("go", b"\x01", Field("a", deep(30))))
    value: Any = 1
    for _ in range(31):
        value = {"a": value}
    assert made.decode(made.encode(value)) == value


def known_by(
    value: bytes, *fields: Field, offset: int = 0, size: int | None = None
) -> InstructionCodec:
    """An instruction that is known by what its own arguments write."""
    inner = Discriminator(value, "codama", offset, consumed=False, size=size)
    return codec(Instruction("go", inner, fields))


@pytest.mark.parametrize("encode", ["encode", "encode_json"])
def test_data_that_would_not_be_known_as_the_instructions_is_refused(
    encode: str,
) -> None:
    made = known_by(b"\x02", Field("a", U8), Field("b", U8))
    assert getattr(made, encode)({"a": 2, "b": 5}) == b"\x02\x05"
    for _ in range(2):  # the compiled encoder too
        with pytest.raises(
            EncodeError, match="do not make go: .* 0x02 at offset 0, got 0x01"
        ):
            getattr(made, encode)({"a": 1, "b": 5})
    assert made.decode(made.encode({"a": 2, "b": 9})) == {"a": 2, "b": 9}


def test_a_discriminator_that_no_argument_carries_is_refused_not_written_wrong() -> (
    None
):
    made = known_by(b"\x01", Field("amount", U32), offset=4)
    with pytest.raises(EncodeError, match="at offset 4"):
        made.encode({"amount": 5})


def test_a_size_that_the_arguments_do_not_have_is_refused() -> None:
    made = known_by(b"", Field("a", U32), size=4)
    assert made.encode({"a": 1}) == b"\x01\0\0\0"
    with pytest.raises(EncodeError, match="expected 5 bytes of data, got 4"):
        known_by(b"", Field("a", U32), size=5).encode({"a": 1})


def test_a_leading_discriminator_needs_no_check() -> None:
    made = codec(instruction("go", b"\x01", Field("a", U8)))
    assert made.compiled_encode().__module__ != InstructionCodec.__module__

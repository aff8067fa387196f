import json
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given

from mcpsol_py.errors import SourceError
from mcpsol_py.model import program as p
from mcpsol_py.model import serial_shapes
from mcpsol_py.model import types as t
from mcpsol_py.model.serial import (
    from_json,
    model_from_json,
    model_to_json,
    to_json,
    type_from_json,
    type_to_json,
)
from tests.models import anything


@given(anything(t.Type))
def test_any_type_comes_back(node: t.Type) -> None:
    text = json.dumps(type_to_json(node))
    assert type_from_json(json.loads(text)) == node


@given(anything(p.Instruction))
def test_any_instruction_comes_back(instruction: p.Instruction) -> None:
    assert (
        from_json(p.Instruction, json.loads(json.dumps(to_json(instruction))))
        == instruction
    )


@given(anything(p.ProgramModel))
def test_any_model_comes_back_through_json_text_with_sorted_keys(
    model: p.ProgramModel,
) -> None:
    text = orjson.dumps(model_to_json(model), option=orjson.OPT_SORT_KEYS)
    assert model_from_json(orjson.loads(text)) == model


@pytest.mark.parametrize("union", [t.Type, p.Value, p.Seed])
def test_every_node_class_has_a_tag_of_its_own(union: Any) -> None:
    tags = [serial_shapes.TAGS[c] for c in get_args(union)]
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize(
    ("node", "json_form"),
    [
        (t.U64, "u64"),
        (t.Int(16, True, True), "i16be"),
        (t.Link("Vault"), "@Vault"),
        (t.Link("Pair", (t.TypeArg(t.U8), t.TypeArg(4))), ["link", "Pair", ["u8", 4]]),
        (t.Option(t.PUBKEY), ["option", "pubkey"]),
        (t.Option(t.U64, t.U32, True), ["option", "u64", "u32", True]),
        (t.vec(t.U8), ["vec", "u8"]),
        (t.Array(t.U8, 32), ["array", "u8", 32]),
        (t.Array(t.U8, None), ["array", "u8", None]),
        (t.Array(t.U8, t.Generic("N")), ["array", "u8", ["generic", "N"]]),
        (t.BORSH_STRING, "string"),
        (t.SizePrefixed(t.String(), t.U64), ["sized", "text", "u64"]),
        (t.String("base58"), ["text", "base58"]),
        (t.Bool(t.U32), ["bool", "u32"]),
        (
            t.Struct((t.Field("a", t.U8), t.Field("b", t.BOOL, ("why",)))),
            ["struct", [["a", "u8"], ["b", "bool", ["why"]]]],
        ),
        (
            t.Enum((t.Variant("A"), t.Variant("B", t.Tuple((t.U8,)), 7)), t.U32),
            ["enum", [["A"], ["B", ["tuple", ["u8"]], 7]], "u32"],
        ),
        (t.Sentinel(t.String(), b"\0"), ["until", "text", "00"]),
        (
            t.Offset(t.U8, -4, "pre", "relative"),
            ["offset", "u8", -4, "pre", "relative"],
        ),
    ],
)
def test_types_are_written_as_docs_wire_says(node: t.Type, json_form: Any) -> None:
    assert type_to_json(node) == json_form
    assert type_from_json(json_form) == node


def test_what_json_readers_would_lose_is_wrapped() -> None:
    default = t.Default(
        [2**64, b"\1", (1, 2), {"$hex": "no bytes"}, float("inf"), {"a": 1}]
    )
    form = to_json(default)
    assert form == [
        [
            {"$int": str(2**64)},
            {"$hex": "01"},
            {"$tuple": [1, 2]},
            {"$": {"$hex": "no bytes"}},
            {"$float": "inf"},
            {"a": 1},
        ]
    ]
    assert from_json(t.Default, json.loads(json.dumps(form))) == default


def test_where_the_model_was_read_from_is_not_written() -> None:
    model = p.ProgramModel(
        "x",
        origin="/home/me/idl.json",
        dialect="anchor",
        findings=(("a", "info", "b"),),
    )
    assert model_to_json(model) == {"name": "x"}


def _one_type(node: Any) -> Any:
    return {"name": "x", "types": [{"name": "T", "type": node}]}


def _one_instruction(**fields: Any) -> Any:
    return {"name": "x", "instructions": [{"name": "a", "discriminator": []} | fields]}


@pytest.mark.parametrize(
    ("value", "path", "part"),
    [
        ([], "", "an object"),
        ({}, "", "'name'"),
        ({"name": 3}, "name", "3"),
        ({"name": "x", "colour": 1}, "", "'colour'"),
        (_one_type("u24"), "types[0].type", "'u24'"),
        (_one_type(["option"]), "types[0].type", "Option"),
        (_one_type(["array", "u8", -1]), "types[0].type.count", "-1"),
        (_one_type(["time", "bool"]), "types[0].type.number", "'bool'"),
        (
            _one_instruction(discriminator=["0"]),
            "instructions[0].discriminator.value",
            "hex",
        ),
        (
            _one_instruction(args=[["b", "u8", [], [1, 2]]]),
            "instructions[0].args[0].default.omitted",
            "2",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(
    value: Any, path: str, part: str
) -> None:
    with pytest.raises(SourceError) as caught:
        model_from_json(value)
    assert caught.value.path == path
    assert part in caught.value.text


def test_text_that_is_read_is_cleaned() -> None:
    model = model_from_json(
        {
            "name": "a\u202eb",
            "docs": ["x\u200b" + "y" * 100_000],
            "types": [{"name": "T", "type": "@a\a"}],
        }
    )
    assert model.name == "ab"
    assert len(model.docs[0]) < 70_000
    assert model.types[0].type == t.Link("a")


def test_nesting_is_bounded() -> None:
    node: Any = "u8"
    for _ in range(2000):
        node = ["option", node]
    with pytest.raises(SourceError, match="nest deeper"):
        type_from_json(node)

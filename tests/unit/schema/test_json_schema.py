import json
import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import UnknownName
from mcpsol_py.model import types as t
from mcpsol_py.model.program import (
    AccountType,
    Discriminator,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.schema.json_schema import (
    PROFILES,
    Schemas,
    account_schema,
    input_schema,
    output_schema,
    property_names,
    quoted,
)
from tests.strategies import Values, programs

EMPTY = ProgramModel("x")


def _valid(schema: dict[str, Any], value: Any) -> bool:
    answers = {
        v(schema).is_valid(value) for v in (Draft7Validator, Draft202012Validator)
    }
    assert len(answers) == 1, "the two dialects disagree"
    return answers.pop()


def _schema(node: t.Type, profile: str = "default") -> dict[str, Any]:
    return Schemas(Resolver(EMPTY), PROFILES[profile]).shape(node).schema


# --- single types
# -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "good", "bad"),
    [
        (t.U8, [0, 255], [-1, 256, "1", 1.5, None]),
        (t.I32, [-(2**31), 2**31 - 1], [2**31, "1"]),
        (t.U64, ["0", str(2**64 - 1)], [0, "-1", "01", "1.0", "1" * 21, ""]),
        (t.I64, ["-1", "0", str(2**63 - 1)], ["-0", "+1", 1]),
        (t.U256, [str(2**256 - 1)], ["9" * 79]),
        (t.F64, [1, 1.5], ["1.5"]),
        (t.BOOL, [True], [0, "true"]),
        (t.PUBKEY, ["11111111111111111111111111111111"], ["0", "1111", "O" * 32, 1]),
        (t.BORSH_STRING, ["", "é"], [1]),
        (t.BORSH_BYTES, ["0x00", "base64:AA=="], [[0]]),
        (t.Array(t.U8, 32), ["0x00"], [[0] * 32]),
        (t.vec(t.U16), [[], [1, 2]], ["1", [70000]]),
        (t.Array(t.U16, 2), [[1, 2]], [[1], [1, 2, 3]]),
        (t.Tuple((t.U8, t.BOOL)), [{"field_0": 1, "field_1": True}], [[1, True], {"field_0": 1}, {}]),
        (
            t.Struct((t.Field("a", t.U8), t.Field("b", t.Option(t.U8)))),
            [{"a": 1}, {"a": 1, "b": 2}],
            [{}, {"b": 1}, {"a": 1, "c": 1}],
        ),
        (t.vec(t.Option(t.U8)), [[None, 1]], [["x"]]),
        (t.Option(t.Option(t.U8)), [{"some": 1}, {}], [1]),
        (t.Map(t.U8, t.BOOL, t.U32), [[{"key": 1, "value": True}]], [{"1": True}, [[1, True]], [{"key": 1}]]),
        (t.Enum((t.Variant("A"), t.Variant("B"))), ["A", "B"], ["C", {"A": {}}]),
        (
            t.Enum((t.Variant("A"), t.Variant("B", t.Tuple((t.U8,))), t.Variant("C", t.Struct((t.Field("x", t.U8),))))),
            ["A", {"B": {"field_0": 1}}, {"C": {"x": 1}}],
            ["B", {}, {"B": {"field_0": 1}, "C": {"x": 1}}, {"A": {}}],
        ),
    ],
)  # fmt: skip
def test_a_caller_may_give(node: t.Type, good: list[Any], bad: list[Any]) -> None:
    schema = _schema(node)
    assert [v for v in good if not _valid(schema, v)] == []
    assert [v for v in bad if _valid(schema, v)] == []


def test_amounts_and_dates_say_what_they_are() -> None:
    amount = _schema(t.Amount(t.U64, 9, "SOL"))
    assert "9 decimals (1,000,000,000 make one SOL)" in amount["description"]
    assert "seconds since 1970" in _schema(t.DateTime(t.I64))["description"]


def test_recursion_ends_in_json_text() -> None:
    tree = t.TypeDef(
        "Tree",
        t.Struct((t.Field("value", t.U8), t.Field("sons", t.vec(t.Link("Tree"))))),
    )
    schema = (
        Schemas(Resolver(ProgramModel("x", types=(tree,)))).shape(t.Link("Tree")).schema
    )
    assert schema["properties"]["sons"]["items"] == {
        "type": "string",
        "description": "Tree, as JSON text",
    }


def test_types_that_hold_each_other_without_end_stay_small() -> None:
    names = [f"T{i}" for i in range(9)]
    types = tuple(
        t.TypeDef(
            n, t.Struct(tuple(t.Field(m.lower(), t.Option(t.Link(m))) for m in names))
        )
        for n in names
    )
    schema = (
        Schemas(Resolver(ProgramModel("x", types=types))).shape(t.Link("T0")).schema
    )
    assert len(json.dumps(schema)) < 400_000
    Draft7Validator.check_schema(schema)


def test_deep_types_end_in_json_text_at_the_profile_s_depth() -> None:
    node: t.Type = t.U8
    for _ in range(40):
        node = t.vec(node)
    for profile in PROFILES.values():
        text = json.dumps(Schemas(Resolver(EMPTY), profile).shape(node).schema)
        assert text.count('"array"') == profile.depth
        assert "as JSON text" in text


def test_strict_requires_all_and_says_null() -> None:
    schema = _schema(
        t.Struct(
            (t.Field("a", t.Option(t.U8)), t.Field("b", t.Enum((t.Variant("X"),))))
        ),
        "strict",
    )
    assert schema["required"] == ["a", "b"]
    assert schema["properties"]["a"]["type"] == ["integer", "null"]
    assert _valid(schema, {"a": None, "b": "X"})


def test_gemini_sees_no_union_and_no_additional_properties() -> None:
    node = t.Enum(
        (
            t.Variant("A"),
            t.Variant("B", t.Struct((t.Field("x", t.vec(t.Option(t.U8))),))),
        )
    )
    text = json.dumps(_schema(node, "gemini"))
    assert "anyOf" not in text
    assert "additionalProperties" not in text


# --- names ------------------------------------------------------------------------------------------------------------


def test_property_names_stay_unless_they_must_change() -> None:
    assert property_names(["a", "b_1", "c_"]) == ["a", "b_1", "c_"]
    assert property_names(["2fast", "a b", "é"]) == [
        "n2fast",
        "a_b",
        property_names(["é"])[0],
    ]
    assert property_names(["a.b", "a_b"])[1] == "a_b"


def test_a_property_that_begins_with_an_underscore_is_offered_without_it() -> None:
    # pydantic refuses such a field, and frameworks that convert to it then lose the whole list
    assert property_names(["_nonce", "b"]) == ["nonce", "b"]
    clash = property_names(["_nonce", "nonce", "__nonce"])
    assert clash[1] == "nonce"
    assert len(set(clash)) == 3
    assert not any(
        name.startswith("_") for name in [*clash, *property_names(["_", "__"])]
    )


def test_long_names_stay_distinct() -> None:
    assert len(set(property_names(["x" * 70, "x" * 71, "x" * 64]))) == 3


@given(st.lists(st.text(max_size=80), max_size=8, unique=True))
def test_property_names_are_valid_and_unique(names: list[str]) -> None:
    found = property_names(names)
    assert len(set(found)) == len(names)
    assert all(n.isascii() and n.isidentifier() and len(n) <= 64 for n in found)


def test_a_program_s_words_are_marked_bounded_and_cleaned() -> None:
    assert quoted(()) == ""
    assert quoted(('Say "yes"\n\u202e now',)) == "Program's words: \"Say 'yes' now\""
    assert len(quoted(("x" * 10_000,), 100)) < 130


# --- values: the schema, the conversion and the codec agree -----------------------------------------------------------


def as_tool_form(codecs: Codecs, node: t.Type, value: Any) -> Any:
    """A value in DESIGN 6's JSON form, as a caller of the default profile writes it: found by the table of wire forms
    alone.
    """
    resolver = codecs.layouts.resolver
    match node:
        case t.Link():
            return as_tool_form(codecs, resolver.expand(node)[1], value)
        case (
            t.Option(item=item)
            | t.ZeroableOption(item=item)
            | t.RemainderOption(item=item)
        ):
            if value is None:
                return None
            if codecs.layouts.nullable(item):
                inner = as_tool_form(codecs, item, value["some"])
                return {} if inner is None else {"some": inner}
            return as_tool_form(codecs, item, value)
        case t.Array(t.Int(8, False, False), _):
            return value
        case t.Array(item, _) | t.Set(item, _):
            return [as_tool_form(codecs, item, v) for v in value]
        case t.Map(key, val, _):
            pairs = [
                (as_tool_form(codecs, key, k), as_tool_form(codecs, val, v))
                for k, v in value
            ]
            return [
                {n: x for n, x in (("key", k), ("value", v)) if x is not None}
                for k, v in pairs
            ]
        case t.Tuple(items):
            each = [
                as_tool_form(codecs, i, v) for i, v in zip(items, value, strict=True)
            ]
            return {f"field_{i}": v for i, v in enumerate(each) if v is not None}
        case t.Struct(fields):
            keys = t.field_keys(fields)
            each = [
                as_tool_form(codecs, f.type, value[k])
                for k, f in zip(keys, fields, strict=True)
            ]
            return {
                n: v
                for n, v in zip(property_names(keys), each, strict=True)
                if v is not None
            }
        case t.Enum(variants, _):
            if isinstance(value, str):
                return value
            ((name, payload),) = value.items()
            body = next(v.payload for v in variants if v.name == name)
            assert body is not None
            return {name: as_tool_form(codecs, body, payload)}
        case (
            t.SizePrefixed(item=item)
            | t.FixedSize(item=item)
            | t.Sentinel(item=item)
            | t.HiddenPrefix(item=item)
            | t.HiddenSuffix(item=item)
            | t.Offset(item=item)
        ):
            return as_tool_form(codecs, item, value)
        case _:
            return value


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True


@given(programs(), st.data())
def test_what_a_schema_allows_becomes_the_value_that_was_meant(
    made: tuple[ProgramModel, t.Type], data: st.DataObject
) -> None:
    model, node = made
    codecs = Codecs(model)
    value = data.draw(Values(codecs, most=2, depth=1).of(node).filter(_finite))
    codec = codecs.codec(node)
    plain = codec.to_json(value)
    shape = Schemas(codecs.layouts.resolver).shape(node)
    given_by_caller = json.loads(json.dumps(as_tool_form(codecs, node, plain)))
    if "as JSON text" not in json.dumps(shape.schema):
        assert _valid(shape.schema, given_by_caller) or (
            given_by_caller is None and shape.nullable
        )
    converted = (
        shape.convert(given_by_caller)
        if shape.convert and given_by_caller is not None
        else given_by_caller
    )
    assert codec.encode_json(converted) == codec.encode(value)
    also = shape.convert(plain) if shape.convert and plain is not None else plain
    assert codec.encode_json(also) == codec.encode(value), (
        "DESIGN 6's own form is read too"
    )


@given(programs(), st.data())
def test_results_are_as_the_output_schema_says(
    made: tuple[ProgramModel, t.Type], data: st.DataObject
) -> None:
    model, node = made
    codecs = Codecs(model)
    value = data.draw(Values(codecs, nan=True, most=2, depth=2).of(node))
    schema = output_schema(model, node)
    assert _valid(schema, json.loads(json.dumps(codecs.codec(node).to_json(value))))


# --- whole schemas
# ------------------------------------------------------------------------------------------------------


def test_input_and_account_schemas_by_name() -> None:
    model = ProgramModel(
        "x",
        (Instruction("go", Discriminator(), (t.Field("n", t.U64),)),),
        (AccountType("State", Discriminator(), t.Struct((t.Field("n", t.U64),))),),
    )
    assert input_schema(model, "go")["required"] == ["n"]
    assert account_schema(model, "State")["properties"]["n"]["type"] == "string"
    with pytest.raises(UnknownName):
        input_schema(model, "stop")
    with pytest.raises(UnknownName):
        account_schema(model, "Go")


PAIR = t.Tuple((t.U8, t.Option(t.BOOL)))


@pytest.mark.parametrize(
    ("node", "given", "becomes"),
    [
        (
            t.Map(t.U8, PAIR, t.U32),
            [{"key": 1, "value": {"field_0": 2}}],
            [[1, [2, None]]],
        ),
        (t.Map(t.U8, PAIR, t.U32), [[1, [2, True]]], [[1, [2, True]]]),
        (t.Map(t.BORSH_STRING, t.U8, t.U32), {"a": 1}, [["a", 1]]),
        (t.Map(t.BORSH_STRING, t.U8, t.U32), '[{"key": "a", "value": 1}]', [["a", 1]]),
        (t.Map(t.U8, t.Option(PAIR), t.U32), [{"key": 1}], [[1, None]]),
        (t.Map(t.U8, t.U8, t.U32), 5, 5),
        (t.Map(t.U8, t.U8, t.U32), [5], [5]),
        (t.vec(t.Option(PAIR)), [None, {"field_0": 1}], [None, [1, None]]),
        (t.vec(PAIR), "[1", "[1"),
        (PAIR, {"field_7": 1}, {"field_7": 1}),
        (
            t.Struct((t.Field("aB", t.U8), t.Field("c", t.Option(t.U8)))),
            {"a_b": 1},
            {"aB": 1, "c": None},
        ),
        (t.Struct((t.Field("1st", t.U8),)), {"n1st": 1}, {"1st": 1}),
        (t.Enum((t.Variant("A"), t.Variant("B", PAIR))), "A", "A"),
        (t.Enum((t.Variant("A"), t.Variant("B", PAIR))), {"A": {}}, "A"),
        (t.Enum((t.Variant("a\u202e(b)"), t.Variant("B"))), "a_b", "a\u202e(b)"),
        (t.Enum((t.Variant("a\u202e(b)"), t.Variant("B", PAIR))), "a_b", "a\u202e(b)"),
        (t.Enum((t.Variant("A"), t.Variant("B", PAIR))), {"A": None}, "A"),
        (
            t.Enum((t.Variant("A"), t.Variant("B", PAIR))),
            {"B": [1, None]},
            {"B": [1, None]},
        ),
        (
            t.Enum((t.Variant("A"), t.Variant("B", PAIR))),
            {"A": {}, "B": {}},
            {"A": {}, "B": {}},
        ),
        (t.Enum((t.Variant("A"), t.Variant("B", PAIR))), {"Z": 1}, {"Z": 1}),
    ],
)
def test_what_callers_give_becomes_the_codec_s_form(
    node: t.Type, given: Any, becomes: Any
) -> None:
    convert = Schemas(Resolver(EMPTY)).shape(node).convert
    assert convert is not None
    assert convert(given) == becomes


def test_every_kind_of_type_has_a_schema_of_its_own() -> None:
    item, number = t.U16, t.U8
    samples: dict[Any, t.Type] = {
        t.Int: t.U8,
        t.ShortU16: t.ShortU16(),
        t.Float: t.F32,
        t.Bool: t.BOOL,
        t.Pubkey: t.PUBKEY,
        t.String: t.String("base58"),
        t.Bytes: t.Bytes(),
        t.SizePrefixed: t.SizePrefixed(item, number),
        t.FixedSize: t.FixedSize(item, 4),
        t.Sentinel: t.Sentinel(item, b"\0"),
        t.HiddenPrefix: t.HiddenPrefix(item, b"\0"),
        t.HiddenSuffix: t.HiddenSuffix(item, b"\0"),
        t.Offset: t.Offset(item, 4, "pre", "padded"),
        t.Option: t.Option(item),
        t.ZeroableOption: t.ZeroableOption(item),
        t.RemainderOption: t.RemainderOption(item),
        t.Array: t.vec(item),
        t.Set: t.Set(item, number),
        t.Map: t.Map(item, item, number),
        t.Tuple: t.Tuple((item,)),
        t.Struct: t.Struct(()),
        t.Enum: t.Enum((t.Variant("A"),)),
        t.Link: t.Link("T"),
        t.Amount: t.Amount(t.U64, 6),
        t.DateTime: t.DateTime(t.I64),
    }
    assert set(get_args(t.Type)) - samples.keys() == {t.Generic, t.Unsupported}, (
        "these have no values"
    )
    model = ProgramModel("x", types=(t.TypeDef("T", t.U8),))
    for node in samples.values():
        for output in (False, True):
            schema = Schemas(Resolver(model), output=output).shape(node).schema
            assert "as JSON text" not in json.dumps(schema)
            assert not isinstance(schema.get("type"), list)

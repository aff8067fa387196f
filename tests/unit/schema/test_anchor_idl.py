"""`convert --to anchor`: the document reads back to the same bytes for the same values, also in other Anchor tools."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import EncodeError
from mcpsol_py.model.check import unusable
from mcpsol_py.model.program import (
    IDL_KEY,
    Account,
    AccountGroup,
    AccountType,
    ConstSeed,
    Discriminator,
    Event,
    Instruction,
    Pda,
    ProgramModel,
    UnknownSeed,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    U8,
    U16,
    U32,
    Amount,
    Array,
    Default,
    Enum,
    Field,
    FixedSize,
    Int,
    Link,
    Map,
    Option,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
    Variant,
)
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.detect import detect, read
from tests import strategies
from tests.strategies import NoValue, Values
from tests.unit.sources.fixtures import ALL

VALUES = 8  # of each instruction, account and event


def converted(model: ProgramModel) -> ProgramModel:
    doc, _ = to_anchor(model)
    assert detect(doc) == "anchor"
    return read(json.dumps(doc).encode())


def same_bytes(
    codecs: Codecs, node: Type, again: Codecs, other: Type, where: str
) -> int:
    """Encode values of *node* by both codecs, and return how many were compared."""
    count = 0
    for seed in range(VALUES):
        try:
            value = Values(codecs).from_seed(node, seed)
        except NoValue:
            continue
        data = codecs.codec(node).encode(value)
        assert again.codec(other).encode(value) == data, (where, value)
        assert again.codec(other).to_json(
            again.codec(other).decode(data)
        ) == codecs.codec(node).to_json(codecs.codec(node).decode(data)), where
        count += 1
    return count


def compare(model: ProgramModel) -> int:
    back = converted(model)
    codecs, again = Codecs(model), Codecs(back)
    why = unusable(model)
    assert set(unusable(back)) == set(why)
    assert [ix.name for ix in back.instructions] == [
        ix.name for ix in model.instructions
    ]
    count = 0
    for ix, other in zip(model.instructions, back.instructions, strict=True):
        assert other.accounts == ix.accounts
        assert (other.remaining, other.also, other.arg_values) == (
            ix.remaining,
            ix.also,
            ix.arg_values,
        )
        if ix.name in why:
            continue
        first, second = InstructionCodec(codecs, ix), InstructionCodec(again, other)
        for seed in range(VALUES):
            try:
                args = Values(codecs).from_seed(Struct(ix.args), seed)
            except NoValue:
                continue
            assert _encoded(second, args) == _encoded(first, args), (ix.name, args)
            count += 1
    described: list[tuple[AccountType | Event, AccountType | Event]]
    described = [
        *zip(model.accounts, back.accounts, strict=True),
        *zip(model.events, back.events, strict=True),
    ]
    for item, twin in described:
        assert twin.name == item.name
        known, read_back = item.discriminator, twin.discriminator
        assert (read_back.value, read_back.offset, read_back.size) == (
            known.value,
            known.offset,
            known.size,
        )
        if Resolver(model).why_unusable(item.type) is None:
            count += same_bytes(codecs, item.type, again, twin.type, item.name)
    return count


def _encoded(codec: InstructionCodec, args: Any) -> bytes | str:
    """The data, or the reason why the arguments cannot be encoded (a discriminator among them does not fit)."""
    try:
        return codec.encode(args)
    except EncodeError as error:
        return str(error)


def test_real_files_give_the_same_bytes(shared_idl: Path) -> None:
    model = read(shared_idl)
    assert compare(model) > 0 or not (model.instructions or model.accounts)


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_fixtures_give_the_same_bytes(path: Path) -> None:
    compare(read(path))


@given(strategies.programs())
def test_any_type_gives_the_same_bytes(program: Any) -> None:
    model, node = program
    model = replace(
        model,
        instructions=(Instruction("go", Discriminator(b"\x01"), (Field("x", node),)),),
    )
    compare(model)


def test_converting_twice_gives_the_same_bytes(shared_idl: Path) -> None:
    compare(converted(read(shared_idl)))


@pytest.mark.dialects("anchor")
def test_an_anchor_idl_stays_as_it_is(shared_idl: Path) -> None:
    doc, losses = to_anchor(read(shared_idl))
    raw = orjson.loads(shared_idl.read_bytes())
    assert losses == []
    assert doc["instructions"] == [_plain(i) for i in raw["instructions"]]
    assert [t["name"] for t in doc["types"]] == [
        t["name"] for t in raw.get("types", [])
    ]
    assert [t["type"] for t in doc["types"]] == [
        _old_spelling(t["type"]) for t in raw.get("types", [])
    ]
    assert [(t.get("repr"), t.get("serialization")) for t in doc["types"]] == [
        (t.get("repr"), t.get("serialization")) for t in raw.get("types", [])
    ]


def _plain(value: Any) -> Any:
    """Return *value* without false flags and empty lists of docs."""
    if isinstance(value, dict):
        return {
            k: _old_spelling(_plain(v))
            for k, v in value.items()
            if not (
                v is False or (k == "docs" and not v) or (k == "generics" and not v)
            )
        }
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _old_spelling(value: Any) -> Any:
    if value == {"kind": "struct"}:
        return {"kind": "struct", "fields": []}
    if isinstance(value, dict):
        return {k: _old_spelling(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_old_spelling(v) for v in value]
    return "pubkey" if value == "publicKey" else value


# --- losses --------------------------------------------------------------------------------------------------------


def one(node: Type, **more: Any) -> tuple[dict[str, Any], list[str]]:
    doc, losses = to_anchor(
        ProgramModel(
            "p",
            (Instruction("go", Discriminator(b"\x01"), (Field("x", node),)),),
            **more,
        )
    )
    return doc, [loss.path for loss in losses]


def test_a_type_of_other_bytes_is_marked_so_that_other_tools_refuse_it() -> None:
    doc, losses = one(SizePrefixed(String(), U8))
    (made,) = doc["types"]
    assert doc["instructions"][0]["args"] == [
        {"name": "x", "type": {"defined": {"name": made["name"]}}}
    ]
    assert made["serialization"] == {"custom": IDL_KEY}
    assert losses == ["address", f"types.{made['name']}"]


@pytest.mark.parametrize(
    ("node", "body"),
    [
        (FixedSize(String(), 8), {"kind": "type", "alias": {"array": ["u8", 8]}}),
        (Amount(U16, 2, "%"), {"kind": "type", "alias": "u16"}),
        (
            Option(U32, U32, fixed=True),
            {
                "kind": "struct",
                "fields": [
                    {"name": "tag", "type": "u32"},
                    {"name": "value", "type": "u32"},
                ],
            },
        ),
        (Tuple((U8, U16)), {"kind": "struct", "fields": ["u8", "u16"]}),
    ],
)
def test_a_type_of_the_same_bytes_is_one_that_anchor_reads(
    node: Type, body: dict[str, Any]
) -> None:
    (made,) = one(node)[0]["types"]
    assert made["type"] == body
    assert "serialization" not in made


def test_maps_are_lists_of_pairs() -> None:
    types = {t["name"]: t for t in one(Map(U8, U16, U32))[0]["types"]}
    pair = types["MapU8U16"]["type"]["alias"]["vec"]["defined"]["name"]
    assert types[pair]["type"] == {"kind": "struct", "fields": ["u8", "u16"]}


def test_tags_that_are_not_u8_or_not_in_order() -> None:
    for node in (Enum((Variant("a"),), U16), Enum((Variant("a", value=3),))):
        (made,) = one(node)[0]["types"]
        assert made["serialization"] == {"custom": IDL_KEY}
    (plain,) = one(Enum((Variant("a"), Variant("b", Tuple((U8,))))))[0]["types"]
    assert IDL_KEY not in plain


def test_an_undefined_type_is_defined_as_unknown() -> None:
    doc, losses = one(Link("Decimal"))
    assert [t["name"] for t in doc["types"]] == ["Decimal"]
    assert "types.Decimal" in losses
    assert set(unusable(read(json.dumps(doc).encode()))) == {"go"}


def test_names_do_not_meet_in_camel_case() -> None:
    doc, _ = one(
        Array(Amount(U8, 1), U8),
        types=(TypeDef("vecU8", U8, shape="alias"), TypeDef("amountU8", U8)),
    )
    names = [t["name"] for t in doc["types"]]
    assert len({n.lower() for n in names}) == len(names) == 4


def test_an_event_gets_its_name_from_a_type_of_another_shape() -> None:
    model = ProgramModel(
        "p",
        (Instruction("go", Discriminator(b"\x01"), (Field("x", Link("Swap")),)),),
        events=(Event("Swap", Discriminator(b"\x02"), Struct((Field("a", U8),))),),
        types=(TypeDef("Swap", Struct((Field("b", U16),))),),
    )
    doc, _ = to_anchor(model)
    assert {t["name"] for t in doc["types"]} == {"Swap", "SwapType"}
    assert doc["instructions"][0]["args"][0]["type"] == {
        "defined": {"name": "SwapType"}
    }
    assert compare(model)


def test_defaults_and_constants_are_beside_their_argument() -> None:
    args = (
        Field("n", U8, (), Default(3)),
        Field("pad", U8, (), Default(7, omitted=True)),
    )
    model = ProgramModel("p", (Instruction("go", Discriminator(b"\x01"), args),))
    assert converted(model).instructions[0].args == args
    assert (
        InstructionCodec(
            Codecs(converted(model)), converted(model).instructions[0]
        ).encode({})
        == b"\x01\x03\x07"
    )


def test_seeds_and_flags_that_anchor_cannot_express_are_losses() -> None:
    accounts = (
        Account("either", signer="either"),
        AccountGroup(
            "g", (Account("odd", pda=Pda((ConstSeed(b"a"), UnknownSeed("why")))),)
        ),
    )
    model = ProgramModel(
        "p",
        (Instruction("go", Discriminator(b"\x01"), (), accounts),),
        address="1" * 32,
    )
    doc, losses = to_anchor(model)
    assert [loss.path for loss in losses] == [
        "instructions[0].accounts[0]",
        "instructions[0].accounts[1].accounts[0]",
    ]
    assert read(json.dumps(doc).encode()).instructions[0].accounts == accounts


def test_size_and_offset_discriminators() -> None:
    size = Discriminator(b"", "codama", size=8)
    inside = Discriminator(b"\x05", "codama", offset=3, consumed=False)
    accounts = (
        AccountType("A", size, Struct((Field("a", U8),)), size=8),
        AccountType("B", inside, Struct((Field("a", U8),)), also=(size,)),
    )
    back = converted(ProgramModel("p", accounts=accounts)).accounts
    assert [(a.discriminator, a.size, a.also) for a in back] == [
        (size, 8, ()),
        (inside, None, (size,)),
    ]


def test_generic_types_keep_their_parameters_when_a_part_has_no_word() -> None:
    from mcpsol_py.model.types import Generic, GenericParam, TypeArg

    body = Struct(
        (
            Field("m", Map(U8, Generic("T"), U16)),
            Field("n", Array(Generic("T"), Generic("N"))),
        )
    )
    params = (GenericParam("T"), GenericParam("N", "usize"))
    node = Link("G", (TypeArg(Int(64)), TypeArg(2)))
    model = ProgramModel(
        "p",
        (Instruction("go", Discriminator(b"\x01"), (Field("x", node),)),),
        types=(TypeDef("G", body, generics=params),),
    )
    assert compare(model)


def test_unsupported_types_stay_unsupported() -> None:
    model = ProgramModel(
        "p",
        (
            Instruction(
                "go", Discriminator(b"\x01"), (Field("x", Unsupported("u24", "odd")),)
            ),
        ),
    )
    assert unusable(converted(model)) == unusable(model) | {
        "go": unusable(converted(model))["go"]
    }
    assert "odd" in unusable(converted(model))["go"]

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.check import check, unusable
from mcpsol_py.model.types import (
    BOOL,
    I64,
    PUBKEY,
    U64,
    U128,
    Link,
    Struct,
    Type,
    ZeroableOption,
)
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.known_types import known_type


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("UnixTimestamp", I64),
        ("unixTimestamp", I64),
        ("Slot", U64),
        ("epoch", U64),
        ("PodBool", BOOL),
        ("podU128", U128),
        ("OptionalNonZeroPubkey", ZeroableOption(PUBKEY)),
        ("Lockup", None),
        ("UNIXTIMESTAMP", None),
        ("pubkey", None),
    ],
)
def test_names_of_solanas_own_crates(name: str, node: Type | None) -> None:
    assert known_type(name) == node


def shank(*types: object) -> dict[str, object]:
    args = [
        {"name": "at", "type": {"defined": "Slot"}},
        {"name": "on", "type": {"option": {"defined": "PodBool"}}},
    ]
    ix = {
        "name": "Go",
        "accounts": [],
        "args": args,
        "discriminant": {"type": "u8", "value": 1},
    }
    return {
        "name": "x",
        "version": "1.0.0",
        "instructions": [ix],
        "types": list(types),
        "metadata": {"origin": "shank"},
    }


def test_shank_leaves_them_undefined_and_they_are_read_and_told() -> None:
    model = read(shank())
    assert unusable(model) == {}
    data = (
        Codecs(model)
        .codec(Struct(model.instructions[0].args))
        .encode({"at": 258, "on": True})
    )
    assert data.hex() == "0201000000000000" + "0101"
    told = [f for f in check(model) if "Solana's crates" in f.message]
    assert [(f.level, f.path) for f in told] == [
        ("info", "instructions[0].args[0]"),
        ("info", "instructions[0].args[1]"),
    ]


def test_a_documents_own_type_of_that_name_is_its_own() -> None:
    own = {
        "name": "Slot",
        "type": {"kind": "struct", "fields": [{"name": "number", "type": "u32"}]},
    }
    assert read(shank(own)).instructions[0].args[0].type == Link("Slot")


def test_codamas_links_to_them() -> None:
    link = {"kind": "definedTypeLinkNode", "name": "unixTimestamp"}
    own = {
        "kind": "definedTypeNode",
        "name": "epoch",
        "type": {"kind": "publicKeyTypeNode"},
    }
    args = [
        {"kind": "instructionArgumentNode", "name": "at", "type": link},
        {
            "kind": "instructionArgumentNode",
            "name": "of",
            "type": {**link, "name": "epoch"},
        },
        {
            "kind": "instructionArgumentNode",
            "name": "by",
            "type": {**link, "program": {"kind": "programLinkNode", "name": "other"}},
        },
    ]
    ix = {"kind": "instructionNode", "name": "go", "arguments": args}
    model = read(
        {
            "kind": "programNode",
            "name": "x",
            "instructions": [ix],
            "definedTypes": [own],
        }
    )
    assert [a.type for a in model.instructions[0].args] == [
        I64,
        Link("epoch"),
        Link("other::unixTimestamp"),
    ]

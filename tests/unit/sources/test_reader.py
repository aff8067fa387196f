"""A faulty item of an IDL is a finding with its place, and everything else of the program is served."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.codec.discriminator import matches
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.check import unusable
from mcpsol_py.program import Program, load
from mcpsol_py.sources.detect import read
from tests.unit.sources.fixtures import document

NAMES = ("anchor/prefixes", "anchor/seeds", "codama/every", "legacy/odd", "shank/odd")
DOCUMENTS = {name: document(name) for name in NAMES}
JUNK: list[Any] = [
    None,
    5,
    -1,
    "junk",
    True,
    [],
    {},
    [5],
    {"odd": 1},
    {"kind": 7},
    [{}],
    1.5,
]
JUNK += [2**70, "\ud800", {"odd": "\udfff"}]
LISTS = ("instructions", "accounts", "events", "errors", "constants")
#: Lists that nothing else of a program depends on.
LEAVES = ("instructions", "events", "errors", "constants")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document."""
    steps: Any = ()
    if isinstance(value, dict):
        steps = value.items()
    elif isinstance(value, list):
        steps = enumerate(value)
    for step, part in steps:
        yield (*path, step)
        yield from _places(part, (*path, step))


def _item_of(path: tuple[Any, ...]) -> tuple[str, int] | None:
    """The list and the index of the program's item that *path* leads into, or None."""
    steps = path[1:] if path[0] == "program" else path
    if len(steps) < 2 or steps[0] not in (*LISTS, "types", "definedTypes", "pdas"):
        return None
    return steps[0], steps[1]


PLACES = {
    name: [path for path in _places(doc) if _item_of(path)]
    for name, doc in DOCUMENTS.items()
}


def _spoiled(name: str, path: tuple[Any, ...], junk: Any) -> Any:
    doc = copy.deepcopy(DOCUMENTS[name])
    owner: Any = doc
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = junk
    return doc


def _others(name: str, kept: str, place: int, key: str) -> list[str]:
    """Names of the items of a list but the spoiled one."""
    doc = DOCUMENTS[name].get("program", DOCUMENTS[name])
    items = enumerate(doc.get(key, []))
    names = {item["name"] for i, item in items if (key, i) != (kept, place)}
    return [
        one.name for one in getattr(read(DOCUMENTS[name]), key) if one.name in names
    ]


@given(st.data())
def test_junk_in_one_item_spoils_no_other(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    path = data.draw(st.sampled_from(PLACES[name]))
    found = _item_of(path)
    assert found is not None
    kept, place = found
    after = read(_spoiled(name, path, data.draw(st.sampled_from(JUNK))))
    for key in LISTS:
        there = [one.name for one in getattr(after, key)]
        assert set(_others(name, kept, place, key)) <= set(there), key
    if kept in LEAVES:
        before = read(DOCUMENTS[name])
        for key in LISTS:
            if key != kept:
                assert getattr(after, key) == getattr(before, key), key
        assert after.types == before.types


def test_an_account_is_read_without_its_pda_if_that_cannot_be_read() -> None:
    after = read(_spoiled("codama/every", ("program", "pdas", 0, "seeds"), 5))
    (record,) = [account for account in after.accounts if account.name == "record"]
    assert record.pda is None
    assert any(
        "cannot be read" in text and "pda" in path for path, _, text in after.findings
    )


TYPES = ("types", "definedTypes", "accounts", "events")


def _users_of(name: str, kept: str, place: int) -> set[str]:
    """The instructions that need the spoiled item: those that name it, or another one that names it."""
    doc = DOCUMENTS[name].get("program", DOCUMENTS[name])
    spoiled = {doc[kept][place]["name"]}
    types = [item for key in TYPES for item in doc.get(key, [])]
    for _ in types:
        spoiled |= {item["name"] for item in types if _names_any(item, spoiled)}
    return {item["name"] for item in doc["instructions"] if _names_any(item, spoiled)}


def _names_any(item: Any, names: set[str]) -> bool:
    text = json.dumps({key: value for key, value in item.items() if key != "name"})
    return any(f'"{name}' in text or f"{name}" in text for name in names)


@given(st.data())
def test_junk_in_a_type_disables_only_what_needs_it(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    items = {path: _item_of(path) or ("", 0) for path in PLACES[name]}
    path = data.draw(
        st.sampled_from([p for p, (kind, _) in items.items() if kind in TYPES])
    )
    kept, place = items[path]
    before, after = (
        load(doc)
        for doc in (
            DOCUMENTS[name],
            _spoiled(name, path, data.draw(st.sampled_from(JUNK))),
        )
    )
    lost = after.unusable().keys() - before.unusable().keys()
    assert lost <= _users_of(name, kept, place)
    for ix in (
        set(before.instructions)
        - lost
        - before.unusable().keys()
        - _users_of(name, kept, place)
    ):
        assert after.instruction(ix).model == before.instruction(ix).model


@pytest.mark.parametrize(
    ("path", "junk", "says"),
    [
        (("args",), 5, "args: expected a list"),
        (("args", 0, "name"), None, "args[0]: 'name' is missing"),
        (("discriminator",), {"x": 1}, "discriminator: expected a list of bytes"),
        (
            ("accounts", 0, "writable"),
            "yes",
            "accounts[0].writable: expected true or false",
        ),
    ],
)
def test_a_faulty_instruction_is_disabled_with_its_place_and_reason(
    path: tuple[Any, ...], junk: Any, says: str
) -> None:
    doc: dict[str, Any] = {
        "address": "1" * 32,
        "metadata": {"name": "shop", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": name,
                "discriminator": [number] * 8,
                "accounts": [{"name": "who", "writable": True}],
                "args": [{"name": "amount", "type": "u8"}],
            }
            for number, name in enumerate(("buy", "sell"), 1)
        ],
    }
    owner: Any = doc["instructions"][0]
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = junk
    program = load(doc)
    assert says in program.unusable()["buy"]
    assert any(
        finding.path.startswith("instructions[0]") for finding in program.findings()
    )
    assert program.instruction("sell").encode({"amount": 5}) == bytes([2] * 8 + [5])
    with pytest.raises(NotUsable, match="buy"):
        program.instruction("buy").encode({"amount": 5})


def test_docs_texts_and_codes_of_the_wrong_kind_disable_nothing() -> None:
    program = load(
        {
            "name": "shop",
            "version": "0.1.0",
            "docs": 5,
            "instructions": [
                {"name": "buy", "docs": [1, "Buys."], "accounts": [], "args": []},
            ],
            "errors": [
                {"code": "0x1770", "name": "SoldOut", "msg": {"en": "sold out"}},
                {"code": [], "name": "Broken"},
                {"code": 6002, "name": "Closed", "msg": "closed"},
            ],
        }
    )
    assert program.unusable() == {}
    assert program.instruction("buy").docs == "Buys."
    assert [(e.code, e.name) for e in program.errors] == [
        (6000, "SoldOut"),
        (6002, "Closed"),
    ]
    assert {path for path, *_ in program.model.findings} >= {
        *(
            "docs",
            "instructions[0].docs",
            "errors[0].code",
            "errors[0].msg",
            "errors[1].code",
        )
    }


def test_an_instruction_of_which_nothing_is_known_takes_no_data() -> None:
    doc = document("shank/odd")
    doc["instructions"][0]["discriminant"] = {"type": "u8", "value": "seven"}
    program: Program = load(doc)
    (faulty,) = [
        ix for ix in program.model.instructions if ix.discriminator.origin == "none"
    ][:1]
    assert faulty.name in unusable(program.model)
    for other in program.model.instructions:
        if other.discriminator.value and not matches(faulty.discriminator, b""):
            assert (
                program.read_instruction(other.discriminator.value).name == other.name
            )


TAGGED = [
    ({"tagEncoding": "u32"}, (0, 4), "04000000"),
    ({}, (0, 4), "04"),
    ({"size": "u16"}, (7, 5), "0500"),
    ({}, (None, None), "01"),
]


def _fare(body: dict[str, Any]) -> Program:
    argument = {"name": "fare", "type": {"defined": {"name": "Fare"}}}
    instruction = {
        "name": "pass",
        "discriminator": [3],
        "accounts": [],
        "args": [argument],
    }
    return load(
        {
            "address": "1" * 32,
            "metadata": {"name": "turnstile", "version": "0.1.0", "spec": "0.1.0"},
            "instructions": [instruction],
            "types": [{"name": "Fare", "type": {"kind": "enum", **body}}],
        }
    )


def _variants(*tags: int | None) -> list[dict[str, Any]]:
    named = zip(("Child", "Adult"), tags, strict=True)
    return [
        {"name": name} if tag is None else {"name": name, "tag": tag}
        for name, tag in named
    ]


@pytest.mark.parametrize(("body", "tags", "written"), TAGGED)
def test_an_enum_is_written_by_the_tags_that_its_idl_gives(
    body: dict[str, Any], tags: tuple[int | None, int | None], written: str
) -> None:
    program = _fare({**body, "variants": _variants(*tags)})
    assert program.instruction("pass").encode({"fare": "Adult"}).hex() == "03" + written


@pytest.mark.parametrize(
    "body",
    [
        {"variants": _variants(0, None)},  # nobody knows the second one's tag
        {"variants": _variants(4, 4)},
        {"variants": _variants(0, 256)},
        {"variants": []},
        {"fields": [{"name": "Child"}]},
    ],
)
def test_an_enum_whose_tags_are_uncertain_is_refused(body: dict[str, Any]) -> None:
    program = _fare(body)
    assert "pass" in program.unusable()
    assert any(
        f.level == "error" and f.path.startswith("types[0]") for f in program.findings()
    )


@pytest.mark.parametrize(
    "body",
    [
        {"variants": [{"name": "Child", "weight": 1}]},
        {"variants": [{"name": "Child"}], "endian": "big"},
        {
            "variants": [
                {"name": "Child", "fields": [{"name": "age", "type": "u8", "bits": 4}]}
            ]
        },
        {"variants": [{"name": "Child", "fields": [{"vec": "u8", "prefix": "u16"}]}]},
    ],
)
def test_keys_that_nobody_defines_are_findings(body: dict[str, Any]) -> None:
    assert any("unknown key" in finding.message for finding in _fare(body).findings())


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("number", [2**64 - 1, 2**64, 2**127 + 1, 2**128 - 1])
def test_constants_of_any_size_are_exact(number: int, as_file: bool) -> None:
    """A reader of JSON that takes them for floats loses their last digits."""

    def argument(name: str, kind: str, value: int) -> dict[str, Any]:
        return {
            "kind": "instructionArgumentNode",
            "name": name,
            "type": {"kind": "numberTypeNode", "format": kind, "endian": "le"},
            "defaultValue": {"kind": "numberValueNode", "number": value},
            "defaultValueStrategy": "omitted",
        }

    buy = {
        "kind": "instructionNode",
        "name": "buy",
        "accounts": [],
        "arguments": [
            argument("discriminator", "u8", 7),
            argument("most", "u128", number),
        ],
        "discriminators": [
            {"kind": "fieldDiscriminatorNode", "name": "discriminator", "offset": 0}
        ],
    }
    program = {
        "kind": "programNode",
        "name": "shop",
        "version": "1.0.0",
        "instructions": [buy],
    }
    doc: dict[str, Any] = {
        "kind": "rootNode",
        "standard": "codama",
        "version": "1.0.0",
        "program": {
            **program,
            "publicKey": "1" * 31 + "2",
            "accounts": [],
            "definedTypes": [],
        },
    }
    shop = load(json.dumps(doc).encode() if as_file else doc)
    assert shop.instruction("buy").encode({}) == b"\7" + number.to_bytes(16, "little")

"""Documents from strangers: reading any document gives a model or a SourceError, in bounded time."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.model.check import check, unusable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.detect import read, read_document
from mcpsol_py.sources.overlay import apply_overlay
from tests.unit.sources.fixtures import ALL

DOCUMENTS = [(f"{p.parent.name}/{p.stem}", json.loads(p.read_text())) for p in ALL]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "",
            "u8",
            "u24",
            "pubkey",
            "struct",
            "enum",
            "type",
            "arg",
            "const",
            "account",
            "a" * 300,
            "‮x",
            '*/ "#',
            "{{ x }}",
            "\u2028",
        ]
    )
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "type",
                    "kind",
                    "defined",
                    "vec",
                    "option",
                    "array",
                    "fields",
                    "variants",
                    "seeds",
                    "value",
                    "path",
                    "generic",
                    "mcpsol",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    out = [path] if path else []
    if isinstance(value, dict):
        for k, v in value.items():
            out += places(v, (*path, k))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            out += places(v, (*path, i))
    return out


PLACES = [places(doc) for _, doc in DOCUMENTS]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A fixture with one to four changed places: replaced, removed, doubled, swapped or nested."""
    n = draw(st.integers(0, len(DOCUMENTS) - 1))
    doc = copy.deepcopy(DOCUMENTS[n][1])
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(PLACES[n]))
        parent = doc
        try:
            for step in path[:-1]:
                parent = parent[step]
            old = parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(parent, str):  # an earlier change put text here
            continue
        how = draw(st.sampled_from(["replace", "remove", "double", "swap", "nest"]))
        if how == "remove":
            del parent[path[-1]]
        elif how == "double" and isinstance(parent, list):
            parent.append(copy.deepcopy(old))
        elif how == "swap":
            other: Any = doc
            try:
                for step in draw(st.sampled_from(PLACES[n])):
                    other = other[step]
            except (KeyError, IndexError, TypeError):
                continue
            parent[path[-1]] = copy.deepcopy(other)
        elif how == "nest":
            parent[path[-1]] = {
                draw(
                    st.sampled_from(["vec", "option", "type", "item", "accounts"])
                ): old
            }
        else:
            parent[path[-1]] = draw(ANYTHING)
    return doc


def survives(doc: Any) -> ProgramModel | None:
    """Read *doc* and use the model as commands do. Only our own errors may be raised."""
    try:
        model = read(json.dumps(doc).encode())
    except SourceError as error:
        error.details()  # it can word itself
        return None
    check(model)
    why = unusable(model)
    written, _ = to_anchor(model)
    try:
        back = read(json.dumps(written).encode())
    except SourceError:
        raise AssertionError("an IDL that was written here cannot be read") from None
    assert len(back.instructions) == len(model.instructions)
    assert set(unusable(back)) == set(why)
    return model


@given(mutated())
def test_changed_documents(doc: Any) -> None:
    survives(doc)


@given(ANYTHING)
def test_any_document(doc: Any) -> None:
    try:
        read_document(doc)
    except SourceError:
        pass


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(SourceError):
        read(data)


@given(
    st.dictionaries(
        st.sampled_from(["program", "accounts", "instructions", "known"]), ANYTHING
    )
)
def test_any_overlay(doc: Any) -> None:
    model = read(ALL[2])
    try:
        apply_overlay(model, doc)
    except McpsolError:
        pass


# --- size ------------------------------------------------------------------------------------------------------------

BASE = {
    "address": "1" * 32,
    "metadata": {"name": "big", "version": "0.1.0", "spec": "0.1.0"},
    "instructions": [],
}


def nested(depth: int, *keys: str) -> Any:
    node: Any = "u8"
    for n in range(depth):
        node = {keys[n % len(keys)]: node}
    return node


@pytest.mark.parametrize("keys", [("vec",), ("option", "vec"), ("coption",)])
def test_deep_types_disable_their_instruction(keys: tuple[str, ...]) -> None:
    args = [{"name": "deep", "type": nested(400, *keys)}]
    doc = {
        **BASE,
        "instructions": [{"name": "a", "args": args}, {"name": "b", "args": []}],
    }
    for source in (json.dumps(doc).encode(), doc):
        assert set(unusable(read(source))) == {"a"}


def test_deep_groups_are_refused() -> None:
    accounts: Any = [{"name": "leaf"}]
    for _ in range(100):
        accounts = [{"name": "group", "accounts": accounts}]
    model = read(
        {**BASE, "instructions": [{"name": "a", "accounts": accounts, "args": []}]}
    )
    assert "nest deeper" in unusable(model)["a"]


def test_a_hundred_thousand_levels() -> None:
    data = json.dumps(BASE).replace(
        "[]", '[{"name":"a","args":[{"name":"x","type":' + '{"vec":' * 100_000
    )
    with pytest.raises(SourceError):
        read(data.encode())


def test_deep_codama_values_and_types() -> None:
    node: Any = {"kind": "numberTypeNode", "format": "u8"}
    value: Any = {"kind": "numberValueNode", "number": 1}
    for _ in range(200):
        node = {"kind": "optionTypeNode", "item": node}
        value = {"kind": "someValueNode", "value": value}
    argument = {
        "kind": "instructionArgumentNode",
        "name": "a",
        "type": node,
        "defaultValue": value,
    }
    ix = {"kind": "instructionNode", "name": "a", "arguments": [argument]}
    program = {"kind": "programNode", "name": "p", "instructions": [ix]}
    model = read(
        json.dumps(
            {"kind": "rootNode", "version": "1.0.0", "program": program}
        ).encode()
    )
    assert set(unusable(model)) == {"a"}
    assert any("nest deeper" in message for _, _, message in model.findings)


def test_a_hundred_thousand_instructions_take_seconds() -> None:
    instructions = [
        {"name": f"ix{i}", "discriminator": list(i.to_bytes(4, "big")), "args": []}
        for i in range(100_000)
    ]
    started = time.process_time()
    model = read(json.dumps({**BASE, "instructions": instructions}).encode())
    assert len(model.instructions) == 100_000
    assert check(model) == []
    assert time.process_time() - started < 20


def test_long_and_hostile_text_is_bounded_and_clean() -> None:
    evil = 'x */ "# \u202e\u2066 {{ 7 }} \r\n \u2028 \x00\x1b[31m'
    doc = {
        **BASE,
        "docs": [evil, "d" * 1_000_000],
        "instructions": [
            {
                "name": evil,
                "docs": [evil] * 5000,
                "args": [{"name": "n" * 1_000_000, "type": "u8"}],
            }
        ],
        "types": [
            {"name": "n" * 999_999 + "a", "type": {"kind": "struct"}},
            {"name": "n" * 999_999 + "b", "type": {"kind": "struct"}},
        ],
    }
    model = read(json.dumps(doc).encode())
    ix = model.instructions[0]
    assert ix.name == 'x */ "#  {{ 7 }}   [31m'
    assert len(ix.args[0].name) == 256
    assert len(ix.docs) == 512
    assert all(len(line) <= 4096 for line in (*model.docs, *ix.docs))
    assert not any(
        c in "\u202e\u2066\u2028\x00\x1b"
        for line in (*model.docs, *ix.docs, ix.name)
        for c in line
    )
    assert model.types[0].name != model.types[1].name
    assert {path for path, _, _ in model.findings} >= {
        "instructions[0].name",
        "types[0].name",
    }


def test_references_between_types_cost_no_more_than_their_number() -> None:
    fields = [{"name": f"f{i}", "type": {"defined": {"name": "T0"}}} for i in range(50)]
    types = [
        {
            "name": f"T{n}",
            "type": {
                "kind": "struct",
                "fields": [
                    {"name": f"f{i}", "type": {"defined": {"name": f"T{n + 1}"}}}
                    for i in range(8)
                ],
            },
        }
        for n in range(40)
    ]
    types.append({"name": "T40", "type": {"kind": "struct", "fields": []}})
    doc = {**BASE, "instructions": [{"name": "a", "args": fields}], "types": types}
    started = time.process_time()
    model = read(json.dumps(doc).encode())
    check(model)
    unusable(model)
    assert time.process_time() - started < 5

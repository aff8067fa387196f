"""Arguments made from each tool's own schema, and mutations of them: no call raises, none makes a transaction of
wrong arguments, and what is built says what was asked (issue 6, Bad input).
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge, Reply
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.transport import run
from mcpsol_py.codec.instruction import InstructionCodec

ADDRESSES = [str(Pubkey.from_bytes(bytes([n]) * 32)) for n in range(1, 20)]
#: kept small: each example is a call of a random tool of a random program
EXAMPLES = settings(max_examples=6, deadline=None)

JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(
            ["0x", "0xzz", "base64:!", "{}", "[", '{"a":1}', "@alice", *ADDRESSES[:2]]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=8), inner, max_size=3),
    ),
    max_leaves=6,
)


def values(schema: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that the schema allows. Only what our own schemas say is known here."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return st.one_of([values(option, depth) for option in schema[keyword]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([values({**schema, "type": one}, depth) for one in kind])
    if kind == "object":
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        if schema.get("maxProperties") == 1 and properties:  # an enum: one variant
            return st.one_of(
                [
                    st.fixed_dictionaries({k: values(v, depth + 1)})
                    for k, v in properties.items()
                ]
            )
        if depth > 6:
            properties = {k: v for k, v in properties.items() if k in required}
        return st.fixed_dictionaries(
            {k: values(v, depth + 1) for k, v in properties.items() if k in required},
            optional={
                k: values(v, depth + 1)
                for k, v in properties.items()
                if k not in required
            },
        )
    if kind == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", least + 3), max(least, 3))
        return st.lists(
            values(schema.get("items", {}), depth + 1),
            min_size=least,
            max_size=max(least, most),
        )
    if kind == "integer":
        return st.integers(
            schema.get("minimum", -(2**31)), schema.get("maximum", 2**31)
        )
    if kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False, width=32)
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if kind == "string":
        pattern = schema.get("pattern", "")
        if "1-9A-HJ-NP-Za-km-z" in pattern:
            return st.sampled_from(ADDRESSES)
        if pattern:
            return st.from_regex(pattern, fullmatch=True)
        return st.one_of(st.text(max_size=20), st.integers(0, 2**64 - 1).map(str))
    return JUNK


@lru_cache(maxsize=4)
def tools_of(path: Path) -> tuple[Bridge, list[BridgeTool]]:
    program = load(path)
    bridge = Bridge(
        [ServedProgram(program, program.address or Pubkey.from_string(ADDRESSES[0]))],
        surface="full",
    )
    return bridge, [t for t in bridge.box.tools.values() if t.kind == "instruction"]


def check(bridge: Bridge, tool: BridgeTool, reply: Reply) -> None:
    """Whatever was asked: an error names a reason and no transaction, a success validates and decodes."""
    if reply.is_error:
        assert reply.structured is None
        assert reply.details["reason"]
        assert reply.details["reason"] != "error"
        assert "Traceback" not in reply.text
        return
    assert reply.structured is not None
    Draft202012Validator(tool.definition["outputSchema"]).validate(
        json.loads(json.dumps(reply.structured))
    )
    assert tool.served is not None
    ix = tool.served.program.instruction(tool.target)
    assert isinstance(ix.codec, InstructionCodec)
    data = bytes.fromhex(reply.structured["data"][2:])
    assert ix.encode(ix.decode(data)) == data


@EXAMPLES
@given(data=st.data())
def test_arguments_by_the_schema(shared_idl: Path, data: st.DataObject) -> None:
    bridge, tools = tools_of(shared_idl)
    if not tools:
        return
    tool = data.draw(st.sampled_from(tools), "tool")
    arguments = data.draw(values(tool.definition["inputSchema"]), "arguments")
    Draft202012Validator(tool.definition["inputSchema"]).validate(arguments)
    check(bridge, tool, run(bridge.call(tool.name, arguments)))


def mutated(data: st.DataObject, value: Any) -> Any:
    """*value* with something in it that does not belong there, or something missing."""
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        how = data.draw(st.sampled_from(["in", "drop", "add", "replace"]))
        if how == "in":
            return {**value, key: mutated(data, value[key])}
        if how == "drop":
            return {k: v for k, v in value.items() if k != key}
        if how == "add":
            return {
                **value,
                data.draw(st.text(min_size=1, max_size=8)): data.draw(JUNK),
            }
        return {**value, key: data.draw(JUNK)}
    if isinstance(value, list) and value:
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(data, value[place]), *value[place + 1 :]]
    return data.draw(JUNK)


@EXAMPLES
@given(data=st.data())
def test_arguments_that_are_mutated(shared_idl: Path, data: st.DataObject) -> None:
    bridge, tools = tools_of(shared_idl)
    if not tools:
        return
    tool = data.draw(st.sampled_from(tools), "tool")
    arguments = mutated(data, data.draw(values(tool.definition["inputSchema"])))
    if isinstance(arguments, dict):
        check(bridge, tool, run(bridge.call(tool.name, arguments)))


@given(
    name=st.text(max_size=20),
    arguments=st.dictionaries(st.text(max_size=8), JUNK, max_size=3),
)
@settings(max_examples=100, deadline=None)
def test_tools_of_ours_take_anything(name: str, arguments: dict[str, Any]) -> None:
    from tests.functional.bridges import bridge

    served = _kept.setdefault("bridge", bridge(surface="lazy"))
    for tool in (
        name,
        "search_tools",
        "describe_tool",
        "call_tool",
        "get_balance",
        "decode_transaction",
        "program_info",
    ):
        reply = run(served.call(tool, arguments))
        assert "Traceback" not in reply.text
        for key in (
            "query",
            "name",
            "address",
            "transaction",
            "data",
            "program",
            "arguments",
            "limit",
        ):
            more = {**arguments, key: next(iter(arguments.values()), name)}
            assert "Traceback" not in run(served.call(tool, more)).text


_kept: dict[str, Bridge] = {}


@pytest.mark.parametrize("deep", [50, 5_000])
def test_deep_arguments_are_refused_and_not_a_crash(deep: int) -> None:
    from tests.functional.bridges import bridge

    value: Any = "x"
    for _ in range(deep):
        value = [value]
    for name, arguments in (
        ("transfer", {"amount": value}),
        ("transfer", {"amount": "1", "accounts": value}),
        ("transfer", {"amount": "1", "accounts": "[" * deep}),
    ):
        reply = run(bridge().call(name, arguments))
        assert reply.is_error

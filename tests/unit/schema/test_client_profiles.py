"""Schemas of the bridge's own tools for each kind of client, and what a client that must give every key is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from mcpsol_py import load
from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.schema.client_profiles import fitted
from mcpsol_py.schema.json_schema import PROFILES
from mcpsol_py.schema.tool_lint import lint_tools

OURS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "pattern": "^x"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "where": {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}},
            "additionalProperties": False,
        },
        "arguments": {"type": "object", "description": "anything"},
        "list": {"type": "array", "items": {"type": "string", "pattern": "^x"}},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def test_strict_clients_give_every_key_and_open_objects_are_json_text() -> None:
    found = fitted(OURS, PROFILES["strict"])
    assert found["required"] == list(OURS["properties"])
    assert found["properties"]["query"] == {"type": "string"}
    assert found["properties"]["kind"] == {
        "type": ["string", "null"],
        "enum": ["a", "b", None],
    }
    assert found["properties"]["where"]["properties"]["n"] == {
        "type": ["integer", "null"]
    }
    assert found["properties"]["where"]["type"] == ["object", "null"]
    assert found["properties"]["arguments"]["type"] == ["string", "null"]
    assert found["properties"]["list"]["items"] == {"type": "string"}


def test_what_all_clients_take_stays_as_it_is() -> None:
    assert fitted(OURS, PROFILES["default"]) == OURS
    assert "additionalProperties" not in str(fitted(OURS, PROFILES["gemini"]))


@pytest.mark.parametrize("client", ["default", "gemini", "strict"])
def test_what_is_served_keeps_each_clients_limits(
    shared_idl: Path, client: str
) -> None:
    program = load(shared_idl)
    served = ServedProgram(
        program, program.address, SvmTransport(), "a test's IDL", "local"
    )
    box = Toolbox([served], surface="lazy", client=client, names=True)
    assert box.quarantined == {}
    definitions = [tool.definition for tool in box.tools.values()]
    assert [
        f.message for f in lint_tools(definitions, client) if f.level == "error"
    ] == []
    for tool in box.tools.values():
        if tool.kind != "instruction":
            Draft7Validator.check_schema(tool.definition["inputSchema"])
            Draft202012Validator.check_schema(tool.definition["inputSchema"])

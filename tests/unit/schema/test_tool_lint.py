from typing import Any

import pytest

from mcpsol_py.schema.tool_lint import lint_tools


def _tool(name: str = "go", schema: Any = None) -> dict[str, Any]:
    return {
        "name": name,
        "description": "",
        "inputSchema": schema
        if schema is not None
        else {"type": "object", "properties": {}},
    }


def _with(inner: Any, **root: Any) -> dict[str, Any]:
    return _tool(schema={"type": "object", "properties": {"a": inner}} | root)


@pytest.mark.parametrize(
    ("tool", "client", "rule"),
    [
        (_tool("a.b"), "default", "tool-name"),
        (_tool("x" * 45), "default", "tool-name"),
        (_tool("x" * 41), "cursor", "tool-name"),
        (_tool("1a"), "gemini", "tool-name"),
        (_tool(schema={"type": "object"}), "openai", "root"),
        (_tool(schema=[]), "openai", "root"),
        (
            _tool(schema={"type": "object", "properties": {}, "anyOf": []}),
            "claude",
            "root",
        ),
        (_with({}), "default", "type"),
        (_with(5), "default", "schema"),
        (_with({"type": ["string", "null"]}), "gemini", "type"),
        (_with({"$ref": "#"}), "default", "keyword"),
        (
            _with({"type": "array", "prefixItems": [], "items": {"type": "string"}}),
            "default",
            "keyword",
        ),
        (_with({"type": "array", "items": [{"type": "string"}]}), "default", "items"),
        (_with({"type": "array"}), "default", "items"),
        (_with({"anyOf": [{"type": "string"}]}), "gemini", "union"),
        (
            _with({"type": "object", "properties": {}, "additionalProperties": False}),
            "gemini",
            "keyword",
        ),
        (_with({"type": "string"}), "strict", "strict"),
        (_with({"type": "string"}, additionalProperties=False), "strict", "strict"),
        (
            _with(
                {"type": "string", "pattern": "a"},
                additionalProperties=False,
                required=["a"],
            ),
            "strict",
            "keyword",
        ),
        (
            _tool(schema={"type": "object", "properties": {"a[]": {"type": "string"}}}),
            "claude",
            "property-name",
        ),
    ],
)
def test_what_a_client_refuses_is_an_error(
    tool: dict[str, Any], client: str, rule: str
) -> None:
    assert rule in {f.rule for f in lint_tools([tool], client) if f.level == "error"}


def test_nesting_is_counted_in_objects_and_lists() -> None:
    closed: dict[str, Any] = {
        "type": "object",
        "required": ["a"],
        "additionalProperties": False,
    }
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(5):
        inner = closed | {"properties": {"a": inner}}
    assert lint_tools([_tool(schema=inner)], "strict") == []
    deeper = _tool(schema=closed | {"properties": {"a": inner}})
    assert [f.rule for f in lint_tools([deeper], "strict")] == ["nesting"]


def test_two_tools_of_one_name() -> None:
    assert [f.rule for f in lint_tools([_tool("go"), _tool("Go")])] == [
        "tool-name-twice"
    ]


@pytest.mark.parametrize(
    "name", ["secret_key", "privateKey", "mnemonic", "seed_phrase", "keypair"]
)
def test_a_property_that_asks_for_a_key_is_reported(name: str) -> None:
    tool = _tool(schema={"type": "object", "properties": {name: {"type": "string"}}})
    assert [f.rule for f in lint_tools([tool])] == ["key-like"]


def test_many_tools() -> None:
    many = [_tool(f"t{i}") for i in range(130)]
    assert [(f.level, f.rule) for f in lint_tools(many, "openai")] == [
        ("warning", "tool-count")
    ]
    assert [(f.level, f.rule) for f in lint_tools(many, "claude")] == [
        ("info", "tool-count")
    ]
    assert lint_tools(many[:40], "cursor") == []

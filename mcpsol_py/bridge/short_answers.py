"""Answers as a client's model reads them: each thing once, in few words.

An agent pays for every token. What holds for all tools is in the server's instructions, and what the text of a result
says is not repeated in its structured content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mcpsol_py.bridge.tools import BridgeTool, required_arguments
from mcpsol_py.items import picked, types_by_name, without
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Struct, Type
from mcpsol_py.names import clean_text
from mcpsol_py.program import Program
from mcpsol_py.schema.json_schema import quoted
from mcpsol_py.schema.mcp_tools import shown

__all__ = [
    "about",
    "definition_lines",
    "details_for_client",
    "for_client",
    "gives",
    "short_definition",
    "takes",
]

#: Characters of a program's words in a search hit.
_ABOUT = 110
#: Characters of the fields that a tool's answer has.
_GIVES = 600
#: Characters of a nested argument's fields.
_NESTED = 900
#: What follows the name of a type in a description.
_FIRST_WORDS = re.compile(r"[,:.]")
#: Attributes of an error about bytes that are too few. Other errors of decoding have none to tell.
_OF_BYTES = ("offset", "wanted", "left")
_PROGRAM_SAYS = "Program's words"
#: Fields of a sent call that its summary and the chain's own record repeat.
_OF_THE_BUILD = frozenset(("data", "accounts", "signers", "fee_payer", "program"))
#: Fields of a balance change that landed.
_CHANGED = ("address", "owner", "mint", "change")
#: Attributes of an error that its text has.
_IN_THE_TEXT = frozenset(
    ("message", "why", "hints", "logs", "error_message", "returned", "stack")
)


# --- search hits -----------------------------------------------------------------------------


def takes(tool: BridgeTool) -> list[str]:
    """Return what a call must and may give, with types: "amount: u64", "limit?: integer", "accounts.mint"."""
    if tool.kind != "instruction":
        return list(_properties(tool.definition["inputSchema"]))
    assert tool.served is not None
    schema = tool.definition["inputSchema"]
    must = required_arguments(schema)
    types = {
        arg.name: arg.type
        for arg in tool.served.program.instruction(tool.target).model.args
    }
    names = without(schema["properties"], "accounts", "remaining_accounts")
    rows = [
        _marked(name, must) + (f": {type_text(types[name])}" if name in types else "")
        for name in names
    ]
    return rows + [name for name in must if name.startswith("accounts.")]


def _properties(schema: Mapping[str, Any]) -> Iterator[str]:
    must = schema.get("required", ())
    for name, inner in schema["properties"].items():
        yield f"{_marked(name, must)}: {inner.get('type', 'any')}"


def _marked(name: str, must: Collection[str]) -> str:
    """Return *name*, with a question mark if it may be left out."""
    return name if name in must else f"{name}?"


def about(tool: BridgeTool) -> str:
    """Return what a tool is for, in one short line."""
    if tool.served is None:
        return str(tool.definition["description"])[:_ABOUT]
    program = shown(tool.served.program.name)
    if tool.kind == "instruction":
        kind = f"view of {program}" if tool.is_view else program
        words = quoted(tool.served.program.instruction(tool.target).model.docs, _ABOUT)
        return f"{kind}. {words}" if words else kind
    verb = "reads an account" if tool.kind == "get" else "lists accounts"
    return f"{verb} of type {shown(tool.target)} of {program}"


# --- one tool --------------------------------------------------------------------------------


def short_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition without what its descriptions say too: patterns, and the schema of results."""
    hints = without(definition["annotations"], "title")
    kept = picked(definition, ("name", "title", "description"))
    return {
        **kept,
        "inputSchema": _without_patterns(definition["inputSchema"]),
        "annotations": hints,
    }


def _without_patterns(schema: Any) -> Any:
    if isinstance(schema, list):
        return list(map(_without_patterns, schema))
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_patterns(inner)
        for key, inner in schema.items()
        if not (key == "pattern" and isinstance(inner, str))
        and not (key == "additionalProperties" and inner is False)
    }


def definition_lines(definition: Mapping[str, Any]) -> list[str]:
    """Return a definition as lines for people: its description, then each argument."""
    schema = definition["inputSchema"]
    return [
        f"{definition['name']}: {definition['description']}",
        *_argument_lines(schema, "  "),
    ]


def _argument_lines(schema: Mapping[str, Any], indent: str) -> Iterator[str]:
    must = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        marked = indent + _marked(name, must)
        if name == "accounts" and inner.get("properties"):
            yield f"{marked}: {inner['description']}"
            continue
        if _is_nested(inner):
            said = inner.get("description", "")
            about = f". {said}" if said and "maxProperties" not in inner else ""
            yield f"{marked}: {clean_text(_shape(inner) + about, _NESTED)}"
            continue
        said = inner.get("description") or inner.get("type", "")
        if "enum" in inner:
            said = f"{said} {'|'.join(map(str, inner['enum']))}".strip()
        yield f"{marked}: {clean_text(str(said), 200)}"


def _is_nested(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("properties") or schema.get("items"))


def _shape(schema: Mapping[str, Any]) -> str:
    """Return a nested value in one line: "{price: u64, note?: string, parts: [{share: u8}]}"."""
    properties = schema.get("properties")
    if properties:
        must = schema.get("required", ())
        if schema.get("maxProperties") == 1:
            rows = [f"{name}: {_shape(inner)}" for name, inner in properties.items()]
            return f"exactly one of {{{' | '.join(rows)}}}"
        rows = [
            f"{_marked(name, must)}: {_shape(inner)}"
            for name, inner in properties.items()
        ]
        return f"{{{', '.join(rows)}}}"
    if schema.get("items"):
        return f"[{_shape(schema['items'])}]"
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    said = str(schema.get("description", ""))
    if said.startswith(_PROGRAM_SAYS) or not said:
        types = schema.get("type", "any")
        return types if isinstance(types, str) else "|".join(types)
    return _FIRST_WORDS.split(said, 1)[0]


def gives(tool: BridgeTool) -> str:
    """Return what a tool answers, in one line: the type of a return value, or the fields of an account, with types.

    "" for an instruction that returns nothing: its answer has the form that all of them have.
    """
    if tool.served is None:
        return f"gives {', '.join(tool.definition['outputSchema']['properties'])}"
    if tool.kind != "instruction":
        types = types_by_name(tool.served.program.model.accounts)
        return f"gives fields {_fields(tool.served.program, types[tool.target])}"
    returned = tool.served.program.instruction(tool.target).model.returns
    return (
        "" if returned is None else f"returns {_fields(tool.served.program, returned)}"
    )


def _fields(program: Program, node: Type) -> str:
    """Return the fields of a struct with their types, or the type."""
    found = program.codecs.layouts.resolver.target(node)
    if not isinstance(found, Struct):
        return type_text(node)
    rows = [f"{shown(field.name)}: {type_text(field.type)}" for field in found.fields]
    return clean_text(", ".join(rows), _GIVES)


# --- results ---------------------------------------------------------------------------------


def for_client(structured: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the structured content of a result without what its text says."""
    if structured is None or "summary" not in structured:
        return structured
    headline = str(structured["summary"]).partition(" · program ")[0]
    out = {**structured, "summary": headline.partition("\n")[0]}
    if "signature" in out:
        out = without(out, *_OF_THE_BUILD)
    if "simulation" in out:
        out["simulation"] = _short_simulation(out["simulation"], landed="slot" in out)
    return out


def _short_simulation(simulation: Mapping[str, Any], *, landed: bool) -> dict[str, Any]:
    """Return a simulation without the owners that are the addresses themselves.

    *landed*: and without what the transaction that landed says itself.
    """
    changes = map(_short_change, simulation.get("balance_changes", ()))
    if not landed:
        return {**simulation, "balance_changes": list(changes)}
    changed = [picked(row, _CHANGED) for row in changes]
    return {**without(simulation, "events", "succeeded"), "balance_changes": changed}


def _short_change(row: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(row)
    if out.get("owner") == out.get("address"):
        out.pop("owner", None)
    return out


def details_for_client(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of an error that its text does not have."""
    kept = without(details, *_IN_THE_TEXT)
    if not kept.get("wanted"):
        kept = without(kept, *_OF_BYTES)
    return {
        key: value for key, value in kept.items() if value not in (None, "", [], ())
    }

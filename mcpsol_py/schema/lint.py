"""Holds the tools of a program against what clients take: MCP clients by their limits, mcpsol's own by what they would
build.

The limits are checked on the finished schemas, by rules of their own, so that a fault of json_schema.py or mcp_tools.py
is found as well as one of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from mcpsol_py.errors import SchemaError, UnknownName
from mcpsol_py.model.check import Finding
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.names import clean_text
from mcpsol_py.schema.json_schema import PROFILES
from mcpsol_py.schema.mcp_tools import ToolMap
from mcpsol_py.schema.pages import read_page, write_pages
from mcpsol_py.schema.tool import tool_of
from mcpsol_py.schema.wire import GUARD, old_client_fault

__all__ = ["CLIENTS", "lint", "lint_tools"]


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a client takes (FIELD-NOTES D). `name`: of a tool; `prefix`: characters that it puts before it; `tools`: how
    many.
    """

    name: str = r"[a-zA-Z_][a-zA-Z0-9_-]*"
    longest: int = 64
    prefix: int = 20
    property: str = r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"
    tools: int | None = None
    advised: int = 40
    nesting: int = 32
    unions: bool = True
    closed: bool = True
    strict: bool = False


CLIENTS: dict[str, _Limits] = {
    "default": _Limits(),
    "claude": _Limits(tools=None),
    "openai": _Limits(tools=128),
    "codex": _Limits(tools=128),
    "vscode": _Limits(tools=128),
    "gemini": _Limits(unions=False, closed=False),
    "cursor": _Limits(longest=60, tools=80),
    "strict": _Limits(tools=128, nesting=5, unions=False, strict=True),
}

_KEYLIKE = re.compile(
    r"(private|secret|signing)_?(key|seed)|secret|mnemonic|seed_?phrase|keypair|passphrase|password",
    re.IGNORECASE,
)
_FORBIDDEN = frozenset(
    {
        "$ref",
        "$defs",
        "definitions",
        "prefixItems",
        "propertyNames",
        "patternProperties",
        "$schema",
        "not",
        "if",
    }
)
_STRICT_FORBIDDEN = _FORBIDDEN | {"format", "default", "minProperties", "maxProperties", "pattern"}
#: mcpsol's Rust client stops, without a word, behind this cursor.
_RUST_LAST_CURSOR = 100


def lint(model: ProgramModel, client: str | None = None) -> list[Finding]:
    """What *client* (one of CLIENTS) would stumble over in the tools of
    *model*.

    None: "default", and what mcpsol's own clients make of the pages. Raises UnknownName for another client.
    """
    name = client or "default"
    if name not in CLIENTS or name not in PROFILES:
        raise UnknownName("client", name, CLIENTS)
    tools = ToolMap(model, name)
    places = {ix.name: f"instructions[{i}]" for i, ix in enumerate(model.instructions)}
    found = [
        Finding("warning", places.get(ix, ""), f"{ix} is no tool: {why}", "not-served")
        for ix, why in tools.left_out.items()
    ]
    found += lint_tools(tools.tools, name, lambda tool: places[tools.instruction(tool).name])
    if client is None:
        found += _old_clients(model)
    return found


def lint_tools(
    tools: list[dict[str, Any]],
    client: str = "default",
    place: Callable[[str], str] = lambda name: f"tools.{name}",
) -> list[Finding]:
    """The same for finished MCP tool definitions, whoever made them (`place`: a tool's name -> the path of its
    findings).
    """
    limits = CLIENTS[client]
    found: list[Finding] = []
    seen: set[str] = set()
    for tool in tools:
        name = str(tool.get("name", ""))
        path = place(name)
        if not re.fullmatch(limits.name, name) or len(name) + limits.prefix > limits.longest:
            room = limits.longest - limits.prefix
            why = (
                f"tool name {name!r}: {client} takes letters, digits, _ and -,"
                f" and {room} characters beside its prefix"
            )
            found.append(Finding("error", path, why, "tool-name"))
        if name.lower() in seen:
            found.append(
                Finding("error", path, f"two tools are called {name!r}", "tool-name-twice")
            )
        seen.add(name.lower())
        if len(tool.get("description", "")) > 1024:
            found.append(
                Finding(
                    "warning",
                    path,
                    f"{name}: a description over 1,024 characters is cut",
                    "description",
                )
            )
        schema = tool.get("inputSchema")
        if (
            not isinstance(schema, dict)
            or schema.get("type") != "object"
            or not isinstance(schema.get("properties"), dict)
        ):
            found.append(
                Finding("error", path, f"{name}: its schema is no object with properties", "root")
            )
            continue
        if {"anyOf", "oneOf", "allOf", "enum", "not"} & schema.keys():
            found.append(
                Finding(
                    "error",
                    path,
                    f"{name}: a union at the root fails the whole list of tools",
                    "root",
                )
            )
        found += [
            Finding(level, path, f"{name}{at}: {why}", rule)
            for level, at, why, rule in _walk(schema, "", limits, 1)
        ]
    if limits.tools is not None and len(tools) > limits.tools:
        why = f"{len(tools)} tools; {client} takes {limits.tools}. Serve with --surface lazy"
        found.append(Finding("warning", "instructions", why, "tool-count"))
    elif len(tools) > limits.advised:
        why = f"{len(tools)} tools; beyond {limits.advised} serve with --surface lazy (auto does)"
        found.append(Finding("info", "instructions", why, "tool-count"))
    size = sum(len(orjson.dumps(t)) for t in tools)
    if size > 100_000:
        why = f"the tools take {size:,} bytes, about {size // 4:,} tokens of a model's context"
        found.append(Finding("info", "instructions", why, "tool-size"))
    return found


@lru_cache(8192)
def _name_faults(pattern: str, name: str) -> tuple[tuple[str, str, str], ...]:
    """What is wrong with the name of a property; the same names stand in most instructions."""
    found = []
    if not re.fullmatch(pattern, name):
        found.append(("error", "no property name that all clients take", "property-name"))
    if _KEYLIKE.search(name):
        found.append(("warning", "looks as if it asked for a key or a secret", "key-like"))
    return tuple(found)


def _walk(schema: Any, at: str, limits: _Limits, depth: int) -> Iterator[tuple[Any, str, str, str]]:
    """(level, place, what, rule) of everything below *schema* that the client does not take."""
    if not isinstance(schema, dict):
        yield "error", at, "no schema", "schema"
        return
    if depth > limits.nesting and ("properties" in schema or "items" in schema):
        yield "error", at, f"objects and lists nest deeper than {limits.nesting} levels", "nesting"
        return
    forbidden = _STRICT_FORBIDDEN if limits.strict else _FORBIDDEN
    if not forbidden.isdisjoint(schema):
        for key in sorted(forbidden.intersection(schema)):
            yield "error", at, f"uses {key}", "keyword"
    unions = [k for k in ("anyOf", "oneOf", "allOf") if k in schema]
    if unions and not limits.unions:
        yield "error", at, f"uses {unions[0]}", "union"
    if "type" not in schema and not unions:
        yield "error", at, "has no type", "type"
    if isinstance(schema.get("type"), list) and not limits.strict:
        yield "error", at, "has a list of types", "type"
    if "additionalProperties" in schema and not limits.closed:
        yield "error", at, "uses additionalProperties", "keyword"
    properties = schema.get("properties", {})
    kinds = schema.get("type")
    if limits.strict and (kinds == "object" or (isinstance(kinds, list) and "object" in kinds)):
        if schema.get("additionalProperties") is not False:
            yield "error", at, "leaves additionalProperties open", "strict"
        if sorted(schema.get("required", [])) != sorted(properties):
            yield "error", at, "does not require all of its properties", "strict"
    for name, inner in properties.items():
        here = f"{at}.{name}"
        for level, why, rule in _name_faults(limits.property, name):
            yield level, here, why, rule
        yield from _walk(inner, here, limits, depth + 1)
    if kinds == "array" or "items" in schema:
        if isinstance(schema.get("items"), dict):
            yield from _walk(schema["items"], f"{at}[]", limits, depth + 1)
        else:
            yield "error", at, "an array without one schema for its items", "items"
    for key in unions:
        for inner in schema[key]:
            yield from _walk(inner, at, limits, depth)


def _old_clients(model: ProgramModel) -> Iterator[Finding]:
    """Tools that mcpsol's Rust and TypeScript clients cannot build, or cannot see, from compact pages."""
    resolver = Resolver(model)
    try:
        pages = [read_page(p, i) for i, p in enumerate(write_pages(model))]
    except SchemaError as error:
        yield Finding("error", "instructions", str(error), "page-size")
        return
    rows = [(row, page.cursor) for page in pages for row in page.tools]
    for i, (ix, (row, cursor)) in enumerate(zip(model.instructions, rows, strict=True)):
        path = f"instructions[{i}]"
        fault = old_client_fault(tool_of(ix), resolver)
        if fault is None and GUARD in row.get("p", {}):
            fault = "its parameters do not fit on a page"
        if fault is not None:
            why = f"mcpsol's own clients cannot build {clean_text(ix.name, 80)}: {fault}"
            yield Finding("info", path, why, "mcpsol-client")
        if cursor > _RUST_LAST_CURSOR:
            why = f"{clean_text(ix.name, 80)} is on page {cursor}; mcpsol's Rust client stops at {_RUST_LAST_CURSOR}"
            yield Finding("warning", path, why, "mcpsol-client")

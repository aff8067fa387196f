"""Checks the tools of a program against the limits of MCP clients, and against mcpsol's own clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

from mcpsol_py.errors import SchemaError, UnknownName
from mcpsol_py.model.findings import Finding
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.names import clean_text
from mcpsol_py.schema.client_limits import CLIENTS, ClientLimits, schema_faults
from mcpsol_py.schema.client_profiles import PROFILES
from mcpsol_py.schema.mcp_tools import ToolMap
from mcpsol_py.schema.pages import read_page, write_pages
from mcpsol_py.schema.tool import tool_of
from mcpsol_py.schema.wire import GUARD, old_client_fault

__all__ = ["CLIENTS", "lint", "lint_tools"]

#: mcpsol's Rust client stops after this cursor without an error.
_RUST_LAST_CURSOR = 100
_MAX_DESCRIPTION = 1024
#: The size of all tools from which lint mentions it, in bytes.
_MANY_BYTES = 100_000
#: Keywords that clients do not accept at the root of a schema.
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "not"})


def lint(model: ProgramModel, client: str | None = None) -> list[Finding]:
    """Return the problems that *client* (one of CLIENTS) would have with the tools of *model*.

    None: "default", and the problems of mcpsol's own clients with the pages. Raises UnknownName for another client.
    """
    name = client or "default"
    if name not in CLIENTS or name not in PROFILES:
        raise UnknownName("client", name, CLIENTS)
    tools = ToolMap(model, name)
    places = {ix.name: f"instructions[{i}]" for i, ix in enumerate(model.instructions)}
    found = [
        Finding("warning", places.get(ix, ""), f"{ix} is not a tool: {why}", "not-served")
        for ix, why in tools.left_out.items()
    ]
    found += lint_tools(tools.tools, name, lambda tool: places[tools.instruction(tool).name])
    if client is None:
        found += _old_client_problems(model)
    return found


def lint_tools(
    tools: list[dict[str, Any]],
    client: str = "default",
    place: Callable[[str], str] = lambda name: f"tools.{name}",
) -> list[Finding]:
    """Return the problems that *client* would have with finished MCP tool definitions, from any source.

    *place* turns a tool's name into the path of its findings.
    """
    limits = CLIENTS[client]
    found: list[Finding] = []
    seen: set[str] = set()
    for tool in tools:
        name = str(tool.get("name", ""))
        path = place(name)
        found += _name_problems(name, path, client, seen)
        seen.add(name.lower())
        found += _definition_problems(tool, name, path, limits)
    found += _list_problems(tools, client)
    return found


# --- one tool --------------------------------------------------------------------------------------------------------


def _name_problems(name: str, path: str, client: str, seen: set[str]) -> Iterator[Finding]:
    limits = CLIENTS[client]
    if not limits.accepts_name(name):
        allowed = f"letters, digits, _ and -, and {limits.room} characters beside its prefix"
        yield Finding("error", path, f"tool name {name!r}: {client} accepts {allowed}", "tool-name")
    if name.lower() in seen:
        yield Finding("error", path, f"two tools are called {name!r}", "tool-name-twice")


def _definition_problems(
    tool: dict[str, Any], name: str, path: str, limits: ClientLimits
) -> Iterator[Finding]:
    if len(tool.get("description", "")) > _MAX_DESCRIPTION:
        message = f"{name}: clients cut a description over {_MAX_DESCRIPTION:,} characters"
        yield Finding("warning", path, message, "description")
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or not _is_object(schema):
        message = f"{name}: its schema is not an object with properties"
        yield Finding("error", path, message, "root")
        return
    if _NOT_AT_ROOT & schema.keys():
        message = f"{name}: a union at the root makes clients refuse the whole list of tools"
        yield Finding("error", path, message, "root")
    for level, at, message, rule in schema_faults(schema, limits):
        yield Finding(level, path, f"{name}{at}: {message}", rule)


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), dict)


# --- all tools -------------------------------------------------------------------------------------------------------


def _list_problems(tools: list[dict[str, Any]], client: str) -> Iterator[Finding]:
    yield from _count_problems(len(tools), client)
    size = sum(map(len, map(orjson.dumps, tools)))
    if size > _MANY_BYTES:
        tokens = f"about {size // 4:,} tokens of a model's context"
        message = f"the tools take {size:,} bytes, {tokens}"
        yield Finding("info", "instructions", message, "tool-size")


def _count_problems(count: int, client: str) -> Iterator[Finding]:
    limits = CLIENTS[client]
    if limits.tools is not None and count > limits.tools:
        message = f"{count} tools; {client} accepts {limits.tools}. Serve with --surface lazy"
        yield Finding("warning", "instructions", message, "tool-count")
    elif count > limits.advised:
        lazy = f"for more than {limits.advised}, serve with --surface lazy (auto does)"
        yield Finding("info", "instructions", f"{count} tools; {lazy}", "tool-count")


# --- mcpsol's own clients --------------------------------------------------------------------------------------------


def _old_client_problems(model: ProgramModel) -> Iterator[Finding]:
    """Yield the tools that mcpsol's Rust and TypeScript clients cannot build, or cannot see, from compact pages."""
    resolver = Resolver(model)
    try:
        pages = [read_page(page, i) for i, page in enumerate(write_pages(model))]
    except SchemaError as error:
        yield Finding("error", "instructions", str(error), "page-size")
        return
    rows = [_PagedRow(row, page.cursor) for page in pages for row in page.tools]
    for i, (ix, row) in enumerate(zip(model.instructions, rows, strict=True)):
        yield from _row_problems(ix, row, f"instructions[{i}]", resolver)


class _PagedRow(NamedTuple):
    """The row of a tool, and the cursor of its page."""

    row: dict[str, Any]
    cursor: int


def _row_problems(
    ix: Instruction, paged: _PagedRow, path: str, resolver: Resolver
) -> Iterator[Finding]:
    name = clean_text(ix.name, 80)
    fault = _old_client_fault(ix, paged.row, resolver)
    if fault is not None:
        message = f"mcpsol's own clients cannot build {name}: {fault}"
        yield Finding("info", path, message, "mcpsol-client")
    if paged.cursor > _RUST_LAST_CURSOR:
        stop = f"mcpsol's Rust client stops at {_RUST_LAST_CURSOR}"
        message = f"{name} is on page {paged.cursor}; {stop}"
        yield Finding("warning", path, message, "mcpsol-client")


def _old_client_fault(ix: Instruction, row: dict[str, Any], resolver: Resolver) -> str | None:
    fault = old_client_fault(tool_of(ix), resolver)
    if fault is None and GUARD in row.get("p", {}):
        return "its parameters do not fit on a page"
    return fault

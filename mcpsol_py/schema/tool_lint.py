"""Checks finished MCP tool definitions, from any source, against the limits of MCP clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from mcpsol_py.model.findings import Finding
from mcpsol_py.schema.client_limits import CLIENTS, ClientLimits, schema_faults

__all__ = ["lint_tools", "tool_error"]

_MAX_DESCRIPTION = 1024
#: The size of all tools from which lint mentions it, in bytes.
_MANY_BYTES = 100_000
#: Keywords that clients do not accept at the root of a schema.
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "not"})


def lint_tools(
    tools: list[dict[str, Any]],
    client: str = "default",
    place: Callable[[str], str] = lambda name: f"tools.{name}",
) -> list[Finding]:
    """Return the problems that *client* would have with finished MCP tool definitions, from any source.

    *place* turns a tool's name into the path of its findings.
    """
    found: list[Finding] = []
    seen: set[str] = set()
    for tool in tools:
        name = str(tool.get("name", ""))
        if name.lower() in seen:
            found.append(
                Finding(
                    "error",
                    place(name),
                    f"two tools are called {name!r}",
                    "tool-name-twice",
                )
            )
        seen.add(name.lower())
        found += _tool_problems(tool, name, place(name), client)
    found += _list_problems(tools, client)
    return found


def tool_error(tool: Mapping[str, Any], client: str = "default") -> str | None:
    """Return the first error of a definition that would break the list of tools of *client*, or None."""
    name = str(tool.get("name", ""))
    for finding in _tool_problems(tool, name, f"tools.{name}", client):
        if finding.level == "error":
            return f"{finding.path}: {finding.message}"
    return None


# --- one tool --------------------------------------------------------------------------------------------------------


def _tool_problems(
    tool: Mapping[str, Any], name: str, path: str, client: str
) -> Iterator[Finding]:
    limits = CLIENTS[client]
    if not limits.accepts_name(name):
        allowed = (
            f"letters, digits, _ and -, and {limits.room} characters beside its prefix"
        )
        yield Finding(
            "error",
            path,
            f"tool name {name!r}: {client} accepts {allowed}",
            "tool-name",
        )
    yield from _definition_problems(tool, name, path, limits)


def _definition_problems(
    tool: Mapping[str, Any], name: str, path: str, limits: ClientLimits
) -> Iterator[Finding]:
    if len(tool.get("description", "")) > _MAX_DESCRIPTION:
        message = (
            f"{name}: clients cut a description over {_MAX_DESCRIPTION:,} characters"
        )
        yield Finding("warning", path, message, "description")
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or not _is_object(schema):
        message = f"{name}: its schema is not an object with properties"
        yield Finding("error", path, message, "root")
        return
    if _NOT_AT_ROOT & schema.keys():
        message = (
            f"{name}: a union at the root makes clients refuse the whole list of tools"
        )
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
        message = (
            f"{count} tools; {client} accepts {limits.tools}. Serve with --surface lazy"
        )
        yield Finding("warning", "instructions", message, "tool-count")
    elif count > limits.advised:
        lazy = f"for more than {limits.advised}, serve with --surface lazy (auto does)"
        yield Finding("info", "instructions", f"{count} tools; {lazy}", "tool-count")

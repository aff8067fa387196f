"""Checks the tools of a program against the limits of MCP clients, and against mcpsol's own clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mcpsol_py.errors import SchemaError, UnknownName
from mcpsol_py.model.findings import Finding
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.names import clean_text
from mcpsol_py.schema.client_limits import CLIENTS
from mcpsol_py.schema.client_profiles import PROFILES
from mcpsol_py.schema.mcp_tools import ToolMap
from mcpsol_py.schema.pages import read_page, write_pages
from mcpsol_py.schema.tool import tool_of
from mcpsol_py.schema.tool_lint import lint_tools
from mcpsol_py.schema.wire import GUARD, old_client_fault

__all__ = ["CLIENTS", "lint", "lint_tools"]

#: mcpsol's Rust client stops after this cursor without an error.
_RUST_LAST_CURSOR = 100


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
        Finding(
            "warning", places.get(ix, ""), f"{ix} is not a tool: {why}", "not-served"
        )
        for ix, why in tools.left_out.items()
    ]
    found += lint_tools(
        tools.tools, name, lambda tool: places[tools.instruction(tool).name]
    )
    if client is None:
        found += _old_client_problems(model)
    return found


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


def _old_client_fault(
    ix: Instruction, row: dict[str, Any], resolver: Resolver
) -> str | None:
    fault = old_client_fault(tool_of(ix), resolver)
    if fault is None and GUARD in row.get("p", {}):
        return "its parameters do not fit on a page"
    return fault

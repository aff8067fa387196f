"""Pages that list tools: all programs, one program, and search results."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from mcpsol_py.bridge.explorer.content import Block, Cell, PageContent, TableBlock
from mcpsol_py.bridge.explorer.rendering import HtmlPage, Renderer, cleaned
from mcpsol_py.bridge.explorer.site import Site
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.names import clean_text
from mcpsol_py.schema.mcp_tools import title_of

__all__ = ["index_page", "program_page", "search_page", "tool_facts"]

_MAX_ERRORS, _MAX_FOUND = 500, 30


def index_page(site: Site, renderer: Renderer) -> HtmlPage:
    """Return the page of all programs."""
    box = site.box
    common = [tool.definition for tool in box.tools.values() if tool.kind == "common"]
    programs = list(map(site.program_facts, box.labels))
    return renderer.template("index", programs=programs, common=common)


def program_page(site: Site, renderer: Renderer, label: str) -> HtmlPage:
    """Return the page of one program: its instructions, account types and errors."""
    served = site.box.labels[label]
    instructions = list(map(tool_facts, site.box.tools_of(served, "instruction")))
    blocks = [_errors(served), _unusable(site, served)]
    return renderer.template(
        "program",
        here="/",
        program=site.program_facts(label),
        tools=instructions,
        blocks=[cleaned(block) for block in blocks if block.rows],
        named=site.local_names,
    )


def search_page(site: Site, renderer: Renderer, query: str) -> HtmlPage:
    """Return the tools that fit *query*."""
    tools = site.box.tools
    rows = [
        (
            Cell(hit.name, href=f"/tools/{quote(hit.name)}"),
            Cell(tools[hit.name].definition["description"]),
        )
        for hit in site.box.search(query, _MAX_FOUND)
    ]
    table = TableBlock("", ("Tool", "Description"), rows, empty="No tool has any of these words.")
    blocks: list[Block] = [table]
    content = PageContent("Tools", f"{len(rows)} found for “{query}”.", blocks)
    return renderer.content(content, query=query)


def tool_facts(tool: BridgeTool) -> dict[str, Any]:
    """Return what the templates show of a tool."""
    if tool.kind == "instruction":
        title = title_of(tool.target)
    else:
        title = str(tool.definition["title"])
    return {**tool.definition, "title": title, "words": _own_words(tool)}


def _own_words(tool: BridgeTool) -> dict[str, str]:
    """Return the program's description of an instruction, and when to use it."""
    if tool.kind != "instruction" or tool.served is None:
        return {}
    model = tool.served.program.instruction(tool.target).model
    when = "".join(model.when_to_use[:1])
    return {"does": clean_text(" ".join(model.docs), 1000), "when": clean_text(when, 400)}


def _errors(served: ServedProgram) -> TableBlock:
    rows = [
        (Cell(str(error.code), "number"), Cell(error.name), Cell(error.message or ""))
        for error in served.program.model.errors[:_MAX_ERRORS]
    ]
    return TableBlock("Errors", ("Code", "Name", "Message"), rows)


def _unusable(site: Site, served: ServedProgram) -> TableBlock:
    reasons = site.box.reasons_left_out(served)
    rows = [(Cell(name), Cell(why)) for name, why in reasons.items()]
    return TableBlock("Cannot be called", ("Instruction", "Reason"), rows)

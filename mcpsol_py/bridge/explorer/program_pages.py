"""Pages that list tools: all programs, one program, and search results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mcpsol_py.bridge.explorer.content import Block, Cell, PageContent, TableBlock
from mcpsol_py.bridge.explorer.rendering import HtmlPage, Renderer, cleaned
from mcpsol_py.bridge.explorer.site import Site
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.catalog.catalog import Hit
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import clean_text, snake
from mcpsol_py.schema.mcp_tools import title_of

__all__ = ["Connection", "index_page", "program_page", "search_page", "tool_facts"]

_MAX_ERRORS, _MAX_FOUND = 500, 30
#: More programs or instructions than these get a filter, and instructions groups of at least three.
_FEW_PROGRAMS, _FEW_TOOLS, _LEAST_IN_GROUP = 6, 12, 3
_LONGEST_SIGNATURE = 240


@dataclass(frozen=True, slots=True)
class Connection:
    """How an MCP client reaches this server. `token`: it must send a bearer token."""

    url: str
    token: bool

    @property
    def command(self) -> str:
        """The command that adds the server to Claude Code."""
        header = (
            " --header 'Authorization: Bearer '\"$IDL2MCP_TOKEN\"" if self.token else ""
        )
        return f"claude mcp add --transport http idl2mcp {self.url}{header}"

    @property
    def config(self) -> str:
        """The entry of a client's configuration file."""
        entry: dict[str, Any] = {"type": "http", "url": self.url}
        if self.token:
            entry["headers"] = {"Authorization": "Bearer ${IDL2MCP_TOKEN}"}
        return json.dumps({"mcpServers": {"idl2mcp": entry}}, indent=2)


def index_page(
    site: Site, renderer: Renderer, connection: Connection, show: str = ""
) -> HtmlPage:
    """Return the page of all programs whose name, words or address have *show*."""
    box = site.box
    common = [tool.definition for tool in box.tools.values() if tool.kind == "common"]
    programs = list(map(site.program_facts, box.labels))
    found = [
        one for one in programs if _has(show, one["name"], one["docs"], one["address"])
    ]
    return renderer.template(
        "index",
        programs=found,
        total=len(programs),
        filtered=len(programs) > _FEW_PROGRAMS,
        show=show,
        common=common,
        connection=connection,
    )


def program_page(
    site: Site, renderer: Renderer, label: str, show: str = ""
) -> HtmlPage:
    """Return the page of one program: its instructions that have *show*, account types and errors."""
    served = site.box.labels[label]
    tools = site.box.tools_of(served, "instruction")
    instructions = list(map(tool_facts, tools))
    found = [
        one
        for one in instructions
        if _has(show, one["title"], one["signature"], *one["words"].values())
    ]
    blocks = [_errors(served), _unusable(site, served)]
    return renderer.template(
        "program",
        here="/",
        program=site.program_facts(label),
        groups=_grouped(found),
        total=len(instructions),
        found=len(found),
        filtered=len(instructions) > _FEW_TOOLS,
        show=show,
        blocks=[cleaned(block) for block in blocks if block.rows],
        named=site.local_names,
    )


def _has(show: str, *texts: str) -> bool:
    """Return True if all words of *show* are in the texts."""
    text = " ".join(texts).lower()
    return all(map(text.__contains__, show.lower().split()))


def _grouped(tools: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return many tools by the first word of their instructions, as (heading, tools); a few stay together."""
    if len(tools) <= _FEW_TOOLS:
        return [("", list(tools))]
    firsts = Counter(tool["first"] for tool in tools)
    groups: dict[str, list[dict[str, Any]]] = {}
    for tool in tools:
        word = tool["first"] if firsts[tool["first"]] >= _LEAST_IN_GROUP else ""
        groups.setdefault(word.capitalize() or "Others", []).append(tool)
    return sorted(groups.items(), key=lambda group: (group[0] == "Others", group[0]))


def search_page(
    site: Site, renderer: Renderer, query: str, hits: Sequence[Hit] = ()
) -> HtmlPage:
    """Return the tools that fit *query*, and *hits*, what the catalogue found."""
    tools = site.box.tools
    rows = [
        (
            Cell(hit.name, href=f"/tools/{quote(hit.name)}"),
            Cell(tools[hit.name].definition["description"]),
        )
        for hit in site.box.search(query, _MAX_FOUND)
    ]
    table = TableBlock(
        "", ("Tool", "Description"), rows, empty="No tool has any of these words."
    )
    blocks: list[Block] = [table]
    if hits:
        columns = ("Program", "Instruction", "Address", "Why")
        blocks.append(
            TableBlock("In the catalogue", columns, list(map(_hit_row, hits)))
        )
    content = PageContent(
        "Tools", f"{len(rows) + len(hits)} found for “{query}”.", blocks
    )
    return renderer.content(content, query=query)


def _hit_row(hit: Hit) -> Sequence[Cell]:
    return (
        Cell(hit.program, href=f"/catalogue/{quote(hit.key, safe='')}"),
        Cell(hit.instruction),
        Cell(hit.address or "none known", "code" if hit.address else "text"),
        Cell("; ".join(hit.why)),
    )


def tool_facts(tool: BridgeTool) -> dict[str, Any]:
    """Return what the templates show of a tool."""
    if tool.kind == "instruction":
        title = title_of(tool.target)
    else:
        title = str(tool.definition["title"])
    return {
        **tool.definition,
        "title": title,
        "words": _own_words(tool),
        **_signature(tool),
    }


def _signature(tool: BridgeTool) -> dict[str, str]:
    """Return the signature of an instruction, and the first word of its name."""
    if tool.kind != "instruction" or tool.served is None:
        return {"signature": "", "first": ""}
    model = tool.served.program.instruction(tool.target).model
    args = ", ".join(f"{field.name}: {type_text(field.type)}" for field in model.args)
    returns = f" → {type_text(model.returns)}" if model.returns is not None else ""
    signature = clean_text(f"{model.name}({args}){returns}", _LONGEST_SIGNATURE)
    return {"signature": signature, "first": snake(model.name).split("_")[0]}


def _own_words(tool: BridgeTool) -> dict[str, str]:
    """Return the program's description of an instruction, and when to use it."""
    if tool.kind != "instruction" or tool.served is None:
        return {}
    model = tool.served.program.instruction(tool.target).model
    when = "".join(model.when_to_use[:1])
    return {
        "does": clean_text(" ".join(model.docs), 1000),
        "when": clean_text(when, 400),
    }


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

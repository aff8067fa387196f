"""`idl2mcp list-tools SOURCE`: the tools that a program lists on chain."""

from __future__ import annotations

from typing import Any

import click

from idl2mcp import inputs, report
from idl2mcp.commands import inspect
from mcpsol_py.model.check import unusable


@click.command("list-tools")
@inputs.source_argument
@click.option("--pages", "raw", is_flag=True, help="Show the raw pages too.")
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(source: str, raw: bool, chain: inputs.Chain, as_json: bool) -> None:
    """Follow the list_tools cursors of SOURCE (a .so, or a program id with --url) and show its tools.

    A .so runs on a local cluster in this process. For an IDL or a spec, this shows the tools that its pages would list.
    """
    with report.progress(f"asking {source} for its tools"):
        loaded = inputs.load_source(source, chain)
    model = loaded.model
    why_not = unusable(model)
    document: dict[str, Any] = {
        "program": model.name,
        "program_id": str(loaded.program_id) if loaded.program_id else None,
        "source": loaded.how,
        "tools": [
            inspect.instruction_row(ix, why_not.get(ix.name))
            for ix in model.instructions
        ],
    }
    lines = _lines(loaded, document["program_id"])
    if raw:
        pages = [page.decode("utf-8", "replace") for page in loaded.pages]
        document["pages"] = pages
        # the other pages are binary
        lines += ["", *(page for page in pages if page.startswith("{"))]
    report.emit(document, lines, as_json=as_json)


def _lines(source: inputs.Source, program_id: str | None) -> list[str]:
    tools = inspect.describe(source)["instructions"]
    title = f"{source.model.name} · {program_id or 'no address'} · {report.count(len(tools), 'tool')}"
    lines = [title, f"  {source.how}"]
    for tool in tools:
        lines.append(f"  {inspect.signature(tool)}  [{tool['discriminator']}]")
        if tool["accounts"]:
            lines.append("      " + ", ".join(map(inspect.flags, tool["accounts"])))
    return lines

"""`idl2mcp list-tools SOURCE`: what a program says about itself when it is asked on chain."""

from __future__ import annotations

from typing import Any

import click

from idl2mcp import inputs, report
from idl2mcp.commands import inspect
from mcpsol_py.model.check import unusable


@click.command("list-tools")
@inputs.source_argument
@click.option("--pages", "raw", is_flag=True, help="The raw pages too, as they came.")
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(source: str, raw: bool, chain: inputs.Chain, as_json: bool) -> None:
    """Follow the list_tools cursors of SOURCE (a .so, or a program id with --url) and show its tools.

    A .so runs on a local cluster in this process. Of an IDL or a spec, this shows what its pages would say.
    """
    with report.progress(f"asking {source} for its tools"):
        loaded = inputs.load_source(source, chain)
    model = loaded.model
    why_not = unusable(model)
    document: dict[str, Any] = {
        "program": model.name,
        "program_id": str(loaded.program_id) if loaded.program_id else None,
        "source": loaded.how,
        "tools": [inspect.instruction_row(ix, why_not.get(ix.name)) for ix in model.instructions],
    }
    if raw:
        document["pages"] = [page.decode("utf-8", "replace") for page in loaded.pages]
    count = len(model.instructions)
    lines = [
        f"{model.name} · {document['program_id'] or 'no address'} · {count} tool{'' if count == 1 else 's'}",
        f"  {loaded.how}",
    ]
    for tool in inspect.describe(loaded)["instructions"]:
        args = ", ".join(f"{a['name']}: {a['type']}" for a in tool["args"])
        lines.append(f"  {tool['name']}({args})  [{tool['discriminator']}]")
        if tool["accounts"]:
            lines.append("      " + ", ".join(inspect.flags(a) for a in tool["accounts"]))
    if raw:
        lines += [
            "",
            *(page.decode("utf-8", "replace") for page in loaded.pages if page[:1] == b"{"),
        ]
    report.emit(document, lines, as_json=as_json)

"""`idl2mcp lint SOURCE [--client …]`: findings; exit 1 where one is an error."""

from __future__ import annotations

import click

from idl2mcp import inputs, report
from mcpsol_py.model.check import check
from mcpsol_py.schema.lint import lint


@click.command("lint")
@inputs.source_argument
@click.option(
    "--client",
    "clients",
    type=click.Choice(inputs.PROFILES),
    multiple=True,
    help="Also hold the MCP tools against this client's limits (may be given several times).",
)
@inputs.chain_options
@report.json_option
def command(source: str, clients: tuple[str, ...], chain: inputs.Chain, as_json: bool) -> int:
    """Find what is wrong with SOURCE: in the document itself, and in the tools that it makes."""
    with report.progress(f"reading {source}"):
        model = inputs.load_source(source, chain).model
        rows = [
            {"level": f.level, "rule": f.rule, "path": f.path, "message": f.message, "client": None}
            for f in check(model)
        ]
        for client in dict.fromkeys(clients) or (None,):
            rows += [
                {
                    "level": f.level,
                    "rule": f.rule,
                    "path": f.path,
                    "message": f.message,
                    "client": client,
                }
                for f in lint(model, client)
            ]
    errors = sum(row["level"] == "error" for row in rows)
    lines = [
        f"{row['level']}: {row['path']}: {row['message']}"
        f"  [{row['rule']}{', ' + str(row['client']) if row['client'] else ''}]"
        for row in rows
    ]
    lines.append(
        f"{len(rows)} finding{'' if len(rows) == 1 else 's'}, {errors} of them error{'' if errors == 1 else 's'}."
    )
    report.emit({"findings": rows, "errors": errors}, lines, as_json=as_json)
    return report.INPUT if errors else report.OK

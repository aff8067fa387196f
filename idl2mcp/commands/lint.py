"""`idl2mcp lint SOURCE [--client …]`: list mistakes in a program's description, and what its rendered program would not
check. Exit 1 if one is an error.
"""

from __future__ import annotations

import click

from idl2mcp import inputs, report
from mcpsol_py.model.check import check
from mcpsol_py.model.findings import Finding
from mcpsol_py.model.origins import origin_of
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.schema.lint import lint


@click.command("lint")
@inputs.source_argument
@click.option(
    "--client",
    "clients",
    type=click.Choice(inputs.PROFILES),
    multiple=True,
    help="Also check the MCP tools against this client's limits; may be repeated.",
)
@inputs.chain_options
@report.json_option
def command(
    source: str, clients: tuple[str, ...], chain: inputs.Chain, as_json: bool
) -> int:
    """Find mistakes in SOURCE: in the document itself, in the tools that it makes, and in the program that `render`
    makes of it."""
    with report.progress(f"reading {source}"):
        model = inputs.load_source(source, chain).model
        from mcpsol_py.render.findings import render_findings

        found: list[tuple[Finding, str | None]]
        found = [
            (finding, None) for finding in (*check(model), *render_findings(model))
        ]
        for client in dict.fromkeys(clients) or (None,):
            found += [(finding, client) for finding in lint(model, client)]
    rows = [_row(model, finding, client) for finding, client in found]
    errors = sum(row["level"] == "error" for row in rows)
    lines = [_line(row) for row in rows]
    lines.append(
        f"{report.count(len(rows), 'finding')}, {errors} of them {_errors(errors)}."
    )
    report.emit({"findings": rows, "errors": errors}, lines, as_json=as_json)
    return report.INPUT if errors else report.OK


def _row(
    model: ProgramModel, finding: Finding, client: str | None
) -> dict[str, str | None]:
    return {
        "level": finding.level,
        "rule": finding.rule,
        "path": finding.path,
        "origin": origin_of(model, finding.path) or None,
        "message": finding.message,
        "client": client,
    }


def _line(row: dict[str, str | None]) -> str:
    rule = f"{row['rule']}, {row['client']}" if row["client"] else row["rule"]
    parts = (row["level"], row["origin"], row["path"], row["message"])
    return f"{': '.join(filter(None, parts))}  [{rule}]"


def _errors(number: int) -> str:
    return "error" if number == 1 else "errors"

"""`idl2mcp render SOURCE --target TARGET --out DIR`: the Rust crate of a program, or the module that adds list_tools to
one that exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from idl2mcp import inputs, report


@click.command("render")
@inputs.source_argument
@click.option(
    "--target",
    type=click.Choice(
        [
            "pinocchio",
            "native",
            "anchor",
            "pinocchio-module",
            "native-module",
            "anchor-module",
        ]
    ),
    default="pinocchio",
    show_default=True,
    help="The framework; a module only adds list_tools to a program that exists.",
)
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The crate's folder.",
)
@click.option(
    "--facade",
    metavar="PROGRAM_ID",
    help="Write a small program instead that serves list_tools for the one deployed there, and passes every call on.",
)
@inputs.pages_options
@inputs.chain_options
@report.json_option
def command(
    source: str,
    target: str,
    out: Path,
    facade: str | None,
    descriptions: Any,
    form: Any,
    chain: inputs.Chain,
    as_json: bool,
) -> None:
    """Write the Rust crate of SOURCE: generated files are made anew, handler files are written once and then yours.

    With --facade PROGRAM_ID the crate is a facade: it serves list_tools for a program that cannot be changed, and calls
    that program with the accounts and data that it is given."""
    if facade is not None and target != "pinocchio":
        raise click.UsageError(
            f"a facade is written for pinocchio; leave --target {target} out."
        )
    with report.progress(f"reading {source}") as running:
        loaded = inputs.load_source(source, chain)
        inputs.refuse_errors(loaded)
        from mcpsol_py.render import render

        running.step(f"rendering {out}")
        result = render(
            inputs.at_program_id(loaded),
            target=target,
            facade=facade,
            out=out,
            descriptions=descriptions,
            form=form,
        )
    document = {
        "out": str(out),
        "target": target,
        "facade_of": facade,
        "written": [str(p) for p in result.written],
        "kept": [str(p) for p in result.kept],
        "orphans": [str(p) for p in result.orphans],
        "formatted": result.formatted,
        "not_checked": list(result.unchecked),
    }
    lines = [
        f"{out}: {len(result.written)} files written, {len(result.kept)} of yours kept"
    ]
    lines += [
        f"  orphan (its instruction is gone; yours to delete): {p}"
        for p in result.orphans
    ]
    lines += [
        f"  NOT CHECKED, so the handler must: {what}" for what in result.unchecked
    ]
    if facade is not None and loaded.model.address not in (None, facade):
        lines.append(
            f"  the source names another program, {loaded.model.address}: the facade calls {facade}"
        )
    if not result.formatted:
        lines.append("  not formatted: no rustfmt runs on this machine")
    report.emit(document, lines, as_json=as_json)

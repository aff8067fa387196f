"""`idl2mcp convert SOURCE --to compact|pages|mcp|anchor`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from idl2mcp import inputs, report

KINDS = ("compact", "pages", "mcp", "anchor")


@click.command("convert")
@inputs.source_argument
@click.option(
    "--to",
    type=click.Choice(KINDS),
    required=True,
    help="compact: one mcpsol document; pages: a JSON list of list_tools pages (each at most 1,024 bytes); "
    "mcp: standard MCP tools; anchor: Anchor IDL 0.1.0, with a report of losses.",
)
@inputs.pages_options
@click.option(
    "--client",
    "profile",
    type=click.Choice(inputs.PROFILES),
    default="default",
    help="For --to mcp.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file instead of stdout.",
)
@inputs.chain_options
@report.json_option
def command(
    source: str,
    to: str,
    descriptions: str,
    form: str,
    profile: str,
    out: Path | None,
    chain: inputs.Chain,
    as_json: bool,
) -> None:
    """Write SOURCE's schema in another form, as JSON.

    The output is JSON in any case; --json adds the loss report of --to anchor to it, as {"idl": …, "losses": […]},
    instead of writing it to stderr.
    """
    with report.progress(f"reading {source}") as running:
        loaded = inputs.load_source(source, chain)
        inputs.refuse_errors(loaded, deployed=True)
        running.step(f"converting {source}")
        document = _convert(loaded.model, to, descriptions, form, profile, as_json)
    text = report.as_json_text(document) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        report.write_whole(out, text.encode())


def _convert(
    model: Any, to: str, descriptions: Any, form: Any, profile: str, as_json: bool
) -> object:
    if to == "compact":
        from mcpsol_py.schema.pages import compact_document

        return compact_document(model, descriptions=descriptions)
    if to == "pages":
        from mcpsol_py.schema.pages import write_pages

        pages = write_pages(model, form=form, descriptions=descriptions)
        return [page.decode() for page in pages]
    if to == "mcp":
        from mcpsol_py.schema.mcp_tools import tools

        return {"tools": tools(model, profile=profile)}
    from mcpsol_py.schema.anchor_idl import to_anchor

    idl, losses = to_anchor(model)
    if as_json:
        return {
            "idl": idl,
            "losses": [{"path": loss.path, "message": loss.message} for loss in losses],
        }
    for loss in losses:
        report.note(f"lost: {loss.path}: {loss.message}")
    return idl

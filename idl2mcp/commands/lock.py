"""`idl2mcp lock SOURCE --out FILE`: what was accepted."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.drift import lock_document


@click.command("lock")
@inputs.source_argument
@click.option("--out", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path))
@inputs.chain_options
@report.json_option
def command(source: str, out: Path, chain: inputs.Chain, as_json: bool) -> None:
    """Remember SOURCE as accepted: `verify --lock` and `serve --lock` then refuse a schema that has changed."""
    with report.progress(f"reading {source}"):
        loaded = inputs.load_source(source, chain)
        document = lock_document(loaded.model, loaded.how)
    report.write_whole(out, (report.as_json_text(document) + "\n").encode())
    report.emit(
        {"out": str(out), "sha256": document["sha256"]},
        f"{out}: {loaded.model.name}, sha256 {document['sha256']}",
        as_json=as_json,
    )

"""`idl2mcp build DIR`: the .so of a crate."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import report


@click.command("build")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Where to put the .so (default: DIR)."
)
@report.json_option
def command(folder: Path, out: Path | None, as_json: bool) -> None:
    """Compile the crate in DIR for the SVM; show the size, the rent and what list_tools costs."""
    with report.progress(f"compiling {folder}") as running:
        from mcpsol_py.build.build import build

        result = build(folder, out=out, progress=running.step)
    document = result.details()
    lines = [
        f"{result.so}: {result.size:,} bytes; rent {result.rent / 1e9:.9f} SOL",
        f"  built with {result.toolchain}",
    ]
    lines += [f"  list_tools page {c.cursor}: {c.units:,} CU for {c.size:,} bytes" for c in result.costs]
    report.emit(document, lines, as_json=as_json)

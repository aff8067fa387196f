"""`idl2mcp stubs SOURCE [--out FILE.pyi]`: types of a program for editors and type checkers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from idl2mcp import inputs, report


@click.command("stubs")
@inputs.source_argument
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A .pyi file instead of stdout. Its name is the module to import.",
)
@inputs.chain_options
@report.json_option
def command(source: str, out: Path | None, chain: inputs.Chain, as_json: bool) -> None:
    """Write type stubs for SOURCE, so that editors complete its instructions and type checkers check calls.

    Instructions that cannot be used are left out, with the reason in a comment.
    """
    if out is not None and (out.suffix != ".pyi" or not out.stem.isidentifier()):
        raise click.BadParameter(
            f"expected a Python module's name with .pyi, such as counter_types.pyi, got {out.name!r}.",
            param_hint="--out",
        )
    with report.progress(f"reading {source}"):
        from mcpsol_py.stubs import stub

        program = inputs.load_source(source, chain).program
        text = stub(program, module=out.stem if out else "")
    unusable = program.unusable()
    document = {
        "program": program.name,
        "out": str(out) if out else None,
        "left_out": unusable,
    }
    if out is not None:
        report.write_whole(out, text.encode())
        count = len(program.instructions) - len(unusable)
        report.emit(document, f"{out}: types of {count} instructions", as_json=as_json)
    elif as_json:
        report.emit({**document, "stub": text}, "", as_json=True)
    else:
        sys.stdout.write(text)

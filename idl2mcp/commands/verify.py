"""`idl2mcp verify SOURCE --against SOURCE` or `--lock FILE`: drift."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.drift import differences, facts, read_lock


@click.command("verify")
@inputs.source_argument
@click.option("--against", metavar="SOURCE", help="The other source.")
@click.option("--lock", "lock_file", type=click.Path(dir_okay=False, path_type=Path), help="What `idl2mcp lock` wrote.")
@inputs.chain_options
@report.json_option
def command(source: str, against: str | None, lock_file: Path | None, chain: inputs.Chain, as_json: bool) -> int:
    """Say where SOURCE differs from another source, or from what was locked; exit 1 if it does."""
    if (against is None) == (lock_file is None):
        raise click.UsageError("give one of --against SOURCE and --lock FILE.")
    with report.progress(f"reading {source}") as running:
        left = facts(inputs.load_source(source, chain).model)
        if against is not None:
            running.step(f"reading {against}")
            right, other = facts(inputs.load_source(against, chain).model), against
        else:
            assert lock_file is not None
            right, other = read_lock(lock_file), str(lock_file)
        drift = differences(left, right)
    lines = [f"{d.path}: {source} says {d.left}, {other} says {d.right}" for d in drift]
    lines.append("no difference." if not drift else f"{len(drift)} difference{'' if len(drift) == 1 else 's'}.")
    rows = [{"path": d.path, "left": d.left, "right": d.right} for d in drift]
    report.emit({"same": not drift, "differences": rows}, lines, as_json=as_json)
    return report.INPUT if drift else report.OK

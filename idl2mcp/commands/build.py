"""`idl2mcp build DIR`: the .so of a crate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report

if TYPE_CHECKING:
    from mcpsol_py.build import BuildResult


@click.command("build")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", type=click.Path(file_okay=False, path_type=Path), help="A folder for the .so (default: DIR)."
)
@click.option(
    "--route",
    type=click.Choice(["auto", "build-sbf", "no-std", "std"]),
    default="auto",
    show_default=True,
    help="Which compiler: cargo build-sbf where it is installed, else Debian's.",
)
@report.json_option
def command(folder: Path, out: Path | None, route: Any, as_json: bool) -> None:
    """Compile the crate in DIR for the SVM; show the size, the rent and what list_tools costs."""
    with report.progress(f"compiling {folder}") as running:
        from mcpsol_py.build import build_program

        result = build_program(folder, route=route, out=out or folder, progress=running.step)
    report.emit(_document(result), _lines(result), as_json=as_json)


def _document(result: BuildResult) -> dict[str, Any]:
    cost = result.list_tools
    return {
        "so": str(result.so),
        "size": result.size,
        "sha256": result.sha256,
        "rent_lamports": result.rent_lamports,
        "toolchain": result.toolchain.record(),
        "list_tools": None if cost is None else report.fields(cost),
        "seconds": round(result.seconds, 1),
        "wrong_arithmetic": [str(w) for w in result.wrong],
    }


def _lines(result: BuildResult) -> list[str]:
    built = ", ".join(str(v) for v in result.toolchain.record().values())
    lines = [
        f"{result.so}: {result.size:,} bytes, {result.rent_lamports / 1e9:.9f} SOL of rent to deploy",
        f"  sha256 {result.sha256}",
        f"  built in {result.seconds:.1f} s with {built}",
    ]
    if result.list_tools is None:
        lines.append("  it does not answer list_tools")
    else:
        lines += [f"  list_tools {name}: {value}" for name, value in report.fields(result.list_tools).items()]
    lines += [f"  translated wrong by this compiler: {w}" for w in result.wrong]
    return lines

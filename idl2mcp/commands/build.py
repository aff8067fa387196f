"""`idl2mcp build DIR`: compile a crate to a .so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.report import sol

if TYPE_CHECKING:
    from mcpsol_py.build import BuildResult, ListToolsCost


@click.command("build")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the .so (default: DIR).",
)
@click.option(
    "--route",
    type=click.Choice(["auto", "build-sbf", "no-std", "std"]),
    default="auto",
    show_default=True,
    help="The compiler. auto: cargo build-sbf if it is installed, else Debian's.",
)
@click.option(
    "--descriptions",
    type=click.Choice(["full", "short", "none"]),
    help="Render the crate again first, with so much prose in its pages (needs the source that it was rendered from).",
)
@inputs.no_exec_option
@report.json_option
def command(
    folder: Path, out: Path | None, route: Any, descriptions: Any, as_json: bool
) -> None:
    """Compile the crate in DIR for the SVM; show the size, the rent and what list_tools costs.

    If DIR has a spec.py that is newer than the crate, or no crate yet, the crate is rendered first.
    """
    with report.progress(f"compiling {folder}") as running:
        from mcpsol_py.build import build_program

        _render(folder, descriptions, running)

        result = build_program(
            folder, route=route, out=out or folder, progress=running.step
        )
    report.emit(_document(result), _lines(result), as_json=as_json)


def _render(folder: Path, descriptions: Any, running: report.Progress) -> None:
    """Render the crate if its spec is newer, or again with other descriptions if these are given."""
    from mcpsol_py.render import is_older_than_spec, render, render_again

    is_older = is_older_than_spec(folder)
    if descriptions is None and not is_older:
        return
    running.step(f"rendering {folder}")
    if is_older and not (folder / "src").exists():
        source = inputs.load_source(str(folder / "spec.py"))
        inputs.refuse_errors(source)
        render(source.model, out=folder, descriptions=descriptions or "full")
    else:
        render_again(folder, descriptions=descriptions or "full")


def _document(result: BuildResult) -> dict[str, Any]:
    return {
        "so": str(result.so),
        "size": result.size,
        "sha256": result.sha256,
        "rent_lamports": result.rent_lamports,
        "toolchain": result.toolchain.record(),
        "list_tools": None
        if result.list_tools is None
        else _list_tools(result.list_tools),
        "seconds": round(result.seconds, 1),
        "wrong_arithmetic": [str(w) for w in result.wrong],
        "left_out": list(result.left_out),
    }


def _list_tools(cost: ListToolsCost) -> dict[str, Any]:
    schema = cost.schema
    units = {
        key: value for key, value in report.fields(cost).items() if key != "schema"
    }
    return {
        **units,
        "schema": {
            **report.fields(schema.built),
            "bytes": schema.built.bytes,
            "rent_lamports": schema.built.rent_lamports,
            "descriptions": schema.descriptions,
            "choices": {
                name: {
                    "bytes": size.bytes,
                    "rent_lamports": size.rent_lamports,
                    "pages": size.pages,
                }
                for name, size in schema.choices
            },
        },
    }


def _lines(result: BuildResult) -> list[str]:
    built = ", ".join(str(v) for v in result.toolchain.record().values())
    lines = [
        f"{result.so}: {result.size:,} bytes, {sol(result.rent_lamports)} of rent to deploy",
        f"  sha256 {result.sha256}",
        f"  built in {result.seconds:.1f} s with {built}",
    ]
    cost = result.list_tools
    if cost is None:
        lines.append("  it does not answer list_tools")
    else:
        others = (
            ""
            if cost.others is None
            else f", at most {cost.others} for the other {cost.pages - 1}"
        )
        stream = (
            ""
            if cost.stream is None
            else f", {cost.stream} for the {cost.stream_pages} of the stream"
        )
        schema = cost.schema
        lines += [
            f"  list_tools takes {cost.first} CU above the syscall's own for the first page{others}{stream}",
            f"  the schema is {schema.built.bytes:,} of the bytes, {sol(schema.built.rent_lamports)} of the rent",
        ]
        for name, size in schema.choices:
            more = size.bytes - schema.built.bytes
            here = (
                "as built"
                if name == schema.descriptions
                else f"{more:+,} bytes, {sol(size.rent_lamports)}"
            )
            lines.append(f"    --descriptions {name:<5} {here}")
    lines += [f"  translated wrong by this compiler: {w}" for w in result.wrong]
    lines += [
        f'  WARNING: {name} has code for target_os = "solana", which route no-std leaves out. The program may be '
        "broken: use another version, or `cargo build-sbf`"
        for name in result.left_out
    ]
    return lines

"""`idl2mcp attack DIR`: every attack that a spec's constraints admit, on its compiled program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.program_files import build_record, built_in, read_elf

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.attack import Report
    from mcpsol_py.model.program import ProgramModel

#: how a kind's attacks ended, in one word for the table; the worst decides
_ORDER = ("hole", "misnamed", "open", "refused", "held")


@click.command("attack")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--spec", type=click.Path(path_type=Path), help="The spec (default: DIR/spec.py).")
@click.option(
    "--so",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The program (default: the .so in DIR).",
)
@click.option(
    "--scenario",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Good calls of instructions that cannot be made up (default: attack.py beside the spec, if it is there).",
)
@click.option(
    "--only", metavar="NAME", multiple=True, help="Attack this instruction; may be given again."
)
@click.option(
    "--program-id",
    metavar="ID",
    help="Where it runs (default: as the .so's build record or the spec says).",
)
@click.option(
    "--features",
    type=click.Choice(["default", "all"]),
    help="The SVM's features (default: all for a program that was built by route std).",
)
@click.option(
    "--token-2022", is_flag=True, help="Tokens of Token-2022, for a program that takes both."
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Exit 0 also where no good call of an instruction was found.",
)
@click.option("--verbose", "-v", is_flag=True, help="Every attack with the error that it got.")
@report.json_option
def command(
    folder: Path,
    spec: Path | None,
    so: Path | None,
    scenario: Path | None,
    only: tuple[str, ...],
    program_id: str | None,
    features: str | None,
    token_2022: bool,
    allow_missing: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Attack the program in DIR (a spec.py and its .so) as strangers would, in an SVM of its own.

    From a good call of each instruction, one thing at a time is changed that a constraint speaks of: who signs, which
    account stands where, what it holds, the data. Each such call must be refused by its named error and change nothing.
    A good call is made up from the spec; where handlers want more, attack.py beside the spec gives one. Exit 1 if an
    attack succeeded, was refused by another name, or an instruction could not be attacked.
    """
    with report.progress(f"attacking {folder}") as running:
        from mcpsol_py.attack import attack_program
        from mcpsol_py.attack.run import read_scenario
        from mcpsol_py.program import Program
        from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

        built = so or built_in(folder)
        source = inputs.load_source(str(spec or folder / "spec.py"))
        elf = read_elf(built)
        record = build_record(built)
        program = Program(source.model)
        given = scenario or (spec.parent if spec is not None else folder) / "attack.py"
        calls = read_scenario(given, program) if scenario is not None or given.is_file() else None
        where = program_id or record.get("program_id")
        found = attack_program(
            program,
            elf,
            program_id=inputs.address(str(where), "--program-id") if where else None,
            scenario=calls,
            only=only,
            features=features or ("all" if record.get("route") == "std" else "default"),
            token_program=TOKEN_2022_PROGRAM if token_2022 else TOKEN_PROGRAM,
            progress=running.step,
        )
    if _is_older(elf, found.program_id, source.model, all_features=found.features == "all"):
        report.note(
            f"{built} says other things of itself than {source.how}: build it again, or the spec is not its own"
        )
    report.emit(_document(found), _lines(found, verbose), as_json=as_json)
    stood = all(r.fine for r in found.results)
    return report.OK if stood and (allow_missing or not found.not_attacked) else report.INPUT


def _is_older(elf: bytes, program_id: Pubkey, model: ProgramModel, *, all_features: bool) -> bool:
    """Does the program's own list_tools tell other instructions than the spec? (Without list_tools nobody knows.)"""
    from mcpsol_py.client.discovery import discover_sync
    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.errors import McpsolError

    transport = SvmTransport(features="all" if all_features else "default")
    transport.add_program(program_id, elf)
    try:
        told = discover_sync(transport, program_id, all_pages=True).program.model
    except McpsolError:
        return False
    return told.instructions != model.instructions


def _document(found: Report) -> dict[str, Any]:
    return {
        "program": found.program,
        "fine": found.fine,
        "attacks": [report.fields(r) for r in found.results],
        "holes": len(found.holes),
        "misnamed": len(found.misnamed),
        "unbound": found.unbound,
        "not_attacked": found.not_attacked,
        "skipped": found.skipped,
    }


def _lines(found: Report, verbose: bool) -> list[str]:
    lines: list[str] = []
    for name in found.instructions:
        lines += [name, *report.table(_rows(found, name, verbose))]
    for name, why in found.skipped.items():
        lines += [name, f"  left out by the scenario: {why}"]
    for name, why in found.not_attacked.items():
        lines += [name, f"  NOT ATTACKED, no good call was found: {why}"]
    for result in [*found.holes, *found.misnamed]:
        lines.append(f"{'HOLE' if result.verdict == 'hole' else 'OTHER ERROR'}: {result}")
    if found.unbound:
        lines.append(
            f"nothing binds (any account will do, which may be meant): {', '.join(found.unbound)}"
        )
    counts = {v: sum(r.verdict == v for r in found.results) for v in _ORDER}
    lines.append(
        f"{found.program}: {len(found.results)} attacks on {len(found.instructions)} instructions: "
        f"{counts['refused']} refused by name, {counts['held'] + counts['open']} went through as they may, "
        f"{counts['misnamed']} refused by another error, {counts['hole']} holes"
        + (f"; {len(found.not_attacked)} instructions not attacked" if found.not_attacked else "")
    )
    return lines


def _rows(found: Report, name: str, verbose: bool) -> list[list[str]]:
    """One row for each kind of attack: how many, how they ended, by which errors; or one for each attack."""
    own = [r for r in found.results if r.instruction == name]
    if verbose:
        return [
            [r.kind, f"{r.target} {r.what}", r.verdict, r.got or r.wrong or "went through"]
            for r in own
        ]
    rows: list[list[str]] = []
    for kind in dict.fromkeys(r.kind for r in own):
        of = [r for r in own if r.kind == kind]
        worst = min((r.verdict for r in of), key=_ORDER.index)
        errors = ", ".join(dict.fromkeys(r.got or "went through" for r in of))
        rows.append([kind, str(len(of)), worst, errors])
    return rows

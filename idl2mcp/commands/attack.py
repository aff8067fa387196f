"""`idl2mcp attack DIR`: attack a compiled program in every way that its spec's constraints admit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.program_files import build_record, built_in, read_elf
from mcpsol_py.errors import SourceError

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.attack import Report, Result
    from mcpsol_py.attack.scenario import Scenario
    from mcpsol_py.model.program import ProgramModel
    from mcpsol_py.program import Program

#: Verdicts; the table shows the worst of a kind's attacks.
_WORST_FIRST = ("hole", "misnamed", "open", "refused", "held")


@click.command("attack")
@click.argument(
    "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path)
)
@click.option(
    "--spec", type=click.Path(path_type=Path), help="The spec (default: DIR/spec.py)."
)
@inputs.no_exec_option
@click.option(
    "--so",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The program (default: the .so in DIR).",
)
@click.option(
    "--scenario",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Good calls that cannot be made up from the spec (default: attack.py beside the spec, if it exists).",
)
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="Attack this instruction; may be repeated.",
)
@click.option(
    "--program-id",
    metavar="ID",
    help="The program's address (default: the one of the .so's build record or of the spec).",
)
@click.option(
    "--features",
    type=click.Choice(["default", "all"]),
    help="The SVM's features (default: all for a program that was built by route std).",
)
@click.option(
    "--token-2022",
    is_flag=True,
    help="Use tokens of Token-2022, for a program that takes both.",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Exit 0 even if no good call of an instruction was found.",
)
@click.option(
    "--skeleton",
    is_flag=True,
    help="Write attack.py beside the spec: a function to complete for each instruction that needs a scenario.",
)
@click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Show every attack and the error that refused it.",
)
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
    skeleton: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Attack the program in DIR (a spec.py and its .so) as a stranger would, on a LiteSVM of its own.

    Each attack starts from a good call of an instruction and breaks one constraint: a signature, an account, an
    account's content, the data. The program must refuse it by the constraint's error, and nothing may change. Good
    calls are made up from the spec; if a handler wants more, attack.py beside the spec gives one. Exit 1 if an attack
    succeeded, if it was refused by another error, or if an instruction could not be attacked.
    """
    with report.progress(f"attacking {folder}") as running:
        from mcpsol_py.attack import attack_program
        from mcpsol_py.program import Program
        from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

        built = so or built_in(folder)
        source = inputs.load_source(str(spec or folder / "spec.py"))
        elf = read_elf(built)
        record = build_record(built)
        program = Program(source.model)
        found = attack_program(
            program,
            elf,
            program_id=_program_id(program_id, record),
            scenario=_scenario(scenario, spec or folder / "spec.py", program),
            only=only,
            features=features or _features_of(record),
            token_program=TOKEN_2022_PROGRAM if token_2022 else TOKEN_PROGRAM,
            progress=running.step,
        )
    place = spec or folder / "spec.py"
    changed = so is None and _has_changed(place, record)
    if changed or _is_older(elf, found, source.model):
        report.note(
            f"{built} was built from another spec than {source.how}: build it again, or give its own spec"
        )
    document = {**_document(found), "built_from_another_spec": changed}
    report.emit(document, _lines(found, verbose), as_json=as_json)
    if skeleton and found.not_attacked:
        _write_skeleton(place.with_name("attack.py"), program, found.not_attacked)
    withstood = all(result.fine for result in found.results) and not changed
    complete = allow_missing or not found.not_attacked
    return report.OK if withstood and complete else report.INPUT


def _has_changed(spec: Path, record: dict[str, Any]) -> bool:
    """Is the spec another one than the program was built from? False if the record does not say."""
    from mcpsol_py.build import spec_sha256

    return record.get("spec_sha256") not in (None, spec_sha256(spec))


def _write_skeleton(path: Path, program: Program, needed: dict[str, str]) -> None:
    """Write a scenario with a function for each instruction in *needed*. Raises SourceError if the file exists."""
    from mcpsol_py.attack.skeleton import skeleton_of

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(skeleton_of(program, needed))
    except FileExistsError as error:
        raise SourceError(
            "exists; --skeleton overwrites nothing", origin=str(path)
        ) from error
    report.note(f"{path}: complete its functions, then attack again")


def _program_id(given: str | None, record: dict[str, Any]) -> Pubkey | None:
    text = given or record.get("program_id")
    return inputs.address(str(text), "--program-id") if text else None


def _features_of(record: dict[str, Any]) -> str:
    return "all" if record.get("route") == "std" else "default"


def _scenario(given: Path | None, spec: Path, program: Program) -> Scenario | None:
    """Read the scenario of --scenario, or attack.py beside the spec if it exists."""
    from mcpsol_py.attack.scenario import read_scenario

    usual = spec.parent / "attack.py"
    if given is not None or usual.is_file():
        return read_scenario(given or usual, program)
    return None


def _is_older(elf: bytes, found: Report, model: ProgramModel) -> bool:
    """Does the program's own list_tools list other instructions than the spec? False without list_tools."""
    from mcpsol_py.client.discovery import discover_sync
    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.errors import McpsolError

    transport = SvmTransport(features=found.features)
    transport.add_program(found.program_id, elf)
    try:
        built = discover_sync(transport, found.program_id, all_pages=True).program.model
    except McpsolError:
        return False
    return built.instructions != model.instructions


def _document(found: Report) -> dict[str, Any]:
    return {
        "program": found.program,
        "fine": found.fine,
        "attacks": [report.fields(r) for r in found.results],
        "holes": len(found.holes),
        "misnamed": len(found.misnamed),
        "unbound": found.unbound,
        "two_roles": found.two_roles,
        "not_attacked": found.not_attacked,
        "skipped": found.skipped,
    }


def _lines(found: Report, verbose: bool) -> list[str]:
    rows = _each_attack if verbose else _by_kind
    lines: list[str] = []
    for name in found.instructions:
        own = [result for result in found.results if result.instruction == name]
        lines += [name, *report.table(rows(own))]
    for name, why in found.skipped.items():
        lines += [name, f"  left out by the scenario: {why}"]
    for name, why in found.not_attacked.items():
        lines += [name, f"  NOT ATTACKED, no good call was found: {why}"]
    lines += [f"HOLE: {result}" for result in found.holes]
    lines += [f"OTHER ERROR: {result}" for result in found.misnamed]
    if found.unbound:
        names = ", ".join(found.unbound)
        lines.append(
            f"nothing binds (any account will do, which may be meant): {names}"
        )
    if found.two_roles:
        lines.append(
            f"may be one account (which may be meant): {', '.join(found.two_roles)}"
        )
    return [*lines, _summary(found)]


def _summary(found: Report) -> str:
    counts = Counter(result.verdict for result in found.results)
    text = (
        f"{found.program}: {len(found.results)} attacks on {len(found.instructions)} instructions: "
        f"{counts['refused']} refused by name, {counts['held'] + counts['open']} went through as they may, "
        f"{counts['misnamed']} refused by another error, {counts['hole']} holes"
    )
    if found.not_attacked:
        text += f"; {len(found.not_attacked)} instructions not attacked"
    return text


def _each_attack(results: list[Result]) -> list[list[str]]:
    """Return one row for each attack."""
    return [
        [r.kind, f"{r.target} {r.what}", r.verdict, r.got or r.wrong or "went through"]
        for r in results
    ]


def _by_kind(results: list[Result]) -> list[list[str]]:
    """Return one row for each kind of attack: the number of attacks, the worst verdict, and the errors."""
    kinds: dict[str, list[Result]] = {}
    for result in results:
        kinds.setdefault(result.kind, []).append(result)
    return [
        [kind, str(len(own)), _worst(own), _errors(own)] for kind, own in kinds.items()
    ]


def _worst(results: list[Result]) -> str:
    return min((result.verdict for result in results), key=_WORST_FIRST.index)


def _errors(results: list[Result]) -> str:
    return ", ".join(dict.fromkeys(result.got or "went through" for result in results))

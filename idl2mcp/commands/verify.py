"""`idl2mcp verify SOURCE --against SOURCE` or `--lock FILE`: show differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.lock_file import Locked, Place, place_of, read_locked
from idl2mcp.program_files import built, read_elf
from mcpsol_py.schema.comparison.diff import (
    KINDS,
    Difference,
    comparable,
    differences,
    facts,
)
from mcpsol_py.solana.loader import code_sha256

if TYPE_CHECKING:
    from solders.pubkey import Pubkey


@click.command("verify")
@inputs.source_argument
@click.option("--against", metavar="SOURCE", help="The other source.")
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of `idl2mcp lock`.",
)
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="A kind of difference that does not count; may be repeated.",
)
@inputs.chain_options
@report.json_option
def command(
    source: str,
    against: str | None,
    lock_file: Path | None,
    ignore: tuple[str, ...],
    chain: inputs.Chain,
    as_json: bool,
) -> int:
    """Compare SOURCE with another source or with a lock file. Show each difference by its kind; exit 1 if there is one.

    The compiled code of a .so and of a deployed program is compared too. With --lock, SOURCE must be the locked program
    in every part of its schema; with --url, its deployment, cluster and code must be the locked ones. Exit 4 if nothing
    differs, but code or a deployment could not be compared.
    """
    if (against is None) == (lock_file is None):
        raise click.UsageError("give one of --against SOURCE and --lock FILE.")
    if against is not None:
        return _against(source, against, ignore, chain, as_json)
    assert lock_file is not None
    return _locked(source, lock_file, ignore, chain, as_json)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of comparing compiled code or a deployment. `why_not`: why it could not be compared, or ""."""

    rows: list[Difference]
    why_not: str = ""


def _against(
    source: str,
    against: str,
    ignore: tuple[str, ...],
    chain: inputs.Chain,
    as_json: bool,
) -> int:
    with report.progress(f"reading {source}") as running:
        first = inputs.load_source(source, chain)
        running.step(f"reading {against}")
        second = inputs.load_source(against, chain)
        left, right = comparable(first.model, second.model)
        drift = differences(facts(left), facts(right), ignore)
        code = _Compared([])
        if "code" not in ignore:
            code = _compare_code(_code_of(source, first), _code_of(against, second))
    drift += code.rows
    behind = first.model.facade_of or second.model.facade_of
    lines = [f"through a facade of {behind}"] if behind is not None else []
    lines += _lines(drift, source, against)
    document = {
        "same": not drift and not code.why_not,
        "facade_of": behind,
        "not_compared": code.why_not or None,
        "kinds": _by_kind(drift),
        "differences": _rows(drift),
    }
    return _report(document, lines, drift, code.why_not, as_json)


def _report(
    document: dict[str, Any],
    lines: list[str],
    drift: list[Difference],
    why_not: str,
    as_json: bool,
) -> int:
    """Print the result and return the exit code: a difference counts before what could not be compared."""
    if why_not:
        report.note(f"not compared: {why_not}")
    report.emit(document, lines, as_json=as_json)
    if drift:
        return report.INPUT
    return report.NOT_COMPARED if why_not else report.OK


def _code_of(name: str, source: inputs.Source) -> str | None:
    """Return the hash of a source's compiled code; "" if it cannot be read, None for a source without code."""
    if source.kind == "so":
        return code_sha256(read_elf(built(Path(name))))
    if source.kind != "chain" or source.url is None or source.program_id is None:
        return None
    place = _place(source.url, source.program_id)
    return "" if place is None else place.code


def _compare_code(left: str | None, right: str | None) -> _Compared:
    """Compare the code of two sources. Only a .so and a deployed program have code."""
    if left is None or right is None:
        return _Compared([])
    if not left or not right:
        return _Compared(
            [], "the code, because the node shows no deployed program at the address"
        )
    if left == right:
        return _Compared([])
    row = Difference("code", f"sha256 {left}", f"sha256 {right}", "code")
    return _Compared([row])


def _locked(
    source: str,
    lock_file: Path,
    ignore: tuple[str, ...],
    chain: inputs.Chain,
    as_json: bool,
) -> int:
    with report.progress(f"reading {source}") as running:
        locked = read_locked(lock_file)
        running.step("looking at the deployment")
        # before the schema, so that a deployment in between is noticed
        deployment = _compare_deployment(locked, lock_file, chain)
        loaded = inputs.load_source(source, chain)
        changed = locked.schema_changes(loaded.model, inputs.program_id_of(loaded))
        if deployment.why_not:
            code = _code_of(source, loaded) if loaded.kind == "so" else None
            deployment.rows.extend(_compare_code(code, _locked_code(locked)).rows)
    moved = [row for row in deployment.rows if row.kind not in ignore]
    changed = [row for row in changed if row.kind not in ignore]
    why_not = "" if "redeployed" in ignore else deployment.why_not
    lines = _lines(moved + changed, source, str(lock_file))
    lines[-1] = _HEADLINES[bool(moved), bool(changed)] + lines[-1]
    document = {
        "same": not moved and not changed and not why_not,
        "redeployed": None
        if locked.deployed is None or deployment.why_not
        else bool(moved),
        "schema_changed": bool(changed),
        "not_compared": why_not or None,
        "kinds": _by_kind(moved + changed),
        "differences": _rows(moved + changed),
    }
    return _report(document, lines, moved + changed, why_not, as_json)


#: (redeployed, schema changed) -> the beginning of the last line
_HEADLINES = {
    (True, True): "redeployed, and the schema changed: ",
    (True, False): "redeployed; the schema is the same: ",
    (False, True): "the schema changed: ",
    (False, False): "",
}


def _place(url: str, program_id: Pubkey) -> Place | None:
    from mcpsol_py.client.transport import run

    with inputs.endpoint_at(url) as transport:
        return run(place_of(transport, program_id))


def _locked_code(locked: Locked) -> str | None:
    return None if locked.deployed is None else locked.deployed.code


def _compare_deployment(
    locked: Locked, lock_file: Path, chain: inputs.Chain
) -> _Compared:
    """Compare the current deployment with the locked one."""
    if locked.deployed is None:
        return _Compared([])
    if chain.url is None:
        why = f"{lock_file} was locked with its deployment, which was not looked at: give --url"
        return _Compared([], why)
    before = locked.deployed
    now = _place(chain.url, inputs.address(before.program_id, str(lock_file)))
    if now is None:
        return _Compared(
            [Difference("deployed", "no program", f"slot {before.slot}", "redeployed")]
        )
    rows = locked.cluster_changes(now.cluster)
    if now.slot != before.slot:
        rows.append(
            Difference("deployed.slot", str(now.slot), str(before.slot), "redeployed")
        )
    code = _compare_code(now.code, before.code).rows
    if now.slot != before.slot:
        code = [replace(row, kind="redeployed") for row in code]
    return _Compared(rows + code)


def _lines(drift: list[Difference], left: str, right: str) -> list[str]:
    lines = [
        f"{d.kind}: {d.path}: {left} says {d.left}, {right} says {d.right}"
        for d in drift
    ]
    last = report.count(len(drift), "difference") if drift else "no difference"
    kinds = ", ".join(f"{count} {kind}" for kind, count in _by_kind(drift).items())
    return [*lines, f"{last}: {kinds}." if len(drift) > 1 else f"{last}."]


def _by_kind(drift: list[Difference]) -> dict[str, int]:
    """Return how many differences there are of each kind, the most frequent first."""
    return dict(Counter(row.kind for row in drift).most_common())


def _rows(drift: list[Difference]) -> list[dict[str, Any]]:
    return [
        {"kind": d.kind, "path": d.path, "left": d.left, "right": d.right}
        for d in drift
    ]

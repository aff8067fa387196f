"""`idl2mcp verify SOURCE --against SOURCE` or `--lock FILE`: show differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.lock_file import Place, place_of, read_locked
from idl2mcp.program_files import built, read_elf
from idl2mcp.schema_diff import KINDS, Difference, comparable, differences, facts

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

    For a .so and a program id, the compiled bytes are compared too. With --lock and --url, a deployment after the lock
    is a difference.
    """
    if (against is None) == (lock_file is None):
        raise click.UsageError("give one of --against SOURCE and --lock FILE.")
    if against is not None:
        return _against(source, against, ignore, chain, as_json)
    assert lock_file is not None
    return _locked(source, lock_file, ignore, chain, as_json)


def _against(
    source: str, against: str, ignore: tuple[str, ...], chain: inputs.Chain, as_json: bool
) -> int:
    with report.progress(f"reading {source}") as running:
        first = inputs.load_source(source, chain)
        running.step(f"reading {against}")
        second = inputs.load_source(against, chain)
        left, right = comparable(first.model, second.model)
        drift = differences(facts(left), facts(right), ignore)
        if "code" not in ignore:
            drift += _code(source, first, against, second)
    behind = first.model.facade_of or second.model.facade_of
    lines = [f"through a facade of {behind}"] if behind is not None else []
    lines += _lines(drift, source, against)
    report.emit(
        {"same": not drift, "facade_of": behind, "differences": _rows(drift)},
        lines,
        as_json=as_json,
    )
    return report.INPUT if drift else report.OK


def _code(
    source: str, first: inputs.Source, against: str, second: inputs.Source
) -> list[Difference]:
    """Compare the bytes of a .so and a deployed program. Other kinds of sources have no bytes to compare."""
    import hashlib

    from mcpsol_py.client.loader import deployment
    from mcpsol_py.client.transport import run

    sides = {side.kind: (name, side) for name, side in ((source, first), (against, second))}
    if set(sides) != {"so", "chain"}:
        return []
    (name, _), (_, deployed) = sides["so"], sides["chain"]
    elf = read_elf(built(Path(name)))
    assert deployed.url is not None
    assert deployed.program_id is not None
    with inputs.endpoint_at(deployed.url) as transport:
        found = run(deployment(transport, deployed.program_id))
    if found is None or found.holds(elf):
        return []
    on_chain = hashlib.sha256(found.data.rstrip(b"\0")).hexdigest()
    hashes = {
        "so": "sha256 " + hashlib.sha256(elf).hexdigest(),
        "chain": f"sha256 {on_chain} (without zeros at its end)",
    }
    return [Difference("code", hashes[first.kind], hashes[second.kind], "code")]


def _locked(
    source: str, lock_file: Path, ignore: tuple[str, ...], chain: inputs.Chain, as_json: bool
) -> int:
    with report.progress(f"reading {source}") as running:
        locked = read_locked(lock_file)
        redeployed: list[Difference] | None = None
        if locked.deployed is not None and chain.url is not None:
            running.step("looking at the deployment")
            # before its schema, so that a deployment in between is noticed
            program_id = inputs.address(locked.deployed.program_id, str(lock_file))
            redeployed = _redeployed(_place(chain.url, program_id), locked.deployed)
        now = facts(inputs.load_source(source, chain).model)
        changed = differences(now, locked.facts, ignore)
    if locked.deployed is not None and redeployed is None:
        report.note(
            f"{lock_file} was locked with its deployment, which was not looked at: give --url."
        )
    moved = [] if "redeployed" in ignore else redeployed or []
    drift = moved + changed
    lines = _lines(drift, source, str(lock_file))
    lines[-1] = _HEADLINES[bool(moved), bool(changed)] + lines[-1]
    document = {
        "same": not drift,
        "redeployed": None if redeployed is None else bool(moved),
        "schema_changed": bool(changed),
        "differences": _rows(drift),
    }
    report.emit(document, lines, as_json=as_json)
    return report.INPUT if drift else report.OK


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


def _redeployed(now: Place | None, locked: Place) -> list[Difference]:
    """Compare the deployment with the locked one: the first difference, if any."""
    if now is None:
        return [Difference("deployed", "no program", f"slot {locked.slot}", "redeployed")]
    for name, left, right in (
        ("cluster", now.cluster, locked.cluster),
        ("slot", now.slot, locked.slot),
    ):
        if left != right:
            return [Difference(f"deployed.{name}", str(left), str(right), "redeployed")]
    return []


def _lines(drift: list[Difference], left: str, right: str) -> list[str]:
    lines = [f"{d.kind}: {d.path}: {left} says {d.left}, {right} says {d.right}" for d in drift]
    last = report.count(len(drift), "difference") if drift else "no difference"
    return [*lines, f"{last}."]


def _rows(drift: list[Difference]) -> list[dict[str, Any]]:
    return [{"kind": d.kind, "path": d.path, "left": d.left, "right": d.right} for d in drift]

"""`idl2mcp lock SOURCE --out FILE`: record a program as accepted."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.lock_file import Place, lock_document, place_of, read_locked
from mcpsol_py.errors import NoProgram, SourceError, abbr


@click.command("lock")
@inputs.source_argument
@click.option(
    "--out", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path)
)
@click.option(
    "--accept",
    is_flag=True,
    help="Replace a lock of another program. Review the differences first.",
)
@inputs.chain_options
@report.json_option
def command(
    source: str, out: Path, accept: bool, chain: inputs.Chain, as_json: bool
) -> None:
    """Record SOURCE as accepted: `verify --lock` and `serve --lock` then refuse a schema that has changed.

    The lock has the whole schema and the program's id. With --url it also has the cluster, the slot of the program's
    last deployment and the hash of its code. An existing lock file is replaced only if it has the same schema, id and
    cluster, or with --accept.
    """
    with report.progress(f"reading {source}") as running:
        loaded, place = _load(source, chain, running)
        document = lock_document(
            loaded.model, loaded.how, place, program_id=inputs.program_id_of(loaded)
        )
        if out.exists() and not accept:
            _refuse_change(source, out, loaded, place)
    report.write_whole(out, (report.as_json_text(document) + "\n").encode())
    report.emit(
        {
            "out": str(out),
            "sha256": document["sha256"],
            "deployed": document["deployed"],
        },
        f"{out}: {loaded.model.name}, sha256 {document['sha256']}{_slot(place)}",
        as_json=as_json,
    )


def _load(
    source: str, chain: inputs.Chain, running: report.Progress
) -> tuple[inputs.Source, Place | None]:
    """Load the program, and look its deployment up if there is a URL."""
    if chain.url is None:
        return inputs.load_source(source, chain), None
    place = None
    if inputs.names_an_id(source):
        # before its schema, so that a deployment in between is noticed later
        place = _place(chain.url, source)
    loaded = inputs.load_source(source, chain)
    if place is None and loaded.program_id is not None:
        running.step("looking at the deployment")
        place = _place(chain.url, str(loaded.program_id))
    if place is None and loaded.kind == "chain":
        from mcpsol_py.client.rpc import redact

        raise NoProgram(
            str(loaded.program_id),
            redact(chain.url),
            "The node describes the program and does not show it, so there is nothing to lock. Ask another node",
        )
    if place is None:
        report.note(
            f"no deployment of {source} was found at the URL: its cluster, slot and code are not locked."
        )
    return loaded, place


def _slot(place: Place | None) -> str:
    return (
        f", deployed in slot {place.slot:,}" if place and place.slot is not None else ""
    )


def _refuse_change(
    source: str, out: Path, now: inputs.Source, place: Place | None
) -> None:
    """Raise SourceError if *out* is not a lock file, or locks another program."""
    try:
        before = read_locked(out)
    except SourceError as error:
        raise SourceError(
            f"{error.text}. With --accept it is written over", origin=str(out)
        ) from error
    cluster = (
        "unknown, because no deployment was found" if place is None else place.cluster
    )
    rows = before.schema_changes(now.model, inputs.program_id_of(now))
    rows += before.cluster_changes(cluster)
    if rows:
        first, many = rows[0], report.count(len(rows), "difference")
        raise SourceError(
            f"it locks another schema or place: {many}, first {first.path}: now {abbr(first.left)}, "
            f"locked {abbr(first.right)}. "
            f"See all with `idl2mcp verify {source} --lock {out}`; with --accept it is written over",
            origin=str(out),
        )


def _place(url: str, program_id: str) -> Place | None:
    from mcpsol_py.client.transport import run

    with inputs.endpoint_at(url) as transport:
        return run(place_of(transport, inputs.address(program_id, "SOURCE")))

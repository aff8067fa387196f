"""`idl2mcp lock SOURCE --out FILE`: what was accepted."""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.schema_diff import Place, differences, lock_document, place_of, read_locked
from mcpsol_py.errors import SourceError, abbr


@click.command("lock")
@inputs.source_argument
@click.option("--out", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--accept",
    is_flag=True,
    help="Write over a lock that says something else: you have looked at it.",
)
@inputs.chain_options
@report.json_option
def command(source: str, out: Path, accept: bool, chain: inputs.Chain, as_json: bool) -> None:
    """Remember SOURCE as accepted: `verify --lock` and `serve --lock` then refuse a schema that has changed.

    A lock file that is there already is written over only if its schema is the same, or with --accept. With --url the
    slot of the program's last deployment is remembered too, and `verify --lock` says when it was deployed anew.
    """
    with report.progress(f"reading {source}") as running:
        place = None
        if chain.url is not None and inputs.names_an_id(source):
            place = _place(
                chain.url, source
            )  # before its schema: a deployment in between then shows
        loaded = inputs.load_source(source, chain)
        if chain.url is not None and place is None and loaded.program_id is not None:
            running.step("looking at the deployment")
            place = _place(chain.url, str(loaded.program_id))
        if chain.url is not None and place is None:
            report.note(f"no deployment of {source} was found at the URL: its slot is not locked.")
        document = lock_document(loaded.model, loaded.how, place)
        if out.exists() and not accept:
            _refuse_change(source, out, document["facts"])
    report.write_whole(out, (report.as_json_text(document) + "\n").encode())
    where = (
        f", deployed in slot {place.slot:,}" if place is not None and place.slot is not None else ""
    )
    report.emit(
        {"out": str(out), "sha256": document["sha256"], "deployed": document["deployed"]},
        f"{out}: {loaded.model.name}, sha256 {document['sha256']}{where}",
        as_json=as_json,
    )


def _refuse_change(source: str, out: Path, now: dict[str, str]) -> None:
    """Raises SourceError where *out* is no lock, or one of another schema."""
    try:
        drift = differences(now, read_locked(out).facts)
    except SourceError as error:
        raise SourceError(
            f"{error.text}. With --accept it is written over", origin=str(out)
        ) from error
    if drift:
        first, many = drift[0], f"{len(drift)} difference{'' if len(drift) == 1 else 's'}"
        raise SourceError(
            f"it locks another schema: {many}, first {first.path}: now {abbr(first.left)}, locked {abbr(first.right)}. "
            f"See all with `idl2mcp verify {source} --lock {out}`; with --accept it is written over",
            origin=str(out),
        )


def _place(url: str, program_id: str) -> Place | None:
    from mcpsol_py.client.transport import run

    with inputs.endpoint_at(url) as transport:
        return run(place_of(transport, inputs.address(program_id, "SOURCE")))

"""`idl2mcp catalog …`: a catalogue of programs: add, import, search, show, diff and export."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from mcpsol_py.utc import time_of

if TYPE_CHECKING:
    from mcpsol_py.catalog import Catalog, Hit
    from mcpsol_py.catalog.records import (
        Conflict,
        NewVersion,
        ProgramRow,
        Recorded,
        VersionRow,
    )

_FAULTS_SHOWN = 20
_PATHS_SHOWN = 3


@click.group("catalog")
def command() -> None:
    """A catalogue of programs: find one by what it does, see its versions, and serve all of them (serve --catalog)."""


def _catalog_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--catalog",
        "place",
        metavar="FILE|URL",
        envvar="IDL2MCP_CATALOG",
        default="catalog.db",
        show_default=True,
        help="A SQLite file, or the URL of a PostgreSQL database (also $IDL2MCP_CATALOG).",
    )(report.json_option(function))


@command.command("add")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@inputs.url_option()
@inputs.no_exec_option
@_catalog_option
def add(sources: tuple[str, ...], url: str | None, place: str, as_json: bool) -> None:
    """Add programs. Faulty sources are listed, and the others are added.

    SOURCE is a folder of IDL files, or what other commands take: an IDL, a Python spec, a compiled program, the name of
    a bundled one, or a program id with --url. No spec of a folder is run.
    """
    from mcpsol_py.catalog import Catalog

    chain = inputs.Chain(url=inputs.endpoint(url) if url else None)
    files = [text for text in sources if _is_document(text)]
    with report.progress("adding programs"), Catalog.open(place) as catalog:
        done = catalog.add(files)
        for text in sources:
            if text not in files:
                _add_source(catalog, text, chain, done)
    _show_recorded(done, as_json=as_json)


def _is_document(text: str) -> bool:
    """Return whether SOURCE is a folder or an IDL file, which nobody runs."""
    return Path(text).suffix in (".json", ".ts") or Path(text).is_dir()


def _add_source(
    catalog: Catalog, text: str, chain: inputs.Chain, done: Recorded
) -> None:
    from mcpsol_py.errors import NoProgram, NoSchema, SourceError

    try:
        found = catalog.record([_version_of(text, chain)])
    except (SourceError, NoProgram, NoSchema) as error:
        fault = {text: str(error)}
        catalog.records.record_faults(fault)
        done.faults |= fault
        return
    done.added += found.added
    done.unchanged += found.unchanged


def _version_of(text: str, chain: inputs.Chain) -> NewVersion:
    """Return the version that SOURCE is."""
    from mcpsol_py.catalog.records import NewVersion
    from mcpsol_py.catalog.seeds import seed_of

    if inputs.names_an_id(text):
        return _version_at(text, chain)
    source = inputs.load_source(text, chain)
    address = inputs.program_id_of(source)
    return seed_of(text) or NewVersion(
        source.model, "file", source.how, address=address
    )


def _version_at(program_id: str, chain: inputs.Chain) -> NewVersion:
    """Return what the chain has of a program."""
    from mcpsol_py.catalog.records import NewVersion
    from mcpsol_py.client.discovery import discover_sync
    from mcpsol_py.client.loader import deployment_mark
    from mcpsol_py.client.transport import run

    if chain.url is None:
        raise click.UsageError(
            f"{program_id} is a program id. Add --url to say which cluster it is deployed on."
        )
    key = inputs.address(program_id, "SOURCE")
    with inputs.endpoint_at(chain.url) as transport:
        found = discover_sync(transport, key)
        return NewVersion.discovered(
            found, program_id, run(deployment_mark(transport, key)).slot
        )


@command.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--sha256", metavar="HASH", help="The hash that the file must have.")
@_catalog_option
def import_(file: Path, sha256: str | None, place: str, as_json: bool) -> None:
    """Add the versions of an exported FILE (.jsonl or .parquet)."""
    from mcpsol_py.catalog import Catalog
    from mcpsol_py.catalog.exchange import import_file

    with report.progress(f"importing {file}"), Catalog.open(place) as catalog:
        done = import_file(catalog, file, sha256)
    _show_recorded(done, as_json=as_json)


@command.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_catalog_option
def export(file: Path, place: str, as_json: bool) -> None:
    """Write all versions to FILE (.jsonl or .parquet), and print its SHA-256."""
    from mcpsol_py.catalog import Catalog, exchange

    if file.suffix not in (".jsonl", ".parquet"):
        raise click.BadParameter(
            f"expected a .jsonl or .parquet file, got {file.name!r}."
        )
    with Catalog.open(place) as catalog:
        count, sha256 = exchange.export(catalog, file)
    text = f"{file}: {report.count(count, 'version')}, sha256 {sha256}"
    report.emit(
        {"file": str(file), "versions": count, "sha256": sha256}, text, as_json=as_json
    )


@command.command("crawl")
@click.option(
    "--url",
    "-u",
    "urls",
    metavar="URL",
    envvar="IDL2MCP_URL",
    required=True,
    multiple=True,
    help="JSON-RPC endpoint, or localhost, devnet, testnet, mainnet (also $IDL2MCP_URL). Several share the work.",
)
@click.option(
    "--at-once",
    default=8,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Programs that this process reads together at each endpoint.",
)
@click.option(
    "--per-second",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    help="Requests that an endpoint gets in a second at most, from all processes of this machine: once for all "
    "endpoints, or once for each --url.",
)
@click.option(
    "--worker",
    is_flag=True,
    help="With PostgreSQL: only take jobs that another process listed; it waits a minute for the first.",
)
@_catalog_option
def crawl(
    urls: tuple[str, ...],
    at_once: int,
    per_second: tuple[float, ...],
    worker: bool,
    place: str,
    as_json: bool,
) -> None:
    """Read the schema of every program of a chain that was deployed since the last crawl.

    With SQLite the jobs run in this process. With PostgreSQL they are in a queue, and any number of machines take them.
    """
    import asyncio

    from mcpsol_py.catalog import Catalog
    from mcpsol_py.catalog.crawl import Crawl
    from mcpsol_py.catalog.crawl_queue import run_crawl

    shown = _Every(5.0)

    async def run(catalog: Catalog) -> dict[str, Any]:
        crawling = Crawl(
            catalog,
            list(map(inputs.endpoint, urls)),
            at_once=at_once,
            per_second=per_second or None,
            report=lambda progress: shown.note(progress.text()),
        )
        try:
            queued = catalog.database_url.startswith("postgresql")
            done = await (
                run_crawl(crawling, lists=not worker, patience=60)
                if queued
                else crawling.run()
            )
        finally:
            await crawling.close()
        counts = report.fields(done)
        del counts["started"]  # of this process's own clock
        return {"text": done.text(), **counts}

    with Catalog.open(place, indexed=False) as catalog:
        result = asyncio.run(run(catalog))
        if not worker:
            catalog.refresh()
    report.emit(result, result["text"], as_json=as_json)


class _Every:
    """Notes for people, at most one in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._next = seconds, 0.0

    def note(self, text: str) -> None:
        import time

        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            report.note(text)


@command.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100))
@_catalog_option
def search(words: tuple[str, ...], limit: int, place: str, as_json: bool) -> None:
    """Find instructions by what they do, in your words. Each hit says why it was found."""
    from mcpsol_py.catalog import Catalog

    question = " ".join(words)
    with Catalog.open(place) as catalog:
        hits = catalog.search(question, limit)
    document = {"question": question, "hits": list(map(dataclasses.asdict, hits))}
    none = "No program of the catalogue fits. Other words may, or the program is not in it."
    report.emit(document, list(map(_hit_line, hits)) or none, as_json=as_json)


@command.command("show")
@click.argument("program")
@_catalog_option
def show(program: str, place: str, as_json: bool) -> None:
    """Show PROGRAM (an address, a key or a name): its versions, their lint, and conflicts between sources."""
    from mcpsol_py.catalog import Catalog

    with Catalog.open(place) as catalog:
        row = catalog.records.program(program)
        found = catalog.records.conflicts(row)
    document = {
        **_program_facts(row),
        "versions": list(map(dataclasses.asdict, row.versions)),
        "conflicts": [[one.preferred.id, one.other.id] for one in found],
    }
    callable_at = row.address or "no address is known, so it cannot be called"
    lines = [f"{row.name} ({callable_at})", *map(_version_line, row.versions)]
    lines += list(map(_conflict_line, found))
    report.emit(document, lines, as_json=as_json)


@command.command("diff")
@click.argument("program")
@click.argument("older", required=False)
@click.argument("newer", required=False)
@_catalog_option
def diff(
    program: str, older: str | None, newer: str | None, place: str, as_json: bool
) -> None:
    """Compare two versions of PROGRAM, named by the start of their hashes; by default the last two."""
    from mcpsol_py.catalog import Catalog
    from mcpsol_py.schema.comparison.diff import differences
    from mcpsol_py.schema.comparison.facts import comparable, facts

    with Catalog.open(place) as catalog:
        row = catalog.records.program(program)
        newest_first = row.versions
        left = _chosen(newest_first, older, newest_first[min(1, len(newest_first) - 1)])
        right = _chosen(newest_first, newer, newest_first[0])
        models = comparable(catalog.records.model(left), catalog.records.model(right))
    found = differences(*map(facts, models))
    document = {
        "older": left.hash,
        "newer": right.hash,
        "differences": list(map(report.fields, found)),
    }
    lines = [f"{one.path}: {one.left} -> {one.right}" for one in found]
    report.emit(document, lines or "no differences", as_json=as_json)


@command.command("list")
@click.argument("words", nargs=-1)
@_catalog_option
def list_(words: tuple[str, ...], place: str, as_json: bool) -> None:
    """List the programs, or those whose names have WORDS."""
    from mcpsol_py.catalog import Catalog

    with Catalog.open(place) as catalog:
        rows = catalog.records.programs(words="".join(words))
        faults = catalog.faults
    lines = [
        f"{row.name}  {row.address or 'no address'}  {report.count(len(row.versions), 'version')}"
        for row in rows
    ]
    document = {"programs": list(map(_program_facts, rows)), "faults": faults}
    report.emit(document, lines or "the catalogue is empty", as_json=as_json)


# --- texts -----------------------------------------------------------------------------------------------------------


def _show_recorded(done: Recorded, *, as_json: bool) -> None:
    document = {"added": done.added, "unchanged": done.unchanged, "faults": done.faults}
    lines = [
        f"added {report.count(len(done.added), 'version')}, {len(done.unchanged)} unchanged"
    ]
    faults = list(done.faults.items())
    lines += [f"not added: {name}: {why}" for name, why in faults[:_FAULTS_SHOWN]]
    if len(faults) > _FAULTS_SHOWN:
        lines.append(f"and {len(faults) - _FAULTS_SHOWN} more, see --json")
    report.emit(document, lines, as_json=as_json)
    if faults and not (done.added or done.unchanged):
        click.get_current_context().exit(1)


def _hit_line(hit: Hit) -> str:
    place = hit.address or "no address"
    return f"{hit.score:.3f}  {hit.program}.{hit.instruction}  ({place}, {hit.source})  {'; '.join(hit.why)}"


def _program_facts(row: ProgramRow) -> dict[str, Any]:
    return {"key": row.key, "name": row.name, "address": row.address}


def _version_line(row: VersionRow) -> str:
    lint = row.lint or {}
    problems = f"{lint.get('errors', '?')} errors, {lint.get('warnings', '?')} warnings"
    first = "?" if row.first_slot is None else str(row.first_slot)
    last = "now" if row.last_slot is None else str(row.last_slot)
    return (
        f"  {row.hash[:12]}  {row.source}  slots {first} to {last}  {row.instructions} instructions  "
        f"lint: {problems}  seen {time_of(row.seen_ms)}  {row.origin}"
    )


def _conflict_line(conflict: Conflict) -> str:
    one, other = conflict.preferred, conflict.other
    places = ", ".join(conflict.paths[:_PATHS_SHOWN])
    return (
        f"conflict: {one.source} ({one.hash[:12]}) and {other.source} ({other.hash[:12]}) differ at "
        f"the same time in {places}; {one.source} counts"
    )


def _chosen(
    rows: tuple[VersionRow, ...], start: str | None, default: VersionRow
) -> VersionRow:
    if start is None:
        return default
    found = [row for row in rows if row.hash.startswith(start)]
    if len(found) != 1:
        known = ", ".join(row.hash[:12] for row in rows)
        raise click.BadParameter(
            f"expected the start of one of {known}, got {start!r}."
        )
    return found[0]

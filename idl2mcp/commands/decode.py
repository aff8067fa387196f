"""`idl2mcp decode [SOURCE] WHAT`: explain transactions, signatures or instruction data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from idl2mcp import inputs, report
from idl2mcp.chain_programs import ChainPrograms, opened
from idl2mcp.decode_files import Output, decode_files, output_options
from idl2mcp.decode_text import TextReader
from idl2mcp.json_input import text_value


@click.command("decode")
@inputs.optional_source_argument
@click.argument("what", metavar="WHAT...", nargs=-1)
@output_options
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(
    source: str,
    what: tuple[str, ...],
    chain: inputs.Chain,
    as_json: bool,
    **output: Any,
) -> int | None:
    """Explain WHAT by SOURCE's schema: a transaction (base64 or base58), the signature of one, or instruction data.

    Data is hex, "base64:…" or base58. A transaction may be JSON of getTransaction or getBlock too. WHAT may be @file,
    or - for stdin, with one of these or one in each line. A signature needs --url.

    Without SOURCE, each program that a transaction calls is read by the schema that it has on the chain (--url).

    With --format, WHAT are files, folders or patterns, or - for stdin: JSON of getTransaction, getBlock or
    getProgramAccounts, a document in a file or in each line. Their rows go to --out.

    Text shows names for addresses that have one; --json keeps the addresses.
    """
    if output["form"] is not None:
        if not what:
            raise click.UsageError("--format needs SOURCE and WHAT.")
        return decode_files(
            inputs.load_source(source, chain), what, Output(**output), as_json
        )
    if len(what) > 1 or output["out"] is not None:
        raise click.UsageError(
            "several WHAT and --out need --format jsonl or --format parquet."
        )
    if not what:
        return _explain(None, source, chain, as_json)
    return _explain(source, what[0], chain, as_json)


def _explain(source: str | None, what: str, chain: inputs.Chain, as_json: bool) -> int:
    from mcpsol_py.client.transport import run

    text = text_value(what, "WHAT").strip()
    with report.progress("decoding"), _reader(source, chain) as reader:
        found = run(reader.read(text))
    report.emit(
        found, reader.programs.book.named(report.as_json_text(found)), as_json=as_json
    )
    failed = any(
        "error" in row and len(row) == 1 for row in found.get("transactions", ())
    )
    return report.INPUT if failed else report.OK


@contextmanager
def _reader(source: str | None, chain: inputs.Chain) -> Iterator[TextReader]:
    if source is None:
        with opened(chain) as programs:
            yield TextReader(None, programs)
        return
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.transport import run

    loaded = inputs.load_source(source, chain)
    transport = inputs.transport_of(loaded, blocking=True)
    served = ServedProgram(
        loaded.program,
        loaded.program_id,
        transport,
        loaded.how,
        versions=loaded.versions,
    )
    try:
        yield TextReader(served, ChainPrograms(transport, inputs.book_of(loaded)))
    finally:
        if transport is not None:
            run(transport.close())

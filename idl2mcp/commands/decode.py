"""`idl2mcp decode SOURCE WHAT`: explain a transaction, a signature or instruction data."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from idl2mcp.decode_files import Output, decode_files, output_options
from idl2mcp.json_input import text_value
from mcpsol_py.errors import DecodeError

if TYPE_CHECKING:
    from mcpsol_py.calls.prepare import ServedProgram


@click.command("decode")
@inputs.source_argument
@click.argument("what", metavar="WHAT...", nargs=-1, required=True)
@output_options
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(
    source: str, what: tuple[str, ...], chain: inputs.Chain, as_json: bool, **output: Any
) -> int | None:
    """Explain WHAT by SOURCE's schema: a transaction (base64 or base58), the signature of one, or instruction data.

    Data is hex, "base64:…" or base58. WHAT may be @file, or - for stdin. A signature needs --url.

    With --format, WHAT are files, folders or patterns, or - for stdin: JSON of getTransaction, getBlock or
    getProgramAccounts, a document in a file or in each line. Their rows go to --out.

    Text shows names for addresses that have one; --json keeps the addresses.
    """
    if output["form"] is not None:
        return decode_files(inputs.load_source(source, chain), what, Output(**output), as_json)
    if len(what) > 1 or output["out"] is not None:
        raise click.UsageError("several WHAT and --out need --format jsonl or --format parquet.")
    _explain(source, what[0], chain, as_json)
    return None


def _explain(source: str, what: str, chain: inputs.Chain, as_json: bool) -> None:
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.transport import run

    text = text_value(what, "WHAT").strip()
    with report.progress("decoding"):
        loaded = inputs.load_source(source, chain)
        transport = inputs.transport_of(loaded, blocking=True)
        served = ServedProgram(
            loaded.program, loaded.program_id, transport, loaded.how, versions=loaded.versions
        )
        try:
            found = run(_decoded(served, text))
        finally:
            if transport is not None:
                run(transport.close())
    named = inputs.book_of(loaded).named(report.as_json_text(found))
    report.emit(found, named, as_json=as_json)


async def _decoded(served: ServedProgram, text: str) -> dict[str, Any]:
    from mcpsol_py.calls import transaction_reading as reading

    if _is_signature(text):
        if served.transport is None:
            raise click.UsageError("A signature needs a chain: --url URL.")
        return await reading.decode_signature([served], served.transport, text)
    with suppress(DecodeError):
        return await reading.decode_transaction([served], text, served.transport)
    return reading.decode_raw([served], reading.data_of(text, "WHAT"))


def _is_signature(text: str) -> bool:
    from solders.signature import Signature

    try:
        Signature.from_string(text)
    except ValueError:
        return False
    return True

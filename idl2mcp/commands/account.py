"""`idl2mcp account SOURCE ADDRESS`: read one account of a program."""

from __future__ import annotations

import click

from idl2mcp import inputs, report


@click.command("account")
@inputs.source_argument
@click.argument("address", metavar="ADDRESS")
@click.option("--type", "kind", metavar="NAME", help="The account type (default: by its data).")
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(
    source: str, address: str, kind: str | None, chain: inputs.Chain, as_json: bool
) -> None:
    """Read the account at ADDRESS and decode it by SOURCE's schema. "@name" works on the local cluster."""
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.calls.reading import read_account
    from mcpsol_py.client.transport import run

    with report.progress(f"reading {address}"):
        loaded = inputs.load_source(source, chain)
        transport = inputs.transport_of(loaded, blocking=True)
        if transport is None:
            raise click.UsageError(
                "account needs a chain: --url URL, or --ledger FILE of a local cluster."
            )
        served = ServedProgram(loaded.program, loaded.program_id, transport, loaded.how)
        named = inputs.book_of(loaded).address(address)
        key = inputs.address(named, "ADDRESS")
        try:
            found = run(read_account(served, kind, key, room=None))
        finally:
            run(transport.close())
    report.emit(found, report.as_json_text(found), as_json=as_json)

"""`idl2mcp account [SOURCE] ADDRESS`: read one account."""

from __future__ import annotations

from typing import Any

import click

from idl2mcp import inputs, report
from idl2mcp.chain_programs import opened
from mcpsol_py.solana.address_book import AddressBook


@click.command("account")
@inputs.optional_source_argument
@click.argument("address", metavar="ADDRESS", required=False)
@click.option(
    "--type", "kind", metavar="NAME", help="The account type (default: by its data)."
)
@inputs.local_options
@inputs.chain_options
@report.json_option
def command(
    source: str,
    address: str | None,
    kind: str | None,
    chain: inputs.Chain,
    as_json: bool,
) -> None:
    """Read the account at ADDRESS and decode it by SOURCE's schema. "@name" works on the local cluster.

    Without SOURCE, the account is decoded by the schema that its owner has on the chain, or read as the wallet, token
    account or mint that it is.
    """
    with report.progress(f"reading {address or source}"):
        if address is None:
            found = _any_account(source, kind, chain)
        else:
            found = _account_of(source, address, kind, chain)
    report.emit(found, report.as_json_text(found), as_json=as_json)


def _account_of(
    source: str, address: str, kind: str | None, chain: inputs.Chain
) -> dict[str, Any]:
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.calls.reading import read_account
    from mcpsol_py.client.transport import run

    loaded = inputs.load_source(source, chain)
    transport = inputs.transport_of(loaded, blocking=True)
    if transport is None:
        raise _no_chain()
    served = ServedProgram(loaded.program, loaded.program_id, transport, loaded.how)
    key = _key(address, inputs.book_of(loaded))
    try:
        return run(read_account(served, kind, key, room=None))
    finally:
        run(transport.close())


def _any_account(address: str, kind: str | None, chain: inputs.Chain) -> dict[str, Any]:
    from mcpsol_py.client.transport import run

    with opened(chain) as programs:
        if programs.transport is None:
            raise _no_chain()
        return run(programs.account(_key(address, programs.book), kind))


def _key(address: str, book: AddressBook) -> Any:
    return inputs.address(book.address(address), "ADDRESS")


def _no_chain() -> click.UsageError:
    return click.UsageError(
        "account needs a chain: --url URL, or --ledger FILE of a local cluster."
    )

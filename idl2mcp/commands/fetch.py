"""`idl2mcp fetch ID --url URL`: fetch the IDL of a deployed program."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from idl2mcp import inputs, report


@click.command("fetch")
@click.argument("program_id", metavar="ID")
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a file instead of stdout.",
)
@inputs.url_option(required=True)
@report.json_option
def command(program_id: str, out: Path | None, url: str, as_json: bool) -> int:
    """Fetch the IDL of program ID from the Program Metadata program, or else from its Anchor IDL account.

    The answer is "absent" if neither account exists, and "corrupt" if its content is not an IDL; both exit 3. To read
    a program's own list_tools, use `idl2mcp list-tools`.
    """
    with report.progress(f"asking for the IDL of {program_id}"):
        from mcpsol_py.client.idl_accounts import fetch_idl_sync

        key = inputs.address(program_id, "ID")
        with inputs.endpoint_at(inputs.endpoint(url)) as transport:
            found = fetch_idl_sync(transport, key)
    document = {
        "program_id": program_id,
        "outcome": found.outcome,
        "source": found.source,
        "address": found.address,
    }
    if found.outcome != "ok":
        report.emit(
            {**document, "why": found.why}, f"{found.outcome}: {found.why}", as_json=as_json
        )
        return report.CHAIN
    text = report.as_json_text(found.document)
    report.note(
        f"found in {found.source}" + (f", account {found.address}" if found.address else "")
    )
    if out is not None:
        report.write_whole(out, (text + "\n").encode())
        report.emit(document, f"{out}: {len(text):,} bytes, from {found.source}", as_json=as_json)
    elif as_json:
        report.emit({**document, "idl": found.document}, "", as_json=True)
    else:
        sys.stdout.write(text + "\n")
    return report.OK

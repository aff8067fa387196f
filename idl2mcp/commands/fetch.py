"""`idl2mcp fetch ID --url URL`: fetch the IDL of a deployed program."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from idl2mcp import inputs, report
from idl2mcp.versions_file import idl_file, write_history


@click.command("fetch")
@click.argument("program_id", metavar="ID")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to a file instead of stdout; with --history, to a folder.",
)
@click.option(
    "--history",
    is_flag=True,
    help="All IDLs that the program published, with their slots, for `idl2mcp decode`.",
)
@inputs.url_option(required=True)
@report.json_option
def command(
    program_id: str, out: Path | None, history: bool, url: str, as_json: bool
) -> int:
    """Fetch the IDL of program ID from the Program Metadata program, or else from its Anchor IDL account.

    The answer is "absent" if neither account exists, and "corrupt" if its content is not an IDL; both exit 3. To read
    a program's own list_tools, use `idl2mcp list-tools`.

    With --history, the older IDLs are read from the transactions that published them, as far as the node keeps these.
    The folder's versions.toml is a SOURCE of `idl2mcp decode`.
    """
    if history:
        return _fetch_history(program_id, out, url, as_json)
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
            {**document, "why": found.why},
            f"{found.outcome}: {found.why}",
            as_json=as_json,
        )
        return report.CHAIN
    text = report.as_json_text(found.document)
    report.note(
        f"found in {found.source}"
        + (f", account {found.address}" if found.address else "")
    )
    if out is not None:
        report.write_whole(out, (text + "\n").encode())
        report.emit(
            document,
            f"{out}: {len(text):,} bytes, from {found.source}",
            as_json=as_json,
        )
    elif as_json:
        report.emit({**document, "idl": found.document}, "", as_json=True)
    else:
        sys.stdout.write(text + "\n")
    return report.OK


def _fetch_history(program_id: str, out: Path | None, url: str, as_json: bool) -> int:
    """Write each IDL that a program published to the folder *out*, and their slots to versions.toml."""
    if out is None:
        raise click.UsageError("--history needs --out FOLDER.")
    with report.progress(f"reading what {program_id} published"):
        from mcpsol_py.client.transport import run
        from mcpsol_py.pipelines.idl_history import read_idl_history

        key = inputs.address(program_id, "ID")
        with inputs.endpoint_at(inputs.endpoint(url)) as transport:
            found = run(read_idl_history(transport, key))
    for note in found.notes:
        report.note(note)
    if found.idls:
        write_history(out, found.idls)
    rows = [
        {"file": idl_file(idl), "source": idl.source, "signature": idl.signature}
        | {"first_slot": idl.first_slot, "last_slot": idl.last_slot}
        for idl in found.idls
    ]
    lines = [f"{out}: {len(rows)} IDLs"]
    lines += [
        f"  {row['file']}: from slot {row['first_slot']:,}, {row['source']}"
        for row in rows
    ]
    document = {"program_id": program_id, "idls": rows, "notes": list(found.notes)}
    report.emit(document, "\n".join(lines), as_json=as_json)
    return report.OK if rows else report.CHAIN

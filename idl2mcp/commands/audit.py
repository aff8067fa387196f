"""`idl2mcp audit FILE`: is the bridge's log whole, who signed it, what does it say, and may a stopped wallet go on?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from idl2mcp import report

if TYPE_CHECKING:
    from mcpsol_py.bridge.policy import AuditLog
    from mcpsol_py.client.keys import KeypairSigner

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("audit")
@click.argument("file", type=_FILE)
@click.option(
    "--keystore", type=_FILE, help="The key file that must have signed the log."
)
@click.option(
    "--head",
    type=_FILE,
    help="The file with the log's head, if it is not beside the log.",
)
@click.option(
    "--clear-stop",
    is_flag=True,
    help="Let wallets go on that were stopped because a transaction took something else than its simulation showed. "
    "A signed log needs --keystore and its passphrase.",
)
@report.json_option
def command(
    file: Path,
    keystore: Path | None,
    head: Path | None,
    clear_stop: bool,
    as_json: bool,
) -> None:
    """Verify an audit log: the bytes and the order of its lines, their signatures and its head. Count its events.

    A bridge with a keystore signs each line, so no program without the key can add or change one. Give --keystore to
    require these signatures; the address in the file suffices, so no passphrase is asked for. FILE.head has the number
    and the hash of the last line, signed too, so a log without its last lines is refused. A program that can replace
    both files can still put back an older log with its older head, or remove both. To notice that, keep the head in
    another folder (audit_head in the bridge's configuration) or keep copies of the last hash.
    """
    from mcpsol_py.bridge.policy import AuditLog, verify_log

    verify_log(file, head=head)
    log = AuditLog(file, signer=_signer(keystore, clear_stop), head=head)
    _check_signer(log, keystore, clear_stop)
    stopped = log.stopped()
    state = "stopped"
    if clear_stop:
        state = "cleared"
        for wallet in stopped:
            log.clear(wallet)
    events = Counter(str(entry.get("event")) for entry in log.entries())
    total = report.count(log.count, "line")
    lines = [
        f"{file}: {total}, none changed or missing; last hash {log.last_hash}",
        _signatures(log),
    ]
    lines += [f"  {event}: {number}" for event, number in sorted(events.items())]
    lines += [f"  {state}: wallet {wallet}: {why}" for wallet, why in stopped.items()]
    document = {
        "lines": log.count,
        "last_hash": log.last_hash,
        "signed_by": log.signed_by or None,
        "unsigned_lines": log.unsigned,
        "events": dict(events),
        state: stopped,
    }
    report.emit(document, lines, as_json=as_json)


def _signer(keystore: Path | None, writes: bool) -> KeypairSigner | None:
    """Return the signer of a line that is to be written."""
    if keystore is None or not writes:
        return None
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keystore

    return open_keystore(keystore, passphrase(keystore))


def _check_signer(log: AuditLog, keystore: Path | None, writes: bool) -> None:
    """Raise SourceError if the log lacks the signatures of *keystore*, click.UsageError if a line would lack one."""
    from mcpsol_py.client.keys import keystore_address
    from mcpsol_py.errors import SourceError

    if keystore is None:
        if writes and log.signed_by:
            raise click.UsageError(
                f"the log is signed by {log.signed_by}: give its --keystore."
            )
        return
    address = keystore_address(keystore)
    if log.signed_by != address:
        got = (
            f"one that {log.signed_by} signed"
            if log.signed_by
            else "one without signatures"
        )
        raise SourceError(
            f"expected a log that {address} signed, got {got}", origin=str(log.path)
        )


def _signatures(log: AuditLog) -> str:
    """Return the line that says who signed which lines."""
    if not log.signed_by:
        return "  no line is signed: a program that can write the log and its head can make another"
    if not log.unsigned:
        return f"  signed by {log.signed_by}"
    return f"  lines 1 to {log.unsigned} are not signed; line {log.unsigned + 1} on by {log.signed_by}"

"""`idl2mcp audit FILE`: is the bridge's log whole, what does it say, and may a stopped wallet go on?"""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import report


@click.command("audit")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--clear-stop",
    is_flag=True,
    help="Let wallets go on that were stopped because a transaction took something else than its simulation showed.",
)
@report.json_option
def command(file: Path, clear_stop: bool, as_json: bool) -> None:
    """Verify the hash chain of an audit log, and count its events.

    FILE.head has the number and the hash of the last line, so a log without its last lines is refused. A user who may
    write both files can write another valid log. To notice that, keep the last hash elsewhere.
    """
    from mcpsol_py.bridge.policy import AuditLog, verify_log

    verify_log(file)
    log = AuditLog(file)
    stopped = log.stopped()
    state = "stopped"
    if clear_stop:
        state = "cleared"
        for wallet in stopped:
            log.clear(wallet)
    count, last = verify_log(file)
    entries = log.entries()
    events: dict[str, int] = {}
    for entry in entries:
        events[str(entry.get("event"))] = events.get(str(entry.get("event")), 0) + 1
    total = report.count(count, "line")
    lines = [f"{file}: {total}, none changed or missing; last hash {last}"]
    lines += [f"  {event}: {number}" for event, number in sorted(events.items())]
    lines += [f"  {state}: wallet {wallet}: {why}" for wallet, why in stopped.items()]
    document = {"lines": count, "last_hash": last, "events": events, state: stopped}
    report.emit(document, lines, as_json=as_json)

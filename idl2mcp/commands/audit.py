"""`idl2mcp audit FILE`: is the bridge's log whole, and what does it say?"""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import report


@click.command("audit")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def command(file: Path, as_json: bool) -> None:
    """Verify the hash chain of an audit log, and count its events.

    A log without its last lines is valid, too. To notice that, keep the last hash elsewhere.
    """
    from mcpsol_py.bridge.policy import AuditLog, verify_log

    count, last = verify_log(file)
    entries = AuditLog(file).entries()
    events: dict[str, int] = {}
    for entry in entries:
        events[str(entry.get("event"))] = events.get(str(entry.get("event")), 0) + 1
    total = report.count(count, "line")
    lines = [f"{file}: {total}, none changed or missing; last hash {last}"]
    lines += [f"  {event}: {number}" for event, number in sorted(events.items())]
    report.emit({"lines": count, "last_hash": last, "events": events}, lines, as_json=as_json)

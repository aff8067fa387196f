"""`idl2mcp audit FILE`: is the bridge's log whole, and what does it say?"""

from __future__ import annotations

from pathlib import Path

import click

from idl2mcp import report


@click.command("audit")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@report.json_option
def command(file: Path, as_json: bool) -> None:
    """Verify the hash chain of an audit log, and sum up what was sent.

    Lines taken off the end leave a whole, shorter log: keep the last hash elsewhere to notice that.
    """
    from mcpsol_py.bridge.policy import AuditLog, verify_log

    count, last = verify_log(file)
    entries = AuditLog(file).entries()
    events: dict[str, int] = {}
    for entry in entries:
        events[str(entry.get("event"))] = events.get(str(entry.get("event")), 0) + 1
    lines = [
        f"{file}: {count} line{'' if count == 1 else 's'}, none changed or missing; last hash {last}"
    ]
    lines += [f"  {event}: {number}" for event, number in sorted(events.items())]
    report.emit({"lines": count, "last_hash": last, "events": events}, lines, as_json=as_json)

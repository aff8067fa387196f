"""Pages that show activity: recent calls and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mcpsol_py.bridge.explorer.content import (
    Cell,
    CellKind,
    FactsBlock,
    PageContent,
    PageState,
    TableBlock,
)
from mcpsol_py.bridge.explorer.site import MAX_CALLS, Site
from mcpsol_py.bridge.policy.audit_log import AuditLog, verify_log
from mcpsol_py.errors import McpsolError

__all__ = ["audit_page", "calls_page"]

_MAX_LINES = 200
_EVENT_KINDS: dict[str, CellKind] = {"sent": "good", "failed": "bad", "unknown": "bad"}


def calls_page(site: Site, is_live: bool = False) -> PageContent:
    """Return the page of recent calls. *is_live*: it is loaded again every few seconds."""
    known = site.box.tools
    rows = [
        (
            Cell(f"{call.at:%Y-%m-%d %H:%M:%S}"),
            Cell(
                call.tool,
                href=f"/tools/{quote(call.tool)}" if call.tool in known else "",
            ),
            Cell(call.outcome, "good" if call.outcome == "ok" else "bad"),
            Cell(f"{call.seconds * 1000:.1f} ms", "number"),
            Cell(call.by),
        )
        for call in site.calls
    ]
    table = TableBlock("", ("Time (UTC)", "Tool", "Outcome", "Duration", "By"), rows)
    about = f"The last {MAX_CALLS} calls at most, newest first."
    switch = (
        Cell("Stop", href="/calls")
        if is_live
        else Cell("Watch live", href="/calls?live=1")
    )
    live = FactsBlock("", [("Live" if is_live else "Now", switch)])
    return PageContent("Recent calls", about, [live, table])


def audit_page(audit: AuditLog) -> PageContent:
    """Return the page of the audit log. Verifies the whole log, so a long one takes time."""
    state, status = _verified(audit)
    entries = []
    if state != "bad":
        entries = audit.entries()[-_MAX_LINES:][::-1]
    table = TableBlock(
        "",
        (
            "Line",
            "Time (UTC)",
            "Event",
            "Instruction",
            "Outflow (base units)",
            "Signature",
        ),
        list(map(_row, entries)),
        empty="Nothing has been sent yet.",
    )
    about = f"Transactions that this bridge sent, newest first. {status}"
    return PageContent("Audit log", about, [table], state=state)


def _verified(audit: AuditLog) -> tuple[PageState, str]:
    """Return whether the log is intact, and a sentence about it."""
    if audit.path is None:
        return "", "Kept in memory only, until this server stops."
    if not audit.path.exists():
        return "good", f"0 lines in {audit.path.name}."
    try:
        count, last = verify_log(audit.path, head=audit.head)
    except (McpsolError, OSError) as error:
        return "bad", f"The log was changed: {error}"
    status = f"{count:,} lines in {audit.path.name}, each with the hash of the line before it."
    return "good", f"{status} Last hash: {last[:16]}…" if count else status


def _row(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    event = str(entry.get("event", ""))
    outflow = ", ".join(
        f"{amount} of {mint}" for mint, amount in entry.get("outflow", {}).items()
    )
    return (
        Cell(str(entry.get("n", "")), "number"),
        Cell(str(entry.get("at", ""))[:19].replace("T", " ")),
        Cell(event, _EVENT_KINDS.get(event, "text")),
        Cell(str(entry.get("instruction", ""))),
        Cell(outflow),
        Cell(str(entry.get("signature", "")), "code"),
    )

"""What the bridge answers to a tool call: a call of an instruction, data read from a chain, or an error."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from solders.transaction import VersionedTransaction

from mcpsol_py.calls.describe import describe, text_of
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.errors import McpsolError, ProgramFailed, UnknownName
from mcpsol_py.names import clean_json, clean_text

__all__ = ["Reply", "call_reply", "error_reply", "json_text", "read_reply", "view_reply"]

#: Lines of a program's log that an error shows.
_LOG_LINES = 12
#: Names that an error offers.
_CANDIDATES = 10
#: Characters of one text in a result. Accounts are shortened before (calls/reading.py).
_LONGEST_TEXT = 16_384


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a tool call. On an error `structured` is None, because clients check structured content against the
    output schema; `details` then holds the reason and the error's attributes."""

    text: str
    structured: dict[str, Any] | None = None
    is_error: bool = False
    details: dict[str, Any] = field(default_factory=dict)


def call_reply(
    prepared: PreparedCall,
    simulated: SimulatedCall | None,
    why_not: str = "",
    *,
    transaction: VersionedTransaction | None = None,
) -> Reply:
    """Answer with a call that was built. *why_not*: why it was not simulated. *transaction*: for others to sign."""
    lines = text_of(prepared, simulated, why_not=why_not)
    structured = {"summary": "\n".join(lines), **describe(prepared, simulated)}
    if transaction is not None:
        structured["transaction"] = base64.b64encode(bytes(transaction)).decode()
        lines.append(f"  unsigned transaction (base64): {structured['transaction']}")
        if simulated is None:
            lines.append("  its blockhash is empty: put in a recent one before signing")
    return Reply("\n".join(lines), structured)


def view_reply(prepared: PreparedCall, simulated: SimulatedCall | None) -> Reply:
    """Answer with what an instruction returned. *simulated* None: there is no chain to run it on."""
    looked = replace(prepared, payer=None)
    why_not = "no chain is configured, and only a chain can run a view"
    lines = [*text_of(looked, simulated, why_not=why_not), "  a view: nothing was signed or sent"]
    described = {**describe(looked, simulated), "signers": []}
    return Reply("\n".join(lines), {"summary": "\n".join(lines), **described})


def read_reply(found: dict[str, Any]) -> Reply:
    """Answer with data from a chain, cleaned: strangers wrote it."""
    found = clean_json(found, _LONGEST_TEXT)
    return Reply(json_text(found), found)


def error_reply(error: McpsolError) -> Reply:
    """Answer with an error; for a program's, with what can be changed and the end of its log."""
    details = error.details()
    text = clean_text(str(error), 4000)
    if isinstance(error, UnknownName) and len(error.candidates) > _CANDIDATES:
        details["candidates"] = get_close_matches(error.name, error.candidates, _CANDIDATES, 0.0)
    if isinstance(error, ProgramFailed):
        tail = [clean_text(line, 300) for line in error.logs[-_LOG_LINES:]]
        text = clean_text(text, 2000)
        text += _section("What to look at:", [f"- {hint}" for hint in error.hints])
        text += _section("The end of its log:", tail)
        details["logs"] = tail
    return Reply(text, is_error=True, details=clean_json(details))


def _section(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"\n{title}\n" + "\n".join(f"  {line}" for line in lines)


def json_text(value: Any) -> str:
    """Return *value* as JSON text for people."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)

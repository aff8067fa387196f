"""What the bridge answers to a tool call: a call of an instruction, data read from a chain, or an error."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from solders.transaction import VersionedTransaction

from mcpsol_py.calls.describe import describe, text_of
from mcpsol_py.calls.foreign.transaction_lines import transaction_lines
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.errors import McpsolError, ProgramFailed, UnknownName
from mcpsol_py.names import clean_json, clean_text, json_text
from mcpsol_py.solana.address_book import AddressBook

__all__ = [
    "LOG_TITLE",
    "Reply",
    "call_reply",
    "error_reply",
    "named_lines",
    "read_reply",
    "relevant_lines",
    "transaction_reply",
    "view_reply",
]

#: Lines of a program's log that an error shows.
_LOG_LINES = 6
#: The line of an error's text above the relevant lines of its log.
LOG_TITLE = "From its log:"
#: Lines of every log: they repeat what an error says already.
_ROUTINE = ("Program log: Instruction: ", "Program return: ", "Program data: ")
_STACK = re.compile(
    r"Program \w{32,44} (invoke \[\d+\]|success|consumed .*|failed: .*)"
)
#: Names that an error offers.
_CANDIDATES = 10
#: How near they are, from 0 to 1.
_NEAR = 0.4
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
    lines = named_lines(
        prepared.served.book, text_of(prepared, simulated, why_not=why_not)
    )
    structured = {"summary": "\n".join(lines), **describe(prepared, simulated)}
    if transaction is not None:
        structured["transaction"] = base64.b64encode(bytes(transaction)).decode()
        lines.append(f"  unsigned transaction (base64): {structured['transaction']}")
        if simulated is None:
            lines.append("  its blockhash is empty: put in a recent one before signing")
    return Reply("\n".join(lines), structured)


def named_lines(book: AddressBook, lines: Sequence[str]) -> list[str]:
    """Return *lines* with the names of their addresses."""
    return book.named("\n".join(lines)).split("\n")


def view_reply(prepared: PreparedCall, simulated: SimulatedCall | None) -> Reply:
    """Answer with the return value of an instruction. Without a chain, *simulated* is None."""
    looked = replace(prepared, payer=None)
    if simulated is not None:
        # The fee of the simulation, which nobody pays.
        simulated = replace(simulated, changes=())
    why_not = "no chain is configured, and only a chain can run a view"
    lines = named_lines(
        prepared.served.book, text_of(looked, simulated, why_not=why_not)
    )
    lines.append("  a view: nothing was signed or sent")
    described = {**describe(looked, simulated), "signers": []}
    return Reply("\n".join(lines), {"summary": "\n".join(lines), **described})


def read_reply(found: dict[str, Any], book: AddressBook) -> Reply:
    """Answer with data from a chain, cleaned: strangers wrote it. "names" are those of the addresses in it."""
    found = _with_names(found, book)
    return Reply(json_text(found), found)


def transaction_reply(decoded: dict[str, Any], book: AddressBook) -> Reply:
    """Answer with a decoded transaction: in lines for people, and as data."""
    found = _with_names(decoded, book)
    return Reply("\n".join(named_lines(book, transaction_lines(found))), found)


def _with_names(found: dict[str, Any], book: AddressBook) -> dict[str, Any]:
    cleaned: dict[str, Any] = clean_json(found, _LONGEST_TEXT)
    names = book.names_in(cleaned)
    return {**cleaned, "names": names} if names else cleaned


def error_reply(error: McpsolError, book: AddressBook | None = None) -> Reply:
    """Answer with an error; for a program's, with what can be changed and the lines of its log that say more.

    *book* has the names of the addresses in it.
    """
    named = (book or AddressBook()).named
    details = error.details()
    text = named(clean_text(str(error), 4000))
    details["message"] = text
    if isinstance(error, UnknownName) and len(error.candidates) > _CANDIDATES:
        details["candidates"] = get_close_matches(
            error.name, error.candidates, _CANDIDATES, _NEAR
        )
    if isinstance(error, ProgramFailed):
        details |= {"logs": _last(error.logs), "hints": list(map(named, error.hints))}
        text = clean_text(text, 2000)
        text += _section("What to look at:", [f"- {hint}" for hint in details["hints"]])
        if error.returned is not None:
            text += (
                f"\nIt returned: {named(clean_text(json_text(error.returned), 1000))}"
            )
        text += _section(LOG_TITLE, relevant_lines(error))
    return Reply(text, is_error=True, details=clean_json(details))


def relevant_lines(error: ProgramFailed) -> list[str]:
    """Return the last lines of a log that say more than the error itself does."""
    said = (f"Program log: {error.name} (", *_ROUTINE)
    told = [
        line
        for line in error.logs
        if not line.startswith(said) and not _STACK.fullmatch(line)
    ]
    return _last(told)


def _last(lines: Sequence[str]) -> list[str]:
    return [clean_text(line, 300) for line in lines[-_LOG_LINES:]]


def _section(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"\n{title}\n" + "\n".join(f"  {line}" for line in lines)

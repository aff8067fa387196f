"""Decoded transactions as lines for people and models.

The lines leave out what the JSON of a decoded transaction repeats: the data of instructions that could be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress
from typing import Any

from mcpsol_py.calls.balances import Change
from mcpsol_py.calls.reading import utc_text
from mcpsol_py.calls.summary import address_text, change_line, one_line, value_text

__all__ = ["transaction_lines"]

_Row = Mapping[str, Any]
_WIDEST = 300


def transaction_lines(decoded: _Row) -> list[str]:
    """Return *decoded*, a result of transaction_reading, as lines: instructions, calls, changes, events, error."""
    return [
        *_head(decoded),
        *_instructions(decoded["instructions"]),
        *(
            f"  {change_line(Change.from_json(row))}"
            for row in decoded.get("balance_changes", ())
        ),
        *(_event(row) for row in decoded.get("events", ())),
        *(
            one_line(decoded[key], _WIDEST)
            for key in ("note", "log_note")
            if key in decoded
        ),
    ]


def _head(decoded: _Row) -> Iterator[str]:
    """Give the payer, and the outcome of a transaction that landed. Data of one instruction has neither."""
    if "fee_payer" in decoded:
        others = [key for key in decoded["signers"] if key != decoded["fee_payer"]]
        signers = ", ".join(others)
        yield f"paid by {decoded['fee_payer']}" + (
            f", also signed by {signers}" if others else ""
        )
    if "slot" in decoded:
        failed = decoded.get("failure", {}).get("text") or decoded.get("error")
        outcome = (
            "succeeded"
            if failed is None
            else f"failed: {one_line(str(failed), _WIDEST)}"
        )
        when = f" at {utc_text(decoded['time'])}" if "time" in decoded else ""
        fee = f", fee {decoded['fee']} lamports" if "fee" in decoded else ""
        yield f"landed in slot {decoded['slot']}{when}{fee}: {outcome}"


def _instructions(rows: list[_Row]) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        yield f"{number}. {_call(row)}"
        yield from map(_account, row.get("accounts", ()))
        yield from _remarks(row)
        for call in row.get("calls", ()):
            yield f"{'  ' * call['depth']}calls {_call(call)}"


def _call(row: _Row) -> str:
    """Return an instruction as "program · name(argument = value)", or its data if it could not be read."""
    program = one_line(row.get("program", "unknown"))
    if program == "unknown":
        program = f"program {row['program_id']}"
    if "instruction" not in row:
        return f"{program} · data {one_line(row['data'], _WIDEST)}"
    given = row["args"] or {}
    args = ", ".join(
        f"{one_line(name)} = {value_text(value)}" for name, value in given.items()
    )
    return f"{program} · {one_line(row['instruction'])}({args})"


def _account(account: _Row) -> str:
    address = address_text(account["address"])
    flags = {"signs": account.get("signer"), "written": account.get("writable")}
    roles = ", ".join(compress(flags, flags.values()))
    return f"     {one_line(account.get('name', ''))}  {address}  {roles}".rstrip()


def _remarks(row: _Row) -> Iterator[str]:
    if "display" in row:
        yield f'     the program\'s words for wallets: "{one_line(row["display"], _WIDEST)}"'
    for note in (*row.get("notes", ()), *filter(None, [row.get("note")])):
        yield f"     note: {one_line(note, _WIDEST)}"


def _event(row: _Row) -> str:
    return f"  event {one_line(row['name'])} of {one_line(row['program'])}: {value_text(row['fields'])}"

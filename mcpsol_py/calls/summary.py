"""A transaction in words: the instruction and its arguments, who signs, what is written, which balances change.

Text from the program (names, docs) is cleaned and kept on lines of its own; what was measured is ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.calls.balances import SOL, Change, ui_amount
from mcpsol_py.names import clean_text
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = ["AccountLine", "change_line", "lines", "one_line", "short"]

_WIDEST = 300


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of the instruction in the transaction. `given`: the caller named it; else it was filled in."""

    name: str
    address: str
    signer: bool
    writable: bool
    given: bool


def short(address: str) -> str:
    """Shorten an address for people to read, like "7xKX…9fQa"; return a well-known program's name."""
    known = PROGRAM_NAMES.get(address)
    if known is not None:
        return known
    return f"{address[:4]}…{address[-4:]}" if len(address) > 12 else address


def change_line(change: Change) -> str:
    """Return a balance change as a line: "-1.5 SOL at 7xKX…9fQa"."""
    amount = ui_amount(change.delta, change.decimals)
    amount = amount if amount.startswith("-") else f"+{amount}"
    if change.mint == SOL:
        return f"{amount} SOL at {change.address}"
    unit = "" if change.decimals is not None else "base units of "
    return f"{amount} {unit}mint {change.mint} in {change.address} of {change.owner}"


def _value(value: Any) -> str:
    return one_line(value if isinstance(value, str) else _json(value), _WIDEST)


def one_line(text: str, limit: int = 80) -> str:
    """Put untrusted text on one line, so that a name with a line break cannot look like a line of ours."""
    return " ".join(clean_text(text, limit).split())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def lines(
    *,
    program: str,
    program_id: str,
    instruction: str,
    doc: str,
    args: dict[str, Any],
    accounts: Sequence[AccountLine],
    payer: str | None,
    simulated: str,
    found: Sequence[Change],
    units: int | None = None,
    returned: Any = None,
) -> list[str]:
    """Return the summary, a line each. `simulated`: how the simulation went, in words ("succeeded", "not run: no
    chain was given")."""
    out = [f"{one_line(program)} · {one_line(instruction)} · program {program_id}"]
    if doc:
        out.append(f"  the program says: {one_line(doc, _WIDEST)}")
    out += [f"  {one_line(name)} = {_value(value)}" for name, value in args.items()]
    out += _account_lines(accounts, payer)
    if payer is not None and payer not in {account.address for account in accounts}:
        out.append(f"  fee payer  {payer}")
    used = f", {units:,} compute units" if units is not None else ""
    out.append(f"  simulation: {simulated}{used}")
    out += [f"    {change_line(change)}" for change in found]
    if returned is not None:
        out.append(f"  returns {_value(returned)}")
    return out


def _account_lines(accounts: Sequence[AccountLine], payer: str | None) -> Iterator[str]:
    names = [one_line(account.name) for account in accounts]
    width = max(map(len, names), default=0)
    for name, account in zip(names, accounts, strict=True):
        known = PROGRAM_NAMES.get(account.address)
        line = f"  {name.ljust(width)}  {account.address}"
        if known:
            line += f" ({known})"
        roles = ", ".join(_roles(account, payer))
        yield f"{line}  {roles}" if roles else line


def _roles(account: AccountLine, payer: str | None) -> Iterator[str]:
    if account.signer:
        yield "signs"
    if account.address == payer:
        yield "pays the fee"
    if account.writable:
        yield "written"
    if not account.given:
        yield "filled in"

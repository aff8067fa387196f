"""A transaction told to people: which instruction, with what, who signs, what is written, and what changes hands.

Everything that comes from the program (names, docs) is cleaned and kept on lines of its own; what was measured is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.calls.balances import SOL, Change, ui_amount
from mcpsol_py.names import clean_text
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = ["AccountLine", "change_line", "lines", "one_line", "short"]

_WIDEST = 300


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of the instruction as it will stand in the transaction. `given`: the caller named it; else it was
    filled in.
    """

    name: str
    address: str
    signer: bool
    writable: bool
    given: bool


def short(address: str) -> str:
    """The ends of an address, for lines that people read: "7xKX…9fQa"; well-known programs by their name."""
    known = PROGRAM_NAMES.get(address)
    if known is not None:
        return known
    return f"{address[:4]}…{address[-4:]}" if len(address) > 12 else address


def change_line(change: Change) -> str:
    """A balance change as a line: "-1.5 SOL at 7xKX…9fQa"."""
    amount = ui_amount(change.delta, change.decimals)
    amount = amount if amount.startswith("-") else f"+{amount}"
    if change.mint == SOL:
        return f"{amount} SOL at {change.address}"
    unit = "" if change.decimals is not None else "base units of "
    return f"{amount} {unit}mint {change.mint} in {change.address} of {change.owner}"


def _value(value: Any) -> str:
    return one_line(value if isinstance(value, str) else _json(value), _WIDEST)


def one_line(text: str, limit: int = 80) -> str:
    """Untrusted text on one line: a name with a line break in it cannot pass for a line of ours."""
    return " ".join(clean_text(text, limit).split())


def _json(value: Any) -> str:
    import json

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
    """The summary, a line each. `simulated`: how the simulation went, in words ("succeeded", "not run: no chain was
    given").
    """
    out = [f"{one_line(program)} · {one_line(instruction)} · program {program_id}"]
    if doc:
        out.append(f"  the program says: {one_line(doc, _WIDEST)}")
    for name, value in args.items():
        out.append(f"  {one_line(name)} = {_value(value)}")
    names = [one_line(a.name) for a in accounts]
    width = max(map(len, names), default=0)
    for name, account in zip(names, accounts, strict=True):
        what = [
            w
            for w, on in (
                ("signs", account.signer),
                ("pays the fee", account.address == payer),
                ("written", account.writable),
                ("filled in", not account.given),
            )
            if on
        ]
        known = PROGRAM_NAMES.get(account.address)
        out.append(
            f"  {name.ljust(width)}  {account.address}"
            + (f" ({known})" if known else "")
            + (f"  {', '.join(what)}" if what else "")
        )
    if payer is not None and payer not in {a.address for a in accounts}:
        out.append(f"  fee payer  {payer}")
    out.append(
        f"  simulation: {simulated}" + (f", {units:,} compute units" if units is not None else "")
    )
    out += [f"    {change_line(change)}" for change in found]
    if returned is not None:
        out.append(f"  returns {_value(returned)}")
    return out

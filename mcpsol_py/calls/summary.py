"""Summary of a transaction for people: instruction, arguments, signers, written accounts, balance changes.

Names and docs come from the program and are not trusted: they are cleaned, and cannot add lines of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from mcpsol_py.calls.balances import SOL, Change, ui_amount
from mcpsol_py.names import clean_text
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = ["AccountLine", "CallSummary", "change_line", "one_line", "short"]

_WIDEST = 300


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of the instruction. `given` is False if it was filled in."""

    name: str
    address: str
    signer: bool
    writable: bool
    given: bool


def short(address: str) -> str:
    """Shorten an address for people to read, like "7xKX…9fQa"; return a well-known program's name."""
    shortened = f"{address[:4]}…{address[-4:]}" if len(address) > 12 else address
    return PROGRAM_NAMES.get(address, shortened)


def change_line(change: Change) -> str:
    """Return a balance change as a line: "-1.5 SOL at 7xKX…9fQa"."""
    amount = ui_amount(change.delta, change.decimals)
    if change.delta >= 0:
        amount = f"+{amount}"
    if change.mint == SOL:
        return f"{amount} SOL at {change.address}"
    if change.decimals is None:
        amount = f"{amount} base units of"
    return f"{amount} mint {change.mint} in {change.address} of {change.owner}"


def one_line(text: str, limit: int = 80) -> str:
    """Put untrusted text on one line, so that a name with a line break cannot look like a line of ours."""
    return " ".join(clean_text(text, limit).split())


@dataclass(slots=True)
class CallSummary:
    """The contents of a summary. `simulated` says how the simulation went, like "succeeded"."""

    program: str
    program_id: str
    instruction: str
    doc: str
    args: dict[str, Any]
    accounts: Sequence[AccountLine]
    payer: str | None
    simulated: str
    changes: Sequence[Change] = ()
    units: int | None = None
    returned: Any = None

    def lines(self) -> list[str]:
        """Return the summary, one string a line."""
        out = [
            f"{one_line(self.program)} · {one_line(self.instruction)} · program {self.program_id}"
        ]
        if self.doc:
            out.append(f"  the program says: {one_line(self.doc, _WIDEST)}")
        out += [f"  {one_line(name)} = {_value(value)}" for name, value in self.args.items()]
        out += self._account_lines()
        if self._pays_from_outside():
            out.append(f"  fee payer  {self.payer}")
        out.append(self._simulation_line())
        out += [f"    {change_line(change)}" for change in self.changes]
        if self.returned is not None:
            out.append(f"  returns {_value(self.returned)}")
        return out

    def _account_lines(self) -> list[str]:
        names = [one_line(account.name) for account in self.accounts]
        width = max(map(len, names), default=0)
        return [
            f"  {name.ljust(width)}  {_address(account)}  {_roles(account, self.payer)}".rstrip()
            for name, account in zip(names, self.accounts, strict=True)
        ]

    def _pays_from_outside(self) -> bool:
        """Whether the fee payer is not among the accounts of the instruction."""
        return self.payer not in {None, *(account.address for account in self.accounts)}

    def _simulation_line(self) -> str:
        used = "" if self.units is None else f", {self.units:,} compute units"
        return f"  simulation: {self.simulated}{used}"


def _value(value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return one_line(value, _WIDEST)


def _address(account: AccountLine) -> str:
    known = PROGRAM_NAMES.get(account.address)
    return account.address if known is None else f"{account.address} ({known})"


def _roles(account: AccountLine, payer: str | None) -> str:
    roles = {
        "signs": account.signer,
        "pays the fee": account.address == payer,
        "written": account.writable,
        "filled in": not account.given,
    }
    return ", ".join(compress(roles, roles.values()))

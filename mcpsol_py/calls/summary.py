"""Summary of a transaction for people: instruction, arguments, signers, written accounts, balance changes.

Names and docs come from the program and are not trusted: they are cleaned, and cannot add lines of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class CallSummary:
    """What a summary says. `simulated` is how the simulation went: "succeeded", "not run: no chain was given"."""

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
        return [
            f"{one_line(self.program)} · {one_line(self.instruction)} · program {self.program_id}",
            *self._doc_line(),
            *(f"  {one_line(name)} = {_value(value)}" for name, value in self.args.items()),
            *self._account_lines(),
            *self._payer_line(),
            self._simulation_line(),
            *(f"    {change_line(change)}" for change in self.changes),
            *self._return_line(),
        ]

    def _doc_line(self) -> Iterator[str]:
        if self.doc:
            yield f"  the program says: {one_line(self.doc, _WIDEST)}"

    def _account_lines(self) -> Iterator[str]:
        names = [one_line(account.name) for account in self.accounts]
        width = max(map(len, names), default=0)
        for name, account in zip(names, self.accounts, strict=True):
            roles = ", ".join(_roles(account, self.payer))
            line = f"  {name.ljust(width)}  {_address(account)}"
            yield f"{line}  {roles}".rstrip()

    def _payer_line(self) -> Iterator[str]:
        """Name the fee payer if it is not an account of the instruction."""
        if self.payer not in (None, *(account.address for account in self.accounts)):
            yield f"  fee payer  {self.payer}"

    def _simulation_line(self) -> str:
        used = "" if self.units is None else f", {self.units:,} compute units"
        return f"  simulation: {self.simulated}{used}"

    def _return_line(self) -> Iterator[str]:
        if self.returned is not None:
            yield f"  returns {_value(self.returned)}"


def _value(value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return one_line(value, _WIDEST)


def _address(account: AccountLine) -> str:
    known = PROGRAM_NAMES.get(account.address)
    return account.address if known is None else f"{account.address} ({known})"


def _roles(account: AccountLine, payer: str | None) -> list[str]:
    roles = {
        "signs": account.signer,
        "pays the fee": account.address == payer,
        "written": account.writable,
        "filled in": not account.given,
    }
    return [role for role, applies in roles.items() if applies]

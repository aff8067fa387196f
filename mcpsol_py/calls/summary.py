"""Summary of a transaction for people: instruction, arguments, signers, written accounts, balance changes.

Names and docs come from the program and are not trusted: they are cleaned, and cannot add lines of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from typing import Any

from mcpsol_py.calls.balances import SOL, Change, ui_amount
from mcpsol_py.calls.display import Words
from mcpsol_py.model.fast_init import quicken
from mcpsol_py.names import json_text
from mcpsol_py.names import one_line as cleaned_line
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = [
    "AccountLine",
    "InstructionSummary",
    "SimulationSummary",
    "address_text",
    "amount_text",
    "change_line",
    "one_line",
    "short",
    "value_text",
]

_WIDEST = 300


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of the instruction. `given` is False if it was filled in."""

    name: str
    address: str
    signer: bool
    writable: bool
    given: bool


quicken(AccountLine)


def short(address: str) -> str:
    """Shorten an address for people to read, like "7xKX…9fQa"; return a well-known program's name."""
    shortened = f"{address[:4]}…{address[-4:]}" if len(address) > 12 else address
    return PROGRAM_NAMES.get(address, shortened)


def change_line(change: Change) -> str:
    """Return a balance change as a line: "-1.5 SOL at 7xKX…9fQa"."""
    amount = amount_text(change.delta, change.mint, change.decimals)
    if change.delta >= 0:
        amount = f"+{amount}"
    if change.mint == SOL:
        return f"{amount} at {change.address}"
    return f"{amount} in {change.address} of {change.owner}"


def amount_text(amount: int, mint: str, decimals: int | None) -> str:
    """Return an amount with its unit: "1.5 SOL", "1.5 mint EPjF…", or "5 base units of mint EPjF…"."""
    if mint == SOL:
        return f"{ui_amount(amount, 9)} SOL"
    unit = "base units of mint" if decimals is None else "mint"
    return f"{ui_amount(amount, decimals)} {unit} {mint}"


def one_line(text: str, limit: int = 80) -> str:
    """Put untrusted text on one line, so that a name with a line break cannot look like a line of ours."""
    return cleaned_line(text, limit)


@lru_cache(maxsize=2048)
def name_line(name: str) -> str:
    """Put the name of a program, an instruction or an account on one line. Each call shows the same few names."""
    return one_line(name)


@dataclass(frozen=True, slots=True)
class InstructionSummary:
    """One instruction: its program, arguments and accounts. `payer` pays the fee of the transaction."""

    program: str
    program_id: str
    instruction: str
    doc: str
    args: Mapping[str, Any]
    accounts: Sequence[AccountLine]
    payer: str | None = None
    words: Words = field(default_factory=Words)

    def lines(self) -> list[str]:
        """Return the summary, one string a line."""
        out = [
            f"{name_line(self.program)} · {name_line(self.instruction)} · program {self.program_id}"
        ]
        if self.doc:
            out.append(f"  the program says: {one_line(self.doc, _WIDEST)}")
        if self.words.sentence:
            out.append(f'  the program\'s words for wallets: "{self.words.sentence}"')
        out += [
            f"  {name_line(name)} = {value_text(value)}{_in_brackets(self.words.arguments.get(name))}"
            for name, value in self.args.items()
        ]
        return out + self._account_lines()

    def _account_lines(self) -> list[str]:
        names = [name_line(account.name) for account in self.accounts]
        width = max(map(len, names), default=0)
        return [
            f"  {name.ljust(width)}  {address_text(account.address)}  {self._roles(account)}".rstrip()
            for name, account in zip(names, self.accounts, strict=True)
        ]

    def _roles(self, account: AccountLine) -> str:
        label = self.words.accounts.get(account.name)
        return _roles(account, self.payer) + _in_brackets(label)

    @property
    def payer_line(self) -> list[str]:
        """A line with the fee payer, if it is not among the accounts."""
        shown = {None, *(account.address for account in self.accounts)}
        return [] if self.payer in shown else [f"  fee payer  {self.payer}"]


quicken(InstructionSummary)


@dataclass(frozen=True, slots=True)
class SimulationSummary:
    """What a simulation showed. `result` says how it went, like "succeeded"."""

    result: str
    changes: Sequence[Change] = ()
    units: int | None = None
    returned: Any = None
    events: Sequence[tuple[str, Any]] = ()

    def lines(self) -> list[str]:
        """Return the summary, one string a line."""
        used = "" if self.units is None else f", {self.units:,} compute units"
        out = [f"  simulation: {self.result}{used}"]
        out += [f"    {change_line(change)}" for change in self.changes]
        if self.returned is not None:
            out.append(f"  returns {value_text(self.returned)}")
        return [*out, *map(_event_line, self.events)]


quicken(SimulationSummary)


def _event_line(event: tuple[str, Any]) -> str:
    name, fields = event
    return f"  event {name_line(name)}: {value_text(fields)}"


def value_text(value: Any) -> str:
    """Return an untrusted value on one line, as JSON unless it is text."""
    if not isinstance(value, str):
        value = json_text(value)
    return one_line(value, _WIDEST)


def _in_brackets(note: str | None) -> str:
    return f"  [{note}]" if note else ""


def address_text(address: str) -> str:
    """Return an address, with the name of a well-known program."""
    known = PROGRAM_NAMES.get(address)
    return address if known is None else f"{address} ({known})"


_ROLES = ("signs", "pays the fee", "written", "filled in")


def _roles(account: AccountLine, payer: str | None) -> str:
    applies = (
        account.signer,
        account.address == payer,
        account.writable,
        not account.given,
    )
    return ", ".join(compress(_ROLES, applies))

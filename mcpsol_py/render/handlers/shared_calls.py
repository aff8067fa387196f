"""Calls of other programs that a handler makes from several places: one function makes them all.

Each place at which a call is written costs the program some 400 bytes; calling a function costs few compute units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from mcpsol_py.bodies.calls import PROGRAM_CALLS
from mcpsol_py.bodies.tree import CallProgram, Function, find
from mcpsol_py.model.types import U8
from mcpsol_py.render.handlers.dialects import Dialect
from mcpsol_py.render.handlers.names import RustNames

__all__ = ["CallKey", "SharedCall", "call_key", "shared_calls"]

#: The fewest places that are worth a function.
_FEWEST = 3
#: The words that the SVM passes. The accounts take one, and so does the place of the result.
_MOST_VARYING = 3
#: LLVM may pass what a function reads of the accounts, in place of the accounts, if it is less than this.
_FEWEST_READ = 4


@dataclass(frozen=True, slots=True)
class SharedCall:
    """A function that makes a call. `roles`: the accounts that it takes; the others are the same at each place."""

    name: str
    call: CallProgram
    roles: tuple[str, ...]

    def lines(self, names: RustNames, dialect: Dialect) -> list[str]:
        """The function."""
        inner = replace(names, accounts=names.accounts | {r: r for r in self.roles})
        accounts = tuple(
            (r, r if r in self.roles else n) for r, n in self.call.accounts
        )
        values = {name: name for name, _ in self.call.values}
        kinds = PROGRAM_CALLS[self.call.call].values
        parameters = [
            "accounts: &Accounts",
            *(f"{role}: &pinocchio::AccountView" for role in self.roles),
            *(f"{name}: {'u8' if kinds[name] == U8 else 'u64'}" for name in values),
        ]
        made = dialect.call(inner, replace(self.call, accounts=accounts), values)
        return [
            "#[inline(never)]",
            f"fn {self.name}({', '.join(parameters)}) -> ProgramResult {{",
            made.removesuffix("?"),
            "}",
        ]

    def made(self, names: RustNames, call: CallProgram, values: dict[str, str]) -> str:
        """An expression that calls the function."""
        given = dict(call.accounts)
        accounts = [f"&*{names.accounts[given[role]]}" for role in self.roles]
        return f"{self.name}({', '.join(['accounts', *accounts, *values.values()])})?"


#: The program that is called, its instruction, and the account for which this program signs.
CallKey: TypeAlias = tuple[str, str, str]


def call_key(call: CallProgram) -> CallKey:
    """What calls that one function can make have in common."""
    return call.program, call.call, call.signer or ""


def shared_calls(function: Function, names: RustNames) -> dict[CallKey, SharedCall]:
    """The functions for the calls of a handler that it makes often, and that the SVM can pass."""
    found = sorted(find(function.body, CallProgram), key=call_key)
    groups = [list(each) for _, each in groupby(found, call_key)]
    return {
        call_key(calls[0]): SharedCall(
            names.variables.take(calls[0].call), calls[0], roles
        )
        for calls, roles in ((calls, _varying(calls, function)) for calls in groups)
        if _is_shared(calls, roles)
    }


def _is_shared(calls: list[CallProgram], roles: tuple[str, ...]) -> bool:
    call = calls[0]
    read = (
        len(call.accounts) - len(roles) + call.by_interface + (call.signer is not None)
    )
    fits = len(roles) + len(call.values) <= _MOST_VARYING and read >= _FEWEST_READ
    return len(calls) >= _FEWEST and call.call in PROGRAM_CALLS and fits


def _varying(calls: Iterable[CallProgram], function: Function) -> tuple[str, ...]:
    """The roles that not all calls give to the same account. An account of a loop is another one in each turn."""
    pairs = [pair for call in calls for pair in call.accounts]
    given: dict[str, set[str]] = {}
    for role, account in pairs:
        given.setdefault(role, set()).add(account)
    return tuple(
        role
        for role, accounts in given.items()
        if len(accounts) > 1 or accounts & set(function.locals)
    )

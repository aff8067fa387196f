"""The Rust names of what one body uses: accounts, arguments, state, events, errors and local variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import filterfalse
from typing import Protocol

from mcpsol_py.bodies.tree import AccountItem, Function, OpenState
from mcpsol_py.model.program import Account, Instruction
from mcpsol_py.render.account_lookup import flatten
from mcpsol_py.render.rust import IdentifierPool

__all__ = ["RustNames", "StructNames", "accounts_alone"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def accounts_alone(
    ix: Instruction, fields: Iterable[_Named]
) -> list[tuple[str, Account, str]]:
    """The accounts of *ix* in no group: the source's name, the account, and the name of its field in Rust."""
    pairs = zip(flatten(ix.accounts), fields, strict=True)
    return [
        (path[0], account, field.name)
        for (path, account), field in pairs
        if len(path) == 1
    ]


@dataclass(frozen=True, slots=True)
class StructNames:
    """A struct with its fields, or an enum with its variants, by the source's names.

    `wrapped`: fields that are read by `get` and written by `set`. `coded`: fields that are bytes, which functions read
    and write.
    """

    type: str
    fields: dict[str, str]
    wrapped: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()
    #: fields that hold a reference
    references: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RustNames:
    """The names of one function, by the source's names.

    `accounts` and `arguments` are expressions. `states`: the state that an account holds. `seeds`: the
    expression of the seeds with which the program signs for an account.
    """

    errors: dict[str, str]
    helpers: dict[str, str]
    variables: IdentifierPool
    arguments: dict[str, str]
    accounts: dict[str, str] = field(default_factory=dict)
    states: dict[str, StructNames] = field(default_factory=dict)
    seeds: dict[str, str] = field(default_factory=dict)
    events: dict[str, StructNames] = field(default_factory=dict)
    #: structs and enums that are values
    types: dict[str, StructNames] = field(default_factory=dict)
    locals: dict[str, str] = field(default_factory=dict)
    #: the variables that hold a copy of an account's view, its borrowed data, and its state
    views: dict[str, str] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    borrowed: dict[str, str] = field(default_factory=dict)
    #: the optional accounts, as fields that may hold nothing
    optional: dict[str, str] = field(default_factory=dict)
    #: the account types of the crate
    kinds: dict[str, StructNames] = field(default_factory=dict)
    #: the address at which the program runs, as a reference
    program: str = ""
    #: the fields with the bumps of addresses
    bumps: dict[str, str] = field(default_factory=dict)
    #: the state that the body opens, by its own names, and the types of it
    opened: set[str] = field(default_factory=set)
    opened_states: dict[str, StructNames] = field(default_factory=dict)
    #: the accounts whose state is a parameter of the function
    parameters: frozenset[str] = frozenset()
    #: the names of values inside expressions, by those that they would have
    inside: dict[str, str] = field(default_factory=dict)

    def inner(self, name: str) -> str:
        """The name of a value inside an expression. No variable or argument of the function has it."""
        if name not in self.inside:
            self.inside[name] = self.variables.take(name)
        return self.inside[name]

    def open(self, node: OpenState, state: StructNames) -> None:
        """Let the body use the state that it opens by a name of its own."""
        self.opened_states[node.state] = state
        if node.name is not None:
            self.accounts[node.name] = self.accounts[node.account]
            self.states[node.name] = state
            self.opened.add(node.name)

    def add_variables(self, function: Function) -> None:
        """Give every local variable, and every account with state, a name of its own."""
        for name, variable in function.locals.items():
            self.locals[name] = self.variables.take(name)
            if isinstance(variable.type, AccountItem):
                self.accounts[name] = self.locals[name]
                if variable.type.state is not None:
                    self.states[name] = self.kinds[variable.type.state]
        for account in filterfalse(self.parameters.__contains__, self.states):
            stem = account.removeprefix("_") or account
            self.borrowed[account] = self.variables.take(f"{stem}_state")
            self.views[account] = self.variables.take(f"{stem}_view")
            self.guards[account] = self.variables.take(f"{stem}_data")

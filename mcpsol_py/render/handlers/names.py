"""The Rust names of what one body uses: accounts, arguments, state, events, errors and local variables."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpsol_py.bodies.tree import Function
from mcpsol_py.render.rust import IdentifierPool

__all__ = ["RustNames", "StructNames"]


@dataclass(frozen=True, slots=True)
class StructNames:
    """A struct, and its fields by the source's names. `wrapped`: fields that are read by `get` and written by `set`."""

    type: str
    fields: dict[str, str]
    wrapped: frozenset[str] = frozenset()


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
    locals: dict[str, str] = field(default_factory=dict)
    #: the variables that hold a copy of an account's view, its borrowed data, and its state
    views: dict[str, str] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    borrowed: dict[str, str] = field(default_factory=dict)

    def add_variables(self, function: Function) -> None:
        """Give every local variable, and every account with state, a name of its own."""
        for account in self.states:
            stem = account.removeprefix("_") or account
            self.borrowed[account] = self.variables.take(f"{stem}_state")
            self.views[account] = self.variables.take(f"{stem}_view")
            self.guards[account] = self.variables.take(f"{stem}_data")
        for name in function.locals:
            self.locals[name] = self.variables.take(name)

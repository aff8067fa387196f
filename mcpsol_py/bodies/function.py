"""What the checks of one function share: its names, its refusals, and the error of its overflows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from mcpsol_py.bodies.problems import Node, Refusals
from mcpsol_py.bodies.scope import Meaning, ProgramName, ProgramScope, type_name
from mcpsol_py.bodies.tree import (
    UNKNOWN,
    AccountItem,
    BodyType,
    LocalVariable,
    Unknown,
)
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import Int, Type

__all__ = ["Context", "Fact", "Stopped", "may_be_none"]

#: What a condition has shown: an account is a token account or a mint, or an optional value or account is there.
Fact: TypeAlias = tuple[str, Literal["account", "mint", "there"]]
_KINDS: frozenset[Literal["account", "mint", "there"]] = frozenset(("account", "mint"))

_UNKNOWN = Unknown()
#: The bytes of one copy at most, and of all larger ones in a function, for which the SVM has 4,096 bytes of stack.
_MOST_BYTES, _MOST_COPIED, _SMALL = 1024, 2048, 128


class Stopped(Exception):
    """A part of the expression or statement is refused, so that its check cannot go on."""


def may_be_none(node: ast.expr) -> str:
    """Return why a value or an account that may be None is refused."""
    shown = ast.unparse(node)
    first = "" if isinstance(node, ast.Name) else "give it a name, and "
    example = shown if isinstance(node, ast.Name) else "x"
    return f"{shown} may be None: {first}check it first, as in `if {example} is None: raise …`"


@dataclass(slots=True)
class Context:
    """One function while it is checked.

    `local_names`: every name that the function assigns somewhere; Python makes them local from its
    first line on. `assigned`: those that have a value on every path to here, `maybe_assigned` on
    some path. `overflow`: the error of the `with overflow(…)` around the statement.
    """

    scope: ProgramScope
    refusals: Refusals
    name: str
    is_method: bool
    #: the accounts of the signature
    declared: dict[str, Account]
    arguments: dict[str, BodyType]
    returns: Type | None
    local_names: frozenset[str]
    locals: dict[str, LocalVariable] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    maybe_assigned: set[str] = field(default_factory=set)
    overflow: str | None = None
    #: all parameters of a helper in their order
    parameters: dict[str, BodyType] = field(default_factory=dict)
    #: the number of loops around the statement
    loops: int = 0
    #: the variables that loops over items give a value
    items: set[str] = field(default_factory=set)
    #: the state that it opens, by the names that it gives to it, each with the account and as an account
    opened: dict[str, tuple[str, Account]] = field(default_factory=dict)
    #: the accounts of which some path to here has opened the state
    open_accounts: set[str] = field(default_factory=set)
    #: the accounts that some path to here has closed
    closed: set[str] = field(default_factory=set)
    #: what conditions have shown on every path to here
    facts: set[Fact] = field(default_factory=set)
    #: the bytes of its larger copies
    copied: int = 0
    #: the helpers that it calls, each with one of the calls
    called: dict[str, ast.Call] = field(default_factory=dict)

    @property
    def accounts(self) -> dict[str, Account]:
        """The accounts of the signature, and the state that every path to here has opened.

        An optional account that is known to be there is an account like others.
        """
        held = {n: state for n, (_, state) in self.opened.items() if n in self.assigned}
        there = {
            name: replace(self.declared[name], optional=False)
            for name, fact in self.facts
            if fact == "there" and name in self.declared
        }
        return self.declared | there | held

    def need_there(self, node: ast.expr, account: Account) -> None:
        """Refuse an account that may be None, and raise Stopped."""
        self.need(not account.optional, node, may_be_none(node))

    def need_required(self, node: ast.expr, name: str, why: str) -> None:
        """Refuse an account that the caller may leave out, whatever a condition has shown. Raises Stopped."""
        is_optional = name in self.declared and self.declared[name].optional
        self.need(not is_optional, node, f"{name} is optional: {why}")

    def always_there(self, node: ast.expr) -> str:
        """Return the name of an account of the instruction, which is not None. Raises Stopped."""
        name = ast.unparse(node)
        account = self.accounts.get(name)
        if account is None:
            raise self.stopped(node, f"{name} is not an account of the instruction")
        self.need_there(node, account)
        return name

    def need_closed(self, node: Node, account: str) -> None:
        """Refuse *node*, and raise Stopped, if a path to here has opened state in this account."""
        why = f"the state of {account} is open: use the name that it has"
        self.need(account not in self.open_accounts, node, why)

    def need_free(self, target: ast.Name) -> None:
        """Refuse to give a value to a name that has another meaning in the function. Raises Stopped."""
        name = target.id
        is_parameter = name in {"self", *self.declared, *self.arguments}
        why = f"{name!r} is a parameter: give the new value another name"
        self.need(not is_parameter, target, why)
        self.need(name not in self.items, target, f"{name!r} is the variable of a loop")
        why = f"{name!r} is state: give the value another name"
        self.need(name not in self.opened, target, why)
        if not name.isascii():
            self.refuse(target, "a name in a body has only ASCII characters")

    def variable(self, target: ast.Name, kind: BodyType) -> LocalVariable:
        """Return the variable that gets a value of this type. Another type than before is refused."""
        name = target.id
        variable = self.locals.setdefault(name, LocalVariable(kind))
        if variable.type is UNKNOWN:
            variable.type = kind
        if kind not in (variable.type, UNKNOWN):
            why = f"{name!r} is {type_name(variable.type)}, not {type_name(kind)}"
            self.refuse(target, why)
        return variable

    @contextmanager
    def own_names(self, names: Iterable[str]) -> Iterator[None]:
        """Let a part of the function have variables of its own, for as long as the block lasts."""
        before = self.local_names, set(self.assigned), set(self.maybe_assigned)
        self.local_names |= frozenset(names)
        try:
            yield
        finally:
            self.local_names, self.assigned, self.maybe_assigned = before

    @contextmanager
    def knowing(self, facts: Iterable[Fact]) -> Iterator[None]:
        """Know these facts too, for as long as the block lasts."""
        before = self.facts
        self.facts = set(before)
        for name, fact in facts:
            if fact in _KINDS:  # the last one counts, if a condition shows both
                self.facts -= {(name, other) for other in _KINDS}
            self.facts.add((name, fact))
        yield
        self.facts = before

    def refuse(self, node: Node, why: str) -> Unknown:
        """Record that *node* is refused, and go on with a value that fits everywhere."""
        self.refusals.add(node, why)
        return _UNKNOWN

    def need_named(self, node: Node, account: str) -> None:
        """Refuse *node*, which writes the state of an account, if that is one after the named ones. Raises Stopped."""
        found = self.locals.get(account)
        is_item = found is not None and isinstance(found.type, AccountItem)
        why = "the state of the accounts after the named ones is only read"
        self.need(not is_item, node, why)

    def need_room(self, node: Node, count: int) -> None:
        """Refuse *node*, a copy of *count* bytes, if it does not fit the stack. Raises Stopped."""
        hint = "read the numbers and short parts that you need"
        why = f"a body copies at most {_MOST_BYTES:,} bytes at once, not {count:,}"
        self.need(count <= _MOST_BYTES, node, f"{why}: {hint}")
        self.copied += count if count > _SMALL else 0
        why = f"a function has room for copies of {_MOST_COPIED:,} bytes in all"
        self.need(self.copied <= _MOST_COPIED, node, f"{why}: {hint}")

    def need(self, condition: bool, node: Node, why: str) -> None:
        """Refuse *node*, and raise Stopped, unless *condition* holds."""
        if not condition:
            raise self.stopped(node, why)

    def stopped(self, node: Node, why: str) -> Stopped:
        """Refuse *node*, and return the exception that ends its check."""
        self.refuse(node, why)
        return Stopped()

    def number(self, node: ast.expr, kind: BodyType, why: str) -> Int:
        """Return *kind*, the type of *node*, if it is a number's. Raises Stopped for other types."""
        if isinstance(kind, Int):
            return kind
        raise self.stopped(node, why)

    def meaning(self, node: ast.expr) -> Meaning | None:
        """Return the meaning of a name, `self.Name` or `Program.Name` in the spec; None for others."""
        match node:
            case ast.Name(name) if not self.is_own(name):
                return self.scope.names.get(name)
            case ast.Attribute(ast.Name(owner), name) if self._is_program(owner):
                return self.scope.members.get(name)
        return None

    def _is_program(self, name: str) -> bool:
        """Return whether *name* is `self` or the program class."""
        if name == "self":
            return self.is_method
        return not self.is_own(name) and isinstance(
            self.scope.names.get(name), ProgramName
        )

    def is_own(self, name: str) -> bool:
        """Return whether *name* is a parameter or a local variable."""
        return (
            name in self.local_names or name in self.accounts or name in self.arguments
        )

"""Checks what loops go over, and gives their variables a value: of `for`, and of those in `all(…)` and `any(…)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.expressions import Expressions
from mcpsol_py.bodies.scope import Word, type_name
from mcpsol_py.bodies.token_reads import kind_of
from mcpsol_py.bodies.tree import LITERAL, UNKNOWN, BodyType, Expression
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import U64, Array

__all__ = ["COUNTED", "Loops", "Turns", "items_of"]

#: The expressions that are an int in Python.
COUNTED = (tree.LocalName, tree.DataLength)

_Over: TypeAlias = tree.Range | tree.Items | tree.Zip | tree.Extensions


@dataclass(frozen=True, slots=True)
class Turns:
    """The head of a loop: what it goes over, its variables, and the one that counts its turns."""

    over: _Over
    names: tuple[str, ...]
    index: str | None
    #: the variables that are accounts after the named ones
    accounts: dict[str, Account]


class Loops:
    """Checks the heads of the loops of one function."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.context = expressions.context
        self.need, self.stopped = expressions.need, expressions.stopped

    def turns(self, target: ast.expr, items: ast.expr) -> Turns:
        """Return the head of `for target in items`, whose variables have a value from here on. Raises Stopped."""
        counted = self._numbered(items)
        over = self._over(counted or items)
        values = over.parts if isinstance(over, tree.Zip) else (over,)
        is_numbered = counted is not None
        targets = self._variables(target, len(values), is_numbered=is_numbered)
        for each, value in zip(targets, values, strict=False):
            self._start(each, value, value.type)
        names = tuple(each.id for each in targets[: len(values)])
        index = None
        if is_numbered:
            number = targets[len(values)]
            self._start(number, tree.LocalName("", LITERAL), tree.Counter(U64))
            index = number.id
        return Turns(over, names, index, dict(_accounts_of(names, values)))

    @contextmanager
    def one_turn(self, turns: Turns, changed: Iterable[str]) -> Iterator[None]:
        """Check one turn of a loop, of which any may have assigned the variables *changed*.

        The loop may run no time at all, so what its turns have shown is forgotten.
        """
        context = self.context
        context.declared |= turns.accounts
        context.facts = {fact for fact in context.facts if fact[0] not in changed}
        with context.knowing(()):
            yield
        for name in turns.accounts:
            del context.declared[name]

    # --- variables

    def _variables(
        self, node: ast.expr, count: int, *, is_numbered: bool
    ) -> list[ast.Name]:
        """Return the *count* variables of a loop's values, then that of their numbers. Raises Stopped."""
        wanted = count + is_numbered
        parts = [node]
        if isinstance(node, ast.Tuple) and wanted > 1:
            parts = node.elts
        names = [part for part in parts if isinstance(part, ast.Name)]
        if len(names) == len(parts) == wanted:
            for i, each in enumerate(names):
                is_new = each.id not in [other.id for other in names[:i]]
                why = f"{each.id!r} is another variable of this loop: give each a name of its own"
                self.need(is_new, each, why)
            return [*names[is_numbered:], *names[:is_numbered]]
        example = "for i, item in enumerate(…)" if is_numbered else "for a, b in zip(…)"
        shown = {1: "a name", 2: f"two names, as in `{example}`"}
        why = shown.get(wanted, f"{wanted} names")
        raise self.stopped(node, f"the variable of a loop is {why}")

    def _start(self, target: ast.Name, over: Expression, kind: BodyType) -> None:
        """Give a variable of a loop its first value. No other line assigns that of an item. Raises Stopped."""
        context, name = self.context, target.id
        if isinstance(over, tree.Items):
            is_own = name in context.items or name not in context.locals
            self.need(
                is_own, target, f"{name!r} has a value: give the loop another name"
            )
            context.items.discard(name)
        context.need_free(target)
        if isinstance(over, tree.Items):
            context.items.add(name)
        self._need_one_type(target, kind)
        context.variable(target, kind)
        context.assigned.add(name)
        context.maybe_assigned.add(name)

    def _need_one_type(self, target: ast.Name, kind: BodyType) -> None:
        """Refuse a name that has values of another type elsewhere in the function. Raises Stopped."""
        held = self.context.locals.get(target.id)
        known = kind if held is None else held.type
        names = [
            type_name(each.number if isinstance(each, tree.Counter) else each)
            for each in (known, kind)
        ]
        shown = f"{target.id!r} is {names[0]} elsewhere, not {names[1]}"
        why = f"{shown}: give the loop another name"
        self.need(UNKNOWN in (known, kind) or known == kind, target, why)

    # --- what a loop goes over

    def _over(self, node: ast.expr) -> _Over:
        """Return what a loop goes over. Raises Stopped."""
        sequence = self.expressions.sequence(node)
        if sequence is not None:
            return items_of(sequence)
        match node:
            case ast.Call(func, parts, named) if self._is_word(func, "zip"):
                return self._zip(node, parts, named)
            case ast.Call(func, [account], []) if self._is_word(func, "extensions"):
                return tree.Extensions(self._holding_tokens(account))
            case ast.Call(func, [stop], []) if self._is_word(func, "range"):
                return self._range(node, ast.copy_location(ast.Constant(0), stop), stop)
            case ast.Call(func, [start, stop], []) if self._is_word(func, "range"):
                return self._range(node, start, stop)
        raise self.stopped(
            node,
            "a loop goes over range(…) with one number or two, a list, zip(…), or extensions(…)",
        )

    def _is_word(self, node: ast.expr, name: str) -> bool:
        return self.context.meaning(node) == Word(name)

    def _zip(
        self, node: ast.Call, parts: list[ast.expr], named: list[ast.keyword]
    ) -> tree.Zip:
        """`zip(accounts, shares, strict=True)`."""
        is_strict = [(each.arg, ast.unparse(each.value)) for each in named] == [
            ("strict", "True")
        ]
        why = "write zip(…, strict=True): items without a partner would be left out"
        self.need(is_strict, node, why)
        self.need(len(parts) > 1, node, "zip takes two sequences or more")
        found = [(part, self.expressions.sequence(part)) for part in parts]
        for part, sequence in found:
            why = f"expected a list or accounts to zip, got {ast.unparse(part)}"
            self.need(sequence is not None, part, why)
        return tree.Zip(
            tuple(items_of(sequence) for _, sequence in found if sequence is not None)
        )

    def _numbered(self, node: ast.expr) -> ast.expr | None:
        """Return what `enumerate(…)` goes over; None for other expressions."""
        match node:
            case ast.Call(func, [items], []) if self._is_word(func, "enumerate"):
                why = f"expected a list to enumerate, got {ast.unparse(items)}"
                self.need(self.expressions.sequence(items) is not None, items, why)
                return items
        return None

    def _range(self, node: ast.Call, start: ast.expr, stop: ast.expr) -> tree.Range:
        """Return the bounds of a loop, in u64 if both are written out. Raises Stopped."""
        first, last, kind = self.expressions.operands(start, stop)
        if kind is LITERAL:
            first, last = (
                self.expressions.as_literal(side, found, U64)
                for side, found in ((start, first), (stop, last))
            )
            return tree.Range(first, last, tree.Counter(U64))
        why = f"the bounds of a loop are numbers, not {type_name(kind)}"
        for side, found in ((start, first), (stop, last)):
            if isinstance(found.type, tree.Counter) and isinstance(found, COUNTED):
                why = f"{why}: {self.expressions.converted(side, found.type.number)}"
        return tree.Range(
            first, last, tree.Counter(self.context.number(node, kind, why))
        )

    def _holding_tokens(self, node: ast.expr) -> str:
        """Return the name of a token account or a mint. Raises Stopped."""
        name = self.context.always_there(node)
        kind = kind_of(self.context, self.context.accounts[name])
        self.need(
            kind is not None, node, f"{name} is neither a token account nor a mint"
        )
        return name


def items_of(sequence: tree.Argument) -> tree.Items:
    """Return the items of a list, or of the accounts after the named ones."""
    kind = sequence.type
    if isinstance(kind, tree.Accounts):
        rules = kind.each.constraints
        return tree.Items(
            sequence, tree.AccountItem(None if rules is None else rules.state)
        )
    assert isinstance(kind, Array)
    return tree.Items(sequence, kind.item)


def _accounts_of(
    names: Iterable[str], values: Iterable[Expression]
) -> Iterator[tuple[str, Account]]:
    """Return the variables of a loop that are accounts, with what these are."""
    for name, over in zip(names, values, strict=True):
        kind = over.sequence.type if isinstance(over, tree.Items) else None
        if isinstance(kind, tree.Accounts):
            yield name, kind.each.account(name)

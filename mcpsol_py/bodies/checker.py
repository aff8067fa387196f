"""Checks the bodies of a program: all type rules and all refusals. The result is a typed tree for each body."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from types import EllipsisType
from typing import Any, Literal

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.calls import Calls
from mcpsol_py.bodies.expressions import is_simple
from mcpsol_py.bodies.function import Context, Fact, Stopped
from mcpsol_py.bodies.problems import Node, Refusals
from mcpsol_py.bodies.scope import ProgramScope, Signature, Word, type_name
from mcpsol_py.bodies.token_reads import learned, without_none
from mcpsol_py.bodies.tree import (
    LITERAL,
    NONE,
    UNKNOWN,
    BodyType,
    Expression,
    Function,
    LocalVariable,
    ProgramBodies,
    Statement,
)
from mcpsol_py.errors import SourceError
from mcpsol_py.items import types_by_name
from mcpsol_py.model.program import Instruction
from mcpsol_py.model.types import Array, Option

__all__ = ["check_bodies", "has_body"]

_NO_STATEMENT = {
    ast.Assert: "`python -O` leaves assert out: use require(condition, error)",
    ast.Try: "nothing catches an error: a program that fails is over",
    ast.TryStar: "nothing catches an error: a program that fails is over",
    ast.While: "`while` has no bound: write `for i in range(…)` and `break`",
    ast.Delete: "bodies have no del",
    ast.Global: "bodies have no global variables",
    ast.Nonlocal: "bodies have no variables of an outer function",
    ast.Import: "import at the top of the module",
    ast.ImportFrom: "import at the top of the module",
    ast.FunctionDef: "a function belongs in the module, not in a body",
    ast.AsyncFunctionDef: "a function belongs in the module, not in a body",
    ast.ClassDef: "a class belongs in the module, not in a body",
    ast.AsyncFor: "bodies have no async",
    ast.AsyncWith: "bodies have no async",
}


#: How many levels of statements and expressions a function has at most: Python and rustc go down one by one.
_MOST_LEVELS = 100
_TOO_DEEP = (
    f"this is more than {_MOST_LEVELS} levels deep, and each operator, elif and case is one:"
    " give parts of it a name, or move them to a function of the module"
)
#: In place of a variant: the case of None.
_NOTHING = "None"


def has_body(node: ast.FunctionDef) -> bool:
    """Return whether a method has a body: more than a docstring, `...` and `pass`."""
    return not all(map(_is_empty, node.body))


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(
        value.value, (str, EllipsisType)
    )


def check_bodies(
    scope: ProgramScope,
    methods: Iterable[tuple[Instruction, ast.FunctionDef]],
    text: str,
) -> tuple[ProgramBodies, Refusals]:
    """Check the methods that have a body, and the helpers that they call.

    `text`: of the spec's file. Returns the trees and the refusals; the trees are whole only without refusals.
    """
    refusals = Refusals(text)
    bodies = ProgramBodies()
    by_methods: dict[str, ast.Call] = {}
    for ix, method in methods:
        context = _of_instruction(scope, ix, method, refusals)
        bodies.instructions[ix.name] = BodyChecker(context).check(method)
        by_methods |= context.called
    calls: dict[str, dict[str, ast.Call]] = {}
    waiting = list(by_methods)
    while waiting:
        name = waiting.pop()
        signature = scope.signature(name)
        if name in bodies.helpers or isinstance(signature, str):
            continue
        context = _of_helper(scope, name, signature, refusals)
        bodies.helpers[name] = BodyChecker(context).check(signature.node)
        calls[name] = context.called
        waiting += context.called
    for name in bodies.helpers:
        _refuse_recursion(name, calls, refusals)
    return bodies, refusals


def _of_instruction(
    scope: ProgramScope, ix: Instruction, node: ast.FunctionDef, refusals: Refusals
) -> Context:
    arguments: dict[str, BodyType] = {**types_by_name(ix.args)}
    arguments |= {each.name: tree.Accounts(each) for each in ix.remaining}
    accounts = scope.accounts_of(ix)
    own = {*arguments, *accounts}
    return Context(
        scope,
        refusals,
        ix.name,
        True,
        accounts,
        dict(arguments),
        ix.returns,
        _assigned_in(node) - own,
    )


def _of_helper(
    scope: ProgramScope, name: str, signature: Signature, refusals: Refusals
) -> Context:
    local_names = _assigned_in(signature.node) - signature.arguments.keys()
    return Context(
        scope,
        refusals,
        name,
        False,
        signature.accounts,
        signature.values,
        signature.returns,
        local_names,
        parameters=signature.arguments,
    )


def _assigned_in(node: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function assigns, without those of the loops inside `all(…)` and `any(…)`."""
    return _names_assigned(node.body)


def _names_assigned(statements: Iterable[ast.stmt]) -> frozenset[str]:
    nodes = [n for statement in statements for n in ast.walk(statement)]
    loops = [n.target for n in nodes if isinstance(n, ast.comprehension)]
    inner = {n for target in loops for n in ast.walk(target)}
    names = [n for n in nodes if isinstance(n, ast.Name) and n not in inner]
    return frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))


def _refuse_recursion(
    name: str, calls: dict[str, dict[str, ast.Call]], refusals: Refusals
) -> None:
    """Refuse the calls of helper *name* that lead back to it."""
    for called, node in calls[name].items():
        if name in _reached(called, calls):
            refusals.add(node, f"{called}(…) calls itself: bodies have no recursion")


def _reached(name: str, calls: dict[str, dict[str, ast.Call]]) -> set[str]:
    """Return the helpers that *name* calls, directly or not, and itself."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += calls.get(current, {})
    return found


class BodyChecker:
    """Checks the statements of one function."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.refuse, self.need, self.stopped = (
            context.refuse,
            context.need,
            context.stopped,
        )
        self.calls = Calls(context)
        self.expressions = self.calls.expressions

    def check(self, node: ast.FunctionDef) -> Function:
        """Return the function's tree."""
        context = self.context
        self._refuse_changed_names(node)
        deep = _first_deep(node)
        if deep is not None:
            self.refuse(deep, _TOO_DEEP)
            return self._function(())
        body = self.block(node.body)
        if context.returns is not None and not leaves(body):
            self.refuse(node, f"{context.name} may end without a return value")
        return self._function(body)

    def _function(self, body: tuple[Statement, ...]) -> Function:
        context = self.context
        return Function(
            context.name,
            body,
            context.locals,
            tuple((context.parameters or context.arguments).items()),
            context.returns,
        )

    def _refuse_changed_names(self, node: ast.FunctionDef) -> None:
        """Refuse names that Python looks up as `_Class__name`, since it reads them inside a class."""
        for name in ast.walk(node) if self.context.is_method else ():
            if isinstance(name, ast.Name) and _is_changed(name.id):
                is_known = self.context.meaning(name) is not None
                why = "Python changes such a name inside a class: begin it with one underscore"
                if is_known:
                    self.refuse(name, why)

    def block(self, statements: list[ast.stmt]) -> tuple[Statement, ...]:
        """Return the trees of statements that follow one another."""
        out: list[Statement] = []
        for node in statements:
            if leaves(out):
                self.refuse(node, "this is never reached")
                break
            out += self._statement(node)
        return tuple(out)

    def _statement(self, node: ast.stmt) -> tuple[Statement, ...]:
        try:
            found = tuple(_CHECKS.get(type(node), BodyChecker.missing)(self, node))
        except Stopped:
            return ()
        self.expressions.data.end(found)
        return found

    def missing(self, node: ast.stmt) -> Iterator[Statement]:
        """Refuse a statement that bodies do not have."""
        self._assume_assigned(node)
        raise self.stopped(
            node, _NO_STATEMENT.get(type(node), "this cannot be used in a body")
        )

    def _assume_assigned(self, node: ast.stmt) -> None:
        """Give the names that a refused statement assigns a value, so that they are not reported too."""
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        for name in self.context.local_names.intersection(names):
            self.context.locals.setdefault(name, LocalVariable(UNKNOWN))
            self.context.assigned.add(name)

    # --- assignments

    def assign(self, node: ast.Assign) -> Iterator[Statement]:
        if len(node.targets) != 1 or isinstance(node.targets[0], (ast.Tuple, ast.List)):
            self.refuse(node, "assign to one name at a time")
            self._assume_assigned(node)
            return
        target = node.targets[0]
        if isinstance(node.value, ast.Call) and self.calls.opening.word(node.value):
            why = "the state that is opened gets a name of its own"
            self.need(isinstance(target, ast.Name), target, why)
            assert isinstance(target, ast.Name)
            yield self.calls.opening.statement(node.value, target)
            return
        of = (
            self.calls.whole_value
            if isinstance(target, ast.Name)
            else self.expressions.value
        )
        yield self._set(target, of(node.value), node.value)

    def annotated(self, node: ast.AnnAssign) -> Iterator[Statement]:
        if node.value is None or not isinstance(node.target, ast.Name):
            self.refuse(node, "expected `name: type = value`")
            return
        try:
            kind: BodyType = self.context.scope.type_of(node.annotation)
        except SourceError as error:
            self.refuse(node.annotation, error.text)
            kind = UNKNOWN
        if kind is not UNKNOWN and not self.context.scope.is_usable(kind):
            shown = ast.unparse(node.annotation)
            kind = self.refuse(
                node.annotation, f"{shown} cannot be used in a body yet"
            ).type
        value = self.expressions.fits(
            node.value, self.calls.whole_value(node.value), kind
        )
        held = self.context.locals.get(node.target.id, LocalVariable(kind)).type
        why = f"{node.target.id!r} is {type_name(held)} already: give the value another name"
        self.need(UNKNOWN in (held, kind) or held == kind, node.target, why)
        yield self._set(node.target, value, node.value)

    def augmented(self, node: ast.AugAssign) -> Iterator[Statement]:
        whole = ast.copy_location(
            ast.BinOp(_as_value(node.target), node.op, node.value), node.target
        )
        yield self._set(node.target, self.expressions.value(whole), node.value)

    def _set(self, target: ast.expr, value: Expression, node: ast.expr) -> Statement:
        match target:
            case ast.Name(name):
                shown = ast.unparse(node)
                why = f"{shown} is an int in Python: write u64({shown})"
                self.need(not isinstance(value.type, tree.Counter), node, why)
                return self._set_local(target, name, value, node)
            case ast.Attribute(ast.Name(account), name) if (
                account in self.context.accounts
            ):
                return self._set_field(target, account, name, value, node)
        raise self.stopped(target, "assign to a name, or to account.field")

    def _set_local(
        self, target: ast.Name, name: str, value: Expression, node: ast.expr
    ) -> Statement:
        context = self.context
        context.need_free(target)
        held = context.locals.get(name)
        if held is not None and isinstance(held.type, Option):
            value = self.expressions.as_optional(node, value, held.type)
        kind = value.type
        if kind is LITERAL:
            shown = ast.unparse(node)
            kind = self.refuse(node, f"{shown} has no width: write u64({shown})").type
        if kind is NONE:
            why = f"None has no type here: write it before, as in {name}: u64 | None = None"
            kind = self.refuse(node, why).type
        if kind is tree.EXTENSION:
            self.refuse(
                node, f"{type_name(kind)} is not kept: keep what you read of it"
            )
        variable = context.variable(target, kind)
        if isinstance(kind, Array) and not isinstance(value, tree.DataRead):
            assert isinstance(kind.count, int)
            context.need_room(target, kind.count)
        if _bare(value) == tree.LocalName(name, variable.type):
            self.refuse(target, f"{name} = {name} changes nothing")
        variable.is_reassigned |= name in context.maybe_assigned
        context.assigned.add(name)
        context.maybe_assigned.add(name)
        context.facts.discard((name, "there"))
        if isinstance(value, tree.SomeOf):
            context.facts.add((name, "there"))
        return tree.Assign(name, value)

    def _set_field(
        self,
        target: ast.Attribute,
        account: str,
        name: str,
        value: Expression,
        node: ast.expr,
    ) -> Statement:
        field = self.expressions.attribute(target)
        can_be_written = isinstance(field, tree.StateField)
        self.need(can_be_written, target, f"{account}.{name} cannot be written")
        self.context.need_named(target, account)
        if not self.context.accounts[account].writable:
            self.refuse(target, f"{account} is only read: declare it as Mut[…]")
        if value == field:
            self.refuse(target, f"{account}.{name} = {account}.{name} changes nothing")
        return tree.SetField(
            account, name, self.expressions.fits(node, value, field.type)
        )

    # --- control

    def expression(self, node: ast.Expr) -> Iterator[Statement]:
        match node.value:
            case ast.Call() as call:
                yield self.calls.statement(call)
            case ast.Constant(str()):
                pass  # a docstring, or a comment
            case _:
                self.expressions.value(node.value)
                self.refuse(node, "this value is not used")

    def nothing(self, node: ast.Pass) -> Iterator[Statement]:
        return iter(())

    def if_else(self, node: ast.If) -> Iterator[Statement]:
        context = self.context
        test = self.expressions.condition(node.test)
        before, maybe = set(context.assigned), set(context.maybe_assigned)
        open_before, closed_before = set(context.open_accounts), set(context.closed)
        facts_then, then = self._block_knowing(node.body, learned(test, True))
        after_then, maybe_then = context.assigned, context.maybe_assigned
        open_then, context.open_accounts = context.open_accounts, open_before
        closed_then, context.closed = context.closed, closed_before
        context.assigned, context.maybe_assigned = set(before), set(maybe)
        facts_other, other = self._block_knowing(node.orelse, learned(test, False))
        context.maybe_assigned |= maybe_then
        if leaves(other):
            context.open_accounts, context.closed = open_then, closed_then
        elif not leaves(then):
            context.open_accounts |= open_then
            context.closed |= closed_then
        if leaves(other):
            context.assigned, context.facts = after_then, facts_then
        elif leaves(then):
            context.facts = facts_other
        else:
            context.assigned &= after_then
            context.facts = facts_then & facts_other
        yield tree.If(test, then, other)

    def _block_knowing(
        self, statements: list[ast.stmt], facts: Iterable[Fact]
    ) -> tuple[set[Fact], tuple[Statement, ...]]:
        """Check a block that a condition has decided. Returns what is known at its end, and its trees."""
        with self.context.knowing(facts):
            block = self.block(statements)
            return self.context.facts, block

    def loop(self, node: ast.For) -> Iterator[Statement]:
        """`for i in range(start, stop)`. It may run no time at all, and its variables end with it."""
        context = self.context
        why = "a loop has no else: it would run if the loop does not break"
        self.need(not node.orelse, node.orelse[0] if node.orelse else node, why)
        turns = self.calls.loops.turns(node.target, node.iter)
        names = [*turns.names, *filter(None, [turns.index])]
        before = context.assigned.difference(names)
        context.loops += 1
        with self.calls.loops.one_turn(turns, _names_assigned([node])):
            body = self.block(node.body)
        context.loops -= 1
        self.expressions.data.end_in_loop(node, before, body)
        context.assigned = before
        context.maybe_assigned.difference_update(names)
        is_quiet = not isinstance(turns.over, tree.Extensions) or not any(
            tree.find(body, tree.CALLS)
        )
        self.need(
            is_quiet,
            node,
            "a loop over extensions calls no program: it reads the account",
        )
        yield tree.For(turns.names, turns.over, body, turns.index)

    def jump(self, node: ast.Break | ast.Continue) -> Iterator[Statement]:
        word: Literal["break", "continue"] = (
            "break" if isinstance(node, ast.Break) else "continue"
        )
        yield tree.Jump(word)

    def match(self, node: ast.Match) -> Iterator[Statement]:
        """`match` compares its subject with one case after another, as `if` and `elif` do."""
        subject = self.expressions.value(node.subject)
        self.expressions.known(subject)
        why = "match takes a name or a field: assign the value first"
        self.need(is_simple(subject), node.subject, why)
        variants = set(self.context.scope.variants(without_none(subject.type)))
        if variants and isinstance(subject.type, Option):
            variants.add(_NOTHING)
        yield from self.block(self._cases(node, variants))

    def _cases(self, node: ast.Match, variants: set[str]) -> list[ast.stmt]:
        """Return the cases as one `if` statement.

        `variants`: those of an enum, and None if it may be None; the last of them is an `else`.
        """
        left = set(variants)
        first: list[ast.stmt] = []
        block = first
        for case in node.cases:
            left -= _named_variants(case.pattern)
            why = "a case has no condition: write `if` inside it"
            self.need(case.guard is None, case.guard or node, why)
            test = None if _is_rest(case.pattern) else self._test(node.subject, case)
            if test is not None and variants and not left:
                # the last variant needs no condition, but its type is checked
                self.expressions.condition(test)
                test = None
            if test is None:
                block += case.body
                if case is not node.cases[-1]:
                    self.refuse(
                        case.pattern,
                        "no case comes after this one: it takes all values",
                    )
                break
            made = ast.copy_location(ast.If(test, case.body, []), case.body[0])
            block.append(made)
            block = made.orelse
        return first

    def _test(self, subject: ast.expr, case: ast.match_case) -> ast.expr:
        """Return the condition of a case."""
        pattern = case.pattern
        parts = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
        tests = [self._is_value(subject, part) for part in parts]
        if len(tests) == 1:
            return tests[0]
        return ast.copy_location(ast.BoolOp(ast.Or(), tests), tests[0])

    def _is_value(self, subject: ast.expr, part: ast.pattern) -> ast.expr:
        if isinstance(part, ast.MatchSingleton) and part.value is None:
            nothing = ast.copy_location(ast.Constant(None), part)
            return ast.copy_location(ast.Compare(subject, [ast.Is()], [nothing]), part)
        if not isinstance(part, ast.MatchValue):
            why = "a case is a number, a variant such as State.Open, None, several of them with |, or _"
            raise self.stopped(part, why)
        compared = ast.Compare(subject, [ast.Eq()], [part.value])
        return ast.copy_location(compared, part.value)

    def with_overflow(self, node: ast.With) -> Iterator[Statement]:
        outer = self.context.overflow
        match node.items:
            case [ast.withitem(ast.Call(func, [error], []), None)] if self._is_overflow(
                func
            ):
                self.context.overflow = self.calls.error(error)
            case _:
                self.refuse(node, "only `with overflow(error):` can be used in a body")
        yield from self.block(node.body)
        self.context.overflow = outer

    def _is_overflow(self, node: ast.expr) -> bool:
        return self.context.meaning(node) == Word("overflow")

    def raise_error(self, node: ast.Raise) -> Iterator[Statement]:
        if node.exc is None or node.cause is not None:
            self.refuse(node, "expected `raise error`")
            return
        yield self.calls.failure(node.exc)

    def leave(self, node: ast.Return) -> Iterator[Statement]:
        match node.value:
            case ast.Constant(None) as value if isinstance(
                self.context.returns, Option
            ):
                yield self._return(node, value)
            case None | ast.Constant(None):
                yield self._return_nothing(node)
            case value:
                yield self._return(node, value)

    def _return_nothing(self, node: ast.Return) -> Statement:
        returns, name = self.context.returns, self.context.name
        if returns is not None:
            self.refuse(node, f"return a value: {name} returns {type_name(returns)}")
        return tree.Return(None)

    def _return(self, node: ast.Return, given: ast.expr) -> Statement:
        returns, value = self.context.returns, self.calls.whole_value(given)
        if returns is not None:
            return tree.Return(self.expressions.fits(given, value, returns))
        self.refuse(
            node, f"{self.context.name} returns nothing: declare the type with ->"
        )
        return tree.Return(None)


def _first_deep(node: ast.FunctionDef) -> Node | None:
    """Return the first part of a function that is too many levels deep."""
    waiting: list[tuple[ast.AST, int]] = [(node, 0)]
    while waiting:
        current, level = waiting.pop()
        if level > _MOST_LEVELS and isinstance(current, (ast.expr, ast.stmt)):
            return current
        cases = current.cases if isinstance(current, ast.Match) else []
        levels = [
            (part, level + 1 + (cases.index(part) if part in cases else 0))
            for part in ast.iter_child_nodes(current)
        ]
        waiting += reversed(levels)
    return None


def _is_changed(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _bare(value: Expression) -> Expression:
    """Return a variable or an argument that is known to be there as it is; other expressions stay."""
    inner = value.value if isinstance(value, tree.SomeOf) else value
    return inner.value if isinstance(inner, tree.Present) else inner


def leaves(statements: Iterable[Statement]) -> bool:
    """Return whether nothing after these statements runs: the function or the turn of a loop is over."""
    return any(map(_leaves, statements))


def _leaves(statement: Statement) -> bool:
    if isinstance(statement, tree.If):
        return leaves(statement.then) and leaves(statement.other)
    return isinstance(statement, (tree.Return, tree.Raise, tree.Jump))


def _is_rest(pattern: ast.pattern) -> bool:
    """Return whether a case is `case _`."""
    return (
        isinstance(pattern, ast.MatchAs)
        and pattern.pattern is None
        and pattern.name is None
    )


def _named_variants(pattern: ast.pattern) -> set[str]:
    """Return the last names of the dotted names in a pattern, and None if it is there."""
    parts = list(ast.walk(pattern))
    values = [node.value for node in parts if isinstance(node, ast.MatchValue)]
    named = {value.attr for value in values if isinstance(value, ast.Attribute)}
    has_none = any(getattr(node, "value", ...) is None for node in parts)
    return {*named, _NOTHING} if has_none else named


def _as_value(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """Return the target of `+=` as the expression that reads it, at the same place."""
    value = copy.copy(target)
    value.ctx = ast.Load()
    return value


#: Each takes its own kind of node.
_CHECKS: dict[type[ast.stmt], Callable[[BodyChecker, Any], Iterator[Statement]]] = {
    ast.Assign: BodyChecker.assign,
    ast.AnnAssign: BodyChecker.annotated,
    ast.AugAssign: BodyChecker.augmented,
    ast.Expr: BodyChecker.expression,
    ast.Pass: BodyChecker.nothing,
    ast.If: BodyChecker.if_else,
    ast.Match: BodyChecker.match,
    ast.For: BodyChecker.loop,
    ast.Break: BodyChecker.jump,
    ast.Continue: BodyChecker.jump,
    ast.With: BodyChecker.with_overflow,
    ast.Raise: BodyChecker.raise_error,
    ast.Return: BodyChecker.leave,
}

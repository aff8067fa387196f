"""Statements of bodies as Rust, with the local variables and the borrows of account data that they need.

An account's data is borrowed at the first statement of a block that uses its state, and given back
before a statement that calls another program, which may look at the account itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.checker import leaves
from mcpsol_py.bodies.expressions import is_simple
from mcpsol_py.bodies.tree import Expression, Function, Statement, find
from mcpsol_py.render.handlers.dialects import Dialect
from mcpsol_py.render.handlers.expressions import Expressions, Level
from mcpsol_py.render.handlers.names import RustNames, StructNames
from mcpsol_py.render.handlers.shared_calls import (
    CallKey,
    SharedCall,
    call_key,
    shared_calls,
)

__all__ = ["function_lines"]

#: The nodes that use a local variable.
_LOCALS: tuple[type[tree.LocalName | tree.Assign], ...] = (tree.LocalName, tree.Assign)


def function_lines(function: Function, names: RustNames, dialect: Dialect) -> list[str]:
    """The lines of a function's body. Its local variables get their names in *names*."""
    names.add_variables(function)
    writer = _Writer(function, names, dialect)
    body = writer.block(function.body, names.parameters, is_tail=True)
    if not leaves(function.body):
        body.append("Ok(())")
    return [*writer.functions(), *writer.declarations(), *body]


def _used(nodes: Iterable[object]) -> set[str]:
    """The accounts whose state these nodes read or write, without those that their own loops go over."""
    nodes = list(nodes)
    passing = {name for loop in find(nodes, tree.LOOPS) for name in loop.names}
    return {node.account for node in find(nodes, tree.USES_STATE)} - passing


def _written(nodes: Iterable[object]) -> set[str]:
    nodes = list(nodes)
    given = find(nodes, tree.StateArgument)
    return {node.account for node in find(nodes, tree.SetField)} | {
        node.account for node in given if node.type.writable
    }


def _calls_programs(statement: Statement) -> bool:
    return any(find([statement], tree.CALLS))


#: The variables that keep what is evaluated before borrows end.
_HEADS: dict[type, str] = {tree.If: "condition", tree.For: "bounds"}

#: The path of a block: the number of each `if` around it, and the side.
_Path: TypeAlias = tuple[tuple[int, str], ...]


def _uses(block: Sequence[Statement], path: _Path = ()) -> Iterator[tuple[str, _Path]]:
    """Each use of a local variable, in order, with the path of its block."""
    for i, statement in enumerate(block):
        if isinstance(statement, tree.If):
            yield from _names_in([statement.test], path)
            yield from _uses(statement.then, (*path, (i, "then")))
            yield from _uses(statement.other, (*path, (i, "other")))
        elif isinstance(statement, tree.For):
            yield from _names_in([statement.over], path)
            yield from _uses(statement.body, (*path, (i, "body")))
        else:
            yield from _names_in([statement], path)


def _names_in(nodes: Iterable[object], path: _Path) -> Iterator[tuple[str, _Path]]:
    for node in find(nodes, _LOCALS):
        yield node.name, path


def _declared_early(function: Function) -> set[str]:
    """The variables that a block uses which does not hold their first assignment."""
    first: dict[str, _Path] = {}
    early: set[str] = set()
    for name, path in _uses(function.body):
        home = first.setdefault(name, path)
        if path[: len(home)] != home:
            early.add(name)
    loops = list(find(function.body, tree.LOOPS))
    return early - {name for loop in loops for name in (*loop.names, loop.index)}


def _assigned_in_loops(function: Function) -> set[str]:
    """The variables that a loop may assign once in each of its turns."""
    bodies = [loop.body for loop in find(function.body, tree.For)]
    return {node.name for body in bodies for node in find(body, tree.Assign)}


@dataclass(slots=True)
class _Writer:
    """Writes the statements of one function."""

    function: Function
    names: RustNames
    dialect: Dialect
    expressions: Expressions = field(init=False)
    early: set[str] = field(init=False)
    declared: set[str] = field(init=False)
    assigned_often: set[str] = field(init=False)
    shared: dict[CallKey, SharedCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dialect.shares_calls:
            self.shared = shared_calls(self.function, self.names)
        self.expressions = Expressions(self.names, self.dialect)
        self.early = _declared_early(self.function)
        self.declared = set(self.early)
        self.assigned_often = _assigned_in_loops(self.function) & self.early

    def functions(self) -> list[str]:
        """The functions that make calls for several places."""
        made = (each.lines(self.names, self.dialect) for each in self.shared.values())
        return [line for lines in made for line in lines]

    def declarations(self) -> list[str]:
        """The variables that are declared before their first assignment."""
        return [
            f"let {self._mut(name)}{self.names.locals[name]}: {self._type(name)};"
            for name in self.function.locals
            if name in self.early
        ]

    def _mut(self, name: str) -> str:
        is_mut = self.function.locals[name].is_reassigned or name in self.assigned_often
        return "mut " if is_mut else ""

    def _type(self, name: str) -> str:
        return self.expressions.type(self.function.locals[name].type)

    # --- blocks

    def block(
        self,
        statements: Sequence[Statement],
        outer: frozenset[str],
        *,
        is_tail: bool = False,
    ) -> list[str]:
        """The lines of a block. `outer`: accounts that are borrowed around it. `is_tail`: the function ends with it."""
        out: list[str] = []
        held: set[str] = set()
        for i, statement in enumerate(statements):
            last = is_tail and i == len(statements) - 1
            if _calls_programs(statement):
                values = tuple(_evaluated_before(statement))
                out += self._borrow(_used(values) - outer - held, ())
                held |= _used(values) - outer
                out += self._with_calls(statement, held, is_tail=last)
                held = set()
                continue
            fresh = _used([statement]) - outer - held
            out += self._borrow(fresh, _until_call(statements[i:]))
            held |= fresh
            out += self._statement(statement, outer | held, is_tail=last)
        return out

    def _borrow(self, accounts: set[str], ahead: Iterable[Statement]) -> list[str]:
        written = _written(ahead)
        return [
            line
            for account in sorted(accounts)
            for line in self.dialect.borrow(
                self.names, account, writes=account in written
            )
        ]

    def _with_calls(
        self, statement: Statement, held: set[str], *, is_tail: bool
    ) -> list[str]:
        """A statement that calls other programs: first its values, then every borrow ends, then the calls."""
        give_back = [
            line
            for account in sorted(held)
            for line in self.dialect.give_back(self.names, account)
        ]
        if isinstance(statement, (tree.If, tree.For)):
            return self._block_with_calls(statement, give_back, is_tail=is_tail)
        if isinstance(statement, tree.CloseAccount):
            accounts = self.names.accounts
            closing = accounts[statement.account], accounts[statement.destination]
            return [*give_back, self.dialect.close(*closing)]
        if isinstance(statement, tree.OpenState):
            return [*give_back, *self.dialect.open(self.names, statement)]
        if isinstance(statement, tree.EmitCall):
            return self._emit_call(statement, give_back)
        assert isinstance(statement, tree.CallProgram)
        return self._program_call(statement, give_back)

    def _block_with_calls(
        self, statement: tree.If | tree.For, give_back: list[str], *, is_tail: bool
    ) -> list[str]:
        """An `if` or a loop with calls inside. What it evaluates first may read state that is borrowed until then."""
        head = self._head(statement)
        if not give_back:
            return self._compound(statement, head, frozenset(), is_tail=is_tail)
        name = self.names.variables.take(_HEADS[type(statement)])
        lines = self._compound(statement, name, frozenset(), is_tail=is_tail)
        return [f"let {name} = {head};", *give_back, *lines]

    def _emit_call(self, statement: tree.EmitCall, give_back: list[str]) -> list[str]:
        """The event becomes bytes before every borrow ends, since it may read state."""
        made = self.dialect.event_bytes(
            self.names, *self._event(statement.event, statement.values)
        )
        event = self.names.variables.take("event")
        call = self.dialect.emit_call(self.names, statement, event)
        return [f"let {event} = {made};", *give_back, f"{call};"]

    def _program_call(
        self, statement: tree.CallProgram, give_back: list[str]
    ) -> list[str]:
        lines, values = [], {}
        for name, value in statement.values:
            values[name] = self.expressions.code(value)
            is_one_of_many = len(statement.values) > 1 and not is_simple(value)
            if _used([value]) or is_one_of_many:
                variable = self.names.variables.take(name)
                lines.append(f"let {variable} = {values[name]};")
                values[name] = variable
        shared = self.shared.get(call_key(statement))
        if shared is not None:
            call = shared.made(self.names, statement, values)
        else:
            call = self.dialect.call(self.names, statement, values)
        return [*lines, *give_back, f"{call};"]

    # --- statements

    def _statement(
        self, statement: Statement, held: frozenset[str] | set[str], *, is_tail: bool
    ) -> list[str]:
        if isinstance(statement, (tree.If, tree.For)):
            return self._compound(
                statement, self._head(statement), frozenset(held), is_tail=is_tail
            )
        if isinstance(statement, (tree.Return, tree.Raise)):
            result = self._result(statement)
            end = result if is_tail else f"return {result};"
            return [*self._carried(statement), end]
        return [_WRITERS[type(statement)](self, statement)]

    def _carried(self, statement: tree.Return | tree.Raise) -> list[str]:
        """What gives the caller the bytes that an error carries."""
        if isinstance(statement, tree.Return) or statement.carried is None:
            return []
        carried = self.expressions.text(statement.carried)
        is_state = isinstance(statement.carried, tree.StateBytes)
        given = carried.code if is_state else f"&{carried.at(Level.ATOM)}"
        return [f"{self.dialect.return_data}({given});"]

    def _if(
        self, statement: tree.If, test: str, held: frozenset[str], is_tail: bool
    ) -> list[str]:
        is_tail = is_tail and leaves([statement])
        lines = [f"if {test} {{", *self.block(statement.then, held, is_tail=is_tail)]
        if not statement.other:
            return [*lines, "}"]
        other = self.block(statement.other, held, is_tail=is_tail)
        if len(statement.other) == 1 and other[0].startswith("if "):
            return [*lines, f"}} else {other[0]}", *other[1:]]
        return [*lines, "} else {", *other, "}"]

    def _head(self, statement: tree.If | tree.For) -> str:
        """What an `if` or a loop evaluates first: its condition, or its range."""
        if isinstance(statement, tree.If):
            return self.expressions.code(statement.test)
        return self.expressions.turns(statement)

    def _compound(
        self,
        statement: tree.If | tree.For,
        head: str,
        held: frozenset[str],
        *,
        is_tail: bool,
    ) -> list[str]:
        if isinstance(statement, tree.If):
            return self._if(statement, head, held, is_tail)
        return self._for(statement, head, held)

    def _for(self, statement: tree.For, bounds: str, held: frozenset[str]) -> list[str]:
        first = f"for {self.expressions.pattern(statement)} in {bounds} {{"
        return [first, *self.block(statement.body, held), "}"]

    def _result(self, statement: tree.Return | tree.Raise) -> str:
        if isinstance(statement, tree.Raise):
            return f"Err({self.names.errors[statement.error]}.into())"
        value = statement.value
        return "Ok(())" if value is None else f"Ok({self.expressions.code(value)})"

    def assign(self, statement: tree.Assign) -> str:
        name, value = statement.name, self.expressions.code(statement.value)
        if name in self.declared:
            return f"{self.names.locals[name]} = {value};"
        self.declared.add(name)
        return f"let {self._mut(name)}{self.names.locals[name]}: {self._type(name)} = {value};"

    def set_field(self, statement: tree.SetField) -> str:
        value = self.expressions.code(statement.value)
        return self.dialect.set_field(
            self.names, statement.account, statement.name, value
        )

    def require(self, statement: tree.Require) -> str:
        condition = self.expressions.code(statement.condition)
        return self.dialect.require(condition, self.names.errors[statement.error])

    def emit(self, statement: tree.Emit) -> str:
        return self.dialect.emit(*self._event(statement.event, statement.values))

    def _event(
        self, name: str, values: tuple[tuple[str, Expression], ...]
    ) -> tuple[StructNames, list[str]]:
        """The names of an event, and its fields with their values."""
        event = self.names.events[name]
        parts = [
            self._field(
                event.fields[field], value, is_reference=field in event.references
            )
            for field, value in values
        ]
        return event, parts

    def _field(self, name: str, value: Expression, *, is_reference: bool) -> str:
        text = self.expressions.code(value)
        if is_reference:
            text = f"&{self.expressions.text(value).at(Level.UNARY)}"
        return name if text == name else f"{name}: {text}"

    def jump(self, statement: tree.Jump) -> str:
        return f"{statement.word};"

    def perform(self, statement: tree.Perform) -> str:
        return f"{self.expressions.code(statement.call)};"


def _evaluated_before(statement: Statement) -> Iterator[Expression]:
    """The expressions that a statement with calls evaluates before the first of them."""
    if isinstance(statement, tree.If):
        yield statement.test
    elif isinstance(statement, tree.For) and not isinstance(statement.over, tree.Zip):
        yield statement.over
    elif isinstance(statement, (tree.CallProgram, tree.EmitCall)):
        yield from (value for _, value in statement.values)


def _until_call(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements before the next one that calls another program."""
    for statement in statements:
        if _calls_programs(statement):
            return
        yield statement


_WRITERS: dict[type, Callable[[_Writer, Any], str]] = {
    tree.Assign: _Writer.assign,
    tree.SetField: _Writer.set_field,
    tree.Require: _Writer.require,
    tree.Emit: _Writer.emit,
    tree.Perform: _Writer.perform,
    tree.Jump: _Writer.jump,
}

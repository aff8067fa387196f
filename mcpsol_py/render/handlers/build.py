"""Whole handlers and helpers, from the bodies of a spec and the names of its crate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from mcpsol_py.bodies.aliases import must_differ, must_differ_from_items
from mcpsol_py.bodies.tree import (
    AccountParameter,
    BodyType,
    Function,
    OpenState,
    ProgramBodies,
    StateParameter,
    find,
)
from mcpsol_py.model.program import Instruction
from mcpsol_py.render.handlers.dialects import Dialect
from mcpsol_py.render.handlers.expressions import Expressions, is_bundled
from mcpsol_py.render.handlers.lints import allowed_lints
from mcpsol_py.render.handlers.names import RustNames, StructNames
from mcpsol_py.render.handlers.statements import function_lines
from mcpsol_py.render.rust import IdentifierPool, Rust, code

__all__ = [
    "CrateNames",
    "HandlerView",
    "HelperView",
    "ProgramHandlers",
    "program_handlers",
]

#: Lints about style, and about odd expressions. What they ask for would have to be done in the spec.
_STYLE = code(
    "#![allow(unused_variables, unused_assignments, unused_comparisons)]\n"
    "#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]\n"
    "#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]\n"
    "#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]"
)

#: The modules that helpers use. A function of such a name would hide its import.
_IMPORTED = ("checks", "events")


class CrateNames(Protocol):
    """The names that one crate gives to what bodies use."""

    dialect: Dialect
    errors: dict[str, str]
    #: its account types, and its structs and enums, by the source's names
    states: dict[str, StructNames]
    types: dict[str, StructNames]
    events: dict[str, StructNames]

    def names(self, ix: Instruction, helpers: dict[str, str]) -> RustNames:
        """The names of the handler of *ix*. Raises RenderError if it can have none."""


@dataclass(frozen=True, slots=True)
class HandlerView:
    """A handler that is made from a body. `accounts`, `args`: its parameters; an unused one starts with _."""

    lines: tuple[Rust, ...]
    accounts: Rust
    args: Rust
    context: Rust


@dataclass(frozen=True, slots=True)
class HelperView:
    """A helper function: its parameters and its result as declared, and its lines."""

    name: Rust
    parameters: Rust
    result: Rust
    lines: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class ProgramHandlers:
    """What the bodies of a program become: handlers by the instruction's name in the source, and helpers."""

    handlers: dict[str, HandlerView] = field(default_factory=dict)
    helpers: tuple[HelperView, ...] = ()
    #: a line for the top of their files
    style: Rust = _STYLE

    def uses(self, path: str) -> bool:
        """Return whether a handler or a helper uses something at this path in the crate."""
        made = [view.lines for view in self.handlers.values()]
        made += [view.lines for view in self.helpers]
        return any(path in line for lines in made for line in lines)


def program_handlers(
    bodies: ProgramBodies, instructions: Iterable[Instruction], crate: CrateNames
) -> ProgramHandlers:
    """The handlers and helpers of *bodies*. Raises RenderError for what the target cannot do."""
    pool = IdentifierPool(*_IMPORTED)
    helpers = {name: str(pool.take(name)) for name in bodies.helpers}
    handlers = {
        ix.name: _handler(ix, bodies.instructions[ix.name], crate, helpers)
        for ix in instructions
        if ix.name in bodies.instructions
    }
    made = [_helper(function, crate, helpers) for function in bodies.helpers.values()]
    return ProgramHandlers(handlers, tuple(made))


def _handler(
    ix: Instruction, function: Function, crate: CrateNames, helpers: dict[str, str]
) -> HandlerView:
    names, dialect = crate.names(ix, helpers), crate.dialect
    for node in find(function.body, OpenState):
        names.open(node, crate.states[node.state])
    lines = allowed_lints(function)
    for one, other in must_differ(ix, function):
        lines += _differ(names, dialect, one, other)
    for one, items in must_differ_from_items(ix, function):
        lines += [
            f"for account in {names.arguments[items]}.iter() {{",
            *_differ(names, dialect, one, None),
            "}",
        ]
    lines += function_lines(function, names, dialect)
    text = "\n".join(lines)
    accounts, args, context = (
        _parameter(name, text) for name in ("accounts", "args", "ctx")
    )
    return HandlerView(tuple(map(code, lines)), accounts, args, context)


def _differ(
    names: RustNames, dialect: Dialect, one: str, other: str | None
) -> list[str]:
    """Lines that fail if two accounts are the same. Without *other*, the second is the variable `account`."""
    optional = {
        "one": names.optional.get(one),
        "other": names.optional.get(other or ""),
    }
    first = "one" if optional["one"] else names.accounts[one]
    second = "account" if other is None else names.accounts[other]
    lines = [dialect.different(first, "other" if optional["other"] else second)]
    for name, place in optional.items():
        if place is not None:
            lines = dialect.if_there(place, name, lines)
    return lines


def _parameter(name: str, text: str) -> Rust:
    return code(name if re.search(rf"\b{name}\.", text) else f"_{name}")


def _helper(
    function: Function, crate: CrateNames, helpers: dict[str, str]
) -> HelperView:
    pool = IdentifierPool()
    shown = {name: str(pool.take(name)) for name, _ in function.arguments}
    states = {
        name: crate.states[kind.name]
        for name, kind in function.arguments
        if isinstance(kind, StateParameter)
    }
    given = {name: shown[name] for name in states}
    taken = {
        n: shown[n]
        for n, kind in function.arguments
        if isinstance(kind, AccountParameter)
    }
    names = RustNames(
        errors=crate.errors,
        helpers=helpers,
        types=crate.types,
        events=crate.events,
        variables=pool,
        arguments=shown,
        accounts=given | taken,
        states=states,
        borrowed=dict(given),
        parameters=frozenset(states),
    )
    types = Expressions(names, crate.dialect)
    ordered = sorted(function.arguments, key=lambda pair: pair[0] in states)
    kinds = [_type(kind, types, crate) for _, kind in ordered]
    parameters = [
        f"{shown[name]}: {kind}" for (name, _), kind in zip(ordered, kinds, strict=True)
    ]
    if is_bundled(kind for _, kind in ordered):
        listed = ", ".join(shown[name] for name, _ in ordered)
        parameters = [f"({listed}): ({', '.join(kinds)})"]
    lines = allowed_lints(function) + function_lines(function, names, crate.dialect)
    return HelperView(
        name=code(helpers[function.name]),
        parameters=code(", ".join(parameters)),
        result=code("()" if function.returns is None else types.type(function.returns)),
        lines=tuple(map(code, lines)),
    )


def _type(kind: BodyType, types: Expressions, crate: CrateNames) -> str:
    """The Rust type of a helper's parameter."""
    if isinstance(kind, AccountParameter):
        return crate.dialect.account_type
    if not isinstance(kind, StateParameter):
        return types.type(kind)
    borrow = "&mut " if kind.writable else "&"
    return f"{borrow}crate::state::{crate.states[kind.name].type}"

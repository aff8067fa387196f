"""One instruction of a spec: a method, its parameters and its docstring."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from itertools import starmap
from types import NoneType
from typing import Any, Literal

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Constraints,
    Instruction,
    RemainingAccounts,
    TokenConstraint,
)
from mcpsol_py.model.types import Default, Field, Type
from mcpsol_py.names import snake
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.constraints import ConstraintReader, ErrorName
from mcpsol_py.sources.spec.definitions import Definitions, discriminator_of
from mcpsol_py.sources.spec.docstrings import docs_of
from mcpsol_py.sources.spec.ignored import refuse_ignored_remaining
from mcpsol_py.sources.spec.parameters import (
    AccountParameter,
    Parameters,
    Unwrapped,
    unwrap,
)

__all__ = ["SpecInstructionReader"]

#: The largest integer that JSON readers keep exact; larger defaults are written as text.
_MAX_EXACT = 2**53
#: What the accounts after the named ones are, by the word of a spec.
_TOKEN_KINDS: dict[type, Literal["account", "mint"]] = {
    words.TokenAccount: "account",
    words.Mint: "mint",
}


class SpecInstructionReader:
    """Reads one method, parameters before constraints: constraints name other parameters."""

    def __init__(
        self,
        definitions: Definitions,
        attribute: str,
        function: types.FunctionType,
        program: words.ProgramOptions,
        error_name: ErrorName,
    ) -> None:
        self.definitions = definitions
        self.problems = definitions.problems
        self.function = function
        self.options: words.InstructionOptions = vars(function)["mcpsol_instruction"]
        self.path = f"{definitions.cls.__name__}.{attribute}"
        self.name = self.options.name or attribute
        self.docs = docs_of(function)
        self.parameters = Parameters(definitions)
        self.constraints = ConstraintReader(
            self.parameters, self.path, program, error_name
        )
        #: top-level accounts: name, and the class of a group
        self.order: list[tuple[str, type | None]] = []
        self.remaining: list[RemainingAccounts] = []

    def read(self) -> Instruction:
        hints = self.definitions.hints(self.function)
        names: set[str] = set()
        for parameter in self._signature(hints):
            names.add(parameter.name)
            self._read_parameter(parameter, hints)
        self.definitions.check_names(self.path, names_of(self.parameters.args))
        self.definitions.check_names(self.path, [name for name, _ in self.order])
        returns = self._returns(hints)
        self._check_docs(names)
        discriminator = discriminator_of(
            self.options.discriminator, "global", snake(self.name)
        )
        accounts = tuple(starmap(self._item, self.order))
        return Instruction(
            name=self.name,
            discriminator=discriminator,
            args=tuple(self.parameters.args),
            accounts=accounts,
            remaining=tuple(self.remaining),
            returns=returns,
            docs=self.docs.text,
            arg_values=tuple(self.parameters.bumps),
            hints=tuple(self._hints_for_agents()),
        )

    def _signature(self, hints: dict[str, Any]) -> list[inspect.Parameter]:
        """Return the parameters without `self`."""
        parameters = list(inspect.signature(self.function).parameters.values())
        if parameters and parameters[0].name == "self" and "self" not in hints:
            return parameters[1:]
        self.problems.add(self.path, "the first parameter of a method is self.")
        return [each for each in parameters if each.name != "cls"]

    def _read_parameter(self, p: inspect.Parameter, hints: dict[str, Any]) -> None:
        path = f"{self.path}.{p.name}"
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            self.problems.add(path, "an instruction has no **parameters.")
        elif p.name in hints:
            with self.problems.at(path):
                self._add(p, hints[p.name])
        elif p.annotation is inspect.Parameter.empty:
            message = "the parameter has no type. Annotate it, as in `amount: u64`."
            self.problems.add(path, message)

    def _returns(self, hints: dict[str, Any]) -> Type | None:
        """Read the type of the return data: `@instruction(returns=…)`, or else the annotation."""
        annotation = self.options.returns
        if annotation is None:
            annotation = hints.get("return")
        if annotation in (None, NoneType):
            return None
        return self.problems.attempt(
            self.path, lambda: self.definitions.read_type(annotation)
        )

    def _check_docs(self, names: set[str]) -> None:
        """Record a problem for each item of the docstring that is not a parameter."""
        known = names | {path[-1] for path in self.parameters.accounts}
        for name in self.docs.items:
            if name not in known:
                message = f"the docstring describes {name!r}, which is not a parameter."
                self.problems.add(self.path, message)

    def _hints_for_agents(self) -> Iterator[tuple[str, str]]:
        when = self.options.when or self.docs.when
        if when:
            yield "when", when
        for arg in self.parameters.args:
            unit = self.docs.unit_of(arg.name)
            if unit:
                yield f"unit:{arg.name}", unit

    # --- parameters

    def _add(self, p: inspect.Parameter, annotation: object) -> None:
        found = unwrap(annotation)
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            self._add_remaining(p.name, found)
        elif found.is_subclass_of(words.Group):
            self._add_group(p.name, found)
        elif found.is_subclass_of(words.Account, words.Kind):
            self.parameters.add_account(
                (p.name,), annotation, self.docs.lines_of(p.name)
            )
            self.order.append((p.name, None))
        else:
            self._add_argument(p, annotation)

    def _add_argument(self, p: inspect.Parameter, annotation: object) -> None:
        default = None
        if p.default is not inspect.Parameter.empty:
            default = Default(_json(p.default))
        node = self.definitions.read_type(annotation)
        self.parameters.args.append(
            Field(p.name, node, self.docs.lines_of(p.name), default)
        )

    def _add_remaining(self, name: str, found: Unwrapped) -> None:
        """Add the accounts of `*name`."""
        refuse_ignored_remaining(name, found)
        docs = self.docs.lines_of(name)
        p = AccountParameter((name,), found.base, found.remarks, found.optional, docs)
        self.remaining.append(
            RemainingAccounts(
                name,
                p.writable,
                p.signs,
                True,
                docs,
                self._held(p),
            )
        )

    def _held(self, p: AccountParameter) -> Constraints | None:
        """Return what each of the accounts after the named ones is."""
        if p.is_state:
            return Constraints(state=self.definitions.state(p.base).name)
        kind = _TOKEN_KINDS.get(p.base)
        return None if kind is None else Constraints(token=TokenConstraint(kind))

    def _add_group(self, name: str, found: Unwrapped) -> None:
        """Add the accounts of a Group class."""
        if found.remarks or found.optional:
            raise SourceError("a group has no constraints; put them on its accounts.")
        group: type = found.base
        docs = docs_of(group)
        self.order.append((name, group))
        for inner, annotation in self.definitions.hints(group).items():
            with self.problems.at(f"{group.__qualname__}.{inner}"):
                self.parameters.add_account(
                    (name, inner), annotation, docs.lines_of(inner)
                )

    # --- accounts

    def _item(self, name: str, group: type | None) -> AccountItem:
        accounts = self.parameters.accounts
        if group is None:
            return self._account(accounts[(name,)])
        members = [p for path, p in accounts.items() if path[:-1] == (name,)]
        return AccountGroup(
            name, tuple(map(self._account, members)), docs_of(group).text
        )

    def _account(self, p: AccountParameter) -> Account:
        path = f"{self.path}.{p.dotted}"
        found = self.problems.attempt(path, lambda: self.constraints.account(p))
        # After a problem, reading goes on without the constraints: it may find more problems.
        return found or Account(p.name, p.writable, p.signs, p.optional, docs=p.docs)


def _json(value: object) -> object:
    """Return a parameter's default in the JSON form of values."""
    for kind, write in _JSON_FORMS:
        if isinstance(value, kind):
            return write(value)
    raise SourceError(
        f"{abbr(value)} cannot be a default: use a number, text, bytes, True, False or None."
    )


def _exact(value: int) -> int | str:
    return int(value) if abs(value) < _MAX_EXACT else str(int(value))


#: Types of defaults -> their JSON form. bool comes before int, since every bool is an int.
_JSON_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[Any], object]], ...] = (
    ((NoneType, bool, str), lambda value: value),
    (int, _exact),
    (float, float),
    (bytes, lambda value: f"0x{value.hex()}"),
)

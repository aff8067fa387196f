"""What the names of a spec mean in its bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mcpsol_py.bodies.tree import BodyType
from mcpsol_py.items import items_by_name, types_by_name
from mcpsol_py.model.program import Account, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import Bool, Int, Pubkey, Struct, Type

__all__ = [
    "ConstantName",
    "ErrorName",
    "EventName",
    "HelperName",
    "Meaning",
    "NumberName",
    "ProgramName",
    "ProgramScope",
    "Signature",
    "Word",
    "is_usable",
    "type_name",
]


@dataclass(frozen=True, slots=True)
class _Named:
    name: str


class Word(_Named):
    """A word of the language, such as `require`, by the name that it has in mcpsol_py.spec."""


class ErrorName(_Named):
    """One of the program's errors."""


class EventName(_Named):
    """One of the program's events."""


class HelperName(_Named):
    """A function of the spec's module."""


@dataclass(frozen=True, slots=True)
class NumberName:
    """A number type."""

    type: Int


@dataclass(frozen=True, slots=True)
class ConstantName:
    """A constant: a number (LITERAL without a width), True, False, or an address."""

    value: int | bytes
    type: BodyType


@dataclass(frozen=True, slots=True)
class ProgramName:
    """The program class: its attributes are those of `self`."""


Meaning: TypeAlias = (
    Word | NumberName | ConstantName | ErrorName | EventName | HelperName | ProgramName
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A helper: its function in the syntax tree, and the types of its arguments and result."""

    node: ast.FunctionDef
    arguments: dict[str, Type]
    returns: Type | None


@dataclass(frozen=True, slots=True)
class ProgramScope:
    """What the bodies of one program share.

    `names` and `members`: the meaning of the module's names, and of the program class's attributes.
    `type_of`: reads the annotation of a local variable; raises SourceError. `signature`: of a helper,
    or why a function cannot be one.
    """

    model: ProgramModel
    names: Mapping[str, Meaning]
    members: Mapping[str, Meaning]
    type_of: Callable[[ast.expr], Type]
    signature: Callable[[str], Signature | str]
    resolver: Resolver = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resolver", Resolver(self.model))

    def accounts_of(self, ix: Instruction) -> dict[str, Account]:
        """Return the accounts of an instruction that are in no group, by name."""
        return {item.name: item for item in ix.accounts if isinstance(item, Account)}

    def state_fields(self, account: Account) -> dict[str, Type] | None:
        """Return the fields of an account's state, None if it holds none of a fixed size."""
        name = account.rules.state
        if name is None:
            return None
        state = items_by_name(self.model.accounts)[name]
        if fixed_size(self.resolver, state.type) is None:
            return None
        return self._fields(state.type)

    def event_fields(self, name: str) -> dict[str, Type]:
        """Return the fields of an event."""
        return self._fields(items_by_name(self.model.events)[name].type)

    def _fields(self, node: Type) -> dict[str, Type]:
        body = self.resolver.target(node)
        assert isinstance(body, Struct)
        return types_by_name(body.fields)


def is_usable(node: BodyType) -> bool:
    """Return whether bodies can hold a value of this type."""
    if isinstance(node, Int):
        return node.bits <= 128 and not node.big_endian
    return isinstance(node, (Bool, Pubkey))


def type_name(node: BodyType) -> str:
    """Return the type as a spec writes it."""
    if isinstance(node, Int):
        return f"{node.letter}{node.bits}"
    if isinstance(node, Bool):
        return "bool"
    return getattr(node, "name", type(node).__name__)

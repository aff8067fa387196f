"""What the names of a spec mean in its bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mcpsol_py.bodies.tree import BodyType
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
class Word:
    """A word of the language, such as `require`, by the name that it has in mcpsol_py.spec."""

    name: str


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
class ErrorName:
    """One of the program's errors."""

    name: str


@dataclass(frozen=True, slots=True)
class EventName:
    """One of the program's events."""

    name: str


@dataclass(frozen=True, slots=True)
class HelperName:
    """A function of the spec's module."""

    name: str


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
        """Return the accounts of an instruction that stand alone, by name."""
        return {item.name: item for item in ix.accounts if isinstance(item, Account)}

    def state_fields(self, account: Account) -> dict[str, Type] | None:
        """Return the fields of an account's state, None if it holds none of a fixed size."""
        name = account.rules.state
        if name is None:
            return None
        state = next(a for a in self.model.accounts if a.name == name)
        if fixed_size(self.resolver, state.type) is None:
            return None
        return self._fields(state.type)

    def event_fields(self, name: str) -> dict[str, Type]:
        """Return the fields of an event."""
        return self._fields(next(e for e in self.model.events if e.name == name).type)

    def _fields(self, node: Type) -> dict[str, Type]:
        _, body = self.resolver.expand(node)  # type: ignore[arg-type]  # states and events are links
        assert isinstance(body, Struct)
        return {f.name: f.type for f in body.fields}


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

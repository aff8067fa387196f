"""What the names of a spec mean in its bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mcpsol_py.bodies.tree import DATA, AccountParameter, BodyType, StateParameter
from mcpsol_py.items import items_by_name, names_of, types_by_name
from mcpsol_py.model.program import (
    Account,
    Constraints,
    Instruction,
    ProgramModel,
    TokenConstraint,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import (
    U8,
    U32,
    Array,
    Bool,
    Enum,
    Int,
    Link,
    Option,
    Pubkey,
    Struct,
    Type,
)
from mcpsol_py.solana import ids

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
    "StateName",
    "TypeName",
    "Word",
    "is_bytes",
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


class StateName(_Named):
    """One of the program's account types."""


@dataclass(frozen=True, slots=True)
class TypeName:
    """A struct or an enum of the program."""

    type: Link


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
    Word
    | NumberName
    | ConstantName
    | ErrorName
    | EventName
    | TypeName
    | StateName
    | HelperName
    | ProgramName
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A helper: its function in the syntax tree, and the types of its arguments and result."""

    node: ast.FunctionDef
    arguments: dict[str, BodyType]
    returns: Type | None

    @property
    def accounts(self) -> dict[str, Account]:
        """The parameters that take an account, or the state of one, as accounts."""
        return {
            name: _account(name, kind)
            for name, kind in self.arguments.items()
            if isinstance(kind, (StateParameter, AccountParameter))
        }

    @property
    def values(self) -> dict[str, BodyType]:
        """The other parameters."""
        return {
            name: kind
            for name, kind in self.arguments.items()
            if not isinstance(kind, (StateParameter, AccountParameter))
        }

    @property
    def writes_state(self) -> bool:
        """Does a parameter take state that the helper may write?"""
        kinds = self.arguments.values()
        return any(isinstance(kind, StateParameter) and kind.writable for kind in kinds)


#: What a helper's account is by its constraints, by the kind that its parameter has.
_CONSTRAINTS: dict[str, Constraints] = {
    "TokenAccount": Constraints(token=TokenConstraint("account")),
    "Mint": Constraints(token=TokenConstraint("mint")),
    "TokenInterface": Constraints(one_of=ids.TOKEN_PROGRAMS),
    "TokenProgram": Constraints(one_of=(ids.TOKEN_PROGRAM,)),
}


def _account(name: str, kind: StateParameter | AccountParameter) -> Account:
    """Return the account that a helper's parameter takes."""
    if isinstance(kind, StateParameter):
        return Account(
            name, writable=kind.writable, constraints=Constraints(state=kind.name)
        )
    constraints = _CONSTRAINTS.get(kind.name, Constraints())
    return Account(
        name,
        writable=kind.writable,
        signer=kind.name == "Signer",
        constraints=constraints,
    )


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
    #: the words of mcpsol_py.spec, whether the spec imports them or not
    words: frozenset[str] = frozenset()
    resolver: Resolver = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resolver", Resolver(self.model))

    @property
    def program_name(self) -> str:
        """The name of the program class, by which helpers know it."""
        kinds = self.names.items()
        return next(name for name, kind in kinds if isinstance(kind, ProgramName))

    def missing_import(self, node: ast.expr) -> str:
        """Return what to import for a word that the spec does not know; "" for other expressions."""
        name = ast.unparse(node)
        is_missing = name in self.words and name not in self.names
        return f"import {name} from mcpsol_py.spec" if is_missing else ""

    def accounts_of(self, ix: Instruction) -> dict[str, Account]:
        """Return the accounts of an instruction that are in no group, by name."""
        return {item.name: item for item in ix.accounts if isinstance(item, Account)}

    def state_fields(self, account: Account) -> dict[str, Type] | None:
        """Return the fields of an account's state, None if it holds none of a fixed size."""
        return (
            None if account.rules.state is None else self.fields_of(account.rules.state)
        )

    def fields_of(self, name: str) -> dict[str, Type] | None:
        """Return the fields of state of this name, None if it has no fixed size."""
        state = items_by_name(self.model.accounts)[name]
        if fixed_size(self.resolver, state.type) is None:
            return None
        return self._fields(state.type)

    def size_of(self, name: str) -> int:
        """Return the bytes of state of this name, its discriminator included."""
        return items_by_name(self.model.accounts)[name].size or 0

    def event_fields(self, name: str) -> dict[str, Type]:
        """Return the fields of an event."""
        return self._fields(items_by_name(self.model.events)[name].type)

    def _fields(self, node: Type) -> dict[str, Type]:
        body = self.resolver.target(node)
        assert isinstance(body, Struct)
        return types_by_name(body.fields)

    def struct_fields(self, node: BodyType) -> dict[str, Type]:
        """Return the fields of a struct; other types have none."""
        body = self._body(node)
        return types_by_name(body.fields) if isinstance(body, Struct) else {}

    def variants(self, node: BodyType) -> list[str]:
        """Return the variants of an enum whose variants hold no values; other types have none."""
        body = self._body(node)
        if not isinstance(body, Enum):
            return []
        is_plain = all(
            each.payload is None and each.value is None for each in body.variants
        )
        return names_of(body.variants) if is_plain else []

    def _body(self, node: BodyType) -> Type | None:
        known = names_of(self.model.types)
        is_known = isinstance(node, Link) and node.name in known
        return (
            self.resolver.target(node) if isinstance(node, Link) and is_known else None
        )

    def why_unusable(self, node: BodyType) -> str:
        """Return why bodies cannot hold a value of this type; "" without a special reason."""
        kind = node.item if isinstance(node, Option) else node
        if not isinstance(kind, Link) or kind.name in names_of(self.model.types):
            return ""
        return f"{kind.name} is in no instruction, event or state: use it in one of them, or not at all"

    def is_usable(self, node: BodyType) -> bool:
        """Return whether bodies can hold a value of this type: bytes are never in a struct that they hold."""
        if isinstance(node, Option):
            return self.option_of(node.item) is not None
        if not isinstance(node, Link):
            return node is DATA or is_usable(node)
        fields = self.struct_fields(node).values()
        if fields:
            return all(map(self._is_part, fields))
        return bool(self.variants(node))

    def option_of(self, node: BodyType) -> Option | None:
        """Return the type of an optional value; None if bodies have no optional values of this type."""
        if isinstance(node, (Int, Bool, Pubkey, Link)) and self.is_usable(node):
            return Option(node)
        return None

    def is_list(self, node: BodyType | None) -> bool:
        """Return whether a type is a list whose items bodies can hold. Their number has four bytes."""
        if not isinstance(node, Array) or node.count != U32:
            return False
        return not isinstance(node.item, Option) and self._is_part(node.item)

    def _is_part(self, node: Type) -> bool:
        return not isinstance(node, Array) and self.is_usable(node)


def is_usable(node: BodyType) -> bool:
    """Return whether bodies can hold a value of this type. Structs and enums are checked by their fields."""
    if isinstance(node, Int):
        return node.bits <= 128 and not node.big_endian
    return isinstance(node, (Bool, Pubkey)) or is_bytes(node)


def is_bytes(node: BodyType) -> bool:
    """Return whether a type is bytes of a fixed length."""
    return isinstance(node, Array) and node.item == U8 and isinstance(node.count, int)


def type_name(node: BodyType) -> str:
    """Return the type as a spec writes it."""
    if isinstance(node, Int):
        return f"{node.letter}{node.bits}"
    if isinstance(node, Bool):
        return "bool"
    if isinstance(node, Array) and node.count == U32:
        return f"list[{type_name(node.item)}]"
    if isinstance(node, Array):
        return f"Array[{type_name(node.item)}, {node.count}]"
    if isinstance(node, Option):
        return f"{type_name(node.item)} | None"
    return getattr(node, "name", type(node).__name__)

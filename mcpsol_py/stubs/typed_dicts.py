"""TypedDicts of a program's arguments, accounts and account types, each written at its first use."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mcpsol_py.model.program import AccountGroup, AccountItem, AccountType, Instruction
from mcpsol_py.model.types import Field, Link, Struct
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.stubs.annotations import Annotations, class_name, docstring

__all__ = ["InstructionTypes", "TypedDicts"]


@dataclass(frozen=True, slots=True)
class InstructionTypes:
    """The classes of one instruction's arguments and accounts."""

    instruction: ProgramInstruction
    arguments: str
    accounts: str
    needs_arguments: bool

    @property
    def needs_accounts(self) -> bool:
        """Whether a call must give accounts."""
        return bool(self.instruction.must_give())


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of a TypedDict."""

    name: str
    type: str
    required: bool = True

    @property
    def annotation(self) -> str:
        return self.type if self.required else f"NotRequired[{self.type}]"

    @property
    def is_attribute(self) -> bool:
        """Whether a class can declare it. Other keys need the functional form of TypedDict."""
        return self.name.isidentifier() and not keyword.iskeyword(self.name)


class _Linked(Annotations):
    """Annotations in which a link is the class that `TypedDicts` has for it."""

    def __init__(self, owner: TypedDicts, *, given: bool) -> None:
        self.owner = owner
        self.given = given

    def visit_link(self, node: Link) -> str:
        return self.owner.named(node, self)


@dataclass
class TypedDicts:
    """The TypedDicts of one program. `texts` has their source, in the order of their first use.

    `taken`: names that no class may have.
    """

    program: Program
    taken: set[str]
    texts: list[str] = field(default_factory=list)
    _names: dict[tuple[Link, bool], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._given = _Linked(self, given=True)
        self._read = _Linked(self, given=False)
        self._resolver = self.program.codecs.layouts.resolver

    def unique(self, wanted: str) -> str:
        """Return *wanted*, with a number if another class has that name."""
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}{number}", number + 1
        self.taken.add(name)
        return name

    # --- values --------------------------------------------------------------------------------

    def named(self, link: Link, annotations: Annotations) -> str:
        """Return the class or the annotation of a defined type."""
        key = (link, annotations.given)
        if key not in self._names:
            self._names[key] = "Any"  # for a type that contains itself
            self._names[key] = self._define(link, annotations)
        return self._names[key]

    def _define(self, link: Link, annotations: Annotations) -> str:
        definition, node = self._resolver.expand(link)
        if not isinstance(node, Struct):
            return annotations.visit(node)
        base = class_name(link.name.rpartition("::")[2])
        name = self.unique(f"{base}Input" if annotations.given else base)
        self._names[link, annotations.given] = name
        self._write(name, self._fields(node.fields, annotations), definition.docs)
        return name

    def account_type(self, account: AccountType) -> str:
        """Return the class or the annotation of an account's value."""
        if not isinstance(account.type, Struct):
            return self._read.visit(account.type)
        name = self.unique(class_name(account.name))
        self._write(name, self._fields(account.type.fields, self._read), account.docs)
        return name

    def usable(self, account: AccountType) -> bool:
        """Return True if accounts of that type can be decoded."""
        return self._resolver.why_unusable(account.type) is None

    def _fields(self, fields: Sequence[Field], annotations: Annotations) -> list[_Key]:
        shown = [f for f in fields if not f.is_constant]
        return [
            _Key(
                f.name,
                annotations.visit(f.type),
                not annotations.given or f.default is None,
            )
            for f in shown
        ]

    # --- instructions --------------------------------------------------------------------------

    def instruction(self, instruction: ProgramInstruction) -> InstructionTypes:
        """Write the classes of an instruction's arguments and accounts."""
        base = class_name(instruction.name)
        arguments, accounts = self.unique(f"{base}Args"), self.unique(f"{base}Accounts")
        keys = self._arguments(instruction.model)
        self._write(arguments, keys)
        required = frozenset(instruction.must_give())
        named = self._accounts(base, instruction.model.accounts, required, "")
        remaining = [
            _Key(r.name, "Sequence[Address]", False)
            for r in instruction.model.remaining
        ]
        self._write(accounts, [*named, *remaining])
        return InstructionTypes(
            instruction, arguments, accounts, any(k.required for k in keys)
        )

    def _arguments(self, instruction: Instruction) -> list[_Key]:
        filled = {name for name, _ in instruction.arg_values}
        keys = self._fields(instruction.args, self._given)
        return [_Key(k.name, k.type, k.required and k.name not in filled) for k in keys]

    def _accounts(
        self,
        base: str,
        items: Iterable[AccountItem],
        required: frozenset[str],
        prefix: str,
    ) -> list[_Key]:
        keys = []
        for item in items:
            path = f"{prefix}{item.name}"
            if isinstance(item, AccountGroup):
                keys.append(self._group(base, item, required, path))
                continue
            address = "Address | None" if item.optional else "Address"
            keys.append(_Key(item.name, address, path in required))
        return keys

    def _group(
        self, base: str, group: AccountGroup, required: frozenset[str], path: str
    ) -> _Key:
        name = self.unique(f"{base}{class_name(group.name)}Accounts")
        inner = self._accounts(base, group.accounts, required, f"{path}.")
        self._write(name, inner, group.docs)
        return _Key(group.name, name, any(key.required for key in inner))

    # --- source --------------------------------------------------------------------------------

    def _write(self, name: str, keys: Sequence[_Key], docs: Iterable[str] = ()) -> None:
        write = _as_class if all(key.is_attribute for key in keys) else _as_function
        self.texts.append("\n".join(write(name, keys, docs)))


def _as_class(name: str, keys: Sequence[_Key], docs: Iterable[str]) -> list[str]:
    body = [
        *docstring(docs, "    "),
        *(f"    {key.name}: {key.annotation}" for key in keys),
    ]
    return [f"class {name}(TypedDict):", *(body or ["    pass"])]


def _as_function(name: str, keys: Sequence[_Key], docs: Iterable[str]) -> list[str]:
    items = [f"    {key.name!r}: {key.annotation}," for key in keys]
    return [f"{name} = TypedDict({name!r}, {{", *items, "})"]

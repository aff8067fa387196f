"""Names of types in Anchor IDLs: the type of an account or event is the one with the same name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from mcpsol_py.items import types_by_name
from mcpsol_py.model.program import (
    AccountType,
    Constant,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Field, Link, Type, TypeDef
from mcpsol_py.model.visit import map_children

__all__ = ["is_own_definition", "numbered", "with_free_names"]


def with_free_names(model: ProgramModel) -> ProgramModel:
    """Return *model* with types renamed that have the name of an account or event of another type."""
    renamed = _clashing_types(model)
    return _rename_types(model, renamed) if renamed else model


def is_own_definition(item: AccountType | Event) -> bool:
    """Is the type of *item* the defined type of the same name?"""
    return item.type == Link(item.name)


def numbered(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return *name*, or the first of name2, name3, … that is not taken."""
    candidate, number = name, 1
    while is_taken(candidate):
        number += 1
        candidate = f"{name}{number}"
    return candidate


def _clashing_types(model: ProgramModel) -> dict[str, str]:
    """Return the types that need another name: old name -> new name."""
    described = _described_types(model)
    defined = types_by_name(reversed(model.types))
    taken = defined.keys() | described.keys()
    renamed: dict[str, str] = {}
    for definition in model.types:
        name = definition.name
        if definition.type != described.get(name, definition.type):
            renamed.setdefault(name, numbered(f"{name}Type", taken.__contains__))
            taken.add(renamed[name])
    return renamed


def _described_types(model: ProgramModel) -> dict[str, Type]:
    """Return the types that accounts and events will define under their own names."""
    items: tuple[AccountType | Event, ...] = (*model.accounts, *model.events)
    described: dict[str, Type] = {}
    for item in items:
        if not is_own_definition(item):
            described.setdefault(item.name, item.type)
    return described


def _rename_types(model: ProgramModel, renamed: dict[str, str]) -> ProgramModel:
    link = _LinkRenamer(renamed)
    return replace(
        model,
        types=tuple(map(link.definition, model.types)),
        instructions=tuple(map(link.instruction, model.instructions)),
        accounts=tuple(map(link.typed, model.accounts)),
        events=tuple(map(link.typed, model.events)),
        constants=tuple(map(link.typed, model.constants)),
    )


_Typed = TypeVar("_Typed", Field, AccountType, Event, Constant)


class _LinkRenamer:
    """Renames types in the parts of a model."""

    def __init__(self, renamed: dict[str, str]) -> None:
        self.renamed = renamed

    def name(self, name: str) -> str:
        return self.renamed.get(name, name)

    def type(self, node: Type) -> Type:
        changed = map_children(node, self.type)
        if isinstance(changed, Link):
            return replace(changed, name=self.name(changed.name))
        return changed

    def typed(self, item: _Typed) -> _Typed:
        return replace(item, type=self.type(item.type))

    def definition(self, definition: TypeDef) -> TypeDef:
        name = self.name(definition.name)
        return replace(definition, name=name, type=self.type(definition.type))

    def instruction(self, ix: Instruction) -> Instruction:
        args = tuple(map(self.typed, ix.args))
        returns = None if ix.returns is None else self.type(ix.returns)
        return replace(ix, args=args, returns=returns)

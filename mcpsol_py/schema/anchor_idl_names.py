"""Names of types in Anchor IDLs, where an account's or event's type is found by the account's or event's name."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from mcpsol_py.model.program import AccountType, Event, ProgramModel
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


def numbered(name: str, taken: Container[str]) -> str:
    """Return *name*, or the first of name2, name3, … that is not *taken*."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{number}"
    return candidate


def _clashing_types(model: ProgramModel) -> dict[str, str]:
    """Return the types that need another name: old name -> new name."""
    described = _described_types(model)
    taken = {definition.name for definition in model.types} | set(described)
    renamed: dict[str, str] = {}
    for definition in model.types:
        name = definition.name
        if name in described and definition.type != described[name] and name not in renamed:
            renamed[name] = numbered(f"{name}Type", taken)
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
    def link(node: Type) -> Type:
        changed = map_children(node, link)
        if isinstance(changed, Link):
            return replace(changed, name=renamed.get(changed.name, changed.name))
        return changed

    def definition(d: TypeDef) -> TypeDef:
        return replace(d, name=renamed.get(d.name, d.name), type=link(d.type))

    def fields(items: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(replace(field, type=link(field.type)) for field in items)

    return replace(
        model,
        types=tuple(map(definition, model.types)),
        instructions=tuple(
            replace(ix, args=fields(ix.args), returns=ix.returns and link(ix.returns))
            for ix in model.instructions
        ),
        accounts=tuple(replace(a, type=link(a.type)) for a in model.accounts),
        events=tuple(replace(e, type=link(e.type)) for e in model.events),
        constants=tuple(replace(c, type=link(c.type)) for c in model.constants),
    )

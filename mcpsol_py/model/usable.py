"""Finds the instructions that callers cannot use: the codec cannot encode them, or only the program can sign them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mcpsol_py.model.program import (
    LIST_TOOLS,
    Account,
    AccountGroup,
    AccountItem,
    ConstValue,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Link, Type
from mcpsol_py.model.visit import walk
from mcpsol_py.names import snake

__all__ = [
    "account_leaves",
    "answers_schema",
    "for_callers",
    "only_itself",
    "unusable",
    "without_schema",
]


def unusable(model: ProgramModel) -> dict[str, str]:
    """Return the instructions that cannot be served, by name, each with the reason."""
    resolver = Resolver(model)
    out: dict[str, str] = {}
    seen: dict[str, Instruction] = {}
    for ix in model.instructions:
        first = seen.setdefault(ix.name, ix)
        if first != ix:
            out[ix.name] = f"two different instructions have the name {ix.name!r}"
            continue
        why = _why_unusable(resolver, ix)
        if why is not None:
            out[ix.name] = why
    return out


def _why_unusable(resolver: Resolver, ix: Instruction) -> str | None:
    if ix.disabled is not None:
        return ix.disabled
    for arg in ix.args:
        why = resolver.why_unusable(arg.type)
        if why is not None:
            return f"argument {arg.name!r}: {why}"
    return None


def answers_schema(ix: Instruction) -> bool:
    """Is *ix* list_tools itself? The IDL of an Anchor program lists it if the program's module defines it."""
    return (
        ix.discriminator.offset == 0
        and ix.discriminator.value == LIST_TOOLS
        and snake(ix.name) == "list_tools"
    )


def without_schema(model: ProgramModel) -> ProgramModel:
    """Return *model* without list_tools itself and the type of its cursor, which `anchor build` writes into an IDL."""
    return _without(model, [ix for ix in model.instructions if answers_schema(ix)])


def for_callers(model: ProgramModel) -> ProgramModel:
    """Return *model* without what only the program itself can call, and without types that nothing else uses."""
    own = [
        ix for ix in model.instructions if only_itself(ix, model.facade_of) is not None
    ]
    return _without(model, own)


def _without(model: ProgramModel, dropped: list[Instruction]) -> ProgramModel:
    """Return *model* without some instructions, and without the types that only they use."""
    if not dropped:
        return model
    kept = tuple(ix for ix in model.instructions if ix not in dropped)
    others = [account.type for account in model.accounts]
    others += [event.type for event in model.events]
    others += [constant.type for constant in model.constants]
    gone = _used(model, _types(dropped)) - _used(model, [*_types(kept), *others])
    types = tuple(
        definition for definition in model.types if definition.name not in gone
    )
    return replace(model, instructions=kept, types=types)


def _types(instructions: Iterable[Instruction]) -> list[Type]:
    """Return the types of the arguments and results of instructions."""
    found = [arg.type for ix in instructions for arg in ix.args]
    return found + [ix.returns for ix in instructions if ix.returns is not None]


def _used(model: ProgramModel, types: Iterable[Type]) -> set[str]:
    """Return the names of the defined types that these types use, also through one another."""
    defined = {definition.name: definition.type for definition in model.types}
    waiting, names = list(types), set[str]()
    while waiting:
        for node in walk(waiting.pop()):
            if isinstance(node, Link) and node.name not in names:
                names.add(node.name)
                waiting += filter(None, [defined.get(node.name)])
    return names


def only_itself(ix: Instruction, facade_of: str | None = None) -> str | None:
    """Return why only the program itself can call *ix*, or None if others can.

    The program alone can sign for an address that is derived from it, as programs do that emit events by calling
    themselves. In a facade, the program behind it (*facade_of*) is meant.
    """
    own_program = (None, ConstValue(facade_of))
    for path, (account, _) in account_leaves(ix.accounts):
        pda = account.pda if account.signer is True else None
        if pda is not None and pda.program in own_program:
            name = ".".join(path)
            return f"only the program itself can sign for {name!r}, so nobody else can call it"
    return None


def account_leaves(
    items: tuple[AccountItem, ...], prefix: tuple[str, ...] = (), step: str = "accounts"
) -> Iterator[tuple[tuple[str, ...], tuple[Account, str]]]:
    """Yield each account of an instruction by its path through groups, with its place in the document."""
    for i, item in enumerate(items):
        if isinstance(item, AccountGroup):
            inside = f"{step}[{i}].accounts"
            yield from account_leaves(item.accounts, (*prefix, item.name), inside)
        else:
            yield (*prefix, item.name), (item, f"{step}[{i}]")

"""Finds the instructions that callers cannot use: the codec cannot encode them, or only the program can sign them."""

from __future__ import annotations

from collections.abc import Iterator

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
from mcpsol_py.names import snake

__all__ = ["account_leaves", "answers_schema", "only_itself", "unusable"]


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

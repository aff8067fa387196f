"""The model of a facade: a program that serves list_tools for another program and forwards every other call to it.

Callers give a facade the same accounts as the program behind it, and that program itself as the first account. In the
model, the program behind replaces "this program" (its id as a value or a seed, the program of a derived address,
Anchor's event pair), so that no client takes the facade for it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import singledispatchmethod
from itertools import chain, count, starmap
from typing import Any

from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Constraints,
    ConstSeed,
    ConstValue,
    Instruction,
    Pda,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
)
from mcpsol_py.names import forms, snake
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["BEHIND", "facade_model"]

#: The account that every tool of a facade takes first, unless the instruction has this name already.
BEHIND = "target_program"

_DOCS = ("The program that this call is passed on to.",)


def facade_model(model: ProgramModel, program_id: str) -> ProgramModel:
    """Return *model* as a facade of the program at *program_id* (base58) serves it.

    It has the same tools, each with the program behind as its first account, no address, and `facade_of` set. Raises
    ValueError if *program_id* is not an address, or if *model* is a facade already.
    """
    raw = address_bytes(program_id)
    if model.facade_of is not None:
        raise ValueError(f"{model.name} is a facade already, of {model.facade_of}")
    behind = _ProgramBehind(program_id, raw)
    return replace(
        model,
        instructions=tuple(_instruction(ix, behind) for ix in model.instructions),
        accounts=tuple(replace(a, pda=behind.named(a.pda)) for a in model.accounts),
        pdas=behind.named(model.pdas),
        address=None,
        facade_of=program_id,
    )


class _ProgramBehind:
    """Replaces "this program" in a model by the program at an address."""

    def __init__(self, address: str, raw: bytes) -> None:
        self.address = address
        self.raw = raw

    @singledispatchmethod
    def named(self, node: Any) -> Any:
        """Return *node* (a tuple, a part of the model, or plain data) with the program named."""
        if not is_dataclass(node) or isinstance(node, type):
            return node
        return self._fields_named(node)

    @named.register
    def _(self, node: tuple) -> Any:  # type: ignore[type-arg]  # register refuses tuple[Any, ...]
        return tuple(map(self.named, node))

    @named.register
    def _(self, _node: ProgramIdValue) -> Any:
        return ConstValue(self.address)

    @named.register
    def _(self, _node: ProgramIdSeed) -> Any:
        return ConstSeed(self.raw)

    @named.register
    def _(self, node: Pda) -> Any:
        program = ConstValue(self.address) if node.program is None else node.program
        return self._fields_named(replace(node, program=program))

    @named.register
    def _(self, node: Constraints) -> Any:
        owner = self.address if node.owner == "" else node.owner
        return self._fields_named(replace(node, owner=owner))

    def _fields_named(self, node: Any) -> Any:
        old = {field.name: getattr(node, field.name) for field in fields(node)}
        return replace(node, **{name: self.named(value) for name, value in old.items()})


def _instruction(ix: Instruction, behind: _ProgramBehind) -> Instruction:
    accounts = behind.named(_with_event_pair(ix.accounts))
    program = Account(_free_name(BEHIND, ix), address=behind.address, docs=_DOCS)
    arg_values = behind.named(ix.arg_values)
    return replace(ix, accounts=(program, *accounts), arg_values=arg_values)


def _with_event_pair(items: tuple[AccountItem, ...]) -> tuple[AccountItem, ...]:
    """Return *items* with Anchor's event pair spelled out: `event_authority` and then `program`, which clients
    know by their names.
    """
    names = ["", *(snake(item.name) for item in items), ""]
    neighbours = zip(items, names, names[2:], strict=False)
    return tuple(starmap(_as_event_account, neighbours))


def _as_event_account(item: AccountItem, before: str, after: str) -> AccountItem:
    """Return *item* with its address spelled out if it and the account *before* or *after* it are the event pair."""
    if isinstance(item, AccountGroup):
        return replace(item, accounts=_with_event_pair(item.accounts))
    if _is_described(item):
        return item
    name = snake(item.name)
    if (name, after) == _EVENT_PAIR:
        return replace(item, pda=Pda((ConstSeed(b"__event_authority"),)))
    if (before, name) == _EVENT_PAIR:
        return replace(item, default=ProgramIdValue())
    return item


_EVENT_PAIR = ("event_authority", "program")


def _is_described(account: Account) -> bool:
    """Does the source say how to find this account?"""
    return (account.address, account.pda, account.default) != (None, None, None)


def _free_name(name: str, ix: Instruction) -> str:
    """Return *name*, with a number if an account, group or argument of the instruction has that name already."""
    items = (*ix.accounts, *ix.args, *ix.remaining)
    taken = set(chain.from_iterable(forms(item.name) for item in items))
    candidate = name
    for number in count(2):
        if taken.isdisjoint(forms(candidate)):
            break
        candidate = f"{name}_{number}"
    return candidate

"""The model of a facade: a program that serves list_tools for another program and forwards every other call to it.

Callers give a facade the same accounts as the program behind it, and that program itself as the first account. In the
model, the program behind replaces "this program" (its id as a value or a seed, the program of a derived address,
Anchor's event pair), so that no client takes the facade for it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import chain, count
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

    def named(self, node: Any) -> Any:
        """Return *node* (a tuple, a part of the model, or plain data) with the program named."""
        match node:
            case tuple():
                return tuple(self.named(item) for item in node)
            case ProgramIdValue():
                return ConstValue(self.address)
            case ProgramIdSeed():
                return ConstSeed(self.raw)
            case Pda(program=None):
                node = replace(node, program=ConstValue(self.address))
            case Constraints(owner=""):
                node = replace(node, owner=self.address)
        if not is_dataclass(node) or isinstance(node, type):
            return node
        return self._fields_named(node)

    def _fields_named(self, node: Any) -> Any:
        changed = {}
        for field in fields(node):
            old = getattr(node, field.name)
            new = self.named(old)
            if new is not old:
                changed[field.name] = new
        return replace(node, **changed) if changed else node


def _instruction(ix: Instruction, behind: _ProgramBehind) -> Instruction:
    accounts = behind.named(_with_event_pair(ix.accounts))
    program = Account(_free_name(BEHIND, ix), address=behind.address, docs=_DOCS)
    arg_values = behind.named(ix.arg_values)
    return replace(ix, accounts=(program, *accounts), arg_values=arg_values)


def _with_event_pair(items: tuple[AccountItem, ...]) -> tuple[AccountItem, ...]:
    """Return *items* with Anchor's event pair spelled out: `event_authority` and then `program`, which clients
    know by their names.
    """
    names = [snake(item.name) for item in items]
    out: list[AccountItem] = []
    for place, item in enumerate(items):
        if isinstance(item, AccountGroup):
            out.append(replace(item, accounts=_with_event_pair(item.accounts)))
        elif _is_described(item):
            out.append(item)
        elif names[place : place + 2] == _EVENT_PAIR:
            out.append(replace(item, pda=Pda((ConstSeed(b"__event_authority"),))))
        elif place and names[place - 1 : place + 1] == _EVENT_PAIR:
            out.append(replace(item, default=ProgramIdValue()))
        else:
            out.append(item)
    return tuple(out)


_EVENT_PAIR = ["event_authority", "program"]


def _is_described(account: Account) -> bool:
    """Does the source say how to find this account?"""
    return account.address is not None or account.pda is not None or account.default is not None


def _free_name(name: str, ix: Instruction) -> str:
    """Return *name*, with a number if an account, group or argument of the instruction has that name already."""
    items = (*ix.accounts, *ix.args, *ix.remaining)
    taken = {form for item in items for form in forms(item.name)}
    candidates = chain((name,), (f"{name}_{i}" for i in count(2)))
    return next(c for c in candidates if taken.isdisjoint(forms(c)))

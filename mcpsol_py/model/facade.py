"""The model of a facade: a program that serves list_tools for another one and passes every other call on to it.

A caller gives a facade what it would give the program behind it, and that program itself as the first account. All
that was "this program" in the model (its id as a value or a seed, the program of a derived address, Anchor's event
pair) is the program behind by name, so that no client takes the facade for it.
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
    """*model* as a facade of the program at *program_id* (base58) serves it: the same tools, each with the program
    behind as its first account; no address of its own; `facade_of` set. Raises ValueError where *program_id* is no
    address, or *model* is a facade already."""
    raw = address_bytes(program_id)
    if model.facade_of is not None:
        raise ValueError(f"{model.name} is a facade already, of {model.facade_of}")
    own = _Own(program_id, raw)
    return replace(
        model,
        instructions=tuple(_instruction(ix, own) for ix in model.instructions),
        accounts=tuple(replace(a, pda=own.named(a.pda)) for a in model.accounts),
        pdas=own.named(model.pdas),
        address=None,
        facade_of=program_id,
    )


class _Own:
    """Says "the program at this address" wherever a model says "this program"."""

    def __init__(self, address: str, raw: bytes) -> None:
        self.address = address
        self.raw = raw

    def named(self, node: Any) -> Any:
        """*node* (a tuple, a part of the model, or plain data), with the program named."""
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
        changed = {
            f.name: new
            for f in fields(node)
            if (new := self.named(old := getattr(node, f.name))) is not old
        }
        return replace(node, **changed) if changed else node


def _instruction(ix: Instruction, own: _Own) -> Instruction:
    accounts = own.named(_with_event_pair(ix.accounts))
    behind = Account(_free(BEHIND, ix), address=own.address, docs=_DOCS)
    return replace(ix, accounts=(behind, *accounts), arg_values=own.named(ix.arg_values))


def _with_event_pair(items: tuple[AccountItem, ...]) -> tuple[AccountItem, ...]:
    """*items*, where Anchor's `event_authority` and the `program` after it, which clients know by their names, say what
    they are."""
    out: list[AccountItem] = []
    for place, item in enumerate(items):
        if isinstance(item, AccountGroup):
            out.append(replace(item, accounts=_with_event_pair(item.accounts)))
            continue
        after = items[place + 1 : place + 2]
        before = items[place - 1] if place else None
        said = item.address is not None or item.pda is not None or item.default is not None
        if (
            not said
            and snake(item.name) == "event_authority"
            and after
            and snake(after[0].name) == "program"
        ):
            item = replace(item, pda=Pda((ConstSeed(b"__event_authority"),)))
        elif (
            not said
            and snake(item.name) == "program"
            and before
            and snake(before.name) == "event_authority"
        ):
            item = replace(item, default=ProgramIdValue())
        out.append(item)
    return tuple(out)


def _free(name: str, ix: Instruction) -> str:
    """*name*, or with a number behind it where an account, group or argument of the instruction is called so."""
    taken = {form for item in (*ix.accounts, *ix.args, *ix.remaining) for form in forms(item.name)}
    return next(
        n for n in chain((name,), (f"{name}_{i}" for i in count(2))) if not taken & set(forms(n))
    )

"""A tool as list_tools pages know it: an instruction as one row of parameters, accounts first, then arguments, in wire
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Discriminator,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
    Value,
)
from mcpsol_py.model.types import Default, Link, Type, TypeDef
from mcpsol_py.model.visit import children
from mcpsol_py.names import clean_text

__all__ = [
    "AccountParam",
    "ArgParam",
    "Schema",
    "Tool",
    "describe",
    "leaves",
    "needed_types",
    "schema_of",
    "tool_of",
]


@dataclass(frozen=True, slots=True)
class AccountParam:
    """An account of a tool. `path`: its name, below the names of the groups that it stands in. `signer` "either": it
    may sign.
    """

    path: tuple[str, ...]
    writable: bool = False
    signer: bool | Literal["either"] = False
    optional: bool = False
    address: str | None = None
    pda: Pda | None = None
    default: Value | None = None
    description: str = ""

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ArgParam:
    """An argument of a tool. `type` None: the page does not say which; `word` is what it says.

    `exact` False: the type is a reader's understanding of a word that can mean several (mcpsol's macros write every
    integer as `int`).
    """

    name: str
    type: Type | None
    word: str = ""
    exact: bool = True
    default: Default | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """One instruction. `ambiguous`: pubkey parameters that may be accounts or the first arguments (mcpsol's pages
    cannot tell).
    """

    name: str
    discriminator: Discriminator
    accounts: tuple[AccountParam, ...] = ()
    args: tuple[ArgParam, ...] = ()
    description: str = ""
    remaining: tuple[RemainingAccounts, ...] = ()
    returns: Type | None = None
    optional_accounts: Literal["program_id", "omitted"] = "program_id"
    also: tuple[Discriminator, ...] = ()
    disabled: str | None = None
    ambiguous: tuple[str, ...] = ()
    #: what a client gives an argument that its caller leaves out
    arg_values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """What all JSON pages of a program say together."""

    name: str
    tools: tuple[Tool, ...]
    types: tuple[TypeDef, ...] = ()
    version: str = ""
    #: the program behind a facade
    facade_of: str | None = None


def leaves(
    items: tuple[AccountItem, ...], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Account]]:
    """The accounts of *items* in wire order, each with its path through the groups."""
    for item in items:
        if isinstance(item, AccountGroup):
            yield from leaves(item.accounts, (*above, item.name))
        else:
            yield (*above, item.name), item


def describe(docs: tuple[str, ...], mode: str) -> str:
    """Docs as a description: "full", "short" (the first sentence, at most 100 characters), "none"."""
    if mode == "none" or not docs:
        return ""
    text = clean_text("\n".join(docs)).strip()
    if mode == "full":
        return text
    first = text.split("\n\n", 1)[0].replace("\n", " ")
    sentence = first.split(". ", 1)[0].rstrip(".")
    return sentence if len(sentence) <= 100 else sentence[:99].rstrip() + "…"


def tool_of(instruction: Instruction, descriptions: str = "full") -> Tool:
    """The row of *instruction*. `descriptions` as in `describe`."""
    return Tool(
        name=instruction.name,
        discriminator=instruction.discriminator,
        accounts=tuple(
            AccountParam(
                path,
                a.writable,
                a.signer,
                a.optional,
                a.address,
                a.pda,
                a.default,
                describe(a.docs, descriptions),
            )
            for path, a in leaves(instruction.accounts)
        ),
        args=tuple(
            ArgParam(f.name, f.type, default=f.default, description=describe(f.docs, descriptions))
            for f in instruction.args
        ),
        description=describe(instruction.docs, descriptions),
        remaining=instruction.remaining,
        returns=instruction.returns,
        optional_accounts=instruction.optional_accounts,
        also=instruction.also,
        disabled=instruction.disabled,
        arg_values=instruction.arg_values,
    )


def schema_of(model: ProgramModel, descriptions: str = "full") -> Schema:
    """All tools of *model*, and the types that they need."""
    return Schema(
        name=model.name,
        tools=tuple(tool_of(i, descriptions) for i in model.instructions),
        types=needed_types(model),
        facade_of=model.facade_of,
    )


def needed_types(model: ProgramModel) -> tuple[TypeDef, ...]:
    """The definitions that the model's instructions name, directly or through one another, in the model's order."""
    defined = {d.name: d for d in reversed(model.types)}
    found: set[str] = set()
    todo: list[Type] = []
    for ix in model.instructions:
        todo += [f.type for f in ix.args]
        if ix.returns is not None:
            todo.append(ix.returns)
    while todo:
        node = todo.pop()
        if isinstance(node, Link) and node.name not in found and node.name in defined:
            found.add(node.name)
            todo.append(defined[node.name].type)
        todo += children(node)
    return tuple(d for d in model.types if d.name in found)

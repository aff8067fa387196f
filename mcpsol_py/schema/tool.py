"""A tool of list_tools pages: one row of parameters, first accounts, then arguments, in wire order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcpsol_py.items import types_by_name
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
from mcpsol_py.model.types import Default, Field, Link, Type, TypeDef
from mcpsol_py.model.visit import walk
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
    """An account of a tool. `path`: the names of the groups around it and its own. `signer` "either": it may sign."""

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
    """An argument of a tool. `word` is the type's word on the page. `type` None: the word names no known type.

    `exact` False: the word can mean several types, and `type` is the most likely one (mcpsol's macros write every
    integer as `int`).
    """

    name: str
    type: Type | None
    word: str = ""
    exact: bool = True
    default: Default | None = None
    description: str = ""

    @property
    def is_constant(self) -> bool:
        """Does it always have its default, so that callers do not give it?"""
        return self.default is not None and self.default.omitted


@dataclass(frozen=True, slots=True)
class Tool:
    """One instruction. `ambiguous`: pubkey parameters that may be accounts or the first arguments, since mcpsol's
    pages do not distinguish them.
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
    #: values that a client fills in for arguments that its caller leaves out
    arg_values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The contents of all JSON pages of a program."""

    name: str
    tools: tuple[Tool, ...]
    types: tuple[TypeDef, ...] = ()
    version: str = ""
    #: the program behind a facade
    facade_of: str | None = None


def leaves(
    items: tuple[AccountItem, ...], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Account]]:
    """Yield the accounts of *items* in wire order, each with its path through the groups."""
    for item in items:
        path = (*above, item.name)
        if isinstance(item, AccountGroup):
            yield from leaves(item.accounts, path)
        else:
            yield path, item


def describe(docs: tuple[str, ...], mode: str) -> str:
    """Return docs as a description. *mode*: "full", "short" (the first sentence, at most 100 characters) or "none"."""
    if mode == "none" or not docs:
        return ""
    text = clean_text("\n".join(docs)).strip()
    if mode == "full":
        return text
    first = text.split("\n\n", 1)[0].replace("\n", " ")
    sentence = first.split(". ", 1)[0].rstrip(".")
    if len(sentence) > 100:
        return sentence[:99].rstrip() + "…"
    return sentence


def tool_of(instruction: Instruction, descriptions: str = "full") -> Tool:
    """Return *instruction* as a tool. *descriptions*: as in `describe`."""
    accounts = leaves(instruction.accounts)
    return Tool(
        name=instruction.name,
        discriminator=instruction.discriminator,
        accounts=tuple(_account_param(path, a, descriptions) for path, a in accounts),
        args=tuple(_arg_param(field, descriptions) for field in instruction.args),
        description=describe(instruction.docs, descriptions),
        remaining=instruction.remaining,
        returns=instruction.returns,
        optional_accounts=instruction.optional_accounts,
        also=instruction.also,
        disabled=instruction.disabled,
        arg_values=instruction.arg_values,
    )


def _account_param(
    path: tuple[str, ...], account: Account, descriptions: str
) -> AccountParam:
    return AccountParam(
        path=path,
        writable=account.writable,
        signer=account.signer,
        optional=account.optional,
        address=account.address,
        pda=account.pda,
        default=account.default,
        description=describe(account.docs, descriptions),
    )


def _arg_param(field: Field, descriptions: str) -> ArgParam:
    description = describe(field.docs, descriptions)
    return ArgParam(
        field.name, field.type, default=field.default, description=description
    )


def schema_of(model: ProgramModel, descriptions: str = "full") -> Schema:
    """Return all tools of *model* and the types that they need."""
    return Schema(
        name=model.name,
        tools=tuple(tool_of(i, descriptions) for i in model.instructions),
        types=needed_types(model),
        facade_of=model.facade_of,
    )


def needed_types(model: ProgramModel) -> tuple[TypeDef, ...]:
    """Return the definitions that instructions use, directly or through one another, in the order of the model."""
    bodies = types_by_name(reversed(model.types))
    found: set[str] = set()
    waiting = _types_of_instructions(model)
    while waiting:
        names = (_linked_names(waiting.pop()) & bodies.keys()) - found
        found |= names
        waiting += [bodies[name] for name in names]
    return tuple(definition for definition in model.types if definition.name in found)


def _linked_names(node: Type) -> set[str]:
    """Return the names of the defined types in *node*."""
    return {part.name for part in walk(node) if isinstance(part, Link)}


def _types_of_instructions(model: ProgramModel) -> list[Type]:
    out: list[Type] = []
    for ix in model.instructions:
        out += [arg.type for arg in ix.args]
        if ix.returns is not None:
            out.append(ix.returns)
    return out

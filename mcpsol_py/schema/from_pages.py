"""Turns pages from a chain back into a model: exactly from the stream, or from the JSON pages alone, with findings for
everything that they do not contain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from mcpsol_py.errors import MalformedPage
from mcpsol_py.model.program import (
    LIST_TOOLS,
    Account,
    AccountGroup,
    AccountItem,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Field, Unsupported
from mcpsol_py.schema.pages import Page, read_page, read_schema
from mcpsol_py.schema.stream import read_stream
from mcpsol_py.schema.tool import AccountParam, ArgParam, Schema, Tool

__all__ = ["lift", "lift_schema"]

#: The finding about everything that JSON pages do not contain.
_LOST = "read from JSON pages: accounts' data, events, error names and constants are not in them"


def lift(
    pages: Iterable[bytes | Page], stream: Iterable[bytes] | None = None
) -> ProgramModel:
    """Return the model in JSON *pages*, given in the order of their cursors.

    With *stream* (the binary pages that page 0 names), the model is exactly the one that was written, and page 0 is
    enough of the JSON pages. Without it, `findings` of the model list everything that is missing or uncertain. Raises
    MalformedPage.
    """
    read = [p if isinstance(p, Page) else read_page(p, i) for i, p in enumerate(pages)]
    if stream is None:
        return lift_schema(read_schema(read))
    if not read or read[0].stream is None:
        raise MalformedPage(0, "stream pages are given, but page 0 names no stream")
    model = read_stream(stream, read[0].stream)
    return replace(
        model, dialect="list_tools stream", findings=tuple(_disagreements(model, read))
    )


def _disagreements(
    model: ProgramModel, pages: list[Page]
) -> list[tuple[str, str, str]]:
    """Return tools of the JSON pages that the stream does not have: the program may give clients different answers."""
    if pages[-1].next_cursor is not None:
        return []
    known = {(ix.name, ix.discriminator.value) for ix in model.instructions}
    listed = [
        (tool.name, tool.discriminator.value)
        for tool in _real_tools(read_schema(pages))
    ]
    out = []
    for name, value in listed:
        if (name, value) not in known:
            why = f"the JSON pages list {name!r} ({value.hex()}), the stream does not"
            out.append(("instructions", "warning", why))
    return out


def _real_tools(schema: Schema) -> list[Tool]:
    """Return the tools without list_tools itself, which mcpsol's macros list too."""
    return [tool for tool in schema.tools if tool.discriminator.value != LIST_TOOLS]


def lift_schema(schema: Schema) -> ProgramModel:
    """Return the model in JSON pages, with findings for everything that they do not contain."""
    findings: list[tuple[str, str, str]] = [("", "info", _LOST)]
    tools = _real_tools(schema)
    for i, tool in enumerate(tools):
        findings += _doubts(tool, f"instructions[{i}]")
    return ProgramModel(
        name=schema.name,
        instructions=tuple(map(_instruction, tools)),
        types=schema.types,
        dialect="list_tools pages",
        findings=tuple(findings),
        facade_of=schema.facade_of,
    )


def _doubts(tool: Tool, path: str) -> list[tuple[str, str, str]]:
    out = []
    for i, arg in enumerate(tool.args):
        why = _doubt_about(arg)
        if why:
            out.append(
                (f"{path}.args[{i}]", "warning", f"{tool.name}.{arg.name}: {why}")
            )
    for name in tool.ambiguous:
        why = "read as an account; mcpsol's pages do not distinguish accounts and pubkey arguments"
        out.append((path, "info", f"{tool.name}.{name}: {why}"))
    return out


def _doubt_about(arg: ArgParam) -> str:
    """Return the reason why the type of *arg* is uncertain, or "" if it is certain."""
    if arg.type is None:
        return f"the page gives the type {arg.word!r}, which cannot be encoded"
    if not arg.exact:
        return f"the page gives the type {arg.word!r}; read as u64, which mcpsol's clients write"
    return ""


def _instruction(tool: Tool) -> Instruction:
    return Instruction(
        name=tool.name,
        discriminator=tool.discriminator,
        args=tuple(map(_argument, tool.args)),
        accounts=_grouped(tool.accounts, 0),
        remaining=tool.remaining,
        returns=tool.returns,
        docs=_docs(tool.description),
        optional_accounts=tool.optional_accounts,
        also=tool.also,
        disabled=tool.disabled,
        arg_values=tool.arg_values,
    )


def _argument(param: ArgParam) -> Field:
    node = param.type
    if node is None:
        node = Unsupported(param.word, "no type that can be encoded")
    return Field(param.name, node, docs=_docs(param.description), default=param.default)


def _docs(description: str) -> tuple[str, ...]:
    return (description,) if description else ()


def _grouped(accounts: tuple[AccountParam, ...], depth: int) -> tuple[AccountItem, ...]:
    """Return the accounts in order, with those that share the start of their path in a group again."""
    out: list[AccountItem] = []
    for (name, leaf), members in groupby(
        accounts, lambda a: (a.path[depth], len(a.path) == depth + 1)
    ):
        if leaf:
            out += map(_account, members)
        else:
            out.append(AccountGroup(name, _grouped(tuple(members), depth + 1)))
    return tuple(out)


def _account(param: AccountParam) -> Account:
    return Account(
        name=param.path[-1],
        writable=param.writable,
        signer=param.signer,
        optional=param.optional,
        address=param.address,
        pda=param.pda,
        default=param.default,
        docs=_docs(param.description),
    )

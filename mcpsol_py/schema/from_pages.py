"""Pages read from a chain -> ProgramModel: exactly from the stream, else what the JSON pages say and a finding for what
they cannot.
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
from mcpsol_py.schema.tool import AccountParam, Schema, Tool

__all__ = ["lift", "lift_schema"]

#: What no JSON page carries, told once.
_LOST = "read from JSON pages: accounts' data, events, error names and constants are not in them"


def lift(pages: Iterable[bytes | Page], stream: Iterable[bytes] | None = None) -> ProgramModel:
    """The model that the *pages* (JSON, in the order of their cursors; page 0 is enough where *stream* is given) say.

    With *stream*, the binary pages that page 0 names, the model is the one that was written. Without, `findings` of the
    model say what is missing or uncertain. Raises MalformedPage.
    """
    read = [p if isinstance(p, Page) else read_page(p, i) for i, p in enumerate(pages)]
    if stream is None:
        return lift_schema(read_schema(read))
    ref = read[0].stream if read else None
    if ref is None:
        raise MalformedPage(0, "stream pages are given, but page 0 names no stream")
    model = read_stream(stream, ref)
    return replace(model, dialect="list_tools stream", findings=tuple(_disagreements(model, read)))


def _disagreements(model: ProgramModel, pages: list[Page]) -> list[tuple[str, str, str]]:
    """Tools that the JSON pages at hand name otherwise than the stream: a program that shows two faces."""
    if pages[-1].next_cursor is not None:
        return []
    known = {(i.name, i.discriminator.value) for i in model.instructions}
    return [
        (
            "instructions",
            "warning",
            f"the JSON pages list {t.name!r} ({t.discriminator.value.hex()}), the stream does not",
        )
        for t in read_schema(pages).tools
        if (t.name, t.discriminator.value) not in known and t.discriminator.value != LIST_TOOLS
    ]


def lift_schema(schema: Schema) -> ProgramModel:
    """The model that JSON pages say, with findings for what they cannot."""
    findings: list[tuple[str, str, str]] = [("", "info", _LOST)]
    instructions: list[Instruction] = []
    for tool in schema.tools:
        if tool.discriminator.value == LIST_TOOLS:
            continue  # mcpsol's macros list list_tools itself
        path = f"instructions[{len(instructions)}]"
        findings += _doubts(tool, path)
        instructions.append(_instruction(tool))
    return ProgramModel(
        name=schema.name,
        instructions=tuple(instructions),
        types=schema.types,
        dialect="list_tools pages",
        findings=tuple(findings),
        facade_of=schema.facade_of,
    )


def _doubts(tool: Tool, path: str) -> list[tuple[str, str, str]]:
    out = []
    for i, arg in enumerate(tool.args):
        where = f"{path}.args[{i}]"
        if arg.type is None:
            why = f"{tool.name}.{arg.name}: the page says {arg.word!r}, which is no type that can be encoded"
            out.append((where, "warning", why))
        elif not arg.exact:
            why = f"{tool.name}.{arg.name}: the page says {arg.word!r}; read as u64, which mcpsol's clients write"
            out.append((where, "warning", why))
    for name in tool.ambiguous:
        why = (
            f"{tool.name}.{name}: an account or a pubkey argument; mcpsol's pages cannot say which."
            " Read as an account"
        )
        out.append((path, "info", why))
    return out


def _instruction(tool: Tool) -> Instruction:
    unknown = "no type that can be encoded"
    return Instruction(
        name=tool.name,
        discriminator=tool.discriminator,
        args=tuple(
            Field(
                a.name,
                Unsupported(a.word, unknown) if a.type is None else a.type,
                docs=(a.description,) if a.description else (),
                default=a.default,
            )
            for a in tool.args
        ),
        accounts=_grouped(tool.accounts, 0),
        remaining=tool.remaining,
        returns=tool.returns,
        docs=(tool.description,) if tool.description else (),
        optional_accounts=tool.optional_accounts,
        also=tool.also,
        disabled=tool.disabled,
        arg_values=tool.arg_values,
    )


def _grouped(accounts: tuple[AccountParam, ...], depth: int) -> tuple[AccountItem, ...]:
    """Accounts in order; those that share the head of their path stand in a group again."""
    out: list[AccountItem] = []
    for (name, leaf), members in groupby(
        accounts, lambda a: (a.path[depth], len(a.path) == depth + 1)
    ):
        if leaf:
            out += [_account(a) for a in members]
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
        docs=(param.description,) if param.description else (),
    )

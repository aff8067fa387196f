"""Writes a tool as its JSON row, compact or verbose (docs/wire.md, "A tool")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

from mcpsol_py.model.program import (
    Discriminator,
    Pda,
    PdaValue,
    RemainingAccounts,
    Value,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import PUBKEY, Type
from mcpsol_py.schema.schema_parts import given
from mcpsol_py.schema.tool import AccountParam, ArgParam, Tool
from mcpsol_py.schema.wire import (
    ACCOUNT_WORDS,
    COMPACT_FLAGS,
    COMPACT_TABLES,
    GUARD,
    OLD_WORDS,
    READ_WORDS,
    SUFFIXES,
    guard_reason,
    text_of,
    word_of,
)

__all__ = ["write_compact", "write_verbose"]

#: A label for people that is one of these would be read as a type.
_TAKEN_WORDS = READ_WORDS.keys() | ACCOUNT_WORDS | {"int"}


def write_compact(tool: Tool, resolver: Resolver) -> dict[str, Any]:
    """Return the compact row: n, i, d, p, r, and x for everything that mcpsol's clients do not know."""
    row: dict[str, Any] = {"n": text_of(tool.name)}
    if tool.description:
        row["i"] = text_of(tool.description, 4096)
    row["d"] = tool.discriminator.value.hex()
    parameters = list(_parameters(tool, resolver))
    params: dict[str, Any] = {parameter.key: parameter.word for parameter in parameters}
    if guard_reason(tool, resolver) is not None:
        params[GUARD] = "x"
    extras = _compact_details(parameters) | _tool_extras(tool)
    return _with_parameters(row, "p", params, extras)


def write_verbose(tool: Tool, resolver: Resolver) -> dict[str, Any]:
    """Return the verbose row: name, description, discriminator, parameters, and `r` for their order, which mcpsol's
    Rust client would lose.
    """
    row: dict[str, Any] = {"name": text_of(tool.name)}
    if tool.description:
        row["description"] = text_of(tool.description, 4096)
    row["discriminator"] = tool.discriminator.value.hex()
    params = {p.base: _verbose_parameter(p) for p in _parameters(tool, resolver)}
    if guard_reason(tool, resolver) is not None:
        params[GUARD] = {"type": "x"}
    return _with_parameters(row, "parameters", params, _tool_extras(tool))


def _with_parameters(
    row: dict[str, Any], key: str, params: dict[str, Any], extras: dict[str, Any]
) -> dict[str, Any]:
    return row | given({key: params, "r": list(params), "x": extras})


# --- parameters ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter of a row. `base` and `key`: its key without and with the suffix. `details`: by their long names."""

    base: str
    key: str
    word: str
    details: dict[str, Any]
    description: str
    signer: bool = False
    writable: bool = False


def _compact_details(parameters: list[_Parameter]) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    for parameter in parameters:
        for detail, value in parameter.details.items():
            if detail in COMPACT_FLAGS:
                extras.setdefault(COMPACT_FLAGS[detail], []).append(parameter.key)
            else:
                extras.setdefault(COMPACT_TABLES[detail], {})[parameter.key] = value
    return extras


def _verbose_parameter(parameter: _Parameter) -> dict[str, Any]:
    flags = {
        "signer": parameter.signer,
        "writable": parameter.writable,
        "description": text_of(parameter.description, 1024),
    }
    return {"type": parameter.word, **given(flags), **parameter.details}


def _parameters(tool: Tool, resolver: Resolver) -> Iterator[_Parameter]:
    bases: set[str] = {GUARD}
    keys: set[str] = {GUARD}
    for account in tool.accounts:
        parameter = _account_parameter(account, bases)
        bases.add(parameter.base)
        keys |= {parameter.base, parameter.key}
        yield parameter
    for arg in tool.args:
        parameter = _argument_parameter(arg, keys, resolver)
        keys.add(parameter.key)
        yield parameter


def _account_parameter(account: AccountParam, taken: set[str]) -> _Parameter:
    base = text_of(".".join(account.path))
    if base.endswith(SUFFIXES):
        base += "_"  # mcpsol's clients would take the end of the name for flags
    while base in taken:
        base += "_"
    signer = account.signer is True
    suffix = ("s" if signer else "") + ("w" if account.writable else "")
    key = f"{base}_{suffix}" if suffix else base
    details = _account_details(account, base)
    return _Parameter(
        base, key, "pubkey", details, account.description, signer, account.writable
    )


def _account_details(account: AccountParam, base: str) -> dict[str, Any]:
    is_own_name = tuple(base.split(".")) == account.path
    return given(
        {
            "name": [] if is_own_name else list(map(text_of, account.path)),
            "address": account.address and text_of(account.address),
            "seeds": account.pda and to_json(_bare(account.pda)),
            "value": account.default and to_json(_bare(account.default)),
            "optional": account.optional,
            "maySign": account.signer == "either",
        }
    )


def _argument_parameter(
    arg: ArgParam, taken: set[str], resolver: Resolver
) -> _Parameter:
    plain = text_of(arg.name)
    base = f"{plain}_arg" if plain in taken else plain
    while base in taken:
        base += "_"
    word, is_exact = _word_for(arg, resolver)
    details = given(
        {
            "name": "" if base == plain else plain,
            "exact": None if is_exact else to_json(arg.type),
            "default": to_json(arg.default),
        }
    )
    return _Parameter(base, base, word, details, arg.description)


def _word_for(arg: ArgParam, resolver: Resolver) -> tuple[str, bool]:
    """Return the word for an argument, and whether it says the type exactly."""
    if arg.type is None:
        return arg.word or "?", True
    if arg.type == PUBKEY:
        return "Pubkey", True
    word = word_of(arg.type, resolver)
    if word is not None:
        return word, OLD_WORDS[word] == arg.type
    spelled = to_json(arg.type)
    if isinstance(spelled, str) and READ_WORDS.get(spelled) == arg.type:
        return spelled, True
    return _label(arg.type), False


def _label(node: Type) -> str:
    """Return a label for people that no reader takes for a word."""
    label = text_of(type_text(node), 24)
    return f"={label}" if label in _TAKEN_WORDS else label


def _bare(value: Any) -> Any:
    """Return a Pda, or a value that may hold one, without the parts of the Pda that only renderers need."""
    if isinstance(value, Pda):
        return replace(value, name="", bump=None)
    if isinstance(value, PdaValue):
        return PdaValue(_bare(value.pda))
    return value


# --- the tool itself -------------------------------------------------------------------------------------------------


def _tool_extras(tool: Tool) -> dict[str, Any]:
    return given(
        {
            "disc": _discriminator_detail(tool.discriminator),
            "also": to_json(tool.also),
            "absent": _absent_accounts(tool),
            "rest": list(map(_remaining_row, tool.remaining)),
            "ret": to_json(tool.returns),
            "fill": list(starmap(_filled_in, tool.arg_values)),
            "off": text_of(tool.disabled or "", 200),
        }
    )


def _discriminator_detail(discriminator: Discriminator) -> Any:
    """Return the whole discriminator, or None if its bytes alone say everything."""
    return None if discriminator.is_prefix else to_json(discriminator)


def _absent_accounts(tool: Tool) -> str:
    """Return "omitted" if the tool leaves absent optional accounts out, and "" if it does not."""
    if tool.optional_accounts != "omitted":
        return ""
    has_optional = any(account.optional for account in tool.accounts)
    return "omitted" if has_optional else ""


def _remaining_row(accounts: RemainingAccounts) -> Any:
    return to_json(replace(accounts, docs=(), name=text_of(accounts.name)))


def _filled_in(name: str, value: Value) -> list[Any]:
    return [text_of(name), to_json(_bare(value))]

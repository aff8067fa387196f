"""Writes a tool as its JSON row, compact or verbose (docs/wire.md, "A tool")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcpsol_py.model.program import Pda, PdaValue, Value
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import PUBKEY
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
    if params:
        row[key] = params
        row["r"] = list(params)
    if extras:
        row["x"] = extras
    return row


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
    out: dict[str, Any] = {"type": parameter.word}
    if parameter.signer:
        out["signer"] = True
    if parameter.writable:
        out["writable"] = True
    if parameter.description:
        out["description"] = text_of(parameter.description, 1024)
    return out | parameter.details


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
    return _Parameter(base, key, "pubkey", details, account.description, signer, account.writable)


def _account_details(account: AccountParam, base: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if tuple(base.split(".")) != account.path:
        details["name"] = [text_of(step) for step in account.path]
    if account.address is not None:
        details["address"] = text_of(account.address)
    if account.pda is not None:
        details["seeds"] = to_json(_bare_pda(account.pda))
    if account.default is not None:
        details["value"] = to_json(_bare_value(account.default))
    if account.optional:
        details["optional"] = True
    if account.signer == "either":
        details["maySign"] = True
    return details


def _argument_parameter(arg: ArgParam, taken: set[str], resolver: Resolver) -> _Parameter:
    plain = text_of(arg.name)
    base = f"{plain}_arg" if plain in taken else plain
    while base in taken:
        base += "_"
    details: dict[str, Any] = {}
    if base != plain:
        details["name"] = plain
    word, is_exact = _word_for(arg, resolver)
    if not is_exact:
        details["exact"] = to_json(arg.type)
    if arg.default is not None:
        details["default"] = to_json(arg.default)
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
    label = text_of(type_text(arg.type), 24)
    return f"={label}" if label in _TAKEN_WORDS else label, False


def _bare_pda(pda: Pda) -> Pda:
    """Return *pda* without the parts that only renderers need."""
    return replace(pda, name="", bump=None)


def _bare_value(value: Value) -> Value:
    return PdaValue(_bare_pda(value.pda)) if isinstance(value, PdaValue) else value


# --- the tool itself -------------------------------------------------------------------------------------------------


def _tool_extras(tool: Tool) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    discriminator = tool.discriminator
    is_leading = discriminator.offset == 0 and discriminator.consumed
    if not is_leading or discriminator.size is not None:
        extras["disc"] = to_json(discriminator)
    if tool.also:
        extras["also"] = to_json(tool.also)
    if tool.optional_accounts == "omitted" and any(a.optional for a in tool.accounts):
        extras["absent"] = "omitted"
    if tool.remaining:
        bare = [replace(r, docs=(), name=text_of(r.name)) for r in tool.remaining]
        extras["rest"] = [to_json(accounts) for accounts in bare]
    if tool.returns is not None:
        extras["ret"] = to_json(tool.returns)
    if tool.arg_values:
        values = [(text_of(name), _bare_value(value)) for name, value in tool.arg_values]
        extras["fill"] = [[name, to_json(value)] for name, value in values]
    if tool.disabled:
        extras["off"] = text_of(tool.disabled, 200)
    return extras

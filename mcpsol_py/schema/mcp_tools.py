"""Instructions as standard MCP tools, and a tool call back into an instruction, its arguments and its accounts.

The properties of a tool are the arguments by name, then `accounts` (an object; only accounts that a client cannot fill
in are required) and `remaining_accounts`. An argument with one of these names gets the suffix `_arg`. Names and schemas
keep within the limits of every supported client (client_limits.py lists them); a profile narrows them further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mcpsol_py.errors import EncodeError, UnknownName, abbr, suggest
from mcpsol_py.items import items_by_name, names_of, without_nulls
from mcpsol_py.model.program import AccountGroup, AccountItem, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.usable import only_itself, unusable
from mcpsol_py.names import ByName, by_name
from mcpsol_py.schema.client_profiles import PROFILES
from mcpsol_py.schema.json_schema import Schemas
from mcpsol_py.schema.mcp_definition import MustGive, ToolDefinition, accounts_to_give
from mcpsol_py.schema.schema_parts import by_property, opened
from mcpsol_py.schema.tool import leaves
from mcpsol_py.schema.tool_names import (
    NAME_BUDGET,
    hashed_name,
    safe_name,
    shown,
    title_of,
    unique_names,
)

__all__ = [
    "NAME_BUDGET",
    "ToolCall",
    "ToolMap",
    "hashed_name",
    "safe_name",
    "shown",
    "title_of",
    "tools",
    "unique_names",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in the form that the codec and the account planner accept.

    `accounts` nests as the groups do. `remaining`: lists of addresses by name.
    """

    instruction: str
    args: dict[str, Any]
    accounts: dict[str, Any]
    remaining: dict[str, list[Any]]


class ToolMap:
    """The tools of a program: `tools` are MCP tool definitions, `call` turns a call of one into an instruction's parts.

    Instructions that cannot be served are left out; `left_out` has the reasons. *prefix* and *budget* determine the
    names of the tools. *must_give*: which accounts are required; by default those without address, seeds, default or
    relation.
    """

    def __init__(
        self,
        model: ProgramModel,
        profile: str = "default",
        *,
        prefix: str = "",
        budget: int = NAME_BUDGET,
        must_give: MustGive | None = None,
    ) -> None:
        UnknownName.check("client profile", [profile], PROFILES)
        #: instruction -> the reason why it is not a tool
        self.left_out = _left_out(model)
        served = [ix for ix in model.instructions if ix.name not in self.left_out]
        names = unique_names((prefix + ix.name for ix in served), budget)
        schemas = Schemas(Resolver(model), PROFILES[profile])
        must = must_give or accounts_to_give
        #: the tools by name, and their names by instruction
        self._tools: dict[str, ToolDefinition] = {}
        self.by_instruction: dict[str, str] = {}
        for name, ix in zip(names, served, strict=True):
            self._tools[name] = ToolDefinition(ix, name, schemas, model.name, must)
            self.by_instruction[ix.name] = name

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The definitions: name, title, description, inputSchema, annotations."""
        return [tool.definition for tool in self._tools.values()]

    def definition(self, name: str) -> dict[str, Any]:
        """Return the definition of one tool. Raises UnknownName."""
        return self._find(name).definition

    def instruction(self, name: str) -> Instruction:
        """Return the instruction behind a tool. Raises UnknownName."""
        return self._find(name).instruction

    def _find(self, name: str) -> ToolDefinition:
        UnknownName.check("tool", [name], self._tools)
        return self._tools[name]

    def call(
        self, name: str, arguments: Mapping[str, Any], *, called: str = ""
    ) -> ToolCall:
        """Return the parts of a call: the source's names for properties, lists for tuples and maps, None for absent
        options. *called* is the tool's name in messages, if it is not *name*.

        A value that does not fit its type stays as it is, so that the codec refuses it with its path. Raises
        UnknownName for an unknown tool or property.
        """
        tool = self._find(name)
        instruction = tool.instruction
        given = dict(arguments)
        accounts = given.pop("accounts", None)
        remaining = given.pop("remaining_accounts", None)
        args = tool.convert(given) if tool.convert else given
        name = called or name
        _refuse_unknown(tool, args, name)
        return ToolCall(
            instruction.name,
            args,
            _account_names(tool, accounts, instruction.accounts, f"{name}.accounts"),
            _remaining_names(remaining, instruction, name),
        )


def tools(
    model: ProgramModel, profile: str = "default", *, must_give: MustGive | None = None
) -> list[dict[str, Any]]:
    """Return the MCP tool definitions of *model*'s instructions. Raises UnknownName for an unknown profile."""
    return ToolMap(model, profile, must_give=must_give).tools


def _left_out(model: ProgramModel) -> dict[str, str]:
    callable_by_none = {
        ix.name: only_itself(ix, model.facade_of) for ix in model.instructions
    }
    reasons = callable_by_none | unusable(model)
    return without_nulls(reasons)


# --- a call ----------------------------------------------------------------------------------------------------------


def _refuse_unknown(tool: ToolDefinition, args: Mapping[str, Any], where: str) -> None:
    for key in args:
        if key in tool.known or _is_argument_name(key, tool.instruction):
            continue
        properties = tool.definition["inputSchema"]["properties"]
        hint = _account_hint(key, tool.instruction)
        raise UnknownName("property", key, properties, where=where, hint=hint)


def _is_argument_name(name: str, instruction: Instruction) -> bool:
    return name in by_name(names_of(instruction.args))


def _account_hint(name: str, instruction: Instruction) -> str:
    """Return a hint if an account was given as an argument."""
    places = {
        path[-1]: ".".join(path)
        for path, _ in reversed(list(leaves(instruction.accounts)))
    }
    place = ByName(places).get(name)
    if place is not None:
        return f"It is an account: write it as accounts.{place}."
    args = set(names_of(instruction.args))
    near = get_close_matches(name, [*args, *places], n=1, cutoff=0.7)
    if args.issuperset(near):
        return ""
    return (
        f"Did you mean the account {near[0]!r}? Write it as accounts.{places[near[0]]}."
    )


def _argument_hint(name: str, tool: ToolDefinition) -> str:
    """Return a hint if an argument was given as an account."""
    if name not in tool.names and not _is_argument_name(name, tool.instruction):
        return ""
    return "It is an argument: write it beside accounts, not in it."


def _account_names(
    tool: ToolDefinition, given: Any, items: tuple[AccountItem, ...], where: str
) -> dict[str, Any]:
    """Return the given accounts by the source's names.

    Strict clients must give all properties, so null for a required account means that it is left out.
    """
    given = opened(given)
    if given is None:
        return {}
    known = names_of(items)
    if not isinstance(given, dict):
        raise EncodeError(
            f"expected an object of accounts by name, got {abbr(given)}. {suggest('', known)}",
            path=where,
        )
    names = tool.accounts_named(items)
    out: dict[str, Any] = {}
    for key, value in given.items():
        item = names.get(key)
        if item is None:
            hint = _argument_hint(key, tool)
            raise UnknownName("account", key, known, where=where, hint=hint)
        # Given twice, which the planner refuses.
        name = key if item.name in out else item.name
        if isinstance(item, AccountGroup):
            out[name] = _account_names(
                tool, value, item.accounts, f"{where}.{item.name}"
            )
        elif value is not None or item.optional:
            out[name] = value
    return out


def _remaining_names(
    given: Any, instruction: Instruction, where: str
) -> dict[str, list[Any]]:
    """Return the given lists of remaining accounts by the source's names."""
    given = opened(given)
    if given is None:
        return {}
    if isinstance(given, list):
        return {_first_remaining(instruction, where): given}
    lists = by_property(instruction.remaining)
    if not isinstance(given, dict):
        raise UnknownName(
            "list of remaining accounts", str(given)[:40], lists, where=where
        )
    known = ByName(lists | items_by_name(instruction.remaining))
    out: dict[str, list[Any]] = {}
    for key, value in given.items():
        accounts = known.get(key)
        if accounts is None:
            raise UnknownName("list of remaining accounts", key, lists, where=where)
        if value is not None:
            out[key if accounts.name in out else accounts.name] = _as_list(value)
    return out


def _first_remaining(instruction: Instruction, where: str) -> str:
    """Return the name of the list that a plain list is given for. Raises UnknownName without such a list."""
    if instruction.remaining:
        return instruction.remaining[0].name
    known = names_of(instruction.args)
    raise UnknownName("property", "remaining_accounts", known, where=where)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]

"""Instructions as standard MCP tools, and a tool call back into an instruction, its arguments and its accounts.

A tool's properties are the arguments by name, then `accounts` (an object; only those that a client cannot fill in are
required) and `remaining_accounts`. An argument of one of these names gets the suffix `_arg`. Names and schemas keep the
limits of all clients at once (FIELD-NOTES C3, D); a profile narrows them further.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

from mcpsol_py.errors import UnknownName
from mcpsol_py.model.check import only_itself, unusable
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    IdentityValue,
    Instruction,
    PayerValue,
    ProgramModel,
    RemainingAccounts,
    ResolverValue,
    UnknownSeed,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.names import clean_text, forms, words
from mcpsol_py.schema.json_schema import (
    PROFILES,
    Profile,
    Schemas,
    Shape,
    described,
    join,
    object_converter,
    object_schema,
    opened,
    property_names,
    quoted,
)
from mcpsol_py.schema.tool import leaves

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

#: The longest tool name that every client takes with its own prefix (FIELD-NOTES D).
NAME_BUDGET = 40
RESERVED = ("accounts", "remaining_accounts")

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")
_BASE58 = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"

#: (instruction) -> the paths of accounts that a caller must give; the client knows better than the default
#: (accounts/resolution.py).
MustGive = Callable[[Instruction], Collection[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the codec and the account planner take it. `accounts`: nested as the groups are; `remaining`: lists by
    name.
    """

    instruction: str
    args: dict[str, Any]
    accounts: dict[str, Any]
    remaining: dict[str, list[Any]]


# --- names -----------------------------------------------------------------------------------------------------------


def safe_name(name: str, budget: int = NAME_BUDGET) -> str:
    """*name* as every client takes it: `[a-zA-Z_][a-zA-Z0-9_-]*`, at most *budget* characters. What is cut ends in a
    hash of the
    whole name, so the same name always gives the same tool."""
    plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_-") or "tool"
    if not _NAME.match(plain):
        plain = f"_{plain}"
    return plain if len(plain) <= budget else hashed_name(plain, name, budget)


def hashed_name(plain: str, name: str, budget: int) -> str:
    """*plain* with a hash of *name* at its end, within *budget* characters."""
    return f"{plain[: budget - 9]}_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def unique_names(names: Iterable[str], budget: int = NAME_BUDGET) -> list[str]:
    """A safe name for each, none twice, not even in another case. All that would clash get a hash, so order does not
    matter.
    """
    names = list(names)
    plain = [safe_name(n, budget) for n in names]
    count: dict[str, int] = {}
    for p in plain:
        count[p.lower()] = count.get(p.lower(), 0) + 1
    out: list[str] = []
    taken: set[str] = set()
    for name, p in zip(names, plain, strict=True):
        found = (
            p if count[p.lower()] == 1 and p.lower() not in taken else hashed_name(p, name, budget)
        )
        salt = 0
        while found.lower() in taken:
            salt += 1
            found = hashed_name(p, f"{name}#{salt}", budget)
        taken.add(found.lower())
        out.append(found)
    return out


def title_of(name: str) -> str:
    """ "open_position" -> "Open position"."""
    text = clean_text(" ".join(words(name)) or name, 80)
    return text[:1].upper() + text[1:]


# --- what a client fills in ------------------------------------------------------------------------------------------


def _must_give(instruction: Instruction) -> set[tuple[str, ...]]:
    """Without the account planner: what has no fixed address, no seeds that can be followed, no default and no
    relation.
    """
    return {path for path, a in leaves(instruction.accounts) if not a.optional and not _fills(a)}


def _fills(account: Account) -> bool:
    if account.address is not None or account.relations:
        return True
    if account.pda is not None:
        return not any(isinstance(s, UnknownSeed) for s in account.pda.seeds) and not isinstance(
            account.pda.program, ResolverValue
        )
    return account.default is not None and not isinstance(
        account.default, (ResolverValue, IdentityValue, PayerValue)
    )


# --- one tool --------------------------------------------------------------------------------------------------------


class _Tool:
    """What `ToolMap` keeps of a tool."""

    __slots__ = (
        "_accounts",
        "convert",
        "definition",
        "groups",
        "instruction",
        "known",
        "must",
        "names",
        "remaining",
    )

    def __init__(
        self, instruction: Instruction, name: str, schemas: Schemas, program: str, must: MustGive
    ) -> None:
        self.instruction = instruction
        self.known = frozenset(f.name for f in instruction.args)
        self._accounts: dict[int, dict[str, AccountItem]] = {}
        profile = schemas.profile
        shown = [f for f in instruction.args if not (f.default and f.default.omitted)]
        fills = {arg for arg, _ in instruction.arg_values}
        units = {key[5:]: text for key, text in instruction.hints if key.startswith("unit:")}
        self.names = property_names(
            f"{f.name}_arg" if f.name in RESERVED else f.name for f in shown
        )
        members: list[tuple[str, str, Shape, str, bool]] = []
        for prop, f in zip(self.names, shown, strict=True):
            unit = units.get(f.name)
            about = join(f"unit: {clean_text(unit, 40)}" if unit else "", quoted(f.docs))
            members.append(
                (
                    prop,
                    f.name,
                    schemas.shape(f.type),
                    about,
                    f.default is None and f.name not in fills,
                )
            )
        self.must = frozenset(must(instruction))
        # `accounts` is converted by name when the call comes, since groups nest
        accounts = _accounts_schema(instruction.accounts, (), self.must, profile)
        properties, required = _argument_properties(members, schemas)
        if accounts is not None:
            properties["accounts"] = accounts
            if accounts.get("required") or profile.all_required:
                required.append("accounts")
        if instruction.remaining:
            properties["remaining_accounts"] = _remaining_schema(instruction.remaining, profile)
            if profile.all_required:
                required.append("remaining_accounts")
        self.convert = object_converter(members, profile.all_required)
        self.definition: dict[str, Any] = {
            "name": name,
            "title": title_of(instruction.name),
            "description": _description(instruction, program, profile),
            "inputSchema": object_schema(properties, required, profile),
            "annotations": _annotations(instruction),
        }

    def accounts_named(self, items: tuple[AccountItem, ...]) -> dict[str, AccountItem]:
        """Every way to write a name of one group's accounts -> the account; made at the first call."""
        found = self._accounts.get(id(items))
        if found is None:
            found = {}
            for item in items:
                for form in forms(item.name):
                    found.setdefault(form, item)
            found |= dict(zip(property_names(i.name for i in items), items, strict=True)) | {
                i.name: i for i in items
            }
            self._accounts[id(items)] = found
        return found


def _argument_properties(
    members: list[tuple[str, str, Shape, str, bool]], schemas: Schemas
) -> tuple[dict[str, Any], list[str]]:
    whole = schemas.object_of(members, False).schema
    return dict(whole["properties"]), list(whole.get("required", ()))


def _accounts_schema(
    items: tuple[AccountItem, ...],
    above: tuple[str, ...],
    must: Collection[tuple[str, ...]],
    profile: Profile,
) -> dict[str, Any] | None:
    """The object of a group's accounts, nested groups as nested objects; None where there are none."""
    if not items:
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, item in zip(property_names(i.name for i in items), items, strict=True):
        path = (*above, item.name)
        if isinstance(item, AccountGroup):
            group = _accounts_schema(item.accounts, path, must, profile)
            if group is None:
                continue
            properties[name] = described(group, quoted(item.docs, 100), profile.about)
            needed = bool(group.get("required"))
        else:
            needed = path in must
            properties[name] = _account_schema(item, needed, profile)
        if needed or profile.all_required:
            required.append(name)
    return object_schema(properties, required, profile)


def _account_schema(account: Account, needed: bool, profile: Profile) -> dict[str, Any]:
    flags = [
        *(["signer"] if account.signer is True else ["may sign"] if account.signer else []),
        *(["writable"] if account.writable else []),
        *(["optional"] if account.optional else []),
    ]
    if account.address is not None:
        how = f"fixed: {clean_text(account.address, 44)}"
    elif not needed and not account.optional:
        how = "filled in when left out"
    else:
        how = ""
    schema: dict[str, Any] = {
        "type": "string" if needed or not profile.all_required else ["string", "null"]
    }
    schema["description"] = join(
        ", ".join(["address", *flags]), how, quoted(account.docs, 160), limit=profile.about
    )
    if profile.limits:
        schema["pattern"] = _BASE58
    return schema


def _remaining_schema(remaining: tuple[RemainingAccounts, ...], profile: Profile) -> dict[str, Any]:
    """One list, or with several kinds of them an object of lists."""

    def listed(r: RemainingAccounts) -> dict[str, Any]:
        flags = [w for w, on in (("signers", r.signer is True), ("writable", r.writable)) if on]
        address: dict[str, Any] = {"type": "string"} | (
            {"pattern": _BASE58} if profile.limits else {}
        )
        about = join(
            ", ".join([f"{clean_text(r.name, 64)}: addresses after the named accounts", *flags]),
            quoted(r.docs),
        )
        return {"type": "array", "items": address, "description": about}

    if len(remaining) == 1:
        return listed(remaining[0])
    names = property_names(r.name for r in remaining)
    properties = {n: listed(r) for n, r in zip(names, remaining, strict=True)}
    return object_schema(properties, names if profile.all_required else [], profile)


def _description(instruction: Instruction, program: str, profile: Profile) -> str:
    when = next((text for key, text in instruction.hints if key == "when"), "")
    return join(
        f"Instruction {shown(instruction.name)} of the Solana program {shown(program)}",
        quoted(instruction.docs, 600),
        f"When: {quoted((when,), 200)}" if when else "",
        limit=profile.about,
    )


def shown(name: str) -> str:
    """A name as it is where it is one word, else quoted: it may be a sentence that a stranger wrote."""
    text = clean_text(name, 80)
    return text if re.fullmatch(r"[\w.:-]+", text) else f'"{text.replace(chr(34), chr(39))}"'


def _annotations(instruction: Instruction) -> dict[str, Any]:
    accounts = [a for _, a in leaves(instruction.accounts)]
    writes = any(a.writable for a in accounts) or any(r.writable for r in instruction.remaining)
    reads_only = instruction.returns is not None and not writes
    return {
        "title": title_of(instruction.name),
        "readOnlyHint": reads_only,
        "destructiveHint": not reads_only,
        "idempotentHint": reads_only,
        "openWorldHint": True,
    }


# --- all tools of a program ------------------------------------------------------------------------------------------


class ToolMap:
    """The tools of a program: `tools` are MCP tool definitions, `call` turns a call of one into an instruction's parts.

    Instructions that cannot be served are left out; `left_out` says why. `name_of`, `prefix`: how tools are called.
    `must_give`: which accounts are required; by default those without address, seeds, default or relation.
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
        if profile not in PROFILES:
            raise UnknownName("client profile", profile, PROFILES)
        resolver = Resolver(model)
        schemas = Schemas(resolver, PROFILES[profile])
        #: instruction -> why it is no tool
        self.left_out = unusable(model)
        for ix in model.instructions:
            if (
                ix.name not in self.left_out
                and (why := only_itself(ix, model.facade_of)) is not None
            ):
                self.left_out[ix.name] = why
        usable = [ix for ix in model.instructions if ix.name not in self.left_out]
        names = unique_names((prefix + ix.name for ix in usable), budget)
        self._tools = {
            name: _Tool(ix, name, schemas, model.name, must_give or _must_give)
            for name, ix in zip(names, usable, strict=True)
        }
        self.by_instruction = {t.instruction.name: name for name, t in self._tools.items()}

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The definitions: name, title, description, inputSchema, annotations."""
        return [t.definition for t in self._tools.values()]

    def definition(self, name: str) -> dict[str, Any]:
        """One tool's definition. Raises UnknownName."""
        return self._find(name).definition

    def instruction(self, name: str) -> Instruction:
        """The instruction behind a tool. Raises UnknownName."""
        return self._find(name).instruction

    def _find(self, name: str) -> _Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownName("tool", name, self._tools)
        return tool

    def call(self, name: str, arguments: Mapping[str, Any], *, called: str = "") -> ToolCall:
        """The parts of a call: properties back to the source's names, tuples and maps to lists, absent options to None.
        *called*: what messages call the tool, where that is not *name*.

        What does not fit a type is left as it is, for the codec to refuse with its path. Raises UnknownName for a tool
        or a property that is not there.
        """
        tool = self._find(name)
        ix = tool.instruction
        given = dict(arguments)
        accounts = given.pop("accounts", None)
        rest = given.pop("remaining_accounts", None)
        args = tool.convert(given) if tool.convert else given
        unknown = [
            k for k in args if k not in tool.known and not any(k in forms(f.name) for f in ix.args)
        ]
        name = called or name
        if unknown:
            properties = tool.definition["inputSchema"]["properties"]
            raise UnknownName(
                "property", unknown[0], properties, where=name, hint=_is_account(unknown[0], ix)
            )
        return ToolCall(
            ix.name,
            args,
            _account_names(tool, accounts, ix.accounts, f"{name}.accounts"),
            _remaining(rest, ix, name),
        )


def _is_account(name: str, ix: Instruction) -> str:
    """For what was given as an argument."""
    paths = [path for path, _ in leaves(ix.accounts)]
    path = next((path for path in paths if name in forms(path[-1])), None)
    if path is not None:
        return f"It is an account: write it as accounts.{'.'.join(path)}."
    args = {f.name for f in ix.args}
    near = get_close_matches(name, [*args, *(path[-1] for path in paths)], n=1, cutoff=0.7)
    path = next(
        (path for path in paths if near and path[-1] == near[0] and near[0] not in args), None
    )
    return (
        ""
        if path is None
        else f"Did you mean the account {near[0]!r}? Write it as accounts.{'.'.join(path)}."
    )


def _is_argument(name: str, tool: _Tool) -> str:
    """For what was given as an account."""
    known = any(name in forms(f.name) for f in tool.instruction.args) or name in tool.names
    return "It is an argument: write it beside accounts, not in it." if known else ""


def _account_names(
    tool: _Tool, given: Any, items: tuple[AccountItem, ...], where: str
) -> dict[str, Any]:
    """Account properties back to the source's names. Null for a required one means that it is left out (strict clients
    must give all).
    """
    given = opened(given)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UnknownName("account object", str(given)[:40], [i.name for i in items], where=where)
    names = tool.accounts_named(items)
    out: dict[str, Any] = {}
    for key, value in given.items():
        found = names.get(key)
        if found is None:
            hint = _is_argument(key, tool)
            raise UnknownName("account", key, [i.name for i in items], where=where, hint=hint)
        if isinstance(found, AccountGroup):
            out[found.name] = _account_names(tool, value, found.accounts, f"{where}.{found.name}")
        elif value is not None or found.optional:
            out[found.name] = value
    return out


def _remaining(given: Any, ix: Instruction, where: str) -> dict[str, list[Any]]:
    given = opened(given)
    if given is None:
        return {}
    if isinstance(given, list):
        if not ix.remaining:
            raise UnknownName(
                "property", "remaining_accounts", [f.name for f in ix.args], where=where
            )
        return {ix.remaining[0].name: given}
    own = [r.name for r in ix.remaining]
    names: dict[str, str] = dict(zip(property_names(own), own, strict=True))
    if not isinstance(given, dict):
        raise UnknownName("list of remaining accounts", str(given)[:40], names, where=where)
    out: dict[str, list[Any]] = {}
    for key, value in given.items():
        if key not in names:
            raise UnknownName("list of remaining accounts", key, names, where=where)
        if value is not None:
            out[names[key]] = list(value) if isinstance(value, list) else [value]
    return out


def tools(
    model: ProgramModel, profile: str = "default", *, must_give: MustGive | None = None
) -> list[dict[str, Any]]:
    """The MCP tool definitions of *model*'s instructions. Raises UnknownName for a profile that is not there."""
    return ToolMap(model, profile, must_give=must_give).tools

"""The MCP tool definition of one instruction: its name, description, annotations and input schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, Literal

from mcpsol_py.items import items_by_name, names_of
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    IdentityValue,
    Instruction,
    PayerValue,
    Pda,
    RemainingAccounts,
    ResolverValue,
    UnknownSeed,
)
from mcpsol_py.model.types import I64, Field, Int
from mcpsol_py.names import ByName, clean_text, snake
from mcpsol_py.schema.client_profiles import Profile
from mcpsol_py.schema.json_schema import Schemas
from mcpsol_py.schema.json_shapes import Member, object_converter
from mcpsol_py.schema.schema_parts import (
    by_property,
    described,
    join,
    object_schema,
    property_names,
    quoted,
)
from mcpsol_py.schema.tool import leaves
from mcpsol_py.schema.tool_names import shown, title_of

__all__ = ["RESERVED", "MustGive", "ToolDefinition", "accounts_to_give"]

#: Properties beside the arguments.
RESERVED = ("accounts", "remaining_accounts")

_SINCE_1970 = re.compile(r"since 1970|unix (time|timestamp|seconds)", re.IGNORECASE)
#: Names of moments, where the type is the clock's.
_TIME_NAME = re.compile(
    r"(^|_)(timestamp|deadline|expiry|expiration|[a-z]+_(at|ts|time))$"
)
_BASE58 = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"

#: instruction -> the paths of the accounts that a caller must give. A client knows better than the default
#: `accounts_to_give` (accounts/resolution.py).
MustGive = Callable[[Instruction], Collection[tuple[str, ...]]]


# --- accounts that a caller must give --------------------------------------------------------------------------------


def accounts_to_give(instruction: Instruction) -> set[tuple[str, ...]]:
    """Return the accounts without a fixed address, seeds, default or relation, judged without the account planner."""
    return {
        path
        for path, account in leaves(instruction.accounts)
        if not (account.optional or _client_can_fill_in(account))
    }


def _client_can_fill_in(account: Account) -> bool:
    if account.address is not None or account.relations:
        return True
    if account.pda is not None:
        return _is_derivable(account.pda)
    if account.default is None:
        return False
    return not isinstance(account.default, (ResolverValue, IdentityValue, PayerValue))


def _is_derivable(pda: Pda) -> bool:
    if isinstance(pda.program, ResolverValue):
        return False
    return UnknownSeed not in map(type, pda.seeds)


# --- one tool --------------------------------------------------------------------------------------------------------


class ToolDefinition:
    """The definition of an instruction as a tool, and the names by which a call may give its parts."""

    __slots__ = (
        "_accounts",
        "convert",
        "definition",
        "instruction",
        "known",
        "must",
        "names",
    )

    def __init__(
        self,
        instruction: Instruction,
        name: str,
        schemas: Schemas,
        program: str,
        must: MustGive,
    ) -> None:
        profile = schemas.profile
        self.instruction = instruction
        self.known = frozenset(names_of(instruction.args))
        #: the accounts that a caller must give
        self.must = frozenset(must(instruction))
        self._accounts: dict[int, ByName[AccountItem]] = {}
        members = _argument_members(instruction, schemas)
        #: the properties of the arguments
        self.names = names_of(members)
        #: turns properties into arguments; the accounts follow when a call comes, since groups nest
        self.convert = object_converter(members, profile.all_required)
        self.definition: dict[str, Any] = {
            "name": name,
            "title": title_of(instruction.name),
            "description": _description(instruction, program, profile),
            "inputSchema": self._input_schema(members, schemas),
            "annotations": _annotations(instruction),
        }

    def _input_schema(self, members: list[Member], schemas: Schemas) -> dict[str, Any]:
        profile = schemas.profile
        arguments = schemas.object_of(members).schema
        properties: dict[str, Any] = dict(arguments["properties"])
        required: list[str] = list(arguments.get("required", ()))
        accounts = (
            _accounts_schema(self.instruction.accounts, (), self.must, profile) or {}
        )
        if accounts:
            properties["accounts"] = described(
                accounts, _filling(accounts, profile), profile.about
            )
        if accounts.get("required"):
            required.append("accounts")
        remaining = self.instruction.remaining
        if remaining:
            properties["remaining_accounts"] = _remaining_schema(remaining, profile)
        if profile.all_required:
            required = list(properties)
        return object_schema(properties, required, profile)

    def accounts_named(self, items: tuple[AccountItem, ...]) -> ByName[AccountItem]:
        """Return the accounts of one group by their names and properties. Made at the first call."""
        found = self._accounts.get(id(items))
        if found is None:
            found = self._accounts[id(items)] = _accounts_by_name(items)
        return found


def _accounts_by_name(items: tuple[AccountItem, ...]) -> ByName[AccountItem]:
    return ByName(by_property(items) | items_by_name(items))


def _argument_members(instruction: Instruction, schemas: Schemas) -> list[Member]:
    given = [arg for arg in instruction.args if not arg.is_constant]
    notes = _ArgumentNotes(instruction)
    names = property_names(_unreserved(arg.name) for arg in given)
    members = []
    for name, arg in zip(names, given, strict=True):
        shape = schemas.shape(arg.type)
        member = Member(name, arg.name, shape, notes.about(arg), notes.is_needed(arg))
        members.append(member)
    return members


class _ArgumentNotes:
    """The notes of an instruction on its arguments: units, and values that a client fills in."""

    def __init__(self, instruction: Instruction) -> None:
        self.hints = dict(instruction.hints)
        self.filled_in = dict(instruction.arg_values)

    def about(self, arg: Field) -> str:
        docs = quoted(arg.docs)
        unit = self.hints.get(f"unit:{arg.name}")
        about = f"unit: {clean_text(unit, 40)}" if unit else ""
        return join(about, "chain time" if _is_time(arg, about) else "", docs)

    def is_needed(self, arg: Field) -> bool:
        return arg.default is None and arg.name not in self.filled_in


def _is_time(arg: Field, about: str) -> bool:
    """Return whether an argument is a moment by the chain's clock: its unit or its docs say so, or its name does."""
    if not isinstance(arg.type, Int):
        return False
    said = f"{about} {' '.join(arg.docs)}"
    return _SINCE_1970.search(said) is not None or (
        arg.type == I64 and _TIME_NAME.search(snake(arg.name)) is not None
    )


def _unreserved(name: str) -> str:
    return f"{name}_arg" if name in RESERVED else name


def _description(instruction: Instruction, program: str, profile: Profile) -> str:
    when = dict(instruction.hints).get("when", "")
    return join(
        f"Instruction {shown(instruction.name)} of the Solana program {shown(program)}",
        quoted(instruction.docs, 600),
        f"When: {quoted((when,), 200)}" if when else "",
        limit=profile.about,
    )


def _annotations(instruction: Instruction) -> dict[str, Any]:
    named = [account.writable for _, account in leaves(instruction.accounts)]
    remaining = [accounts.writable for accounts in instruction.remaining]
    reads_only = instruction.returns is not None and not any(named + remaining)
    return {
        "title": title_of(instruction.name),
        "readOnlyHint": reads_only,
        "destructiveHint": not reads_only,
        "idempotentHint": reads_only,
        "openWorldHint": True,
    }


# --- schemas of accounts ---------------------------------------------------------------------------------------------


def _accounts_schema(
    items: tuple[AccountItem, ...],
    group: tuple[str, ...],
    must: Collection[tuple[str, ...]],
    profile: Profile,
) -> dict[str, Any] | None:
    """Return the object of a group's accounts, with nested groups as nested objects, or None if it has no account."""
    if not items:
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, item in by_property(items).items():
        schema, needed = _item_schema(item, group, must, profile)
        if schema is None:
            continue
        properties[name] = schema
        if needed or profile.all_required:
            required.append(name)
    return object_schema(properties, required, profile)


def _filling(accounts: dict[str, Any], profile: Profile) -> str:
    """Say which accounts a call must give, and which are filled in when they are left out."""
    properties = accounts["properties"]
    needed = [name for name in properties if _is_needed(name, accounts, profile)]
    others = [name for name in properties if name not in needed]
    parts = [("to give", needed), ("filled in when left out", others)]
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)


def _is_needed(name: str, accounts: dict[str, Any], profile: Profile) -> bool:
    """Return whether an account or group must be given. Strict clients give the others as null."""
    if not profile.all_required:
        return name in accounts.get("required", ())
    kind = accounts["properties"][name].get("type")
    return not (isinstance(kind, list) and "null" in kind)


def _item_schema(
    item: AccountItem,
    group: tuple[str, ...],
    must: Collection[tuple[str, ...]],
    profile: Profile,
) -> tuple[dict[str, Any] | None, bool]:
    """Return the schema of an account or a group (None: it is empty), and whether it must be given."""
    path = (*group, item.name)
    if not isinstance(item, AccountGroup):
        needed = path in must
        return _account_schema(item, needed, profile), needed
    inner = _accounts_schema(item.accounts, path, must, profile)
    if inner is None:
        return None, False
    about = quoted(item.docs, 100)
    return described(inner, about, profile.about), bool(inner.get("required"))


def _account_schema(account: Account, needed: bool, profile: Profile) -> dict[str, Any]:
    what = _address_with_flags(account.signer, account.writable, account.optional)
    about = join(what, _fixed(account), quoted(account.docs, 160), limit=profile.about)
    may_be_null = profile.all_required and not needed
    kind = ["string", "null"] if may_be_null else "string"
    return {"type": kind, "description": about, **_address_pattern(profile)}


@cache
def _address_with_flags(
    signer: bool | Literal["either"], writable: bool, optional: bool
) -> str:
    flags = {
        "signer": signer is True,
        "may sign": signer == "either",
        "writable": writable,
        "optional": optional,
    }
    return _with_flags("address", flags)


def _address_pattern(profile: Profile) -> dict[str, Any]:
    if not profile.limits:
        return {}
    return {"pattern": _BASE58}


def _with_flags(what: str, flags: dict[str, bool]) -> str:
    """Return *what* and the words of the flags that are set, with commas."""
    return ", ".join([what, *filter(flags.get, flags)])


def _fixed(account: Account) -> str:
    return (
        "" if account.address is None else f"fixed: {clean_text(account.address, 44)}"
    )


def _remaining_schema(
    remaining: tuple[RemainingAccounts, ...], profile: Profile
) -> dict[str, Any]:
    """Return one list, or an object of lists if there are several."""
    if len(remaining) == 1:
        return _address_list(remaining[0], profile)
    lists = by_property(remaining)
    properties = {
        name: _address_list(accounts, profile) for name, accounts in lists.items()
    }
    return object_schema(
        properties, list(lists) if profile.all_required else [], profile
    )


def _address_list(accounts: RemainingAccounts, profile: Profile) -> dict[str, Any]:
    address = {"type": "string", **_address_pattern(profile)}
    what = _with_flags(
        f"{clean_text(accounts.name, 64)}: addresses after the named accounts",
        {"signers": accounts.signer is True, "writable": accounts.writable},
    )
    return {
        "type": "array",
        "items": address,
        "description": join(what, quoted(accounts.docs)),
    }

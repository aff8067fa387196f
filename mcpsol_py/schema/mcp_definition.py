"""The MCP tool definition of one instruction: its name, description, annotations and input schema."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    IdentityValue,
    Instruction,
    PayerValue,
    RemainingAccounts,
    ResolverValue,
    UnknownSeed,
)
from mcpsol_py.names import clean_text, forms
from mcpsol_py.schema.client_profiles import Profile
from mcpsol_py.schema.json_schema import Schemas
from mcpsol_py.schema.json_shapes import Member, object_converter
from mcpsol_py.schema.schema_parts import (
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
        if not account.optional and not _client_can_fill_in(account)
    }


def _client_can_fill_in(account: Account) -> bool:
    if account.address is not None or account.relations:
        return True
    if account.pda is not None:
        has_unknown_seed = any(isinstance(seed, UnknownSeed) for seed in account.pda.seeds)
        return not has_unknown_seed and not isinstance(account.pda.program, ResolverValue)
    if account.default is None:
        return False
    return not isinstance(account.default, (ResolverValue, IdentityValue, PayerValue))


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
        self, instruction: Instruction, name: str, schemas: Schemas, program: str, must: MustGive
    ) -> None:
        profile = schemas.profile
        self.instruction = instruction
        self.known = frozenset(arg.name for arg in instruction.args)
        #: the accounts that a caller must give
        self.must = frozenset(must(instruction))
        self._accounts: dict[int, dict[str, AccountItem]] = {}
        members = _argument_members(instruction, schemas)
        #: the properties of the arguments
        self.names = [member.name for member in members]
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
        accounts = _accounts_schema(self.instruction.accounts, (), self.must, profile)
        if accounts is not None:
            properties["accounts"] = accounts
            if accounts.get("required") or profile.all_required:
                required.append("accounts")
        if self.instruction.remaining:
            properties["remaining_accounts"] = _remaining_schema(
                self.instruction.remaining, profile
            )
            if profile.all_required:
                required.append("remaining_accounts")
        return object_schema(properties, required, profile)

    def accounts_named(self, items: tuple[AccountItem, ...]) -> dict[str, AccountItem]:
        """Return the accounts of one group by every way to write their names. Made at the first call."""
        found = self._accounts.get(id(items))
        if found is None:
            found = self._accounts[id(items)] = _accounts_by_name(items)
        return found


def _accounts_by_name(items: tuple[AccountItem, ...]) -> dict[str, AccountItem]:
    found: dict[str, AccountItem] = {}
    for item in items:
        for form in forms(item.name):
            found.setdefault(form, item)
    found |= dict(zip(property_names(item.name for item in items), items, strict=True))
    found |= {item.name: item for item in items}
    return found


def _argument_members(instruction: Instruction, schemas: Schemas) -> list[Member]:
    given = [arg for arg in instruction.args if arg.default is None or not arg.default.omitted]
    filled_in = {name for name, _ in instruction.arg_values}
    units = {key[5:]: text for key, text in instruction.hints if key.startswith("unit:")}
    names = property_names(_unreserved(arg.name) for arg in given)
    members = []
    for name, arg in zip(names, given, strict=True):
        unit = units.get(arg.name)
        unit_text = f"unit: {clean_text(unit, 40)}" if unit else ""
        about = join(unit_text, quoted(arg.docs))
        needed = arg.default is None and arg.name not in filled_in
        members.append(Member(name, arg.name, schemas.shape(arg.type), about, needed))
    return members


def _unreserved(name: str) -> str:
    return f"{name}_arg" if name in RESERVED else name


def _description(instruction: Instruction, program: str, profile: Profile) -> str:
    when = next((text for key, text in instruction.hints if key == "when"), "")
    return join(
        f"Instruction {shown(instruction.name)} of the Solana program {shown(program)}",
        quoted(instruction.docs, 600),
        f"When: {quoted((when,), 200)}" if when else "",
        limit=profile.about,
    )


def _annotations(instruction: Instruction) -> dict[str, Any]:
    writes_named = any(account.writable for _, account in leaves(instruction.accounts))
    writes = writes_named or any(accounts.writable for accounts in instruction.remaining)
    reads_only = instruction.returns is not None and not writes
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
    for name, item in zip(property_names(item.name for item in items), items, strict=True):
        path = (*group, item.name)
        if isinstance(item, AccountGroup):
            inner = _accounts_schema(item.accounts, path, must, profile)
            if inner is None:
                continue
            properties[name] = described(inner, quoted(item.docs, 100), profile.about)
            needed = bool(inner.get("required"))
        else:
            needed = path in must
            properties[name] = _account_schema(item, needed, profile)
        if needed or profile.all_required:
            required.append(name)
    return object_schema(properties, required, profile)


def _account_schema(account: Account, needed: bool, profile: Profile) -> dict[str, Any]:
    what = ", ".join(["address", *_account_flags(account)])
    may_be_null = profile.all_required and not needed
    schema: dict[str, Any] = {
        "type": ["string", "null"] if may_be_null else "string",
        "description": join(
            what, _how_found(account, needed), quoted(account.docs, 160), limit=profile.about
        ),
    }
    if profile.limits:
        schema["pattern"] = _BASE58
    return schema


def _account_flags(account: Account) -> list[str]:
    flags = []
    if account.signer:
        flags.append("signer" if account.signer is True else "may sign")
    if account.writable:
        flags.append("writable")
    if account.optional:
        flags.append("optional")
    return flags


def _how_found(account: Account, needed: bool) -> str:
    if account.address is not None:
        return f"fixed: {clean_text(account.address, 44)}"
    if needed or account.optional:
        return ""
    return "filled in when left out"


def _remaining_schema(remaining: tuple[RemainingAccounts, ...], profile: Profile) -> dict[str, Any]:
    """Return one list, or an object of lists if there are several."""
    if len(remaining) == 1:
        return _address_list(remaining[0], profile)
    names = property_names(accounts.name for accounts in remaining)
    lists = [_address_list(accounts, profile) for accounts in remaining]
    properties = dict(zip(names, lists, strict=True))
    return object_schema(properties, names if profile.all_required else [], profile)


def _address_list(accounts: RemainingAccounts, profile: Profile) -> dict[str, Any]:
    address: dict[str, Any] = {"type": "string"}
    if profile.limits:
        address["pattern"] = _BASE58
    flags = []
    if accounts.signer is True:
        flags.append("signers")
    if accounts.writable:
        flags.append("writable")
    what = f"{clean_text(accounts.name, 64)}: addresses after the named accounts"
    about = join(", ".join([what, *flags]), quoted(accounts.docs))
    return {"type": "array", "items": address, "description": about}

"""Completion of prompt and resource template arguments (completion/complete).

Completes names of the program's instructions, errors, types and accounts, enum values, booleans and
addresses. Addresses come only from sources that answer fast: the names, wallets and program
accounts of a local cluster, the wallet of the bridge, and well-known programs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.mcp.prompt_arguments import prompt_arguments
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import McpsolError
from mcpsol_py.items import names_of
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.names import clean_text, snake
from mcpsol_py.schema.json_schema import property_names
from mcpsol_py.solana.addresses import PROGRAM_NAMES

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["MAX_VALUES", "Completer"]

#: MCP allows this many values in one answer.
MAX_VALUES = 100
#: Part of the pattern of every address.
_BASE58 = "[1-9A-HJ-NP-Za-km-z]{32,44}"
#: Program accounts offered for one address.
_MAX_ACCOUNTS = 50


class Completer:
    """Completes arguments of a bridge's prompts and resource templates."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    async def complete(
        self, reference: str, argument: str, typed: str, filled_in: Mapping[str, str]
    ) -> tuple[list[str], int]:
        """Return the values that begin with *typed*, at most MAX_VALUES, and how many there are.

        *reference* is a prompt's name or a resource template's URI; *filled_in* holds the
        arguments that already have a value.
        """
        found = await self._values(reference, argument, filled_in)
        values = dict.fromkeys(
            clean_text(value, 200)
            for value in found
            if value.lower().startswith(typed.lower())
        )
        return list(values)[:MAX_VALUES], len(values)

    async def _values(
        self, reference: str, argument: str, filled_in: Mapping[str, str]
    ) -> Iterable[str]:
        if reference.startswith("call_"):
            tool = self.bridge.box.instruction(reference.removeprefix("call_"))
            return await self._call_argument(tool, argument, filled_in)
        labels = self.bridge.box.labels
        if argument == "program":
            return labels
        served = labels.get(filled_in.get("program") or reference.removeprefix("use_"))
        return await self._program_argument(served, argument)

    async def _program_argument(
        self, served: ServedProgram | None, argument: str
    ) -> Iterable[str]:
        """Return values for an argument of a program's prompt or resource template."""
        if served is None:
            return []
        model = served.program.model
        if argument == "address":
            return await self._addresses(served, names_of(model.accounts))
        return _NAMES_BY_ARGUMENT.get(argument, _no_names)(model)

    async def _call_argument(
        self, tool: BridgeTool | None, name: str, filled_in: Mapping[str, str]
    ) -> Iterable[str]:
        """Return values for an argument of an instruction's prompt."""
        argument = None if tool is None else prompt_arguments(tool).get(name)
        if tool is None or argument is None:
            return []
        choices = _choices(argument.schema)
        if choices:
            return map(str, choices)
        served = tool.served
        assert served is not None
        if argument.account is not None:
            derived = self._derived(tool, served, argument.account, filled_in)
            return [
                *derived,
                *await self._addresses(served, _types_for(served, argument.account)),
            ]
        if _BASE58 in str(argument.schema.get("pattern", "")):
            return await self._addresses(served, _types_for(served, name))
        return []

    def _derived(
        self,
        tool: BridgeTool,
        served: ServedProgram,
        account: str,
        filled_in: Mapping[str, str],
    ) -> list[str]:
        """Return the address of *account* if its seeds or its IDL give it, as a list of one.

        Seeds may need arguments and accounts; only those in *filled_in* are known.
        """
        arguments, accounts = _arguments_and_accounts(tool, filled_in)
        with contextlib.suppress(McpsolError, ValueError):
            if served.cluster == "local":
                accounts = self.bridge.names(accounts, known_only=True)
            call = tool.split({**arguments, "accounts": accounts})
            ix = served.program.instruction(call.instruction)
            items = names_of(ix.model.accounts)
            name = dict(zip(property_names(items), items, strict=True))[account]
            address = ix.address(
                name, call.args, call.accounts, served.program_id, self.bridge.wallet
            )
            if address is not None:
                return [str(address)]
        return []

    async def _addresses(
        self, served: ServedProgram, types: Iterable[str]
    ) -> list[str]:
        """Return accounts of *types*, names of the local cluster, the wallet and known programs.

        Accounts and names are offered only on a local cluster.
        """
        out: list[str] = []
        if served.transport is not None and served.cluster == "local":
            out = await self._local_addresses(served, types)
        if self.bridge.wallet is not None:
            out.append(str(self.bridge.wallet))
        return [*out, *PROGRAM_NAMES]

    async def _local_addresses(
        self, served: ServedProgram, types: Iterable[str]
    ) -> list[str]:
        out: list[str] = []
        for name in types:
            with contextlib.suppress(McpsolError):
                found = await reading.accounts_of(served, name, {}, _MAX_ACCOUNTS)
                out += [row["address"] for row in found["accounts"]]
        return [*out, *(f"@{name}" for name in self.bridge.known_names)]


def _types_for(served: ServedProgram, name: str) -> list[str]:
    """Return the account types that an account or argument called *name* may be of."""
    wanted = snake(name)
    return [
        type_
        for type_ in names_of(served.program.model.accounts)
        if snake(type_) == wanted
    ]


def _no_names(model: ProgramModel) -> list[str]:
    return []


def _instruction_names(model: ProgramModel) -> list[str]:
    return names_of(model.instructions)


def _error_codes_and_names(model: ProgramModel) -> list[str]:
    return [*(str(error.code) for error in model.errors), *names_of(model.errors)]


def _type_names(model: ProgramModel) -> list[str]:
    return [*names_of(model.types), *names_of(model.accounts)]


def _page_cursors(model: ProgramModel) -> list[str]:
    from mcpsol_py.schema.pages import write_pages

    return list(map(str, range(len(write_pages(model)))))


#: Argument of a prompt or resource template -> the names that a program has for it.
_NAMES_BY_ARGUMENT = {
    "task": _instruction_names,
    "code": _error_codes_and_names,
    "name": _type_names,
    "cursor": _page_cursors,
}


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that *schema* allows, if it lists them. Booleans as "true" and "false"."""
    match schema:
        case {"enum": list(values)}:
            return ["null" if value is None else value for value in values]
        case {"type": "boolean"}:
            return ["true", "false"]
        case {"type": list(types)} if "boolean" in types:
            return ["true", "false"]
    parts = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [value for part in parts for value in _choices(part)]


def _arguments_and_accounts(
    tool: BridgeTool, filled_in: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments and the accounts that are filled in for an instruction's prompt."""
    arguments: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    for name, argument in prompt_arguments(tool).items():
        text = filled_in.get(name)
        if text and argument.account is not None:
            accounts[argument.account] = text
        elif text:
            arguments[name] = text
    return arguments, accounts

"""Completion of what people type into prompts and resource templates (MCP completion/complete): enum values, yes and
no, addresses, and the names of what a program has.

Addresses come from where they can be had without a long answer of a chain: the names and wallets of a local cluster,
the program's accounts there, the acting wallet, and well-known programs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import McpsolError
from mcpsol_py.names import clean_text, snake
from mcpsol_py.schema.json_schema import property_names
from mcpsol_py.solana.addresses import PROGRAM_NAMES

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["MOST", "Completer", "parameters"]

#: an answer holds no more (MCP)
MOST = 100
#: a part of the pattern of every address
_BASE58 = "[1-9A-HJ-NP-Za-km-z]{32,44}"
#: accounts of a program that are offered
_ACCOUNTS = 50


def parameters(tool: BridgeTool) -> dict[str, dict[str, Any]]:
    """The arguments of an instruction's tool as a flat list, name -> JSON schema: what a prompt can ask for one by one.

    Accounts stand beside the arguments; one that is called as an argument is gets "_account" behind its name.
    """
    schema = tool.definition["inputSchema"]
    out = {
        name: inner for name, inner in schema["properties"].items() if not _is_group(name, inner)
    }
    accounts = schema["properties"].get("accounts", {}).get("properties", {})
    for name, inner in accounts.items():
        if inner.get("type") == "string":
            out[f"{name}_account" if name in out else name] = {**inner, "x-account": name}
    return out


def _is_group(name: str, schema: Mapping[str, Any]) -> bool:
    return name in ("accounts", "remaining_accounts") or schema.get("type") in ("object", "array")


class Completer:
    """Completes arguments of a bridge's prompts and resource templates."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    async def complete(
        self, reference: str, argument: str, typed: str, given: Mapping[str, str]
    ) -> tuple[list[str], int]:
        """What begins with *typed*, for *argument* of a prompt (*reference*: its name) or resource template (its URI):
        MOST of it at most, and how many there are.

        *given*: the arguments that are filled in already.
        """
        found = await self._values(reference, argument, given)
        rows = dict.fromkeys(
            clean_text(value, 200) for value in found if value.lower().startswith(typed.lower())
        )
        return list(rows)[:MOST], len(rows)

    async def _values(
        self, reference: str, argument: str, given: Mapping[str, str]
    ) -> Iterable[str]:
        box = self.bridge.box
        if reference.startswith("call_"):
            tool = box.tools.get(reference.removeprefix("call_"))
            if tool is None or tool.served is None or tool.kind != "instruction":
                return []
            return await self._argument(tool, tool.served, argument, given)
        label = given.get("program") or reference.removeprefix("use_")
        if argument == "program":
            return box.labels
        served = box.labels.get(label)
        if served is None:
            return []
        model = served.program.model
        match argument:
            case "task":
                return [ix.name for ix in model.instructions]
            case "code":
                return [*(str(e.code) for e in model.errors), *(e.name for e in model.errors)]
            case "name":
                return [*(t.name for t in model.types), *(a.name for a in model.accounts)]
            case "address":
                return await self._addresses(served, [a.name for a in model.accounts])
            case "cursor":
                from mcpsol_py.schema.pages import write_pages

                return [str(n) for n in range(len(write_pages(model)))]
        return []

    async def _argument(
        self, tool: BridgeTool, served: ServedProgram, argument: str, given: Mapping[str, str]
    ) -> Iterable[str]:
        schema = parameters(tool).get(argument)
        if schema is None:
            return []
        choices = [str(value) for value in _choices(schema)]
        if choices:
            return choices
        if "x-account" in schema or _BASE58 in str(schema.get("pattern", "")):
            wanted = snake(str(schema.get("x-account", argument)))
            types = [a.name for a in served.program.model.accounts if snake(a.name) == wanted]
            derived = (
                self._derived(tool, served, str(schema["x-account"]), given)
                if "x-account" in schema
                else []
            )
            return [*derived, *await self._addresses(served, types)]
        return []

    def _derived(
        self, tool: BridgeTool, served: ServedProgram, account: str, given: Mapping[str, str]
    ) -> list[str]:
        """The address that an account has by its seeds or its IDL, as far as what is filled in already tells it."""
        known = parameters(tool)
        names = self.bridge.names if served.cluster == "local" else None
        arguments: dict[str, Any] = {}
        accounts: dict[str, Any] = {}
        for name, text in given.items():
            inner = known.get(name)
            if inner is None or not text:
                continue
            if "x-account" in inner:
                accounts[str(inner["x-account"])] = text
            else:
                arguments[name] = text
        with contextlib.suppress(McpsolError, ValueError):
            if names is not None:
                accounts = names(accounts, known_only=True)
            call = tool.split({**arguments, "accounts": accounts})
            ix = served.program.instruction(call.instruction)
            items = [item.name for item in ix.model.accounts]
            name = dict(zip(property_names(items), items, strict=True))[account]
            found = ix.address(
                name, call.args, call.accounts, served.program_id, self.bridge.wallet
            )
            return [] if found is None else [str(found)]
        return []

    async def _addresses(self, served: ServedProgram, types: Iterable[str]) -> list[str]:
        """The program's accounts of *types*, the names of the local cluster, the wallet, well-known programs."""
        out: list[str] = []
        if served.transport is not None and served.cluster == "local":
            for name in types:
                with contextlib.suppress(McpsolError):
                    rows = await reading.accounts_of(served, name, {}, _ACCOUNTS)
                    out += [row["address"] for row in rows["accounts"]]
            out += [f"@{name}" for name in self.bridge.known_names]
        if self.bridge.wallet is not None:
            out.append(str(self.bridge.wallet))
        return [*out, *PROGRAM_NAMES]


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """The values that a schema allows, where they are a list; "true" and "false" for a boolean."""
    if isinstance(schema.get("enum"), list):
        return ["null" if value is None else value for value in schema["enum"]]
    kinds = schema.get("type")
    if "boolean" in (kinds if isinstance(kinds, list) else [kinds]):
        return ["true", "false"]
    for key in ("anyOf", "oneOf"):
        inner = [value for part in schema.get(key, ()) for value in _choices(part)]
        if inner:
            return inner
    return []

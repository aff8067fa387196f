"""The tools that read and explain: accounts, balances, transactions, programs, and the search for tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcpsol_py.bridge.arguments import (
    check_known,
    read_address,
    read_address_list,
    read_limit,
    read_object,
    read_text,
    required,
)
from mcpsol_py.bridge.policy_tool import PolicyTool
from mcpsol_py.bridge.registry import ProgramRegistry, account_uri
from mcpsol_py.bridge.replies import Reply, read_reply
from mcpsol_py.bridge.search import SearchHit
from mcpsol_py.bridge.short_answers import about, definition_lines, short_definition, takes
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import DecodeError, EncodeError, McpsolError, abbr
from mcpsol_py.items import picked, without_nulls

__all__ = ["ReadTools"]

#: Arguments of decode_transaction, of which exactly one is given.
_DECODABLE = ("transaction", "signature", "data")
_MOST_MINTS, _MOST_ACCOUNTS = 20, 256


class ReadTools:
    """Answers every tool but the instructions. *price*: what a call of a tool costs, as text, or None.

    *policy* answers the tool of that name, which a bridge has that sends.
    """

    def __init__(
        self,
        registry: ProgramRegistry,
        price: Callable[[str], str | None],
        policy: PolicyTool | None = None,
    ) -> None:
        self._registry = registry
        self._price, self._policy = price, policy
        #: Kind of tool -> how it reads accounts of one type.
        self._read_accounts = {"get": self._account, "list": self._accounts}
        self._find_tools = {"search_tools": self._search, "describe_tool": self._describe}
        self._explain = {
            "program_info": self._program_info,
            "decode_transaction": self._decode,
            "get_balance": self._balances,
            "policy": self._rules,
        }

    async def call(self, tool: BridgeTool, arguments: dict[str, Any]) -> Reply:
        """Answer *tool*. Raises McpsolError."""
        check_known(arguments, tool)
        given = without_nulls(arguments)
        if tool.served is not None:
            found = await self._read_accounts[tool.kind](tool, tool.served, given)
            return read_reply(found)
        if tool.kind == "lazy":
            return self._find_tools[tool.target](tool.name, given)
        found = await self._explain[tool.target](tool.name, given)
        if tool.target == "policy":
            return Reply("\n".join(found["words"]), found)
        return read_reply(found)

    # --- accounts ------------------------------------------------------------------------------------------------

    async def _account(
        self, tool: BridgeTool, served: ServedProgram, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        names = self._registry.names_of(served)
        key = read_address(required(arguments, "address", tool.name), f"{tool.name}.address", names)
        found = await reading.read_account(served, tool.target, key)
        if "partial_fields" in found:
            found["whole"] = account_uri(self._registry.label_of(served), str(key))
        return found

    async def _accounts(
        self, tool: BridgeTool, served: ServedProgram, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        limit = read_limit(arguments, tool.name, 20, 100)
        where = read_object(arguments.get("where", {}), f"{tool.name}.where")
        names = self._registry.names_of(served)
        return await reading.accounts_of(served, tool.target, names(without_nulls(where)), limit)

    async def _balances(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        served = self._registry.on_chain(arguments.get("program"), name)
        if served is None or served.transport is None:
            raise DecodeError("no chain is configured for this program", path=f"{name}.program")
        names = self._registry.names_of(served)
        key = read_address(required(arguments, "address", name), f"{name}.address", names)
        mints = read_address_list(arguments.get("mints"), f"{name}.mints", _MOST_MINTS, names)
        return {"chain": served.cluster, **await reading.balances(served.transport, key, mints)}

    # --- programs and transactions -------------------------------------------------------------------------------

    async def _program_info(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        label, errors = arguments.get("program"), arguments.get("errors", False)
        if not isinstance(errors, bool):
            raise EncodeError(f"expected true or false, got {abbr(errors)}", path=f"{name}.errors")
        programs = self._registry.labelled(label, name)
        full = label is not None or len(programs) == 1
        rows = [self._registry.info(served, full=full, errors=errors) for served in programs]
        return {"programs": rows, **await self._times(programs)}

    async def _times(self, programs: list[ServedProgram]) -> dict[str, Any]:
        """Return the time of each chain of *programs*, by its name."""
        chains = {served.cluster: served.transport for served in programs if served.transport}
        found = {name: await _time_or_why(transport) for name, transport in chains.items()}
        return {"time": found} if found else {}

    async def _rules(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        programs = self._registry.labelled(arguments.get("program"), name)
        assert self._policy is not None
        served = next((one for one in programs if one.transport is not None), programs[0])
        return await self._policy.read(served, self._registry.box.programs)

    async def _decode(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from mcpsol_py.calls import transaction_reading  # a server starts sooner without it

        given = [key for key in _DECODABLE if key in arguments]
        if len(given) != 1:
            what = " and ".join(given) or "none of them"
            raise EncodeError(
                f"expected one of transaction, signature and data, got {what}", path=name
            )
        (kind,) = given
        text = read_text(arguments[kind], f"{name}.{kind}")
        label = arguments.get("program")
        if kind == "data":
            accounts = read_address_list(
                arguments.get("accounts"), f"{name}.accounts", _MOST_ACCOUNTS, self._registry.names
            )
            data = transaction_reading.data_of(text, f"{name}.data")
            return transaction_reading.decode_raw(
                self._registry.labelled(label, name), data, list(map(str, accounts or ()))
            )
        served = self._registry.on_chain(label, name)
        transport = served.transport if served is not None else None
        programs = self._registry.box.programs
        if kind == "transaction":
            return await transaction_reading.decode_transaction(programs, text, transport)
        if transport is None:
            raise DecodeError(
                "no chain is configured; give the transaction itself", path=f"{name}.signature"
            )
        return await transaction_reading.decode_signature(programs, transport, text)

    # --- finding tools -------------------------------------------------------------------------------------------

    def _search(self, name: str, arguments: dict[str, Any]) -> Reply:
        query = read_text(required(arguments, "query", name), f"{name}.query")
        box = self._registry.box
        rows = list(map(self._found, box.search(query, read_limit(arguments, name, 10, 50))))
        if not rows:
            programs = ", ".join(box.labels)
            return Reply(
                f"No tool has a word of {abbr(query)}, or one that means the same. "
                f"There are tools for: {programs}.",
                {"tools": []},
            )
        lines = [f"{row['name']}({', '.join(row['takes'])}): {row['description']}" for row in rows]
        return Reply("\n".join(lines), {"tools": rows})

    def _found(self, hit: SearchHit) -> dict[str, Any]:
        """Return a found tool: enough to choose it, and to call it if it takes little."""
        tool = self._registry.box.tools[hit.name]
        row = {
            "name": hit.name,
            "takes": takes(tool),
            "description": about(tool),
            "annotations": picked(tool.definition["annotations"], ("readOnlyHint",)),
        }
        price = self._price(hit.name)
        return row if price is None else {**row, "price": price}

    def _describe(self, name: str, arguments: dict[str, Any]) -> Reply:
        called = read_text(required(arguments, "name", name), f"{name}.name")
        definition, price = self._registry.box.tool(called).definition, self._price(called)
        if price is not None:
            text = f"{definition['description']}\nCosts {price} a call (x402)."
            definition = {**definition, "description": text}
        return Reply(
            "\n".join(definition_lines(definition)), {"tool": short_definition(definition)}
        )


async def _time_or_why(transport: Transport) -> dict[str, Any]:
    """Return the time of a chain. A node that does not answer must not hide the known facts about the programs."""
    try:
        return await reading.chain_time(transport) or {"unknown": "the chain has no clock"}
    except McpsolError as error:
        return {"unknown": str(error)}

"""The tools that read and explain: accounts, balances, transactions, programs, and the search for tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
from mcpsol_py.bridge.replies import Reply, read_reply, transaction_reply
from mcpsol_py.bridge.search import SearchHit
from mcpsol_py.bridge.short_answers import (
    about,
    definition_lines,
    gives,
    short_definition,
    takes,
)
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls import reading
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.catalog.labels import label_of
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import DecodeError, EncodeError, McpsolError, NotUsable, abbr
from mcpsol_py.items import texts_in, without_nulls
from mcpsol_py.names import clean_text, one_line
from mcpsol_py.schema.mcp_tools import safe_name, shown
from mcpsol_py.solana.base58 import is_address, is_signature

if TYPE_CHECKING:
    from mcpsol_py.bridge.catalog_programs import CatalogPrograms
    from mcpsol_py.catalog.catalog import Hit

__all__ = ["ReadTools"]

#: Arguments of decode_transaction, of which exactly one is given.
_DECODABLE = ("transaction", "signature", "data")
_MOST_MINTS, _MOST_ACCOUNTS = 20, 256
#: Tools of a program that use_program lists.
_TOOLS_SHOWN = 60
#: Mode -> what happens to a call of a program that joined.
_SIGNING: dict[str, str] = {
    "describe": "calls are described only",
    "build": "calls return unsigned transactions",
    "send": "a call is signed only if the owner's policy lists this program's address; joining changes no rule",
}


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
        self._find_tools = {
            "search_tools": self._search,
            "describe_tool": self._describe,
        }
        self._explain = {
            "program_info": self._program_info,
            "decode_transaction": self._decode,
            "get_balance": self._balances,
            "policy": self._rules,
            "use_program": self._use_program,
            "get_account": self._any_account,
        }

    async def call(self, tool: BridgeTool, arguments: dict[str, Any]) -> Reply:
        """Answer *tool*. Raises McpsolError."""
        check_known(arguments, tool)
        given = without_nulls(arguments)
        if tool.served is not None:
            found = await self._read_accounts[tool.kind](tool, tool.served, given)
            return read_reply(found, tool.served.book)
        if tool.kind == "lazy":
            return self._find_tools[tool.target](tool.name, given)
        found = await self._explain[tool.target](tool.name, given)
        if tool.target == "policy":
            return Reply("\n".join(found["words"]), found)
        reply = transaction_reply if tool.target == "decode_transaction" else read_reply
        return reply(found, self._registry.book_for(given.get("program")))

    # --- accounts ------------------------------------------------------------------------------------------------

    async def _account(
        self, tool: BridgeTool, served: ServedProgram, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        names = self._registry.names_of(served)
        key = read_address(
            required(arguments, "address", tool.name), f"{tool.name}.address", names
        )
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
        return await reading.accounts_of(
            served, tool.target, names(without_nulls(where)), limit
        )

    async def _balances(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        label, catalog = arguments.get("program"), self._registry.catalog
        transport = self._chain(label, name)
        if transport is None:
            raise DecodeError(
                "no chain is configured for this program", path=f"{name}.program"
            )
        served = self._registry.on_chain(label, name)
        names = (
            self._registry.names if served is None else self._registry.names_of(served)
        )
        cluster = catalog.cluster if served is None and catalog is not None else ""
        key = read_address(
            required(arguments, "address", name), f"{name}.address", names
        )
        mints = read_address_list(
            arguments.get("mints"), f"{name}.mints", _MOST_MINTS, names
        )
        return {
            "chain": cluster if served is None else served.cluster,
            **await reading.balances(transport, key, mints),
        }

    # --- programs and transactions -------------------------------------------------------------------------------

    async def _program_info(
        self, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        label, errors = arguments.get("program"), arguments.get("errors", False)
        if not isinstance(errors, bool):
            raise EncodeError(
                f"expected true or false, got {abbr(errors)}", path=f"{name}.errors"
            )
        programs = self._registry.labelled(label, name)
        full = label is not None or len(programs) == 1
        rows = [
            self._registry.info(served, full=full, errors=errors) for served in programs
        ]
        return {"programs": rows, **await self._times(programs)}

    async def _times(self, programs: list[ServedProgram]) -> dict[str, Any]:
        """Return the time of each chain of *programs*, by its name."""
        chains = {
            served.cluster: served.transport for served in programs if served.transport
        }
        found = {
            name: await _time_or_why(transport) for name, transport in chains.items()
        }
        return {"time": found} if found else {}

    async def _rules(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        programs = self._registry.labelled(arguments.get("program"), name)
        assert self._policy is not None
        served = next((one for one in programs if one.transport is not None), None)
        book, transport = self._registry.book_for(None), None
        if served is not None:
            book, transport = served.book, served.transport
        elif self._registry.catalog is not None:
            transport = self._registry.catalog.transport
        return await self._policy.read(book, transport, self._registry.box.programs)

    async def _decode(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        # A server starts sooner without it.
        from mcpsol_py.calls import transaction_reading

        given = [key for key in _DECODABLE if key in arguments]
        if len(given) != 1:
            what = " and ".join(given) or "none of them"
            raise EncodeError(
                f"expected one of transaction, signature and data, got {what}",
                path=name,
            )
        (kind,) = given
        text = read_text(arguments[kind], f"{name}.{kind}")
        if kind == "transaction" and is_signature(text):
            kind = "signature"  # no transaction is that short
        label = arguments.get("program")
        if kind == "data":
            accounts = read_address_list(
                arguments.get("accounts"),
                f"{name}.accounts",
                _MOST_ACCOUNTS,
                self._registry.names,
            )
            data = transaction_reading.data_of(text, f"{name}.data")
            return transaction_reading.decode_raw(
                self._registry.labelled(label, name),
                data,
                list(map(str, accounts or ())),
            )
        transport = self._chain(label, name)
        if kind == "signature" and transport is None:
            raise DecodeError(
                "no chain is configured; give the transaction itself",
                path=f"{name}.signature",
            )

        async def decode(programs: list[ServedProgram]) -> dict[str, Any]:
            if kind == "transaction":
                return await transaction_reading.decode_transaction(
                    programs, text, transport
                )
            assert transport is not None
            return await transaction_reading.decode_signature(programs, transport, text)

        programs = self._registry.box.programs
        found = await decode(programs)
        more = self._readers(found)
        return await decode([*programs, *more]) if more else found

    def _chain(self, label: Any, where: str) -> Transport | None:
        """Return the chain of a program, or the only one; the catalogue's if no program is served."""
        catalog = self._registry.catalog
        if (
            catalog is not None
            and label is None
            and not self._registry.box.own_programs
        ):
            return catalog.transport
        served = self._registry.on_chain(label, where)
        return served.transport if served is not None else None

    def _readers(self, decoded: dict[str, Any]) -> list[ServedProgram]:
        """Return the catalogue's programs that a decoded transaction calls and that were not served."""
        catalog = self._registry.catalog
        if catalog is None:
            return []
        return catalog.readers(
            filter(is_address, texts_in(decoded)), self._registry.box.programs
        )

    # --- the catalogue -------------------------------------------------------------------------------------------

    async def _use_program(
        self, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        catalog = self._registry.catalog
        assert catalog is not None
        key = read_address(
            required(arguments, "address", name),
            f"{name}.address",
            self._registry.names,
        )
        own = [one for one in self._registry.box.own_programs if one.program_id == key]
        if own:
            raise NotUsable(
                "program", str(key), f"the owner serves it already as {own[0].label}"
            )
        joined = await catalog.join(str(key), from_chain=True)
        tools = self._registry.box.tools_of(joined.served, "instruction")
        left_out = self._registry.box.reasons_left_out(joined.served)
        rows = [
            {"name": tool.name, "takes": takes(tool)} for tool in tools[:_TOOLS_SHOWN]
        ]
        return without_nulls(
            {
                **joined.facts(),
                "refused": clean_text(joined.served.refused, 500) or None,
                "signing": _SIGNING[self._registry.mode],
                "tools": rows,
                "more_tools": len(tools) - len(rows) or None,
                "cannot_be_called": left_out or None,
            }
        )

    async def _any_account(
        self, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        catalog = self._registry.catalog
        assert catalog is not None
        transport = self._chain(None, name)
        if transport is None:
            raise DecodeError("no chain is configured", path=name)
        key = read_address(
            required(arguments, "address", name),
            f"{name}.address",
            self._registry.names,
        )
        account = await reading.need_account(
            transport, key, "an account of any program"
        )
        owner = str(account.owner)
        programs = self._registry.box.programs
        known = [one for one in programs if str(one.program_id) == owner]
        served = next(iter(known or catalog.readers([owner], [])), None)
        if served is None:
            why = f"it belongs to program {owner}, which is not in the catalogue; use_program may read it"
            raise DecodeError(why, path=f"{name}.address")
        served.transport = transport
        found = reading.decoded_account(served, None, key, account)
        return {
            "program": one_line(served.program.name, 80),
            "program_id": owner,
            **found,
        }

    def _search_catalog(
        self, catalog: CatalogPrograms, query: str, limit: int
    ) -> Reply:
        hits = catalog.search(query, limit)
        if not hits:
            return Reply(
                f"No program of the catalogue fits {abbr(query)}. Other words may fit, or the program is not in it.",
                {"tools": []},
            )
        rows = list(map(_catalog_row, hits))
        lines = [f"{row.get('name', 'no tool')}: {row['description']}" for row in rows]
        return Reply("\n".join(lines), {"tools": rows})

    # --- finding tools -------------------------------------------------------------------------------------------

    def _search(self, name: str, arguments: dict[str, Any]) -> Reply:
        query = read_text(required(arguments, "query", name), f"{name}.query")
        box, limit = self._registry.box, read_limit(arguments, name, 10, 50)
        if self._registry.catalog is not None:
            return self._search_catalog(self._registry.catalog, query, limit)
        rows = list(map(self._found, box.search(query, limit)))
        if not rows:
            programs = ", ".join(box.labels)
            return Reply(
                f"No tool has a word of {abbr(query)}, or one that means the same. "
                f"There are tools for: {programs}.",
                {"tools": []},
            )
        lines = [
            f"{row['name']}({', '.join(row['takes'])}): {row['description']}"
            for row in rows
        ]
        return Reply("\n".join(lines), {"tools": rows})

    def _found(self, hit: SearchHit) -> dict[str, Any]:
        """Return a found tool: enough to choose it, and to call it if it takes little."""
        tool = self._registry.box.tools[hit.name]
        reads = tool.definition["annotations"]["readOnlyHint"]
        return without_nulls(
            {
                "name": hit.name,
                "takes": takes(tool),
                "description": about(tool),
                # MCP's default is false.
                "annotations": {"readOnlyHint": True} if reads else None,
                "price": self._price(hit.name),
            }
        )

    def _describe(self, name: str, arguments: dict[str, Any]) -> Reply:
        called = read_text(required(arguments, "name", name), f"{name}.name")
        tool, price = self._registry.box.tool(called), self._price(called)
        definition, given = tool.definition, gives(tool)
        if price is not None:
            text = f"{definition['description']}\nCosts {price} a call (x402)."
            definition = {**definition, "description": text}
        lines = [*definition_lines(definition), *([f"  {given}"] if given else ())]
        return Reply("\n".join(lines), {"tool": short_definition(definition)})


def _catalog_row(hit: Hit) -> dict[str, Any]:
    """Return an instruction that the catalogue found; it has a tool if its program's address is known."""
    about = f"{shown(hit.instruction)} of {shown(hit.program)}"
    if hit.address is None:
        return {
            "description": f"{about} (its address is not known, so it cannot be called)",
            "why": list(hit.why),
        }
    label = label_of(hit.program, hit.address)
    return {
        "name": safe_name(f"{label}_{hit.instruction}"),
        "description": about,
        "program_id": hit.address,
        "schema_from": hit.source,
        "why": list(hit.why),
    }


async def _time_or_why(transport: Transport) -> dict[str, Any]:
    """Return the time of a chain. A node that does not answer must not hide the known facts about the programs."""
    try:
        return await reading.chain_time(transport) or {
            "unknown": "the chain has no clock"
        }
    except McpsolError as error:
        return {"unknown": str(error)}

"""The toolbox: a tool for each instruction and account type, and a few for all programs.

With more than MAX_LISTED tools only the lazy surface is listed (search_tools, describe_tool,
call_tool, and the tools for all programs); the other tools can still be called by name. A tool that
would break a client's list is left out (`Toolbox.quarantined` says why), and so are all tools of a
program whose schema is refused (`Toolbox.refused`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from mcpsol_py.bridge.search import IndexedTool, SearchHit, ToolIndex
from mcpsol_py.bridge.tool_definitions import (
    Mode,
    ToolDefinition,
    common_definitions,
    get_account_definition,
    instruction_definition,
    lazy_definitions,
    list_accounts_definition,
    view_definition,
    with_extra_accounts,
    with_local_names,
    with_program_in_title,
)
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.codec.account import account_named
from mcpsol_py.errors import NotUsable, UnknownName
from mcpsol_py.items import names_of
from mcpsol_py.model.program import AccountType, Instruction
from mcpsol_py.model.types import Struct
from mcpsol_py.names import snake
from mcpsol_py.program import Program
from mcpsol_py.schema.client_profiles import fitted
from mcpsol_py.schema.json_schema import PROFILES
from mcpsol_py.schema.mcp_tools import (
    NAME_BUDGET,
    ToolCall,
    ToolMap,
    hashed_name,
    safe_name,
    title_of,
    unique_names,
)
from mcpsol_py.schema.tool_lint import tool_error

__all__ = [
    "MAX_LISTED",
    "BridgeTool",
    "Mode",
    "Surface",
    "Toolbox",
    "required_arguments",
]

#: Above this many tools, search_tools is listed instead. Several clients accept at most 40.
MAX_LISTED = 40

Surface = Literal["auto", "full", "lazy"]
ToolKind = Literal["instruction", "get", "list", "common", "lazy"]

#: The longest label of a program.
_MAX_LABEL = 16

#: Properties that most tools have, so a search must not match them.
_SHARED_PROPERTIES = frozenset(
    (
        "accounts",
        "remaining_accounts",
        "address",
        "signer",
        "writable",
        "where",
        "limit",
    )
)


@dataclass(frozen=True, slots=True)
class BridgeTool:
    """A tool of the bridge.

    `target` is the instruction or account type of `served` that it calls or reads; for a tool for
    all programs it is the tool's own name.
    """

    name: str
    definition: ToolDefinition
    kind: ToolKind
    target: str
    served: ServedProgram | None = None
    tool_map: ToolMap | None = None
    #: It takes `remaining_accounts`, although its source does not describe them.
    extra_accounts: bool = False
    #: It only shows what its instruction returns.
    is_view: bool = False

    @property
    def calls_another(self) -> bool:
        """True for call_tool, which calls the tool that its arguments name."""
        return self.kind == "lazy" and self.target == "call_tool"

    def sends_in(self, mode: str) -> bool:
        """Return True if a call of it in *mode* signs and sends a transaction."""
        return mode == "send" and self.kind == "instruction" and not self.is_view

    def split(self, arguments: Mapping[str, Any]) -> ToolCall:
        """Return the parts of an instruction call. Raises UnknownName."""
        assert self.tool_map is not None
        return self.tool_map.call(
            self.tool_map.by_instruction[self.target], arguments, called=self.name
        )


class Toolbox:
    """All tools of the bridge: `tools` by name, and `listed`, the definitions in tools/list.

    Texts like "@alice" are accepted as addresses on the local chain with *names*, and on every chain
    with *names_everywhere*. *joined* are programs of a catalogue, which come and go (None: there is no
    catalogue): they rename no tool of others, and no text of the bridge's own tools names them.
    *client* selects the limits that schemas must keep (json_schema.PROFILES); "default" keeps
    within the limits of every supported client. The names of
    programs and tools do not depend on the order of *programs*.
    """

    def __init__(
        self,
        programs: Sequence[ServedProgram],
        *,
        mode: Mode = "build",
        surface: Surface = "auto",
        wallet: bool = False,
        names: bool = False,
        names_everywhere: bool = False,
        client: str = "default",
        joined: Sequence[ServedProgram] | None = None,
    ) -> None:
        self.own_programs = list(programs)
        self.programs = [*programs, *(joined or ())]
        #: Programs of a catalogue may join, so a tool that is not known now may be later.
        self.grows = joined is not None
        self._many = len(programs) > 1 or self.grows
        self.mode: Mode = mode
        self._names, self._names_everywhere = names, names_everywhere
        self._wallet = wallet
        self._client, self._profile = client, PROFILES[client]
        self.tools: dict[str, BridgeTool] = {}
        self._taken: set[str] = set()
        #: Tool -> why its definition would break a client's list.
        self.quarantined: dict[str, str] = {}
        #: "program.instruction" -> why it has no tool.
        self.left_out: dict[str, str] = {}
        #: Tool -> why its program is refused.
        self.refused: dict[str, str] = {}
        self.labels = dict(zip(_labels(self.programs), self.programs, strict=True))
        for label, served in self.labels.items():
            served.label = label
        made = chain.from_iterable(map(self._tools_of, self.own_programs))
        for tool in _with_distinct_names(made):
            self._add(tool)
        self._add_common()
        count = len(self.tools)
        many = surface == "lazy" or (surface == "auto" and count > MAX_LISTED)
        self.lazy = self.grows or many
        if self.lazy:
            self._add_lazy(count)
        for tool in chain.from_iterable(map(self._tools_of, joined or ())):
            self._add_joined(tool)
        self._index: ToolIndex | None = None
        self.listed = [
            tool.definition for tool in filter(self._is_listed, self.tools.values())
        ]

    def _is_listed(self, tool: BridgeTool) -> bool:
        return not self.lazy or tool.kind in ("common", "lazy")

    # --- adding tools --------------------------------------------------------------------------

    def _add(self, tool: BridgeTool) -> None:
        name = tool.name
        if tool.served is not None and tool.served.refused:
            self.refused[name] = tool.served.refused
            return
        # Instructions are added first and keep their names.
        if name.lower() in self._taken:
            name = self._free_name(name)
            tool = _renamed(tool, name)
        if tool.kind != "instruction":
            schema = fitted(tool.definition["inputSchema"], self._profile)
            tool = replace(tool, definition={**tool.definition, "inputSchema": schema})
        error = tool_error(tool.definition, self._client)
        if error is not None:
            self.quarantined[name] = error
            return
        self.tools[name] = tool
        self._taken.add(name.lower())

    def _add_joined(self, tool: BridgeTool) -> None:
        """Add a tool of a program that joined. The name of another tool stays with the other."""
        if tool.name.lower() in self._taken:
            self.quarantined[f"{tool.name} of {_label_of(tool)}"] = (
                "another tool has this name"
            )
        else:
            self._add(tool)

    def _free_name(self, name: str) -> str:
        for number in range(2, 1000):
            numbered = safe_name(f"{name[: NAME_BUDGET - 4]}_{number}")
            if numbered.lower() not in self._taken:
                return numbered
        raise UnknownName("tool", name, ())

    def _tools_of(self, served: ServedProgram) -> Iterator[BridgeTool]:
        """Yield the tools of a program's instructions and account types."""
        prefix = f"{served.label}_" if self._many else ""
        tools = chain(
            self._instruction_tools(served, prefix), _account_tools(served, prefix)
        )
        for tool in tools:
            yield self._marked(tool, served)

    def _instruction_tools(
        self, served: ServedProgram, prefix: str
    ) -> Iterator[BridgeTool]:
        program = served.program
        online = served.transport is not None

        def must_give(ix: Instruction) -> Collection[tuple[str, ...]]:
            plan = program.instruction(ix.name).plan
            return {
                leaf.path for leaf in plan.must_give(wallet=self._wallet, online=online)
            }

        tool_map = ToolMap(
            program.model, self._client, prefix=prefix, must_give=must_give
        )
        for name, why in tool_map.left_out.items():
            self.left_out[f"{program.name}.{name}"] = why
        for definition in tool_map.tools:
            name = definition["name"]
            ix = tool_map.instruction(name)
            extra = program.model.dialect.startswith("anchor") and not ix.remaining
            if extra:
                definition = with_extra_accounts(definition, self._profile)
            is_view = bool(definition["annotations"]["readOnlyHint"])
            full = instruction_definition(definition, ix, self.mode, online=online)
            tool = BridgeTool(
                name, full, "instruction", ix.name, served, tool_map, extra, is_view
            )
            yield tool
            if online and ix.returns is not None and tool.sends_in(self.mode):
                view = safe_name(f"{prefix}view_{ix.name}")
                shown = view_definition(definition, view)
                yield replace(tool, name=view, definition=shown, is_view=True)

    def _marked(self, tool: BridgeTool, served: ServedProgram) -> BridgeTool:
        """Name the program in the tool's title if there are several, and allow local names."""
        definition = tool.definition
        if self._many and tool.kind == "instruction":
            definition = with_program_in_title(definition, title_of(served.label))
        if self._names_everywhere or (self._names and served.cluster == "local"):
            schema = with_local_names(definition["inputSchema"])
            definition = {**definition, "inputSchema": schema}
        return replace(tool, definition=definition)

    def _add_common(self) -> None:
        definitions = common_definitions(
            self.own_programs,
            [] if self.grows else list(self.labels),
            local_names=self._names or self._names_everywhere,
            sends=self.mode == "send",
            catalog=self.grows,
        )
        for definition in definitions:
            name = definition["name"]
            self._add(BridgeTool(name, definition, "common", name))

    def _add_lazy(self, count: int) -> None:
        for definition in lazy_definitions(
            self.own_programs, count, self.mode, catalog=self.grows
        ):
            name = definition["name"]
            self._add(BridgeTool(name, definition, "lazy", name))
        # They come first, for clients that read only the beginning of the list.
        order = {"lazy": 0, "common": 1}
        self.tools = dict(
            sorted(self.tools.items(), key=lambda item: order.get(item[1].kind, 2))
        )

    # --- finding tools -------------------------------------------------------------------------

    def tool(self, name: str) -> BridgeTool:
        """Return a tool by name, listed or not.

        Raises UnknownName, and NotUsable if the schema of its program is refused.
        """
        found = self.tools.get(name)
        if found is not None:
            return found
        if name in self.refused:
            raise NotUsable("tool", name, self.refused[name])
        raise UnknownName("tool", name, self.tools)

    def reasons_left_out(self, served: ServedProgram) -> dict[str, str]:
        """Return the instructions of a program that have no tool -> why."""
        prefix = f"{served.program.name}."
        found = self.left_out.items()
        return {
            key.removeprefix(prefix): why
            for key, why in found
            if key.startswith(prefix)
        }

    def instruction(self, name: str) -> BridgeTool | None:
        """Return an instruction's tool by name, or None if there is no such tool."""
        tool = self.tools.get(name)
        return tool if tool is not None and tool.kind == "instruction" else None

    def tools_of(self, served: ServedProgram, *kinds: ToolKind) -> list[BridgeTool]:
        """Return the tools of a program that are of one of *kinds*."""
        tools = self.tools.values()
        return [tool for tool in tools if tool.served is served and tool.kind in kinds]

    def search(self, query: str, limit: int = 10) -> list[SearchHit]:
        """Return the tools that fit *query*, best first."""
        if self._index is None:
            searchable = [tool for tool in self.tools.values() if tool.kind != "lazy"]
            self._index = ToolIndex(map(_indexed, searchable))
        return self._index.search(query, limit)


# --- names ---------------------------------------------------------------------------------------


def _labels(programs: Sequence[ServedProgram]) -> list[str]:
    """Return a label for each program: its name, with a hash of its address if two share it."""
    names = list(map(_short_name, programs))
    count = Counter(map(str.lower, names))
    for place, served in enumerate(programs):
        name = names[place]
        if not served.label and count[name.lower()] > 1:
            identity = f"{served.program_id} {served.cluster}"
            names[place] = hashed_name(name, identity, _MAX_LABEL)
    return unique_names(names, _MAX_LABEL)


def _short_name(served: ServedProgram) -> str:
    if served.label:
        return served.label
    return safe_name(snake(served.program.name) or "program", _MAX_LABEL)


def _with_distinct_names(tools: Iterable[BridgeTool]) -> list[BridgeTool]:
    """Return *tools* of several programs with distinct names.

    If tools of two programs have the same name, both get a hash, so that the order of the programs
    does not matter.
    """
    tools = list(tools)
    owners: dict[str, set[str]] = {}
    for tool in tools:
        owners.setdefault(tool.name.lower(), set()).add(_label_of(tool))
    out = []
    for tool in tools:
        if len(owners[tool.name.lower()]) > 1:
            identity = f"{_label_of(tool)} {tool.kind} {tool.target}"
            tool = _renamed(tool, hashed_name(tool.name, identity, NAME_BUDGET))
        out.append(tool)
    return out


def _label_of(tool: BridgeTool) -> str:
    assert tool.served is not None
    return tool.served.label


def _renamed(tool: BridgeTool, name: str) -> BridgeTool:
    return replace(tool, name=name, definition={**tool.definition, "name": name})


# --- accounts ------------------------------------------------------------------------------------


def _account_tools(served: ServedProgram, prefix: str) -> Iterator[BridgeTool]:
    """Yield two tools for each readable account type: one reads an account, one lists them.

    Yields none for a program without a chain.
    """
    if served.transport is None:
        return
    resolver = served.program.codecs.layouts.resolver
    accounts = [
        a
        for a in served.program.model.accounts
        if resolver.why_unusable(a.type) is None
    ]
    wanted: list[str] = []
    for account in accounts:
        wanted += [
            f"{prefix}get_{snake(account.name)}",
            f"{prefix}list_{snake(account.name)}",
        ]
    names = iter(unique_names(wanted))
    for account in accounts:
        name = next(names)
        definition = get_account_definition(name, served, account)
        yield BridgeTool(name, definition, "get", account.name, served)
        name = next(names)
        definition = list_accounts_definition(name, served, account)
        yield BridgeTool(name, definition, "list", account.name, served)


# --- the search index ----------------------------------------------------------------------------


def _indexed(tool: BridgeTool) -> IndexedTool:
    """Return the texts to search for a tool. A program's tool has only the program's own words."""
    if tool.served is None:
        text = str(tool.definition["description"])
        return IndexedTool(tool.name, "", text, _parameters(tool))
    program = tool.served.program
    if tool.kind == "instruction":
        model = program.instruction(tool.target).model
        text = " ".join([*model.docs, *model.when_to_use])
        return IndexedTool(tool.name, program.name, text, _parameters(tool))
    account = account_named(program.model, tool.target)
    text = " ".join(["account", "accounts", *account.docs])
    fields = _field_names(program, account)
    return IndexedTool(tool.name, program.name, text, fields, reads_accounts=True)


def _parameters(tool: BridgeTool) -> list[str]:
    names = _property_names(tool.definition["inputSchema"])
    return [name for name in names if name not in _SHARED_PROPERTIES]


def _field_names(program: Program, account: AccountType) -> list[str]:
    node = program.codecs.layouts.resolver.target(account.type)
    if not isinstance(node, Struct):
        return []
    return names_of(node.fields)


def _property_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of a schema's properties, nested ones too."""
    names: list[str] = []
    for name, inner in schema.get("properties", {}).items():
        names.append(name)
        if isinstance(inner, dict):
            names += _property_names(inner)
    return names


# --- checks --------------------------------------------------------------------------------------


def required_arguments(schema: Mapping[str, Any]) -> list[str]:
    """Return the arguments that a call must have, accounts as "accounts.<name>"."""
    accounts = schema["properties"].get("accounts", {})
    plain = [name for name in schema.get("required", ()) if name != "accounts"]
    return plain + [f"accounts.{name}" for name in accounts.get("required", ())]

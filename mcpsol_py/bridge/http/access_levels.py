"""Access levels: how far the calls of a token may go.

    read    lists tools, reads accounts, decodes
    build   simulates instructions and returns unsigned transactions
    send    lets the bridge sign and send, within the policy

Each level includes the ones before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from mcpsol_py.bridge.approvals import ANSWER_TOOL
from mcpsol_py.bridge.tools import BridgeTool

__all__ = ["ACCESS_LEVELS", "AccessLevel", "allows", "required_level"]

AccessLevel = Literal["read", "build", "send"]
ACCESS_LEVELS: tuple[AccessLevel, ...] = ("read", "build", "send")

#: call_tool may call call_tool; after this many steps the strictest level is required.
_MAX_NESTED_CALLS = 3


def required_level(
    method: Any,
    params: Any,
    tools: Mapping[str, BridgeTool],
    mode: str,
    *,
    grows: bool = False,
) -> AccessLevel:
    """Return the level that an MCP request needs. Only calls of instructions need more than read.

    *method* and *params* come from the client unchecked. *grows*: programs may join the bridge, so a tool that is not
    known yet may be any: it needs what an instruction's tool may need.
    """
    if method != "tools/call":
        return "read"
    call = _mapping(params)
    if call.get("name") == ANSWER_TOOL:
        return "send"
    for _ in range(_MAX_NESTED_CALLS):
        tool = _called_tool(call, tools)
        if tool is None:
            return _level_of_unknown(mode) if grows else "read"
        if not tool.calls_another:
            return _level_of_tool(tool, mode)
        call = _mapping(call.get("arguments"))
    return "send"


def allows(levels: Iterable[str], wanted: AccessLevel) -> bool:
    """Return True if a token with *levels* may make a call that needs *wanted*."""
    return wanted in levels


def _called_tool(
    call: Mapping[str, Any], tools: Mapping[str, BridgeTool]
) -> BridgeTool | None:
    name = call.get("name")
    return tools.get(name) if isinstance(name, str) else None


def _level_of_unknown(mode: str) -> AccessLevel:
    return "send" if mode == "send" else "build"


def _level_of_tool(tool: BridgeTool, mode: str) -> AccessLevel:
    if tool.kind != "instruction":
        return "read"
    return "send" if tool.sends_in(mode) else "build"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

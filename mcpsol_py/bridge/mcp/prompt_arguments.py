"""The arguments of an instruction's prompt: its parameters and accounts as one flat list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpsol_py.bridge.tools import BridgeTool

__all__ = ["prompt_arguments", "required_prompt_arguments"]


def prompt_arguments(tool: BridgeTool) -> dict[str, dict[str, Any]]:
    """Return the arguments that a prompt can ask for one by one, as name -> JSON schema.

    Objects and lists are left out. An account's schema has the account's name under `x-account`;
    if an argument has the same name, the account's gets the suffix "_account".
    """
    properties = tool.definition["inputSchema"]["properties"]
    out = {name: schema for name, schema in properties.items() if not _is_group(name, schema)}
    accounts = properties.get("accounts", {}).get("properties", {})
    for name, schema in accounts.items():
        if schema.get("type") == "string":
            out[f"{name}_account" if name in out else name] = {**schema, "x-account": name}
    return out


def required_prompt_arguments(
    tool: BridgeTool, arguments: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the names of *arguments* (as `prompt_arguments` returns them) that a call needs."""
    schema = tool.definition["inputSchema"]
    accounts = schema["properties"].get("accounts", {}).get("required", [])
    plain = [name for name in schema.get("required", []) if name in arguments]
    return plain + [name for name, inner in arguments.items() if inner.get("x-account") in accounts]


def _is_group(name: str, schema: Mapping[str, Any]) -> bool:
    return name in ("accounts", "remaining_accounts") or schema.get("type") in ("object", "array")

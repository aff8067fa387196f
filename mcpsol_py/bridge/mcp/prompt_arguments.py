"""The arguments of an instruction's prompt: its parameters and accounts as one flat list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcpsol_py.bridge.tools import BridgeTool

__all__ = ["PromptArgument", "prompt_arguments"]


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A value that a prompt asks for, with its JSON schema. A call needs it if it is `required`.

    `account` is the account's name if the value is an account's address, else None.
    """

    schema: Mapping[str, Any]
    required: bool
    account: str | None = None


def prompt_arguments(tool: BridgeTool) -> dict[str, PromptArgument]:
    """Return the arguments that a prompt can ask for one by one, by name.

    Objects and lists are left out. If an account and an argument have the same name, the account's
    gets the suffix "_account".
    """
    schema = tool.definition["inputSchema"]
    properties = _properties(schema)
    out = {
        name: found for name, found in properties if not _is_group(name, found.schema)
    }
    for account, found in _properties(schema["properties"].get("accounts", {})):
        if found.schema.get("type") == "string":
            name = f"{account}_account" if account in out else account
            out[name] = replace(found, account=account)
    return out


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, PromptArgument]]:
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        yield name, PromptArgument(inner, name in required)


def _is_group(name: str, schema: Mapping[str, Any]) -> bool:
    return name in ("accounts", "remaining_accounts") or schema.get("type") in (
        "object",
        "array",
    )

"""Reading the arguments of a tool call. Each function raises EncodeError or UnknownName with the argument's path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from solders.pubkey import Pubkey

from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls import reading
from mcpsol_py.errors import EncodeError, SourceError, UnknownName, abbr
from mcpsol_py.items import nests_as_deep
from mcpsol_py.schema.json_schema import opened
from mcpsol_py.schema.mcp_tools import ToolCall

__all__ = [
    "NameResolver",
    "check_depth",
    "check_known",
    "extra_accounts",
    "read_address",
    "read_address_list",
    "read_addresses",
    "read_limit",
    "read_list",
    "read_object",
    "read_text",
    "required",
    "unresolved",
]

#: No type that can be served nests deeper (codec: MAX_DEPTH); deeper arguments would only exhaust the stack.
_DEPTH = 100
#: A transaction locks no more accounts (solana: MAX_TX_ACCOUNT_LOCKS).
_MOST_REMAINING = 64


class NameResolver(Protocol):
    """Replaces the names of a local cluster ("@alice") in a JSON value by addresses."""

    def __call__(self, value: Any, *, known_only: bool = False) -> Any:
        """Return *value* with addresses. An unknown name is an error, or stays as it is with *known_only*."""


def unresolved(value: Any, *, known_only: bool = False) -> Any:
    """A NameResolver for a chain without names: return *value* unchanged."""
    return value


def check_depth(arguments: Any) -> None:
    """Raise EncodeError for arguments that nest too deep."""
    if nests_as_deep(arguments, _DEPTH):
        raise EncodeError(
            f"the arguments nest over {_DEPTH} levels deep", path="arguments"
        )


def check_known(arguments: Mapping[str, Any], tool: BridgeTool) -> None:
    """Raise UnknownName for an argument that *tool* does not have."""
    known = tool.definition["inputSchema"]["properties"]
    UnknownName.check("property", arguments, known, tool.name)


def extra_accounts(tool: BridgeTool, arguments: dict[str, Any]) -> list[Any]:
    """Take the accounts after the named ones out of *arguments* (see tools.EXTRA_ACCOUNTS)."""
    if not tool.extra_accounts or "remaining_accounts" not in arguments:
        return []
    path = f"{tool.name}.remaining_accounts"
    value = read_list(
        arguments.pop("remaining_accounts"), path, _MOST_REMAINING, "accounts"
    )
    check_depth(value)
    return value or []


def required(arguments: Mapping[str, Any], key: str, where: str) -> Any:
    """Return an argument that must be given."""
    if key not in arguments:
        raise EncodeError("is missing", path=f"{where}.{key}")
    return arguments[key]


def read_text(value: Any, path: str) -> str:
    """Return *value*, which must be text."""
    if not isinstance(value, str):
        raise EncodeError(f"expected text, got {abbr(value)}", path=path)
    return value


def read_list(value: Any, path: str, most: int, items: str) -> list[Any] | None:
    """Return *value*, which must be a list of at most *most* items, or None."""
    value = opened(value)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > most:
        raise EncodeError(
            f"expected a list of at most {most} {items}, got {abbr(value)}", path=path
        )
    return value


def read_object(value: Any, path: str) -> dict[str, Any]:
    """Return *value*, which must be an object. Some clients send objects as JSON text, which is read."""
    found = opened(value)
    if not isinstance(found, dict):
        raise EncodeError(f"expected an object, got {abbr(value)}", path=path)
    return found


def read_limit(
    arguments: Mapping[str, Any], where: str, default: int, most: int
) -> int:
    """Return the argument `limit`, a whole number from 1 to *most*."""
    value = arguments.get("limit", default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # A bool is an int, too.
    if type(value) is not int or value not in range(1, most + 1):
        raise EncodeError(
            f"expected a whole number from 1 to {most}, got {abbr(value)}",
            path=f"{where}.limit",
        )
    return value


def read_address(value: Any, path: str, names: NameResolver) -> Pubkey:
    """Return *value* as an address; a name of the local chain is one."""
    return reading.address(names(value), path)


def read_address_list(
    value: Any, path: str, most: int, names: NameResolver
) -> list[Pubkey] | None:
    """Return *value*, which must be a list of at most *most* addresses, or None."""
    items = read_list(value, path, most, "addresses")
    if items is None:
        return None
    return [
        read_address(item, f"{path}[{place}]", names)
        for place, item in enumerate(items)
    ]


def read_addresses(names: NameResolver, parts: ToolCall, tool: str) -> dict[str, Any]:
    """Return the accounts of a call with names resolved. Raises SourceError with the account's path."""
    out: dict[str, Any] = {}
    for key, value in (*parts.accounts.items(), *parts.remaining.items()):
        try:
            out[key] = names(value)
        except SourceError as error:
            raise error.at(path=f"{tool}.accounts.{key}") from None
    return out

"""The values of an overlay document, each checked with its path: tables, lists, text, addresses,
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from mcpsol_py.errors import SourceError, UnresolvedName, abbr, suggest
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.sources.reader import expected, matching_name

__all__ = [
    "address_value",
    "bytes_value",
    "check_keys",
    "encoding_value",
    "list_value",
    "matching",
    "table_value",
    "text_value",
]


def table_value(value: Any, path: str) -> Mapping[str, Any]:
    """Return a table (an object with text as keys). Raises SourceError."""
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in value):
        return value
    raise expected("a table", value, path=path)


def list_value(value: Any, path: str) -> list[Any]:
    """Return a list. Raises SourceError."""
    if isinstance(value, list):
        return value
    raise expected("a list", value, path=path)


def text_value(entry: Mapping[str, Any], key: str, path: str) -> str:
    """Return entry[key], which must be text that is not empty. Raises SourceError."""
    value = entry.get(key)
    if isinstance(value, str) and value:
        return value
    raise expected("text", value, path=f"{path}.{key}")


def address_value(value: Any, path: str) -> str:
    """Return a base58 address. Raises SourceError."""
    if isinstance(value, str) and is_address(value):
        return value
    raise expected("an address (32 bytes in base58)", value, path=path)


def encoding_value(value: Any, path: str) -> Literal["be", "utf8"]:
    """Return the encoding of a seed. Raises SourceError."""
    if value == "be":
        return "be"
    if value == "utf8":
        return "utf8"
    raise expected(
        "an encoding: be (big-endian) or utf8 (decimal text)", value, path=path
    )


def bytes_value(value: Any, path: str) -> bytes:
    """Return bytes, written as "0x…" or as a list of numbers. Raises SourceError."""
    with suppress(ValueError, TypeError):
        if isinstance(value, list):
            return bytes(value)
        if isinstance(value, str) and value.startswith("0x"):
            return bytes.fromhex(value[2:])
    raise expected('bytes ("0x…" or a list of numbers)', value, path=path)


def check_keys(entry: Mapping[str, Any], keys: Iterable[str], path: str) -> None:
    """Raise SourceError for a key that is not one of *keys*."""
    known = list(keys)
    for key in entry:
        if key not in known:
            raise SourceError(
                f"unknown key {abbr(key, 40)}. {suggest(str(key), known)}", path=path
            )


def matching(name: str, names: list[str], kind: str, path: str) -> str:
    """Return the one of *names* that is *name*, in any case style. Raises UnresolvedName."""
    found = matching_name(name, names)
    if found is None:
        raise UnresolvedName(kind, name, names, path=path)
    return found

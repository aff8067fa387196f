"""Codama's value nodes, in the JSON form of their type (docs/wire.md).

To add a value node, add its kind and a method to `_VALUES`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.solana.base58 import b58decode, is_address
from mcpsol_py.sources.codama.nodes import MAX_DEPTH, Node, NodeReader, kind_name
from mcpsol_py.sources.reader import check_kind, expected, kind_of

__all__ = ["ValueReader", "check_value_node", "decoded"]

_MAX_TEXT = 65_536
_MAX_BASE58 = 4096
#: The largest integer that all JSON readers keep exact; larger ones are written as text.
_MAX_EXACT = 2**53 - 1
_OPTION_VALUES = ("someValueNode", "noneValueNode")


def check_value_node(node: Any, depth: int) -> None:
    """Raise SourceError unless *node* may be a value node, and not too deep in others."""
    check_kind(node, dict, "a value node")
    if depth > MAX_DEPTH:
        raise SourceError(f"values nest deeper than {MAX_DEPTH} levels.")


class ValueReader(NodeReader):
    """Reads value nodes."""

    def value(self, node: Any, depth: int = 0) -> Any:
        """Return a value in the JSON form of its type. Raises SourceError if it depends on the
        call.
        """
        check_value_node(node, depth)
        read = _VALUES.get(kind_name(node))
        if read is None:
            raise SourceError(
                f"expected a plain value, got {abbr(node.get('kind'), 60)}."
            )
        return read(self, node, depth)

    def number_value(self, node: Node, depth: int) -> Any:
        number = node.get("number")
        if type(number) not in (int, float):
            raise expected("a number", number)
        return (
            str(number) if type(number) is int and abs(number) > _MAX_EXACT else number
        )

    def boolean_value(self, node: Node, depth: int) -> bool:
        return self.flag(node, "boolean")

    def string_value(self, node: Node, depth: int) -> str:
        return self.text(node, "string", _MAX_TEXT)

    def bytes_value(self, node: Node, depth: int) -> str:
        return "0x" + self.node_bytes(node).hex()

    def address_value(self, node: Node, depth: int) -> str:
        key = node.get("publicKey")
        if type(key) is not str or not is_address(key):
            raise SourceError(
                f"expected an address (32 bytes in base58), got {kind_of(key)}.",
                path="publicKey",
            )
        return key

    def none_value(self, node: Node, depth: int) -> None:
        return None

    def some_value(self, node: Node, depth: int) -> Any:
        """An option in an option is {"some": value}, since JSON has only one null."""
        inner = node.get("value")
        value = self.value(inner, depth + 1)
        nested = type(inner) is dict and inner.get("kind") in _OPTION_VALUES
        return {"some": value} if nested else value

    def list_value(self, node: Node, depth: int) -> list[Any]:
        return [self.value(item, depth + 1) for item in self.items(node, "items")]

    def map_value(self, node: Node, depth: int) -> list[Any]:
        return [
            [
                self.value(entry.get("key"), depth + 1),
                self.value(entry.get("value"), depth + 1),
            ]
            for entry in self.items(node, "entries")
        ]

    def struct_value(self, node: Node, depth: int) -> dict[str, Any]:
        fields = self.items(node, "fields")
        return {
            self.name(field): self.value(field.get("value"), depth + 1)
            for field in fields
        }

    def enum_value(self, node: Node, depth: int) -> Any:
        name = self.name(node, "variant")
        if node.get("value") is None:
            return name
        return {name: self.value(node["value"], depth + 1)}

    def constant_value(self, node: Node, depth: int) -> Any:
        return self.value(node.get("value"), depth + 1)

    def injected_value(self, node: Node, depth: int) -> Any:
        if node.get("fallback") is None:
            raise SourceError(
                "expected a plain value, got 'injectedValueNode' without a fallback."
            )
        return self.value(node["fallback"], depth + 1)

    def node_bytes(self, node: Node) -> bytes:
        """Return the bytes of a bytesValueNode."""
        data = check_kind(node.get("data"), str, "the bytes as text")
        return decoded(data, node.get("encoding"))


def _base16(text: str) -> bytes:
    # Codama's encoders read a single digit as a byte; other odd lengths are errors.
    return bytes([int(text, 16)]) if len(text) == 1 else bytes.fromhex(text)


def _base58(text: str) -> bytes:
    if len(text) > _MAX_BASE58:
        raise ValueError("too long")
    return b58decode(text)


def _unknown_encoding(text: str) -> bytes:
    raise ValueError("unknown encoding")


_DECODERS: dict[str, Callable[[str], bytes]] = {
    "base16": _base16,
    "base58": _base58,
    "base64": lambda text: base64.b64decode(text, validate=True),
    "utf8": str.encode,
}


def decoded(text: str, encoding: object) -> bytes:
    """Return the bytes that *text* shows in *encoding*. Raises SourceError."""
    decode = _DECODERS.get(str(encoding), _unknown_encoding)
    with suppress(ValueError, binascii.Error):
        return decode(text)
    raise SourceError(f"{abbr(text, 40)} is not valid {abbr(encoding, 20)}.")


_VALUES: dict[str, Callable[[ValueReader, Node, int], Any]] = {
    "numberValueNode": ValueReader.number_value,
    "booleanValueNode": ValueReader.boolean_value,
    "stringValueNode": ValueReader.string_value,
    "bytesValueNode": ValueReader.bytes_value,
    "publicKeyValueNode": ValueReader.address_value,
    "noneValueNode": ValueReader.none_value,
    "someValueNode": ValueReader.some_value,
    "arrayValueNode": ValueReader.list_value,
    "setValueNode": ValueReader.list_value,
    "tupleValueNode": ValueReader.list_value,
    "mapValueNode": ValueReader.map_value,
    "structValueNode": ValueReader.struct_value,
    "enumValueNode": ValueReader.enum_value,
    "constantValueNode": ValueReader.constant_value,
    "injectedValueNode": ValueReader.injected_value,
}

"""The bytes of Codama's constants: discriminators, sentinels, hidden prefixes and constant seeds."""

from __future__ import annotations

from typing import Any, Literal

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    FixedSize,
    Float,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import TypeVisitor
from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.sources.codama.nodes import MAX_DEPTH, Node
from mcpsol_py.sources.codama.values import ValueReader, decoded
from mcpsol_py.sources.reader import check_kind, expected

__all__ = ["MAX_CONSTANT", "ConstantReader"]

#: The longest padding of a constant. Accounts, which constants tell apart, have at most 10 MB.
MAX_CONSTANT = 65_536


class ConstantReader(ValueReader):
    """Reads constants as bytes."""

    def constant_bytes(self, node: Any) -> bytes:
        """Return the bytes of a constantValueNode. Raises SourceError."""
        if type(node) is not dict or node.get("kind") != "constantValueNode":
            raise expected("a constantValueNode", node)
        return self.encode(self.type(node.get("type")), node.get("value"))

    def joined_constants(self, nodes: Any) -> bytes:
        """Return the bytes of a list of constantValueNodes, one after another. Raises SourceError."""
        try:
            check_kind(nodes, list, "a list of constants")
            return b"".join(map(self.constant_bytes, nodes))
        except SourceError as error:
            raise SourceError(
                f"cannot read the constant bytes: {error.text}"
            ) from error

    def encode(self, kind: Type, node: Any, depth: int = 0) -> bytes:
        """Return the bytes of the value *node* in the type *kind*.

        Raises SourceError if the value does not fit the type, or if the type cannot be constant.
        """
        if type(node) is not dict or depth > MAX_DEPTH:
            raise expected("a value node", node)
        if node.get("kind") == "constantValueNode":
            return self.encode(
                self.type(node.get("type")), node.get("value"), depth + 1
            )
        return _ConstantEncoder(self).visit(kind, node, depth)


class _ConstantEncoder(TypeVisitor[[Node, int], bytes]):
    """Encodes a value node as each kind of type."""

    def __init__(self, reader: ConstantReader) -> None:
        self.reader = reader

    def inner(self, node: Type, value: Any, depth: int) -> bytes:
        return self.reader.encode(node, value, depth + 1)

    def mismatch(self, node: Type, value: Node) -> SourceError:
        shown = type_text(node)[:80]
        return SourceError(
            f"{abbr(value.get('kind'), 40)} is not a constant of type {shown}."
        )

    def expect(self, node: Type, value: Node, *kinds: str) -> None:
        """Raise SourceError if the value node is not of one of *kinds*."""
        if value.get("kind") not in kinds:
            raise self.mismatch(node, value)

    def integer(self, node: Type, value: Node) -> int:
        """Return the number of a numberValueNode. Raises SourceError for other values."""
        self.expect(node, value, "numberValueNode")
        number = value.get("number")
        if type(number) is not int:
            raise self.mismatch(node, value)
        return number

    def not_constant(
        self,
        node: Float
        | Option
        | ZeroableOption
        | RemainderOption
        | Generic
        | Set
        | Map
        | Unsupported,
        value: Node,
        depth: int,
    ) -> bytes:
        raise self.mismatch(node, value)

    visit_float = visit_option = visit_zeroable_option = visit_remainder_option = (
        not_constant
    )
    visit_generic = visit_set = visit_map = visit_unsupported = not_constant

    # --- scalars

    def visit_int(self, node: Int, value: Node, depth: int) -> bytes:
        number = self.integer(node, value)
        order = _byte_order(node)
        try:
            return number.to_bytes(node.bits // 8, order, signed=node.signed)
        except OverflowError:
            raise SourceError(
                f"{number} does not fit {type_text(node)}.", path="number"
            ) from None

    def visit_short_u16(self, node: ShortU16, value: Node, depth: int) -> bytes:
        return _short_u16(self.integer(node, value))

    def visit_bool(self, node: Bool, value: Node, depth: int) -> bytes:
        self.expect(node, value, "booleanValueNode")
        return _length_bytes(node.size, int(self.reader.flag(value, "boolean")))

    def visit_pubkey(self, node: Pubkey, value: Node, depth: int) -> bytes:
        if value.get("kind") == "publicKeyValueNode":
            return b58decode(str(self.reader.value(value)))
        return self.bytes_only(node, value)

    def visit_string(self, node: String, value: Node, depth: int) -> bytes:
        text = _string_of(value)
        return (
            self.bytes_only(node, value)
            if text is None
            else decoded(text, node.encoding)
        )

    def visit_bytes(self, node: Bytes, value: Node, depth: int) -> bytes:
        text = _string_of(value)
        return self.bytes_only(node, value) if text is None else text.encode()

    def bytes_only(self, node: Type, value: Node) -> bytes:
        self.expect(node, value, "bytesValueNode")
        return self.reader.node_bytes(value)

    def visit_amount(self, node: Amount, value: Node, depth: int) -> bytes:
        return self.inner(node.number, value, depth)

    def visit_date_time(self, node: DateTime, value: Node, depth: int) -> bytes:
        return self.inner(node.number, value, depth)

    # --- wrappers

    def visit_fixed_size(self, node: FixedSize, value: Node, depth: int) -> bytes:
        data = self.inner(node.item, value, depth)
        if len(data) > node.size:
            raise SourceError(f"{len(data)} bytes do not fit in {node.size}.")
        return data.ljust(node.size, b"\0")

    def visit_size_prefixed(self, node: SizePrefixed, value: Node, depth: int) -> bytes:
        data = self.inner(node.item, value, depth)
        return _length_bytes(node.prefix, len(data)) + data

    def visit_hidden_prefix(self, node: HiddenPrefix, value: Node, depth: int) -> bytes:
        return node.data + self.inner(node.item, value, depth)

    def visit_hidden_suffix(self, node: HiddenSuffix, value: Node, depth: int) -> bytes:
        return self.inner(node.item, value, depth) + node.data

    def visit_sentinel(self, node: Sentinel, value: Node, depth: int) -> bytes:
        return self.inner(node.item, value, depth) + node.mark

    def visit_offset(self, node: Offset, value: Node, depth: int) -> bytes:
        if node.strategy != "padded" or not 0 <= node.amount <= MAX_CONSTANT:
            raise self.mismatch(node, value)
        data, zeros = self.inner(node.item, value, depth), bytes(node.amount)
        return zeros + data if node.when == "pre" else data + zeros

    # --- several values

    def visit_array(self, node: Array, value: Node, depth: int) -> bytes:
        if value.get("kind") == "bytesValueNode" and _is_byte_array(node):
            return self.reader.node_bytes(value)
        self.expect(node, value, "arrayValueNode", "setValueNode")
        items = self.reader.items(value, "items")
        body = b"".join(self.inner(node.item, item, depth) for item in items)
        if isinstance(node.count, Int):
            return _length_bytes(node.count, len(items)) + body
        if node.count not in (None, len(items)):
            raise self.mismatch(node, value)
        return body

    def visit_tuple(self, node: Tuple, value: Node, depth: int) -> bytes:
        self.expect(node, value, "tupleValueNode")
        items = self.reader.items(value, "items")
        if len(items) != len(node.items):
            raise self.mismatch(node, value)
        pairs = zip(node.items, items, strict=True)
        return b"".join(self.inner(part, item, depth) for part, item in pairs)

    def visit_struct(self, node: Struct, value: Node, depth: int) -> bytes:
        self.expect(node, value, "structValueNode")
        given = {
            self.reader.name(f): f.get("value")
            for f in self.reader.items(value, "fields")
        }
        parts = [self.inner(f.type, given.get(f.name), depth) for f in node.fields]
        return b"".join(parts)

    def visit_enum(self, node: Enum, value: Node, depth: int) -> bytes:
        self.expect(node, value, "enumValueNode")
        wanted = value.get("variant")
        names = names_of(node.variants)
        if wanted not in names:
            raise SourceError(f"no variant named {abbr(wanted, 40)}.", path="variant")
        place = names.index(wanted)
        variant = node.variants[place]
        number = {"kind": "numberValueNode", "number": variant.tag_at(place)}
        tag = self.inner(node.tag, number, depth)
        if variant.payload is None:
            return tag
        return tag + self.inner(variant.payload, value.get("value"), depth)

    def visit_link(self, node: Link, value: Node, depth: int) -> bytes:
        definition = self.reader.types.get(node.name)
        if definition is None:
            raise SourceError(f"no type named {node.name!r}.")
        return self.inner(definition.type, value, depth)


def _string_of(value: Node) -> str | None:
    """Return the text of a stringValueNode, or None."""
    text = value.get("string")
    is_text = value.get("kind") == "stringValueNode" and type(text) is str
    return text if is_text else None


def _is_byte_array(kind: Array) -> bool:
    is_u8 = isinstance(kind.item, Int) and (kind.item.bits, kind.item.signed) == (
        8,
        False,
    )
    return is_u8 and isinstance(kind.count, int)


def _byte_order(kind: Int) -> Literal["big", "little"]:
    return "big" if kind.big_endian else "little"


def _length_bytes(prefix: Int | ShortU16, number: int) -> bytes:
    if isinstance(prefix, ShortU16):
        return _short_u16(number)
    try:
        return number.to_bytes(prefix.bits // 8, _byte_order(prefix))
    except OverflowError:
        raise SourceError(
            f"the length {number} does not fit {type_text(prefix)}."
        ) from None


def _short_u16(number: int) -> bytes:
    if not 0 <= number < 2**16:
        raise SourceError(f"{abbr(number, 40)} does not fit shortU16.")
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

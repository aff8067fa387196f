"""Codama's type nodes, counts and fields.

To add a type node, add its kind and a method to `TYPE_NODES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.types import (
    F32,
    F64,
    INTS,
    PUBKEY,
    Amount,
    Array,
    Bool,
    Bytes,
    Count,
    DateTime,
    Default,
    Enum,
    Field,
    FixedSize,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.sources.codama.constants import ConstantReader
from mcpsol_py.sources.codama.display import shown_number
from mcpsol_py.sources.codama.nodes import MAX_DEPTH, Node, kind_name
from mcpsol_py.sources.known_types import known_type, known_type_note
from mcpsol_py.sources.numbers import MAX_LENGTH, is_length, unsigned
from mcpsol_py.sources.reader import keys, kind_of, object_or_empty

__all__ = ["CONTEXTUAL", "TYPE_NODES", "CodamaTypeReader"]

#: Values that depend on the accounts, the arguments or the client of a call.
CONTEXTUAL = keys(
    "accountBumpValueNode accountFieldValueNode accountValueNode argumentValueNode"
    " conditionalValueNode identityValueNode payerValueNode pdaValueNode programIdValueNode"
    " resolverValueNode programLinkNode"
)

#: (format, endian) -> type.
_NUMBERS: dict[tuple[object, object], Type] = {
    **{(name, "le"): node for name, node in INTS.items()},
    **{(name, "be"): Int(n.bits, n.signed, n.bits > 8) for name, n in INTS.items()},
    ("f32", "le"): F32,
    ("f64", "le"): F64,
    ("f32", "be"): Float(32, True),
    ("f64", "be"): Float(64, True),
    ("shortU16", "le"): ShortU16(),
    ("shortU16", "be"): ShortU16(),
}
_ENCODINGS = ("utf8", "base16", "base58", "base64")
_PRE_STRATEGIES = ("relative", "absolute", "padded")
_POST_STRATEGIES = (*_PRE_STRATEGIES, "preOffset")
_U8 = Int(8)


class _UnreadablePart(Exception):
    """A constant or count of a type node cannot be read; the message says why."""


def _bad(node: Node, why: str) -> Unsupported:
    return Unsupported(str(node.get("kind"))[:80], why)


class CodamaTypeReader(ConstantReader):
    """Reads type nodes."""

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self._links: dict[str, Type] = {}

    def type(self, node: Any, depth: int = 0) -> Type:
        """Return the type that *node* writes.

        A type that the model cannot express becomes Unsupported. Wrong kinds inside structs and
        enums raise SourceError.
        """
        if type(node) is not dict:
            return Unsupported(
                abbr(node, 80), f"expected a type node, got {kind_of(node)}"
            )
        kind = node.get("kind")
        read = TYPE_NODES.get(kind) if type(kind) is str else None
        if read is None:
            return Unsupported(
                abbr(kind, 80)[1:-1], "Codama 1.x has no type node of this kind"
            )
        if depth > MAX_DEPTH:
            return Unsupported(str(kind), f"types nest deeper than {MAX_DEPTH} levels")
        try:
            return read(self, node, depth + 1)
        except _UnreadablePart as why:
            return _bad(node, str(why))

    def _constant_part(self, nodes: Any) -> bytes:
        """Return the bytes of a list of constants. Raises _UnreadablePart."""
        try:
            return self.joined_constants(nodes)
        except SourceError as error:
            raise _UnreadablePart(error.text) from error

    # --- numbers and other scalars

    def number(self, node: Node, depth: int) -> Type:
        form, endian = node.get("format"), node.get("endian", "le")
        found = _NUMBERS.get((str(form), str(endian)))
        if found is None:
            return _bad(
                node,
                f"unknown number format {abbr(form, 40)} with endian {abbr(endian, 20)}",
            )
        if node.get("display") and isinstance(found, Int):
            return self._shown_number(found, node["display"])
        return found

    def _shown_number(self, number: Int, display: Any) -> Type:
        """Return a number with the meaning that its display gives it, as far as the model has such meanings."""
        found = shown_number(number, display)
        if found is None:
            self.ignored["number", "display"] += 1
        return found or number

    def unsigned(self, node: Any, depth: int) -> Int | ShortU16 | None:
        """Read a prefix, a tag or a count: a plain unsigned integer, or None for other types."""
        found = self.type(node, depth)
        return unsigned(
            found.number if isinstance(found, (Amount, DateTime)) else found
        )

    def unsigned_or_u8(self, node: Node, key: str, depth: int) -> Int | ShortU16 | None:
        return self.unsigned(node[key], depth) if key in node else _U8

    def sol_amount(self, node: Node, depth: int) -> Type:
        number = self.type(node.get("number"), depth)
        return Amount(number, 9, "SOL") if isinstance(number, Int) else number

    def amount(self, node: Node, depth: int) -> Type:
        number = self.type(node.get("number"), depth)
        if not isinstance(number, Int):
            return number
        decimals = node.get("decimals")
        if type(decimals) is int and 0 <= decimals <= 255:
            return Amount(number, decimals, self.text(node, "unit", 32) or None)
        found = kind_of(decimals)
        self.note(
            f"expected the amount's decimals, got {found}; read as a plain number",
            "decimals",
        )
        return number

    def date_time(self, node: Node, depth: int) -> Type:
        number = self.type(node.get("number"), depth)
        return DateTime(number) if isinstance(number, Int) else number

    def boolean(self, node: Node, depth: int) -> Type:
        size = self.unsigned_or_u8(node, "size", depth)
        if not isinstance(size, Int):
            return _bad(node, "a boolean's size is an unsigned integer")
        return Bool(size)

    def public_key(self, node: Node, depth: int) -> Type:
        return PUBKEY

    def bytes(self, node: Node, depth: int) -> Type:
        return Bytes()

    def string(self, node: Node, depth: int) -> Type:
        encoding = node.get("encoding", "utf8")
        if encoding not in _ENCODINGS:
            return _bad(node, f"unknown encoding of text: {abbr(encoding, 40)}")
        return String(encoding)

    # --- wrappers

    def fixed_size(self, node: Node, depth: int) -> Type:
        size = node.get("size")
        if not is_length(size):
            return _bad(node, f"expected a size in bytes, got {kind_of(size)}")
        return FixedSize(self.type(node.get("type"), depth), size)

    def size_prefix(self, node: Node, depth: int) -> Type:
        prefix = self.unsigned(node.get("prefix"), depth)
        if prefix is None:
            return _bad(node, "a size prefix is an unsigned integer")
        return SizePrefixed(self.type(node.get("type"), depth), prefix)

    def sentinel(self, node: Node, depth: int) -> Type:
        mark = self._constant_part([node.get("sentinel")])
        if not mark:
            return _bad(node, "the sentinel is empty")
        return Sentinel(self.type(node.get("type"), depth), mark)

    def hidden_prefix(self, node: Node, depth: int) -> Type:
        data = self._constant_part(node.get("prefix") or [])
        item = self.type(node.get("type"), depth)
        return HiddenPrefix(item, data) if data else item

    def hidden_suffix(self, node: Node, depth: int) -> Type:
        data = self._constant_part(node.get("suffix") or [])
        item = self.type(node.get("type"), depth)
        return HiddenSuffix(item, data) if data else item

    def pre_offset(self, node: Node, depth: int) -> Type:
        return self._offset(node, depth, "pre", _PRE_STRATEGIES)

    def post_offset(self, node: Node, depth: int) -> Type:
        return self._offset(node, depth, "post", _POST_STRATEGIES)

    def _offset(
        self,
        node: Node,
        depth: int,
        when: Literal["pre", "post"],
        strategies: tuple[str, ...],
    ) -> Type:
        amount, strategy = node.get("offset"), node.get("strategy", "relative")
        if type(amount) is not int or abs(amount) > MAX_LENGTH:
            return _bad(node, f"expected an offset in bytes, got {kind_of(amount)}")
        if strategy not in strategies:
            return _bad(node, f"unknown strategy of an offset: {abbr(strategy, 40)}")
        return Offset(self.type(node.get("type"), depth), amount, when, strategy)

    # --- options

    def option(self, node: Node, depth: int) -> Type:
        prefix = self.unsigned_or_u8(node, "prefix", depth)
        if not isinstance(prefix, Int):
            return _bad(
                node, "an option's prefix is an unsigned integer of fixed width"
            )
        return Option(
            self.type(node.get("item"), depth), prefix, node.get("fixed") is True
        )

    def zeroable_option(self, node: Node, depth: int) -> Type:
        given = node.get("zeroValue")
        zero = None if given is None else self._constant_part([given])
        return ZeroableOption(self.type(node.get("item"), depth), zero)

    def remainder_option(self, node: Node, depth: int) -> Type:
        return RemainderOption(self.type(node.get("item"), depth))

    # --- lists, maps, tuples, structs

    def count(self, node: Any, depth: int) -> Count:
        """Read a count node. Raises _UnreadablePart."""
        found = object_or_empty(node)
        read = _COUNTS.get(kind_name(found))
        if read is None:
            raise _UnreadablePart(f"expected a count node, got {kind_of(node)}")
        return read(self, found, depth)

    def fixed_count(self, node: Node, depth: int) -> int:
        value = node.get("value")
        if not is_length(value):
            raise _UnreadablePart(f"a count cannot be {abbr(value, 40)}")
        return value

    def prefixed_count(self, node: Node, depth: int) -> Int | ShortU16:
        prefix = self.unsigned(node.get("prefix"), depth)
        if prefix is None:
            raise _UnreadablePart("the prefix of a count is an unsigned integer")
        return prefix

    def array(self, node: Node, depth: int) -> Type:
        count = self.count(node.get("count"), depth)
        return Array(self.type(node.get("item"), depth), count)

    def set(self, node: Node, depth: int) -> Type:
        count = self.count(node.get("count"), depth)
        return Set(self.type(node.get("item"), depth), count)

    def map(self, node: Node, depth: int) -> Type:
        count = self.count(node.get("count"), depth)
        return Map(
            self.type(node.get("key"), depth),
            self.type(node.get("value"), depth),
            count,
        )

    def tuple(self, node: Node, depth: int) -> Type:
        items = node.get("items") or []
        if type(items) is not list:
            return _bad(node, f"expected a list, got {kind_of(items)}")
        return Tuple((*[self.type(item, depth) for item in items],))

    def struct(self, node: Node, depth: int) -> Type:
        return Struct(self.each(node, "fields", lambda f: self.field(f, depth)))

    def field(self, node: Node, depth: int = 0) -> Field:
        """Read a structFieldTypeNode or an instructionArgumentNode."""
        self.count_unread(node)
        default = self.plain_default(node) if "defaultValue" in node else None
        docs = self.docs(node) if "docs" in node else ()
        name = self.name(node)
        node_type = self.inside("type", lambda t: self.type(t, depth), node.get("type"))
        return Field(name, node_type, docs, default)

    def plain_default(self, node: Node) -> Default | None:
        """Read the default value of a field, unless it depends on the call."""
        given = node["defaultValue"]
        if type(given) is not dict or kind_name(given) in CONTEXTUAL:
            return None
        try:
            return Default(
                self.value(given), node.get("defaultValueStrategy") == "omitted"
            )
        except SourceError as error:
            self.note(f"the default value is not read: {error.text}", "defaultValue")
            return None

    # --- enums

    def enum(self, node: Node, depth: int) -> Type:
        tag = self.unsigned_or_u8(node, "size", depth)
        if tag is None:
            return _bad(node, "an enum's size is an unsigned integer")
        return Enum(self.each(node, "variants", lambda v: self.variant(v, depth)), tag)

    def variant(self, node: Node, depth: int) -> Variant:
        key = _PAYLOADS.get(kind_name(node))
        if key is None:
            found = abbr(node.get("kind"), 60)
            raise SourceError(
                f"expected an enum variant node, got {found}.", path="kind"
            )
        payload = None
        if key:
            payload = self.inside(key, lambda t: self.type(t, depth), node.get(key))
        value = self.optional(node, "discriminator", self.whole)
        return Variant(self.name(node), payload, value, self.docs(node))

    # --- names

    def link(self, node: Node, depth: int) -> Type:
        name, program = node.get("name"), node.get("program")
        if type(name) is not str or not name:
            return _bad(node, "a link without a name")
        if program is None:
            return self._own_link(name)
        owner = object_or_empty(program).get("name")
        if type(owner) is not str:
            return _bad(node, f"expected a programLinkNode, got {kind_of(program)}")
        return Link(self.space_of(owner) + self.clean_name(name))

    def _own_link(self, name: str) -> Type:
        """Return the type that *name* means in the program that is being read."""
        key = self.space + name
        found = self._links.get(key)
        if found is None:
            found = self._links[key] = self._defined_or_known(name, key)
        return found

    def _defined_or_known(self, name: str, key: str) -> Type:
        known = None if key in self.defined else known_type(name)
        if known is None:
            return Link(self.space + self.clean_name(name))
        self.note(known_type_note(name, known), level="info")
        return known

    def missing_type(self, item: Node, why: str) -> TypeDef | None:
        found = super().missing_type(item, why)
        return None if found is None else replace(found, name=self.space + found.name)

    def typedef(self, node: Node) -> TypeDef:
        """Read a definedTypeNode."""
        name = self.space + self.name(node)
        body = self.inside("type", self.type, node.get("type"))
        docs = self.docs(node)
        if isinstance(body, (Struct, Tuple)):
            return TypeDef(name, body, docs, shape="struct")
        return TypeDef(
            name, body, docs, shape="enum" if isinstance(body, Enum) else "alias"
        )


#: Kind of enum variant -> the key of its payload, or "".
_PAYLOADS: dict[str, str] = {
    "enumStructVariantTypeNode": "struct",
    "enumTupleVariantTypeNode": "tuple",
    "enumEmptyVariantTypeNode": "",
}

_COUNTS: dict[str, Callable[[CodamaTypeReader, Node, int], Count]] = {
    "remainderCountNode": lambda reader, node, depth: None,
    "fixedCountNode": CodamaTypeReader.fixed_count,
    "prefixedCountNode": CodamaTypeReader.prefixed_count,
}

TYPE_NODES: dict[str, Callable[[CodamaTypeReader, Node, int], Type]] = {
    "numberTypeNode": CodamaTypeReader.number,
    "amountTypeNode": CodamaTypeReader.amount,
    "solAmountTypeNode": CodamaTypeReader.sol_amount,
    "dateTimeTypeNode": CodamaTypeReader.date_time,
    "booleanTypeNode": CodamaTypeReader.boolean,
    "publicKeyTypeNode": CodamaTypeReader.public_key,
    "bytesTypeNode": CodamaTypeReader.bytes,
    "stringTypeNode": CodamaTypeReader.string,
    "fixedSizeTypeNode": CodamaTypeReader.fixed_size,
    "sizePrefixTypeNode": CodamaTypeReader.size_prefix,
    "sentinelTypeNode": CodamaTypeReader.sentinel,
    "hiddenPrefixTypeNode": CodamaTypeReader.hidden_prefix,
    "hiddenSuffixTypeNode": CodamaTypeReader.hidden_suffix,
    "preOffsetTypeNode": CodamaTypeReader.pre_offset,
    "postOffsetTypeNode": CodamaTypeReader.post_offset,
    "optionTypeNode": CodamaTypeReader.option,
    "zeroableOptionTypeNode": CodamaTypeReader.zeroable_option,
    "remainderOptionTypeNode": CodamaTypeReader.remainder_option,
    "arrayTypeNode": CodamaTypeReader.array,
    "setTypeNode": CodamaTypeReader.set,
    "mapTypeNode": CodamaTypeReader.map,
    "tupleTypeNode": CodamaTypeReader.tuple,
    "structTypeNode": CodamaTypeReader.struct,
    "enumTypeNode": CodamaTypeReader.enum,
    "definedTypeLinkNode": CodamaTypeReader.link,
}

"""Codama's type nodes, counts and fields.

To add a type node, add its kind and a method to `TYPE_NODES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from mcpsol_py.sources.codama.nodes import MAX_DEPTH, MAX_LENGTH, Node, kind_name
from mcpsol_py.sources.known_types import known_type, known_type_note
from mcpsol_py.sources.reader import keys, kind_of

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
_STRATEGIES = {
    "preOffsetTypeNode": ("relative", "absolute", "padded"),
    "postOffsetTypeNode": ("relative", "absolute", "padded", "preOffset"),
}
_U8 = Int(8)


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
            return Unsupported(abbr(node, 80), f"expected a type node, got {kind_of(node)}")
        kind = node.get("kind")
        read = TYPE_NODES.get(kind) if type(kind) is str else None
        if read is None:
            return Unsupported(abbr(kind, 80)[1:-1], "Codama 1.x has no type node of this kind")
        if depth > MAX_DEPTH:
            return Unsupported(str(kind), f"types nest deeper than {MAX_DEPTH} levels")
        return read(self, node, depth + 1)

    # --- numbers and other scalars

    def number(self, node: Node, depth: int) -> Type:
        form, endian = node.get("format"), node.get("endian", "le")
        if "display" in node:
            self.ignored["number", "display"] += 1
        known = type(form) is str and type(endian) is str
        found = _NUMBERS.get((form, endian)) if known else None
        if found is None:
            return _bad(
                node, f"unknown number format {abbr(form, 40)} with endian {abbr(endian, 20)}"
            )
        return found

    def unsigned(self, node: Any, depth: int) -> Int | ShortU16 | None:
        """Read a prefix, a tag or a count: a plain unsigned integer, or None for other types."""
        found = self.type(node, depth)
        if isinstance(found, ShortU16) or (isinstance(found, Int) and not found.signed):
            return found
        return None

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
            f"expected the amount's decimals, got {found}; read as a plain number", "decimals"
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
        if type(size) is not int or not 0 <= size <= MAX_LENGTH:
            return _bad(node, f"expected a size in bytes, got {kind_of(size)}")
        return FixedSize(self.type(node.get("type"), depth), size)

    def size_prefix(self, node: Node, depth: int) -> Type:
        prefix = self.unsigned(node.get("prefix"), depth)
        if prefix is None:
            return _bad(node, "a size prefix is an unsigned integer")
        return SizePrefixed(self.type(node.get("type"), depth), prefix)

    def sentinel(self, node: Node, depth: int) -> Type:
        try:
            mark = self.joined_constants([node.get("sentinel")])
        except SourceError as error:
            return _bad(node, error.text)
        if not mark:
            return _bad(node, "the sentinel is empty")
        return Sentinel(self.type(node.get("type"), depth), mark)

    def hidden_prefix(self, node: Node, depth: int) -> Type:
        try:
            data = self.joined_constants(node.get("prefix") or [])
        except SourceError as error:
            return _bad(node, error.text)
        item = self.type(node.get("type"), depth)
        return HiddenPrefix(item, data) if data else item

    def hidden_suffix(self, node: Node, depth: int) -> Type:
        try:
            data = self.joined_constants(node.get("suffix") or [])
        except SourceError as error:
            return _bad(node, error.text)
        item = self.type(node.get("type"), depth)
        return HiddenSuffix(item, data) if data else item

    def offset(self, node: Node, depth: int) -> Type:
        kind, amount, strategy = node["kind"], node.get("offset"), node.get("strategy", "relative")
        if type(amount) is not int or abs(amount) > MAX_LENGTH:
            return _bad(node, f"expected an offset in bytes, got {kind_of(amount)}")
        if strategy not in _STRATEGIES[kind]:
            return _bad(node, f"unknown strategy of an offset: {abbr(strategy, 40)}")
        item = self.type(node.get("type"), depth)
        return Offset(item, amount, "pre" if kind == "preOffsetTypeNode" else "post", strategy)

    # --- options

    def option(self, node: Node, depth: int) -> Type:
        prefix = self.unsigned_or_u8(node, "prefix", depth)
        if not isinstance(prefix, Int):
            return _bad(node, "an option's prefix is an unsigned integer of fixed width")
        return Option(self.type(node.get("item"), depth), prefix, node.get("fixed") is True)

    def zeroable_option(self, node: Node, depth: int) -> Type:
        zero = None
        if node.get("zeroValue") is not None:
            try:
                zero = self.joined_constants([node["zeroValue"]])
            except SourceError as error:
                return _bad(node, error.text)
        return ZeroableOption(self.type(node.get("item"), depth), zero)

    def remainder_option(self, node: Node, depth: int) -> Type:
        return RemainderOption(self.type(node.get("item"), depth))

    # --- lists, maps, tuples, structs

    def count(self, node: Any, depth: int) -> Count:
        """Read a count node. Raises SourceError."""
        kind = node.get("kind") if type(node) is dict else None
        if kind == "remainderCountNode":
            return None
        if kind == "fixedCountNode":
            value = node.get("value")
            if type(value) is int and 0 <= value <= MAX_LENGTH:
                return value
            raise SourceError(f"a count cannot be {abbr(value, 40)}")
        if kind == "prefixedCountNode":
            prefix = self.unsigned(node.get("prefix"), depth)
            if prefix is not None:
                return prefix
            raise SourceError("the prefix of a count is an unsigned integer")
        raise SourceError(f"expected a count node, got {kind_of(node)}")

    def array(self, node: Node, depth: int) -> Type:
        try:
            count = self.count(node.get("count"), depth)
        except SourceError as error:
            return _bad(node, error.text)
        item = self.type(node.get("item"), depth)
        return Array(item, count) if node["kind"] == "arrayTypeNode" else Set(item, count)

    def map(self, node: Node, depth: int) -> Type:
        try:
            count = self.count(node.get("count"), depth)
        except SourceError as error:
            return _bad(node, error.text)
        return Map(self.type(node.get("key"), depth), self.type(node.get("value"), depth), count)

    def tuple(self, node: Node, depth: int) -> Type:
        items = node.get("items") or []
        if type(items) is not list:
            return _bad(node, f"expected a list, got {kind_of(items)}")
        parts = [self.type(item, depth) for item in items]
        return Tuple((*parts,))

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
            return Default(self.value(given), node.get("defaultValueStrategy") == "omitted")
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
        kind, payload = kind_name(node), None
        key = _PAYLOADS.get(kind)
        if key is not None:
            payload = self.inside(key, lambda t: self.type(t, depth), node.get(key))
        elif kind != "enumEmptyVariantTypeNode":
            found = abbr(node.get("kind"), 60)
            raise SourceError(f"expected an enum variant node, got {found}.", path="kind")
        value = self.whole(node, "discriminator") if node.get("discriminator") is not None else None
        return Variant(self.name(node), payload, value, self.docs(node))

    # --- names

    def link(self, node: Node, depth: int) -> Type:
        name, program, space = node.get("name"), node.get("program"), self.space
        if type(name) is not str or not name:
            return _bad(node, "a link without a name")
        if program is not None:
            if type(program) is not dict or type(program.get("name")) is not str:
                return _bad(node, f"expected a programLinkNode, got {kind_of(program)}")
            space = self.space_of(program["name"])
        key = space + name
        found = self._links.get(key)
        if found is None:
            known = None if program is not None or key in self.defined else known_type(name)
            if known is not None:
                self.note(known_type_note(name, known), level="info")
            found = self._links[key] = known or Link(space + self.clean_name(name))
        return found

    def typedef(self, node: Node) -> TypeDef:
        """Read a definedTypeNode."""
        name = self.space + self.name(node)
        body = self.inside("type", self.type, node.get("type"))
        docs = self.docs(node)
        if isinstance(body, (Struct, Tuple)):
            return TypeDef(name, body, docs, shape="struct")
        return TypeDef(name, body, docs, shape="enum" if isinstance(body, Enum) else "alias")


#: Kind of enum variant -> the key of its payload.
_PAYLOADS: dict[str, str] = {
    "enumStructVariantTypeNode": "struct",
    "enumTupleVariantTypeNode": "tuple",
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
    "preOffsetTypeNode": CodamaTypeReader.offset,
    "postOffsetTypeNode": CodamaTypeReader.offset,
    "optionTypeNode": CodamaTypeReader.option,
    "zeroableOptionTypeNode": CodamaTypeReader.zeroable_option,
    "remainderOptionTypeNode": CodamaTypeReader.remainder_option,
    "arrayTypeNode": CodamaTypeReader.array,
    "setTypeNode": CodamaTypeReader.array,
    "mapTypeNode": CodamaTypeReader.map,
    "tupleTypeNode": CodamaTypeReader.tuple,
    "structTypeNode": CodamaTypeReader.struct,
    "enumTypeNode": CodamaTypeReader.enum,
    "definedTypeLinkNode": CodamaTypeReader.link,
}

"""Types as text for messages and descriptions, close to how Rust writes them: "Option<[u8; 32]>"."""

from __future__ import annotations

from mcpsol_py.items import names_of
from mcpsol_py.model import types
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    U8,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    FixedSize,
    Float,
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
    TypeArg,
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import TypeVisitor

__all__ = ["type_text"]


def type_text(node: Type) -> str:
    """Return the type as a Rust developer would write it: "Option<[u8; 32]>"."""
    return _TYPE_TEXT.visit(node)


class _TypeText(TypeVisitor[[], str]):
    def visit_int(self, node: Int) -> str:
        return f"{node.letter}{node.bits}{_endian(node)}"

    def visit_short_u16(self, node: ShortU16) -> str:
        return "shortU16"

    def visit_float(self, node: Float) -> str:
        return f"f{node.bits}{_endian(node)}"

    def visit_bool(self, node: Bool) -> str:
        if node.size == U8:
            return "bool"
        return f"bool({type_text(node.size)})"

    def visit_pubkey(self, node: Pubkey) -> str:
        return "pubkey"

    def visit_string(self, node: String) -> str:
        if node.encoding == "utf8":
            return "str"
        return f"str({node.encoding})"

    def visit_bytes(self, node: Bytes) -> str:
        return "[u8]"

    def visit_size_prefixed(self, node: SizePrefixed) -> str:
        if node == BORSH_STRING:
            return "string"
        if node == BORSH_BYTES:
            return "bytes"
        return f"Sized<{type_text(node.item)}, {type_text(node.prefix)}>"

    def visit_fixed_size(self, node: FixedSize) -> str:
        return f"Fixed<{type_text(node.item)}, {node.size}>"

    def visit_sentinel(self, node: Sentinel) -> str:
        return f"Until<{type_text(node.item)}, 0x{node.mark.hex()}>"

    def item_alone(self, node: HiddenPrefix | HiddenSuffix | Offset) -> str:
        return type_text(node.item)

    visit_hidden_prefix = visit_hidden_suffix = visit_offset = item_alone

    def visit_option(self, node: Option) -> str:
        name = "COption" if node.fixed else "Option"
        return f"{name}<{type_text(node.item)}>"

    def visit_zeroable_option(self, node: ZeroableOption) -> str:
        return f"ZeroableOption<{type_text(node.item)}>"

    def visit_remainder_option(self, node: RemainderOption) -> str:
        return f"RemainderOption<{type_text(node.item)}>"

    def visit_generic(self, node: types.Generic) -> str:
        return node.name

    def visit_array(self, node: Array) -> str:
        item = type_text(node.item)
        match node.count:
            case int(count) | types.Generic(count):
                return f"[{item}; {count}]"
            case None:
                return f"[{item}]"
        return f"Vec<{item}>"

    def visit_set(self, node: Set) -> str:
        return f"Set<{type_text(node.item)}>"

    def visit_map(self, node: Map) -> str:
        return f"Map<{type_text(node.key)}, {type_text(node.value)}>"

    def visit_tuple(self, node: Tuple) -> str:
        return "(" + ", ".join(map(type_text, node.items)) + ")"

    def visit_struct(self, node: Struct) -> str:
        return (
            "{" + ", ".join(f"{f.name}: {type_text(f.type)}" for f in node.fields) + "}"
        )

    def visit_enum(self, node: Enum) -> str:
        return "enum " + " | ".join(names_of(node.variants))

    def visit_link(self, node: Link) -> str:
        if not node.args:
            return node.name
        return f"{node.name}<{', '.join(map(_argument_text, node.args))}>"

    def number_alone(self, node: Amount | DateTime) -> str:
        return type_text(node.number)

    visit_amount = visit_date_time = number_alone

    def visit_unsupported(self, node: Unsupported) -> str:
        return node.text


def _endian(number: Int | Float) -> str:
    return "be" if number.big_endian else ""


def _argument_text(arg: TypeArg) -> str:
    if isinstance(arg.value, int):
        return str(arg.value)
    return type_text(arg.value)


_TYPE_TEXT = _TypeText()

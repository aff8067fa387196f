"""Rust statements that write values of model types to `w`, the Output of codec.rs."""

from __future__ import annotations

from mcpsol_py.model import types
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
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
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import TypeVisitor
from mcpsol_py.render.type_traits import (
    MOST_ON_STACK,
    CannotRender,
    Definition,
    Definitions,
    byte_order,
    check_offset,
    is_fixed_bytes,
    length_method,
    slice_text,
    zero_value,
)
from mcpsol_py.render.type_views import Value

__all__ = ["WriteCode"]


class WriteCode(TypeVisitor[[Value, str], list[str]]):
    """Statements for each kind of type. The arguments are the value and the hint for types written in place."""

    def __init__(self, types: Definitions) -> None:
        self.types = types

    def line(self, node: Type, value: Value, hint: str) -> str:
        """The statements on one line, for a block."""
        return " ".join(self.visit(node, value, hint))

    # --- scalars ------------------------------------------------------------------------------------------------------

    def visit_int(self, node: Int, v: Value, hint: str) -> list[str]:
        if node.bits == 256:
            return [f"w.put({v.text}.as_slice())?;"]
        return self.to_bytes(node, v, hint)

    def to_bytes(self, node: Int | Float, v: Value, hint: str) -> list[str]:
        return [f"w.put(&{v.text}.to_{byte_order(node)}_bytes())?;"]

    visit_float = to_bytes

    def number(self, node: Amount | DateTime, v: Value, hint: str) -> list[str]:
        return self.visit(node.number, v, hint)

    visit_amount = visit_date_time = number

    def visit_short_u16(self, node: ShortU16, v: Value, hint: str) -> list[str]:
        return [f"w.short_u16(usize::from({v.value}))?;"]

    def visit_bool(self, node: Bool, v: Value, hint: str) -> list[str]:
        return [f"w.length::<{node.size.bits // 8}>(usize::from({v.value}))?;"]

    def visit_pubkey(self, node: Pubkey, v: Value, hint: str) -> list[str]:
        return [f"w.put({v.text}.as_array().as_slice())?;"]

    def visit_string(self, node: String, v: Value, hint: str) -> list[str]:
        return [f"w.put({v.text}{'.as_bytes()' if node.encoding == 'utf8' else ''})?;"]

    def visit_bytes(self, node: Bytes, v: Value, hint: str) -> list[str]:
        return [f"w.put({v.text})?;"]

    # --- wrappers -----------------------------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed, v: Value, hint: str) -> list[str]:
        if isinstance(node.item, (String, Bytes)):
            return [
                _put_length(node.prefix, f"{v.text}.len()"),
                *self.visit(node.item, v, hint),
            ]
        put = f"{_put_length(node.prefix, 'part.len()')} w.put(&part)?;"
        return self.apart(node.item, v, hint, put)

    def visit_fixed_size(self, node: FixedSize, v: Value, hint: str) -> list[str]:
        if is_fixed_bytes(node):
            return [f"w.put({v.text}.as_slice())?;"]
        if isinstance(node.item, String):
            return [f"w.padded({v.text}.as_bytes(), {node.size})?;"]
        return self.apart(node.item, v, hint, f"w.padded(&part, {node.size})?;")

    def apart(self, item: Type, v: Value, hint: str, put: str) -> list[str]:
        """Writes *item* to a Vec `part` first, then runs *put*."""
        inner = self.line(item, v, hint)
        return [
            f"{{ let mut part = Vec::new(); {{ let w = &mut part; {inner} }} {put} }}"
        ]

    def visit_sentinel(self, node: Sentinel, v: Value, hint: str) -> list[str]:
        return [*self.visit(node.item, v, hint), f"w.put({slice_text(node.mark)})?;"]

    def visit_hidden_prefix(self, node: HiddenPrefix, v: Value, hint: str) -> list[str]:
        return [f"w.put({slice_text(node.data)})?;", *self.visit(node.item, v, hint)]

    def visit_hidden_suffix(self, node: HiddenSuffix, v: Value, hint: str) -> list[str]:
        return [*self.visit(node.item, v, hint), f"w.put({slice_text(node.data)})?;"]

    def visit_offset(self, node: Offset, v: Value, hint: str) -> list[str]:
        check_offset(node)
        zeros, item = f"w.zeros({node.amount})?;", self.visit(node.item, v, hint)
        return [zeros, *item] if node.when == "pre" else [*item, zeros]

    # --- optional types -----------------------------------------------------------------------------------------------

    def visit_option(self, node: Option, v: Value, hint: str) -> list[str]:
        width = node.prefix.bits // 8
        some = f"w.length::<{width}>(1)?; {self.some(node, hint)}"
        none = f"w.length::<{width}>(0)?;"
        if node.fixed:
            none += f" w.zeros({self.types.exact_size(node.item)})?;"
        return [f"match {v.ref} {{ Some(value) => {{ {some} }} None => {{ {none} }} }}"]

    def visit_zeroable_option(
        self, node: ZeroableOption, v: Value, hint: str
    ) -> list[str]:
        some = self.some(node, hint)
        none = f"w.put({zero_value(self.types, node)})?"
        return [f"match {v.ref} {{ Some(value) => {{ {some} }} None => {none}, }}"]

    def visit_remainder_option(
        self, node: RemainderOption, v: Value, hint: str
    ) -> list[str]:
        return [f"if let Some(value) = {v.ref} {{ {self.some(node, hint)} }}"]

    def some(self, node: Option | ZeroableOption | RemainderOption, hint: str) -> str:
        """Writes the `value` of an option that has one."""
        return self.line(node.item, Value("value", is_ref=True), hint)

    # --- lists and products -------------------------------------------------------------------------------------------

    def visit_array(self, node: Array | Set, v: Value, hint: str) -> list[str]:
        if node.item == U8:
            return _put_bytes(node.count, v)
        each = self.line(node.item, Value("item", is_ref=True), hint)
        return _put_list(node.count, v, "item", each)

    visit_set = visit_array

    def visit_map(self, node: Map, v: Value, hint: str) -> list[str]:
        key = self.visit(node.key, Value("key", is_ref=True), hint + " key")
        value = self.visit(node.value, Value("value", is_ref=True), hint)
        return _put_list(node.count, v, "(key, value)", " ".join([*key, *value]))

    def visit_tuple(self, node: Tuple, v: Value, hint: str) -> list[str]:
        out: list[str] = []
        for i, item in enumerate(node.items):
            out += self.visit(item, Value(f"{v.text}.{i}", is_ref=False), f"{hint} {i}")
        return out

    def visit_struct(self, node: Struct | Enum, v: Value, hint: str) -> list[str]:
        self.types.inline(node, hint)
        return [f"{v.text}.encode(w)?;"]

    visit_enum = visit_struct

    def visit_link(self, node: Link, v: Value, hint: str) -> list[str]:
        found = self.types.named(node)
        if isinstance(found, Definition):
            return [f"{v.text}.encode(w)?;"]
        return self.visit(found, v, hint)

    def nothing(
        self, node: types.Generic | Unsupported, v: Value, hint: str
    ) -> list[str]:
        raise CannotRender(f"the type {type_text(node)} has no Rust form")

    visit_generic = visit_unsupported = nothing


def _put_length(prefix: Int | ShortU16, length: str) -> str:
    if isinstance(prefix, ShortU16):
        return f"w.short_u16({length})?;"
    return f"w.{length_method(prefix)}({length})?;"


def _put_bytes(count: types.Count, v: Value) -> list[str]:
    """Writes a list of bytes."""
    if isinstance(count, int):
        return [f"w.put({v.text}.as_slice())?;"]
    if count is None:
        return [f"w.put({v.text})?;"]
    assert not isinstance(count, types.Generic)
    return [_put_length(count, f"{v.text}.len()"), f"w.put({v.text})?;"]


def _put_list(count: types.Count, v: Value, pattern: str, each: str) -> list[str]:
    """Writes the items of a list: *each* writes one, bound to *pattern*."""
    loop = f"for {pattern} in {v.text}.iter() {{ {each} }}"
    if count is None or (isinstance(count, int) and count <= MOST_ON_STACK):
        return [loop]
    if isinstance(count, int):
        return [f"w.exactly({v.text}.len(), {count})?;", loop]
    if isinstance(count, types.Generic):
        raise CannotRender("the length of a list is not known")
    return [_put_length(count, f"{v.text}.len()"), loop]

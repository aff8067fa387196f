"""Rust expressions that read values of model types from `r`, the Reader of codec.rs."""

from __future__ import annotations

import re

from mcpsol_py.model import types
from mcpsol_py.model.sizes import least_size
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
    tuple_text,
    zero_value,
)

__all__ = ["ReadCode"]


class ReadCode(TypeVisitor[[str], str]):
    """An expression for each kind of type. The argument is the hint for types that the source wrote in place."""

    def __init__(self, types: Definitions) -> None:
        self.types = types

    def result(self, node: Type, hint: str) -> str:
        """The expression as a Result: without its `?`, or in Ok."""
        text = self.visit(node, hint)
        return text[:-1] if _is_one_call(text) else f"Ok({text})"

    def closure(self, node: Type, hint: str) -> str:
        """A function that reads a value from the Reader that it is given."""
        text = self.result(node, hint)
        if re.fullmatch(r"\w+::decode\(r\)", text):
            return text.removesuffix("(r)")
        return f"|r| {text}"

    # --- scalars ------------------------------------------------------------------------------------------------------

    def visit_int(self, node: Int, hint: str) -> str:
        if node.bits == 8 and not node.signed:
            return "r.byte()?"
        if node.bits == 256:
            return "*r.array()?"
        return self.from_bytes(node, hint)

    def from_bytes(self, node: Int | Float, hint: str) -> str:
        return f"{self.types.type(node)}::from_{byte_order(node)}_bytes(*r.array()?)"

    visit_float = from_bytes

    def number(self, node: Amount | DateTime, hint: str) -> str:
        return self.visit(node.number, hint)

    visit_amount = visit_date_time = number

    def visit_short_u16(self, node: ShortU16, hint: str) -> str:
        return "r.short_u16()?"

    def visit_bool(self, node: Bool, hint: str) -> str:
        return f"r.flag::<{node.size.bits // 8}>()?"

    def visit_pubkey(self, node: Pubkey, hint: str) -> str:
        return "Address::new_from_array(*r.array()?)"

    def visit_string(self, node: String, hint: str) -> str:
        return "r.text_rest()?" if node.encoding == "utf8" else "r.rest()"

    def visit_bytes(self, node: Bytes, hint: str) -> str:
        return "r.rest()"

    # --- wrappers -----------------------------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed, hint: str) -> str:
        length = f"let length = {_length(node.prefix)};"
        if not isinstance(node.item, (String, Bytes)):
            return f"{{ {length} r.within(length, {self.closure(node.item, hint)})? }}"
        is_text = node.item == String("utf8")
        return f"{{ {length} r.{'text' if is_text else 'take'}(length)? }}"

    def visit_fixed_size(self, node: FixedSize, hint: str) -> str:
        if is_fixed_bytes(node):
            return "r.array()?"
        if isinstance(node.item, String):
            return f"r.padded_text({node.size})?"
        return f"r.padded({node.size}, {self.closure(node.item, hint)})?"

    def visit_sentinel(self, node: Sentinel, hint: str) -> str:
        return f"r.until({slice_text(node.mark)}, {self.closure(node.item, hint)})?"

    def visit_hidden_prefix(self, node: HiddenPrefix, hint: str) -> str:
        return (
            f"{{ r.expect({slice_text(node.data)})?; {self.visit(node.item, hint)} }}"
        )

    def visit_hidden_suffix(self, node: HiddenSuffix, hint: str) -> str:
        return self.then(node.item, hint, f"r.expect({slice_text(node.data)})?;")

    def visit_offset(self, node: Offset, hint: str) -> str:
        check_offset(node)
        skip = f"r.take({node.amount})?;"
        if node.when == "pre":
            return f"{{ {skip} {self.visit(node.item, hint)} }}"
        return self.then(node.item, hint, skip)

    def then(self, item: Type, hint: str, statement: str) -> str:
        """Reads *item*, then runs a statement."""
        return f"{{ let value = {self.visit(item, hint)}; {statement} value }}"

    # --- optional types -----------------------------------------------------------------------------------------------

    def visit_option(self, node: Option, hint: str) -> str:
        flag = f"r.flag::<{node.prefix.bits // 8}>()?"
        skip = f"r.take({self.types.exact_size(node.item)})?; " if node.fixed else ""
        return (
            f"if {flag} {{ Some({self.visit(node.item, hint)}) }} else {{ {skip}None }}"
        )

    def visit_zeroable_option(self, node: ZeroableOption, hint: str) -> str:
        zero, some = zero_value(self.types, node), self.visit(node.item, hint)
        return f"if r.skip_if({zero}) {{ None }} else {{ Some({some}) }}"

    def visit_remainder_option(self, node: RemainderOption, hint: str) -> str:
        return (
            f"if r.is_empty() {{ None }} else {{ Some({self.visit(node.item, hint)}) }}"
        )

    # --- lists and products -------------------------------------------------------------------------------------------

    def visit_array(self, node: Array | Set, hint: str) -> str:
        if node.item == U8:
            return _bytes(node.count)
        return self.list_of(node.count, self.closure(node.item, hint), node.item)

    visit_set = visit_array

    def visit_map(self, node: Map, hint: str) -> str:
        key, value = self.visit(node.key, hint + " key"), self.visit(node.value, hint)
        return self.list_of(
            node.count, f"|r| Ok(({key}, {value}))", Tuple((node.key, node.value))
        )

    def list_of(self, count: types.Count, item: str, node: Type) -> str:
        """Reads a list. *item* is a function that reads one item, *node* the item's type."""
        least = least_size(self.types.resolver, node)
        if count is None:
            return f"r.list_rest({item})?"
        if isinstance(count, int):
            if count <= MOST_ON_STACK:
                return f"r.items({item})?"
            return f"r.list({count}, {least}, {item})?"
        if isinstance(count, types.Generic):
            raise CannotRender("the length of a list is not known")
        return f"{{ let count = {_length(count)}; r.list(count, {least}, {item})? }}"

    def visit_tuple(self, node: Tuple, hint: str) -> str:
        return tuple_text(
            [self.visit(t, f"{hint} {i}") for i, t in enumerate(node.items)]
        )

    def visit_struct(self, node: Struct | Enum, hint: str) -> str:
        return f"{self.types.inline(node, hint).name}::decode(r)?"

    visit_enum = visit_struct

    def visit_link(self, node: Link, hint: str) -> str:
        found = self.types.named(node)
        if not isinstance(found, Definition):
            return self.visit(found, hint)
        text = f"{found.name}::decode(r)?"
        return f"Box::new({text})" if found.view is None else text

    def nothing(self, node: types.Generic | Unsupported, hint: str) -> str:
        raise CannotRender(f"the type {type_text(node)} has no Rust form")

    visit_generic = visit_unsupported = nothing


def _length(prefix: Int | ShortU16) -> str:
    if isinstance(prefix, ShortU16):
        return "usize::from(r.short_u16()?)"
    return f"r.{length_method(prefix)}()?"


def _bytes(count: types.Count) -> str:
    """Reads a list of bytes."""
    if isinstance(count, int):
        return "r.array()?"
    if count is None:
        return "r.rest()"
    assert not isinstance(count, types.Generic)
    return f"{{ let length = {_length(count)}; r.take(length)? }}"


def _is_one_call(text: str) -> bool:
    """Is *text* one call that ends in `?`: `r.method(…)?` or `Type::decode(…)?`"""
    if not text.endswith(")?") or not re.match(r"r\.|[A-Z]\w*::decode\(", text):
        return False
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0:
            return i == len(text) - 2
    return False

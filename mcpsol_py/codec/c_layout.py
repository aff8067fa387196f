"""Lowers C layouts: makes the padding of repr(C) types explicit, so that codecs see packed types only.

Padding becomes `Offset(..., "padded")` nodes, and links are replaced by the types that they name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from mcpsol_py.errors import NotUsable
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

if TYPE_CHECKING:
    from mcpsol_py.codec.layout import Layouts

__all__ = ["LaidOut", "Lowering"]

#: rustc aligns u128 for the SVM as u64 (its data layout names no i128), unlike x86-64 since Rust
#: 1.77. Pod types have no padding, so there both give the same bytes.
_MAX_INT_ALIGN = 8


class LaidOut(NamedTuple):
    """A type with explicit padding, its size and its alignment in bytes."""

    node: Type
    size: int
    align: int


Opaque: TypeAlias = HiddenPrefix | HiddenSuffix | Offset | ZeroableOption | FixedSize
Unplaced: TypeAlias = (
    ShortU16
    | String
    | Bytes
    | SizePrefixed
    | Sentinel
    | RemainderOption
    | Set
    | Map
    | Generic
    | Unsupported
)


class Lowering(TypeVisitor[[str], LaidOut]):
    """Lowers a type: `visit(node, layout)`, for a type inside one of *layout* ("c" or "packed").

    Raises NotUsable for a type that has no fixed place in memory.
    """

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def visit_int(self, node: Int, layout: str) -> LaidOut:
        return LaidOut(node, node.bits // 8, _int_align(node))

    def visit_float(self, node: Float, layout: str) -> LaidOut:
        return LaidOut(node, node.bits // 8, node.bits // 8)

    def visit_bool(self, node: Bool, layout: str) -> LaidOut:
        size = node.size.bits // 8
        return LaidOut(node, size, size)

    def visit_pubkey(self, node: Pubkey, layout: str) -> LaidOut:
        return LaidOut(node, 32, 1)

    def visit_amount(self, node: Amount, layout: str) -> LaidOut:
        return LaidOut(node, node.number.bits // 8, _int_align(node.number))

    def visit_date_time(self, node: DateTime, layout: str) -> LaidOut:
        return LaidOut(node, node.number.bits // 8, _int_align(node.number))

    def visit_array(self, node: Array, layout: str) -> LaidOut:
        if not isinstance(node.count, int):
            self._refuse(node, layout)
        item, size, align = self.visit(node.item, layout)
        return LaidOut(Array(item, node.count), size * node.count, align)

    def visit_tuple(self, node: Tuple, layout: str) -> LaidOut:
        parts, size, align = self._members(node.items, layout)
        return LaidOut(Tuple(parts), size, align)

    def visit_struct(self, node: Struct, layout: str) -> LaidOut:
        parts, size, align = self._members(tuple(f.type for f in node.fields), layout)
        fields = zip(node.fields, parts, strict=True)
        return LaidOut(
            Struct(tuple(replace(f, type=part) for f, part in fields)), size, align
        )

    def _members(
        self, items: tuple[Type, ...], layout: str
    ) -> tuple[tuple[Type, ...], int, int]:
        """Lower *items* one after another. Returns them, and their size and alignment together."""
        parts: list[Type] = []
        end, whole_align = 0, 1
        for item in items:
            part = self.visit(item, layout)
            align = _align_in(layout, part.align)
            start = _round_up(end, align)
            parts.append(_pad(part.node, before=start - end))
            end = start + part.size
            whole_align = max(whole_align, align)
        total = _round_up(end, whole_align)
        if parts:
            parts[-1] = _pad(parts[-1], after=total - end)
        return tuple(parts), total, whole_align

    def visit_enum(self, node: Enum, layout: str) -> LaidOut:
        """Lower to a tag and a union (repr(C, u8) and the like).

        Every variant takes the room of the largest.
        """
        if not isinstance(node.tag, Int):
            self._refuse(node, layout)
        tag_size = node.tag.bits // 8
        align = _align_in(layout, _int_align(node.tag))
        payloads = {
            index: self.visit(variant.payload, layout)
            for index, variant in enumerate(node.variants)
            if variant.payload is not None
        }
        if not payloads:
            return LaidOut(node, tag_size, align)
        union_align = _align_in(
            layout, max(payload.align for payload in payloads.values())
        )
        align = max(align, union_align)
        start = _round_up(tag_size, union_align)
        total = _round_up(
            start + max(payload.size for payload in payloads.values()), align
        )
        variants = list(node.variants)
        for index, payload in payloads.items():
            padded = _pad(payload.node, before=start - tag_size)
            variants[index] = replace(variants[index], payload=padded)
        return LaidOut(FixedSize(Enum(tuple(variants), node.tag), total), total, align)

    def visit_option(self, node: Option, layout: str) -> LaidOut:
        if not node.fixed:
            self._refuse(node, layout)
        item, size, align = self.visit(node.item, layout)
        tag_size = node.prefix.bits // 8
        align = _align_in(layout, max(align, _int_align(node.prefix)))
        start = _round_up(tag_size, align)
        total = _round_up(start + size, align)
        padded = _pad(item, before=start - tag_size, after=total - start - size)
        return LaidOut(Option(padded, node.prefix, True), total, align)

    def visit_link(self, node: Link, layout: str) -> LaidOut:
        definition, body = self.layouts.resolver.expand(node)
        own = definition.layout in ("c", "packed")
        lowered, size, align = self.visit(body, definition.layout if own else layout)
        if definition.layout == "packed":
            align = 1
        align = max(align, definition.align or 1)
        total = _round_up(size, align)
        return LaidOut(_pad(lowered, after=total - size), total, align)

    def _lower_opaque(self, node: Opaque, layout: str) -> LaidOut:
        size = self.layouts.fixed_size(node)
        if size is None:
            self._refuse(node, layout)
        return LaidOut(node, size, 1)

    visit_hidden_prefix = visit_hidden_suffix = visit_offset = _lower_opaque
    visit_zeroable_option = visit_fixed_size = _lower_opaque

    def _refuse(self, node: Type, layout: str) -> NoReturn:
        why = f"it has no fixed place in memory, which layout {layout!r} needs"
        raise NotUsable("type", type_text(node), why)

    def _refuse_kind(self, node: Unplaced, layout: str) -> LaidOut:
        self._refuse(node, layout)

    visit_short_u16 = visit_string = visit_bytes = visit_size_prefixed = _refuse_kind
    visit_sentinel = visit_remainder_option = visit_set = visit_map = _refuse_kind
    visit_generic = visit_unsupported = _refuse_kind


def _int_align(node: Int) -> int:
    return min(node.bits // 8, _MAX_INT_ALIGN)


def _align_in(layout: str, align: int) -> int:
    """Return the alignment of a part inside a type of *layout*."""
    return 1 if layout == "packed" else align


def _pad(node: Type, before: int = 0, after: int = 0) -> Type:
    if before:
        node = Offset(node, before, "pre", "padded")
    if after:
        node = Offset(node, after, "post", "padded")
    return node


def _round_up(at: int, align: int) -> int:
    return -(-at // align) * align

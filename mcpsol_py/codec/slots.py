"""Counts the fixed-width numbers in a type, which decides how compiled code handles it."""

from __future__ import annotations

from collections.abc import Iterable

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.model.types import (
    Array,
    Enum,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Struct,
    Type,
    Unsupported,
    is_bytes,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
)

__all__ = ["INLINE_SLOTS", "SlotCounter"]

#: Fixed arrays of up to this many numbers are unrolled; longer ones become loops.
INLINE_SLOTS = 32


class SlotCounter(GroupVisitor[[], "int | None"]):
    """Counts the numbers of a `struct` format for a type: `visit(node)`.

    The answer is None for a type that is not a run of fixed widths, or is too long to unroll. A type without numbers
    counts as one: its code takes room too, and an IDL can nest any number of empty types.
    """

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def visit_scalar(self, node: ScalarType) -> int | None:
        return 1

    def _none(
        self,
        node: ScalarType | WrapperType | OptionalType | Map | Generic | Unsupported,
    ) -> int | None:
        return None

    visit_short_u16 = visit_string = visit_bytes = visit_wrapper = visit_optional = (
        _none
    )
    visit_map = visit_generic = visit_unsupported = _none

    def visit_hidden_prefix(self, node: HiddenPrefix) -> int | None:
        return _add_one(self.visit(node.item))

    def visit_hidden_suffix(self, node: HiddenSuffix) -> int | None:
        return _add_one(self.visit(node.item))

    def visit_offset(self, node: Offset) -> int | None:
        return self.visit(node.item) if node.is_padding else None

    def visit_list(self, node: ListType) -> int | None:
        if not isinstance(node, Array) or not isinstance(node.count, int):
            return None
        if is_bytes(node):
            return 1
        each = self.visit(node.item)
        if each is None or each * node.count > INLINE_SLOTS:
            return None
        return max(each * node.count, 1)

    def visit_product(self, node: ProductType) -> int | None:
        if not isinstance(node, Struct):
            return self._total(node.items)
        if any(field.is_constant for field in node.fields):
            return None
        return self._total(field.type for field in node.fields)

    def _total(self, nodes: Iterable[Type]) -> int | None:
        total = 0
        for node in nodes:
            slots = self.visit(node)
            if slots is None:
                return None
            total += slots
        return max(total, 1)

    def visit_enum(self, node: Enum) -> int | None:
        return 1 if isinstance(node.tag, Int) and has_only_names(node) else None

    def visit_link(self, node: Link) -> int | None:
        body = self.layouts.expand(node)
        slots = None if isinstance(body, Link) else self.visit(body)
        return slots if slots is not None and slots <= 2 * INLINE_SLOTS else None


def has_only_names(node: Enum) -> bool:
    """Return whether *node* has variants, and none of them has a payload."""
    return 0 < len(node.variants) == len(node.units)


def _add_one(slots: int | None) -> int | None:
    return None if slots is None else slots + 1

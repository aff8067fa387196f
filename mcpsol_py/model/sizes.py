"""Sizes: how many bytes the values of a type take.

`fixed_size` is exact, and None if values differ in length. `least_size` is the fewest bytes that any value takes, which
bounds how many items a counted list can hold. The padding of C layouts is in nodes of its own (codec/layout.py).
"""

from __future__ import annotations

from contextlib import suppress

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model import types
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    Amount,
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
    ShortU16,
    SizePrefixed,
    String,
    Type,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.model.visit import (
    ListType,
    ProductType,
    TypeVisitor,
    children,
)

__all__ = ["fixed_size", "least_size"]

#: Deeper than any real type nests; deeper types get no answer.
_DEEPEST = 128


def fixed_size(resolver: Resolver, node: Type) -> int | None:
    """Return the bytes that every value of *node* takes, or None if values differ or the type cannot be used."""
    return _FixedSizes(resolver).size(node, 0)


def least_size(resolver: Resolver, node: Type) -> int:
    """Return the fewest bytes that a value of *node* takes; never too many, so that it can bound a count by the bytes
    left.
    """
    return max(0, _LeastSizes(resolver).size(node, 0))


class _FixedSizes(TypeVisitor[[int], int | None]):
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def size(self, node: Type, depth: int) -> int | None:
        if depth > _DEEPEST:
            return None
        return self.visit(node, depth)

    def sum_of(self, nodes: tuple[Type, ...], depth: int) -> int | None:
        total = 0
        for node in nodes:
            size = self.size(node, depth + 1)
            if size is None:
                return None
            total += size
        return total

    def varies(
        self,
        node: ShortU16
        | String
        | Bytes
        | SizePrefixed
        | Sentinel
        | RemainderOption
        | types.Generic
        | Unsupported,
        depth: int,
    ) -> int | None:
        return None

    visit_short_u16 = visit_string = visit_bytes = visit_size_prefixed = (
        visit_sentinel
    ) = varies
    visit_remainder_option = visit_generic = visit_unsupported = varies

    def number(self, node: Int | Float, depth: int) -> int | None:
        return node.bits // 8

    visit_int = visit_float = number

    def visit_bool(self, node: Bool, depth: int) -> int | None:
        return node.size.bits // 8

    def named_number(self, node: Amount | DateTime, depth: int) -> int | None:
        return node.number.bits // 8

    visit_amount = visit_date_time = named_number

    def visit_pubkey(self, node: Pubkey, depth: int) -> int | None:
        return 32

    def visit_fixed_size(self, node: FixedSize, depth: int) -> int | None:
        return node.size

    def with_hidden_bytes(
        self, node: HiddenPrefix | HiddenSuffix, depth: int
    ) -> int | None:
        return _plus(self.size(node.item, depth + 1), len(node.data))

    visit_hidden_prefix = visit_hidden_suffix = with_hidden_bytes

    def visit_offset(self, node: Offset, depth: int) -> int | None:
        if not node.is_padding:
            return None
        return _plus(self.size(node.item, depth + 1), node.amount)

    def visit_option(self, node: Option, depth: int) -> int | None:
        if not node.fixed:
            return None
        return _plus(self.size(node.item, depth + 1), node.prefix.bits // 8)

    def visit_zeroable_option(self, node: ZeroableOption, depth: int) -> int | None:
        item = self.size(node.item, depth + 1)
        if node.zero is None or len(node.zero) == item:
            return item
        return None

    def counted(self, node: ListType | Map, depth: int) -> int | None:
        if not isinstance(node.count, int):
            return None
        if node.count == 0:
            return 0
        one = self.sum_of(children(node), depth)
        if one is None:
            return None
        return one * node.count

    visit_array = visit_set = visit_map = counted

    def members(self, node: ProductType, depth: int) -> int | None:
        return self.sum_of(children(node), depth)

    visit_tuple = visit_struct = members

    def visit_enum(self, node: Enum, depth: int) -> int | None:
        if not isinstance(node.tag, Int):
            return None
        sizes = {self.payload(variant, depth) for variant in node.variants}
        if len(sizes) != 1:
            return None
        return _plus(sizes.pop(), node.tag.bits // 8)

    def payload(self, variant: Variant, depth: int) -> int | None:
        if variant.payload is None:
            return 0
        return self.size(variant.payload, depth + 1)

    def visit_link(self, node: Link, depth: int) -> int | None:
        known = self.resolver.fixed_sizes
        if node not in known:
            # Until the size is known: a type that contains itself has no fixed size.
            known[node] = None
            with suppress(UnresolvedName):
                known[node] = self.size(self.resolver.expand(node)[1], depth + 1)
        return known[node]


class _LeastSizes(TypeVisitor[[int], int]):
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.fixed = _FixedSizes(resolver)

    def size(self, node: Type, depth: int) -> int:
        if depth > _DEEPEST:
            return 0
        return self.visit(node, depth)

    def sum_of(self, nodes: tuple[Type, ...], depth: int) -> int:
        return sum(self.size(node, depth + 1) for node in nodes)

    def fixed_or_nothing(
        self,
        node: Int
        | Float
        | Bool
        | Pubkey
        | Amount
        | DateTime
        | FixedSize
        | String
        | Bytes
        | RemainderOption
        | types.Generic
        | Unsupported,
        depth: int,
    ) -> int:
        return self.fixed.size(node, depth) or 0

    visit_int = visit_float = visit_bool = visit_pubkey = fixed_or_nothing
    visit_amount = visit_date_time = visit_fixed_size = fixed_or_nothing
    visit_string = visit_bytes = visit_remainder_option = fixed_or_nothing
    visit_generic = visit_unsupported = fixed_or_nothing

    def visit_short_u16(self, node: ShortU16, depth: int) -> int:
        return 1

    def visit_size_prefixed(self, node: SizePrefixed, depth: int) -> int:
        return self.size(node.prefix, depth + 1)

    def visit_sentinel(self, node: Sentinel, depth: int) -> int:
        return len(node.mark)

    def with_hidden_bytes(self, node: HiddenPrefix | HiddenSuffix, depth: int) -> int:
        return self.size(node.item, depth + 1) + len(node.data)

    visit_hidden_prefix = visit_hidden_suffix = with_hidden_bytes

    def visit_offset(self, node: Offset, depth: int) -> int:
        if node.strategy != "padded":
            return 0
        return max(0, self.size(node.item, depth + 1) + node.amount)

    def visit_option(self, node: Option, depth: int) -> int:
        item = self.size(node.item, depth + 1) if node.fixed else 0
        return node.prefix.bits // 8 + item

    def visit_zeroable_option(self, node: ZeroableOption, depth: int) -> int:
        item = self.size(node.item, depth + 1)
        return item if node.zero is None else min(len(node.zero), item)

    def counted(self, node: ListType | Map, depth: int) -> int:
        if node.count is None:
            return 0
        if isinstance(node.count, int):
            return self.sum_of(children(node), depth) * node.count
        return self.size(node.count, depth + 1)

    visit_array = visit_set = visit_map = counted

    def members(self, node: ProductType, depth: int) -> int:
        return self.sum_of(children(node), depth)

    visit_tuple = visit_struct = members

    def visit_enum(self, node: Enum, depth: int) -> int:
        payloads = [self.payload(variant, depth) for variant in node.variants]
        return self.size(node.tag, depth + 1) + min(payloads, default=0)

    def payload(self, variant: Variant, depth: int) -> int:
        if variant.payload is None:
            return 0
        return self.size(variant.payload, depth + 1)

    def visit_link(self, node: Link, depth: int) -> int:
        known = self.resolver.least_sizes
        if node not in known:
            # Until the size is known: a type that contains itself promises no bytes.
            known[node] = 0
            with suppress(UnresolvedName):
                known[node] = self.size(self.resolver.expand(node)[1], depth + 1)
        return known[node]


def _plus(size: int | None, more: int) -> int | None:
    if size is None:
        return None
    return size + more

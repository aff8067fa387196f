"""Sizes: how many bytes a type takes, where that does not depend on the value.

`size_of` is exact and None where values differ in length; `min_size` is the least that any value takes, which bounds
how many items a counted list can hold. Layout "c" (repr(C)) pads to natural alignment; a u128 aligns to 8 where
programs run, as does everything wider.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    DateTime,
    Enum,
    FixedSize,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Option,
    Pubkey,
    Set,
    ShortU16,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeDef,
    ZeroableOption,
)

__all__ = ["Place", "align_of", "min_size", "places", "size_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field of a fixed-size struct stands: `offset` and `size` in bytes, with the padding before it not
    counted in."""

    name: str
    offset: int
    size: int


def align_of(resolver: Resolver, node: Type, layout: str = "c") -> int:
    """The natural alignment of *node* in bytes; 1 for everything outside layout "c"."""
    if layout != "c":
        return 1
    match node:
        case Int(bits, _, _) | Float(bits, _):
            return min(bits // 8, 8)
        case Bool(size):
            return size.bits // 8
        case Amount(number, _, _) | DateTime(number):
            return align_of(resolver, number, layout)
        case Array(item, _) | Set(item, _):
            return align_of(resolver, item, layout)
        case Tuple(items):
            return max((align_of(resolver, i, layout) for i in items), default=1)
        case Struct(fields):
            return max((align_of(resolver, f.type, layout) for f in fields), default=1)
        case Link():
            definition, body = resolver.expand(node)
            own = align_of(resolver, body, _inner(definition, layout))
            return max(own, definition.align or 1)
        case _:
            return 1


def _inner(definition: TypeDef, layout: str) -> str:
    """The layout inside a definition that stands within *layout*."""
    return layout if definition.layout == "transparent" else definition.layout


def _round_up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def places(resolver: Resolver, node: Struct, layout: str = "borsh") -> tuple[Place, ...] | None:
    """Where each field of *node* stands, or None when the sizes of its fields are not fixed."""
    out: list[Place] = []
    offset = 0
    for f in node.fields:
        size = size_of(resolver, f.type, layout)
        if size is None:
            return None
        offset = _round_up(offset, align_of(resolver, f.type, layout))
        out.append(Place(f.name, offset, size))
        offset += size
    return tuple(out)


def size_of(resolver: Resolver, node: Type, layout: str = "borsh") -> int | None:
    """The bytes that every value of *node* takes, or None when values differ or the type cannot be used."""
    return _size(resolver, node, layout, 0)


def _size(resolver: Resolver, node: Type, layout: str, depth: int) -> int | None:
    if depth > 64:
        return None

    def size(child: Type) -> int | None:
        return _size(resolver, child, layout, depth + 1)

    match node:
        case Int(bits, _, _) | Float(bits, _):
            return bits // 8
        case Bool(width):
            return width.bits // 8
        case Amount(number, _, _) | DateTime(number):
            return number.bits // 8
        case Pubkey():
            return 32
        case FixedSize(_, n):
            return n
        case HiddenPrefix(item, data) | HiddenSuffix(item, data):
            inner = size(item)
            return None if inner is None else inner + len(data)
        case Option(item, prefix, True):
            inner = size(item)
            return None if inner is None else inner + prefix.bits // 8
        case ZeroableOption(item, _):
            return size(item)
        case Array(item, count) | Set(item, count):
            inner = size(item)
            return inner * count if isinstance(count, int) and inner is not None else None
        case Map(key, value, count):
            pair = (size(key), size(value))
            if isinstance(count, int) and pair[0] is not None and pair[1] is not None:
                return count * (pair[0] + pair[1])
            return None
        case Tuple(items):
            total = 0
            for item in items:
                inner = size(item)
                if inner is None:
                    return None
                total = _round_up(total, align_of(resolver, item, layout)) + inner
            return _round_up(total, align_of(resolver, node, layout))
        case Struct(fields):
            return size(Tuple(tuple(f.type for f in fields)))
        case Enum(variants, tag):
            sizes = {0 if v.payload is None else size(v.payload) for v in variants}
            only = next(iter(sizes)) if len(sizes) == 1 else None
            return only + tag.bits // 8 if only is not None and isinstance(tag, Int) else None
        case Link():
            try:
                definition, body = resolver.expand(node)
            except UnresolvedName:
                return None
            inner = _size(resolver, body, _inner(definition, layout), depth + 1)
            if inner is None or definition.align is None:
                return inner
            return _round_up(inner, definition.align)
        case _:
            return None


def min_size(resolver: Resolver, node: Type) -> int:
    """The least number of bytes that a value of *node* takes."""
    return _min(resolver, node, 0)


def _min(resolver: Resolver, node: Type, depth: int) -> int:
    if depth > 32:
        return 0  # a recursive type: nothing is promised
    exact = size_of(resolver, node)
    if exact is not None:
        return exact
    match node:
        case ShortU16() | Option():
            return 1 if isinstance(node, ShortU16) else node.prefix.bits // 8
        case SizePrefixed(_, prefix):
            return prefix.bits // 8 if isinstance(prefix, Int) else 1
        case Array(item, count) | Set(item, count):
            if isinstance(count, int):
                return count * _min(resolver, item, depth + 1)
            return count.bits // 8 if isinstance(count, Int) else 0
        case Map(_, _, count):
            return count.bits // 8 if isinstance(count, Int) else 0
        case Tuple(items):
            return sum(_min(resolver, i, depth + 1) for i in items)
        case Struct(fields):
            return sum(_min(resolver, f.type, depth + 1) for f in fields)
        case Enum(variants, tag):
            least = min((0 if v.payload is None else _min(resolver, v.payload, depth + 1) for v in variants), default=0)
            return least + (tag.bits // 8 if isinstance(tag, Int) else 1)
        case Link():
            try:
                _, body = resolver.expand(node)
            except UnresolvedName:
                return 0
            return _min(resolver, body, depth + 1)
        case _:
            return 0

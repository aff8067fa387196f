"""Sizes: how many bytes a type takes as borsh writes it, where that does not depend on the value.

`size_of` is exact and None where values differ in length; `min_size` is the least that any value takes, which bounds
how many items a counted list can hold. C layouts are the codec's (codec/layout.py): they hold for whole accounts only.
"""

from __future__ import annotations

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
    Offset,
    Option,
    Pubkey,
    Set,
    ShortU16,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    ZeroableOption,
)

__all__ = ["min_size", "size_of"]


def size_of(resolver: Resolver, node: Type) -> int | None:
    """The bytes that every value of *node* takes, or None when values differ or the type cannot be used."""
    return _size(resolver, node, 0)


def _size(resolver: Resolver, node: Type, depth: int) -> int | None:
    if depth > 64:
        return None

    def size(child: Type) -> int | None:
        return _size(resolver, child, depth + 1)

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
        case Offset(item, amount, _, "padded") if amount >= 0:
            inner = size(item)
            return None if inner is None else inner + amount
        case Option(item, prefix, True):
            inner = size(item)
            return None if inner is None else inner + prefix.bits // 8
        case ZeroableOption(item, zero):
            inner = size(item)
            return inner if zero is None or len(zero) == inner else None
        case Array(item, count) | Set(item, count):
            inner = size(item)
            return inner * count if isinstance(count, int) and inner is not None else None
        case Map(key, value, count):
            one, other = size(key), size(value)
            if isinstance(count, int) and one is not None and other is not None:
                return count * (one + other)
            return None
        case Tuple(items):
            total = 0
            for item in items:
                inner = size(item)
                if inner is None:
                    return None
                total += inner
            return total
        case Struct(fields):
            return size(Tuple(tuple(f.type for f in fields)))
        case Enum(variants, tag):
            sizes = {0 if v.payload is None else size(v.payload) for v in variants}
            only = next(iter(sizes)) if len(sizes) == 1 else None
            return only + tag.bits // 8 if only is not None and isinstance(tag, Int) else None
        case Link():
            if ("size", node) not in resolver.measured:
                resolver.measured["size", node] = None  # while it is open: what holds itself has no fixed size
                try:
                    resolver.measured["size", node] = size(resolver.expand(node)[1])
                except UnresolvedName:
                    pass
            return resolver.measured["size", node]
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
        case ShortU16():
            return 1
        case Option(item, prefix, fixed):
            return prefix.bits // 8 + (_min(resolver, item, depth + 1) if fixed else 0)
        case SizePrefixed(_, prefix):
            return prefix.bits // 8 if isinstance(prefix, Int) else 1
        case HiddenPrefix(item, data) | HiddenSuffix(item, data):
            return len(data) + _min(resolver, item, depth + 1)
        case Array(item, count) | Set(item, count):
            if isinstance(count, int):
                return count * _min(resolver, item, depth + 1)
            return 0 if count is None else _min(resolver, count, depth + 1)
        case Map(_, _, count):
            return count.bits // 8 if isinstance(count, Int) else 0
        case Tuple(items):
            return sum(_min(resolver, i, depth + 1) for i in items)
        case Struct(fields):
            return sum(_min(resolver, f.type, depth + 1) for f in fields)
        case Enum(variants, tag):
            least = (0 if v.payload is None else _min(resolver, v.payload, depth + 1) for v in variants)
            return min(least, default=0) + (tag.bits // 8 if isinstance(tag, Int) else 1)
        case Link():
            if ("least", node) not in resolver.measured:
                resolver.measured["least", node] = 0  # while it is open: of a recursive type nothing is promised
                try:
                    resolver.measured["least", node] = _min(resolver, resolver.expand(node)[1], depth + 1)
                except UnresolvedName:
                    pass
            return resolver.measured["least", node] or 0
        case _:
            return 0

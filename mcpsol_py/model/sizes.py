"""Sizes: how many bytes the values of a type take.

`fixed_size` is exact, and None where values differ in length; `least_size` is the fewest that any value takes, which
bounds how many items a counted list can hold. Padding of C layouts is in nodes of its own (codec/layout.py).
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
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    ZeroableOption,
)
from mcpsol_py.model.visit import children

__all__ = ["fixed_size", "least_size"]

#: deeper than any real type nests: nothing is said of what does
_DEEPEST = 128


def fixed_size(resolver: Resolver, node: Type) -> int | None:
    """The bytes that every value of *node* takes, or None where values differ or the type cannot be used."""
    return _fixed(resolver, node, 0)


def _fixed(resolver: Resolver, node: Type, depth: int) -> int | None:
    if depth > _DEEPEST:
        return None

    def size(*nodes: Type) -> int | None:
        total = 0
        for child in nodes:
            inner = _fixed(resolver, child, depth + 1)
            if inner is None:
                return None
            total += inner
        return total

    match node:
        case Int(bits) | Float(bits):
            return bits // 8
        case Bool(number) | Amount(number, _, _) | DateTime(number):
            return number.bits // 8
        case Pubkey():
            return 32
        case FixedSize(_, room):
            return room
        case HiddenPrefix(item, data) | HiddenSuffix(item, data):
            return _plus(size(item), len(data))
        case Offset(item, amount, _, "padded") if amount >= 0:
            return _plus(size(item), amount)
        case Option(item, prefix, True):
            return _plus(size(item), prefix.bits // 8)
        case ZeroableOption(item, zero):
            inner = size(item)
            return inner if zero is None or len(zero) == inner else None
        case Array(item, int(count)) | Set(item, int(count)):
            return _times(size(item), count)
        case Map(key, value, int(count)):
            return _times(size(key, value), count)
        case Tuple() | Struct():
            return size(*children(node))
        case Enum(variants, Int(bits)):
            sizes = {0 if v.payload is None else size(v.payload) for v in variants}
            return _plus(sizes.pop(), bits // 8) if len(sizes) == 1 else None
        case Link():
            known = resolver.fixed_sizes
            if node not in known:
                known[node] = None  # while it is open: what holds itself has no fixed size
                try:
                    known[node] = size(resolver.expand(node)[1])
                except UnresolvedName:
                    pass
            return known[node]
        case _:
            return None


def least_size(resolver: Resolver, node: Type) -> int:
    """The fewest bytes that a value of *node* takes; never too many, so that it can bound a count by the bytes left."""
    return max(0, _least(resolver, node, 0))


def _least(resolver: Resolver, node: Type, depth: int) -> int:
    if depth > _DEEPEST:
        return 0

    def least(child: Type) -> int:
        return _least(resolver, child, depth + 1)

    match node:
        case ShortU16():
            return 1
        case SizePrefixed(_, prefix):
            return least(prefix)
        case Sentinel(_, mark):
            return len(mark)
        case HiddenPrefix(item, data) | HiddenSuffix(item, data):
            return least(item) + len(data)
        case Offset(item, amount, _, "padded"):
            return max(0, least(item) + amount)
        case Option(item, prefix, fixed):
            return prefix.bits // 8 + (least(item) if fixed else 0)
        case ZeroableOption(item, zero):
            return least(item) if zero is None else min(len(zero), least(item))
        case Array(item, int(count)) | Set(item, int(count)):
            return least(item) * count
        case Map(key, value, int(count)):
            return (least(key) + least(value)) * count
        case Array(_, count) | Set(_, count) | Map(_, _, count):
            return 0 if count is None else least(count)  # type: ignore[arg-type]  # numbers are taken above
        case Tuple() | Struct():
            return sum(least(child) for child in children(node))
        case Enum(variants, tag):
            return least(tag) + min(
                (0 if v.payload is None else least(v.payload) for v in variants), default=0
            )
        case Link():
            known = resolver.least_sizes
            if node not in known:
                known[node] = 0  # while it is open: of what holds itself nothing is promised
                try:
                    known[node] = least(resolver.expand(node)[1])
                except UnresolvedName:
                    pass
            return known[node]
        case _:
            return _fixed(resolver, node, depth) or 0


def _plus(size: int | None, more: int) -> int | None:
    return None if size is None else size + more


def _times(size: int | None, count: int) -> int | None:
    return 0 if count == 0 else None if size is None else size * count

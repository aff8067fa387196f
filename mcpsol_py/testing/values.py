"""Hypothesis strategies for the values of a program's types, in the form in which `decode` returns them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.json_values import int_range, text_of
from mcpsol_py.errors import CodecError
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
    Variant,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import TypeVisitor, walk

__all__ = ["Values", "integers"]

#: Types that link to one another end after this many links.
_DEEPEST = 3
#: The longest list, text and byte string of no fixed length. Eight characters fit one seed of an address.
_LONGEST = 3
_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_BYTES = st.binary(max_size=12)
#: A longer list of a fixed length repeats its first items, and longer bytes end in zeros: Hypothesis draws no more.
_DRAWN = 16

Strategy = SearchStrategy[Any]


def integers(low: int, high: int) -> SearchStrategy[int]:
    """Integers of a range: small ones, those near its ends, and any."""
    near_end = st.integers(max(low, high - 20), high)
    small = st.integers(max(low, -20), min(high, 20))
    return st.one_of(small, near_end, st.integers(low, high))


class Values(TypeVisitor[[int], Strategy]):
    """The strategies of one program's types. `of` returns that of a type."""

    def __init__(self, codecs: Codecs) -> None:
        self._codecs = codecs

    def of(self, node: Type) -> Strategy:
        """Return the values of a type that its codec can write."""
        return self.visit(node, 0).filter(lambda value: self._is_written(node, value))

    def _is_written(self, node: Type, value: Any) -> bool:
        """Can this value be written, and is the same value read again?"""
        codec = self._codecs.codec(node)
        try:
            return bool(codec.decode(codec.encode(value)) == value)
        except CodecError:
            return False

    def _written(self, node: Type, strategy: Strategy) -> Strategy:
        """Return the values that the rules of a type allow: no end mark within, each item of a set once."""
        return strategy.filter(lambda value: self._is_written(node, value))

    # --- without another type

    def visit_int(self, node: Int | ShortU16, depth: int) -> Strategy:
        return integers(*int_range(node))

    visit_short_u16 = visit_int

    def visit_amount(self, node: Amount | DateTime, depth: int) -> Strategy:
        return self.visit_int(node.number, depth)

    visit_date_time = visit_amount

    def visit_float(self, node: Float, depth: int) -> Strategy:
        return st.floats(width=32 if node.bits == 32 else 64, allow_nan=False)

    def visit_bool(self, node: Bool, depth: int) -> Strategy:
        return st.booleans()

    def visit_pubkey(self, node: Pubkey, depth: int) -> Strategy:
        return st.binary(min_size=32, max_size=32).map(Address)

    def visit_string(self, node: String, depth: int) -> Strategy:
        if node.encoding == "utf8":
            return _TEXT
        return _BYTES.map(lambda data: text_of(node.encoding, data))

    def visit_bytes(self, node: Bytes, depth: int) -> Strategy:
        return _BYTES

    # --- around another type

    def visit_size_prefixed(
        self, node: SizePrefixed | Sentinel, depth: int
    ) -> Strategy:
        return self._written(node, self.visit(node.item, depth))

    visit_sentinel = visit_size_prefixed

    def visit_fixed_size(self, node: FixedSize, depth: int) -> Strategy:
        match node.item:
            case Bytes():
                return _fixed_bytes(node.size)
            case String("utf8"):
                return _TEXT.map(lambda text: _cut(text, node.size))
            case String(encoding):
                return _fixed_bytes(node.size).map(lambda data: text_of(encoding, data))
        return self._written(node, self.visit(node.item, depth))

    def visit_hidden_prefix(
        self, node: HiddenPrefix | HiddenSuffix | Offset, depth: int
    ) -> Strategy:
        return self.visit(node.item, depth)

    visit_hidden_suffix = visit_offset = visit_hidden_prefix

    def visit_option(self, node: Option, depth: int) -> Strategy:
        nullable = self._codecs.layouts.nullable(node.item)
        return self._optional(
            node.item, depth, lambda v: {"some": v} if nullable else v
        )

    def visit_zeroable_option(
        self, node: ZeroableOption | RemainderOption, depth: int
    ) -> Strategy:
        return self._written(
            node, self._optional(node.item, depth, lambda value: value)
        )

    visit_remainder_option = visit_zeroable_option

    def _optional(self, item: Type, depth: int, some: Callable[[Any], Any]) -> Strategy:
        if depth >= _DEEPEST:
            return st.none()
        return st.one_of(st.none(), self.visit(item, depth).map(some))

    # --- of several

    def visit_array(self, node: Array, depth: int) -> Strategy:
        if is_bytes(node):
            return _fixed_bytes(node.count) if isinstance(node.count, int) else _BYTES
        return self._list(self.visit(node.item, depth), node.count, depth)

    def visit_set(self, node: Set, depth: int) -> Strategy:
        return self._written(
            node, self._list(self.visit(node.item, depth), node.count, depth)
        )

    def visit_map(self, node: Map, depth: int) -> Strategy:
        pair = st.tuples(
            self.visit(node.key, depth), self.visit(node.value, depth)
        ).map(list)
        return self._written(node, self._list(pair, node.count, depth))

    def _list(self, item: Strategy, count: object, depth: int) -> Strategy:
        if not isinstance(count, int):
            return st.lists(item, max_size=_LONGEST if depth < _DEEPEST else 0)
        if count <= _DRAWN:
            return st.lists(item, min_size=count, max_size=count)
        drawn = st.lists(item, min_size=1, max_size=_DRAWN)
        return drawn.map(lambda items: list(islice(cycle(items), count)))

    def visit_tuple(self, node: Tuple, depth: int) -> Strategy:
        return st.tuples(*(self.visit(item, depth) for item in node.items)).map(list)

    def visit_struct(self, node: Struct, depth: int) -> Strategy:
        named = zip(field_keys(node.fields), node.fields, strict=True)
        shown = {key: f for key, f in named if not (f.default and f.default.omitted)}
        return st.fixed_dictionaries(
            {key: self.visit(f.type, depth) for key, f in shown.items()}
        )

    def visit_enum(self, node: Enum, depth: int) -> Strategy:
        variants = list(node.variants)
        if depth >= _DEEPEST:
            ending = list(filter(_ends, node.variants))
            variants = ending or variants
        return st.one_of([self._variant(variant, depth) for variant in variants])

    def _variant(self, variant: Variant, depth: int) -> Strategy:
        if variant.payload is None:
            return st.just(variant.name)
        return st.fixed_dictionaries({variant.name: self.visit(variant.payload, depth)})

    def visit_link(self, node: Link, depth: int) -> Strategy:
        target = self._codecs.layouts.resolver.expand(node)[1]
        return st.deferred(lambda: self.visit(target, depth + 1))

    def visit_generic(self, node: Generic | Unsupported, depth: int) -> Strategy:
        return st.nothing()

    visit_unsupported = visit_generic


def _ends(variant: Variant) -> bool:
    """Does a variant lead to no other type?"""
    return variant.payload is None or not _has_links(variant.payload)


def _has_links(node: Type) -> bool:
    return any(isinstance(part, Link) for part in walk(node))


def _fixed_bytes(size: int) -> SearchStrategy[bytes]:
    drawn = min(size, 64)
    return st.binary(min_size=drawn, max_size=drawn).map(
        lambda data: data.ljust(size, b"\0")
    )


def _cut(text: str, size: int) -> str:
    """Return the beginning of a text that fits a number of bytes, without zeros at its end."""
    return text.encode()[:size].decode(errors="ignore").rstrip("\0")

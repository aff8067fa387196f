"""C layouts said in plain nodes, and what else the codecs must know about a type before its first value.

A type with layout "c", "packed" or "transparent" is *lowered*: its links are filled in and its padding becomes
`Offset(..., "padded")` nodes, so that everything behind this module knows packed types only. Layouts hold from the
top: a zero-copy account lies in memory as C does, and so does all that it holds. Under a borsh type they do not: what
borsh writes goes through `BorshSerialize` of each part, which writes field after field without padding, whatever the
part's `repr` is.
"""

from __future__ import annotations

from dataclasses import replace

from mcpsol_py.errors import NotUsable
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size, least_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    FixedSize,
    Float,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeDef,
    ZeroableOption,
)
from mcpsol_py.model.visit import children

__all__ = ["MAX_DEPTH", "MAX_EMPTY_ITEMS", "Layouts", "is_bytes"]

#: How many links deep a value may nest (a type that holds itself): far beyond any real one, far below the
#: interpreter's limit.
MAX_DEPTH = 64
#: How many items that take no bytes a counted list may claim: nothing in the data bounds them.
MAX_EMPTY_ITEMS = 65_536
#: The most that a value may take at least: an account holds 10 MiB.
MAX_ROOM = 16 * 1024 * 1024

#: rustc aligns u128 for the SVM as u64 (its data layout names no i128), unlike x86-64 since Rust 1.77. Pod types have
#: no padding, so there both give the same bytes.
_MAX_INT_ALIGN = 8


def is_bytes(node: Type) -> bool:
    """Is this an array of u8, whose values are bytes?"""
    return isinstance(node, Array) and node.item == Int(8)


class Layouts:
    """What can be said about the types of one program without a value. All answers are kept."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._fixed: dict[Type, int | None] = {}
        self._least: dict[Type, int] = {}
        self._nullable: dict[Type, bool] = {}
        self._moves: dict[Type, bool] = {}
        self._held: set[Type] = set()

    # --- the type to compile ---------------------------------------------------------------------------------------

    def root(self, node: Type) -> Type:
        """*node* as it is compiled: lowered if it is a link to a C layout. Raises NotUsable, with the reason."""
        why = self.resolver.why_unusable(node) or self._too_large(node)
        if why:
            raise NotUsable("type", type_text(node), why)
        if isinstance(node, Link):
            definition, body = self.resolver.expand(node)
            if definition.layout == "transparent":
                lowered = self.root(_only_field(definition, body))
                return _rewrap(body, lowered)
            if definition.layout in ("c", "packed"):
                return self._lower(node, definition.layout)[0]
        return node

    def _too_large(self, node: Type) -> str | None:
        """Why no account or transaction can hold *node*: padding and fixed room are made before a value fills them."""
        if node not in self._held:
            self._held.add(node)
            if self.least(node) > MAX_ROOM or (self.fixed_size(node) or 0) > MAX_ROOM:
                return f"it takes over {MAX_ROOM:,} bytes"
            inner = (self.resolver.expand(node)[1],) if isinstance(node, Link) else children(node)
            for child in inner:
                why = self._too_large(child)
                if why:
                    self._held.discard(node)
                    return why
        return None

    def _lower(self, node: Type, layout: str) -> tuple[Type, int, int]:
        """*node* with its padding said, its size and its alignment, within a type of *layout*."""
        match node:
            case Int(bits):
                return node, bits // 8, min(bits // 8, _MAX_INT_ALIGN)
            case Float(bits):
                return node, bits // 8, bits // 8
            case Bool(size):
                return node, size.bits // 8, size.bits // 8
            case Pubkey():
                return node, 32, 1
            case Amount(number, _, _) | DateTime(number):
                return node, number.bits // 8, min(number.bits // 8, _MAX_INT_ALIGN)
            case Array(item, int(count)):
                lowered, size, align = self._lower(item, layout)
                return Array(lowered, count), size * count, align
            case Tuple(items):
                parts, size, align = self._lower_members(items, layout)
                return Tuple(parts), size, align
            case Struct(fields):
                parts, size, align = self._lower_members(tuple(f.type for f in fields), layout)
                return (
                    Struct(tuple(replace(f, type=t) for f, t in zip(fields, parts, strict=True))),
                    size,
                    align,
                )
            case Enum(_, Int() as tag):
                return self._lower_enum(node, tag, layout)
            case Option(item, prefix, True):
                lowered, size, align = self._lower(item, layout)
                width = prefix.bits // 8
                align = max(align, min(width, _MAX_INT_ALIGN)) if layout == "c" else 1
                at = _up(width, align)
                total = _up(at + size, align)
                padded = _pad(lowered, at - width, total - at - size)
                return Option(padded, prefix, True), total, align
            case Link():
                definition, body = self.resolver.expand(node)
                inner = definition.layout if definition.layout in ("c", "packed") else layout
                lowered, size, align = self._lower(body, inner)
                if definition.layout == "packed":
                    align = 1
                if definition.align:
                    align = max(align, definition.align)
                total = _up(size, align)
                return _pad(lowered, 0, total - size), total, align
            case FixedSize(Bytes(), size):
                return node, size, 1
            case HiddenPrefix() | HiddenSuffix() | Offset() | ZeroableOption() | FixedSize():
                fixed = self.fixed_size(node)
                if fixed is not None:
                    return node, fixed, 1
        raise NotUsable(
            "type",
            type_text(node),
            f"it has no fixed place in memory, which layout {layout!r} needs",
        )

    def _lower_members(
        self, items: tuple[Type, ...], layout: str
    ) -> tuple[tuple[Type, ...], int, int]:
        parts: list[Type] = []
        at, whole = 0, 1
        for item in items:
            lowered, size, align = self._lower(item, layout)
            if layout == "packed":
                align = 1
            start = _up(at, align)
            parts.append(_pad(lowered, start - at, 0))
            at, whole = start + size, max(whole, align)
        total = _up(at, whole)
        if parts and total > at:
            parts[-1] = _pad(parts[-1], 0, total - at)
        return tuple(parts), total, whole

    def _lower_enum(self, node: Enum, tag: Int, layout: str) -> tuple[Type, int, int]:
        """A tag, then a union of the variants (repr(C, u8) and its like): every variant takes the room of the
        largest."""
        tag_size = tag.bits // 8
        align = 1 if layout == "packed" else min(tag_size, _MAX_INT_ALIGN)
        if all(v.payload is None for v in node.variants):
            return node, tag_size, align
        payloads = [
            None if v.payload is None else self._lower(v.payload, layout) for v in node.variants
        ]
        if layout != "packed":
            align = max([align, *(p[2] for p in payloads if p)])
        union_align = 1 if layout == "packed" else max(p[2] for p in payloads if p)
        at = _up(tag_size, union_align)
        total = _up(at + max(p[1] for p in payloads if p), align)
        variants = tuple(
            replace(v, payload=_pad(p[0], at - tag_size, 0) if p else None)
            for v, p in zip(node.variants, payloads, strict=True)
        )
        return FixedSize(Enum(variants, tag), total), total, align

    # --- sizes -----------------------------------------------------------------------------------------------------

    def fixed_size(self, node: Type) -> int | None:
        """`sizes.fixed_size`, kept."""
        if node not in self._fixed:
            self._fixed[node] = fixed_size(self.resolver, node)
        return self._fixed[node]

    def least(self, node: Type) -> int:
        """`sizes.least_size`, kept."""
        if node not in self._least:
            self._least[node] = least_size(self.resolver, node)
        return self._least[node]

    # --- the shape of values ---------------------------------------------------------------------------------------

    def nullable(self, node: Type) -> bool:
        """Can None be a value of *node*? Then an option around it says {"some": value}."""
        if node not in self._nullable:
            self._nullable[node] = False
            match node:
                case Option() | ZeroableOption() | RemainderOption():
                    found = True
                case Link():
                    found = self.nullable(self.resolver.expand(node)[1])
                case (
                    SizePrefixed(item=item)
                    | FixedSize(item=item)
                    | Sentinel(item=item)
                    | HiddenPrefix(item=item)
                    | HiddenSuffix(item=item)
                    | Offset(item=item)
                ):
                    found = self.nullable(item)
                case _:
                    found = False
            self._nullable[node] = found
        return self._nullable[node]

    def moves_cursor(self, node: Type) -> bool:
        """Does writing *node* need a buffer of known length, since an offset moves back or to an absolute place in
        it? Types that bound their item (by a size, a prefix, a mark) are buffers of their own."""
        if node not in self._moves:
            self._moves[node] = False
            match node:
                case Offset(item, amount, _, strategy):
                    found = strategy != "padded" or amount < 0 or self.moves_cursor(item)
                case SizePrefixed() | FixedSize() | Sentinel():
                    found = False
                case Link():
                    found = self.moves_cursor(self.resolver.expand(node)[1])
                case _:
                    found = any(self.moves_cursor(child) for child in children(node))
            self._moves[node] = found
        return self._moves[node]


def _only_field(definition: TypeDef, body: Type) -> Type:
    match body:
        case Struct((Field(type=only),)) | Tuple((only,)):
            return only
        case Struct() | Tuple():
            raise NotUsable(
                "type", definition.name, "layout 'transparent' is for types of one field"
            )
        case _:
            return body


def _rewrap(body: Type, only: Type) -> Type:
    match body:
        case Struct((first,)):
            return Struct((replace(first, type=only),))
        case Tuple((_,)):
            return Tuple((only,))
        case _:
            return only


def _pad(node: Type, before: int, after: int) -> Type:
    if before:
        node = Offset(node, before, "pre", "padded")
    if after:
        node = Offset(node, after, "post", "padded")
    return node


def _up(at: int, align: int) -> int:
    return -(-at // align) * align

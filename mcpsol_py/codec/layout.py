"""Layouts of a program's types: sizes, C padding, and what else codecs need before a value.

Types with layout "c", "packed" or "transparent" are lowered (c_layout.py): all code after this
module sees packed types only. A layout applies from the top: a zero-copy account lies in memory as
C lays it out, and so does everything inside it. Inside a borsh type it does not apply: borsh calls
`BorshSerialize` of each part, which ignores `repr` and writes fields without padding.
"""

from __future__ import annotations

from dataclasses import replace

from mcpsol_py._moved import renamed
from mcpsol_py.codec.c_layout import Lowering
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size, least_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Array,
    Enum,
    FixedSize,
    Generic,
    Link,
    Map,
    Offset,
    Option,
    Sentinel,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
    children,
)

__all__ = ["MAX_DEPTH", "MAX_EMPTY_ITEMS", "Layouts", "moved"]

#: How many links deep a value may nest (a type may hold itself): far beyond real types, and far
#: below the interpreter's limit.
MAX_DEPTH = 64
#: How many items that take no bytes a list may have, because the data does not bound them.
MAX_EMPTY_ITEMS = 65_536
#: The most bytes that the smallest value of a type may take. An account holds 10 MiB.
MAX_ROOM = 16 * 1024 * 1024


def moved(node: Offset, cursor: int, before: int, length: int | None) -> int:
    """Return where *node* moves the *cursor* to. The result may be outside the data.

    *before*: the cursor before the item's own pre-offset. *length*: of the data, None if unknown.
    """
    if node.strategy == "preOffset":
        return before + node.amount
    if node.strategy != "absolute":
        return cursor + node.amount
    if node.amount >= 0:
        return node.amount
    return node.amount % length if length else 0


class Layouts:
    """Answers questions about the types of one program, and keeps the answers."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._lowering = Lowering(self)
        self._nullable_visitor = _Nullable(self)
        self._fixed: dict[Type, int | None] = {}
        self._least: dict[Type, int] = {}
        self._nullable: dict[Type, bool] = {}
        self._moves: dict[Type, bool] = {}
        self._fitting: set[Type] = set()
        self._empty_items: dict[Type, int] = {}

    # --- the type to compile -------------------------------------------------------------------

    def expand(self, link: Link) -> Type:
        """Return the type that *link* names, with its arguments filled in."""
        return self.resolver.expand(link)[1]

    def root(self, node: Type) -> Type:
        """Return *node* as it is compiled: lowered if it is a link to a C layout.

        Raises NotUsable, with the reason.
        """
        why = self.resolver.why_unusable(node) or self._why_too_large(node)
        if why:
            raise NotUsable("type", type_text(node), why)
        if not isinstance(node, Link):
            return node
        definition, body = self.resolver.expand(node)
        if definition.layout == "transparent":
            return _with_only_field(body, self.root(_only_field(definition, body)))
        if definition.layout in ("c", "packed"):
            return self._lowering.visit(node, definition.layout).node
        return node

    def _why_too_large(self, node: Type) -> str | None:
        """Return why no account or transaction can hold *node*, or None if one can.

        Padding and fixed room are allocated before a value fills them.
        """
        if node in self._fitting:
            return None
        if self.least(node) > MAX_ROOM or (self.fixed_size(node) or 0) > MAX_ROOM:
            return f"it takes over {MAX_ROOM:,} bytes"
        if self._count_empty_items(node) > MAX_EMPTY_ITEMS:
            return f"it has over {MAX_EMPTY_ITEMS:,} items that may take no bytes"
        self._fitting.add(node)  # before the parts: a type may hold itself
        for part in self._parts(node):
            why = self._why_too_large(part)
            if why:
                self._fitting.discard(node)
                return why
        return None

    def _count_empty_items(self, node: Type) -> int:
        """Count the items of the fixed arrays in *node* that may take no bytes."""
        if node not in self._empty_items:
            self._empty_items[node] = (
                0  # while they are counted: a type may hold itself
            )
            found = sum(map(self._count_empty_items, self._parts(node)))
            if isinstance(node, Array) and isinstance(node.count, int):
                found = node.count * (found + (self.least(node.item) == 0))
            self._empty_items[node] = found
        return self._empty_items[node]

    # --- sizes ---------------------------------------------------------------------------------

    def fixed_size(self, node: Type) -> int | None:
        """Return the bytes of every value, or None if they vary (`sizes.fixed_size`)."""
        if node not in self._fixed:
            self._fixed[node] = fixed_size(self.resolver, node)
        return self._fixed[node]

    def least(self, node: Type) -> int:
        """Return the bytes of the smallest value (`sizes.least_size`)."""
        if node not in self._least:
            self._least[node] = least_size(self.resolver, node)
        return self._least[node]

    def absent_room(self, node: Option) -> int:
        """Return how many zeros follow the tag of an absent value."""
        return (self.fixed_size(node.item) or 0) if node.fixed else 0

    def zero_bytes(self, node: ZeroableOption) -> bytes:
        """Return the bytes of an absent value."""
        if node.zero is not None:
            return node.zero
        return bytes(self.fixed_size(node.item) or 0)

    # --- the shape of values -------------------------------------------------------------------

    def nullable(self, node: Type) -> bool:
        """Return whether None is a value of *node*. An option of it then takes {"some": value}."""
        if node not in self._nullable:
            self._nullable[node] = False  # the answer for a type inside itself
            self._nullable[node] = self._nullable_visitor.visit(node)
        return self._nullable[node]

    def moves_cursor(self, node: Type) -> bool:
        """Return whether an offset in *node* moves back, or to an absolute place.

        Writing it then needs a buffer of known length. Types that bound their item by a size, a
        prefix or a mark are buffers of their own.
        """
        if node not in self._moves:
            self._moves[node] = False  # the answer for a type inside itself
            self._moves[node] = self._find_moves_cursor(node)
        return self._moves[node]

    def _find_moves_cursor(self, node: Type) -> bool:
        if isinstance(node, (SizePrefixed, FixedSize, Sentinel)):
            return False
        if isinstance(node, Offset) and not node.is_padding:
            return True
        return any(map(self.moves_cursor, self._parts(node)))

    def _parts(self, node: Type) -> tuple[Type, ...]:
        """Return the types directly inside *node*; of a link, the type that it names."""
        return (self.expand(node),) if isinstance(node, Link) else children(node)


class _Nullable(GroupVisitor[[], bool]):
    """Finds out whether None is a value of a type."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def _never(
        self,
        node: ScalarType | ListType | ProductType | Map | Enum | Generic | Unsupported,
    ) -> bool:
        return False

    visit_scalar = visit_list = visit_product = visit_map = visit_enum = _never
    visit_generic = visit_unsupported = _never

    def visit_optional(self, node: OptionalType) -> bool:
        return True

    def visit_wrapper(self, node: WrapperType) -> bool:
        return self.layouts.nullable(node.item)

    def visit_link(self, node: Link) -> bool:
        return self.layouts.nullable(self.layouts.expand(node))


def _only_field(definition: TypeDef, body: Type) -> Type:
    if not isinstance(body, (Struct, Tuple)):
        return body
    parts = children(body)
    if len(parts) != 1:
        why = "layout 'transparent' is for types of one field"
        raise NotUsable("type", definition.name, why)
    return parts[0]


def _with_only_field(body: Type, only: Type) -> Type:
    """Return *body* with *only* as the type of its one field."""
    if isinstance(body, Struct):
        return Struct((replace(body.fields[0], type=only),))
    if isinstance(body, Tuple):
        return Tuple((only,))
    return only


def __getattr__(name: str) -> object:
    return renamed(__name__, name)

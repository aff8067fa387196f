"""Facts about a Rust type that the code for it needs: its definition, whether it borrows, whether it allocates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from mcpsol_py.errors import RenderError, UnresolvedName
from mcpsol_py.model import types
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import (
    U8,
    Array,
    Bytes,
    Enum,
    FixedSize,
    Float,
    Int,
    Link,
    Map,
    Offset,
    Set,
    String,
    Struct,
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
from mcpsol_py.render.rust import Rust, byte_array
from mcpsol_py.render.type_views import EnumView, StructView

__all__ = [
    "refusing",
    "usable",
    "check_offset",
    "MOST_ON_STACK",
    "Borrows",
    "CannotRender",
    "Definition",
    "Definitions",
    "Owns",
    "byte_order",
    "expand",
    "int_type",
    "is_fixed_bytes",
    "length_method",
    "slice_text",
    "tuple_text",
    "zero_value",
]

#: Longer arrays of anything but bytes become Vecs: a stack frame has only 4,096 bytes.
MOST_ON_STACK = 32


class CannotRender(Exception):
    """A type that has no Rust form; its instruction then gets its bytes as they are. Never leaves the package."""


@contextmanager
def refusing(place: str) -> Iterator[None]:
    """Refuse the source if something at *place* has no Rust form. Raises RenderError."""
    try:
        yield
    except CannotRender as why:
        raise RenderError(f"{place}: {why}.") from why


@dataclass(slots=True)
class Definition:
    """A struct or enum of the crate. `view` stays None until it is complete: a type that contains itself is boxed."""

    name: Rust
    body: Type
    docs: tuple[str, ...]
    view: StructView | EnumView | None = None
    borrows: bool = False
    owns: bool = False

    @property
    def generics(self) -> str:
        return "<'a>" if self.borrows else ""

    @property
    def type(self) -> str:
        return self.name + self.generics


class Definitions(Protocol):
    """The crate's types, as the code that reads and writes values needs them. Each raises CannotRender."""

    resolver: Resolver

    def type(self, node: Type, hint: str = "Inline") -> str:
        """The Rust type of *node*."""

    def named(self, link: Link) -> Definition | Type:
        """The definition that *link* names, or the type behind an alias."""

    def inline(self, node: Struct | Enum, hint: str) -> Definition:
        """The definition of a type that the source wrote in place."""

    def exact_size(self, item: Type) -> int:
        """The bytes of *item*."""


def slice_text(data: bytes) -> str:
    """A slice of bytes, as a Rust expression."""
    return f"&{byte_array(data)}"


def zero_value(types: Definitions, node: ZeroableOption) -> str:
    """The bytes of an absent value, as a Rust expression."""
    zero = bytes(types.exact_size(node.item)) if node.zero is None else node.zero
    return slice_text(zero)


def is_fixed_bytes(node: FixedSize) -> bool:
    """Is it a byte string of fixed length, and not text?"""
    item = node.item
    return isinstance(item, Bytes) or (
        isinstance(item, String) and item.encoding != "utf8"
    )


def int_type(node: Int) -> str:
    """The Rust type of a number; bytes for one that Rust does not have."""
    return "[u8; 32]" if node.bits == 256 else f"{node.letter}{node.bits}"


def byte_order(node: Int | Float, encoding: str | None = None) -> str:
    """The byte order in the names of Rust's methods: "be" or "le". *encoding*: of a seed."""
    return "be" if node.big_endian or encoding == "be" else "le"


def length_method(prefix: Int) -> str:
    """The method of the Reader and the Output for a length."""
    size = prefix.bits // 8
    name = "length_be" if prefix.big_endian and size > 1 else "length"
    return f"{name}::<{size}>"


def tuple_text(items: Sequence[str]) -> str:
    """A tuple of types or expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def check_offset(node: Offset) -> None:
    """Raise CannotRender unless the offset only skips bytes."""
    if not node.is_padding:
        raise CannotRender("it contains a jump to another offset")


def expand(resolver: Resolver, link: Link) -> tuple[TypeDef, Type]:
    """The definition that *link* names, and its type. Raises CannotRender."""
    try:
        return resolver.expand(link)
    except UnresolvedName as error:
        raise CannotRender(str(error)) from error


def usable(resolver: Resolver, link: Link) -> tuple[TypeDef, Type]:
    """As `expand`. Raises CannotRender also for a type that cannot be encoded and decoded."""
    why = resolver.why_unusable(link)
    if why is not None:
        raise CannotRender(why)
    return expand(resolver, link)


Seen = frozenset[Link]


class _AnyPart(GroupVisitor[[Seen], bool]):
    """Is something true of any type that a value consists of? `seen` are the links that are being followed."""

    #: the answer for a type that contains itself
    recursive = False

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def visit_scalar(self, node: ScalarType, seen: Seen) -> bool:
        return False

    def of_parts(
        self,
        node: WrapperType | OptionalType | ListType | ProductType | Map | Enum,
        seen: Seen,
    ) -> bool:
        return any(self.visit(part, seen) for part in children(node))

    visit_wrapper = visit_optional = visit_list = visit_product = visit_enum = of_parts

    def visit_map(self, node: Map, seen: Seen) -> bool:
        return self.of_parts(node, seen)

    def visit_link(self, node: Link, seen: Seen) -> bool:
        if node in seen:
            return self.recursive
        _, body = expand(self.resolver, node)
        return self.visit(body, seen | {node})

    def nothing(self, node: types.Generic | Unsupported, seen: Seen) -> bool:
        return False

    visit_generic = visit_unsupported = nothing


class Borrows(_AnyPart):
    """Does a value borrow from the data? Text and bytes do."""

    def always(self, node: String | Bytes, seen: Seen) -> bool:
        return True

    visit_string = visit_bytes = always

    def of_list(self, node: Array | Set, seen: Seen) -> bool:
        return node.item == U8 or self.visit(node.item, seen)

    visit_array = visit_set = of_list


class Owns(_AnyPart):
    """Does a value allocate, so that it is not Copy? Lists, maps and boxed types do."""

    recursive = True

    def of_list(self, node: Array | Set, seen: Seen) -> bool:
        if node.item == U8:
            return False
        if not isinstance(node.count, int) or node.count > MOST_ON_STACK:
            return True
        return self.visit(node.item, seen)

    visit_array = visit_set = of_list

    def visit_map(self, node: Map, seen: Seen) -> bool:
        return True

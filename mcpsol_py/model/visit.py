"""Visitors over the kinds of type, and helpers to recurse through types.

Code that treats each kind of type differently subclasses `TypeVisitor` and writes one method per kind. Python refuses
to create a visitor that lacks a kind, so a new kind of type lists the places that need an edit:

    class _Width(TypeVisitor[[], int]):
        def visit_int(self, node: Int) -> int:
            return node.bits // 8
        ...

The first type argument lists the parameters of `visit` after the node, the second is the type of its result. Call a
visitor of ``TypeVisitor[[bytes, int], str]`` as ``visitor.visit(node, data, offset)``.

Kinds that a visitor treats alike share one method, and the class body names each of them:

        def no_width(self, node: String | Bytes) -> int: ...
        visit_string = visit_bytes = no_width

`GroupVisitor` does this for kinds that most code treats alike: all scalars, all wrappers, all optional types. Override
the method of one kind to take it out of its group.

Code that only recurses needs no visitor: use `children`, `map_children` or `walk`. They do not follow a Link to the
type that it names; `Resolver.expand` (resolve.py) does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Generic, ParamSpec, TypeAlias, TypeVar, get_args

from mcpsol_py.model import types
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
    TypeArg,
    Unsupported,
    Variant,
    ZeroableOption,
)

__all__ = [
    "KINDS",
    "GroupVisitor",
    "ListType",
    "OptionalType",
    "ProductType",
    "ScalarType",
    "TypeVisitor",
    "WrapperType",
    "children",
    "generic_names",
    "map_children",
    "method_name",
    "walk",
]

#: Types that hold no other type.
ScalarType: TypeAlias = (
    Int | ShortU16 | Float | Bool | Pubkey | String | Bytes | Amount | DateTime
)
#: Types that change how the bytes of one `item` lie, and not its value.
WrapperType: TypeAlias = (
    SizePrefixed | FixedSize | Sentinel | HiddenPrefix | HiddenSuffix | Offset
)
#: Types whose value may be absent.
OptionalType: TypeAlias = Option | ZeroableOption | RemainderOption
#: Types that repeat one `item`.
ListType: TypeAlias = Array | Set
#: Types that hold a fixed number of other types, one after another.
ProductType: TypeAlias = Tuple | Struct

#: Every kind of type, in the order of `types.Type`.
KINDS: tuple[type[Any], ...] = get_args(Type)

P = ParamSpec("P")
R = TypeVar("R")


def method_name(kind: type[Any]) -> str:
    """Return the name of the visitor method for *kind*: "visit_short_u16" for ShortU16."""
    return _METHOD_NAMES[kind]


def _snake(name: str) -> str:
    out = ""
    for before, letter in zip(" " + name, name, strict=False):
        out += (
            f"_{letter.lower()}"
            if letter.isupper() and before.islower()
            else letter.lower()
        )
    return out


_METHOD_NAMES: dict[type[Any], str] = {
    kind: f"visit_{_snake(kind.__name__)}" for kind in KINDS
}


class _Dispatch(dict[type[Any], Callable[..., Any]]):
    """The methods of one visitor class by kind of type."""

    def __missing__(self, kind: type[Any]) -> Callable[..., Any]:
        raise TypeError(
            f"expected a type node of mcpsol_py.model.types, got {kind.__name__}"
        )


class TypeVisitor(ABC, Generic[P, R]):
    """One method for each kind of type, chosen by the node's class.

    Subclasses implement every abstract method; instances are cheap and may hold state.
    """

    _methods: ClassVar[_Dispatch]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._methods = _Dispatch(
            (kind, getattr(cls, name)) for kind, name in _METHOD_NAMES.items()
        )

    def visit(self, node: Type, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the method for the kind of *node* and return its result."""
        method: Callable[..., R] = self._methods[type(node)]
        return method(self, node, *args, **kwargs)

    # One abstract method per kind. tests/unit/model/test_visit.py checks that none is missing.

    @abstractmethod
    def visit_int(self, node: Int, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_short_u16(
        self, node: ShortU16, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_float(self, node: Float, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_bool(self, node: Bool, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_pubkey(self, node: Pubkey, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_string(self, node: String, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_bytes(self, node: Bytes, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_size_prefixed(
        self, node: SizePrefixed, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_fixed_size(
        self, node: FixedSize, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_sentinel(
        self, node: Sentinel, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_hidden_prefix(
        self, node: HiddenPrefix, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_hidden_suffix(
        self, node: HiddenSuffix, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_offset(self, node: Offset, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_option(self, node: Option, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_zeroable_option(
        self, node: ZeroableOption, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_remainder_option(
        self, node: RemainderOption, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_generic(
        self, node: types.Generic, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_array(self, node: Array, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_set(self, node: Set, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_map(self, node: Map, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_tuple(self, node: Tuple, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_struct(self, node: Struct, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_enum(self, node: Enum, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_link(self, node: Link, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_amount(self, node: Amount, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @abstractmethod
    def visit_date_time(
        self, node: DateTime, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @abstractmethod
    def visit_unsupported(
        self, node: Unsupported, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...


class GroupVisitor(TypeVisitor[P, R]):
    """A visitor with one method for each group of kinds that are usually treated alike.

    Scalars, wrappers, optional types, lists (Array, Set) and products (Tuple, Struct) have a method each. Map, Enum,
    Link, Generic and Unsupported keep their own. A subclass may still override the method of a single kind.
    """

    @abstractmethod
    def visit_scalar(self, node: ScalarType, *args: P.args, **kwargs: P.kwargs) -> R:
        """Visit a type that holds no other type."""

    @abstractmethod
    def visit_wrapper(self, node: WrapperType, *args: P.args, **kwargs: P.kwargs) -> R:
        """Visit a type that changes how the bytes of its item lie."""

    @abstractmethod
    def visit_optional(
        self, node: OptionalType, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Visit a type whose value may be absent."""

    @abstractmethod
    def visit_list(self, node: ListType, *args: P.args, **kwargs: P.kwargs) -> R:
        """Visit an Array or a Set."""

    @abstractmethod
    def visit_product(self, node: ProductType, *args: P.args, **kwargs: P.kwargs) -> R:
        """Visit a Tuple or a Struct."""

    def visit_int(self, node: Int, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_short_u16(self, node: ShortU16, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_float(self, node: Float, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_bool(self, node: Bool, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_pubkey(self, node: Pubkey, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_string(self, node: String, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_bytes(self, node: Bytes, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_amount(self, node: Amount, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_date_time(self, node: DateTime, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_scalar(node, *args, **kwargs)

    def visit_size_prefixed(
        self, node: SizePrefixed, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_fixed_size(self, node: FixedSize, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_sentinel(self, node: Sentinel, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_hidden_prefix(
        self, node: HiddenPrefix, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_hidden_suffix(
        self, node: HiddenSuffix, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_offset(self, node: Offset, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_wrapper(node, *args, **kwargs)

    def visit_option(self, node: Option, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_optional(node, *args, **kwargs)

    def visit_zeroable_option(
        self, node: ZeroableOption, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return self.visit_optional(node, *args, **kwargs)

    def visit_remainder_option(
        self, node: RemainderOption, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return self.visit_optional(node, *args, **kwargs)

    def visit_array(self, node: Array, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_list(node, *args, **kwargs)

    def visit_set(self, node: Set, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_list(node, *args, **kwargs)

    def visit_tuple(self, node: Tuple, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_product(node, *args, **kwargs)

    def visit_struct(self, node: Struct, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.visit_product(node, *args, **kwargs)


# --- recursion without a visitor -------------------------------------------------------------------------------------


def children(node: Type) -> tuple[Type, ...]:
    """Return the types that *node* holds directly. A Link holds its type arguments, not the type it names."""
    return _CHILDREN.visit(node)


def map_children(node: Type, change: Callable[[Type], Type]) -> Type:
    """Return *node* with *change* applied to each of its `children`; everything else stays as it is."""
    return _MAP_CHILDREN.visit(node, change)


def walk(node: Type) -> Iterator[Type]:
    """Yield *node* and every type inside it, each before the types it holds."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def generic_names(node: Type) -> set[str]:
    """Return the names of the generic parameters that *node* uses, as types and as lengths."""
    names = set()
    for part in walk(node):
        if isinstance(part, types.Generic):
            names.add(part.name)
        elif isinstance(part, (Array, Set, Map)) and isinstance(
            part.count, types.Generic
        ):
            names.add(part.count.name)
    return names


class _Children(GroupVisitor[[], tuple[Type, ...]]):
    def nothing(
        self, node: ScalarType | types.Generic | Unsupported
    ) -> tuple[Type, ...]:
        return ()

    def item(self, node: WrapperType | OptionalType | ListType) -> tuple[Type, ...]:
        return (node.item,)

    visit_scalar = visit_generic = visit_unsupported = nothing
    visit_wrapper = visit_optional = visit_list = item

    def visit_product(self, node: ProductType) -> tuple[Type, ...]:
        if isinstance(node, Tuple):
            return node.items
        return tuple(field.type for field in node.fields)

    def visit_map(self, node: Map) -> tuple[Type, ...]:
        return node.key, node.value

    def visit_enum(self, node: Enum) -> tuple[Type, ...]:
        return tuple(v.payload for v in node.variants if v.payload is not None)

    def visit_link(self, node: Link) -> tuple[Type, ...]:
        return tuple(arg.value for arg in node.args if not isinstance(arg.value, int))


Change: TypeAlias = Callable[[Type], Type]


class _MapChildren(GroupVisitor[[Change], Type]):
    def unchanged(
        self, node: ScalarType | types.Generic | Unsupported, change: Change
    ) -> Type:
        return node

    def item(self, node: WrapperType | OptionalType | ListType, change: Change) -> Type:
        return replace(node, item=change(node.item))

    visit_scalar = visit_generic = visit_unsupported = unchanged
    visit_wrapper = visit_optional = visit_list = item

    def visit_product(self, node: ProductType, change: Change) -> Type:
        if isinstance(node, Tuple):
            return Tuple(tuple(map(change, node.items)))
        return Struct(tuple(_with_type(field, change) for field in node.fields))

    def visit_map(self, node: Map, change: Change) -> Type:
        return Map(change(node.key), change(node.value), node.count)

    def visit_enum(self, node: Enum, change: Change) -> Type:
        return Enum(tuple(_with_payload(v, change) for v in node.variants), node.tag)

    def visit_link(self, node: Link, change: Change) -> Type:
        return Link(node.name, tuple(_with_argument(arg, change) for arg in node.args))


def _with_type(field: Field, change: Change) -> Field:
    return Field(field.name, change(field.type), field.docs, field.default)


def _with_payload(variant: Variant, change: Change) -> Variant:
    payload = None if variant.payload is None else change(variant.payload)
    return Variant(variant.name, payload, variant.value, variant.docs)


def _with_argument(arg: TypeArg, change: Change) -> TypeArg:
    return arg if isinstance(arg.value, int) else TypeArg(change(arg.value))


_CHILDREN = _Children()
_MAP_CHILDREN = _MapChildren()

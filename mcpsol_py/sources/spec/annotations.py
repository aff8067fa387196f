"""Type annotations of a spec: `u64`, `list[Pubkey]`, `Array[u8, 32]`, `str | None`, …

To add a generic type, add its origin and a method to `_GENERIC`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, Protocol, Union, get_args, get_origin

from mcpsol_py.errors import UnsupportedType, abbr
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U32,
    Array,
    Bytes,
    Link,
    Map,
    Option,
    Set,
    Tuple,
    Type,
    vec,
)
from mcpsol_py.sources import spec_words as words

__all__ = ["PLAIN", "AnnotationReader"]

PLAIN: dict[object, Type] = {
    bool: BOOL,
    str: BORSH_STRING,
    bytes: BORSH_BYTES,
    words.Pubkey: PUBKEY,
    words.RemainingBytes: Bytes(),
    **words.NUMBERS,
}

_HINTS: dict[object, str] = {
    int: "int has no width: use u8, u16, u32, u64, u128, u256 or an i of these.",
    float: "float has no width: use f32 or f64.",
    list: "give the type of the items: list[u64].",
    tuple: "give the types of the items: tuple[u64, Pubkey].",
}
#: Where classes come from that no spec declares.
_LIBRARIES = sys.stdlib_module_names | {"mcpsol_py"}
_KNOWN_TYPES = (
    "u8 to u256, i8 to i256, f32, f64, bool, str, bytes, Pubkey, list[…], Array[…, n], tuple[…],"
    " dict[…], set[…], … | None, COption[…], your own Struct and Enum classes"
)


def _is_plain(cls: type) -> bool:
    """Return whether a class is the author's own, and of no kind that a spec has."""
    is_own = cls.__module__.partition(".")[0] not in _LIBRARIES
    return is_own and not issubclass(cls, (words.Struct, words.Enum, words.Kind))


class _Definitions(Protocol):
    def link(self, cls: type) -> Link: ...


class AnnotationReader:
    """Reads annotations. Struct and Enum classes are looked up in *definitions*."""

    def __init__(self, definitions: _Definitions) -> None:
        self.definitions = definitions

    def read(self, annotation: object) -> Type:
        """Return the model's type for an annotation. Raises SourceError or UnsupportedType."""
        if isinstance(annotation, type):
            plain = PLAIN.get(annotation)
            if plain is not None:
                return plain
            if issubclass(annotation, (words.Struct, words.Enum)):
                return self.definitions.link(annotation)
        read = _GENERIC.get(get_origin(annotation))
        if read is None:
            self.refuse(annotation)
        return read(self, annotation, get_args(annotation))

    def refuse(self, annotation: object) -> NoReturn:
        if isinstance(annotation, type):
            shown, hint = annotation.__name__, _HINTS.get(annotation)
        else:
            shown, hint = abbr(annotation), None
        if isinstance(annotation, type) and hint is None and _is_plain(annotation):
            hint = f"{shown} is a plain class: write class {shown}(Struct), (Enum) or (Account)."
        general = (
            f"{shown} is not a type of the spec language. Its types: {_KNOWN_TYPES}."
        )
        raise UnsupportedType(hint or general, found=shown)

    def read_annotated(self, annotation: object, args: tuple[Any, ...]) -> Type:
        """`Array[item, count]`, or a type with remarks."""
        item = self.read(args[0])
        length = next((r for r in args[1:] if isinstance(r, words.Length)), None)
        if length is None:
            return item
        count = length.count
        if type(count) is not int or not 0 <= count < 2**32:
            raise UnsupportedType(
                "Array takes a type and a number of items, as in Array[u8, 32], not"
                f" {abbr(count)}.",
                found=abbr(annotation),
            )
        return Array(item, count)

    def read_union(self, annotation: object, args: tuple[Any, ...]) -> Type:
        """`T | None`."""
        given = [a for a in args if a is not type(None)]
        if len(given) != 1 or len(args) != 2:
            raise UnsupportedType(
                "expected a type or `type | None`, got another union. Use an Enum with a variant"
                " for each type.",
                found=abbr(annotation),
            )
        return Option(self.read(given[0]))

    def read_list(self, annotation: object, args: tuple[Any, ...]) -> Type:
        return vec(self.read(args[0]))

    def read_set(self, annotation: object, args: tuple[Any, ...]) -> Type:
        return Set(self.read(args[0]), U32)

    def read_dict(self, annotation: object, args: tuple[Any, ...]) -> Type:
        return Map(self.read(args[0]), self.read(args[1]), U32)

    def read_tuple(self, annotation: object, args: tuple[Any, ...]) -> Type:
        if not args or Ellipsis in args:
            self.refuse(annotation)
        return Tuple(tuple(map(self.read, args)))

    def read_coption(self, annotation: object, args: tuple[Any, ...]) -> Type:
        return Option(self.read(args[0]), U32, fixed=True)


#: Origin of the annotation (typing.get_origin) -> method(reader, annotation, its arguments).
_GENERIC: dict[object, Callable[[AnnotationReader, object, tuple[Any, ...]], Type]] = {
    Annotated: AnnotationReader.read_annotated,
    Union: AnnotationReader.read_union,
    types.UnionType: AnnotationReader.read_union,
    list: AnnotationReader.read_list,
    set: AnnotationReader.read_set,
    frozenset: AnnotationReader.read_set,
    dict: AnnotationReader.read_dict,
    tuple: AnnotationReader.read_tuple,
    words.COption: AnnotationReader.read_coption,
}

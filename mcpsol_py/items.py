"""Picks from collections: the names of items, items by name, the only item, some fields of an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeGuard, TypeVar

__all__ = [
    "items_by_name",
    "names_of",
    "nests_as_deep",
    "only",
    "picked",
    "texts_in",
    "types_by_name",
    "without",
    "without_nulls",
]

#: Values in JSON that hold no others.
_LEAVES = (str, int, float, type(None))

T = TypeVar("T")
V = TypeVar("V")
_Type = TypeVar("_Type", covariant=True)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Typed(_Named, Protocol[_Type]):
    @property
    def type(self) -> _Type: ...


_N = TypeVar("_N", bound=_Named)


def names_of(items: Iterable[_Named]) -> list[str]:
    """Return the names of items, in order."""
    return [item.name for item in items]


def items_by_name(items: Iterable[_N]) -> dict[str, _N]:
    """Return items by their names. The last of several with one name counts."""
    return {item.name: item for item in items}


def types_by_name(items: Iterable[_Typed[V]]) -> dict[str, V]:
    """Return the types of arguments, fields or definitions by name. The last of several counts."""
    return {item.name: item.type for item in items}


def only(items: Sequence[T]) -> T | None:
    """Return the item if there is exactly one, else None."""
    return items[0] if len(items) == 1 else None


def picked(value: Mapping[str, V], keys: Iterable[str]) -> dict[str, V]:
    """Return an object with only these fields, as far as it has them."""
    return {key: value[key] for key in keys if key in value}


def without(fields: Mapping[str, V], *names: str) -> dict[str, V]:
    """Return *fields* but for those of these names."""
    return {name: value for name, value in fields.items() if name not in names}


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without the fields that are None."""
    return {key: part for key, part in value.items() if part is not None}


def nests_as_deep(value: object, levels: int) -> bool:
    """Return whether objects and lists of a JSON value nest *levels* deep or deeper. Looks at them level by level."""
    layer = [value]
    for _ in range(levels):
        holders = [one for one in layer if _may_hold(one)]
        if not holders:
            return False
        layer = [inner for one in holders for inner in _inside(one)]
    return True


def _may_hold(value: object) -> TypeGuard[Mapping[Any, Any] | list[Any]]:
    # Asking whether text is a Mapping takes ten times as long.
    if isinstance(value, _LEAVES):
        return False
    return isinstance(value, (dict, list, Mapping))


def _inside(value: Mapping[Any, Any] | list[Any]) -> Iterable[Any]:
    return value if isinstance(value, list) else value.values()


def texts_in(value: Any) -> Iterator[str]:
    """Give every text in a JSON value, at any depth, but not the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from chain.from_iterable(map(texts_in, value))
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(texts_in, value.values()))

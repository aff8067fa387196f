"""Shapes: the JSON schema of a type, and how a value in that form becomes the codec's.

The converters accept several forms of a value: names in another case, objects for tuples, and lists or objects for
maps. A value that fits no form is returned as it is, so that the codec can refuse it with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mcpsol_py.items import items_by_name, only, without_nulls
from mcpsol_py.names import ByName
from mcpsol_py.schema.schema_parts import opened

__all__ = [
    "Convert",
    "Member",
    "Shape",
    "items_converter",
    "object_converter",
    "pairs_converter",
    "tuple_converter",
    "variant_converter",
]

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A type for one profile.

    `convert` turns a value in the form of `schema` into the codec's (None: it is the same). `nullable`: null is a
    value. `nodes` and `depth`: the size of the schema.
    """

    schema: dict[str, Any]
    convert: Convert | None = None
    nullable: bool = False
    nodes: int = 1
    depth: int = 0

    def converted(self, value: Any) -> Any:
        """Return *value* in the codec's form."""
        if self.convert is None or value is None:
            return value
        return self.convert(value)


@dataclass(frozen=True, slots=True)
class Member:
    """A property of an object: its name in the schema, its `key` in the codec's form, and its type.

    `about` is a description. `needed`: it must be given, unless it may be null.
    """

    name: str
    key: str
    shape: Shape
    about: str = ""
    needed: bool = True

    @property
    def is_required(self) -> bool:
        """Must callers give it?"""
        return self.needed and not self.shape.nullable

    @property
    def is_option(self) -> bool:
        """Is it None if callers leave it out?"""
        return self.needed and self.shape.nullable

    @property
    def has_default(self) -> bool:
        """May callers leave it out, and may it not be null?"""
        return not self.needed and not self.shape.nullable


#: The shape of a value that needs no conversion.
_AS_IS = Shape({})


# --- lists, maps and tuples ------------------------------------------------------------------------------------------


def items_converter(item: Shape) -> Convert | None:
    """Return the converter of a list, or None if its items stay as they are."""
    return None if item.convert is None else _ItemsConverter(item)


@dataclass(frozen=True, slots=True)
class _ItemsConverter:
    item: Shape

    def __call__(self, value: Any) -> Any:
        given = opened(value)
        if not isinstance(given, list):
            return given
        return list(map(self.item.converted, given))


def pairs_converter(key: Shape, value: Shape) -> Convert:
    """Return the converter of a map: from {key, value} objects, [key, value] lists or an object to pairs."""
    return _PairsConverter(key, value)


@dataclass(frozen=True, slots=True)
class _PairsConverter:
    key: Shape
    value: Shape

    def __call__(self, value: Any) -> Any:
        given = opened(value)
        if isinstance(given, dict):
            given = list(given.items())
        if not isinstance(given, list):
            return given
        return list(map(self._pair, given))

    def _pair(self, entry: Any) -> Any:
        if isinstance(entry, dict) and entry.keys() <= {"key", "value"}:
            entry = [entry.get("key"), entry.get("value")]
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            return entry
        key, value = entry
        return [self.key.converted(key), self.value.converted(value)]


def tuple_converter(names: Sequence[str], shapes: Sequence[Shape]) -> Convert:
    """Return the converter of a tuple: from an object with *names*, or a list, to a list."""
    return _TupleConverter(dict(zip(names, shapes, strict=True)))


@dataclass(frozen=True, slots=True)
class _TupleConverter:
    shapes: dict[str, Shape]

    def __call__(self, value: Any) -> Any:
        given = opened(value)
        if isinstance(given, dict) and given.keys() <= self.shapes.keys():
            given = self._in_order(given)
        if not isinstance(given, list) or len(given) != len(self.shapes):
            return given
        members = zip(self.shapes.values(), given, strict=True)
        return [shape.converted(part) for shape, part in members]

    def _in_order(self, given: dict[str, Any]) -> list[Any]:
        """Return the given members as a list. A missing one is left out, or None if null is a value of it."""
        out = []
        for name, shape in self.shapes.items():
            if name in given or shape.nullable:
                out.append(given.get(name))
        return out


# --- enums -----------------------------------------------------------------------------------------------------------


def variant_converter(
    members: Sequence[Member], units: Sequence[str], words: Shape
) -> Convert:
    """Return the converter of an enum: from an object with one of *members*, or a word for one of *units*."""
    known = items_by_name(members)
    known |= {member.key: member for member in members}
    return _VariantConverter(ByName(known), frozenset(units), words)


@dataclass(frozen=True, slots=True)
class _VariantConverter:
    members: ByName[Member]
    #: the variants without a payload
    units: frozenset[str]
    words: Shape

    def __call__(self, value: Any) -> Any:
        given = opened(value)
        if not isinstance(given, dict):
            return self.words.converted(given)
        chosen = _only_item(given)
        if chosen is None:
            return given
        name, payload = chosen
        member = self.members.get(name) or Member(name, name, _AS_IS)
        if member.key in self.units:
            return member.key
        return {member.key: member.shape.converted(payload)}


def _only_item(given: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the only item that is not null, or the only item, or None if there are more or none."""
    return only(list(without_nulls(given).items())) or only(list(given.items()))


# --- objects ---------------------------------------------------------------------------------------------------------


def object_converter(members: Sequence[Member], drops_null: bool) -> Convert | None:
    """Return the converter from properties to the codec's keys, or None if nothing changes.

    It accepts names in other cases, and adds None for absent options. `drops_null`: the schema asks for null in place
    of an absent value, so null for a member with a default is left out.
    """
    with_default = filter(attrgetter("has_default"), members) if drops_null else ()
    converter = _ObjectConverter(
        names=_names_of_members(members),
        shapes={m.key: m.shape for m in members if m.shape.convert},
        options=_keys(filter(attrgetter("is_option"), members)),
        droppable=frozenset(_keys(with_default)),
    )
    changes_names = any(member.name != member.key for member in members)
    return converter if changes_names or converter.changes_values else None


def _keys(members: Iterable[Member]) -> tuple[str, ...]:
    return tuple(member.key for member in members)


@dataclass(frozen=True, slots=True)
class _ObjectConverter:
    #: a property -> its key
    names: ByName[str]
    #: the members whose values change
    shapes: dict[str, Shape]
    #: absent members that become None
    options: tuple[str, ...]
    #: members that are left out if their value is None
    droppable: frozenset[str]

    @property
    def changes_values(self) -> bool:
        return any((self.shapes, self.options, self.droppable))

    def __call__(self, value: Any) -> Any:
        given = opened(value)
        if not isinstance(given, dict):
            return given
        out: dict[str, Any] = {}
        for name, item in given.items():
            key = self.names.get(name) or name
            if key in out:  # given twice, which the codec refuses
                key = name
            if item is None and key in self.droppable:
                continue
            out[key] = self.shapes.get(key, _AS_IS).converted(item)
        for key in self.options:
            out.setdefault(key, None)
        return out


def _names_of_members(members: Sequence[Member]) -> ByName[str]:
    """Return the key of each property, by its name or its key."""
    names = {member.name: member.key for member in members}
    return ByName(names | {member.key: member.key for member in members})

"""Shapes: the JSON schema of a type, and how a value in that form becomes the codec's.

The converters accept several forms of a value: names in another case, objects for tuples, and lists or objects for
maps. A value that fits no form is returned as it is, so that the codec can refuse it with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.names import forms
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


def items_converter(item: Shape) -> Convert | None:
    """Return the converter of a list, or None if its items stay as they are."""
    if item.convert is None:
        return None

    def convert(value: Any) -> Any:
        value = opened(value)
        if not isinstance(value, list):
            return value
        return [item.converted(part) for part in value]

    return convert


def pairs_converter(key: Shape, value: Shape) -> Convert:
    """Return the converter of a map: from {key, value} objects, [key, value] lists or an object to pairs."""

    def pair(entry: Any) -> Any:
        if isinstance(entry, dict) and entry.keys() <= {"key", "value"}:
            entry = [entry.get("key"), entry.get("value")]
        if isinstance(entry, (list, tuple)) and len(entry) == 2:
            return [key.converted(entry[0]), value.converted(entry[1])]
        return entry

    def convert(given: Any) -> Any:
        given = opened(given)
        if isinstance(given, dict):
            given = list(given.items())
        if not isinstance(given, list):
            return given
        return [pair(entry) for entry in given]

    return convert


def tuple_converter(names: Sequence[str], shapes: Sequence[Shape]) -> Convert:
    """Return the converter of a tuple: from an object with *names*, or a list, to a list."""

    def convert(value: Any) -> Any:
        value = opened(value)
        if isinstance(value, dict) and value.keys() <= set(names):
            members = zip(names, shapes, strict=True)
            value = [value.get(name) for name, shape in members if name in value or shape.nullable]
        if isinstance(value, list) and len(value) == len(shapes):
            return [shape.converted(part) for shape, part in zip(shapes, value, strict=True)]
        return value

    return convert


def variant_converter(members: Sequence[Member], units: Sequence[str], words: Shape) -> Convert:
    """Return the converter of an enum: from an object with one of *members*, or a word for one of *units*."""
    known = {member.name: member for member in members}
    known |= {member.key: member for member in members}
    units_without_payload = frozenset(units)

    def convert(value: Any) -> Any:
        value = opened(value)
        if not isinstance(value, dict):
            return words.convert(value) if words.convert else value
        chosen = {name: payload for name, payload in value.items() if payload is not None}
        if len(chosen) != 1 and len(value) == 1:
            chosen = value
        if len(chosen) != 1:
            return value
        ((name, payload),) = chosen.items()
        member = known.get(name)
        key = name if member is None else member.key
        if key in units_without_payload:
            return key
        return {key: payload if member is None else member.shape.converted(payload)}

    return convert


def object_converter(members: Sequence[Member], drops_null: bool) -> Convert | None:
    """Return the converter from properties to the codec's keys, or None if nothing changes.

    It accepts names in other cases, and adds None for absent options. `drops_null`: the schema asks for null in place
    of an absent value, so null for a member with a default is left out.
    """
    names = _names_of_members(members)
    shapes = {m.key: m.shape for m in members if m.shape.convert}
    absent = [m.key for m in members if m.shape.nullable and m.needed]
    defaults = frozenset(
        m.key for m in members if drops_null and not m.needed and not m.shape.nullable
    )
    same_names = all(m.name == m.key for m in members)
    if same_names and not shapes and not absent and not defaults:
        return None

    def convert(value: Any) -> Any:
        value = opened(value)
        if not isinstance(value, dict):
            return value
        out: dict[str, Any] = {}
        for given, item in value.items():
            key: str = names[given] if given in names else str(given)
            if item is None and key in defaults:
                continue
            out[key] = shapes[key].converted(item) if key in shapes else item
        for key in absent:
            out.setdefault(key, None)
        return out

    return convert


def _names_of_members(members: Sequence[Member]) -> dict[str, str]:
    """Return every way to write a property -> its key. Exact names win over names in another case."""
    names: dict[str, str] = {}
    for member in members:
        for form in forms(member.key):
            names.setdefault(form, member.key)
    names |= {member.name: member.key for member in members}
    names |= {member.key: member.key for member in members}
    return names

"""Puts the fields of struct arguments that were given flat back under their argument.

Codama shows the fields of a struct argument beside the other arguments, and leaves out a struct
without fields. Callers may give arguments in that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from mcpsol_py.items import only
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Field, Struct
from mcpsol_py.names import by_name

__all__ = ["nest_arguments"]

Fields: TypeAlias = tuple[Field, ...]


def nest_arguments(
    given: Mapping[str, Any], arguments: Fields, resolver: Resolver
) -> Mapping[str, Any]:
    """Return *given* with flat fields moved into an object under their argument's name.

    Returns *given* as it is if one of its keys belongs to no argument, or to several.
    """
    absent = _absent_structs(given, arguments, resolver)
    known = by_name(argument.name for argument in arguments)
    nested: dict[str, dict[str, Any]] = {
        name: {} for name, fields in absent.items() if _all_optional(fields)
    }
    rest: dict[str, Any] = {}
    for key, value in given.items():
        if key in known:
            rest[key] = value
            continue
        owner = _only_owner(absent, key)
        if owner is None:
            return given
        nested.setdefault(owner, {})[key] = value
    return {**rest, **nested} if nested else given


def _absent_structs(
    given: Mapping[str, Any], arguments: Fields, resolver: Resolver
) -> dict[str, Fields]:
    """Return the struct arguments that must be given and are not: name -> fields."""
    absent: dict[str, Fields] = {}
    spellings = by_name(argument.name for argument in arguments)
    named = set(map(spellings.get, given))
    for argument in arguments:
        if argument.default is not None or argument.name in named:
            continue
        body = resolver.target(argument.type)
        if isinstance(body, Struct):
            absent[argument.name] = body.fields
    return absent


def _all_optional(fields: Fields) -> bool:
    return all(field.default is not None for field in fields)


def _only_owner(absent: Mapping[str, Fields], key: str) -> str | None:
    """Return the name of the one struct that has a field *key*, or None."""
    owners = [name for name, fields in absent.items() if _has_field(fields, key)]
    return only(owners)


def _has_field(fields: Fields, key: str) -> bool:
    return key in by_name(field.name for field in fields)

"""Puts the fields of struct arguments that were given flat back under their argument.

Codama shows the fields of a struct argument beside the other arguments, and leaves out a struct
without fields. Callers may give arguments in that form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from mcpsol_py.items import only
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Field, Struct
from mcpsol_py.names import by_name

__all__ = ["FlatArguments"]

Fields: TypeAlias = tuple[Field, ...]


class FlatArguments:
    """The arguments of one instruction, whose struct arguments may be given flat."""

    def __init__(self, arguments: Fields, resolver: Resolver) -> None:
        self._names = by_name(argument.name for argument in arguments)
        targets = {
            argument.name: resolver.target(argument.type)
            for argument in arguments
            if argument.default is None
        }
        #: the fields of the struct arguments that must be given
        self._structs = {
            name: body.fields
            for name, body in targets.items()
            if isinstance(body, Struct)
        }

    def nest(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return *given* with flat fields moved into an object under their argument's name.

        Returns *given* as it is if one of its keys belongs to no argument, or to several.
        """
        absent = self._absent_structs(given)
        if not absent:
            return given
        nested: dict[str, dict[str, Any]] = {
            name: {} for name, fields in absent.items() if _all_optional(fields)
        }
        rest: dict[str, Any] = {}
        for key, value in given.items():
            if key in self._names:
                rest[key] = value
                continue
            owner = _only_owner(absent, key)
            if owner is None:
                return given
            nested.setdefault(owner, {})[key] = value
        return {**rest, **nested}

    def _absent_structs(self, given: Iterable[str]) -> dict[str, Fields]:
        """Return the struct arguments that must be given and are not: name -> fields."""
        if not self._structs:
            return {}
        named = set(map(self._names.get, given))
        return {
            name: fields for name, fields in self._structs.items() if name not in named
        }


def _all_optional(fields: Fields) -> bool:
    return all(field.default is not None for field in fields)


def _only_owner(absent: Mapping[str, Fields], key: str) -> str | None:
    """Return the name of the one struct that has a field *key*, or None."""
    owners = [name for name, fields in absent.items() if _has_field(fields, key)]
    return only(owners)


def _has_field(fields: Fields, key: str) -> bool:
    return key in by_name(field.name for field in fields)

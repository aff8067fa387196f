"""Follows a path of names into a decoded or given value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from mcpsol_py.names import ByName
from mcpsol_py.whole_numbers import whole_number

__all__ = ["item_at", "member_at"]

_Item = TypeVar("_Item")


def member_at(value: Any, path: Sequence[str]) -> Any:
    """Return the part of *value* at *path*, or None if it does not exist.

    Fields are named in any case style, list items by number.
    """
    for step in path:
        value = _member(value, step)
    return value


def item_at(items: Sequence[_Item], step: str) -> _Item | None:
    """Return the item whose number is the text *step*, or None if *items* has no such item."""
    index = whole_number(step, len(items) - 1)
    return None if index is None else items[index]


def _member(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return ByName({str(key): part for key, part in value.items()}).get(step)
    return item_at(value, step) if isinstance(value, (list, tuple)) else None

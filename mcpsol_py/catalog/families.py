"""Families: the versions of one program, so that search counts a program once.

A program at an address is its own family. An IDL without an address joins the program of the same name with most of
its instructions; so it is shown as a version of it in search, but can not be called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mcpsol_py.catalog.index import Entry
from mcpsol_py.names import letters

__all__ = ["families"]

#: The share of the smaller program's instructions that two versions have in common.
_COMMON = 0.6


def families(entries: Iterable[Entry]) -> Iterator[Sequence[Entry]]:
    """Group *entries*, of which preferred ones come first, into families. Each entry gets the family's key."""
    groups: dict[str, list[Entry]] = {}
    by_name: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda one: one.text.address is None):
        key = entry.text.address or _family_of(entry, by_name, groups) or f"source:{entry.entry}"
        groups.setdefault(key, []).append(replace(entry, family=key))
        names = by_name.setdefault(letters(entry.text.name), [])
        if key not in names:
            names.append(key)
    yield from groups.values()


def _family_of(
    entry: Entry, by_name: dict[str, list[str]], groups: dict[str, list[Entry]]
) -> str | None:
    mine = _instruction_names(entry)
    for key in by_name.get(letters(entry.text.name), ()):
        theirs = _instruction_names(groups[key][0])
        smaller = min(len(mine), len(theirs))
        if smaller and len(mine & theirs) >= _COMMON * smaller:
            return key
    return None


def _instruction_names(entry: Entry) -> frozenset[str]:
    return frozenset(letters(ix.name) for ix in entry.text.instructions)

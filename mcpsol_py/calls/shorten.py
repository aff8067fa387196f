"""Shortens large JSON values to what a client's context can take, and says which parts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

__all__ = ["shorten"]

#: Bytes in hex, as fields of accounts write them.
_HEX = re.compile(r"0x(?:[0-9a-f]{2})*")
#: Items of a list and characters of a text that are tried, until the value fits.
_STEPS = ((200, 4_000), (50, 1_000), (10, 200), (2, 50), (0, 20))
_MOST_NOTES = 20


def shorten(value: Any, room: int) -> tuple[Any, list[str]]:
    """Return *value* in at most about *room* characters of JSON, and a note for each part that lost something.

    Lists keep their first items, texts and bytes their beginning. Names and numbers stay as they are, so an object of
    very many fields may stay larger.
    """
    if len(orjson.dumps(value)) <= room:
        return value, []
    for items, characters in _STEPS:
        cutter = _Cutter(items, characters)
        short = cutter.cut(value, "")
        if len(orjson.dumps(short)) <= room:
            break
    return short, list(cutter.noted())


@dataclass(slots=True)
class _Cutter:
    """Cuts the lists and texts of a value at these limits."""

    items: int
    characters: int
    notes: list[str] = field(default_factory=list)

    def cut(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {key: self.cut(part, f"{path}.{key}") for key, part in value.items()}
        if isinstance(value, list):
            return self._cut_list(value, path)
        if isinstance(value, str) and len(value) > self.characters:
            return self._cut_text(value, path)
        return value

    def _cut_list(self, value: list[Any], path: str) -> list[Any]:
        if len(value) > self.items:
            self.notes.append(_note(path, self.items, len(value), "items"))
        return [
            self.cut(part, f"{path}[{place}]")
            for place, part in enumerate(value[: self.items])
        ]

    def _cut_text(self, value: str, path: str) -> str:
        if _HEX.fullmatch(value):
            shown = self.characters // 2 - 1
            self.notes.append(_note(path, shown, len(value) // 2 - 1, "bytes"))
            return value[: 2 + 2 * shown]
        self.notes.append(_note(path, self.characters, len(value), "characters"))
        return value[: self.characters]

    def noted(self) -> Iterator[str]:
        """Yield the notes, and how many more there are."""
        yield from self.notes[:_MOST_NOTES]
        if len(self.notes) > _MOST_NOTES:
            yield f"{len(self.notes) - _MOST_NOTES:,} more parts are shortened"


def _note(path: str, shown: int, total: int, what: str) -> str:
    return f"{path.removeprefix('.') or 'the value'}: the first {shown:,} of {total:,} {what}"

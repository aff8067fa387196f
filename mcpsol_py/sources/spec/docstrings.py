"""Docstrings of specs, in Google's style: free text, then "Args:", "Attributes:", "When to use:"."""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass, field

__all__ = ["SpecDocs", "docs_of"]

_ITEM_SECTIONS = ("args:", "arguments:", "accounts:", "attributes:", "fields:", "variants:")
_WHEN_SECTIONS = ("when to use:", "use when:")
_OTHER_SECTIONS = ("returns:", "raises:")
_SECTIONS = frozenset((*_ITEM_SECTIONS, *_WHEN_SECTIONS, *_OTHER_SECTIONS))


@dataclass
class ItemDocs:
    """The docs of a parameter or attribute; `unit` says what a number counts ("lamports")."""

    unit: str
    text: str


@dataclass
class SpecDocs:
    """A docstring: its free text and its sections."""

    text: tuple[str, ...] = ()
    when: str = ""
    #: by parameter or attribute
    items: dict[str, ItemDocs] = field(default_factory=dict)

    def lines_of(self, name: str) -> tuple[str, ...]:
        """Return the docs of one parameter or attribute."""
        item = self.items.get(name)
        return (item.text,) if item and item.text else ()

    def unit_of(self, name: str) -> str:
        """Return the unit of one parameter, or ""."""
        item = self.items.get(name)
        return item.unit if item else ""


def docs_of(obj: object) -> SpecDocs:
    """Read the docstring of a class or function. An item is `name: text` or `name (unit): text`."""
    raw = obj.__doc__ if isinstance(obj, (type, types.FunctionType)) else None
    reader = _DocstringReader()
    for line in inspect.cleandoc(raw or "").splitlines():
        reader.read(line)
    return reader.docs()


class _DocstringReader:
    """Reads a docstring line by line."""

    def __init__(self) -> None:
        self.out = SpecDocs()
        self.text: list[str] = []
        self.section = ""
        self.item: ItemDocs | None = None

    def docs(self) -> SpecDocs:
        while self.text and not self.text[-1]:
            self.text.pop()
        self.out.text = tuple(self.text)
        return self.out

    def read(self, line: str) -> None:
        bare = line.strip()
        if bare and not line.startswith(" "):
            self._read_outer(bare)
        elif not self.section:
            self.text.append(bare)
        elif bare:
            self._read_inner(bare)

    def _read_outer(self, bare: str) -> None:
        """Read a line that is not indented: the title of a section, or free text."""
        self.item = None
        if bare.lower() in _SECTIONS:
            self.section = bare.lower()
            return
        self.section = ""
        self.text.append(bare)

    def _read_inner(self, bare: str) -> None:
        """Read an indented line of a section."""
        if self.section in _WHEN_SECTIONS:
            self.out.when = f"{self.out.when} {bare}".strip()
        elif self.section in _ITEM_SECTIONS:
            self._read_item(bare)

    def _read_item(self, bare: str) -> None:
        head, colon, rest = bare.partition(":")
        name, _, unit = head.partition(" (")
        starts_item = colon and name.isidentifier() and (not unit or unit.endswith(")"))
        if starts_item:
            self.item = ItemDocs(unit.removesuffix(")"), rest.strip())
            self.out.items[name] = self.item
        elif self.item is not None:
            self.item.text = f"{self.item.text} {bare}".strip()

"""Docstrings of specs, in Google's style: free text, then "Args:", "Attributes:", "When to use:"."""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import dataclass, field

__all__ = ["SpecDocs", "docs_of"]

_ITEM_SECTIONS = (
    "args:",
    "arguments:",
    "accounts:",
    "attributes:",
    "fields:",
    "variants:",
)
_WHEN_SECTIONS = ("when to use:", "use when:")
_OTHER_SECTIONS = ("returns:", "raises:")
#: `name: text` or `name (unit): text`.
_ITEM = re.compile(r"(?P<name>[^\W\d]\w*)(?: \((?P<unit>[^:]*)\))?:(?P<text>.*)")
_SECTIONS = frozenset((*_ITEM_SECTIONS, *_WHEN_SECTIONS, *_OTHER_SECTIONS))


@dataclass(frozen=True)
class ItemDocs:
    """The docs of a parameter or attribute; `unit` says what a number counts ("lamports")."""

    unit: str
    text: str


_NO_DOCS = ItemDocs("", "")


@dataclass
class SpecDocs:
    """A docstring: its free text and its sections."""

    text: tuple[str, ...] = ()
    when: str = ""
    #: by parameter or attribute
    items: dict[str, ItemDocs] = field(default_factory=dict)

    def lines_of(self, name: str) -> tuple[str, ...]:
        """Return the docs of one parameter or attribute."""
        text = self.items.get(name, _NO_DOCS).text
        return (text,) if text else ()

    def unit_of(self, name: str) -> str:
        """Return the unit of one parameter, or ""."""
        return self.items.get(name, _NO_DOCS).unit


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
        #: the item that an indented line continues
        self.name = ""

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
        self.name = ""
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
        found = _ITEM.fullmatch(bare)
        if found:
            self.name = found["name"]
            self.out.items[self.name] = ItemDocs(
                found["unit"] or "", found["text"].strip()
            )
        elif self.name:
            item = self.out.items[self.name]
            self.out.items[self.name] = ItemDocs(
                item.unit, f"{item.text} {bare}".strip()
            )

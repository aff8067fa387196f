"""The content of an explorer page as data: facts, tables and text, without markup.

A part of the bridge adds pages of its own (payments, for example) with a `Section`. Its title is
shown in the navigation, and the explorer renders, cleans and escapes its content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = [
    "Block",
    "Cell",
    "CellKind",
    "FactsBlock",
    "Filter",
    "FilterField",
    "PageContent",
    "PageState",
    "Section",
    "TableBlock",
    "TextBlock",
]

#: code: an address, a hash, a number to copy; number: aligned right; good and bad: an outcome
CellKind = Literal["text", "code", "number", "good", "bad"]
#: Colours the first paragraph of a page.
PageState = Literal["", "good", "bad"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with its kind and its link ("/tools/vault_deposit"). `note` is shown after it."""

    text: str
    kind: CellKind = "text"
    href: str = ""
    #: For example the name of an address.
    note: str = ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table under a heading. `empty` is shown if it has no rows."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = "None yet."


@dataclass(frozen=True, slots=True)
class FactsBlock:
    """Names and values under a heading, which may be ""."""

    heading: str
    rows: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Preformatted text. If it is `folded`, only its heading is shown until it is opened."""

    heading: str
    text: str
    folded: bool = False


Block = TableBlock | FactsBlock | TextBlock


@dataclass(frozen=True, slots=True)
class FilterField:
    """An input of a filter: a choice among `choices`, as (value, text), or free text without `choices`."""

    name: str
    label: str
    value: str = ""
    choices: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """A form that loads the page at `path` again with what was chosen. `label` names it for screen readers."""

    path: str
    label: str
    fields: Sequence[FilterField]
    button: str = "Filter"


@dataclass(frozen=True, slots=True)
class PageContent:
    """A page: a heading, an introduction (`about`), a filter and blocks. `back` is its breadcrumb as (path, title)."""

    heading: str
    about: str
    blocks: Sequence[Block] = ()
    state: PageState = ""
    filter: Filter | None = None
    back: Sequence[tuple[str, str]] = ()


class Section(Protocol):
    """Pages at /<slug> and below. They only show things: a request never changes anything."""

    #: Lower-case letters, digits and hyphens; not one of the explorer's own paths.
    slug: str
    #: Shown in the navigation.
    title: str
    #: Whether only operators of the bridge see it.
    for_operators: bool

    async def page(
        self, path: Sequence[str], query: Mapping[str, str]
    ) -> PageContent | None:
        """Return the page at /<slug>/<path…>, or None for an unknown path.

        Raises McpsolError, which is shown to the reader.
        """

"""What a page of the explorer says, as data: whoever has something to show people writes no markup.

A part of the bridge that wants pages of its own (payments, say) gives a `Section`; its title stands in the navigation,
and `explorer.py` renders what it answers. All text is escaped and cleaned there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Block", "Cell", "Content", "Facts", "Section", "Table", "Text"]

#: code: an address, a hash, a number to copy; number: set to the right; good and bad: an outcome
Kind = Literal["text", "code", "number", "good", "bad"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with how it is meant, and where it leads ("/tools/vault_deposit")."""

    text: str
    kind: Kind = "text"
    href: str = ""
    #: an address of a known owner is shown by its name too
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a heading; `empty` is said where there are none."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = "None yet."


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values under a heading ("" for none)."""

    heading: str
    rows: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it is, line by line. `folded`: shown when it is asked for."""

    heading: str
    text: str
    folded: bool = False


Block = Table | Facts | Text


@dataclass(frozen=True, slots=True)
class Content:
    """A page. `state` colours what it says first: "good" or "bad"."""

    heading: str
    about: str
    blocks: Sequence[Block] = ()
    state: Literal["", "good", "bad"] = ""


class Section(Protocol):
    """Pages of a part of the bridge, at /<slug> and below it. They only show: a browser's request changes nothing."""

    #: lower case letters, digits and hyphens; none of the explorer's own
    slug: str
    #: in the navigation
    title: str

    async def page(self, path: Sequence[str], query: Mapping[str, str]) -> Content | None:
        """The page at /<slug>/<path…>, or None where there is none. Raises McpsolError, which is shown."""

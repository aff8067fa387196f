"""Writes tools as pages of at most 1,024 bytes (docs/wire.md); pages_read.py reads them.

JSON pages have the cursors 0, 1, 2, … and name their next cursor. The tools come first, as many to a page as fit, in
the form that mcpsol's own clients read. Everything about them that only readers of this format know follows under
"more", then the types of arguments. A part that is larger than a page is split. The stream (stream.py) has high
cursors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from mcpsol_py.errors import PageTooLarge
from mcpsol_py.items import picked, without
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.types import TypeDef
from mcpsol_py.schema.pages_read import (
    MAX_PAGES,
    Page,
    read_page,
    read_pages,
    read_schema,
)
from mcpsol_py.schema.stream import PAGE_LIMIT, STREAM_BASE, StreamRef, stream
from mcpsol_py.schema.tool import Tool, needed_types, tool_of
from mcpsol_py.schema.wire import GUARD, VERSION, text_of
from mcpsol_py.schema.wire_write import write_compact, write_verbose

__all__ = [
    "Page",
    "PageSet",
    "compact_document",
    "page_set",
    "read_page",
    "read_pages",
    "read_schema",
    "write_pages",
]

Form = Literal["compact", "verbose"]
Descriptions = Literal["full", "short", "none"]

_NAME_LIMIT = 64  # of a program's name, which every page has, and of a split tool's

_WRITERS: dict[Form, Callable[[Tool, Resolver], dict[str, Any]]] = {
    "compact": write_compact,
    "verbose": write_verbose,
}


@dataclass(frozen=True, slots=True)
class PageSet:
    """All answers of a program to list_tools: JSON pages at cursors 0, 1, …, stream pages at `stream_base`,
    `stream_base` + 1, …
    """

    json_pages: list[bytes]
    stream_pages: list[bytes] = field(default_factory=list)
    stream_base: int = STREAM_BASE

    def get(self, cursor: int | None = None) -> bytes:
        """Return the page at *cursor*; None means page 0.

        Empty for any other cursor: the program then sets no return data and fails with InvalidInstructionData.
        """
        place = cursor or 0
        pages = self.json_pages
        if place >= self.stream_base:
            place -= self.stream_base
            pages = self.stream_pages
        return pages[place] if place in range(len(pages)) else b""


def page_set(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> PageSet:
    """Return all pages of *model*: the JSON pages, and with *lossless* the stream, which page 0 then names.

    Raises PageTooLarge, SchemaError.
    """
    stream_pages, ref = stream(model) if lossless else ([], None)
    json_pages = write_pages(
        model, form=form, descriptions=descriptions, stream_ref=ref
    )
    return PageSet(json_pages, stream_pages)


def write_pages(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    stream_ref: StreamRef | None = None,
) -> list[bytes]:
    """Return the JSON pages of *model*, each at most 1,024 bytes, for the cursors 0, 1, …; at least one.

    *descriptions*: "full", "short" (the first sentence of each) or "none". *stream_ref*: the lossless stream that page
    0 names. Raises PageTooLarge for a tool whose name and discriminator alone do not fit.
    """
    packer = _Packer(model, stream_ref)
    more: list[bytes] = []
    for i, (name, row) in enumerate(_tool_rows(model, form, descriptions)):
        # Any tool may be the first one of page 0, which has less room.
        fitted, rest = _Row(row, name).fit(packer.room - len(packer.extra))
        packer.add("tools", [fitted])
        if rest:
            more += _whole_or_parts([i], rest, packer.room)
    packer.add("more", more)
    for definition in needed_types(model):
        packer.add("types", _whole_or_parts([], _type_row(definition), packer.room))
    return packer.finish()


def compact_document(
    model: ProgramModel, *, descriptions: Descriptions = "full"
) -> dict[str, Any]:
    """Return all tools in one compact document {"v", "name", "x", "tools", "types"} without the limit of a page."""
    document = _head(model)
    if model.facade_of is not None:
        document["facade"] = model.facade_of
    document["tools"] = [row for _, row in _tool_rows(model, "compact", descriptions)]
    types = list(map(_type_row, needed_types(model)))
    if types:
        document["types"] = types
    return document


def _head(model: ProgramModel) -> dict[str, Any]:
    return {"v": VERSION, "name": text_of(model.name, _NAME_LIMIT), "x": 1}


def _tool_rows(
    model: ProgramModel, form: Form, descriptions: Descriptions
) -> list[tuple[str, dict[str, Any]]]:
    resolver = Resolver(model)
    write = _WRITERS[form]
    rows = []
    for ix in model.instructions:
        tool = tool_of(ix, descriptions)
        if model.facade_of is not None:
            tool = replace(tool, description=_with_program(tool, model.facade_of))
        rows.append((tool.name, write(tool, resolver)))
    return rows


def _with_program(tool: Tool, behind: str) -> str:
    """Return the description of a facade's tool with a line that names the program behind, its first account.

    mcpsol's clients do not know facades; this line is all that they show of it.
    """
    line = f"{tool.accounts[0].name}: {behind}"
    if tool.description.endswith(line):  # the model was read from pages of a facade
        return tool.description
    return f"{tool.description}\n{line}" if tool.description else line


def _type_row(definition: TypeDef) -> dict[str, Any]:
    """Return a type definition as pages carry it: without docs, and without the words of its source."""
    row = to_json(replace(definition, docs=(), declared=(), shape="struct"))
    assert isinstance(row, dict)
    return row


def _dump(value: Any) -> bytes:
    return orjson.dumps(value)


def _next(cursor: int) -> bytes:
    return b',"nextCursor":"%d"}' % cursor


# --- one tool that fits on a page ------------------------------------------------------------------------------------


class _Row:
    """A tool's row, and the ways to make it smaller.

    "x" never stays in the row, so that the tools take few pages. If the rest is too large for a page, the description
    is cut; if that is not enough, the details of verbose parameters move to "more"; and at last all parameters do, and
    the guard replaces them.
    """

    def __init__(self, row: dict[str, Any], name: str) -> None:
        self.tool_name = name
        self.is_compact = "n" in row
        self.full = without(row, "x")
        self.extras = {"x": row["x"]} if "x" in row else {}
        self.name_key = _key(row, "name", "n")
        self.description_key = _key(row, "description", "i")
        self.parameters_key = _key(row, "parameters", "p")

    def fit(self, room: int) -> tuple[bytes, dict[str, Any]]:
        """Return the row as JSON of at most *room* bytes, and the members that follow under "more".

        Raises PageTooLarge.
        """
        for candidate in self._ever_smaller():
            data = _dump(candidate)
            if len(data) <= room:
                return data, self._left_out(candidate)
        raise PageTooLarge(self.tool_name, len(data) + PAGE_LIMIT - room)

    def _ever_smaller(self) -> Iterator[dict[str, Any]]:
        """Yield the row in the forms of `fit`, from the whole row to its stub."""
        for candidate in (self.full, self._without_details()):
            yield candidate
            yield self._with_short_description(candidate)
            yield self._without_description(candidate)
        yield self._stub()

    def _left_out(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the members that *row* lacks or has shortened, and "x"."""
        changed = {
            key: value for key, value in self.full.items() if row.get(key) != value
        }
        return changed | self.extras

    def _with_short_description(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.description_key not in row:
            return row
        return row | {self.description_key: text_of(row[self.description_key], 100)}

    def _without_description(self, row: dict[str, Any]) -> dict[str, Any]:
        out = dict(row)
        out.pop(self.description_key, None)
        return out

    def _without_details(self) -> dict[str, Any]:
        """Return the row with only the type and flags of each verbose parameter. Compact ones have no details."""
        if self.is_compact or self.parameters_key not in self.full:
            return self.full
        full = self.full[self.parameters_key]
        bare = {name: _type_and_flags(details) for name, details in full.items()}
        return self.full | {self.parameters_key: bare}

    def _stub(self) -> dict[str, Any]:
        """Return the row with a short name and description, and the guard in place of all parameters."""
        stub = dict(self._with_short_description(self.full))
        stub[self.name_key] = text_of(stub[self.name_key], _NAME_LIMIT)
        if self.parameters_key in stub:
            stub[self.parameters_key] = {
                GUARD: "x" if self.is_compact else {"type": "x"}
            }
            stub["r"] = [GUARD]
        return stub


def _type_and_flags(details: dict[str, Any]) -> dict[str, Any]:
    return picked(details, ("type", "signer", "writable"))


def _key(row: dict[str, Any], verbose: str, compact: str) -> str:
    return verbose if verbose in row else compact


# --- parts of what does not fit --------------------------------------------------------------------------------------


def _whole_or_parts(head: list[Any], value: dict[str, Any], room: int) -> list[bytes]:
    """Return [*head, value], or if that is too large its parts: [*head, place, number of parts, piece of its text]."""
    whole = _dump([*head, value] if head else value)
    if len(whole) <= room:
        return [whole]
    room_for_text = room - len(_dump([*head, 9999, 9999, ""]))
    pieces = _pieces(_dump(value).decode(), room_for_text)
    return [_dump([*head, i, len(pieces), piece]) for i, piece in enumerate(pieces)]


#: The characters that JSON writes as they are, in one byte.
_ONE_BYTE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def _pieces(text: str, room: int) -> list[str]:
    """Split *text* into pieces that take at most *room* bytes each inside a JSON string."""
    out: list[str] = []
    start, size = 0, 0
    for i, char in enumerate(text):
        cost = 1 if char in _ONE_BYTE else len(_dump(char)) - 2
        if size + cost > room:
            out.append(text[start:i])
            start, size = i, 0
        size += cost
    return [*out, text[start:]]


# --- packing ---------------------------------------------------------------------------------------------------------


class _Packer:
    """Packs rows into pages, in order, each page as full as possible."""

    def __init__(self, model: ProgramModel, stream_ref: StreamRef | None) -> None:
        self.head = _dump(_head(model))[:-1]
        #: what only page 0 has
        self.extra = b""
        if model.facade_of is not None:
            self.extra += b',"facade":' + _dump(model.facade_of)
        if stream_ref is not None:
            self.extra += b',"stream":' + _dump(stream_ref.to_json())
        frame = len(self.head) + len(b',"tools":[],"types":[]') + len(_next(MAX_PAGES))
        #: the bytes that one row may take
        self.room = PAGE_LIMIT - frame
        self.items: list[tuple[str, bytes]] = []

    def add(self, key: str, rows: list[bytes]) -> None:
        """Add *rows* to the list *key* of a page or several."""
        self.items += [(key, row) for row in rows]

    def finish(self) -> list[bytes]:
        """Return the pages."""
        pages: list[bytes] = []
        page: dict[str, list[bytes]] = {"tools": []}
        size = len(self._page(page, 0, is_last=False))
        for i, (key, row) in enumerate(self.items):
            is_last_item = i == len(self.items) - 1
            is_full = size + _cost(page, key, row) > self._limit(
                len(pages), is_last_item
            )
            if is_full and any(page.values()):
                pages.append(self._page(page, len(pages), is_last=False))
                page = {"tools": []}
                size = len(self._page(page, len(pages), is_last=False))
            size += _cost(page, key, row)
            page.setdefault(key, []).append(row)
        pages.append(self._page(page, len(pages), is_last=True))
        if len(pages) > MAX_PAGES:
            raise PageTooLarge(
                "the whole schema", sum(map(len, pages)), MAX_PAGES * PAGE_LIMIT
            )
        return pages

    def _limit(self, cursor: int, is_last_item: bool) -> int:
        """Return the size that a page with a next cursor may have. The last page names none, which leaves room."""
        return PAGE_LIMIT + (len(_next(cursor + 1)) - 1 if is_last_item else 0)

    def _page(
        self, page: dict[str, list[bytes]], cursor: int, *, is_last: bool
    ) -> bytes:
        extra = self.extra if cursor == 0 else b""
        end = b"}" if is_last else _next(cursor + 1)
        lists = [
            b',"%s":[%s]' % (key.encode(), b",".join(rows))
            for key, rows in page.items()
        ]
        return self.head + b"".join(lists) + extra + end


def _cost(page: dict[str, list[bytes]], key: str, row: bytes) -> int:
    """Return the bytes that *row* adds to *page*: itself, and a comma or the frame of a new list."""
    if page.get(key):
        return len(row) + 1
    if key in page:
        return len(row)
    return len(row) + len(key) + 6

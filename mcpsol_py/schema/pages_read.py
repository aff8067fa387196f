"""Reads JSON pages, ours or mcpsol's, into tools and types (docs/wire.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from mcpsol_py.errors import MalformedPage, SourceError
from mcpsol_py.model.serial import from_json
from mcpsol_py.model.types import TypeDef
from mcpsol_py.schema.stream import STREAM_BASE, StreamRef
from mcpsol_py.schema.tool import Schema, Tool
from mcpsol_py.schema.wire import text_of, text_or_empty
from mcpsol_py.schema.wire_read import read_tool

__all__ = [
    "MAX_PAGE",
    "MAX_PAGES",
    "MAX_ROWS",
    "Page",
    "read_page",
    "read_pages",
    "read_schema",
]

#: The largest page that `read_page` accepts by default, in bytes.
MAX_PAGE = 64 * 1024
#: The most JSON pages, tools and types, and characters of split rows that one schema may have.
MAX_PAGES = STREAM_BASE
MAX_ROWS = 8192
MAX_SPLIT = 4 * 1024 * 1024

_CURSOR = re.compile("[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Page:
    """One JSON page as it was read.

    `tools`, `more`, `types`: its rows, which `read_schema` interprets. `ours`: the page is in our format, so its keys
    have the meaning of docs/wire.md. `next_cursor`: None on the last page. `stream`: the place of the lossless stream.
    """

    cursor: int
    name: str
    tools: list[Any]
    more: list[Any]
    types: list[Any]
    ours: bool
    next_cursor: int | None
    stream: StreamRef | None
    version: str
    #: the parameters of tools whose JSON keys repeat: place in `tools` -> pairs in order
    pairs: dict[int, list[tuple[str, Any]]] = field(default_factory=dict)
    #: on page 0 of a facade: the program behind it
    facade: str | None = None


# --- one page --------------------------------------------------------------------------------------------------------


def read_page(data: bytes, cursor: int = 0, *, limit: int = MAX_PAGE) -> Page:
    """Return the JSON page in *data*.

    Accepts zeros after it, control characters in its strings, and repeated keys. Raises MalformedPage if *data* is not
    a page, or if its next cursor is not a number from 0 to 65535.
    """
    data = bytes(data).rstrip(b"\0")
    if len(data) > limit:
        raise MalformedPage(
            cursor, f"{len(data):,} bytes; at most {limit:,} are read", data
        )
    document = _load(data, cursor)
    if not isinstance(document, dict) or not isinstance(document.get("tools"), list):
        raise MalformedPage(cursor, 'expected an object with a list of "tools"', data)
    ours = document.get("x") == 1
    own_members = document if ours else {}
    tools = document["tools"]
    more = own_members.get("more", [])
    types = own_members.get("types", [])
    _check_rows(tools, more, types, cursor, data)
    stream = document.get("stream")
    facade = own_members.get("facade")
    return Page(
        cursor=cursor,
        name=text_or_empty(document.get("name"), 256),
        tools=tools,
        more=more,
        types=types,
        ours=ours,
        next_cursor=_next_cursor(document.get("nextCursor"), cursor, data),
        stream=None if stream is None else StreamRef.from_json(stream, cursor),
        version=text_or_empty(document.get("v"), 32),
        pairs=_repeated_parameters(tools, data, cursor),
        facade=text_of(facade, 44) if isinstance(facade, str) else None,
    )


def _check_rows(
    tools: list[Any], more: Any, types: Any, cursor: int, data: bytes
) -> None:
    if (type(types), type(more)) != (list, list):
        raise MalformedPage(cursor, 'its "types" or "more" is not a list', data)
    if len(tools) + len(types) + len(more) > MAX_ROWS:
        raise MalformedPage(cursor, f"it has more than {MAX_ROWS:,} rows", data)


def _load(data: bytes, cursor: int) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _load_leniently(data, cursor, None)


def _load_leniently(data: bytes, cursor: int, hook: Any) -> Any:
    """Load JSON with raw control characters in its strings, as mcpsol's writer produces it."""
    try:
        return json.loads(
            data.decode("utf-8", "replace"),
            strict=False,
            object_pairs_hook=hook,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise MalformedPage(cursor, f"not JSON: {why}", data) from None


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


def _next_cursor(value: Any, cursor: int, data: bytes) -> int | None:
    if value is None:
        return None
    number = value
    if isinstance(value, str) and _CURSOR.fullmatch(value):
        number = int(value)
    if type(number) is int and 0 <= number <= 0xFFFF:
        return number
    shown = f"{str(value)[:20]!r}"
    raise MalformedPage(
        cursor, f"its nextCursor {shown} is not a number from 0 to 65535", data
    )


class _Pairs(list[tuple[str, Any]]):
    """The members of an object in order, with repeated keys."""


def _repeated_parameters(
    tools: list[Any], data: bytes, cursor: int
) -> dict[int, list[tuple[str, Any]]]:
    """Return the parameters of tools that have two with one key.

    mcpsol writes an account and an argument with one name that way. The order of the parameters then names the key
    twice.
    """
    repeated = [i for i, row in enumerate(tools) if _has_repeated_key(row)]
    if not repeated:
        return {}
    document = dict(_load_leniently(data, cursor, _Pairs))
    return {i: _parameters_of(dict(document["tools"][i])) for i in repeated}


def _parameters_of(members: dict[str, Any]) -> list[tuple[str, Any]]:
    params = members.get("p", members.get("parameters", members.get("params")))
    if not isinstance(params, _Pairs):
        return []
    return [(key, _plain(value)) for key, value in params]


def _has_repeated_key(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    order = row.get("r", row.get("required"))
    if not isinstance(order, list) or any(not isinstance(key, str) for key in order):
        return False
    return len(set(order)) < len(order)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, _Pairs) else value


# --- all pages -------------------------------------------------------------------------------------------------------


def read_pages(pages: Iterable[bytes | Page]) -> list[Tool]:
    """Return the tools of all *pages*, in the order of their cursors, mcpsol's or ours. Raises MalformedPage."""
    return list(read_schema(pages).tools)


def read_schema(pages: Iterable[bytes | Page]) -> Schema:
    """Return the schema that all *pages* hold together, in the order of their cursors. Raises MalformedPage."""
    reader = _SchemaReader()
    for cursor, page in enumerate(pages):
        reader.add(page if isinstance(page, Page) else read_page(page, cursor), cursor)
    return reader.finish()


class _SchemaReader:
    """Collects the rows of pages."""

    def __init__(self) -> None:
        self.name = ""
        self.version = ""
        self.facade: str | None = None
        #: tools with their page and their place on it
        self.rows: list[tuple[Any, Page, int]] = []
        self.types: list[TypeDef] = []
        #: number of a tool -> what "more" adds to its row
        self.members: dict[int, dict[str, Any]] = {}
        self.more_parts = _Parts("more")
        self.type_parts = _Parts("types")
        self.cursor = -1

    def add(self, page: Page, cursor: int) -> None:
        self.cursor = cursor
        self.name = self.name or page.name
        self.version = self.version or page.version
        self.facade = self.facade or page.facade
        if cursor >= MAX_PAGES or len(self.rows) + len(self.types) > MAX_ROWS:
            why = f"more than {MAX_PAGES:,} pages or {MAX_ROWS:,} tools and types"
            raise MalformedPage(page.cursor, why)
        self.rows += [(row, page, i) for i, row in enumerate(page.tools)]
        self._add_members(page)
        self._add_types(page)

    def _add_members(self, page: Page) -> None:
        for entry in page.more:
            number, members = self.more_parts.add(entry, page)
            if members is not None:
                self.members.setdefault(number, {}).update(members)

    def _add_types(self, page: Page) -> None:
        for entry in page.types:
            parts = entry if isinstance(entry, list) else [entry]
            _, definition = self.type_parts.add([0, *parts], page)
            if definition is not None:
                self.types.append(_read_type(definition, page.cursor))

    def finish(self) -> Schema:
        self.more_parts.finish(self.cursor)
        self.type_parts.finish(self.cursor)
        last = max(self.members, default=-1)
        if last >= len(self.rows):
            why = f'"more" refers to tool {last}; there are {len(self.rows)}'
            raise MalformedPage(self.cursor, why)
        tools = tuple(map(self._tool, range(len(self.rows))))
        return Schema(self.name, tools, tuple(self.types), self.version, self.facade)

    def _tool(self, number: int) -> Tool:
        row, page, place = self.rows[number]
        if number in self.members and isinstance(row, dict):
            row = row | self.members[number]
        return read_tool(row, page.cursor, ours=page.ours, pairs=page.pairs.get(place))


def _read_type(row: Any, cursor: int) -> TypeDef:
    try:
        return from_json(TypeDef, row)
    except SourceError as error:
        raise MalformedPage(cursor, f"a type definition: {error}") from None


def _is_numbered(entry: Any) -> bool:
    """Is *entry* a list that starts with a number?"""
    if not isinstance(entry, list):
        return False
    first = next(iter(entry), None)
    return type(first) is int and first >= 0


class _Parts:
    """Joins objects that are split: [number, object], or [number, place, number of parts, piece of text] in order."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.number = self.count = self.size = 0
        self.pieces: list[str] = []

    def add(self, entry: Any, page: Page) -> tuple[int, dict[str, Any] | None]:
        """Return the number and the object, or None while parts of it are missing. Raises MalformedPage."""
        if not _is_numbered(entry):
            raise self._bad(page, f"{str(entry)[:40]!r} is not an entry")
        number = entry[0]
        if self._is_whole(entry):
            return number, entry[1]
        self._add_part(entry, page)
        if len(self.pieces) < self.count:
            return number, None
        return number, self._joined(page)

    def _is_whole(self, entry: list[Any]) -> bool:
        if self.pieces or len(entry) != 2:
            return False
        return isinstance(entry[1], dict)

    def _add_part(self, entry: list[Any], page: Page) -> None:
        if list(map(type, entry)) != [int, int, int, str]:
            missing = ", and a part is missing" if self.pieces else ""
            raise self._bad(page, f"{str(entry)[:40]!r} is not an entry{missing}")
        number, place, count, piece = entry
        if not self.pieces:
            self.number, self.count = number, count
        expected = (self.number, len(self.pieces), self.count)
        if (number, place, count) != expected or not 0 < count <= MAX_PAGES:
            got = f"part {place} of {count} of {number}"
            raise self._bad(page, f"expected part {len(self.pieces)}, got {got}")
        self.pieces.append(piece)
        self.size += len(piece)
        if self.size > MAX_SPLIT:
            raise self._bad(page, f"parts hold more than {MAX_SPLIT:,} characters")

    def _joined(self, page: Page) -> dict[str, Any]:
        text = "".join(self.pieces)
        self.pieces = []
        value = _load(text.encode("utf-8", "replace"), page.cursor)
        if not isinstance(value, dict):
            raise self._bad(
                page, f"the parts of {self.number} are not an object together"
            )
        return value

    def _bad(self, page: Page, why: str) -> MalformedPage:
        return MalformedPage(page.cursor, f'under "{self.key}": {why}')

    def finish(self, cursor: int) -> None:
        """Raise MalformedPage if the last parts are missing."""
        if self.pieces:
            got = f"{len(self.pieces)} of {self.count} parts"
            raise MalformedPage(
                cursor, f'under "{self.key}": the schema ends after {got}'
            )

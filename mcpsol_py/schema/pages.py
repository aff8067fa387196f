"""Tools <-> pages of at most 1,024 bytes (docs/wire.md).

JSON pages stand at cursors 0, 1, 2, … and name their next cursor; as many tools as fit are in one. The stream of
stream.py stands at high cursors. A tool (or a type) larger than a page is split: its first part keeps what mcpsol's
clients need, where that fits, and the others carry the text of the whole row in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from mcpsol_py.errors import MalformedPage, PageTooLarge, SourceError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import from_json, to_json
from mcpsol_py.model.types import TypeDef
from mcpsol_py.schema.stream import PAGE_LIMIT, STREAM_BASE, StreamRef, stream
from mcpsol_py.schema.tool import Schema, Tool, needed_types, tool_of
from mcpsol_py.schema.wire import GUARD, VERSION, read_tool, text_of, write_compact, write_verbose

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

#: The most bytes that a page given to `read_page` may have, unless it is told otherwise.
MAX_PAGE = 64 * 1024
#: The most JSON pages, tools, types, and bytes of split rows that one schema may have.
MAX_PAGES = STREAM_BASE
MAX_ROWS = 8192
MAX_SPLIT = 4 * 1024 * 1024

_NAME_LIMIT = 64  # of a program's name, which stands on every page, and of a split tool's


@dataclass(frozen=True, slots=True)
class PageSet:
    """All that a program answers to list_tools: JSON pages at cursors 0, 1, …, stream pages at `stream_base`,
    `stream_base` + 1, …
    """

    json_pages: list[bytes]
    stream_pages: list[bytes] = field(default_factory=list)
    stream_base: int = STREAM_BASE

    def get(self, cursor: int | None = None) -> bytes:
        """The page at *cursor* (None: no cursor given, which is page 0). Empty where there is none: the program then
        sets no return data and fails with InvalidInstructionData."""
        place = cursor or 0
        if 0 <= place < len(self.json_pages):
            return self.json_pages[place]
        place -= self.stream_base
        return self.stream_pages[place] if 0 <= place < len(self.stream_pages) else b""


# --- writing ---------------------------------------------------------------------------------------------------------


def page_set(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> PageSet:
    """All pages of *model*: the JSON ones, and with *lossless* the stream, which page 0 then names. Raises
    PageTooLarge, SchemaError.
    """
    stream_pages, ref = stream(model) if lossless else ([], None)
    return PageSet(write_pages(model, form=form, descriptions=descriptions, stream_ref=ref), stream_pages)


def write_pages(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    stream_ref: StreamRef | None = None,
) -> list[bytes]:
    """The JSON pages of *model*, each at most 1,024 bytes, for the cursors 0, 1, …; at least one.

    `descriptions`: "full", "short" (the first sentence of each) or "none". `stream_ref`: the lossless stream that page
    0 shall name. Raises PageTooLarge for a tool whose name and discriminator alone do not fit.
    """
    rows = [("tools", name, row) for name, row in _tool_rows(model, form, descriptions)]
    rows += [("types", d.name, _type_row(d)) for d in needed_types(model)]
    head = _dump({"v": VERSION, "name": text_of(model.name, _NAME_LIMIT), "x": 1})[:-1]
    extra = b"" if stream_ref is None else b',"stream":' + _dump(stream_ref.to_json())
    return _pack(head, extra, rows)


def compact_document(model: ProgramModel, *, descriptions: Descriptions = "full") -> dict[str, Any]:
    """All tools in one compact document {"v", "name", "x", "tools", "types"}, without the limit of a page."""
    document: dict[str, Any] = {"v": VERSION, "name": text_of(model.name, _NAME_LIMIT), "x": 1}
    document["tools"] = [row for _, row in _tool_rows(model, "compact", descriptions)]
    types = [_type_row(d) for d in needed_types(model)]
    return document | ({"types": types} if types else {})


def _tool_rows(model: ProgramModel, form: Form, descriptions: Descriptions) -> list[tuple[str, dict[str, Any]]]:
    resolver = Resolver(model)
    write = write_compact if form == "compact" else write_verbose
    return [(i.name, write(tool_of(i, descriptions), resolver)) for i in model.instructions]


def _type_row(definition: TypeDef) -> dict[str, Any]:
    """A type's definition as pages carry it: without docs, and without how its source spelled it."""
    row = to_json(replace(definition, docs=(), declared=(), shape="struct"))
    assert isinstance(row, dict)
    return row


def _dump(value: Any) -> bytes:
    return orjson.dumps(value)


def _next(cursor: int) -> bytes:
    return b',"nextCursor":"%d"}' % cursor


def _pack(head: bytes, extra: bytes, rows: list[tuple[str, str, dict[str, Any]]]) -> list[bytes]:
    """Rows into pages, in order, each as full as it gets."""
    queue: list[tuple[str, bytes]] = []
    room = PAGE_LIMIT - len(head) - len(b',"tools":[],"types":[]') - len(_next(MAX_PAGES)) - len(extra)
    for key, name, row in rows:
        data = _dump(row)
        if len(data) <= room:
            queue.append((key, data))
        else:
            queue += [(key, part) for part in _split(key, name, row, data, room)]
    pages: list[bytes] = []
    tools: list[bytes] = []
    types: list[bytes] = []

    def body(last: bool) -> bytes:
        out = head + b',"tools":[' + b",".join(tools) + b"]"
        if types:
            out += b',"types":[' + b",".join(types) + b"]"
        if not pages:
            out += extra
        return out + (b"}" if last else _next(len(pages) + 1))

    size = len(body(False))
    for i, (key, data) in enumerate(queue):
        into = tools if key == "tools" else types
        more = len(data) + bool(into) + (len(b',"types":[]') if key == "types" and not types else 0)
        spare = len(_next(len(pages) + 1)) - 1 if i == len(queue) - 1 else 0  # the last page names no next one
        if size + more - spare > PAGE_LIMIT and (tools or types):
            pages.append(body(False))
            tools.clear()
            types.clear()
            size = len(body(False))
            more = len(data) + (len(b',"types":[]') if key == "types" else 0)
        into.append(data)
        size += more
    pages.append(body(True))
    if len(pages) > MAX_PAGES:
        raise PageTooLarge("the whole schema", sum(map(len, pages)), MAX_PAGES * PAGE_LIMIT)
    return pages


def _split(key: str, name: str, row: dict[str, Any], data: bytes, room: int) -> list[bytes]:
    """The parts of a row that does not fit a page: c is [place, number of parts], j a piece of the row's text."""
    text = data.decode()

    def part(place: int, count: int, piece: str) -> bytes:
        mark = {"c": [place, count], "j": piece}
        if key == "types":
            return _dump({"name": text_of(name, _NAME_LIMIT)} | mark)
        return _dump(_stub(row, place) | {"x": mark})

    longest = len(part(999, 999, ""))
    if longest + 32 > room:
        raise PageTooLarge(name, longest + PAGE_LIMIT - room + 32)
    pieces = _pieces(text, room - longest)
    if key == "types":
        return [part(i, len(pieces), piece) for i, piece in enumerate(pieces)]
    count = len(pieces) + 1
    return [_first(row, count, room)] + [part(i, count, piece) for i, piece in enumerate(pieces, 1)]


def _stub(row: dict[str, Any], place: int) -> dict[str, Any]:
    """A row that old clients read and cannot build: the tool's name, its discriminator and the guard."""
    name, disc = text_of(row.get("n", row.get("name", "")), _NAME_LIMIT), row.get("d", row.get("discriminator"))
    if place:
        name += f"+{place}"
    if "n" in row:
        return {"n": name, "d": disc, "p": {GUARD: "x"}, "r": [GUARD]}
    return {"name": name, "discriminator": disc, "parameters": {GUARD: {"type": "x"}}, "r": [GUARD]}


def _first(row: dict[str, Any], count: int, room: int) -> bytes:
    """The first part: all that old clients need where it fits, else a stub."""
    about = "i" if "n" in row else "description"
    mark = {"c": [0, count]}
    whole = {k: v for k, v in row.items() if k != "x"}
    if "parameters" in whole:
        plain = ("type", "signer", "writable")
        whole["parameters"] = {n: {k: p[k] for k in plain if k in p} for n, p in whole["parameters"].items()}
    name: str = row.get("n") or row.get("name") or ""
    if len(name) <= _NAME_LIMIT:
        for limit in (4096, 100, 0):
            described = {k: text_of(v, limit) if k == about else v for k, v in whole.items() if limit or k != about}
            data = _dump(described | {"x": mark})
            if len(data) <= room:
                return data
    return _dump(_stub(row, 0) | {"x": mark})


def _pieces(text: str, room: int) -> list[str]:
    """*text* in pieces that take at most *room* bytes each as the inside of a JSON string."""
    out: list[str] = []
    start, size = 0, 0
    for i, char in enumerate(text):
        cost = 1 if " " <= char <= "~" and char not in '"\\' else len(_dump(char)) - 2
        if size + cost > room:
            out.append(text[start:i])
            start, size = i, 0
        size += cost
    return [*out, text[start:]]


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """One JSON page as it was read. `tools`, `types`: its rows as they stand (see `read_schema`). `ours`: written by
    this project's format, so that its keys hold what docs/wire.md says. `next_cursor`: None on the last page. `stream`:
    where the lossless stream is."""

    cursor: int
    name: str
    tools: list[Any]
    types: list[Any]
    ours: bool
    next_cursor: int | None
    stream: StreamRef | None
    version: str
    #: the parameters of tools whose JSON keys repeat: place in `tools` -> pairs in order
    pairs: dict[int, list[tuple[str, Any]]] = field(default_factory=dict)


def read_page(data: bytes, cursor: int = 0, *, limit: int = MAX_PAGE) -> Page:
    """The JSON page that *data* holds. Zeros behind it, control characters in its strings and repeated keys are
    survived; what is no page raises MalformedPage, as does a next cursor that is no number from 0 to 65535."""
    data = bytes(data).rstrip(b"\0")
    if len(data) > limit:
        raise MalformedPage(cursor, f"{len(data):,} bytes; at most {limit:,} are read", data)
    document = _load(data, cursor)
    if not isinstance(document, dict) or not isinstance(document.get("tools"), list):
        raise MalformedPage(cursor, 'no object with a list of "tools"', data)
    rows, types = document["tools"], document.get("types", [])
    if not isinstance(types, list) or len(rows) + len(types) > MAX_ROWS:
        raise MalformedPage(cursor, f"its types are no list, or it has more than {MAX_ROWS:,} rows", data)
    name, version = document.get("name"), document.get("v")
    return Page(
        cursor=cursor,
        name=text_of(name) if isinstance(name, str) else "",
        tools=rows,
        types=types,
        ours=document.get("x") == 1,
        next_cursor=_next_cursor(document.get("nextCursor"), cursor, data),
        stream=StreamRef.from_json(document["stream"], cursor) if document.get("stream") is not None else None,
        version=text_of(version, 32) if isinstance(version, str) else "",
        pairs=_repeated(rows, data, cursor),
    )


def _load(data: bytes, cursor: int) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _lenient(data, cursor, None)


def _lenient(data: bytes, cursor: int, hook: Any) -> Any:
    """As mcpsol's writer can make it: control characters stand raw in its strings (M9)."""
    try:
        return json.loads(
            data.decode("utf-8", "replace"), strict=False, object_pairs_hook=hook, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise MalformedPage(cursor, f"no JSON: {why}", data) from None


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON value")


def _next_cursor(value: Any, cursor: int, data: bytes) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 5:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFF:
        return value
    raise MalformedPage(cursor, f"its nextCursor {str(value)[:20]!r} is no number from 0 to 65535", data)


class _Pairs(list[tuple[str, Any]]):
    """An object's members in order, with repeated keys."""


def _repeated(rows: list[Any], data: bytes, cursor: int) -> dict[int, list[tuple[str, Any]]]:
    """Parameters under one key (an account and an argument of one name, M14): the order names the key twice."""
    twice = [
        i
        for i, row in enumerate(rows)
        if isinstance(row, dict)
        and isinstance(r := row.get("r", row.get("required")), list)
        and all(isinstance(k, str) for k in r)
        and len(set(r)) < len(r)
    ]
    if not twice:
        return {}
    document = dict(_lenient(data, cursor, _Pairs))
    out: dict[int, list[tuple[str, Any]]] = {}
    for i in twice:
        members = dict(document["tools"][i])
        params = members.get("p", members.get("parameters", members.get("params")))
        if isinstance(params, _Pairs):
            out[i] = [(k, dict(v) if isinstance(v, _Pairs) else v) for k, v in params]
    return out


def read_pages(pages: Iterable[bytes | Page]) -> list[Tool]:
    """The tools of all *pages* (in the order of their cursors), mcpsol's or ours. Raises MalformedPage."""
    return list(read_schema(pages).tools)


def read_schema(pages: Iterable[bytes | Page]) -> Schema:
    """What all *pages* (in the order of their cursors) say together. Raises MalformedPage."""
    tools: list[Tool] = []
    types: list[TypeDef] = []
    name = version = ""
    parts = _Parts()
    for cursor, given in enumerate(pages):
        page = given if isinstance(given, Page) else read_page(given, cursor)
        name, version = name or page.name, version or page.version
        if cursor >= MAX_PAGES or len(tools) + len(types) > MAX_ROWS:
            raise MalformedPage(page.cursor, f"more than {MAX_PAGES:,} pages or {MAX_ROWS:,} tools and types")
        for i, row in enumerate(page.tools):
            whole = parts.add(row, page, "x")
            if whole is not None:
                tools.append(read_tool(whole, page.cursor, ours=page.ours, pairs=page.pairs.get(i)))
        for row in page.types:
            whole = parts.add(row, page, None)
            if whole is not None:
                types.append(_read_type(whole, page.cursor))
    parts.finish()
    return Schema(name, tuple(tools), tuple(types), version)


def _read_type(row: Any, cursor: int) -> TypeDef:
    try:
        return from_json(TypeDef, row)
    except SourceError as error:
        raise MalformedPage(cursor, f"a type definition: {error}") from None


class _Parts:
    """Puts split rows together: parts follow one another, from 0 to their number."""

    def __init__(self) -> None:
        self.place = self.count = self.size = 0
        self.pieces: list[str] = []
        self.where = 0

    def add(self, row: Any, page: Page, under: str | None) -> Any:
        """The row, whole; None while parts of it are missing."""
        self.where = page.cursor
        holder = row if under is None else row.get(under) if isinstance(row, dict) else None
        if not isinstance(holder, dict):
            holder = {}
        mark = holder.get("c") if page.ours else None
        if mark is None:
            if self.place:
                raise MalformedPage(page.cursor, f"part {self.place} of {self.count} of a split row is missing")
            return row
        piece = holder.get("j", "")
        if not isinstance(mark, list) or len(mark) != 2 or mark[0] != self.place or not isinstance(piece, str):
            raise MalformedPage(
                page.cursor, f"a part {str(mark)[:20]} of a split row where part {self.place} must stand"
            )
        if self.place == 0:
            self.count = mark[1] if isinstance(mark[1], int) else 0
        self.size += len(piece)
        if mark[1] != self.count or not 0 < self.count <= MAX_PAGES or self.size > MAX_SPLIT:
            raise MalformedPage(page.cursor, "the parts of a split row do not agree on their number, or are too many")
        self.pieces.append(piece)
        self.place += 1
        if self.place < self.count:
            return None
        text = "".join(self.pieces)
        self.pieces, self.place = [], 0
        return _load(text.encode("utf-8", "replace"), page.cursor)

    def finish(self) -> None:
        if self.place:
            raise MalformedPage(
                self.where, f"the schema ends within a split row, after part {self.place} of {self.count}"
            )

"""Tools <-> pages of at most 1,024 bytes (docs/wire.md).

JSON pages stand at cursors 0, 1, 2, … and name their next cursor. The tools come first, as many to a page as fit, in
the form that mcpsol's own clients read; what only readers of this format know of them follows under "more", then the
types that arguments name. What is larger than a page stands there in parts. The stream of stream.py stands at high
cursors.
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
    return PageSet(
        write_pages(model, form=form, descriptions=descriptions, stream_ref=ref), stream_pages
    )


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
    head = _dump({"v": VERSION, "name": text_of(model.name, _NAME_LIMIT), "x": 1})[:-1]
    extra = b"" if model.facade_of is None else b',"facade":' + _dump(model.facade_of)
    extra += b"" if stream_ref is None else b',"stream":' + _dump(stream_ref.to_json())
    room = PAGE_LIMIT - len(head) - len(b',"tools":[],"types":[]') - len(_next(MAX_PAGES))
    items: list[tuple[str, bytes]] = []
    more: list[tuple[str, bytes]] = []
    for i, (name, row) in enumerate(_tool_rows(model, form, descriptions)):
        data, rest = _fitted(row, room - len(extra), name)  # any tool may be the first of page 0
        items.append(("tools", data))
        if rest:
            more += [("more", part) for part in _whole_or_parts([i], rest, room)]
    items += more
    for definition in needed_types(model):
        items += [("types", part) for part in _whole_or_parts([], _type_row(definition), room)]
    return _pack(head, extra, items)


def compact_document(model: ProgramModel, *, descriptions: Descriptions = "full") -> dict[str, Any]:
    """All tools in one compact document {"v", "name", "x", "tools", "types"}, without the limit of a page."""
    document: dict[str, Any] = {"v": VERSION, "name": text_of(model.name, _NAME_LIMIT), "x": 1}
    document |= {} if model.facade_of is None else {"facade": model.facade_of}
    document["tools"] = [row for _, row in _tool_rows(model, "compact", descriptions)]
    types = [_type_row(d) for d in needed_types(model)]
    return document | ({"types": types} if types else {})


def _tool_rows(
    model: ProgramModel, form: Form, descriptions: Descriptions
) -> list[tuple[str, dict[str, Any]]]:
    resolver = Resolver(model)
    write = write_compact if form == "compact" else write_verbose
    tools = [tool_of(i, descriptions) for i in model.instructions]
    if model.facade_of is not None:
        tools = [replace(tool, description=_with_program(tool, model.facade_of)) for tool in tools]
    return [(tool.name, write(tool, resolver)) for tool in tools]


def _with_program(tool: Tool, behind: str) -> str:
    """A facade's tool takes the program behind as its first account. What mcpsol's clients know of it is this line."""
    said = f"{tool.accounts[0].name}: {behind}"
    if tool.description.endswith(said):  # read from pages before
        return tool.description
    return f"{tool.description}\n{said}" if tool.description else said


def _type_row(definition: TypeDef) -> dict[str, Any]:
    """A type's definition as pages carry it: without docs, and without how its source spelled it."""
    row = to_json(replace(definition, docs=(), declared=(), shape="struct"))
    assert isinstance(row, dict)
    return row


def _dump(value: Any) -> bytes:
    return orjson.dumps(value)


def _next(cursor: int) -> bytes:
    return b',"nextCursor":"%d"}' % cursor


def _fitted(row: dict[str, Any], room: int, name: str) -> tuple[bytes, dict[str, Any]]:
    """A tool's row as it stands among the tools, and the members that follow under "more".

    x always follows, so that the tools stand on few pages. Where the rest is too large for one, its description is cut,
    or what only our readers know of its parameters follows, or all parameters do and the guard stands for them.
    """
    short = {"name": "n", "description": "i", "parameters": "p"}
    key = {k: k if k in row else short[k] for k in short}
    full = {k: v for k, v in row.items() if k != "x"}
    rest = {"x": row["x"]} if "x" in row else {}
    plain = dict(full)
    if key["parameters"] == "parameters" and "parameters" in full:
        kept = ("type", "signer", "writable")
        plain["parameters"] = {
            n: {k: p[k] for k in kept if k in p} for n, p in full["parameters"].items()
        }
    for candidate in (full, plain):
        for limit in (None, 100, 0):
            tried = dict(candidate)
            if limit is not None and key["description"] in tried:
                tried[key["description"]] = text_of(tried[key["description"]], limit or 1)
                if not limit:
                    del tried[key["description"]]
            data = _dump(tried)
            if len(data) <= room:
                return data, {k: v for k, v in full.items() if tried.get(k) != v} | rest
    cut = {key["name"]: _NAME_LIMIT, key["description"]: 100}
    stub = {k: text_of(v, cut[k]) if k in cut else v for k, v in full.items()}
    if key["parameters"] in stub:
        stub |= {key["parameters"]: {GUARD: "x" if "n" in row else {"type": "x"}}, "r": [GUARD]}
    data = _dump(stub)
    if len(data) > room:
        raise PageTooLarge(name, len(data) + PAGE_LIMIT - room)
    return data, {k: v for k, v in full.items() if stub.get(k) != v} | rest


def _whole_or_parts(head: list[Any], value: dict[str, Any], room: int) -> list[bytes]:
    """[*head, value], or where that is too large [*head, place, number of parts, piece of the value's text] for each
    part.
    """
    whole = _dump([*head, value] if head else value)
    if len(whole) <= room:
        return [whole]
    pieces = _pieces(_dump(value).decode(), room - len(_dump([*head, 9999, 9999, ""])))
    return [_dump([*head, i, len(pieces), piece]) for i, piece in enumerate(pieces)]


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


def _pack(head: bytes, extra: bytes, items: list[tuple[str, bytes]]) -> list[bytes]:
    """Items into pages, in order, each as full as it gets: head, tools, more, types, on page 0 *extra*, and the next
    cursor.
    """
    pages: list[bytes] = []
    page: dict[str, list[bytes]] = {"tools": []}

    def body(last: bool) -> bytes:
        sections = b"".join(
            b',"%s":[%s]' % (key.encode(), b",".join(rows)) for key, rows in page.items()
        )
        return (
            head + sections + (b"" if pages else extra) + (b"}" if last else _next(len(pages) + 1))
        )

    size = len(body(False))
    for i, (key, data) in enumerate(items):
        last = i == len(items) - 1  # the last page names no next one
        for _ in range(2):
            more = len(data) + (1 if page.get(key) else 0 if key in page else len(key) + 6)
            if size + more - (
                len(_next(len(pages) + 1)) - 1 if last else 0
            ) <= PAGE_LIMIT or not any(page.values()):
                break
            pages.append(body(False))
            page = {"tools": []}
            size = len(body(False))
        page.setdefault(key, []).append(data)
        size += more
    pages.append(body(True))
    if len(pages) > MAX_PAGES:
        raise PageTooLarge("the whole schema", sum(map(len, pages)), MAX_PAGES * PAGE_LIMIT)
    return pages


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """One JSON page as it was read. `tools`, `more`, `types`: its rows as they stand (see `read_schema`). `ours`:
    written by this project's format, so that its keys hold what docs/wire.md says. `next_cursor`: None on the last
    page. `stream`: where the lossless stream is."""

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
    #: page 0 of a facade: the program behind it
    facade: str | None = None


def read_page(data: bytes, cursor: int = 0, *, limit: int = MAX_PAGE) -> Page:
    """The JSON page that *data* holds. Zeros behind it, control characters in its strings and repeated keys are
    survived; what is no page raises MalformedPage, as does a next cursor that is no number from 0 to 65535."""
    data = bytes(data).rstrip(b"\0")
    if len(data) > limit:
        raise MalformedPage(cursor, f"{len(data):,} bytes; at most {limit:,} are read", data)
    document = _load(data, cursor)
    if not isinstance(document, dict) or not isinstance(document.get("tools"), list):
        raise MalformedPage(cursor, 'no object with a list of "tools"', data)
    ours = document.get("x") == 1
    rows = document["tools"]
    more, types = (document.get(key, []) if ours else [] for key in ("more", "types"))
    if (
        not isinstance(types, list)
        or not isinstance(more, list)
        or len(rows) + len(types) + len(more) > MAX_ROWS
    ):
        raise MalformedPage(
            cursor, f"its types are no list, or it has more than {MAX_ROWS:,} rows", data
        )
    name, version = document.get("name"), document.get("v")
    return Page(
        cursor=cursor,
        name=text_of(name) if isinstance(name, str) else "",
        tools=rows,
        more=more,
        types=types,
        ours=ours,
        next_cursor=_next_cursor(document.get("nextCursor"), cursor, data),
        stream=StreamRef.from_json(document["stream"], cursor)
        if document.get("stream") is not None
        else None,
        version=text_of(version, 32) if isinstance(version, str) else "",
        pairs=_repeated(rows, data, cursor),
        facade=text_of(facade, 44)
        if ours and isinstance(facade := document.get("facade"), str)
        else None,
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
            data.decode("utf-8", "replace"),
            strict=False,
            object_pairs_hook=hook,
            parse_constant=_no_constant,
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
    raise MalformedPage(
        cursor, f"its nextCursor {str(value)[:20]!r} is no number from 0 to 65535", data
    )


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
    rows: list[tuple[Any, Page, list[tuple[str, Any]] | None]] = []
    types: list[TypeDef] = []
    name = version = ""
    facade: str | None = None
    more, split = _Parts("more"), _Parts("types")
    merged: dict[int, dict[str, Any]] = {}
    cursor = -1
    for cursor, given in enumerate(pages):
        page = given if isinstance(given, Page) else read_page(given, cursor)
        name, version, facade = name or page.name, version or page.version, facade or page.facade
        if cursor >= MAX_PAGES or len(rows) + len(types) > MAX_ROWS:
            raise MalformedPage(
                page.cursor, f"more than {MAX_PAGES:,} pages or {MAX_ROWS:,} tools and types"
            )
        rows += [(row, page, page.pairs.get(i)) for i, row in enumerate(page.tools)]
        for entry in page.more:
            place, members = more.add(entry, page)
            if members is not None:
                merged.setdefault(place, {}).update(members)
        for entry in page.types:
            _, row = split.add([0, *entry] if isinstance(entry, list) else [0, entry], page)
            if row is not None:
                types.append(_read_type(row, page.cursor))
    more.finish(cursor)
    split.finish(cursor)
    if any(place >= len(rows) for place in merged):
        raise MalformedPage(cursor, f'"more" speaks of tool {max(merged)}; there are {len(rows)}')
    tools = [
        read_tool(
            row | merged[i] if i in merged and isinstance(row, dict) else row,
            page.cursor,
            ours=page.ours,
            pairs=pairs,
        )
        for i, (row, page, pairs) in enumerate(rows)
    ]
    return Schema(name, tuple(tools), tuple(types), version, facade)


def _read_type(row: Any, cursor: int) -> TypeDef:
    try:
        return from_json(TypeDef, row)
    except SourceError as error:
        raise MalformedPage(cursor, f"a type definition: {error}") from None


class _Parts:
    """Puts objects together that stand in parts: [number, object], or [number, place, number of parts, piece of text]
    in order.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.number = self.place = self.count = self.size = 0
        self.pieces: list[str] = []

    def add(self, entry: Any, page: Page) -> tuple[int, dict[str, Any] | None]:
        """The number and the object, which is None while parts of it are missing. Raises MalformedPage."""
        if not isinstance(entry, list) or not entry or type(entry[0]) is not int or entry[0] < 0:
            raise self._bad(page, f"{str(entry)[:40]!r} is no entry")
        number = entry[0]
        if len(entry) == 2 and isinstance(entry[1], dict) and not self.pieces:
            return number, entry[1]
        if (
            len(entry) != 4
            or not isinstance(entry[3], str)
            or type(entry[1]) is not int
            or type(entry[2]) is not int
        ):
            raise self._bad(
                page,
                f"{str(entry)[:40]!r} is no entry"
                + (", and a part is missing" if self.pieces else ""),
            )
        _, place, count, piece = entry
        if not self.pieces:
            self.number, self.count = number, count
        if (number, place, count) != (
            self.number,
            len(self.pieces),
            self.count,
        ) or not 0 < count <= MAX_PAGES:
            raise self._bad(
                page,
                f"part {place} of {count} of {number} where part {len(self.pieces)} must stand",
            )
        self.pieces.append(piece)
        self.size += len(piece)
        if self.size > MAX_SPLIT:
            raise self._bad(page, f"parts hold more than {MAX_SPLIT:,} characters")
        if len(self.pieces) < count:
            return number, None
        text = "".join(self.pieces)
        self.pieces = []
        value = _load(text.encode("utf-8", "replace"), page.cursor)
        if not isinstance(value, dict):
            raise self._bad(page, f"the parts of {number} make no object")
        return number, value

    def _bad(self, page: Page, why: str) -> MalformedPage:
        return MalformedPage(page.cursor, f'under "{self.what}": {why}')

    def finish(self, cursor: int) -> None:
        """Raises MalformedPage where the last parts are missing."""
        if self.pieces:
            raise MalformedPage(
                cursor,
                f'under "{self.what}": {len(self.pieces)} of {self.count} parts, then the schema ends',
            )

"""Reads data that landed on a chain: as much of a value as its bytes give, and a note for each part that they do not.

Programs change. An account of an older version ends before the last fields, one of a newer version has an enum variant
that the IDL does not know. The codecs refuse such data. This reader keeps the part that it could read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from mcpsol_py.codec.interpreted_read import InterpretedReader
from mcpsol_py.codec.json_values import JsonWriter
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import CodecError
from mcpsol_py.model.types import (
    Bool,
    Count,
    Enum,
    Field,
    Map,
    String,
    Struct,
    Tuple,
    Type,
    field_keys,
)
from mcpsol_py.model.visit import ProductType

__all__ = ["LenientJson", "LenientReader", "UnknownVariant"]

#: Notes about one value. Data of another type than expected would have one at every byte.
_MOST_NOTES = 20


class _Missing:
    """The value of a part that could not be read."""

    def __repr__(self) -> str:
        return "MISSING"


_MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class UnknownVariant:
    """The value of an enum whose tag the IDL does not know, with the bytes that follow the tag.

    If the variants have different sizes, nobody knows where this one ends, so `data` takes all that is left.
    """

    tag: int
    data: bytes = b""


class LenientReader(InterpretedReader):
    """Reads as much as the data give. `notes` name missing and odd parts, each with its place.

    After a part of unknown size could not be read, `ended` is set: what follows has no known offset. `lacks` is set if
    a part could not be read, or follows such a part.
    """

    def __init__(
        self,
        layouts: Layouts,
        data: bytes,
        base: int = 0,
        depth: int = 0,
        outer: LenientReader | None = None,
    ) -> None:
        super().__init__(layouts, data, base, depth)
        self.ended = self.lacks = False
        self.notes: list[str] = [] if outer is None else outer.notes
        self._path: list[str] = [] if outer is None else outer._path

    def read(self, name: str, node: Type, at: int) -> tuple[Any, int]:
        """Return the value at *at* and the offset after the bytes read. *name* begins the places in notes.

        The value is None if nothing of it could be read.
        """
        value, end = self._read_at(name, node, at)
        return (None if value is _MISSING else value), end

    def note(self, text: str) -> None:
        """Add a note about the part that is being read."""
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(f"{_path_text(self._path)}: {text}")

    # --- parts -----------------------------------------------------------------------------------

    def _read_at(self, step: str, node: Type, at: int) -> tuple[Any, int]:
        depth, place = self.depth, len(self._path)
        self._path.append(step)
        try:
            return self.visit(node, at)
        except CodecError as error:
            self.note(error.text)
        except RecursionError:
            self.note("the data nests too deep")
        finally:
            del self._path[place:]
        self.depth, self.ended, self.lacks = depth, True, True
        return _MISSING, at

    def _within(self, data: bytes, start: int) -> InterpretedReader:
        return LenientReader(
            self.layouts, data, self.base + start, self.depth, outer=self
        )

    def _read_part(self, item: Type, data: bytes, start: int) -> tuple[Any, int]:
        """Read a part whose size is known. If it cannot be read, its bytes are its value."""
        try:
            return self._within(data, start).visit(item, 0)
        except CodecError as error:
            self.note(f"{error.text}; the value is its bytes")
            return data, len(data)

    def _refuse_rest(self, item: Type, end: int, why: str) -> None:
        self.note(f"{why} (from offset {self.base + end})")

    def _read_constant(self, node: Type, constant: bytes, at: int) -> int:
        found = self.take(node, at, len(constant))
        if found != constant:
            self.note(
                f"expected the constant bytes 0x{constant.hex()}, got 0x{found.hex()}"
            )
        return at + len(constant)

    # --- scalars ---------------------------------------------------------------------------------

    def visit_bool(self, node: Bool, at: int) -> tuple[Any, int]:
        number, end = self.visit_int(node.size, at)
        if number in (0, 1):
            return number == 1, end
        self.note(f"expected a bool of 0 or 1, got {number}")
        return number, end

    def visit_string(self, node: String, at: int) -> tuple[Any, int]:
        try:
            return super().visit_string(node, at)
        except CodecError as error:
            self.note(f"{error.text}; the value is its bytes")
            return self.data[at:], max(at, len(self.data))

    # --- lists -----------------------------------------------------------------------------------

    def _check_count(self, number: int, item: Type, at: int, end: int) -> None:
        """Let a list claim more items than follow. Reading them stops where the data ends."""
        if not self.layouts.least(item):
            super()._check_count(number, item, at, end)

    def _read_items(
        self, node: Type, item: Type, count: Count, at: int
    ) -> tuple[list[Any], int]:
        number, at = self._read_count(count, item, at)
        if number is None:
            return self._read_items_to_end(node, item, at)
        values: list[Any] = []
        while len(values) < number and not self.ended:
            value, at = self._read_at(f"[{len(values)}]", item, at)
            values.append(value)
        return self._items_read(values, number), at

    def _read_items_to_end(
        self, node: Type, item: Type, at: int
    ) -> tuple[list[Any], int]:
        values: list[Any] = []
        while at < len(self.data) and not self.ended:
            value, end = self._read_at(f"[{len(values)}]", item, at)
            if end <= at and not self.ended:
                raise self.refuse(
                    node, at, "its items take no bytes, so their number is unknown"
                )
            values.append(value)
            at = end
        return self._items_read(values, len(values)), at

    def _items_read(self, values: list[Any], number: int) -> list[Any]:
        read = [value for value in values if value is not _MISSING]
        if len(read) < number:
            self.lacks = True
            self.note(f"{number - len(read):,} of {number:,} items are missing")
        return read

    # --- products and enums ----------------------------------------------------------------------

    def visit_tuple(self, node: Tuple, at: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        for index, item in enumerate(node.items):
            value, at = self._read_at(f"[{index}]", item, at)
            values.append(value)
            if self.ended:
                break
        return self._items_read(values, len(node.items)), at

    def visit_struct(self, node: Struct, at: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        keys = field_keys(node.fields)
        for place, (key, field) in enumerate(zip(keys, node.fields, strict=True)):
            if self._ends_before(field, at):
                self.note(_missing_fields(keys[place:], self.base + at))
                self.ended = self.lacks = True
                break
            value, at = self._read_field(key, field, at)
            if value is not _MISSING:
                values[key] = value
            if self.ended:
                self._note_unread(keys[place + 1 :])
                break
        return values, at

    def _note_unread(self, keys: Sequence[str]) -> None:
        """Note the fields after a part whose end nobody knows. Missing data have a note already."""
        if keys and not self.lacks:
            self.note(
                f"{', '.join(keys[:3])}{' and more' if len(keys) > 3 else ''}: no known offset"
            )
        self.lacks = self.lacks or bool(keys)

    def _ends_before(self, field: Field, at: int) -> bool:
        """Return whether nothing is left for a field: the data are of a version that did not have it."""
        return at >= len(self.data) and self.layouts.least(field.type) > 0

    def _read_field(self, key: str, field: Field, at: int) -> tuple[Any, int]:
        if not field.is_constant:
            return self._read_at(key, field.type, at)
        try:
            return _MISSING, self._read_omitted(key, field, at)
        except CodecError as error:
            self.note(f"{key}: {error.text}")
            self.ended = self.lacks = True
            return _MISSING, at

    def visit_enum(self, node: Enum, at: int) -> tuple[Any, int]:
        tag, end = self.visit(node.tag, at)
        if tag in node.tags:
            return _without_missing(*super().visit_enum(node, at))
        self.note(f"no variant has tag {tag}; there are {len(node.variants)}")
        if len(node.units) == len(node.variants):
            return UnknownVariant(tag), end
        size = self.layouts.fixed_size(node)
        stop = len(self.data) if size is None else at + size
        self.ended = size is None
        return UnknownVariant(tag, self.data[end:stop]), stop


def _without_missing(value: Any, end: int) -> tuple[Any, int]:
    """Return an enum's value with None for a payload that could not be read."""
    if isinstance(value, dict):
        value = {
            name: None if body is _MISSING else body for name, body in value.items()
        }
    return value, end


def _missing_fields(keys: Sequence[str], offset: int) -> str:
    first, more = keys[0], len(keys) - 1
    also = f" and {more} more field{'' if more == 1 else 's'}" if more else ""
    return f"the data ends at offset {offset}, before {first}{also}"


def _path_text(path: list[str]) -> str:
    """Return steps as one path: a.b[0].c"""
    return "".join(
        step if step.startswith("[") else f".{step}" for step in path
    ).removeprefix(".")


class LenientJson(JsonWriter):
    """Writes a value that `LenientReader` read, in the JSON form of its type."""

    def visit(self, node: Type, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, UnknownVariant):
            return {"unknown_variant": value.tag, "data": "0x" + value.data.hex()}
        if isinstance(value, bytes):
            return "0x" + value.hex()
        return super().visit(node, value)

    def visit_map(self, node: Map, value: Any) -> Any:
        pair = Tuple((node.key, node.value))
        return [self.visit(pair, part) for part in value]

    def visit_product(self, node: ProductType, value: Any) -> Any:
        if isinstance(node, Struct):
            fields = zip(field_keys(node.fields), node.fields, strict=True)
            return {
                key: self.visit(field.type, value[key])
                for key, field in fields
                if key in value
            }
        return list(starmap(self.visit, zip(node.items, value, strict=False)))

"""Builds Arrow columns from values, as the codecs and the lenient reader give them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.codec.lenient_read import LenientJson
from mcpsol_py.codec.slots import has_only_names
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Float,
    Generic,
    Int,
    Link,
    Map,
    Pubkey,
    ShortU16,
    String,
    Type,
    Unsupported,
    is_bytes,
)
from mcpsol_py.model.visit import GroupVisitor, ListType, OptionalType, ProductType, WrapperType
from mcpsol_py.tables.arrow_types import (
    ArrowTypes,
    Nesting,
    members,
    payloads,
    variant_key,
    variant_names,
)

__all__ = ["ValueColumns", "lists", "names_column", "struct"]

Values = Sequence[Any]


class ValueColumns(GroupVisitor[[Values], pa.Array]):
    """Builds the column of a type: `visit(node, values)`.

    A value that is absent, or not of its type (the lenient reader keeps what it found), is null.
    """

    def __init__(self, layouts: Layouts, *, text: bool, nesting: Nesting | None = None) -> None:
        self.layouts = layouts
        self.text = text
        self._nesting = nesting or Nesting(layouts)
        self._json = LenientJson(layouts)

    def _leaf(self, node: Type, kind: type, values: Values) -> pa.Array:
        wanted = ArrowTypes(self.layouts, text=self.text).visit(node)
        return pa.array([value if type(value) is kind else None for value in values], wanted)

    def _as_json(self, node: Type, values: Values) -> pa.Array:
        forms = [
            None if value is None else orjson.dumps(self._json.visit(node, value)).decode()
            for value in values
        ]
        return pa.array(forms, pa.string())

    # --- scalars -----------------------------------------------------------------------------

    def visit_scalar(self, node: Type, values: Values) -> pa.Array:
        raise AssertionError(node)

    def visit_int(self, node: Int, values: Values) -> pa.Array:
        if node.bits <= 64:
            return self._leaf(node, int, values)
        numbers = [value if type(value) is int else None for value in values]
        wanted = ArrowTypes(self.layouts, text=self.text).visit(node)
        form: type[str] | type[Decimal] = str if pa.types.is_string(wanted) else Decimal
        return pa.array([None if n is None else form(n) for n in numbers], wanted)

    def visit_amount(self, node: Amount, values: Values) -> pa.Array:
        return self.visit_int(node.number, values)

    def visit_date_time(self, node: DateTime, values: Values) -> pa.Array:
        return self.visit_int(node.number, values)

    def visit_short_u16(self, node: ShortU16, values: Values) -> pa.Array:
        return self._leaf(node, int, values)

    def visit_float(self, node: Float, values: Values) -> pa.Array:
        return self._leaf(node, float, values)

    def visit_bool(self, node: Bool, values: Values) -> pa.Array:
        return self._leaf(node, bool, values)

    def visit_pubkey(self, node: Pubkey, values: Values) -> pa.Array:
        form = str if self.text else bytes
        keys = [form(value) if type(value) is Address else None for value in values]
        return self._leaf(node, form, keys)

    def visit_string(self, node: String, values: Values) -> pa.Array:
        return self._leaf(node, str, values)

    def visit_bytes(self, node: Bytes, values: Values) -> pa.Array:
        return self._leaf(node, bytes, values)

    # --- parts -------------------------------------------------------------------------------

    def visit_wrapper(self, node: WrapperType, values: Values) -> pa.Array:
        return self.visit(node.item, values)

    def visit_optional(self, node: OptionalType, values: Values) -> pa.Array:
        if not self.layouts.nullable(node.item):
            return self.visit(node.item, values)
        return self._struct([("some", "some", node.item)], values)

    def visit_list(self, node: ListType, values: Values) -> pa.Array:
        rows = [value if type(value) is list else None for value in values]
        items = [item for row in rows if row is not None for item in row]
        lengths = [None if row is None else len(row) for row in rows]
        return lists(lengths, self.visit(node.item, items))

    def visit_array(self, node: Array, values: Values) -> pa.Array:
        if is_bytes(node):
            return self._leaf(node, bytes, values)
        return self.visit_list(node, values)

    def visit_map(self, node: Map, values: Values) -> pa.Array:
        rows = [value if type(value) is list else None for value in values]
        pairs = [pair for row in rows if row is not None for pair in row]
        entry = self._struct([("key", 0, node.key), ("value", 1, node.value)], pairs)
        return lists([None if row is None else len(row) for row in rows], entry)

    def visit_product(self, node: ProductType, values: Values) -> pa.Array:
        parts = [(m.key, m.key if m.place is None else m.place, m.type) for m in members(node)]
        return self._struct(parts, values) if parts else self._as_json(node, values)

    def _struct(self, parts: Sequence[tuple[str, str | int, Type]], values: Values) -> pa.Array:
        """Build a struct column. *parts*: the name of each field, its key in values, and its type."""
        columns = [
            (name, self.visit(node, [_part(value, key) for value in values]))
            for name, key, node in parts
        ]
        return struct(columns, [value is None for value in values])

    def visit_enum(self, node: Enum, values: Values) -> pa.Array:
        if not node.variants:
            return self._as_json(node, values)
        names = names_column(node, list(map(_variant, values)))
        if has_only_names(node):
            return names
        bodies = [
            (name, self.visit(payload, [_part(value, name) for value in values]))
            for name, payload in payloads(node).items()
        ]
        is_null = names.is_null().to_numpy(zero_copy_only=False)
        return struct([(variant_key(node), names), *bodies], is_null)

    def visit_link(self, node: Link, values: Values) -> pa.Array:
        if self._nesting.is_closed(node):
            return self._as_json(node, values)
        with self._nesting.inside(node) as body:
            return self.visit(body, values)

    def _unreadable(self, node: Generic | Unsupported, values: Values) -> pa.Array:
        return pa.nulls(len(values), pa.string())

    visit_generic = visit_unsupported = _unreadable


# --- columns of parts ------------------------------------------------------------------------


def struct(columns: Sequence[tuple[str, pa.Array]], is_null: Any) -> pa.StructArray:
    """Return a struct column of *columns*, null where *is_null*."""
    names, arrays = zip(*columns, strict=True)
    mask = pa.array(is_null, pa.bool_())
    return pa.StructArray.from_arrays(list(arrays), list(names), mask=mask)


def lists(lengths: Sequence[int | None], items: pa.Array) -> pa.ListArray:
    """Return a list column: each row has the next *lengths* of *items*, or is null."""
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + (length or 0))
    mask = pa.array([length is None for length in lengths], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)


def names_column(node: Enum, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return a dictionary column of the names of variants, null for a name that *node* lacks."""
    known = variant_names(node)
    places = {name: place for place, name in enumerate(known)}
    indices = pa.array([None if name is None else places.get(name) for name in names], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(known, pa.string()))


def _variant(value: Any) -> str | None:
    """Return the name of an enum's variant, None for one that the source does not know."""
    if isinstance(value, str):
        return value
    return next(iter(value)) if isinstance(value, dict) else None


def _part(value: Any, key: str | int) -> Any:
    """Return the part of *value* at *key*, None if it has none."""
    if isinstance(value, dict):
        return value.get(key)
    has_part = isinstance(value, list) and isinstance(key, int) and key < len(value)
    return value[key] if has_part else None

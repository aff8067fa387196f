"""Builds Arrow columns from values, as the codecs and the lenient reader give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate, chain
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
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    WrapperType,
)
from mcpsol_py.tables.arrow_types import (
    ArrowTypes,
    Member,
    Nesting,
    members,
    payloads,
    variant_key,
    variant_names,
)

__all__ = ["ValueColumns", "map_present", "struct"]

Values = Sequence[Any]


class ValueColumns(GroupVisitor[[Values], pa.Array]):
    """Builds the column of a type: `visit(node, values)`.

    A value that is absent, or not of its type (the lenient reader keeps what it found), is null.
    """

    def __init__(
        self, layouts: Layouts, *, text: bool, nesting: Nesting | None = None
    ) -> None:
        self.layouts = layouts
        self.text = text
        self._nesting = nesting or Nesting(layouts)
        self._json = LenientJson(layouts)

    def _type(self, node: Type) -> pa.DataType:
        return ArrowTypes(self.layouts, text=self.text).visit(node)

    def _leaf(self, node: Type, kind: type, values: Values) -> pa.Array:
        return pa.array(_of_type(kind, values), self._type(node))

    def _as_json(self, node: Type, values: Values) -> pa.Array:
        def form(value: Any) -> str:
            return orjson.dumps(self._json.visit(node, value)).decode()

        return pa.array(map_present(form, values), pa.string())

    # --- scalars -----------------------------------------------------------------------------

    def visit_scalar(self, node: Type, values: Values) -> pa.Array:
        raise AssertionError(node)

    def visit_int(self, node: Int, values: Values) -> pa.Array:
        if node.bits <= 64:
            return self._leaf(node, int, values)
        wanted = self._type(node)
        form: type[str] | type[Decimal] = str if pa.types.is_string(wanted) else Decimal
        return pa.array(map_present(form, _of_type(int, values)), wanted)

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
        keys = map_present(form, _of_type(Address, values))
        return pa.array(keys, self._type(node))

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
        return self._struct([Member("some", node.item, "some")], values)

    def visit_list(self, node: ListType, values: Values) -> pa.Array:
        rows = _of_type(list, values)
        return _lists(rows, self.visit(node.item, _joined(rows)))

    def visit_array(self, node: Array, values: Values) -> pa.Array:
        if is_bytes(node):
            return self._leaf(node, bytes, values)
        return self.visit_list(node, values)

    def visit_map(self, node: Map, values: Values) -> pa.Array:
        rows = _of_type(list, values)
        entry = [Member("key", node.key, 0), Member("value", node.value, 1)]
        return _lists(rows, self._struct(entry, _joined(rows)))

    def visit_product(self, node: ProductType, values: Values) -> pa.Array:
        parts = members(node)
        return self._struct(parts, values) if parts else self._as_json(node, values)

    def _struct(self, parts: Sequence[Member], values: Values) -> pa.Array:
        columns = [
            (one.name, self.visit(one.type, _parts(one.key, values))) for one in parts
        ]
        return struct(columns, [value is None for value in values])

    def visit_enum(self, node: Enum, values: Values) -> pa.Array:
        if not node.variants:
            return self._as_json(node, values)
        names = _names_column(node, list(map(_variant, values)))
        if has_only_names(node):
            return names
        bodies = [
            (name, self.visit(payload, _parts(name, values)))
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


def _lists(rows: Sequence[list[Any] | None], items: pa.Array) -> pa.ListArray:
    """Return a list column of *items*, which *rows* have one after the other."""
    lengths = pa.array(map_present(len, rows), pa.int32())
    offsets = accumulate(lengths.fill_null(0).to_pylist(), initial=0)
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items, mask=lengths.is_null()
    )


def _names_column(node: Enum, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return a dictionary column of the names of variants, null for a name that *node* lacks."""
    known = variant_names(node)
    places: dict[str | None, int] = {name: place for place, name in enumerate(known)}
    indices = pa.array(map(places.get, names), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(known, pa.string()))


def _variant(value: Any) -> str | None:
    """Return the name of an enum's variant, None for one that the source does not know."""
    if isinstance(value, str):
        return value
    return next(iter(value)) if isinstance(value, dict) else None


# --- values ----------------------------------------------------------------------------------


def map_present(change: Callable[[Any], Any], values: Values) -> list[Any]:
    """Return the *values* after *change*. None remains None."""
    return [None if value is None else change(value) for value in values]


def _of_type(kind: type, values: Values, other: Any = None) -> list[Any]:
    """Return *values* with *other* for those of another type. A bool is no int here."""
    return [value if type(value) is kind else other for value in values]


def _joined(rows: Sequence[list[Any] | None]) -> list[Any]:
    """Return the items of all *rows*."""
    return list(chain.from_iterable(filter(None, rows)))


def _parts(key: str | int, values: Values) -> list[Any]:
    """Return the part of each value at *key*, None if it has none."""
    if isinstance(key, str):
        return [value.get(key) for value in _of_type(dict, values, {})]
    return [
        next(iter(value[key : key + 1]), None) for value in _of_type(list, values, [])
    ]

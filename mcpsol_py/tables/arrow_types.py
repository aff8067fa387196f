"""The Arrow type of each type of a program.

| type | Arrow |
|---|---|
| integers up to 64 bits | int8 to uint64 |
| u128, i128 | decimal256(39); as text: string |
| u256, i256 | string |
| f32, f64, bool, string | float, double, bool, string |
| pubkey | fixed_size_binary(32); as text: string, in base58 |
| bytes, [u8; n] | binary |
| option | the item's type, with nulls; of a type that may be null itself: struct<some> |
| array, set | list |
| map | list<struct<key, value>> (landed data may repeat a key, which Arrow's map type does not allow) |
| struct | struct; tuple: struct<_0, _1, …> |
| enum of names | dictionary<int32, string> |
| other enums | struct<variant, and a field for each variant that has data> |
| a type inside itself, a type without data | string, in JSON |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.codec.slots import has_only_names
from mcpsol_py.errors import NotUsable
from mcpsol_py.items import names_of
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    Float,
    Generic,
    Int,
    Link,
    Map,
    Pubkey,
    ShortU16,
    String,
    Tuple,
    Type,
    Unsupported,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    WrapperType,
)

__all__ = [
    "ArrowTypes",
    "Member",
    "Nesting",
    "members",
    "payloads",
    "variant_key",
    "variant_names",
]

#: How deep links may nest in columns. Deeper parts are JSON text, as a type inside itself is.
_MOST_LINKS = 24
#: The most columns of one table, counting those inside columns.
_MOST_COLUMNS = 20_000

_FLOATS = {32: pa.float32(), 64: pa.float64()}
_INTS = {
    (8, False): pa.uint8(),
    (16, False): pa.uint16(),
    (32, False): pa.uint32(),
    (64, False): pa.uint64(),
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
}
#: Holds u128 and i128: both have up to 39 digits, one more than decimal128.
_WIDE = pa.decimal256(39)
ADDRESS = pa.binary(32)
NAMES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Member:
    """A part of a struct or tuple: its name, its type, and its key in values (a tuple's: its place)."""

    name: str
    type: Type
    key: str | int


def members(node: ProductType) -> list[Member]:
    """Return the parts of *node* that values contain."""
    if isinstance(node, Tuple):
        return [
            Member(f"_{place}", item, place) for place, item in enumerate(node.items)
        ]
    fields = zip(field_keys(node.fields), node.fields, strict=True)
    return [
        Member(key, field.type, key) for key, field in fields if not field.is_constant
    ]


def payloads(node: Enum) -> dict[str, Type]:
    """Return the types of the variants that have data, by name."""
    found: dict[str, Type] = {}
    for variant in node.variants:
        if variant.payload is not None:
            found.setdefault(variant.name, variant.payload)
    return found


def variant_names(node: Enum) -> list[str]:
    """Return the names of the variants, each once."""
    return list(dict.fromkeys(names_of(node.variants)))


def variant_key(node: Enum) -> str:
    """Return the field that names the variant: "variant", or "variant_2" if a variant has that name."""
    keys = [*payloads(node), "variant"]
    return field_keys(tuple(Field(key, Bool()) for key in keys))[-1]


class Nesting:
    """The links around a part of a type. Says where columns end and JSON text begins."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._around: list[Link] = []

    def is_closed(self, link: Link) -> bool:
        """Return whether *link* is inside itself, or nests too deep for columns."""
        return link in self._around or len(self._around) >= _MOST_LINKS

    @contextmanager
    def inside(self, link: Link) -> Iterator[Type]:
        """Give the type that *link* names, and remember the link meanwhile."""
        self._around.append(link)
        try:
            yield self._layouts.expand(link)
        finally:
            self._around.pop()


class ArrowTypes(GroupVisitor[[], pa.DataType]):
    """Finds the Arrow type of a type: `visit(node)`. *text*: addresses and 128-bit integers are strings.

    Raises NotUsable for a type with too many columns.
    """

    def __init__(self, layouts: Layouts, *, text: bool) -> None:
        self.layouts = layouts
        self.text = text
        self._nesting = Nesting(layouts)
        self._columns = 0

    def visit(self, node: Type) -> pa.DataType:
        self._columns += 1
        if self._columns > _MOST_COLUMNS:
            raise NotUsable(
                "type", "account", f"a table of it has over {_MOST_COLUMNS:,} columns"
            )
        return super().visit(node)

    def visit_scalar(self, node: Type) -> pa.DataType:
        return pa.string()

    def visit_int(self, node: Int) -> pa.DataType:
        if node.bits == 128 and not self.text:
            return _WIDE
        return _INTS.get((node.bits, node.signed), pa.string())

    def visit_amount(self, node: Amount) -> pa.DataType:
        return self.visit_int(node.number)

    def visit_date_time(self, node: DateTime) -> pa.DataType:
        return self.visit_int(node.number)

    def visit_short_u16(self, node: ShortU16) -> pa.DataType:
        return pa.uint16()

    def visit_float(self, node: Float) -> pa.DataType:
        return _FLOATS[node.bits]

    def visit_bool(self, node: Bool) -> pa.DataType:
        return pa.bool_()

    def visit_pubkey(self, node: Pubkey) -> pa.DataType:
        return pa.string() if self.text else ADDRESS

    def visit_string(self, node: String) -> pa.DataType:
        return pa.string()

    def visit_bytes(self, node: Bytes) -> pa.DataType:
        return pa.binary()

    def visit_wrapper(self, node: WrapperType) -> pa.DataType:
        return self.visit(node.item)

    def visit_optional(self, node: OptionalType) -> pa.DataType:
        item = self.visit(node.item)
        return pa.struct([("some", item)]) if self.layouts.nullable(node.item) else item

    def visit_list(self, node: ListType) -> pa.DataType:
        return pa.list_(self.visit(node.item))

    def visit_array(self, node: Array) -> pa.DataType:
        return pa.binary() if is_bytes(node) else self.visit_list(node)

    def visit_map(self, node: Map) -> pa.DataType:
        entry = [("key", self.visit(node.key)), ("value", self.visit(node.value))]
        return pa.list_(pa.struct(entry))

    def visit_product(self, node: ProductType) -> pa.DataType:
        fields = [(member.name, self.visit(member.type)) for member in members(node)]
        return pa.struct(fields) if fields else pa.string()

    def visit_enum(self, node: Enum) -> pa.DataType:
        if has_only_names(node):
            return NAMES
        bodies = [
            (name, self.visit(payload)) for name, payload in payloads(node).items()
        ]
        return (
            pa.struct([(variant_key(node), NAMES), *bodies])
            if node.variants
            else pa.string()
        )

    def visit_link(self, node: Link) -> pa.DataType:
        if self._nesting.is_closed(node):
            return pa.string()
        with self._nesting.inside(node) as body:
            return self.visit(body)

    def _as_json(self, node: Generic | Unsupported) -> pa.DataType:
        return pa.string()

    visit_generic = visit_unsupported = _as_json

"""Builds Arrow columns from the bytes of many values of one fixed layout, with numpy.

A block is a matrix of bytes, one value in each row. Each part of a type is a run of its columns, so that a field of
all values is one copy. Rows with bytes that the codecs refuse (a bool of 2, an unknown variant) are marked, and read
again one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.integers import byte_order
from mcpsol_py.errors import CodecError
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    FixedSize,
    Float,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Unsupported,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import ProductType, TypeVisitor
from mcpsol_py.tables.arrow_types import (
    ADDRESS,
    ArrowTypes,
    Member,
    Nesting,
    members,
    payloads,
    variant_key,
    variant_names,
)
from mcpsol_py.tables.value_columns import ValueColumns, struct

__all__ = ["Block", "FixedColumns"]

#: Rows of bytes, of numbers, and of truth values.
Matrix: TypeAlias = np.ndarray[Any, Any]
Numbers: TypeAlias = np.ndarray[Any, Any]
Mask: TypeAlias = np.ndarray[Any, Any]

#: Types whose values are seldom of one size, and those that have no bytes.
Rare: TypeAlias = (
    ShortU16
    | String
    | Bytes
    | SizePrefixed
    | Sentinel
    | RemainderOption
    | Generic
    | Unsupported
)


@dataclass(slots=True)
class Block:
    """Values of one type, a row each. `used`: the rows that hold a value; None: all do.

    `odd`: the rows that the codecs would refuse.
    """

    rows: Matrix
    used: Mask | None = None
    odd: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.odd = np.zeros(len(self.rows), bool)

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, size: int) -> Matrix:
        """Return the *size* bytes from *start* of each row, copied together."""
        if not size:
            return self.rows[:, :0]
        # A row is one item of numpy, which copies it in one piece.
        found = self.rows[:, start : start + size].view(f"V{size}")[:, 0]
        return _copied(found, found.dtype).view(np.uint8).reshape(len(found), size)

    def numbers(self, start: int, form: str) -> Numbers:
        """Return the number at *start* of each row. *form* is its type in numpy."""
        kind = np.dtype(form)
        column = self.rows[:, start : start + kind.itemsize].view(kind)[:, 0]
        return _copied(column, kind.newbyteorder("="))

    def where(self, rows: Mask) -> Block:
        """Return a block of the same bytes, of which only *rows* hold a value."""
        return Block(self.rows, rows if self.used is None else rows & self.used)

    def refuse(self, odd: Mask) -> None:
        """Mark the rows that are *odd*, if they hold a value."""
        self.odd |= odd if self.used is None else odd & self.used

    def has(self, start: int, constant: bytes) -> Mask:
        """Return the rows that have *constant* at *start*."""
        if len(constant) == 8:  # Anchor's discriminators, compared as one number
            found: Mask = (
                self.numbers(start, "<u8") == np.frombuffer(constant, "<u8")[0]
            )
            return found
        same = self.rows[:, start : start + len(constant)] == np.frombuffer(
            constant, np.uint8
        )
        whole: Mask = np.logical_and.reduce(same, axis=1)
        return whole


class FixedColumns(TypeVisitor[[Block, int], pa.Array]):
    """Builds the column of a type of fixed size: `visit(node, block, start)`. *text* as in `ArrowTypes`."""

    def __init__(self, codecs: Codecs, *, text: bool) -> None:
        self.codecs = codecs
        self.layouts = codecs.layouts
        self.text = text
        self._nesting = Nesting(codecs.layouts)

    def size(self, node: Type) -> int:
        """Return the bytes of *node*."""
        size = self.layouts.fixed_size(node)
        assert size is not None, node
        return size

    def _one_by_one(self, node: Type, block: Block, start: int) -> pa.Array:
        """Build a column with the codec, value by value."""
        odd = np.zeros(len(block), bool)
        values: list[Any] = [None] * len(block)
        for row, data in enumerate(_each(block.part(start, self.size(node)))):
            try:
                values[row] = self.codecs.interpreted.decode(node, data)[0]
            except CodecError:
                odd[row] = True
        block.refuse(odd)
        return ValueColumns(self.layouts, text=self.text, nesting=self._nesting).visit(
            node, values
        )

    # --- numbers -----------------------------------------------------------------------------

    def visit_int(self, node: Int, block: Block, start: int) -> pa.Array:
        if node.bits <= 64:
            return pa.array(block.numbers(start, _int_form(node)))
        wanted = ArrowTypes(self.layouts, text=self.text).visit(node)
        if pa.types.is_decimal(wanted):
            return _decimals(node, wanted, block.part(start, 16))
        order = byte_order(node)
        raw = _each(block.part(start, node.bits // 8))
        texts = [str(int.from_bytes(one, order, signed=node.signed)) for one in raw]
        return pa.array(texts, pa.string())

    def visit_amount(self, node: Amount, block: Block, start: int) -> pa.Array:
        return self.visit_int(node.number, block, start)

    def visit_date_time(self, node: DateTime, block: Block, start: int) -> pa.Array:
        return self.visit_int(node.number, block, start)

    def visit_float(self, node: Float, block: Block, start: int) -> pa.Array:
        order = ">" if node.big_endian else "<"
        return pa.array(block.numbers(start, f"{order}f{node.bits // 8}"))

    def visit_bool(self, node: Bool, block: Block, start: int) -> pa.Array:
        if node.size.bits > 64:
            return self._one_by_one(node, block, start)
        numbers = block.numbers(start, _int_form(node.size))
        block.refuse((numbers != 0) & (numbers != 1))
        return pa.array(numbers == 1)

    # --- bytes -------------------------------------------------------------------------------

    def visit_pubkey(self, node: Pubkey, block: Block, start: int) -> pa.Array:
        raw = pa.py_buffer(block.part(start, 32))
        keys = pa.Array.from_buffers(ADDRESS, len(block), [None, raw])
        return _base58(keys) if self.text else keys

    def _bytes(self, size: int, block: Block, start: int) -> pa.Array:
        buffers = [
            None,
            _offsets(len(block), size),
            pa.py_buffer(block.part(start, size)),
        ]
        return pa.Array.from_buffers(pa.binary(), len(block), buffers)

    def visit_fixed_size(self, node: FixedSize, block: Block, start: int) -> pa.Array:
        item = node.item
        if isinstance(item, Bytes):
            return self._bytes(node.size, block, start)
        is_enum = isinstance(item, Enum) and self._has_fixed_payloads(item, node.size)
        if is_enum or self._fits(item, node.size):
            return self.visit(item, block, start)
        return self._one_by_one(node, block, start)

    def _has_fixed_payloads(self, node: Enum, room: int) -> bool:
        tag = self.size(node.tag) if isinstance(node.tag, Int) else room
        return all(
            self._fits(payload, room - tag) for payload in payloads(node).values()
        )

    def _fits(self, node: Type, room: int) -> bool:
        size = self.layouts.fixed_size(node)
        return size is not None and size <= room

    # --- lists -------------------------------------------------------------------------------

    def visit_array(self, node: Array, block: Block, start: int) -> pa.Array:
        if is_bytes(node):
            return self._bytes(self.size(node), block, start)
        return self._list(node, node.item, block, start)

    def visit_set(self, node: Set, block: Block, start: int) -> pa.Array:
        return self._list(node, node.item, block, start)

    def visit_map(self, node: Map, block: Block, start: int) -> pa.Array:
        entry = Struct((Field("key", node.key), Field("value", node.value)))
        return self._list(node, entry, block, start)

    def _list(
        self, node: Array | Set | Map, item: Type, block: Block, start: int
    ) -> pa.Array:
        size = self.layouts.fixed_size(item)
        if not size or not isinstance(node.count, int):
            return self._one_by_one(node, block, start)
        count, rows = node.count, len(block)
        used = None if block.used is None else np.repeat(block.used, count)
        items = Block(block.part(start, count * size).reshape(rows * count, size), used)
        column = self.visit(item, items, 0)
        block.refuse(np.logical_or.reduce(items.odd.reshape(rows, count), axis=1))
        offsets = pa.Array.from_buffers(
            pa.int32(), rows + 1, [None, _offsets(rows, count)]
        )
        return pa.ListArray.from_arrays(offsets, column)

    # --- products ----------------------------------------------------------------------------

    def visit_tuple(self, node: Tuple, block: Block, start: int) -> pa.Array:
        return self._struct(
            node, self._parts(node.items, members(node), block, start), block, start
        )

    def visit_struct(self, node: Struct, block: Block, start: int) -> pa.Array:
        return self._struct(node, self.fields(node, block, start), block, start)

    def fields(
        self, node: Struct, block: Block, start: int
    ) -> list[tuple[str, pa.Array]]:
        """Return the columns of a struct's fields, by name."""
        columns = []
        for key, part in zip(field_keys(node.fields), node.fields, strict=True):
            if part.default is not None and part.default.omitted:
                constant = self.codecs.interpreted.encode(part.type, part.default.value)
                block.refuse(~block.has(start, constant))
            else:
                columns.append((key, self.visit(part.type, block, start)))
            start += self.size(part.type)
        return columns

    def _parts(
        self, items: Sequence[Type], keys: Sequence[Member], block: Block, start: int
    ) -> list[tuple[str, pa.Array]]:
        starts = accumulate(map(self.size, items), initial=start)  # and the end
        places = zip(keys, starts, strict=False)
        return [(key.name, self.visit(key.type, block, at)) for key, at in places]

    def _struct(
        self,
        node: ProductType,
        columns: list[tuple[str, pa.Array]],
        block: Block,
        start: int,
    ) -> pa.Array:
        if not columns:
            return self._one_by_one(node, block, start)
        names, arrays = zip(*columns, strict=True)
        return pa.StructArray.from_arrays(list(arrays), list(names))

    # --- optional values and enums -----------------------------------------------------------

    def visit_option(self, node: Option, block: Block, start: int) -> pa.Array:
        if node.prefix.bits > 64:
            return self._one_by_one(node, block, start)
        tags = block.numbers(start, _int_form(node.prefix))
        block.refuse((tags != 0) & (tags != 1))
        return self._present(node.item, block, start + node.prefix.bits // 8, tags == 1)

    def visit_zeroable_option(
        self, node: ZeroableOption, block: Block, start: int
    ) -> pa.Array:
        absent = block.has(start, self.layouts.zero_bytes(node))
        return self._present(node.item, block, start, ~absent)

    def _present(self, item: Type, block: Block, start: int, present: Mask) -> pa.Array:
        """Build the column of an optional *item*, null where it is not *present*."""
        inner = block.where(present)
        column = self.visit(item, inner, start)
        block.refuse(inner.odd)
        if self.layouts.nullable(item):
            column = pa.StructArray.from_arrays([column], ["some"])
        return _only(column, present)

    def visit_enum(self, node: Enum, block: Block, start: int) -> pa.Array:
        bodies = payloads(node)
        names = variant_names(node)
        if (
            not isinstance(node.tag, Int)
            or node.tag.bits > 64
            or len(names) < len(node.variants)
        ):
            return self._one_by_one(node, block, start)
        places, found = self._variants(node, node.tag, block, start)
        block.refuse(~found)
        indices = pa.array(places, pa.int32(), mask=~found)
        column = pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))
        if not bodies:
            return column
        start += self.size(node.tag)
        columns = [(variant_key(node), column)]
        for name, payload in bodies.items():
            present = found & (places == names.index(name))
            inner = block.where(present)
            columns.append((name, _only(self.visit(payload, inner, start), present)))
            block.refuse(inner.odd)
        return struct(columns, ~found)

    def _variants(
        self, node: Enum, tag: Int, block: Block, start: int
    ) -> tuple[Numbers, Mask]:
        """Return the place of each row's variant, and the rows whose tag is known."""
        numbers = block.numbers(start, _int_form(tag))
        by_tag: dict[int, int] = {}
        for place, variant in enumerate(node.variants):
            by_tag.setdefault(variant.tag_at(place), place)
        limits = np.iinfo(numbers.dtype)
        known = sorted(one for one in by_tag if limits.min <= one <= limits.max)
        if not known:
            return np.zeros(len(block), np.int32), np.zeros(len(block), bool)
        tags = np.array(known, numbers.dtype)
        at = np.searchsorted(tags, numbers).clip(max=len(tags) - 1)
        places = np.array([by_tag[one] for one in known], np.int32)
        return places[at], tags[at] == numbers

    # --- wrappers and links ------------------------------------------------------------------

    def visit_hidden_prefix(
        self, node: HiddenPrefix, block: Block, start: int
    ) -> pa.Array:
        block.refuse(~block.has(start, node.data))
        return self.visit(node.item, block, start + len(node.data))

    def visit_hidden_suffix(
        self, node: HiddenSuffix, block: Block, start: int
    ) -> pa.Array:
        block.refuse(~block.has(start + self.size(node.item), node.data))
        return self.visit(node.item, block, start)

    def visit_offset(self, node: Offset, block: Block, start: int) -> pa.Array:
        if not node.is_padding:
            return self._one_by_one(node, block, start)
        return self.visit(
            node.item, block, start + (node.amount if node.when == "pre" else 0)
        )

    def visit_link(self, node: Link, block: Block, start: int) -> pa.Array:
        if self._nesting.is_closed(node):
            return self._one_by_one(node, block, start)
        with self._nesting.inside(node) as body:
            return self.visit(body, block, start)

    def _rare(self, node: Rare, block: Block, start: int) -> pa.Array:
        return self._one_by_one(node, block, start)

    visit_short_u16 = visit_string = visit_bytes = visit_size_prefixed = (
        visit_sentinel
    ) = _rare
    visit_remainder_option = visit_generic = visit_unsupported = _rare


# --- columns of numbers and bytes ------------------------------------------------------------


def _copied(column: Numbers, kind: np.dtype[Any]) -> Numbers:
    """Return *column* as *kind*, in memory from Arrow's pool, which keeps it for the next chunk."""
    if column.flags.c_contiguous and column.dtype == kind:
        return column
    room = pa.allocate_buffer(len(column) * kind.itemsize)
    out: Numbers = np.frombuffer(room, kind)
    np.copyto(out, column)
    return out


def _int_form(node: Int) -> str:
    """Return the type in numpy of an integer of up to 64 bits."""
    return f"{'>' if node.big_endian else '<'}{node.letter}{node.bits // 8}"


def _decimals(node: Int, wanted: pa.DataType, raw: Matrix) -> pa.Array:
    """Return 128-bit integers as decimals of 256 bits, little-endian."""
    wide = np.zeros((len(raw), 32), np.uint8)
    wide[:, :16] = raw[:, ::-1] if node.big_endian else raw
    if node.signed:
        wide[wide[:, 15] > 127, 16:] = 255
    return pa.Array.from_buffers(wanted, len(raw), [None, pa.py_buffer(wide)])


def _base58(keys: pa.Array) -> pa.Array:
    """Return addresses as text. Each different one is converted once: tables repeat them a lot."""
    coded = keys.dictionary_encode()
    texts = [str(Address.from_bytes(key)) for key in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _offsets(rows: int, length: int) -> pa.Buffer:
    """Return the offsets of *rows* parts of equal *length*."""
    return pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(length))


def _only(column: pa.Array, present: Mask) -> pa.Array:
    """Return *column* with null in the rows that are not *present*."""
    return column.take(pa.array(np.arange(len(column)), mask=~present))


def _each(raw: Matrix) -> Iterator[bytes]:
    """Yield the bytes of each row."""
    size, data = raw.shape[1], raw.tobytes()
    for row in range(len(raw)):
        yield data[row * size : (row + 1) * size]

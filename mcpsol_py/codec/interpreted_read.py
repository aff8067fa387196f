"""The reading half of the interpreted codec: one method for each kind of type."""

from __future__ import annotations

import struct
from typing import Any

from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.integers import byte_order, decode_short_u16
from mcpsol_py.codec.interpreted_write import encode_interpreted, float_format
from mcpsol_py.codec.json_values import text_of
from mcpsol_py.codec.layout import MAX_DEPTH, MAX_EMPTY_ITEMS, Layouts, moved
from mcpsol_py.errors import CodecError, DecodeError
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    U8,
    Amount,
    Array,
    Bool,
    Bytes,
    Count,
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
from mcpsol_py.model.visit import TypeVisitor

__all__ = ["InterpretedReader"]


class InterpretedReader(TypeVisitor[[int], tuple[Any, int]]):
    """Reads values from `data`. `visit(node, at)` returns a value and the offset after it.

    `base` is the offset of the first byte of `data` in the whole, for errors. `depth` is the number
    of links that are open. Raises DecodeError; do not use the reader after that.
    """

    def __init__(
        self, layouts: Layouts, data: bytes, base: int = 0, depth: int = 0
    ) -> None:
        self.layouts = layouts
        self.data = data
        self.base = base
        self.depth = depth

    # --- helpers -------------------------------------------------------------------------------

    def left(self, at: int) -> int:
        """Return the number of bytes from *at* to the end."""
        return max(0, len(self.data) - at)

    def take(self, node: Type, at: int, size: int) -> bytes:
        """Return the *size* bytes at *at*. Raises DecodeError if there are fewer."""
        found = self.data[at : at + size]
        if len(found) == size:
            return found
        offset = self.base + at
        left = self.left(at)
        wanted = f"{size} byte{'' if size == 1 else 's'} of {type_text(node)}"
        raise DecodeError(
            f"the data ends too early: expected {wanted} at offset {offset}, got {left}",
            offset=offset,
            wanted=size,
            left=left,
            type=type_text(node),
        )

    def refuse(self, node: Type, at: int, why: str) -> DecodeError:
        """Return the error for the bytes at *at*."""
        offset = self.base + at
        message = f"{why} (at offset {offset})"
        return DecodeError(
            message, offset=offset, left=self.left(at), type=type_text(node)
        )

    def _within(self, data: bytes, start: int) -> InterpretedReader:
        """Return a reader of *data*, a part of this data that starts at *start*."""
        return InterpretedReader(self.layouts, data, self.base + start, self.depth)

    def _read_part(self, item: Type, data: bytes, start: int) -> tuple[Any, int]:
        """Read *item* from *data*, a part of this data at *start*. Returns the value and the bytes that it took."""
        return self._within(data, start).visit(item, 0)

    def _refuse_rest(self, item: Type, end: int, why: str) -> None:
        """Refuse bytes from *end* that a part does not use."""
        raise self.refuse(item, end, why)

    def _read_at(self, step: str, node: Type, at: int) -> tuple[Any, int]:
        """Read a part of the value. *step* is its place in the paths of errors."""
        try:
            return self.visit(node, at)
        except CodecError as error:
            raise error.under(step) from None

    def _read_constant(self, node: Type, constant: bytes, at: int) -> int:
        found = self.take(node, at, len(constant))
        if found != constant:
            expected = f"expected the constant bytes 0x{constant.hex()}"
            raise self.refuse(node, at, f"{expected}, got 0x{found.hex()}")
        return at + len(constant)

    # --- scalars -------------------------------------------------------------------------------

    def visit_int(self, node: Int, at: int) -> tuple[int, int]:
        size = node.bits // 8
        raw = self.take(node, at, size)
        return int.from_bytes(raw, byte_order(node), signed=node.signed), at + size

    def visit_short_u16(self, node: ShortU16, at: int) -> tuple[int, int]:
        try:
            return decode_short_u16(self.data, at)
        except IndexError:
            self.take(node, at, self.left(at) + 1)
            raise  # unreachable: the data does end here
        except ValueError as error:
            raise self.refuse(node, at, str(error)) from None

    def visit_amount(self, node: Amount, at: int) -> tuple[int, int]:
        return self.visit_int(node.number, at)

    def visit_date_time(self, node: DateTime, at: int) -> tuple[int, int]:
        return self.visit_int(node.number, at)

    def visit_float(self, node: Float, at: int) -> tuple[float, int]:
        size = node.bits // 8
        (number,) = struct.unpack(float_format(node), self.take(node, at, size))
        return number, at + size

    def visit_bool(self, node: Bool, at: int) -> tuple[bool, int]:
        number, end = self.visit_int(node.size, at)
        if number not in (0, 1):
            raise self.refuse(node, at, f"expected a bool of 0 or 1, got {number}")
        return number == 1, end

    def visit_pubkey(self, node: Pubkey, at: int) -> tuple[Address, int]:
        return Address.from_bytes(self.take(node, at, 32)), at + 32

    def visit_string(self, node: String, at: int) -> tuple[str, int]:
        raw = self.data[at:]
        try:
            return text_of(node.encoding, raw), at + len(raw)
        except UnicodeDecodeError as error:
            why = f"text is not utf8 ({error.reason})"
            raise self.refuse(node, at + error.start, why) from None

    def visit_bytes(self, node: Bytes, at: int) -> tuple[bytes, int]:
        return self.data[at:], max(at, len(self.data))

    # --- wrappers ------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed, at: int) -> tuple[Any, int]:
        length, start = self._read_length(node.prefix, at)
        value, used = self._read_part(
            node.item, self.take(node.item, start, length), start
        )
        if used != length:
            why = f"its prefix says {length} bytes, but {length - used} of them are left over"
            self._refuse_rest(node.item, start + used, why)
        return value, start + length

    def visit_fixed_size(self, node: FixedSize, at: int) -> tuple[Any, int]:
        raw = self.take(node, at, node.size)
        if isinstance(node.item, String) and node.item.encoding == "utf8":
            raw = raw.rstrip(b"\0")
        value, _ = self._read_part(node.item, raw, at)
        return value, at + node.size

    def visit_sentinel(self, node: Sentinel, at: int) -> tuple[Any, int]:
        end = self.data.find(node.mark, at)
        if end < 0:
            why = f"expected the end mark 0x{node.mark.hex()}, got no such bytes"
            raise self.refuse(node, at, why)
        value, used = self._read_part(node.item, self.data[at:end], at)
        if used != end - at:
            why = f"{end - at - used} bytes are left over before the end mark"
            self._refuse_rest(node.item, at + used, why)
        return value, end + len(node.mark)

    def visit_hidden_prefix(self, node: HiddenPrefix, at: int) -> tuple[Any, int]:
        return self.visit(node.item, self._read_constant(node, node.data, at))

    def visit_hidden_suffix(self, node: HiddenSuffix, at: int) -> tuple[Any, int]:
        value, end = self.visit(node.item, at)
        return value, self._read_constant(node, node.data, end)

    def visit_offset(self, node: Offset, at: int) -> tuple[Any, int]:
        before = at
        if node.when == "pre":
            at = self._move(node, at, before)
        value, at = self.visit(node.item, at)
        if node.when == "post":
            at = self._move(node, at, before)
        return value, at

    def _move(self, node: Offset, at: int, before: int) -> int:
        length = len(self.data)
        to = moved(node, at, before, length)
        if not 0 <= to <= length:
            raise self.refuse(
                node, at, f"an offset moves to {to}, outside the {length} bytes"
            )
        return to

    # --- optional values -----------------------------------------------------------------------

    def visit_option(self, node: Option, at: int) -> tuple[Any, int]:
        tag, end = self.visit_int(node.prefix, at)
        if tag not in (0, 1):
            raise self.refuse(
                node, at, f"expected an option's tag of 0 or 1, got {tag}"
            )
        if tag == 1:
            return self._read_present(node.item, end)
        room = self.layouts.absent_room(node)
        self.take(node.item, end, room)
        return None, end + room

    def visit_zeroable_option(self, node: ZeroableOption, at: int) -> tuple[Any, int]:
        zero = self.layouts.zero_bytes(node)
        if self.data.startswith(zero, at):
            return None, at + len(zero)
        return self._read_present(node.item, at)

    def visit_remainder_option(self, node: RemainderOption, at: int) -> tuple[Any, int]:
        if at >= len(self.data):
            return None, at
        return self._read_present(node.item, at)

    def _read_present(self, item: Type, at: int) -> tuple[Any, int]:
        value, end = self.visit(item, at)
        if self.layouts.nullable(item):
            value = {"some": value}
        return value, end

    # --- lists ---------------------------------------------------------------------------------

    def visit_array(self, node: Array, at: int) -> tuple[Any, int]:
        if not is_bytes(node):
            return self._read_items(node, node.item, node.count, at)
        number, start = self._read_count(node.count, U8, at)
        size = self.left(start) if number is None else number
        return self.take(node, start, size), start + size

    def visit_set(self, node: Set, at: int) -> tuple[list[Any], int]:
        return self._read_items(node, node.item, node.count, at)

    def visit_map(self, node: Map, at: int) -> tuple[list[Any], int]:
        return self._read_items(node, Tuple((node.key, node.value)), node.count, at)

    def _read_items(
        self, node: Type, item: Type, count: Count, at: int
    ) -> tuple[list[Any], int]:
        number, at = self._read_count(count, item, at)
        if number is None:
            return self._read_items_to_end(node, item, at)
        values: list[Any] = []
        for index in range(number):
            value, at = self._read_at(f"[{index}]", item, at)
            values.append(value)
        return values, at

    def _read_items_to_end(
        self, node: Type, item: Type, at: int
    ) -> tuple[list[Any], int]:
        values: list[Any] = []
        while at < len(self.data):
            value, end = self._read_at(f"[{len(values)}]", item, at)
            if end <= at:
                why = "its items take no bytes, so their number cannot be known"
                raise self.refuse(node, at, why)
            values.append(value)
            at = end
        return values, at

    def _read_count(self, count: Count, item: Type, at: int) -> tuple[int | None, int]:
        """Return how many items follow (None: up to the end), and the offset of the first."""
        if isinstance(count, (Int, ShortU16)):
            number, end = self._read_length(count, at)
        elif isinstance(count, int):
            number, end = count, at
        else:
            return None, at
        self._check_count(number, item, at, end)
        return number, end

    def _check_count(self, number: int, item: Type, at: int, end: int) -> None:
        """Check that *number* items can follow at *end*, before a loop makes that many."""
        least = self.layouts.least(item)
        left = self.left(end)
        offset = self.base + at
        if number * least > left:
            raise DecodeError(
                f"expected {number} items of at least {least} bytes at offset {offset}, "
                f"got {left} bytes",
                offset=offset,
                wanted=number * least,
                left=left,
                type=type_text(item),
            )
        if not least and number > MAX_EMPTY_ITEMS:
            why = f"expected at most {MAX_EMPTY_ITEMS} items that may take no bytes, got {number}"
            raise self.refuse(item, at, why)

    def _read_length(self, prefix: Int | ShortU16, at: int) -> tuple[int, int]:
        number, end = self.visit(prefix, at)
        if number < 0:
            raise self.refuse(prefix, at, f"expected a length, got {number}")
        return number, end

    # --- products, enums, links ----------------------------------------------------------------

    def visit_tuple(self, node: Tuple, at: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        for index, item in enumerate(node.items):
            value, at = self._read_at(f"[{index}]", item, at)
            values.append(value)
        return values, at

    def visit_struct(self, node: Struct, at: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        for key, field in zip(field_keys(node.fields), node.fields, strict=True):
            if field.is_constant:
                at = self._read_omitted(key, field, at)
            else:
                values[key], at = self._read_at(key, field.type, at)
        return values, at

    def _read_omitted(self, key: str, field: Field, at: int) -> int:
        """Check the bytes of a field that values do not show. Returns the offset after it."""
        assert field.default is not None
        constant = encode_interpreted(self.layouts, field.type, field.default.value)
        try:
            return self._read_constant(field.type, constant, at)
        except CodecError as error:
            raise error.under(key) from None

    def visit_enum(self, node: Enum, at: int) -> tuple[Any, int]:
        number, end = self.visit(node.tag, at)
        for index, variant in enumerate(node.variants):
            if variant.tag_at(index) != number:
                continue
            if variant.payload is None:
                return variant.name, end
            value, end = self._read_at(variant.name, variant.payload, end)
            return {variant.name: value}, end
        why = f"no variant has tag {number}; there are {len(node.variants)}"
        raise self.refuse(node, at, why)

    def visit_link(self, node: Link, at: int) -> tuple[Any, int]:
        if self.depth >= MAX_DEPTH:
            raise self.refuse(
                node, at, f"the data nests deeper than {MAX_DEPTH} levels"
            )
        self.depth += 1
        read = self.visit(self.layouts.expand(node), at)
        self.depth -= 1
        return read

    def _no_bytes(self, node: Generic | Unsupported, at: int) -> tuple[Any, int]:
        raise self.refuse(node, at, "the type cannot be decoded")

    visit_generic = visit_unsupported = _no_bytes

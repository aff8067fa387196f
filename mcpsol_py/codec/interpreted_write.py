"""The writing half of the interpreted codec: one method for each kind of type."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.integers import int_bytes
from mcpsol_py.codec.json_values import described
from mcpsol_py.codec.key_names import match_fields
from mcpsol_py.codec.layout import MAX_DEPTH, Layouts, moved
from mcpsol_py.errors import CodecError, EncodeError, abbr, suggest
from mcpsol_py.items import names_of
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    U8,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Default,
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
    Variant,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import TypeVisitor
from mcpsol_py.names import by_name

__all__ = ["InterpretedWriter", "WriteBuffer", "encode_interpreted", "float_format"]

_MAX_NAME = 80
#: Marks a variant that is given by its name alone.
_NO_PAYLOAD = object()


class WriteBuffer:
    """Bytes with a cursor that offsets can move.

    `at` is the cursor. `size` is the number of bytes written so far, wherever they went. `length`
    is the length of the whole, known in the second pass only.
    """

    def __init__(self, length: int | None = None) -> None:
        self.data = bytearray()
        self.at = 0
        self.size = 0
        self.length = length

    def put(self, data: bytes) -> None:
        """Write *data* at the cursor."""
        end = self.at + len(data)
        self.fill(end)
        self.data[self.at : end] = data
        self.at = end
        self.size += len(data)

    def fill(self, length: int) -> None:
        """Append zeros until the buffer has *length* bytes."""
        if length > len(self.data):
            self.data.extend(bytes(length - len(self.data)))


def encode_interpreted(
    layouts: Layouts, node: Type, value: object, *, strict: bool = False, depth: int = 0
) -> bytes:
    """Return the bytes of *value*. *depth*: how many links around it are open. Raises EncodeError."""
    writer = InterpretedWriter(layouts, strict=strict, depth=depth)
    writer.visit(node, value)
    if not layouts.moves_cursor(node):
        return bytes(writer.out.data)
    # An absolute offset may count from the end. Write again, now that the length is known.
    size = writer.out.size
    writer = InterpretedWriter(layouts, strict=strict, depth=depth, length=size)
    writer.visit(node, value)
    if len(writer.out.data) > size:
        why = f"an offset moves past the end of the {size} bytes"
        raise EncodeError(why, value=value, type=type_text(node))
    writer.out.fill(size)
    return bytes(writer.out.data)


class InterpretedWriter(TypeVisitor[[Any], None]):
    """Writes values to `out`. `visit(node, value)` raises EncodeError; do not use it after that."""

    def __init__(
        self,
        layouts: Layouts,
        *,
        strict: bool = False,
        depth: int = 0,
        length: int | None = None,
    ) -> None:
        self.layouts = layouts
        self.strict = strict
        self.depth = depth
        self.out = WriteBuffer(length)

    def write_fields(self, fields: tuple[Field, ...], value: Any, what: str) -> None:
        """Write *value*, an object of *fields* by name. *what*: the word for a field in errors."""
        value = leaf.container_of(value, self.strict)
        if not isinstance(value, Mapping):
            expected = f"expected an object with its {what}s by name"
            raise refuse(Struct(fields), value, f"{expected}, got {described(value)}")
        keyed = list(zip(field_keys(fields), fields, strict=True))
        given = match_fields(keyed, value, what)
        for key, field in keyed:
            if key in given:
                self._write_at(key, field.type, value[given[key]])
            elif field.default is not None:
                self._write_default(key, field.type, field.default)

    def _write_default(self, key: str, node: Type, default: Default) -> None:
        # The default comes from the program, not over JSON.
        strict, self.strict = self.strict, False
        self._write_at(key, node, default.value)
        self.strict = strict

    def _write_at(self, step: str, node: Type, value: Any) -> None:
        """Write a part of the value. *step* is its place in the paths of errors."""
        try:
            self.visit(node, value)
        except CodecError as error:
            raise error.under(step) from None

    def _encode(self, node: Type, value: Any) -> bytes:
        """Return the bytes of *value* on their own, with nothing written to `out`."""
        return encode_interpreted(
            self.layouts, node, value, strict=self.strict, depth=self.depth
        )

    # --- scalars -------------------------------------------------------------------------------

    def visit_int(self, node: Int, value: Any) -> None:
        self.out.put(int_bytes(node, leaf.int_of(node, value, self.strict)))

    def visit_short_u16(self, node: ShortU16, value: Any) -> None:
        self.out.put(int_bytes(node, leaf.int_of(node, value, self.strict)))

    def visit_amount(self, node: Amount, value: Any) -> None:
        self.visit_int(node.number, value)

    def visit_date_time(self, node: DateTime, value: Any) -> None:
        self.visit_int(node.number, value)

    def visit_float(self, node: Float, value: Any) -> None:
        self.out.put(
            struct.pack(float_format(node), leaf.float_of(node, value, self.strict))
        )

    def visit_bool(self, node: Bool, value: Any) -> None:
        self.out.put(int_bytes(node.size, int(leaf.bool_of(value, self.strict))))

    def visit_pubkey(self, node: Pubkey, value: Any) -> None:
        self.out.put(leaf.address_of(value))

    def visit_string(self, node: String, value: Any) -> None:
        self.out.put(leaf.text_bytes(node.encoding, value))

    def visit_bytes(self, node: Bytes, value: Any) -> None:
        self.out.put(leaf.bytes_of(value))

    # --- wrappers ------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed, value: Any) -> None:
        data = self._encode(node.item, value)
        self._write_length(node, node.prefix, len(data), "bytes", value)
        self.out.put(data)

    def visit_fixed_size(self, node: FixedSize, value: Any) -> None:
        data = self._encode(node.item, value)
        if len(data) > node.size:
            why = f"expected at most {node.size} bytes, got {len(data)} bytes"
            raise refuse(node, value, why)
        self.out.put(data.ljust(node.size, b"\0"))

    def visit_sentinel(self, node: Sentinel, value: Any) -> None:
        data = self._encode(node.item, value)
        if (data + node.mark).find(node.mark) != len(data):
            why = f"the value contains its end mark, the bytes 0x{node.mark.hex()}"
            raise refuse(node, value, why)
        self.out.put(data + node.mark)

    def visit_hidden_prefix(self, node: HiddenPrefix, value: Any) -> None:
        self.out.put(node.data)
        self.visit(node.item, value)

    def visit_hidden_suffix(self, node: HiddenSuffix, value: Any) -> None:
        self.visit(node.item, value)
        self.out.put(node.data)

    def visit_offset(self, node: Offset, value: Any) -> None:
        before = self.out.at
        if node.when == "pre":
            self._move(node, before, value)
        self.visit(node.item, value)
        if node.when == "post":
            self._move(node, before, value)
        out = self.out
        if out.length is not None and out.at > out.length:
            why = f"an offset moves to {out.at}, outside the {out.length} bytes"
            raise refuse(node, value, why)
        if node.strategy == "padded":
            out.fill(out.at)

    def _move(self, node: Offset, before: int, value: Any) -> None:
        out = self.out
        out.at = moved(node, out.at, before, out.length)
        if node.strategy == "padded":
            out.size += node.amount
        if out.at < 0:
            raise refuse(node, value, f"an offset moves to {out.at}, before the start")

    # --- optional values -----------------------------------------------------------------------

    def visit_option(self, node: Option, value: Any) -> None:
        if value is None:
            self.out.put(
                int_bytes(node.prefix, 0) + bytes(self.layouts.absent_room(node))
            )
            return
        self.out.put(int_bytes(node.prefix, 1))
        self.visit(node.item, self._unwrap_some(node.item, value))

    def visit_zeroable_option(self, node: ZeroableOption, value: Any) -> None:
        zero = self.layouts.zero_bytes(node)
        if value is None:
            self.out.put(zero)
            return
        value = self._unwrap_some(node.item, value)
        data = self._encode(node.item, value)
        if data.startswith(zero):
            why = f"the bytes of this value mean absent (0x{zero.hex()}); give null for absent"
            raise refuse(node, value, why)
        self.out.put(data)

    def visit_remainder_option(self, node: RemainderOption, value: Any) -> None:
        if value is not None:
            self.visit(node.item, self._unwrap_some(node.item, value))

    def _unwrap_some(self, item: Type, value: Any) -> Any:
        """Return the inner value of {"some": value}, if *item* needs that form. It may be bare."""
        if not self.layouts.nullable(item):
            return value
        value = leaf.container_of(value, self.strict)
        if isinstance(value, Mapping) and list(value) == ["some"]:
            return value["some"]
        return value

    # --- lists ---------------------------------------------------------------------------------

    def visit_array(self, node: Array, value: Any) -> None:
        if is_bytes(node):
            data = leaf.bytes_of(value, type_text(node))
            self._write_count(node, len(data), "bytes", value)
            self.out.put(data)
            return
        items = self._list(node, leaf.container_of(value, self.strict))
        self._write_count(node, len(items), "items", items)
        for index, item in enumerate(items):
            self._write_at(f"[{index}]", node.item, item)

    def visit_set(self, node: Set, value: Any) -> None:
        value = leaf.container_of(value, self.strict)
        if node.item == U8 and isinstance(value, (str, bytes)):
            value = list(leaf.bytes_of(value, type_text(node)))
        items = self._list(node, value)
        self._write_count(node, len(items), "items", items)
        seen: set[bytes] = set()
        for index, item in enumerate(items):
            self._write_at(f"[{index}]", node.item, item)
            if not self._is_new(seen, node.item, item):
                raise refuse(node, item, "this value is in the set already").under(
                    f"[{index}]"
                )

    def visit_map(self, node: Map, value: Any) -> None:
        value = leaf.container_of(value, self.strict)
        if isinstance(value, Mapping):
            value = list(value.items())
        if not isinstance(value, (list, tuple)):
            why = f"expected a list of [key, value], got {described(value)}"
            raise refuse(node, value, why)
        self._write_count(node, len(value), "entries", value)
        seen: set[bytes] = set()
        for index, entry in enumerate(value):
            try:
                self._write_entry(node, entry, seen)
            except CodecError as error:
                raise error.under(f"[{index}]") from None

    def _write_entry(self, node: Map, entry: Any, seen: set[bytes]) -> None:
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            raise refuse(node, entry, f"expected [key, value], got {described(entry)}")
        key, value = entry
        self._write_at("[0]", node.key, key)
        if not self._is_new(seen, node.key, key):
            raise refuse(node, key, "this key is in the map already")
        self._write_at("[1]", node.value, value)

    def _list(self, node: Array | Set, value: Any) -> list[Any] | tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise refuse(node, value, f"expected a list, got {described(value)}")
        return value

    def _is_new(self, seen: set[bytes], node: Type, value: Any) -> bool:
        data = self._encode(node, value)
        if data in seen:
            return False
        seen.add(data)
        return True

    def _write_count(
        self, node: Array | Set | Map, length: int, items: str, value: Any
    ) -> None:
        count = node.count
        if isinstance(count, (Int, ShortU16)):
            self._write_length(node, count, length, items, value)
        elif isinstance(count, int) and length != count:
            raise refuse(node, value, f"expected exactly {count} {items}, got {length}")

    def _write_length(
        self, node: Type, prefix: Int | ShortU16, length: int, items: str, value: Any
    ) -> None:
        most = leaf.int_range(prefix)[1]
        if length > most:
            prefix_text = f"its {type_text(prefix)} prefix counts"
            why = f"expected at most {most} {items}, which {prefix_text}, got {length}"
            raise refuse(node, value, why)
        self.out.put(int_bytes(prefix, length))

    # --- products, enums, links ----------------------------------------------------------------

    def visit_tuple(self, node: Tuple, value: Any) -> None:
        value = leaf.container_of(value, self.strict)
        if not isinstance(value, (list, tuple)) or len(value) != len(node.items):
            why = f"expected a list of {len(node.items)}, got {described(value)}"
            raise refuse(node, value, why)
        for index, (part, item) in enumerate(zip(value, node.items, strict=True)):
            self._write_at(f"[{index}]", item, part)

    def visit_struct(self, node: Struct, value: Any) -> None:
        self.write_fields(node.fields, value, "field")

    def visit_enum(self, node: Enum, value: Any) -> None:
        value = leaf.container_of(value, self.strict)
        name, payload = value, _NO_PAYLOAD
        if isinstance(value, Mapping):
            name, payload = _only_variant(node, value)
        index = _find_variant(node, name, value)
        variant = node.variants[index]
        self.out.put(int_bytes(node.tag, variant.tag_at(index)))
        if variant.payload is None:
            _check_no_payload(node, variant, payload, value)
            return
        if payload is _NO_PAYLOAD:
            payload = self._empty_payload(node, variant, variant.payload, value)
        self._write_at(variant.name, variant.payload, payload)

    def _empty_payload(
        self, node: Enum, variant: Variant, payload: Type, value: Any
    ) -> Any:
        """Return the only value of a payload that takes no bytes. Any other must be given."""
        if self.layouts.fixed_size(payload) == 0:
            return [] if isinstance(payload, Tuple) else {}
        why = f"variant {variant.name!r} holds {type_text(payload)}: give {{{variant.name!r}: ...}}"
        raise refuse(node, value, why)

    def visit_link(self, node: Link, value: Any) -> None:
        if self.depth >= MAX_DEPTH:
            raise refuse(node, None, f"the value nests deeper than {MAX_DEPTH} levels")
        self.depth += 1
        self.visit(self.layouts.expand(node), value)
        self.depth -= 1

    def _no_bytes(self, node: Generic | Unsupported, value: Any) -> None:
        raise refuse(node, value, "the type cannot be encoded")

    visit_generic = visit_unsupported = _no_bytes


def _only_variant(node: Enum, value: Mapping[Any, Any]) -> tuple[Any, Any]:
    if len(value) != 1:
        why = f"expected one variant as {{name: payload}}, got {described(value)}"
        raise refuse(node, value, why)
    ((name, payload),) = value.items()
    return name, payload


def _find_variant(node: Enum, name: object, value: object) -> int:
    names = names_of(node.variants)
    if not isinstance(name, str):
        expected = f"expected a variant by name, got {described(value)}"
        raise refuse(node, value, f"{expected}. {suggest('', names)}")
    known = by_name(names).get(name)
    if known is None:
        raise refuse(
            node, value, f"unknown variant {abbr(name)}. {suggest(name, names)}"
        )
    return names.index(known)


def _check_no_payload(node: Enum, variant: Variant, payload: Any, value: Any) -> None:
    if payload is not _NO_PAYLOAD and payload not in (None, {}, [], ()):
        why = f"variant {variant.name!r} holds nothing, got {described(payload)}"
        raise refuse(node, value, why).under(variant.name)


def refuse(node: Type, value: object, why: str) -> EncodeError:
    """Return the error for a *value* that *node* cannot encode."""
    name = type_text(node)
    shown = name if len(name) < _MAX_NAME else type(node).__name__.lower()
    return EncodeError(f"{shown}: {why}", value=value, type=name)


def float_format(node: Float) -> str:
    """Return the format of *node* for `struct`."""
    return (">" if node.big_endian else "<") + ("f" if node.bits == 32 else "d")

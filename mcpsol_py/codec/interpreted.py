"""The careful codec: a walk over the type that reads every form of a value and says exactly where something is wrong.

compile.py is the fast one: straight code that takes the plain Python forms and nothing else. Whatever it stumbles
over comes here, and is either encoded after all (JSON forms, names in another case, arguments with a default) or
refused with a path, a type and what was found. Both give the same bytes; tests hold them against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from solders.pubkey import Pubkey as Address

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.layout import MAX_DEPTH, MAX_EMPTY_ITEMS, Layouts, is_bytes
from mcpsol_py.errors import CodecError, DecodeError, EncodeError, abbr, suggest
from mcpsol_py.model.type_text import type_text
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
    Variant,
    ZeroableOption,
    field_keys,
)
from mcpsol_py.names import forms

__all__ = ["Careful", "Buffer", "decode_short_u16", "encode_short_u16", "match_names"]


def encode_short_u16(number: int) -> bytes:
    """Solana's compact-u16: seven bits a byte, low first."""
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    return bytes((number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14))


def decode_short_u16(data: bytes, offset: int) -> tuple[int, int]:
    """The number at *offset* and the offset behind it. Raises IndexError at the end of the data, ValueError for a
    spelling that Solana refuses: longer than need be, or over 65,535."""
    number = 0
    for place in range(3):
        byte = data[offset + place]
        number |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            if place and not byte:
                raise ValueError("a compact-u16 longer than need be")
            if number > 0xFFFF:
                raise ValueError("a compact-u16 over 65,535")
            return number, offset + place + 1
    raise ValueError("a compact-u16 of more than three bytes")


def match_names(
    names: Iterable[str], given: Iterable[object], what: str, required: Iterable[str] = ()
) -> dict[str, object]:
    """Which given key stands for which name: as written, or in snake_case, camelCase or PascalCase where only one
    name has that form.

    Returns name -> given key. Raises EncodeError for an unknown key, for two keys of one name, and for a *required*
    name without one.
    """
    known = list(names)
    by_form: dict[str, str | None] = {}
    for name in known:
        for form in forms(name):
            by_form[form] = None if by_form.get(form, name) != name else name
    by_form.update({name: name for name in known})
    found: dict[str, object] = {}
    for key in given:
        match = by_form.get(key) if isinstance(key, str) else None
        if match is None and isinstance(key, str) and key not in by_form:
            options = {by_form.get(form) for form in forms(key)} - {None}
            match = options.pop() if len(options) == 1 else None
        if match is None:
            raise EncodeError(
                f"there is no {what} {abbr(key)}. {suggest(str(key), known)}", value=key
            )
        if match in found:
            raise EncodeError(
                f"{what} {match!r} is given twice, as {found[match]!r} and {key!r}", value=key
            )
        found[match] = key
    missing = [name for name in required if name not in found]
    if missing:
        listed = ", ".join(map(repr, missing[:20]))
        raise EncodeError(
            f"missing {what}{'s' if len(missing) > 1 else ''} {listed}. {suggest('', known)}"
        )
    return found


class Buffer:
    """What is written, with a cursor that offsets move. `length` is the whole's, once it is known (the second pass)."""

    def __init__(self, length: int | None = None) -> None:
        self.data = bytearray()
        self.at = 0
        self.size = 0
        self.length = length

    def put(self, data: bytes) -> None:
        """Writes *data* at the cursor."""
        end = self.at + len(data)
        if end > len(self.data):
            self.data.extend(bytes(end - len(self.data)))
        self.data[self.at : end] = data
        self.at = end
        self.size += len(data)


class Careful:
    """Encodes and decodes by walking the type. One for a program; knows nothing between calls."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    # --- encoding --------------------------------------------------------------------------------------------------

    def encode(self, node: Type, value: object, *, strict: bool = False, depth: int = 0) -> bytes:
        """The bytes of *value*. `strict`: it came over JSON. Raises EncodeError."""
        try:
            buffer = Buffer()
            self._write(node, value, buffer, strict, depth)
            if self.layouts.moves_cursor(
                node
            ):  # an absolute offset counts from the end: the length must be known
                buffer, size = Buffer(buffer.size), buffer.size
                self._write(node, value, buffer, strict, depth)
                if len(buffer.data) > size:
                    raise EncodeError(
                        f"an offset moves past the end of the {size} bytes",
                        value=value,
                        type=type_text(node),
                    )
                buffer.data.extend(bytes(size - len(buffer.data)))
            return bytes(buffer.data)
        except RecursionError:
            raise EncodeError(
                "the value nests too deep", value=None, type=type_text(node)
            ) from None

    def _write(self, node: Type, value: Any, out: Buffer, strict: bool, depth: int) -> None:
        match node:
            case Int() | ShortU16():
                out.put(_int_bytes(node, leaf.int_of(node, value, strict)))
            case Amount(number, _, _) | DateTime(number):
                out.put(_int_bytes(number, leaf.int_of(number, value, strict)))
            case Float(bits, big):
                out.put(
                    struct.pack(
                        (">" if big else "<") + ("f" if bits == 32 else "d"),
                        leaf.float_of(node, value, strict),
                    )
                )
            case Bool(size):
                out.put(_int_bytes(size, int(leaf.bool_of(value, strict))))
            case Pubkey():
                out.put(leaf.address_of(value))
            case String(encoding):
                out.put(leaf.text_bytes(encoding, value))
            case Bytes():
                out.put(leaf.bytes_of(value))
            case SizePrefixed(item, prefix):
                data = self.encode(item, value, strict=strict, depth=depth)
                self._write_length(prefix, len(data), "bytes", node, value, out)
                out.put(data)
            case FixedSize(item, size):
                data = self.encode(item, value, strict=strict, depth=depth)
                if len(data) > size:
                    raise _refuse(node, value, f"{len(data)} bytes do not fit its {size}")
                out.put(data.ljust(size, b"\0"))
            case Sentinel(item, mark):
                data = self.encode(item, value, strict=strict, depth=depth)
                if (data + mark).find(mark) != len(data):
                    raise _refuse(
                        node, value, f"it holds the bytes 0x{mark.hex()} that mark its end"
                    )
                out.put(data + mark)
            case HiddenPrefix(item, data):
                out.put(data)
                self._write(item, value, out, strict, depth)
            case HiddenSuffix(item, data):
                self._write(item, value, out, strict, depth)
                out.put(data)
            case Offset():
                self._write_offset(node, value, out, strict, depth)
            case Option() | ZeroableOption() | RemainderOption():
                self._write_option(node, value, out, strict, depth)
            case Array(item, count) if is_bytes(node):
                data = leaf.bytes_of(value, type_text(node))
                self._write_count(count, len(data), "bytes", node, value, out)
                out.put(data)
            case Array(item, count) | Set(item, count):
                self._write_list(node, item, count, value, out, strict, depth)
            case Map():
                self._write_map(node, value, out, strict, depth)
            case Tuple(items):
                value = leaf.container_of(value, strict)
                if not isinstance(value, (list, tuple)) or len(value) != len(items):
                    raise _refuse(
                        node, value, f"it takes a list of {len(items)}, not {_found(value)}"
                    )
                for index, (part, of) in enumerate(zip(value, items, strict=True)):
                    self._under(f"[{index}]", of, part, out, strict, depth)
            case Struct(fields):
                self.write_fields(fields, value, out, strict, depth, "field")
            case Enum():
                self._write_enum(node, value, out, strict, depth)
            case Link():
                if depth >= MAX_DEPTH:
                    raise _refuse(node, None, f"the value nests deeper than {MAX_DEPTH} levels")
                self._write(self.layouts.resolver.expand(node)[1], value, out, strict, depth + 1)
            case _:
                raise _refuse(node, value, "the type cannot be encoded")

    def _under(
        self, step: str, node: Type, value: Any, out: Buffer, strict: bool, depth: int
    ) -> None:
        try:
            self._write(node, value, out, strict, depth)
        except CodecError as error:
            raise error.under(step) from None

    def write_fields(
        self,
        fields: tuple[Field, ...],
        value: Any,
        out: Buffer,
        strict: bool,
        depth: int,
        what: str,
    ) -> None:
        """Writes the fields of a struct, or the arguments of an instruction (*what* says which)."""
        value = leaf.container_of(value, strict)
        if not isinstance(value, Mapping):
            node = Struct(fields)
            raise _refuse(
                node, value, f"it takes an object with its {what}s by name, not {_found(value)}"
            )
        keys = field_keys(fields)
        shown = [
            k for k, f in zip(keys, fields, strict=True) if not (f.default and f.default.omitted)
        ]
        required = [k for k, f in zip(keys, fields, strict=True) if f.default is None]
        given = match_names(shown, value, what, required)
        for key, field in zip(keys, fields, strict=True):
            if key in given:
                self._under(key, field.type, value[given[key]], out, strict, depth)
            elif field.default is not None:
                self._under(key, field.type, field.default.value, out, False, depth)

    def _write_length(
        self, prefix: Int | ShortU16, length: int, of: str, node: Type, value: Any, out: Buffer
    ) -> None:
        most = leaf.int_range(prefix)[1]
        if length > most:
            raise _refuse(
                node,
                value,
                f"{length} {of} are more than its {type_text(prefix)} prefix can say ({most})",
            )
        out.put(_int_bytes(prefix, length))

    def _write_count(
        self, count: Any, length: int, of: str, node: Type, value: Any, out: Buffer
    ) -> None:
        if isinstance(count, int):
            if length != count:
                raise _refuse(node, value, f"it takes exactly {count} {of}, not {length}")
        elif count is not None:
            self._write_length(count, length, of, node, value, out)

    def _write_list(
        self,
        node: Array | Set,
        item: Type,
        count: Any,
        value: Any,
        out: Buffer,
        strict: bool,
        depth: int,
    ) -> None:
        value = leaf.container_of(value, strict)
        if isinstance(node, Set) and item == Int(8) and isinstance(value, (str, bytes)):
            value = list(leaf.bytes_of(value, type_text(node)))
        if not isinstance(value, (list, tuple)):
            raise _refuse(node, value, f"it takes a list, not {_found(value)}")
        self._write_count(count, len(value), "items", node, value, out)
        seen: set[bytes] = set()
        for index, part in enumerate(value):
            self._under(f"[{index}]", item, part, out, strict, depth)
            if isinstance(node, Set):
                data = self.encode(item, part, strict=strict, depth=depth)
                if data in seen:
                    raise _refuse(node, part, "this value is in the set already").under(
                        f"[{index}]"
                    )
                seen.add(data)

    def _write_map(self, node: Map, value: Any, out: Buffer, strict: bool, depth: int) -> None:
        value = leaf.container_of(value, strict)
        if isinstance(value, Mapping):
            value = list(value.items())
        if not isinstance(value, (list, tuple)):
            raise _refuse(node, value, f"it takes a list of [key, value], not {_found(value)}")
        self._write_count(node.count, len(value), "entries", node, value, out)
        seen: set[bytes] = set()
        for index, pair in enumerate(value):
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise _refuse(
                    node, pair, f"an entry is a list of [key, value], not {_found(pair)}"
                ).under(f"[{index}]")
            try:
                self._under("[0]", node.key, pair[0], out, strict, depth)
                data = self.encode(node.key, pair[0], strict=strict, depth=depth)
                if data in seen:
                    raise _refuse(node, pair[0], "this key is in the map already")
                seen.add(data)
                self._under("[1]", node.value, pair[1], out, strict, depth)
            except CodecError as error:
                raise error.under(f"[{index}]") from None

    def _write_option(
        self,
        node: Option | ZeroableOption | RemainderOption,
        value: Any,
        out: Buffer,
        strict: bool,
        depth: int,
    ) -> None:
        item = node.item
        if value is None:
            match node:
                case Option(_, prefix, fixed):
                    out.put(
                        _int_bytes(prefix, 0)
                        + bytes((self.layouts.fixed_size(item) or 0) if fixed else 0)
                    )
                case ZeroableOption(_, zero):
                    out.put(bytes(self.layouts.fixed_size(item) or 0) if zero is None else zero)
            return
        if self.layouts.nullable(item):
            value = leaf.container_of(value, strict)
            if isinstance(value, Mapping) and list(value) == ["some"]:
                value = value["some"]  # else a bare value, which can only mean that both are there
        if isinstance(node, Option):
            out.put(_int_bytes(node.prefix, 1))
        if isinstance(node, ZeroableOption):
            data = self.encode(item, value, strict=strict, depth=depth)
            zero = bytes(self.layouts.fixed_size(item) or 0) if node.zero is None else node.zero
            if data.startswith(zero):
                raise _refuse(
                    node,
                    value,
                    f"its bytes are those that mean absent (0x{zero.hex()}); give null for that",
                )
            out.put(data)
        else:
            self._write(item, value, out, strict, depth)

    def _write_offset(
        self, node: Offset, value: Any, out: Buffer, strict: bool, depth: int
    ) -> None:
        before = out.at
        if node.when == "pre":
            out.at = self._move(node, out.at, out.at, before, out.length)
            if node.strategy == "padded":
                out.size += node.amount
            if out.at < 0:
                raise _refuse(node, value, f"an offset moves to {out.at}, before the start")
        self._write(node.item, value, out, strict, depth)
        if node.when == "post":
            out.at = self._move(node, out.at, out.at, before, out.length)
            if node.strategy == "padded":
                out.size += node.amount
        if out.at < 0 or (out.length is not None and out.at > out.length):
            raise _refuse(
                node, value, f"an offset moves to {out.at}, outside the {out.length} bytes"
            )
        if out.at > len(out.data) and node.strategy == "padded":
            out.data.extend(bytes(out.at - len(out.data)))

    @staticmethod
    def _move(node: Offset, here: int, after: int, before: int, length: int | None) -> int:
        match node.strategy:
            case "absolute":
                if node.amount >= 0:
                    return node.amount
                return node.amount % length if length else 0
            case "preOffset":
                return before + node.amount
            case _:
                return here + node.amount

    def _write_enum(self, node: Enum, value: Any, out: Buffer, strict: bool, depth: int) -> None:
        given: Any = None
        name = value
        if isinstance(value, str) and strict and value.lstrip()[:1] == "{":
            name = value = leaf.container_of(value, True)
        if isinstance(value, Mapping):
            if len(value) != 1:
                raise _refuse(
                    node, value, f"it takes one variant, as {{name: payload}}, not {_found(value)}"
                )
            ((name, given),) = value.items()
        index = self._variant(node, name, value)
        variant = node.variants[index]
        out.put(_int_bytes(node.tag, _tag(variant, index)))
        if variant.payload is None:
            if given not in (None, {}, [], ()):
                raise _refuse(
                    node, value, f"variant {variant.name!r} holds nothing, {_found(given)} is given"
                ).under(variant.name)
            return
        if given is None and not isinstance(value, Mapping):
            if self.layouts.fixed_size(variant.payload) == 0:
                given = [] if isinstance(variant.payload, Tuple) else {}
            else:
                raise _refuse(
                    node,
                    value,
                    f"variant {variant.name!r} holds {type_text(variant.payload)}: give {{{variant.name!r}: …}}",
                )
        self._under(variant.name, variant.payload, given, out, strict, depth)

    def _variant(self, node: Enum, name: object, value: object) -> int:
        names = [v.name for v in node.variants]
        if isinstance(name, str):
            if name in names:
                return names.index(name)
            wanted = set(forms(name))
            near = [i for i, n in enumerate(names) if wanted & set(forms(n))]
            if len(near) == 1:
                return near[0]
            raise _refuse(node, value, f"there is no variant {abbr(name)}. {suggest(name, names)}")
        raise _refuse(
            node, value, f"it takes a variant by name, not {_found(value)}. {suggest('', names)}"
        )

    # --- decoding --------------------------------------------------------------------------------------------------

    def decode(self, node: Type, data: bytes, offset: int = 0) -> tuple[Any, int]:
        """The value at *offset* and the offset behind it. Raises DecodeError."""
        try:
            return self._read(node, _Data(data, 0), offset, 0)
        except RecursionError:
            raise DecodeError(
                "the data nests too deep", offset=offset, type=type_text(node)
            ) from None

    def _read(self, node: Type, data: _Data, at: int, depth: int) -> tuple[Any, int]:
        match node:
            case Int(bits, signed, big):
                raw = data.take(node, at, bits // 8)
                return int.from_bytes(
                    raw, "big" if big else "little", signed=signed
                ), at + bits // 8
            case ShortU16():
                try:
                    return decode_short_u16(data.bytes, at)
                except IndexError:
                    data.take(node, at, max(1, len(data.bytes) - at + 1))
                except ValueError as error:
                    raise data.refuse(node, at, f"{error}") from None
            case Amount(number, _, _) | DateTime(number):
                return self._read(number, data, at, depth)
            case Float(bits, big):
                raw = data.take(node, at, bits // 8)
                return struct.unpack((">" if big else "<") + ("f" if bits == 32 else "d"), raw)[
                    0
                ], at + bits // 8
            case Bool(size):
                number, end = self._read(size, data, at, depth)
                if number not in (0, 1):
                    raise data.refuse(node, at, f"a bool is 0 or 1, this is {number}")
                return number == 1, end
            case Pubkey():
                return Address.from_bytes(data.take(node, at, 32)), at + 32
            case String(encoding):
                raw = data.take(node, at, max(0, len(data.bytes) - at))
                try:
                    return leaf.text_of(encoding, raw), at + len(raw)
                except UnicodeDecodeError as error:
                    raise data.refuse(
                        node, at + error.start, f"text is not utf8 ({error.reason})"
                    ) from None
            case Bytes():
                return data.bytes[at:], max(at, len(data.bytes))
            case SizePrefixed(item, prefix):
                length, start = self._length(prefix, data, at, depth)
                inner = _Data(data.take(item, start, length), data.base + start)
                value, end = self._read(item, inner, 0, depth)
                if end != length:
                    raise inner.refuse(
                        item,
                        end,
                        f"{length - end} of the {length} bytes that its prefix says are left over",
                    )
                return value, start + length
            case FixedSize(item, size):
                raw = data.take(node, at, size)
                if isinstance(item, String) and item.encoding == "utf8":
                    raw = raw.rstrip(b"\0")
                return self._read(item, _Data(raw, data.base + at), 0, depth)[0], at + size
            case Sentinel(item, mark):
                end = data.bytes.find(mark, at)
                if end < 0:
                    raise data.refuse(
                        node, at, f"the bytes 0x{mark.hex()} that mark its end are not there"
                    )
                inner = _Data(data.bytes[at:end], data.base + at)
                value, used = self._read(item, inner, 0, depth)
                if used != len(inner.bytes):
                    raise inner.refuse(
                        item,
                        used,
                        f"{len(inner.bytes) - used} bytes are left over before its end mark",
                    )
                return value, end + len(mark)
            case HiddenPrefix(item, const):
                return self._read(item, data, self._constant(node, const, data, at), depth)
            case HiddenSuffix(item, const):
                value, at = self._read(item, data, at, depth)
                return value, self._constant(node, const, data, at)
            case Offset(item, _, when, _):
                before = at
                if when == "pre":
                    at = self._moved(node, data, at, before)
                value, at = self._read(item, data, at, depth)
                return value, self._moved(node, data, at, before) if when == "post" else at
            case Option() | ZeroableOption() | RemainderOption():
                return self._read_option(node, data, at, depth)
            case Array(_, count) if is_bytes(node):
                many, start = self._count(count, Int(8), data, at, depth)
                room = max(0, len(data.bytes) - start) if many is None else many
                return data.take(node, start, room), start + room
            case Array(item, count) | Set(item, count):
                return self._read_list(node, item, count, data, at, depth)
            case Map(key, val, count):
                pairs, at = self._read_list(node, Tuple((key, val)), count, data, at, depth)
                return pairs, at
            case Tuple(items):
                values = []
                for index, item in enumerate(items):
                    value, at = self._read_under(f"[{index}]", item, data, at, depth)
                    values.append(value)
                return values, at
            case Struct(fields):
                return self._read_fields(fields, data, at, depth)
            case Enum(variants, tag):
                number, end = self._read(tag, data, at, depth)
                for index, variant in enumerate(variants):
                    if _tag(variant, index) == number:
                        if variant.payload is None:
                            return variant.name, end
                        value, end = self._read_under(
                            variant.name, variant.payload, data, end, depth
                        )
                        return {variant.name: value}, end
                raise data.refuse(
                    node, at, f"no variant has tag {number}; there are {len(variants)}"
                )
            case Link():
                if depth >= MAX_DEPTH:
                    raise data.refuse(node, at, f"the data nests deeper than {MAX_DEPTH} levels")
                return self._read(self.layouts.resolver.expand(node)[1], data, at, depth + 1)
        raise data.refuse(node, at, "the type cannot be decoded")

    def _read_under(
        self, step: str, node: Type, data: _Data, at: int, depth: int
    ) -> tuple[Any, int]:
        try:
            return self._read(node, data, at, depth)
        except CodecError as error:
            raise error.under(step) from None

    def _read_fields(
        self, fields: tuple[Field, ...], data: _Data, at: int, depth: int
    ) -> tuple[dict[str, Any], int]:
        out = {}
        for key, field in zip(field_keys(fields), fields, strict=True):
            if field.default is not None and field.default.omitted:
                const = self.encode(field.type, field.default.value)
                try:
                    at = self._constant(field.type, const, data, at)
                except CodecError as error:
                    raise error.under(key) from None
            else:
                out[key], at = self._read_under(key, field.type, data, at, depth)
        return out, at

    def _constant(self, node: Type, const: bytes, data: _Data, at: int) -> int:
        found = data.take(node, at, len(const))
        if found != const:
            raise data.refuse(
                node, at, f"the constant bytes 0x{const.hex()} must stand here, not 0x{found.hex()}"
            )
        return at + len(const)

    def _length(self, prefix: Int | ShortU16, data: _Data, at: int, depth: int) -> tuple[int, int]:
        number, end = self._read(prefix, data, at, depth)
        if number < 0:
            raise data.refuse(prefix, at, f"a length cannot be {number}")
        return number, end

    def _count(
        self, count: Any, item: Type, data: _Data, at: int, depth: int
    ) -> tuple[int | None, int]:
        if count is None:
            return None, at
        number, end = (
            (count, at) if isinstance(count, int) else self._length(count, data, at, depth)
        )
        least = self.layouts.least(item)
        left = max(0, len(data.bytes) - end)
        if number * least > left:
            raise DecodeError(
                f"{number} items of at least {least} bytes are promised at offset {data.base + at}, "
                f"{left} bytes are left",
                offset=data.base + at,
                wanted=number * least,
                left=left,
                type=type_text(item),
            )
        if not least and number > MAX_EMPTY_ITEMS:
            raise data.refuse(
                item,
                at,
                f"{number} items that may take no bytes are promised, over {MAX_EMPTY_ITEMS}",
            )
        return number, end

    def _read_list(
        self, node: Type, item: Type, count: Any, data: _Data, at: int, depth: int
    ) -> tuple[list[Any], int]:
        number, at = self._count(count, item, data, at, depth)
        values: list[Any] = []
        while len(values) < number if number is not None else at < len(data.bytes):
            value, end = self._read_under(f"[{len(values)}]", item, data, at, depth)
            if number is None and end <= at:
                raise data.refuse(
                    node, at, "its items take no bytes, so their number cannot be known"
                )
            values.append(value)
            at = end
        return values, at

    def _read_option(
        self, node: Option | ZeroableOption | RemainderOption, data: _Data, at: int, depth: int
    ) -> tuple[Any, int]:
        item = node.item
        match node:
            case Option(_, prefix, fixed):
                tag, end = self._read(prefix, data, at, depth)
                if tag not in (0, 1):
                    raise data.refuse(node, at, f"an option's tag is 0 or 1, this is {tag}")
                if tag == 0:
                    room = (self.layouts.fixed_size(item) or 0) if fixed else 0
                    data.take(item, end, room)
                    return None, end + room
                at = end
            case ZeroableOption(_, zero):
                zero = bytes(self.layouts.fixed_size(item) or 0) if zero is None else zero
                if data.bytes.startswith(zero, at):
                    return None, at + len(zero)
            case RemainderOption():
                if at >= len(data.bytes):
                    return None, at
        value, at = self._read(item, data, at, depth)
        return ({"some": value} if self.layouts.nullable(item) else value), at

    def _moved(self, node: Offset, data: _Data, at: int, before: int) -> int:
        to = self._move(node, at, at, before, len(data.bytes))
        if not 0 <= to <= len(data.bytes):
            raise data.refuse(
                node, at, f"an offset moves to {to}, outside the {len(data.bytes)} bytes"
            )
        return to


class _Data:
    """Bytes, and where their first stands in the whole."""

    __slots__ = ("base", "bytes")

    def __init__(self, data: bytes, base: int) -> None:
        self.bytes, self.base = data, base

    def take(self, node: Type, at: int, size: int) -> bytes:
        found = self.bytes[at : at + size]
        if len(found) != size:
            left = max(0, len(self.bytes) - at)
            raise DecodeError(
                f"the data ends: {size} bytes of {type_text(node)} are wanted at offset {self.base + at}, "
                f"{left} are left",
                offset=self.base + at,
                wanted=size,
                left=left,
                type=type_text(node),
            )
        return found

    def refuse(self, node: Type, at: int, why: str) -> DecodeError:
        left = max(0, len(self.bytes) - at)
        return DecodeError(
            f"{why} (at offset {self.base + at})",
            offset=self.base + at,
            left=left,
            type=type_text(node),
        )


def _int_bytes(node: Int | ShortU16, number: int) -> bytes:
    if isinstance(node, ShortU16):
        return encode_short_u16(number)
    return number.to_bytes(
        node.bits // 8, "big" if node.big_endian else "little", signed=node.signed
    )


def _tag(variant: Variant, index: int) -> int:
    return index if variant.value is None else variant.value


def _refuse(node: Type, value: object, why: str) -> EncodeError:
    name = type_text(node)
    return EncodeError(
        f"{name if len(name) < 80 else type(node).__name__.lower()}: {why}", value=value, type=name
    )


def _found(value: object) -> str:
    return abbr(value, 60)

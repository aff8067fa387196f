"""The JSON forms of values: reads one leaf in either form, and writes a whole value as JSON.

| type | JSON |
|---|---|
| integers up to 32 bits | number |
| 64 bits and wider | decimal string (a number is read too, up to 2^53-1) |
| f32, f64 | number, or "NaN", "Infinity", "-Infinity" |
| pubkey | base58 |
| bytes, [u8; n] | "0x" hex is written; hex, "base64:…", "base58:…", a list of numbers are read |
| option | null or the value; around a type that may itself be null: {"some": value} |
| array, set, tuple | list; map: list of [key, value] |
| struct | object |
| enum | "Name", or {"Name": payload} |

Models often send an integer as text, or a nested object as JSON text. Reading accepts these forms if
the type expects an integer, an object or a list, because then they have only one meaning. `strict`
is for values that came over JSON: a number that JSON cannot carry exactly is refused. Python's own
int may be of any size.
"""

from __future__ import annotations

import binascii
import json
import math
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from itertools import starmap
from typing import Any

from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import EncodeError, abbr
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
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
    Struct,
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
    ScalarType,
    WrapperType,
)
from mcpsol_py.solana.base58 import b58decode, b58encode

__all__ = [
    "JSON_MAX_INT",
    "address_of",
    "bool_of",
    "bytes_of",
    "container_of",
    "described",
    "float_of",
    "int_of",
    "int_range",
    "text_bytes",
    "text_of",
    "to_json",
]

#: The largest integer that every JSON reader keeps exact.
JSON_MAX_INT = 2**53 - 1
#: Longest text that is read as base58 (the conversion takes time with the square of the length).
MAX_BASE58_TEXT = 8192

_FRACTION = re.compile(r"-?[0-9]{1,80}\.[0-9]{1,80}")
_DECIMAL = re.compile(r"-?[0-9]{1,80}")
_FLOAT = re.compile(r"-?[0-9.eE+-]{1,40}")
_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
#: Bits from which an integer is text in JSON, and a number may have lost digits.
_WIDE = 64


def int_range(node: Int | ShortU16) -> tuple[int, int]:
    """Return the least and the greatest value of *node*."""
    if isinstance(node, ShortU16):
        return 0, 0xFFFF
    if node.signed:
        return -(1 << (node.bits - 1)), (1 << (node.bits - 1)) - 1
    return 0, (1 << node.bits) - 1


def described(value: object) -> str:
    """Return *value* with the kind of value it is, for errors: "text 'abc'", "null"."""
    if value is None:
        return "null"
    name = type(value).__name__
    return f"{_KIND_NAMES.get(name, name)} {abbr(value, 60)}"


_KIND_NAMES = {"dict": "an object", "list": "a list", "str": "text"}


# --- integers --------------------------------------------------------------------------------------


def int_of(node: Int | ShortU16, value: object, strict: bool) -> int:
    """Return *value*, a number or decimal text, as an int that *node* can hold.

    Raises EncodeError.
    """
    number = _any_int(node, value, strict)
    low, high = int_range(node)
    if not low <= number <= high:
        name = type_text(node)
        why = f"{abbr(number)} is out of range for {name} ({low} to {high})"
        raise EncodeError(why, value=value, type=name)
    return number


def _any_int(node: Int | ShortU16, value: object, strict: bool) -> int:
    if isinstance(value, str):
        return _int_of_text(node, value)
    if isinstance(value, float):
        return _int_of_float(node, value, strict)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _not_an_int(node, value, f"expected an integer, got {described(value)}")
    number: int = value.__index__()
    if (
        strict
        and abs(number) > JSON_MAX_INT
        and (isinstance(node, ShortU16) or node.bits >= _WIDE)
    ):
        why = (
            f"the JSON number {abbr(number)} may have lost digits: it is over 2^53-1. Give a "
            f'decimal string, "{abbr(number)}" if that is the number you mean'
        )
        raise _not_an_int(node, value, why)
    return number


def _int_of_text(node: Int | ShortU16, text: str) -> int:
    if not _DECIMAL.fullmatch(text):
        why = f"expected an integer or its decimal text, got {abbr(text)}"
        if _FRACTION.fullmatch(text):
            why += ". An amount is a number of base units, without a point"
        raise _not_an_int(node, text, why)
    return int(text)


def _int_of_float(node: Int | ShortU16, number: float, strict: bool) -> int:
    """Return a whole JSON number: JSON does not distinguish 5.0 from 5."""
    if not (strict and number.is_integer() and abs(number) <= JSON_MAX_INT):
        why = f"expected an integer, got {number!r}, which is a fraction or inexact"
        raise _not_an_int(node, number, why)
    return int(number)


def _not_an_int(node: Int | ShortU16, value: object, why: str) -> EncodeError:
    name = type_text(node)
    return EncodeError(f"{name}: {why}", value=value, type=name)


# --- floats and bools ------------------------------------------------------------------------------


def float_of(node: Float, value: object, strict: bool) -> float:
    """Return *value*, a number or its text, as a float that *node* can hold. Raises EncodeError."""
    name = type_text(node)
    if isinstance(value, str):
        return _in_float_range(node, _float_of_text(name, value), value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        why = f"{name}: expected a number, got {described(value)}"
        raise EncodeError(why, value=value, type=name)
    return _in_float_range(node, value, value)


def _float_of_text(name: str, text: str) -> float:
    if text in _FLOATS:
        return _FLOATS[text]
    try:
        if _FLOAT.fullmatch(text):
            return float(text)
    except ValueError:
        pass  # such as "1-2": refused below
    why = (
        f'{name}: expected a number, "NaN", "Infinity" or "-Infinity", got {abbr(text)}'
    )
    raise EncodeError(why, value=text, type=name)


def _in_float_range(node: Float, number: float, value: object) -> float:
    try:
        number = float(number)
        if node.bits == 32:
            struct.pack("<f", number)
    except OverflowError:
        name = type_text(node)
        why = f"{abbr(value)} is out of range for {name}"
        raise EncodeError(why, value=value, type=name) from None
    return number


def bool_of(value: object, strict: bool) -> bool:
    """Return *value* as a bool. Its text is read only if *strict* (JSON). Raises EncodeError."""
    if isinstance(value, bool):
        return value
    if strict and value in ("true", "false"):
        return value == "true"
    why = f"bool: expected true or false, got {described(value)}"
    raise EncodeError(why, value=value, type="bool")


# --- addresses, bytes and text ---------------------------------------------------------------------


def address_of(value: object) -> bytes:
    """Return the 32 bytes of a solders Pubkey, of base58 text, or of 32 bytes.

    Raises EncodeError.
    """
    if isinstance(value, Address):
        return bytes(value)
    if isinstance(value, str):
        return _address_of_text(value)
    if isinstance(value, (bytes, bytearray)) and len(value) == 32:
        return bytes(value)
    why = f"pubkey: expected a base58 address, a Pubkey or 32 bytes, got {described(value)}"
    raise EncodeError(why, value=value, type="pubkey")


def _address_of_text(text: str) -> bytes:
    try:
        return bytes(Address.from_string(text))
    except ValueError as error:
        why = f"pubkey: expected a base58 address, got {abbr(text)}: {error}"
        raise EncodeError(why, value=text, type="pubkey") from None


def bytes_of(value: object, name: str = "bytes") -> bytes:
    """Return bytes from bytes, "0x…", "base64:…", "base58:…" or a list of numbers.

    *name*: the type, for errors. Raises EncodeError.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    found = _bytes_or_list(value, name) if isinstance(value, str) else value
    if isinstance(found, bytes):
        return found
    if isinstance(found, (list, tuple)):
        return _bytes_of_numbers(found)
    why = (
        f'{name}: expected "0x" and hex, "base64:…", "base58:…", a list of numbers or bytes, '
        f"got {described(value)}"
    )
    raise EncodeError(why, value=value, type=name)


def _bytes_or_list(text: str, name: str) -> object:
    """Return the bytes or the list that *text* spells, or None if it has no known start."""
    for prefix, read in _BYTES_READERS.items():
        if text.startswith(prefix):
            try:
                return read(text.removeprefix(prefix))
            except (ValueError, RecursionError) as error:
                why = f"{name}: {abbr(text)} is not valid after {prefix!r}: {error}"
                raise EncodeError(why, value=text, type=name) from None
    return None


def _bytes_of_numbers(numbers: list[Any] | tuple[Any, ...]) -> bytes:
    for index, number in enumerate(numbers):
        if (
            isinstance(number, bool)
            or not isinstance(number, int)
            or not 0 <= number <= 255
        ):
            why = f"u8: expected a number from 0 to 255, got {abbr(number)}"
            raise EncodeError(why, value=number, type="u8").under(f"[{index}]")
    return bytes(numbers)


def _base64_bytes(text: str) -> bytes:
    return b64decode(text, validate=True)


def _base58_bytes(text: str) -> bytes:
    if len(text) > MAX_BASE58_TEXT:
        raise ValueError(
            f"base58 text over {MAX_BASE58_TEXT} characters; use hex or base64"
        )
    return b58decode(text)


#: The start of text -> a function that reads the rest.
_BYTES_READERS: dict[str, Callable[[str], object]] = {
    "0x": binascii.unhexlify,
    "0X": binascii.unhexlify,
    "base64:": _base64_bytes,
    "base58:": _base58_bytes,
    "[": lambda rest: json.loads("[" + rest),
}
#: The encoding of a string -> functions from text to bytes and back.
_TEXT_READERS: dict[str, Callable[[str], bytes]] = {
    "utf8": str.encode,
    "base16": binascii.unhexlify,
    "base58": _base58_bytes,
    "base64": _base64_bytes,
}
_TEXT_WRITERS: dict[str, Callable[[bytes], str]] = {
    "utf8": bytes.decode,
    "base16": bytes.hex,
    "base58": b58encode,
    "base64": lambda data: b64encode(data).decode(),
}


def text_bytes(encoding: str, value: object) -> bytes:
    """Return the bytes of a string of *encoding*. Raises EncodeError."""
    if not isinstance(value, str):
        why = f"string: expected text, got {described(value)}"
        raise EncodeError(why, value=value, type="string")
    try:
        return _TEXT_READERS[encoding](value)
    except ValueError as error:
        why = f"string: expected {encoding} text, got {abbr(value)}: {error}"
        raise EncodeError(why, value=value, type=f"str({encoding})") from None


def text_of(encoding: str, data: bytes) -> str:
    """Return the text of *data*, the inverse of `text_bytes`.

    Raises UnicodeDecodeError for bytes that are not utf8.
    """
    return _TEXT_WRITERS[encoding](data)


def container_of(value: object, strict: bool) -> object:
    """Return the object or list in JSON text, or *value* as it is.

    For types that expect an object or a list. Text is read only if *strict* (JSON).
    """
    if (
        not strict
        or not isinstance(value, str)
        or not value.lstrip().startswith(("{", "["))
    ):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


# --- a whole value, as JSON ------------------------------------------------------------------------


def to_json(layouts: Layouts, node: Type, value: Any) -> Any:
    """Return *value*, as decode() returned it, in the JSON forms.

    The result has only dict, list, str, int, float, bool and None in it.
    """
    return JsonWriter(layouts).visit(node, value)


class JsonWriter(GroupVisitor[[Any], Any]):
    """Writes a value in the JSON form of its type: `visit(node, value)`."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def visit_scalar(self, node: ScalarType, value: Any) -> Any:
        return value

    def visit_int(self, node: Int, value: int) -> Any:
        return str(value) if node.bits >= _WIDE else value

    def visit_amount(self, node: Amount, value: int) -> Any:
        return self.visit_int(node.number, value)

    def visit_date_time(self, node: DateTime, value: int) -> Any:
        return self.visit_int(node.number, value)

    def visit_float(self, node: Float, value: float) -> Any:
        if math.isfinite(value):
            return value
        if math.isnan(value):
            return "NaN"
        return "Infinity" if value > 0 else "-Infinity"

    def visit_pubkey(self, node: Pubkey, value: Address) -> Any:
        return str(value)

    def visit_bytes(self, node: Bytes, value: bytes) -> Any:
        return "0x" + value.hex()

    def visit_wrapper(self, node: WrapperType, value: Any) -> Any:
        return self.visit(node.item, value)

    def visit_optional(self, node: OptionalType, value: Any) -> Any:
        if value is None:
            return None
        if self.layouts.nullable(node.item):
            return {"some": self.visit(node.item, value["some"])}
        return self.visit(node.item, value)

    def visit_list(self, node: ListType, value: Any) -> Any:
        item = node.item
        return [self.visit(item, part) for part in value]

    def visit_array(self, node: Array, value: Any) -> Any:
        return "0x" + value.hex() if is_bytes(node) else self.visit_list(node, value)

    def visit_map(self, node: Map, value: Any) -> Any:
        return [[self.visit(node.key, k), self.visit(node.value, v)] for k, v in value]

    def visit_product(self, node: ProductType, value: Any) -> Any:
        if isinstance(node, Struct):
            return self._struct(node, value)
        return list(starmap(self.visit, zip(node.items, value, strict=True)))

    def _struct(self, node: Struct, value: Any) -> Any:
        out = {}
        for key, field in zip(field_keys(node.fields), node.fields, strict=True):
            if not field.is_constant:
                out[key] = self.visit(field.type, value[key])
        return out

    def visit_enum(self, node: Enum, value: Any) -> Any:
        if isinstance(value, str):
            return value
        ((name, payload),) = value.items()
        body = next(
            v.payload for v in node.variants if v.name == name and v.payload is not None
        )
        return {name: self.visit(body, payload)}

    def visit_link(self, node: Link, value: Any) -> Any:
        return self.visit(self.layouts.expand(node), value)

    def _unchanged(self, node: Generic | Unsupported, value: Any) -> Any:
        return value

    visit_generic = visit_unsupported = _unchanged

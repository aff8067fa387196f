"""The JSON forms of values (DESIGN.md 6, "Values as JSON"): reading one leaf of either form, and writing a whole
value as JSON.

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

Reading is lenient where only one meaning is possible (FIELD-NOTES W11), and only where the type says what is wanted:
decimal text for an integer, the JSON text of an object or a list for an object or a list. `strict` is for what came
over JSON: there a number that JSON cannot carry exactly is refused, while Python's own int may be of any size.
"""

from __future__ import annotations

import binascii
import json
import math
import re
import struct
from base64 import b64decode, b64encode
from typing import Any

from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.layout import Layouts, is_bytes
from mcpsol_py.errors import EncodeError, abbr
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bytes,
    DateTime,
    Enum,
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
    Struct,
    Tuple,
    Type,
    ZeroableOption,
    field_keys,
)
from mcpsol_py.solana.base58 import b58decode, b58encode

__all__ = [
    "JSON_MAX_INT",
    "address_of",
    "bool_of",
    "bytes_of",
    "container_of",
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

_DECIMAL = re.compile(r"-?[0-9]{1,80}")
_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def int_range(node: Int | ShortU16) -> tuple[int, int]:
    """The least and the greatest value."""
    if isinstance(node, ShortU16):
        return 0, 0xFFFF
    if node.signed:
        return -(1 << (node.bits - 1)), (1 << (node.bits - 1)) - 1
    return 0, (1 << node.bits) - 1


# --- one leaf, from Python or JSON -----------------------------------------------------------------------------------


def int_of(node: Int | ShortU16, value: object, strict: bool) -> int:
    """*value* as an int within the range of *node*. Raises EncodeError."""
    name = type_text(node)
    if isinstance(value, bool):
        raise EncodeError(f"{name} takes an integer, not {value!r}", value=value, type=name)
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise EncodeError(
                f"{name} takes an integer or its decimal text, not {abbr(value)}",
                value=value,
                type=name,
            )
        number = int(value)
    elif isinstance(value, float):
        if not (strict and value.is_integer() and abs(value) <= JSON_MAX_INT):
            raise EncodeError(
                f"{name} takes a whole number, {value!r} is a fraction or inexact",
                value=value,
                type=name,
            )
        number = int(value)
    elif hasattr(value, "__index__"):
        number = value.__index__()
        if (
            strict
            and abs(number) > JSON_MAX_INT
            and (isinstance(node, ShortU16) or node.bits >= 64)
        ):
            raise EncodeError(
                f"{abbr(number)} as a JSON number may have lost digits on its way (over 2^53-1); "
                f'give {name} as a decimal string, "{abbr(number)}" if that is the number meant',
                value=value,
                type=name,
            )
    else:
        raise EncodeError(
            f"{name} takes an integer, not {_kind(value)} {abbr(value)}", value=value, type=name
        )
    low, high = int_range(node)
    if not low <= number <= high:
        raise EncodeError(
            f"{abbr(number)} is out of range for {name} ({low} to {high})", value=value, type=name
        )
    return number


def float_of(node: Float, value: object, strict: bool) -> float:
    """*value* as a float that *node* can hold. Raises EncodeError."""
    name = type_text(node)
    number: float
    if isinstance(value, str) and value in _FLOATS:
        number = _FLOATS[value]
    elif isinstance(value, str):
        try:
            number = float(value) if re.fullmatch(r"-?[0-9.eE+-]{1,40}", value) else math.nan
        except ValueError:
            number = math.nan
        if number != number:
            raise EncodeError(
                f'{name} takes a number, "NaN", "Infinity" or "-Infinity", not {abbr(value)}',
                value=value,
                type=name,
            )
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise EncodeError(
                f"{abbr(value)} is out of range for {name}", value=value, type=name
            ) from None
    else:
        raise EncodeError(
            f"{name} takes a number, not {_kind(value)} {abbr(value)}", value=value, type=name
        )
    if node.bits == 32:
        try:
            struct.pack("<f", number)
        except OverflowError:
            raise EncodeError(
                f"{value!r} is out of range for {name}", value=value, type=name
            ) from None
    return number


def bool_of(value: object, strict: bool) -> bool:
    """*value* as a bool; its text only in strict (JSON) reading. Raises EncodeError."""
    if isinstance(value, bool):
        return value
    if strict and value in ("true", "false"):
        return value == "true"
    raise EncodeError(f"bool takes true or false, not {abbr(value)}", value=value, type="bool")


def address_of(value: object) -> bytes:
    """The 32 bytes of a solders Pubkey, of base58 text, or of 32 bytes. Raises EncodeError."""
    if isinstance(value, Address):
        return bytes(value)
    if isinstance(value, str):
        try:
            return bytes(Address.from_string(value))
        except ValueError as error:
            raise EncodeError(
                f"pubkey takes a base58 address; {abbr(value)} is none ({error})",
                value=value,
                type="pubkey",
            ) from None
    if isinstance(value, (bytes, bytearray)) and len(value) == 32:
        return bytes(value)
    raise EncodeError(
        f"pubkey takes a base58 address, a Pubkey or 32 bytes, not {_kind(value)} {abbr(value)}",
        value=value,
        type="pubkey",
    )


def bytes_of(value: object, name: str = "bytes") -> bytes:
    """Bytes, from bytes, "0x…", "base64:…", "base58:…" or a list of numbers. Raises EncodeError."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        try:
            if value.startswith(("0x", "0X")):
                return binascii.unhexlify(value[2:])
            if value.startswith("base64:"):
                return b64decode(value[7:], validate=True)
            if value.startswith("base58:"):
                return _b58(value[7:])
            if value.startswith("["):
                value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise EncodeError(
                f"{name}: {abbr(value)} is not what its start says: {error}", value=value, type=name
            ) from None
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item <= 255:
                raise EncodeError(
                    f"a byte is a number from 0 to 255, not {abbr(item)}", value=item, type="u8"
                ).under(f"[{index}]")
        return bytes(value)
    raise EncodeError(
        f'{name} takes "0x" and hex, "base64:…", "base58:…", a list of numbers or bytes, '
        f"not {_kind(value)} {abbr(value)}",
        value=value,
        type=name,
    )


def text_bytes(encoding: str, value: object) -> bytes:
    """The bytes of a string of *encoding*. Raises EncodeError."""
    if not isinstance(value, str):
        raise EncodeError(
            f"string takes text, not {_kind(value)} {abbr(value)}", value=value, type="string"
        )
    try:
        match encoding:
            case "base16":
                return binascii.unhexlify(value)
            case "base58":
                return _b58(value)
            case "base64":
                return b64decode(value, validate=True)
            case _:
                return value.encode()
    except ValueError as error:
        raise EncodeError(
            f"{abbr(value)} is no {encoding} text: {error}", value=value, type=f"str({encoding})"
        ) from None


def text_of(encoding: str, data: bytes) -> str:
    """The text of *data*: its inverse. Raises UnicodeDecodeError (utf8 alone)."""
    match encoding:
        case "base16":
            return data.hex()
        case "base58":
            return b58encode(data)
        case "base64":
            return b64encode(data).decode()
        case _:
            return data.decode()


def container_of(value: object, strict: bool) -> object:
    """*value*, or what its JSON text says, where the type wants an object or a list and text came (only in strict
    reading)."""
    if strict and isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _b58(text: str) -> bytes:
    if len(text) > MAX_BASE58_TEXT:
        raise ValueError(
            f"base58 text over {MAX_BASE58_TEXT} characters is not read; use hex or base64"
        )
    return b58decode(text)


def _kind(value: object) -> str:
    return {"dict": "an object", "list": "a list", "str": "text", "NoneType": "null"}.get(
        type(value).__name__, type(value).__name__
    )


# --- a whole value, as JSON ------------------------------------------------------------------------------------------


def to_json(layouts: Layouts, node: Type, value: Any) -> Any:
    """*value* as decode() gave it, in the JSON forms: only dict, list, str, int, float, bool and None are in it."""
    match node:
        case Int(bits):
            return str(value) if bits >= 64 else value
        case Amount(number, _, _) | DateTime(number):
            return str(value) if number.bits >= 64 else value
        case Float():
            if value != value:
                return "NaN"
            return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
        case Pubkey():
            return str(value)
        case Bytes():
            return "0x" + value.hex()
        case Array(item, _) if is_bytes(node):
            return "0x" + value.hex()
        case Array(item, _) | Set(item, _):
            return [to_json(layouts, item, v) for v in value]
        case Map(key, val, _):
            return [[to_json(layouts, key, k), to_json(layouts, val, v)] for k, v in value]
        case Tuple(items):
            return [to_json(layouts, t, v) for t, v in zip(items, value, strict=True)]
        case Struct(fields):
            shown = zip(field_keys(fields), fields, strict=True)
            return {
                k: to_json(layouts, f.type, value[k])
                for k, f in shown
                if not (f.default and f.default.omitted)
            }
        case Enum(variants, _):
            if isinstance(value, str):
                return value
            ((name, payload),) = value.items()
            body = next(v.payload for v in variants if v.name == name and v.payload is not None)
            return {name: to_json(layouts, body, payload)}
        case Option(item=item) | ZeroableOption(item=item) | RemainderOption(item=item):
            if value is None:
                return None
            return (
                {"some": to_json(layouts, item, value["some"])}
                if layouts.nullable(item)
                else to_json(layouts, item, value)
            )
        case (
            SizePrefixed(item=item)
            | FixedSize(item=item)
            | Sentinel(item=item)
            | HiddenPrefix(item=item)
            | HiddenSuffix(item=item)
            | Offset(item=item)
        ):
            return to_json(layouts, item, value)
        case Link():
            return to_json(layouts, layouts.resolver.expand(node)[1], value)
        case _:
            return value

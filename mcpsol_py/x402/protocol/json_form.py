"""The protocol's messages as JSON: objects, and base64 of JSON text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from pydantic import BaseModel, ValidationError

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import nests_as_deep

__all__ = [
    "MAX_PAYMENT_BYTES",
    "body_of",
    "decode_object",
    "encode_object",
    "extra_of",
    "faulty_fields",
    "is_deep",
    "json_of",
    "list_at",
    "mapping_at",
    "text_at",
]

#: A payment is a transaction of at most 1,232 bytes and its terms. Anything longer is not read.
MAX_PAYMENT_BYTES = 64 * 1024
#: Levels of a message of another party. Libraries that write JSON end at 254, some with an error of their own.
MAX_DEPTH = 64


def json_of(model: BaseModel) -> dict[str, Any]:
    """Return a message as a JSON object, with the protocol's names."""
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


def body_of(result: BaseModel | dict[str, Any] | None) -> dict[str, Any]:
    """Return the result of a server's handler as a JSON object."""
    return json_of(result) if isinstance(result, BaseModel) else result or {}


def encode_object(body: Any) -> str:
    """Return base64 of the JSON text of *body*."""
    return base64.b64encode(orjson.dumps(body)).decode()


def mapping_at(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the object at the path *keys* inside *value*. An empty one if something on the way is
    not an object.
    """
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


class _WithExtra(Protocol):
    @property
    def extra(self) -> dict[str, Any] | None: ...


def extra_of(message: _WithExtra) -> dict[str, Any]:
    """Return the `extra` of terms, of a kind or of an answer; an empty one if it has none."""
    return message.extra or {}


def list_at(value: object, *keys: str) -> list[Any]:
    """Return the list at the path *keys* inside *value*, or an empty one if there is no list."""
    *path, last = keys
    found = mapping_at(value, *path).get(last)
    return found if isinstance(found, list) else []


def text_at(value: object, *keys: str) -> str | None:
    """Return the text at the path *keys* inside *value*, or None if there is no text."""
    *path, last = keys
    found = mapping_at(value, *path).get(last)
    return found if isinstance(found, str) else None


def decode_object(value: object, what: str) -> dict[str, Any]:
    """Return the JSON object that *value* is, or holds as JSON text or as base64 of JSON text.

    *what* names it in errors. Raises PaymentError (invalid_payload).
    """
    found = dict(value) if isinstance(value, Mapping) else _parsed_object(value, what)
    if is_deep(found):
        raise _invalid(f"{what} nests deeper than {MAX_DEPTH} levels")
    return found


def is_deep(value: object) -> bool:
    """Whether a JSON value nests MAX_DEPTH levels deep or deeper."""
    return nests_as_deep(value, MAX_DEPTH)


def _parsed_object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, str):
        raise _invalid(
            f"expected {what} as an object or text, got {type(value).__name__}"
        )
    if len(value) > 2 * MAX_PAYMENT_BYTES:
        raise _invalid(
            f"{what} has {len(value):,} characters; at most {2 * MAX_PAYMENT_BYTES:,} are read"
        )
    try:
        parsed = orjson.loads(_json_bytes(value.strip()))
    except (ValueError, binascii.Error) as error:
        raise _invalid(f"{what} is neither JSON nor base64 of JSON") from error
    if not isinstance(parsed, dict):
        raise _invalid(f"expected {what} as a JSON object, got {type(parsed).__name__}")
    return parsed


def _json_bytes(text: str) -> bytes:
    if text.startswith("{"):
        return text.encode()
    padding = "=" * (-len(text) % 4)
    return base64.b64decode(text + padding, validate=True)


def faulty_fields(error: ValidationError) -> str:
    """Name the fields that *error* is about, without their values: a payment must not reach
    logs.
    """
    return ", ".join(".".join(map(str, e["loc"])) for e in error.errors()[:5])


def _invalid(message: str) -> PaymentError:
    return PaymentError("invalid_payload", message)

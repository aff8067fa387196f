"""Pieces of JSON schemas: property names, descriptions and objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from mcpsol_py.names import clean_text
from mcpsol_py.schema.client_profiles import Profile

__all__ = ["described", "join", "object_schema", "opened", "property_names", "quoted"]

_PROPERTY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


def property_names(names: Iterable[str]) -> list[str]:
    """Return a property name for each of *names* that every client accepts (`[a-zA-Z_][a-zA-Z0-9_]{0,63}`).

    No name repeats, and most stay as they are. A changed name gets a hash of the original one, so that it does not
    depend on the order of the others.
    """
    names = list(names)
    taken = {name for name in names if _PROPERTY.fullmatch(name)}
    out: list[str] = []
    seen: set[str] = set()
    for place, name in enumerate(names):
        if _PROPERTY.fullmatch(name) and name not in seen:
            good = name
        else:
            good = _changed_name(name, place, taken, seen)
            taken.add(good)
        seen.add(good)
        out.append(good)
    return out


def _changed_name(name: str, place: int, taken: set[str], seen: set[str]) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_]+", "_", name).strip("_")
    if not re.match(r"[a-zA-Z_]", plain):
        plain = f"_{plain}"
    if len(plain) <= 64 and plain not in taken and plain not in seen and plain != "_":
        return plain
    salt = name
    while True:
        digest = sha256(salt.encode("utf-8", "replace")).hexdigest()[:8]
        hashed = f"{plain[:55]}_{digest}"
        if hashed not in seen:
            return hashed
        salt += f"#{place}"


def quoted(docs: Iterable[str], limit: int = 400) -> str:
    """Return text from a program, marked as a quotation, so that models treat it as data and not as instructions."""
    text = " ".join(clean_text("\n".join(docs), 4 * limit).split()).replace('"', "'")
    if not text:
        return ""
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return f'Program\'s words: "{text}"'


def join(*parts: str, limit: int = 1024) -> str:
    """Join sentences to one description of at most *limit* characters."""
    sentences = [part if part.endswith('"') else part.rstrip(".") for part in parts if part]
    text = ". ".join(sentences)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def described(schema: dict[str, Any], about: str, limit: int = 1024) -> dict[str, Any]:
    """Return *schema* with *about* after its own description."""
    if not about:
        return schema
    return schema | {"description": join(schema.get("description", ""), about, limit=limit)}


def object_schema(
    properties: dict[str, Any], required: list[str], profile: Profile
) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if profile.closed:
        schema["additionalProperties"] = False
    return schema


def opened(value: Any) -> Any:
    """Return an object or list that came as JSON text, since some clients send nested values that way.

    Call it only for values that must be objects or lists. Other values stay as they are.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value

"""Pieces of JSON documents and schemas: members, property names, descriptions and objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from mcpsol_py.items import names_of
from mcpsol_py.names import clean_text
from mcpsol_py.schema.client_profiles import Profile

__all__ = [
    "by_property",
    "described",
    "given",
    "join",
    "object_schema",
    "opened",
    "property_names",
    "quoted",
]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)

#: Frameworks that turn a schema into a pydantic model refuse properties that begin with "_", and then drop all tools.
_PROPERTY = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")


def given(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members that have a value: without None, false, 0, "" and empty lists and objects."""
    return {key: value for key, value in members.items() if value}


def property_names(names: Iterable[str]) -> list[str]:
    """Return a property name for each of *names* that every client accepts (`[a-zA-Z][a-zA-Z0-9_]{0,63}`).

    No name repeats, and most stay as they are. A changed name gets a hash of the original one, so that it does not
    depend on the order of the others.
    """
    wanted = list(names)
    accepted = set(filter(_PROPERTY.fullmatch, wanted))
    if len(accepted) == len(wanted):
        return wanted
    namer = _PropertyNamer(accepted)
    return [namer.name(name, place) for place, name in enumerate(wanted)]


def by_property(items: Sequence[N]) -> dict[str, N]:
    """Return *items* by the property names of their own names, in order."""
    return dict(zip(property_names(names_of(items)), items, strict=True))


class _PropertyNamer:
    """Gives out property names, each once. *reserved* names go to the properties that have them already."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.reserved = set(reserved)
        self.used: set[str] = set()

    def name(self, name: str, place: int) -> str:
        """Return *name*, or a changed one if clients do not accept it or it is used."""
        is_free = name in self.reserved and name not in self.used
        found = name if is_free else self._changed(name, place)
        self.used.add(found)
        return found

    def _changed(self, name: str, place: int) -> str:
        plain = re.sub(r"[^a-zA-Z0-9_]+", "_", name).strip("_")
        if not re.match(r"[a-zA-Z]", plain):
            plain = f"n{plain}"
        if self._is_free(plain):
            return plain
        hashed = _hashed(plain, name)
        salt = name
        while hashed in self.used:
            salt += f"#{place}"
            hashed = _hashed(plain, salt)
        return hashed

    def _is_free(self, plain: str) -> bool:
        if plain == "n" or len(plain) > 64:
            return False
        return plain not in self.reserved and plain not in self.used


def _hashed(plain: str, text: str) -> str:
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{plain[:55]}_{digest[:8]}"


def quoted(docs: Iterable[str], limit: int = 400) -> str:
    """Return text from a program, marked as a quotation, so that models treat it as data and not as instructions."""
    words = clean_text("\n".join(docs), 4 * limit).split()
    if not words:
        return ""
    text = " ".join(words).replace('"', "'")
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return f'Program\'s words: "{text}"'


def join(*parts: str, limit: int = 1024) -> str:
    """Join sentences to one description of at most *limit* characters."""
    text = ". ".join(map(_without_full_stop, filter(None, parts)))
    if len(text) > limit:
        return text[: limit - 1] + "…"
    return text


def _without_full_stop(sentence: str) -> str:
    """Return *sentence* without full stops at its end. A quotation keeps its own."""
    return sentence if sentence.endswith('"') else sentence.rstrip(".")


def described(schema: dict[str, Any], about: str, limit: int = 1024) -> dict[str, Any]:
    """Return *schema* with *about* after its own description."""
    if not about:
        return schema
    whole = join(schema.get("description", ""), about, limit=limit)
    return schema | {"description": whole}


def object_schema(
    properties: dict[str, Any], required: list[str], profile: Profile
) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    schema = {
        "type": "object",
        "properties": properties,
        **given({"required": required}),
    }
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

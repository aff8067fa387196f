"""The limits of MCP clients, and the rules that a finished tool definition must keep for them.

The rules look at finished schemas. They share no code with json_schema.py and mcp_tools.py, so they also find faults
in what those modules build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from mcpsol_py.model.findings import Level

__all__ = ["CLIENTS", "ClientLimits", "Fault", "schema_faults"]


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What a client accepts, as its documentation says and tests against it showed.

    `name_pattern`: of tool names. `longest`: their length, with the `prefix` characters that the client adds.
    `property_pattern`: of property names. `tools`: how many tools, at most; `advised`: how many without loss of
    quality. `nesting`: how deep schemas nest. `unions`: anyOf. `closed`: additionalProperties. `strict`: OpenAI's
    strict mode. `forbidden`: the keywords that it does not accept, each with the rule of its fault.
    """

    name_pattern: str = r"[a-zA-Z_][a-zA-Z0-9_-]*"
    longest: int = 64
    prefix: int = 20
    property_pattern: str = r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"
    tools: int | None = None
    advised: int = 40
    nesting: int = 32
    unions: bool = True
    closed: bool = True
    strict: bool = False
    forbidden: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "forbidden", _forbidden(self))

    @property
    def room(self) -> int:
        """How long a tool's own name may be."""
        return self.longest - self.prefix

    def accepts_name(self, name: str) -> bool:
        """Is *name* a valid tool name?"""
        return bool(re.fullmatch(self.name_pattern, name)) and len(name) <= self.room


_FORBIDDEN = frozenset(
    {
        "$ref",
        "$defs",
        "definitions",
        "prefixItems",
        "propertyNames",
        "patternProperties",
        "$schema",
        "not",
        "if",
    }
)
_STRICT_FORBIDDEN = _FORBIDDEN | {
    "format",
    "default",
    "minProperties",
    "maxProperties",
    "pattern",
}
_UNIONS = ("anyOf", "oneOf", "allOf")


def _forbidden(limits: ClientLimits) -> dict[str, str]:
    keywords = _STRICT_FORBIDDEN if limits.strict else _FORBIDDEN
    rules = dict.fromkeys(keywords, "keyword")
    if not limits.closed:
        rules["additionalProperties"] = "keyword"
    if not limits.unions:
        rules |= dict.fromkeys(_UNIONS, "union")
    return rules


CLIENTS: dict[str, ClientLimits] = {
    # Frameworks that make pydantic models of schemas refuse properties that begin with "_".
    "default": ClientLimits(property_pattern=r"[a-zA-Z][a-zA-Z0-9_]{0,63}"),
    "claude": ClientLimits(tools=None),
    "openai": ClientLimits(tools=128),
    "codex": ClientLimits(tools=128),
    "vscode": ClientLimits(tools=128),
    "gemini": ClientLimits(unions=False, closed=False),
    "cursor": ClientLimits(longest=60, tools=80),
    "strict": ClientLimits(tools=128, nesting=5, unions=False, strict=True),
}

_KEYLIKE = re.compile(
    r"(private|secret|signing)_?(key|seed)|secret|mnemonic|seed_?phrase|keypair|passphrase|password",
    re.IGNORECASE,
)
#: A schema needs one of these.
_TYPED = frozenset({"type", *_UNIONS})
#: Schemas with one of these hold other schemas, one level deeper.
_NESTING = frozenset({"properties", "items"})
_HOLDING = _NESTING.union(_UNIONS)


class Fault(NamedTuple):
    """Something in a schema that a client does not accept. `at`: its place (".amount")."""

    level: Level
    at: str
    message: str
    rule: str


def schema_faults(
    schema: Any, limits: ClientLimits, at: str = "", depth: int = 1
) -> Iterator[Fault]:
    """Yield the faults of *schema* and everything below it."""
    if not isinstance(schema, dict):
        yield Fault("error", at, "not a schema", "schema")
        return
    if depth > limits.nesting and not _NESTING.isdisjoint(schema):
        message = f"objects and lists nest deeper than {limits.nesting} levels"
        yield Fault("error", at, message, "nesting")
        return
    yield from _keyword_faults(schema, limits, at)
    yield from _type_faults(schema, limits, at)
    if limits.strict and _may_be(schema, "object"):
        yield from _strict_faults(schema, at)
    if _HOLDING.isdisjoint(schema):
        return
    yield from _property_faults(schema, limits, at, depth)
    yield from _item_faults(schema, limits, at, depth)
    yield from _union_faults(schema, limits, at, depth)


def _keyword_faults(
    schema: dict[str, Any], limits: ClientLimits, at: str
) -> Iterator[Fault]:
    for keyword in sorted(limits.forbidden.keys() & schema.keys()):
        yield Fault("error", at, f"uses {keyword}", limits.forbidden[keyword])


def _type_faults(
    schema: dict[str, Any], limits: ClientLimits, at: str
) -> Iterator[Fault]:
    if _TYPED.isdisjoint(schema):
        yield Fault("error", at, "has no type", "type")
    kinds = schema.get("type")
    if isinstance(kinds, list) and not limits.strict:
        yield Fault("error", at, "has a list of types", "type")
    holds_items = kinds == "array" or "items" in schema
    if holds_items and not isinstance(schema.get("items"), dict):
        yield Fault("error", at, "an array without one schema for its items", "items")


def _may_be(schema: dict[str, Any], kind: str) -> bool:
    kinds = schema.get("type")
    return kind in kinds if isinstance(kinds, list) else kinds == kind


def _strict_faults(schema: dict[str, Any], at: str) -> Iterator[Fault]:
    if schema.get("additionalProperties") is not False:
        yield Fault("error", at, "leaves additionalProperties open", "strict")
    if sorted(schema.get("required", [])) != sorted(schema.get("properties", {})):
        yield Fault("error", at, "does not require all of its properties", "strict")


def _property_faults(
    schema: dict[str, Any], limits: ClientLimits, at: str, depth: int
) -> Iterator[Fault]:
    for name, inner in schema.get("properties", {}).items():
        here = f"{at}.{name}"
        for level, message, rule in _name_faults(limits.property_pattern, name):
            yield Fault(level, here, message, rule)
        yield from schema_faults(inner, limits, here, depth + 1)


def _item_faults(
    schema: dict[str, Any], limits: ClientLimits, at: str, depth: int
) -> Iterator[Fault]:
    items = schema.get("items")
    if isinstance(items, dict):
        yield from schema_faults(items, limits, f"{at}[]", depth + 1)


def _union_faults(
    schema: dict[str, Any], limits: ClientLimits, at: str, depth: int
) -> Iterator[Fault]:
    for union in _UNIONS:
        for inner in schema.get(union, ()):
            yield from schema_faults(inner, limits, at, depth)


@lru_cache(8192)
def _name_faults(pattern: str, name: str) -> tuple[tuple[Level, str, str], ...]:
    """Return the faults of a property's name. Cached, since most instructions share names."""
    faults: list[tuple[Level, str, str]] = []
    if not re.fullmatch(pattern, name):
        faults.append(
            ("error", "not a property name that all clients accept", "property-name")
        )
    if _KEYLIKE.search(name):
        faults.append(("warning", "seems to ask for a key or a secret", "key-like"))
    return tuple(faults)

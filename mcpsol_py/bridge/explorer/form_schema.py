"""The kind of input that each part of a tool's JSON schema gets in a form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcpsol_py.bridge.tools import BridgeTool

__all__ = [
    "MAX_ROWS",
    "FormNode",
    "InputKind",
    "count_of",
    "properties_of",
    "variants_of",
]

#: object: a group of its fields; rows: a list whose rows can be added and removed; choice: an enum
#: whose variants have data; lines: a list of plain values, one a line; plain: one input; json: too
#: deep or too large for a form.
InputKind = Literal["object", "rows", "choice", "lines", "plain", "json"]

_MAX_DEPTH, _MAX_INPUTS = 5, 120
MAX_ROWS = 50
_SCALARS = ("string", "integer", "number", "boolean")


@dataclass(frozen=True, slots=True)
class FormNode:
    """A property of a tool's schema, with its place in the form.

    `name` is dotted if the property is nested ("accounts.vault", "orders.0.price").
    """

    schema: Mapping[str, Any]
    name: str
    label: str
    required: bool
    depth: int = 0

    @property
    def holds_accounts(self) -> bool:
        """True for the top-level object of accounts, whose fields are shown at the top level."""
        return self.name == "accounts" and self.schema.get("type") == "object"

    @property
    def kind(self) -> InputKind:
        """The kind of input for this property."""
        return "object" if self.holds_accounts else _kind(self.schema, self.depth)

    @property
    def has_fixed_length(self) -> bool:
        """True for a list of a fixed length."""
        shortest = self.schema.get("minItems")
        return shortest is not None and shortest == self.schema.get("maxItems")

    def fields(self) -> Iterator[FormNode]:
        """Yield the fields of an object."""
        depth = 0 if self.holds_accounts else self.depth + 1
        required = set(self.schema.get("required", ()))
        for key, schema in self.schema["properties"].items():
            needed = key in required and (self.required or self.holds_accounts)
            yield FormNode(schema, f"{self.name}.{key}", key, needed, depth)

    def rows(self, given: Mapping[str, str]) -> Iterator[FormNode]:
        """Yield the rows of a list, as many as the form has."""
        for place in range(self._row_count(given)):
            name, label = f"{self.name}.{place}", f"{self.label} {place + 1}"
            yield FormNode(self.schema["items"], name, label, True, self.depth + 1)

    def variant(self, name: str) -> FormNode | None:
        """Return the data of an enum's variant, or None if *name* is no variant with data."""
        schema = variants_of(self.schema)[1].get(name)
        if schema is None:
            return None
        return FormNode(schema, f"{self.name}.{name}", name, True, self.depth + 1)

    def _row_count(self, given: Mapping[str, str]) -> int:
        if self.has_fixed_length:
            return min(int(self.schema["minItems"]), MAX_ROWS)
        return count_of(given, self.name, default=int(self.required))


def properties_of(tool: BridgeTool) -> Iterator[FormNode]:
    """Yield the top-level properties of a tool's schema."""
    schema = tool.definition["inputSchema"]
    required = set(schema.get("required", ()))
    for name, inner in schema["properties"].items():
        yield FormNode(inner, name, name, name in required)


def count_of(given: Mapping[str, str], name: str, *, default: int = 0) -> int:
    """Return the number of rows that a form has for the list *name* (its hidden field `name.#`)."""
    text = given.get(f"{name}.#", "")
    return min(int(text), MAX_ROWS) if re.fullmatch(r"[0-9]{1,3}", text) else default


def variants_of(schema: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return an enum's variants without data, and the schemas of those with data.

    Both are empty if *schema* is not an enum.
    """
    if schema.get("type") == "object" and schema.get("maxProperties") == 1:
        return [], dict(schema["properties"])
    without_data: list[str] = []
    with_data: dict[str, Any] = {}
    for part in schema.get("anyOf", ()):
        match part:
            case {"type": "string", "enum": names}:
                without_data += map(str, names)
            case {"type": "object", "properties": fields} if fields:
                with_data |= fields
            case _:
                return [], {}
    return without_data, with_data


def _kind(schema: Mapping[str, Any], depth: int) -> InputKind:
    if _is_one_input(schema):
        return "plain"
    if depth >= _MAX_DEPTH or _input_count(schema) > _MAX_INPUTS:
        return "json"
    if variants_of(schema)[1]:
        return "choice"
    match schema:
        case {"type": "object", "properties": fields} if fields:
            return "object"
        case {"type": "array", "items": dict(items)}:
            return _list_kind(items)
    return "json"


def _is_one_input(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") in _SCALARS:
        return True
    return "enum" in schema and "anyOf" not in schema


def _list_kind(items: Mapping[str, Any]) -> InputKind:
    """Return "lines" for values that people type; enums and booleans are chosen in rows."""
    is_typed = (
        items.get("type") in ("string", "integer", "number") and "enum" not in items
    )
    return "lines" if is_typed else "rows"


def _input_count(schema: Any) -> int:
    """Return roughly how many inputs *schema* needs."""
    if not isinstance(schema, Mapping):
        return 0
    with_data = variants_of(schema)[1]
    if with_data:
        return 1 + max(map(_input_count, with_data.values()))
    fields = sum(map(_input_count, schema.get("properties", {}).values()))
    return 1 + fields + _input_count(schema.get("items"))

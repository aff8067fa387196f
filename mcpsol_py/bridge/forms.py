"""A tool as a form of HTML, and what was typed there as arguments of the tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpsol_py.bridge.tools import Tool
from mcpsol_py.names import clean_text

__all__ = ["Field", "arguments_of", "fields_of"]


@dataclass(frozen=True, slots=True)
class Field:
    """One input. `name`: the property, or "accounts.<name>"; `required` where the bridge cannot fill it in."""

    name: str
    label: str
    about: str
    value: str
    required: bool
    long: bool = False
    number: bool = False
    choices: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its id in the page."""
        return "f-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def account(self) -> bool:
        """Is it an account's address?"""
        return self.name.startswith("accounts.")


def fields_of(tool: Tool, given: Mapping[str, str]) -> list[Field]:
    """The inputs of a tool: one a property, one an account; what nests deeper is JSON text. *given*: what was typed."""
    out: list[Field] = []
    schema = tool.definition["inputSchema"]
    for prefix, part, needed in (("", schema, set(schema.get("required", ()))), *_account_part(schema)):
        for name, inner in part["properties"].items():
            if not prefix and name == "accounts":
                continue
            kind = inner.get("type")
            choices = tuple(map(str, inner["enum"])) if "enum" in inner else ()
            if kind == "boolean":
                choices = ("true", "false")
            pattern = str(inner.get("pattern", ""))
            out.append(
                Field(
                    prefix + name,
                    clean_text(name, 100),
                    clean_text(str(inner.get("description", kind or "")), 400),
                    given.get(prefix + name, ""),
                    name in needed and not choices,
                    long=kind in ("object", "array", None),
                    number=kind in ("integer", "number") or ("[0-9]" in pattern and "A-Z" not in pattern),
                    choices=choices if name in needed or not choices else ("", *choices),
                )
            )
    return out


def _account_part(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], set[str]]]:
    accounts = schema["properties"].get("accounts")
    return [("accounts.", accounts, set(accounts.get("required", ())))] if isinstance(accounts, dict) else []


def arguments_of(tool: Tool, given: Mapping[str, str]) -> dict[str, Any]:
    """A form's texts as arguments: empty ones are left out, numbers and JSON are read where the schema has no text."""
    schema = tool.definition["inputSchema"]
    out: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    for name, text in given.items():
        if text.strip() == "":
            continue
        if name.startswith("accounts."):
            inner = schema["properties"].get("accounts", {}).get("properties", {}).get(name[9:], {})
            accounts[name[9:]] = _typed(text.strip(), inner)
        else:
            out[name] = _typed(text, schema["properties"].get(name, {}))
    return {**out, "accounts": accounts} if accounts else out


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "string" or "enum" in schema:
        return text.strip() if "pattern" in schema else text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

"""The texts of a submitted form: as arguments of the tool, or as a form with a row more or less."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mcpsol_py.bridge.explorer.form_schema import (
    FormNode,
    InputKind,
    count_of,
    properties_of,
)
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.items import without

__all__ = ["BUTTON", "arguments_of", "edited"]

#: The name of the buttons that change the form and call nothing.
BUTTON = "~do"

#: The result for an input that is empty and may be left out.
_ABSENT: Any = object()


# --- the form's own buttons ----------------------------------------------------------------------


def edited(given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the texts after one of the form's own buttons, or None if the tool is to be called.

    The buttons add a row ("add NAME"), remove a row ("remove NAME.3") or show the fields of
    another variant ("show").
    """
    pressed = given.get(BUTTON)
    if pressed is None:
        return None
    texts = without(given, BUTTON)
    action, _, name = pressed.partition(" ")
    if action == "add":
        return texts | {f"{name}.#": str(count_of(texts, name) + 1)}
    if action == "remove":
        return _without_row(texts, name)
    return texts


def _without_row(texts: dict[str, str], name: str) -> dict[str, str]:
    """Remove the row *name* ("orders.3") and renumber the rows after it."""
    named = re.fullmatch(r"(.+)\.([0-9]{1,3})", name)
    if named is None:
        return texts
    rows, removed = named[1], int(named[2])
    out: dict[str, str] = {}
    for key, text in texts.items():
        place, rest = _place_in_rows(key, rows)
        if place > removed:
            out[f"{rows}.{place - 1}{rest}"] = text
        elif place != removed:
            out[key] = text
    out[f"{rows}.#"] = str(max(0, count_of(texts, rows) - 1))
    return out


def _place_in_rows(key: str, rows: str) -> tuple[int, str]:
    """Return the row that an input belongs to, or -1, and the rest of the input's name."""
    match = re.match(rf"{re.escape(rows)}\.([0-9]{{1,3}})((?:\..*)?)$", key)
    return (-1, "") if match is None else (int(match[1]), match[2])


# --- arguments -----------------------------------------------------------------------------------


def arguments_of(tool: BridgeTool, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a form's texts as the tool's arguments.

    Empty inputs are left out. Numbers and JSON are parsed unless the schema expects text.
    """
    values: dict[str, Any] = {}
    for node in properties_of(tool):
        is_required = node.required and node.name != "accounts"
        values[node.name] = _value(replace(node, required=is_required), given)
    # Pass on texts that belong to no input, so that the tool refuses them.
    unknown = {
        name: text
        for name, text in given.items()
        if text.strip() and name.split(".")[0] not in values
    }
    return _without_absent(values) | unknown


def _without_absent(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not _ABSENT}


def _value(node: FormNode, given: Mapping[str, str]) -> Any:
    text = given.get(node.name, "")
    if text.lstrip().startswith(("{", "[")) and node.schema.get("type") != "string":
        return _parsed(text)  # JSON may be given in place of any group
    return _READERS[node.kind](node, given)


def _object_value(node: FormNode, given: Mapping[str, str]) -> Any:
    values = {
        field.name.removeprefix(f"{node.name}."): _value(
            replace(field, required=False), given
        )
        for field in node.fields()
    }
    return _unless_empty(_without_absent(values), node)


def _rows_value(node: FormNode, given: Mapping[str, str]) -> Any:
    values = {row.name: _value(row, given) for row in node.rows(given)}
    return _unless_empty(list(_without_absent(values).values()), node)


def _choice_value(node: FormNode, given: Mapping[str, str]) -> Any:
    text = given.get(node.name, "")
    if not text.strip():
        return _ABSENT
    variant = node.variant(text)
    if variant is None:
        return text
    value = _value(variant, given)
    return {text: {} if value is _ABSENT else value}


def _lines_value(node: FormNode, given: Mapping[str, str]) -> Any:
    lines = filter(str.strip, given.get(node.name, "").splitlines())
    values = [_scalar(line, node.schema["items"]) for line in lines]
    return _unless_empty(values, node)


def _unless_empty(values: Any, node: FormNode) -> Any:
    return values if values or node.required else _ABSENT


def _plain_value(node: FormNode, given: Mapping[str, str]) -> Any:
    text = given.get(node.name, "")
    return _scalar(text, node.schema) if text.strip() else _ABSENT


_READERS: dict[InputKind, Callable[[FormNode, Mapping[str, str]], Any]] = {
    "object": _object_value,
    "rows": _rows_value,
    "choice": _choice_value,
    "lines": _lines_value,
    "plain": _plain_value,
    "json": _plain_value,
}


def _scalar(text: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") != "string" and "enum" not in schema:
        return _parsed(text)
    return text.strip() if "pattern" in schema else text


def _parsed(text: str) -> Any:
    """Return *text* parsed as JSON, or as it is if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

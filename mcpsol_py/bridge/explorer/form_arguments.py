"""The texts of a submitted form: as arguments of the tool, or as a form with a row more or less."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mcpsol_py.bridge.explorer.form_schema import FormNode, InputKind, count_of, properties_of
from mcpsol_py.bridge.tools import BridgeTool

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
    texts = {name: text for name, text in given.items() if name != BUTTON}
    action, _, name = pressed.partition(" ")
    if action == "add":
        texts[f"{name}.#"] = str(count_of(texts, name) + 1)
    elif action == "remove" and re.fullmatch(r".+\.[0-9]{1,3}", name):
        rows, _, place = name.rpartition(".")
        return _without_row(texts, rows, int(place))
    return texts


def _without_row(texts: Mapping[str, str], rows: str, removed: int) -> dict[str, str]:
    """Remove a row and renumber the rows after it."""
    out: dict[str, str] = {}
    for key, text in texts.items():
        match = re.match(rf"{re.escape(rows)}\.([0-9]+)(\..*)?$", key)
        if match is None:
            out[key] = text
            continue
        place, rest = int(match[1]), match[2] or ""
        if place < removed:
            out[key] = text
        elif place > removed:
            out[f"{rows}.{place - 1}{rest}"] = text
    out[f"{rows}.#"] = str(max(0, count_of(texts, rows) - 1))
    return out


# --- arguments -----------------------------------------------------------------------------------


def arguments_of(tool: BridgeTool, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a form's texts as the tool's arguments.

    Empty inputs are left out. Numbers and JSON are parsed unless the schema expects text.
    """
    out: dict[str, Any] = {}
    names = set()
    for node in properties_of(tool):
        names.add(node.name)
        value = _value(replace(node, required=node.required and node.name != "accounts"), given)
        if value is not _ABSENT:
            out[node.name] = value
    # Pass on texts that belong to no input, so that the tool refuses them.
    return out | {
        name: text
        for name, text in given.items()
        if text.strip() and name.split(".")[0] not in names
    }


def _value(node: FormNode, given: Mapping[str, str]) -> Any:
    text = given.get(node.name, "")
    if text.lstrip()[:1] in ("{", "[") and node.schema.get("type") != "string":
        return _parsed(text)  # JSON may be given in place of any group
    return _READERS[node.kind](node, given)


def _object_value(node: FormNode, given: Mapping[str, str]) -> Any:
    values = {}
    prefix = len(node.name) + 1
    for field in node.fields():
        value = _value(replace(field, required=False), given)
        if value is not _ABSENT:
            values[field.name[prefix:]] = value
    return _unless_empty(values, node)


def _rows_value(node: FormNode, given: Mapping[str, str]) -> Any:
    values = [_value(row, given) for row in node.rows(given)]
    return _unless_empty([value for value in values if value is not _ABSENT], node)


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
    lines = [line for line in given.get(node.name, "").splitlines() if line.strip()]
    return _unless_empty([_scalar(line, node.schema["items"]) for line in lines], node)


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

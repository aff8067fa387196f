"""Shows the errors of a refused call at the inputs that caused them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpsol_py.bridge.explorer.forms import FormGroup, FormPart
from mcpsol_py.names import clean_text

__all__ = ["show_errors"]


def show_errors(
    parts: Sequence[FormPart], details: Mapping[str, Any], message: str
) -> str:
    """Set the `error` of the inputs that a refused call is about.

    *details* and *message* are those of the error. Returns the id of the first such input, or ""
    if the error is not about one.
    """
    parts_by_name = {_normalized(part.name): part for part in _all_parts(parts)}
    first = ""
    for path, text in _errors(details, message):
        part = _nearest(parts_by_name, path)
        if part is not None and not part.error:
            part.error = clean_text(text, 600)
            first = first or part.id
    return first


def _errors(details: Mapping[str, Any], message: str) -> Iterator[tuple[str, str]]:
    """Yield the normalized name of an input and its error."""
    path = str(details.get("path", ""))
    if path:
        dotted = re.sub(r"\[([0-9]+)\]", r".\1", path)
        _tool, _, name = _normalized(dotted).partition(".")
        yield name, message
        yield f"accounts.{name}" if name else "accounts", message
    if details.get("reason") == "missing_account":
        yield _account(details.get("account", "")), "enter its address"
        for name in details.get("also", ()):
            yield _account(name), "required"
    for hint in details.get("hints", ()):
        match = re.match(r"([\w.]+) \(", str(hint))
        if match is not None:
            yield _account(match[1]), str(hint)


def _account(name: object) -> str:
    return f"accounts.{_normalized(str(name))}"


def _nearest(parts: Mapping[str, FormPart], path: str) -> FormPart | None:
    """Return the part at *path*, or the innermost group around it."""
    steps = path.split(".")
    while steps and ".".join(steps) not in parts:
        steps.pop()
    if not steps or steps == ["accounts"]:
        return None
    return parts[".".join(steps)]


def _all_parts(parts: Sequence[FormPart]) -> Iterator[FormPart]:
    for part in parts:
        yield part
        if isinstance(part, FormGroup):
            yield from _all_parts(part.parts)


def _normalized(path: str) -> str:
    """Return a path in one spelling: "maxPrice" in an IDL may be "max_price" in a schema."""
    return path.replace("_", "").lower()

"""JSON values of command-line options: the text itself, `@file`, or `-` for stdin."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mcpsol_py.errors import SourceError, abbr

__all__ = ["json_list", "json_object", "json_value", "text_value"]


def json_value(text: str, option: str) -> Any:
    """Read an option's JSON value of any kind. Raises SourceError with line and column."""
    return _json(text, option)[0]


def text_value(text: str, option: str) -> str:
    """Read an option's text: as given, of `@file`, or of stdin for `-`. Raises SourceError."""
    return _text(text, option)[0]


def json_object(text: str | None, option: str) -> dict[str, Any]:
    """Read an option's JSON object. Without the option, return {}.

    Integers keep every digit. Raises SourceError with line and column.
    """
    value, origin = _json(text, option)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SourceError(
            f'expected a JSON object like {{"amount": "5"}}, got {abbr(value)}', origin=origin
        )
    return value


def json_list(text: str | None, option: str) -> list[Any]:
    """Read an option's JSON list. Without the option, return []. Raises SourceError."""
    value, origin = _json(text, option)
    if value is None:
        return []
    if not isinstance(value, list):
        raise SourceError(f"expected a JSON list, got {abbr(value)}", origin=origin)
    return value


def _json(text: str | None, option: str) -> tuple[Any, str]:
    """The value, and what messages call it: the option, or the file that it names."""
    if text is None:
        return None, option
    text, origin = _text(text, option)
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique), origin
    except (ValueError, RecursionError) as error:
        raise SourceError(f"invalid JSON: {error}", origin=origin) from error


def _text(text: str, option: str) -> tuple[str, str]:
    if text == "-":
        return sys.stdin.read(), option
    if not text.startswith("@"):
        return text, option
    file = text[1:]
    try:
        return Path(file).read_text(encoding="utf-8"), file
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", origin=file) from error


def _no_constant(name: str) -> float:
    raise ValueError(f'{name} has no quotes; write "{name}"')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key!r} appears twice")
        out[key] = value
    return out

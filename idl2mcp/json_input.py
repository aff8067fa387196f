"""JSON values of command-line options: the text itself, `@file`, a pipe, or `-` for stdin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from idl2mcp.streams import is_stream, name_of, read_stream
from mcpsol_py.errors import SourceError, abbr

__all__ = [
    "json_list",
    "json_object",
    "json_value",
    "plain_value",
    "text_value",
    "with_pairs",
]


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
            f'expected a JSON object like {{"amount": "5"}}, got {abbr(value)}',
            origin=origin,
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


def with_pairs(
    given: Mapping[str, Any],
    texts: Iterable[str],
    option: str,
    read: Callable[[str], Any],
) -> dict[str, Any]:
    """Return *given* with the values of an option that is given as NAME=VALUE. Raises SourceError for a name twice."""
    found = dict(given)
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise SourceError(f"expected NAME=VALUE, got {abbr(text)}", origin=option)
        if name in found:
            raise SourceError(f"{abbr(name)} is given twice", origin=option)
        found[name] = read(value)
    return found


def plain_value(text: str) -> Any:
    """Read a value that is written without quotes: JSON, or else the text itself.

    A number stays text, because arguments take digits in any size.
    """
    try:
        value = _parsed(text)
    except (ValueError, RecursionError):
        return text
    return (
        text
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else value
    )


def _parsed(text: str) -> Any:
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)


def _json(text: str | None, option: str) -> tuple[Any, str]:
    """The value, and what messages call it: the option, or the file that it names."""
    if text is None:
        return None, option
    text, origin = _text(text, option)
    try:
        return _parsed(text), origin
    except (ValueError, RecursionError) as error:
        raise SourceError(f"invalid JSON: {error}", origin=origin) from error


def _text(text: str, option: str) -> tuple[str, str]:
    file = text.removeprefix("@")
    if is_stream(file):
        return _decoded(read_stream(file), name_of(file))
    if not text.startswith("@"):
        return text, option
    try:
        return _decoded(Path(file).read_bytes(), file)
    except OSError as error:
        raise SourceError(f"cannot be read: {error}", origin=file) from error


def _decoded(data: bytes, origin: str) -> tuple[str, str]:
    try:
        return data.decode("utf-8-sig"), origin
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot be read: {error}", origin=origin) from error


def _no_constant(name: str) -> float:
    raise ValueError(f'{name} has no quotes; write "{name}"')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key!r} appears twice")
        out[key] = value
    return out

"""Tables of the configuration files (TOML): every key is known and every value of its kind, or an error says where.

docs/configuration.md has a row for each key of each `Keys` here and in the modules that read them; a test compares.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpsol_py.errors import SourceError, abbr, suggest

__all__ = [
    "AMOUNT",
    "FLAG",
    "NUMBER",
    "PRICE",
    "TABLE",
    "TABLES",
    "TEXT",
    "TEXTS",
    "UNITS",
    "WHOLE",
    "Keys",
    "Kind",
    "checked",
    "one_of",
    "toml_file",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be, in words, and whether one is."""

    words: str
    fits: Callable[[Any], bool]


Keys = Mapping[str, Kind]


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _units(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and value.isascii() and value.isdecimal())


TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WHOLE = Kind("whole number", lambda value: type(value) is int)
NUMBER = Kind("number", lambda value: type(value) in (int, float))
UNITS = Kind("base units", _units)
TEXTS = Kind("list of texts", _texts)
TABLE = Kind("table", lambda value: isinstance(value, dict))
TABLES = Kind("list of tables", lambda value: isinstance(value, list))
PRICE = Kind("price", lambda value: isinstance(value, (str, dict)))
AMOUNT = Kind(
    "price or base units", lambda value: isinstance(value, (str, dict)) or type(value) is int
)


def one_of(*names: str) -> Kind:
    """One of these texts."""
    return Kind(", ".join(names), lambda value: value in names)


def checked(
    table: Any, keys: Keys, at: str = "", *, required: Sequence[str] = ()
) -> dict[str, Any]:
    """*table* itself, where it is a table of these keys. *at*: the path of the table, for the error. *required*: texts
    and tables that must be there, and not be empty.

    Raises SourceError with the path of what is unknown, missing, or of another kind.
    """
    if not isinstance(table, dict):
        raise SourceError(f"{abbr(table)} stands where a table must", path=at)
    for key in table:
        if key not in keys:
            raise SourceError(f"no key of that name. {suggest(key, keys)}", path=_under(at, key))
    for key, value in table.items():
        if not keys[key].fits(value):
            raise SourceError(
                f"{abbr(value)} stands where this must: {keys[key].words}", path=_under(at, key)
            )
    for key in required:
        if not table.get(key):
            raise SourceError("is missing", path=_under(at, key))
    return table


def toml_file(path: Path) -> dict[str, Any]:
    """The document of a TOML file. Raises SourceError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"no TOML: {error}", origin=str(path)) from error


def _under(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key

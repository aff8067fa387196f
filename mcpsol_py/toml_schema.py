"""Schemas for configuration files (TOML): check that keys are known and values have the right kind.

docs/configuration.md has a row for each key of each `Keys` table in the modules that read such
files. tests/contracts/test_configuration.py compares the two.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpsol_py.errors import SourceError, abbr, suggest
from mcpsol_py.whole_numbers import read_u64

__all__ = [
    "AMOUNT",
    "FLAG",
    "NUMBER",
    "PRICE",
    "TABLE",
    "TABLES",
    "TEXT",
    "TEXTS",
    "TEXTS_OR_TABLES",
    "U64",
    "UNITS",
    "WHOLE",
    "Keys",
    "Kind",
    "checked",
    "checked_value",
    "one_of",
    "toml_file",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its name in the documentation, and a predicate for values of the kind.

    `expected` is the name in error messages, if the documented name does not say enough.
    """

    words: str
    fits: Callable[[Any], bool]
    expected: str = ""

    @property
    def description(self) -> str:
        """The kind as error messages name it."""
        return self.expected or self.words


#: The keys of a table, and the kind of each value.
Keys = Mapping[str, Kind]


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_whole(value: object) -> bool:
    return type(value) is int  # a bool is an int, and is refused


def _is_units(value: object) -> bool:
    return _is_whole(value) or read_u64(value) is not None


def _is_price(value: object) -> bool:
    return isinstance(value, (str, dict))


TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WHOLE = Kind("whole number", _is_whole)
NUMBER = Kind("number", lambda value: type(value) in (int, float))
UNITS = Kind(
    "base units", _is_units, "base units: a whole number, or its digits as text"
)
#: A number of base units that a u64 holds.
U64 = Kind(
    "whole number",
    lambda value: type(value) is int and 0 <= value < 1 << 64,
    "whole number of base units (0 to 2^64-1)",
)
TEXTS = Kind("list of texts", _is_list_of_texts)
TEXTS_OR_TABLES = Kind(
    "list of texts or tables",
    lambda value: (
        isinstance(value, list) and all(isinstance(item, (str, dict)) for item in value)
    ),
)
TABLE = Kind("table", lambda value: isinstance(value, dict))
TABLES = Kind("list of tables", lambda value: isinstance(value, list))
PRICE = Kind("price", _is_price)
AMOUNT = Kind("price or base units", lambda value: _is_price(value) or _is_whole(value))


def one_of(*names: str) -> Kind:
    """Return the kind of texts that are one of *names*."""
    return Kind(
        ", ".join(names), lambda value: value in names, f"one of {', '.join(names)}"
    )


def checked(
    table: Any, keys: Keys, at: str = "", *, required: Sequence[str] = ()
) -> dict[str, Any]:
    """Return *table*, if it is a table of these keys.

    *at* is the table's own path, for errors. Each of the *required* keys must be present and not
    empty. Raises SourceError with the path of a key that is unknown, missing or of another kind.
    """
    _check_table(table, at)
    _check_names(table, keys, at)
    for key, value in table.items():
        checked_value(value, keys[key], _under(at, key))
    _check_required(table, required, at)
    return dict(table)


def checked_value(value: Any, kind: Kind, at: str) -> Any:
    """Return *value*, if it is of *kind*. Raises SourceError."""
    if not kind.fits(value):
        raise SourceError(f"expected {kind.description}, got {abbr(value)}", path=at)
    return value


def _check_table(table: object, at: str) -> None:
    if not isinstance(table, Mapping):
        raise SourceError(f"expected a table, got {abbr(table)}", path=at)


def _check_names(names: Iterable[str], keys: Keys, at: str) -> None:
    for name in names:
        if name not in keys:
            raise SourceError(
                f"unknown key. {suggest(name, keys)}", path=_under(at, name)
            )


def _check_required(table: Mapping[str, Any], required: Sequence[str], at: str) -> None:
    for key in required:
        if not table.get(key):
            raise SourceError("missing, but required", path=_under(at, key))


def toml_file(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises SourceError if it cannot be read or is not TOML."""
    try:
        # Editors of Windows begin a file with a mark, which is no TOML.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not valid TOML: {error}", origin=str(path)) from error


def _under(at: str, key: str) -> str:
    return f"{at}.{key}".removeprefix(".")  # *at* is "" at the top of a file

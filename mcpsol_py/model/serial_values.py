"""Free JSON values (defaults, constants) without loss.

A value that JSON readers would lose is wrapped in an object whose only key starts with ``$``: large
integers, floats, bytes and tuples. An object that looks like that itself is wrapped in ``$``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mcpsol_py.errors import SourceError, abbr

__all__ = [
    "MAX_DEPTH",
    "MAX_ITEMS",
    "Budget",
    "read_bytes",
    "read_value",
    "expect",
    "mismatch",
    "write_value",
]

T = TypeVar("T")

#: How deep values may nest, and how many of them one document may hold. Documents may come from a
#: stranger's program.
MAX_DEPTH = 96
MAX_ITEMS = 1_000_000

_EXACT = 2**53  # JSON readers round integers from here on


class Budget:
    """The depth and number of values that a document may still use. Enter it once for each value."""

    __slots__ = ("depth", "items")

    def __init__(self) -> None:
        self.depth = 0
        self.items = 0

    def __enter__(self) -> None:
        self.depth += 1
        self.items += 1
        if self.depth > MAX_DEPTH:
            raise SourceError(f"values nest deeper than {MAX_DEPTH} levels")
        if self.items > MAX_ITEMS:
            raise SourceError(f"more than {MAX_ITEMS:,} values")

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def mismatch(value: Any, expected: str) -> SourceError:
    """Return the error for a *value* that is not the *expected* one."""
    return SourceError(f"expected {expected}, got {abbr(value)}")


# --- writing ---------------------------------------------------------------------------------------------------------


def write_value(value: Any) -> Any:
    """Return *value* as JSON. Raises SourceError for a value that has no JSON form."""
    write = _WRITERS.get(type(value))
    if write is None:
        raise SourceError(
            f"{abbr(value)} ({type(value).__name__}) is not a JSON value."
            " Use null, bool, number, text, list or object."
        )
    return write(value)


def _write_int(value: int) -> Any:
    if -_EXACT < value < _EXACT:
        return value
    return {"$int": str(value)}


def _write_list(value: list[Any]) -> Any:
    return list(map(write_value, value))


def _write_object(value: dict[Any, Any]) -> Any:
    out = {str(key): write_value(item) for key, item in value.items()}
    if len(out) == 1 and next(iter(out)).startswith("$"):
        return {"$": out}
    return out


def _as_is(value: Any) -> Any:
    return value


_WRITERS: dict[type, Callable[[Any], Any]] = {
    str: _as_is,
    bool: _as_is,
    type(None): _as_is,
    int: _write_int,
    float: lambda value: {"$float": repr(value)},
    list: _write_list,
    tuple: lambda value: {"$tuple": list(map(write_value, value))},
    bytes: lambda value: {"$hex": value.hex()},
    dict: _write_object,
}


# --- reading ---------------------------------------------------------------------------------------------------------


def read_value(value: Any, budget: Budget) -> Any:
    """Return the value that `write_value` wrote. Raises SourceError."""
    with budget:
        if isinstance(value, list):
            return [read_value(item, budget) for item in value]
        if isinstance(value, dict):
            return _read_dict(value, budget)
        return value


def _read_dict(value: dict[str, Any], budget: Budget) -> Any:
    wrapper = next(iter(value)) if len(value) == 1 else ""
    if not wrapper.startswith("$"):
        return _read_object(value, budget)
    if wrapper not in _UNWRAP:
        raise mismatch(value, "a wrapped value")
    return _UNWRAP[wrapper](value[wrapper], budget)


def read_bytes(value: Any) -> bytes:
    """Return the bytes that the hex text *value* names. Raises SourceError."""
    expected = "bytes in hex"
    text = expect(str, value, expected)
    if text and not text.isalnum():
        raise mismatch(value, expected)
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise mismatch(value, expected) from None


def expect(kind: type[T], value: Any, expected: str) -> T:
    """Return *value* if it is of *kind*. Raises SourceError."""
    if not isinstance(value, kind):
        raise mismatch(value, expected)
    return value


def _read_int(value: Any, _: Budget) -> int:
    expected = "a decimal number"
    text = expect(str, value, expected)
    if len(text) > 100 or not text.removeprefix("-").isdecimal():
        raise mismatch(value, expected)
    return int(text)


def _read_float(value: Any, _: Budget) -> float:
    expected = "a number"
    text = expect(str, value, expected)
    if len(text) >= 40:
        raise mismatch(value, expected)
    try:
        return float(text)
    except ValueError:
        raise mismatch(value, expected) from None


def _read_tuple(value: Any, budget: Budget) -> tuple[Any, ...]:
    items = expect(list, value, "a list")
    return tuple(read_value(item, budget) for item in items)


def _read_object(value: Any, budget: Budget) -> dict[str, Any]:
    members = expect(dict, value, "an object")
    return {key: read_value(item, budget) for key, item in members.items()}


_UNWRAP: dict[str, Callable[[Any, Budget], Any]] = {
    "$int": _read_int,
    "$float": _read_float,
    "$tuple": _read_tuple,
    "$hex": lambda value, _: read_bytes(value),
    "$": _read_object,
}

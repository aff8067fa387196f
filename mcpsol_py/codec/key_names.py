"""Matches the keys of a given object with the names of fields or arguments, in any case style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mcpsol_py.errors import EncodeError, abbr, suggest
from mcpsol_py.model.types import Field
from mcpsol_py.names import by_name

__all__ = ["match_fields", "match_names"]

_MAX_LISTED = 20


def match_names(
    names: Iterable[str],
    given: Iterable[object],
    what: str,
    required: Iterable[str] = (),
) -> dict[str, object]:
    """Return name -> given key. *what* is the word for a name in errors ("field", "argument").

    A key is a name in any spelling that only this name has (names.ByName). Raises EncodeError for an
    unknown key, for two keys of one name, and for a *required* name without a key.
    """
    known = list(names)
    if known == list(given):
        return {name: name for name in known}
    spellings = by_name(known)
    found: dict[str, object] = {}
    for key in given:
        name = spellings.get(key) if isinstance(key, str) else None
        if name is None:
            raise EncodeError(
                f"unknown {what} {abbr(key)}. {suggest(str(key), known)}", value=key
            )
        if name in found:
            keys = f"{found[name]!r} and {key!r}"
            raise EncodeError(f"{what} {name!r} is given twice, as {keys}", value=key)
        found[name] = key
    _check_required(required, found, what, known)
    return found


def match_fields(
    keyed: Sequence[tuple[str, Field]], given: Iterable[object], what: str
) -> dict[str, object]:
    """Return field key -> given key, as `match_names` does. *keyed*: the fields with their keys.

    Fields with a default are optional. Fields that callers never give count as unknown.
    """
    shown = [key for key, field in keyed if not field.is_constant]
    required = [key for key, field in keyed if field.default is None]
    return match_names(shown, given, what, required)


def _check_required(
    required: Iterable[str], found: Mapping[str, object], what: str, known: list[str]
) -> None:
    missing = [name for name in required if name not in found]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        listed = ", ".join(map(repr, missing[:_MAX_LISTED]))
        raise EncodeError(f"missing {what}{plural} {listed}. {suggest('', known)}")

"""Matches the keys of a given object with the names of fields or arguments, in any case style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mcpsol_py.errors import EncodeError, abbr, suggest
from mcpsol_py.model.types import Field
from mcpsol_py.names import forms

__all__ = ["match_fields", "match_names"]

_MAX_LISTED = 20


def match_names(
    names: Iterable[str], given: Iterable[object], what: str, required: Iterable[str] = ()
) -> dict[str, object]:
    """Return name -> given key. *what* is the word for a name in errors ("field", "argument").

    A key is a name as written, or in snake_case, camelCase or PascalCase if only one name has that
    form. Raises EncodeError for an unknown key, for two keys of one name, and for a *required* name
    without a key.
    """
    known, given = list(names), list(given)
    by_form: dict[str, str | None] = dict(zip(known, known, strict=True))
    if not by_form.keys() >= set(given):
        by_form = _names_by_form(known)
    found: dict[str, object] = {}
    for key in given:
        name = _name_of(key, by_form)
        if name is None:
            raise EncodeError(f"unknown {what} {abbr(key)}. {suggest(str(key), known)}", value=key)
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
    shown = [key for key, field in keyed if not (field.default and field.default.omitted)]
    required = [key for key, field in keyed if field.default is None]
    return match_names(shown, given, what, required)


def _names_by_form(names: list[str]) -> dict[str, str | None]:
    """Return each form of the names -> its name, or None for a form that two names share."""
    by_form: dict[str, str | None] = {}
    for name in names:
        for form in forms(name):
            by_form[form] = name if by_form.get(form, name) == name else None
    by_form.update({name: name for name in names})
    return by_form


def _name_of(key: object, by_form: Mapping[str, str | None]) -> str | None:
    if not isinstance(key, str):
        return None
    if key in by_form:
        return by_form[key]
    near = {by_form.get(form) for form in forms(key)} - {None}
    return near.pop() if len(near) == 1 else None


def _check_required(
    required: Iterable[str], found: Mapping[str, object], what: str, known: list[str]
) -> None:
    missing = [name for name in required if name not in found]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        listed = ", ".join(map(repr, missing[:_MAX_LISTED]))
        raise EncodeError(f"missing {what}{plural} {listed}. {suggest('', known)}")

"""A tool as a form of HTML, and what was typed there as arguments of the tool.

What nests becomes groups: an object a group of its fields, a list rows that can be added and taken away, an enum with
data a choice and the fields of what is chosen. The pages have no script, so a row more, or another choice, is a request
of its own that calls nothing (`changed`). What is deeper or larger than a person would fill in is asked for as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.names import clean_text

__all__ = [
    "DO",
    "Field",
    "Group",
    "arguments_of",
    "changed",
    "fields_of",
    "fields_within",
    "with_errors",
]

#: what a button says that changes the form and calls nothing
DO = "~do"
_DEEPEST, _MOST_PARTS, _MOST_ROWS = 5, 120, 50
_SCALARS = ("string", "integer", "number", "boolean")


@dataclass(slots=True)
class Field:
    """One input. `name`: the property, dotted where it nests ("accounts.vault", "orders.0.price"); `required` where
    the bridge cannot fill it in. `lines`: one value a line."""

    name: str
    label: str
    about: str
    value: str
    required: bool
    long: bool = False
    number: bool = False
    lines: bool = False
    #: an address is wanted
    address: bool = False
    choices: tuple[str, ...] = ()
    #: it is what is chosen that has fields of its own
    shows: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        """Its id in the page."""
        return "f-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def wrong(self) -> bool:
        """Has it an error?"""
        return bool(self.error)

    @property
    def account(self) -> bool:
        """Is it an account's address?"""
        return self.name.startswith("accounts.")


@dataclass(slots=True)
class Group:
    """Inputs that belong together. Of a list, `rows` says how many there are, and `add` that there may be more; a row
    of one can be taken away."""

    name: str
    label: str
    about: str
    required: bool
    parts: list[Field | Group] = field(default_factory=list)
    rows: int | None = None
    add: bool = False
    row: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        """Its id in the page."""
        return "g-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def wrong(self) -> bool:
        """Has it an error, or anything in it?"""
        return bool(self.error) or any(part.wrong for part in self.parts)

    @property
    def account(self) -> bool:
        """Is it a group of accounts?"""
        return self.name.startswith(("accounts.", "remaining_accounts"))

    @property
    def value(self) -> str:
        """Something is filled in."""
        return next((inner.value for inner in fields_within(self.parts) if inner.value), "")


def fields_within(parts: Sequence[Field | Group]) -> Iterator[Field]:
    """All inputs of *parts*."""
    for part in parts:
        if isinstance(part, Group):
            yield from fields_within(part.parts)
        else:
            yield part


# --- the form --------------------------------------------------------------------------------------------------------


def fields_of(tool: BridgeTool, given: Mapping[str, str]) -> list[Field | Group]:
    """The inputs of a tool. *given*: what was typed."""
    schema = tool.definition["inputSchema"]
    needed = set(schema.get("required", ()))
    out: list[Field | Group] = []
    for name, inner in schema["properties"].items():
        if name == "accounts" and inner.get("type") == "object":
            required = set(inner.get("required", ()))
            out += [
                _part(s, f"accounts.{n}", n, n in required, given, 0)
                for n, s in inner["properties"].items()
            ]
        else:
            out.append(_part(inner, name, name, name in needed, given, 0))
    return out


def _part(
    schema: Mapping[str, Any],
    name: str,
    label: str,
    needed: bool,
    given: Mapping[str, str],
    depth: int,
) -> Field | Group:
    kind = _kind(schema, depth)
    about = clean_text(str(schema.get("description", "")), 400)
    label = clean_text(label, 100)
    if kind == "object":
        required = set(schema.get("required", ()))
        parts = [
            _part(inner, f"{name}.{key}", key, needed and key in required, given, depth + 1)
            for key, inner in schema["properties"].items()
        ]
        return Group(name, label, about, needed, parts)
    if kind == "rows":
        count = _rows(schema, name, needed, given)
        rows: list[Field | Group] = []
        for place in range(count):
            row = _part(
                schema["items"], f"{name}.{place}", f"{label} {place + 1}", True, given, depth + 1
            )
            rows.append(_as_row(row, fixed=_fixed(schema)))
        return Group(
            name,
            label,
            about,
            needed,
            rows,
            rows=count,
            add=not _fixed(schema) and count < _MOST_ROWS,
        )
    if kind == "choice":
        plain, inner = _variants(schema)
        names = [*plain, *inner]
        chosen = given.get(name, "")
        group = Group(name, label, about, needed)
        group.parts.append(
            Field(name, "which", "", chosen, needed, choices=("", *names), shows=bool(inner))
        )
        if chosen in inner:
            group.parts.append(
                _part(inner[chosen], f"{name}.{chosen}", chosen, True, given, depth + 1)
            )
        return group
    return _input(schema, name, label, about, needed, given, kind)


def _as_row(part: Field | Group, *, fixed: bool) -> Group:
    group = part if isinstance(part, Group) else Group(part.name, part.label, "", True, [part])
    group.row = not fixed
    return group


def _input(
    schema: Mapping[str, Any],
    name: str,
    label: str,
    about: str,
    needed: bool,
    given: Mapping[str, str],
    kind: str,
) -> Field:
    typed = schema.get("type")
    choices = tuple(map(str, schema["enum"])) if "enum" in schema else ()
    if typed == "boolean":
        choices = ("true", "false")
    single = schema["items"] if kind == "lines" else schema
    pattern = str(single.get("pattern", ""))
    said = {"lines": "one a line", "json": "as JSON"}.get(kind, "")
    if kind == "lines":
        about = about or clean_text(str(schema["items"].get("description", "")), 300)
    return Field(
        name,
        label,
        "; ".join(t for t in (about or (str(typed or "") if not said else ""), said) if t),
        given.get(name, ""),
        needed,
        long=kind in ("json", "lines"),
        lines=kind == "lines",
        number=single.get("type") in ("integer", "number")
        or ("[0-9]" in pattern and "A-Z" not in pattern),
        address="1-9A-HJ-NP-Za-km-z" in pattern,
        choices=("", *choices) if choices else (),
    )


# --- what a schema becomes -------------------------------------------------------------------------------------------


def _kind(schema: Mapping[str, Any], depth: int) -> str:
    """ "object", "rows", "choice", "lines" (a list of plain values), "plain", or "json" for what is too much of it."""
    typed = schema.get("type")
    if typed in _SCALARS or ("enum" in schema and "anyOf" not in schema):
        return "plain"
    if depth >= _DEEPEST or _size(schema) > _MOST_PARTS:
        return "json"
    if _variants(schema)[1]:
        return "choice"
    if typed == "object" and schema.get("properties"):
        return "object"
    if typed == "array" and isinstance(schema.get("items"), dict):
        items = schema["items"]
        plain = (
            items.get("type") in _SCALARS and "enum" not in items and items.get("type") != "boolean"
        )
        return "lines" if plain else "rows"
    return "json"


def _size(schema: Any) -> int:
    """How many inputs it would take, roughly."""
    if not isinstance(schema, Mapping):
        return 0
    if _variants(schema)[1]:
        return 1 + max(map(_size, _variants(schema)[1].values()))
    inner = sum(map(_size, schema.get("properties", {}).values())) + _size(schema.get("items"))
    return 1 + inner


def _variants(schema: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The variants of an enum that have no data, and those that have, with their schemas."""
    if schema.get("type") == "object" and schema.get("maxProperties") == 1:
        return [], dict(schema["properties"])
    plain: list[str] = []
    inner: dict[str, Any] = {}
    for part in schema.get("anyOf", ()):
        if part.get("type") == "string" and "enum" in part:
            plain += map(str, part["enum"])
        elif part.get("type") == "object" and part.get("properties"):
            inner |= part["properties"]
        else:
            return [], {}
    return plain, inner


def _fixed(schema: Mapping[str, Any]) -> bool:
    return schema.get("minItems") is not None and schema.get("minItems") == schema.get("maxItems")


def _rows(schema: Mapping[str, Any], name: str, needed: bool, given: Mapping[str, str]) -> int:
    if _fixed(schema):
        return min(int(schema["minItems"]), _MOST_ROWS)
    text = given.get(f"{name}.#", "")
    return min(int(text), _MOST_ROWS) if re.fullmatch(r"[0-9]{1,3}", text) else int(needed)


# --- what was typed --------------------------------------------------------------------------------------------------


def changed(given: Mapping[str, str]) -> dict[str, str] | None:
    """What was typed after one of the form's own buttons: a row more ("add NAME"), a row less ("remove NAME.3"), or the
    fields of another choice ("show"). None where it is to be called."""
    said = given.get(DO)
    if said is None:
        return None
    out = {name: text for name, text in given.items() if name != DO}
    what, _, name = said.partition(" ")
    if what == "add":
        out[f"{name}.#"] = str(_count(out, name) + 1)
    elif what == "remove" and re.fullmatch(r".+\.[0-9]{1,3}", name):
        of, _, place = name.rpartition(".")
        out = _without(out, of, int(place), _count(out, of))
    return out


def _count(given: Mapping[str, str], name: str) -> int:
    text = given.get(f"{name}.#", "")
    return min(int(text), _MOST_ROWS) if re.fullmatch(r"[0-9]{1,3}", text) else 0


def _without(given: Mapping[str, str], name: str, place: int, count: int) -> dict[str, str]:
    """Those behind a row that is taken away move up."""
    out: dict[str, str] = {}
    for key, text in given.items():
        row = re.match(rf"{re.escape(name)}\.([0-9]+)(\..*)?$", key)
        if row is None:
            out[key] = text
        elif int(row[1]) != place:
            out[f"{name}.{int(row[1]) - (int(row[1]) > place)}{row[2] or ''}"] = text
    return {**out, f"{name}.#": str(max(0, count - 1))}


_ABSENT: Any = object()


def arguments_of(tool: BridgeTool, given: Mapping[str, str]) -> dict[str, Any]:
    """A form's texts as arguments: empty ones are left out, numbers and JSON are read where the schema has no text."""
    schema = tool.definition["inputSchema"]
    needed = set(schema.get("required", ()))
    out: dict[str, Any] = {}
    for name, inner in schema["properties"].items():
        found = _typed(inner, name, name in needed and name != "accounts", given, 0)
        if found is not _ABSENT:
            out[name] = found
    names = schema["properties"]
    # what the form does not have is the tool's to refuse
    return out | {
        n: text for n, text in given.items() if text.strip() and n.split(".")[0] not in names
    }


def _typed(
    schema: Mapping[str, Any], name: str, needed: bool, given: Mapping[str, str], depth: int
) -> Any:
    text = given.get(name, "")
    if text.lstrip()[:1] in ("{", "[") and schema.get("type") != "string":
        return _read(text)  # JSON is taken wherever a group stands
    # accounts stand at the form's first level
    kind = "object" if name == "accounts" else _kind(schema, depth)
    if kind == "object":
        deeper = depth if name == "accounts" else depth + 1
        values = {
            key: value
            for key, inner in schema["properties"].items()
            if (value := _typed(inner, f"{name}.{key}", False, given, deeper)) is not _ABSENT
        }
        return values if values or needed else _ABSENT
    if kind == "rows":
        count = _rows(schema, name, needed, given)
        rows = [
            _typed(schema["items"], f"{name}.{place}", True, given, depth + 1)
            for place in range(count)
        ]
        found = [row for row in rows if row is not _ABSENT]
        return found if found or needed else _ABSENT
    if text.strip() == "":
        return [] if kind == "lines" and needed else _ABSENT
    if kind == "choice":
        inner = _variants(schema)[1].get(text)
        if inner is None:
            return text
        value = _typed(inner, f"{name}.{text}", True, given, depth + 1)
        return {text: {} if value is _ABSENT else value}
    if kind == "lines":
        return [_plain(line, schema["items"]) for line in text.splitlines() if line.strip()]
    return _plain(text, schema)


def _plain(text: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "string" or "enum" in schema:
        return text.strip() if "pattern" in schema else text
    return _read(text)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- errors ----------------------------------------------------------------------------------------------------------


def with_errors(parts: Sequence[Field | Group], details: Mapping[str, Any], message: str) -> str:
    """Puts what a refused call says at the inputs that it is about. The id of the first of them, "" where none is.

    *details*: of the error, as the bridge tells it.
    """
    places = {clean(p.name): p for p in _all(parts)}
    about: list[tuple[str, str]] = []
    path = str(details.get("path", ""))
    if path:
        steps = clean(re.sub(r"\[([0-9]+)\]", r".\1", path)).split(".")[1:]
        about += [(".".join(steps), message), (".".join(["accounts", *steps]), message)]
    if details.get("reason") == "missing_account":
        about.append(
            (f"accounts.{clean(str(details.get('account', '')))}", "its address is missing")
        )
        about += [
            (f"accounts.{clean(str(name))}", "must be given") for name in details.get("also", ())
        ]
    for hint in details.get("hints", ()):
        named = re.match(r"([\w.]+) \(", str(hint))
        if named is not None:
            about.append((f"accounts.{clean(named[1])}", str(hint)))
    first = ""
    for where, text in about:
        steps = where.split(".")
        while steps and ".".join(steps) not in places:
            steps.pop()
        found = places.get(".".join(steps)) if steps and steps != ["accounts"] else None
        if found is not None and not found.error:
            found.error = clean_text(text, 600)
            first = first or found.id
    return first


def _all(parts: Sequence[Field | Group]) -> Iterator[Field | Group]:
    for part in parts:
        yield part
        if isinstance(part, Group):
            yield from _all(part.parts)


def clean(path: str) -> str:
    """A path with its names in one spelling: an IDL's "maxPrice" is the property "max_price" or "maxPrice"."""
    return re.sub(r"_", "", path).lower()

"""HTML forms for tools: the inputs and groups of inputs that a form shows.

An object becomes a group of its fields, a list becomes rows that can be added and removed, and an
enum with data becomes a choice with the fields of the chosen variant. The pages have no script, so
adding a row or choosing another variant is a request of its own that calls nothing (see
`form_arguments.edited`). A value that is too deep or too large for a form is typed as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.bridge.explorer.form_schema import (
    MAX_ROWS,
    FormNode,
    InputKind,
    properties_of,
    variants_of,
)
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.names import clean_text

__all__ = ["FormField", "FormGroup", "FormPart", "fields_within", "form_parts"]


@dataclass(slots=True)
class FormField:
    """One input.

    `name` is dotted if it is nested ("accounts.vault", "orders.0.price"). `required` is False if
    the bridge can fill in the value. With `lines` the input takes one value a line.
    """

    name: str
    label: str
    about: str
    value: str
    required: bool
    long: bool = False
    number: bool = False
    lines: bool = False
    #: The value is an address.
    address: bool = False
    choices: tuple[str, ...] = ()
    #: Some of the choices have fields of their own.
    has_fields: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        """The id of the input in the page."""
        return "f-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def wrong(self) -> bool:
        """True if the input has an error."""
        return bool(self.error)

    @property
    def account(self) -> bool:
        """True if the input is for an account's address."""
        return self.name.startswith("accounts.")


@dataclass(slots=True)
class FormGroup:
    """Inputs that belong together.

    `rows` is the number of rows if the group is a list, and `can_add` allows one more. A row of a
    list is a group that is `removable`.
    """

    name: str
    label: str
    about: str
    required: bool
    parts: list[FormPart] = field(default_factory=list)
    rows: int | None = None
    can_add: bool = False
    removable: bool = False
    error: str = ""

    @property
    def id(self) -> str:
        """The id of the group in the page."""
        return "g-" + re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def wrong(self) -> bool:
        """True if the group or one of its parts has an error."""
        return bool(self.error) or any(part.wrong for part in self.parts)

    @property
    def account(self) -> bool:
        """True for a group of accounts."""
        return self.name.startswith(("accounts.", "remaining_accounts"))

    @property
    def value(self) -> str:
        """The first value that is filled in, or ""."""
        return next(
            (inner.value for inner in fields_within(self.parts) if inner.value), ""
        )


FormPart = FormField | FormGroup


def fields_within(parts: Sequence[FormPart]) -> Iterator[FormField]:
    """Yield all inputs of *parts*, nested ones too."""
    for part in parts:
        if isinstance(part, FormGroup):
            yield from fields_within(part.parts)
        else:
            yield part


def form_parts(tool: BridgeTool, given: Mapping[str, str]) -> list[FormPart]:
    """Return the form of a tool. *given* are the texts typed so far, by input name."""
    parts: list[FormPart] = []
    for node in properties_of(tool):
        if node.holds_accounts:
            parts += [_part(account, given) for account in node.fields()]
        else:
            parts.append(_part(node, given))
    return parts


def _part(node: FormNode, given: Mapping[str, str]) -> FormPart:
    return _BUILDERS[node.kind](node, given)


def _object(node: FormNode, given: Mapping[str, str]) -> FormGroup:
    return _group(node, [_part(field, given) for field in node.fields()])


def _group(node: FormNode, parts: list[FormPart]) -> FormGroup:
    return FormGroup(node.name, _label(node), _about(node.schema), node.required, parts)


def _rows(node: FormNode, given: Mapping[str, str]) -> FormGroup:
    fixed = node.has_fixed_length
    rows: list[FormPart] = []
    for row in node.rows(given):
        part = _part(row, given)
        if isinstance(part, FormField):
            part = FormGroup(part.name, part.label, "", True, [part])
        part.removable = not fixed
        rows.append(part)
    group = _group(node, rows)
    group.rows = len(rows)
    group.can_add = not fixed and len(rows) < MAX_ROWS
    return group


def _choice(node: FormNode, given: Mapping[str, str]) -> FormGroup:
    without_data, with_data = variants_of(node.schema)
    choices = ("", *without_data, *with_data)
    chosen = given.get(node.name, "")
    parts: list[FormPart] = [
        FormField(
            node.name,
            "which",
            "",
            chosen,
            node.required,
            choices=choices,
            has_fields=bool(with_data),
        )
    ]
    variant = node.variant(chosen)
    if variant is not None:
        parts.append(_part(variant, given))
    return _group(node, parts)


def _plain_input(node: FormNode, given: Mapping[str, str]) -> FormField:
    schema = node.schema
    found = _input(node, given, schema, _about(schema) or str(schema.get("type") or ""))
    choices = tuple(map(str, schema.get("enum", ())))
    if schema.get("type") == "boolean":
        choices = ("true", "false")
    if choices:
        found.choices = ("", *choices)
    return found


def _lines_input(node: FormNode, given: Mapping[str, str]) -> FormField:
    items = node.schema["items"]
    about = _about(node.schema) or clean_text(str(items.get("description", "")), 300)
    found = _input(
        node, given, items, f"{about}; one a line" if about else "one a line"
    )
    found.long = found.lines = True
    return found


def _json_input(node: FormNode, given: Mapping[str, str]) -> FormField:
    about = _about(node.schema)
    found = _input(
        node, given, node.schema, f"{about}; as JSON" if about else "as JSON"
    )
    found.long = True
    if "enum" in node.schema:
        found.choices = ("", *map(str, node.schema["enum"]))
    return found


_BUILDERS: dict[InputKind, Callable[[FormNode, Mapping[str, str]], FormPart]] = {
    "object": _object,
    "rows": _rows,
    "choice": _choice,
    "lines": _lines_input,
    "plain": _plain_input,
    "json": _json_input,
}


def _input(
    node: FormNode,
    given: Mapping[str, str],
    value_schema: Mapping[str, Any],
    about: str,
) -> FormField:
    """Return an input. *value_schema* is the schema of the one value that is typed into it."""
    pattern = str(value_schema.get("pattern", ""))
    is_decimal = "[0-9]" in pattern and "A-Z" not in pattern
    return FormField(
        node.name,
        _label(node),
        about,
        given.get(node.name, ""),
        node.required,
        number=is_decimal or value_schema.get("type") in ("integer", "number"),
        address="1-9A-HJ-NP-Za-km-z" in pattern,
    )


def _label(node: FormNode) -> str:
    return clean_text(node.label, 100)


def _about(schema: Mapping[str, Any]) -> str:
    return clean_text(str(schema.get("description", "")), 400)

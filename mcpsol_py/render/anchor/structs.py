"""Account types, events and errors as Anchor declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import (
    AccountType,
    Discriminator,
    ErrorCode,
    Event,
    ProgramModel,
)
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import Struct
from mcpsol_py.render.anchor.names import anchor_discriminator
from mcpsol_py.render.anchor.types import AnchorTypes, FieldView, fields_of
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    byte_array,
    code,
    doc,
    format_string,
    number,
)
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.type_traits import refusing
from mcpsol_py.render.view.errors import error_message

__all__ = [
    "ErrorView",
    "StateStruct",
    "StructView",
    "discriminator_bytes",
    "distinct_errors",
    "error_views",
    "event_views",
    "leading_bytes",
    "state_structs",
]

S = TypeVar("S", AccountType, Event)


@dataclass(frozen=True, slots=True)
class StructView:
    """An account type or an event: a struct with its discriminator."""

    name: Rust
    docs: tuple[Rust, ...]
    #: "(discriminator = [..])" if Anchor would derive another one
    attribute: Rust
    fields: tuple[FieldView, ...]
    #: with the discriminator, if it is fixed
    size: Rust
    has_size: bool


@dataclass(frozen=True, slots=True)
class StateStruct:
    """An account type: its view, its fields in the source, and its size with the discriminator (None: not fixed)."""

    view: StructView
    body: Struct
    size: int | None

    def field_name(self, name: str) -> Rust:
        """The Rust name of the field that the source calls *name*."""
        return fields_of(self.body.fields)[name]


@dataclass(frozen=True, slots=True)
class ErrorView:
    """One of the program's own errors."""

    name: Rust
    code: Rust
    docs: tuple[Rust, ...]
    message: Rust


# --- account types and events -------------------------------------------------------------------------------------


def state_structs(model: ProgramModel, types: AnchorTypes) -> dict[str, StateStruct]:
    """The account types by the source's names. Raises RenderError if one has no form in Anchor."""
    declared = _declared(model.accounts, "state", types)
    return {account.name: _state(account, name, types) for account, name in declared}


def event_views(model: ProgramModel, types: AnchorTypes) -> tuple[StructView, ...]:
    """The events. Raises RenderError if one has no form in Anchor."""
    declared = _declared(model.events, "events", types)
    return tuple(_event(event, name, types) for event, name in declared)


def _declared(
    items: Sequence[S], module: str, types: AnchorTypes
) -> list[tuple[S, Rust]]:
    """The first item of each name, with its Rust name. All names are taken before any struct is made."""
    first: dict[str, S] = {}
    for item in items:
        first.setdefault(item.name, item)
    return [
        (item, types.declare(item.name, item.type, module)) for item in first.values()
    ]


def _state(account: AccountType, name: Rust, types: AnchorTypes) -> StateStruct:
    with refusing(f"accounts.{account.name}"):
        value = discriminator_bytes(
            account.discriminator, f"the account type {account.name}"
        )
        if account.also:
            raise CannotRender("it has more than one discriminator")
        return _struct(
            account, name, anchor_discriminator("account", name), value, types
        )


def _event(event: Event, name: Rust, types: AnchorTypes) -> StructView:
    with refusing(f"events.{event.name}"):
        value = discriminator_bytes(event.discriminator, f"the event {event.name}")
        return _struct(
            event, name, anchor_discriminator("event", name), value, types
        ).view


def _struct(
    item: AccountType | Event,
    name: Rust,
    derived: bytes,
    value: bytes,
    types: AnchorTypes,
) -> StateStruct:
    """The struct of *item*. *derived*: the discriminator that Anchor gives it, *value*: its own."""
    definition, body = types.body(item.type)
    if not isinstance(body, Struct):
        raise CannotRender(f"{item.name} is not a struct")
    size = fixed_size(types.resolver, item.type)
    whole = None if size is None else size + len(value)
    defined_docs = definition.docs if definition is not None else ()
    view = StructView(
        name=name,
        docs=doc(item.docs or defined_docs),
        attribute=code(
            "" if value == derived else f"(discriminator = {byte_array(value)})"
        ),
        fields=types.fields(body.fields, name),
        size=code(str(whole)),
        has_size=whole is not None,
    )
    return StateStruct(view, body, whole)


def discriminator_bytes(d: Discriminator, what: str) -> bytes:
    """The bytes in front of the fields. Raises CannotRender if other bytes identify *what*, or zeros do."""
    value = leading_bytes(d, what)
    if not any(value):
        raise CannotRender(
            f"zeros identify {what}: Anchor refuses them, because new data looks the same"
        )
    return value


def leading_bytes(d: Discriminator, what: str) -> bytes:
    """Like `discriminator_bytes`, but zeros are allowed."""
    if not d.is_prefix or not d.value:
        raise CannotRender(
            f"{what} does not start with a discriminator, and Anchor needs one"
        )
    return d.value


# --- errors -------------------------------------------------------------------------------------------------------


def distinct_errors(errors: tuple[ErrorCode, ...]) -> list[ErrorCode]:
    """The first error of each code: an enum cannot have two variants with one number."""
    first: dict[int, ErrorCode] = {}
    for error in errors:
        first.setdefault(error.code % 2**32, error)
    return list(first.values())


def error_views(errors: list[ErrorCode]) -> tuple[ErrorView, ...]:
    """The program's own errors. Raises RenderError if a code is too large for Anchor."""
    names = IdentifierPool()
    return tuple(_error(error, names) for error in errors)


def _error(error: ErrorCode, names: IdentifierPool) -> ErrorView:
    if error.code >= 2**32 - 1:
        raise RenderError(
            f"errors.{error.name}: expected a code below {2**32 - 1}, which is Anchor's limit, "
            f"got {error.code}."
        )
    return ErrorView(
        name=names.take(error.name, "pascal"),
        code=number(error.code % 2**32),
        docs=doc([error.message or error.name]),
        message=format_string(error_message(error)),
    )

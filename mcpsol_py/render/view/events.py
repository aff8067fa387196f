"""Events: the types that are logged, and the bytes in front of them."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.items import names_of
from mcpsol_py.model.program import Event
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.render.rust import Rust, byte_array, code
from mcpsol_py.render.rust_types import CannotRender, Types
from mcpsol_py.render.view.context import CrateContext

__all__ = ["EventView", "event_views"]

#: Larger events are encoded to a Vec: a stack frame has only 4,096 bytes.
_MOST_ON_STACK = 1024


@dataclass(frozen=True, slots=True)
class EventView:
    """One event. `size` is the whole entry's, with its discriminator, if it is fixed."""

    type: Rust
    generics: Rust
    discriminator: Rust
    discriminator_size: Rust
    size: Rust
    is_fixed: bool


def event_views(
    events: tuple[Event, ...], context: CrateContext
) -> tuple[EventView, ...]:
    """The events that have a Rust form. Of two events with one type, only the first is kept."""
    views: dict[Rust, EventView] = {}
    for event in events:
        try:
            view = _event(event, context.types)
        except CannotRender as why:
            context.skipped.append(
                f"No Rust was generated for the event {event.name}: {why}."
            )
            continue
        if view.type in views:
            context.skipped.append(
                f"The event {event.name} has the same type as another event."
            )
            continue
        views[view.type] = view
    return tuple(views.values())


def _event(event: Event, types: Types) -> EventView:
    d = event.discriminator
    if not d.is_prefix:
        raise CannotRender("its fields do not follow its discriminator")
    kind = types.type(event.type, event.name)
    name = kind.partition("<")[0]
    if name not in set(names_of(types.views())):
        raise CannotRender("its type is not a struct")
    size = fixed_size(types.resolver, event.type)
    whole = 0 if size is None else size + len(d.value)
    return EventView(
        type=code(name),
        generics=code("<'_>" if "'a" in kind else ""),
        discriminator=byte_array(d.value),
        discriminator_size=code(str(len(d.value))),
        size=code(str(whole)),
        is_fixed=size is not None and whole <= _MOST_ON_STACK,
    )

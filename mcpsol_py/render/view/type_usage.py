"""Which of the crate's types the program reads and writes, and which of them clippy finds too complex."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mcpsol_py.render.rust import Rust, complexity
from mcpsol_py.render.type_views import EnumView, StructView
from mcpsol_py.render.view.events import EventView
from mcpsol_py.render.view.instruction import InstructionView
from mcpsol_py.render.view.state import StateView

__all__ = ["TypeUsage"]

TypeView = StructView | EnumView

#: The limit of clippy's `type_complexity`.
_MOST_COMPLEX = 250


@dataclass(frozen=True, slots=True)
class TypeUsage:
    """The types in *views*, and the instructions, states and events that use them."""

    views: tuple[TypeView, ...]
    instructions: Sequence[InstructionView]
    states: Sequence[StateView]
    events: Sequence[EventView]

    def used_views(self, *, encodes_arguments: bool) -> tuple[TypeView, ...]:
        """The types, each with the functions that the program needs: to read it, to write it, or both."""
        read = self._reached([*self._of_states(), *self._of_arguments()])
        written = [*self._of_states(), *self._of_events(), *self._of_returns()]
        if encodes_arguments:
            written += self._of_arguments()
        written_names = self._reached(written)
        return tuple(
            replace(
                view, is_read=view.name in read, is_written=view.name in written_names
            )
            for view in self.views
        )

    def has_complex_types(self) -> bool:
        """Is a type of the source more complex than clippy allows?"""
        texts = [
            *self._of_returns(),
            *self._of_arguments(),
            *self._of_fields(),
            *self._of_parts(),
        ]
        return any(
            complexity(f"Result<{text}, ProgramError>") > _MOST_COMPLEX
            for text in texts
        )

    def _of_arguments(self) -> Iterator[Rust]:
        return (field.type for ix in self.instructions for field in ix.args)

    def _of_returns(self) -> Iterator[Rust]:
        return (ix.returns for ix in self.instructions)

    def _of_events(self) -> Iterator[Rust]:
        return (event.type for event in self.events)

    def _of_states(self) -> Iterator[Rust]:
        for state in self.states:
            yield state.value_type
            yield from (field.type for field in state.complexes)

    def _of_fields(self) -> Iterator[Rust]:
        """The types of fields that state decodes on demand, as they are read and as they are set."""
        for state in self.states:
            for field in state.complexes:
                yield from (field.type, field.given)

    def _of_parts(self) -> Iterator[Rust]:
        for view in self.views:
            yield from _part_types(view)

    def _reached(self, texts: Iterable[Rust]) -> set[str]:
        """The names of the types in *texts*, and of the types in their fields."""
        parts = {str(view.name): _part_types(view) for view in self.views}
        reached: set[str] = set()
        left = list(texts)
        while left:
            found = set(re.findall(r"\w+", left.pop())) & parts.keys() - reached
            reached |= found
            left += [part for name in found for part in parts[name]]
        return reached


def _part_types(view: TypeView) -> list[Rust]:
    if isinstance(view, StructView):
        return [field.type for field in view.fields]
    return [variant.declaration for variant in view.variants]

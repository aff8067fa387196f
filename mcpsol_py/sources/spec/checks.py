"""Checks that need the whole program: clashes of names, codes and discriminators, types without
end.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcpsol_py.items import names_of
from mcpsol_py.model.program import LIST_TOOLS, Event, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.types import Link
from mcpsol_py.names import snake
from mcpsol_py.sources.spec.lines import Problems

__all__ = ["check_program"]


def check_program(model: ProgramModel, class_name: str, problems: Problems) -> None:
    """Record a problem for everything in *model* that clashes. Paths start with *class_name*."""
    _check_discriminators(model, class_name, problems)
    _check_instruction_names(model, class_name, problems)
    _check_error_codes(model, class_name, problems)
    _check_endless_state(model, class_name, problems)


def _check_discriminators(
    model: ProgramModel, class_name: str, problems: Problems
) -> None:
    """Check that data begins like that of one instruction, and of one event."""
    _check_apart("an instruction", model.instructions, class_name, problems)
    _check_apart("an event", model.events, class_name, problems)
    for ix in model.instructions:
        value = ix.discriminator.value
        if value and LIST_TOOLS.startswith(value):
            why = f"{_shown(value)} is taken by list_tools. Give another one."
            problems.add(f"{class_name}.{ix.name}", why)


def _check_apart(
    what: str,
    items: Iterable[Instruction | Event],
    class_name: str,
    problems: Problems,
) -> None:
    taken: dict[bytes, str] = {}
    for item in items:
        path, value = f"{class_name}.{item.name}", item.discriminator.value
        if not value:
            why = f"{what} needs a discriminator of at least one byte."
            problems.add(path, why)
            continue
        for other, owner in taken.items():
            if value.startswith(other) or other.startswith(value):
                clash = f"{_shown(value)} starts like {owner}'s 0x{other.hex()}. Give one of them other bytes."
                problems.add(path, clash)
        taken[value] = item.name


def _shown(value: bytes) -> str:
    return f"the discriminator 0x{value.hex()}"


def _check_instruction_names(
    model: ProgramModel, class_name: str, problems: Problems
) -> None:
    names = names_of(model.instructions)
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(snake(name), name)
        if first != name or names.count(name) > 1:
            message = f"two instructions would be named {snake(name)!r}."
            problems.add(f"{class_name}.{name}", message)


def _check_error_codes(
    model: ProgramModel, class_name: str, problems: Problems
) -> None:
    codes: dict[int, str] = {}
    for error in model.errors:
        if error.code in codes:
            message = f"code {error.code} is {codes[error.code]}'s already."
            problems.add(f"{class_name}.{error.name}", message)
        codes[error.code] = error.name


def _check_endless_state(
    model: ProgramModel, class_name: str, problems: Problems
) -> None:
    resolver = Resolver(model)
    for state in model.accounts:
        if isinstance(state.type, Link) and resolver.endless(state.type):
            message = "it contains itself without end. Put the inner one into an option or a list."
            problems.add(f"{class_name}.{state.name}", message)

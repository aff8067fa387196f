"""Checks of discriminators: whether their bytes distinguish instructions, accounts and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from mcpsol_py.model.check_context import CheckContext
from mcpsol_py.model.findings import Level
from mcpsol_py.model.program import (
    LIST_TOOLS,
    AccountType,
    Discriminator,
    Event,
    Instruction,
)
from mcpsol_py.model.usable import answers_schema

__all__ = ["check_discriminators", "check_shadowing"]

_RESERVED = LIST_TOOLS.hex()


def check_discriminators(context: CheckContext) -> None:
    """Check the discriminators of all instructions."""
    instructions = context.model.instructions
    path = f"{context.paths.root}instructions"
    check_shadowing(context, instructions, path, "instruction", "error")
    for i, ix in enumerate(instructions):
        _check_discriminator(context, ix, f"{path}[{i}].discriminator")


def _check_discriminator(context: CheckContext, ix: Instruction, path: str) -> None:
    discriminator = ix.discriminator
    if not discriminator.value and not ix.also:
        _report_empty(context, ix, path)
    elif answers_schema(ix):
        message = (
            f"{ix.name!r} is list_tools itself; a rendered program generates its own"
        )
        context.findings.info(path, message, "reserved-discriminator")
    elif discriminator.offset == 0:
        _check_reserved(context, discriminator.value, path)


def _check_reserved(context: CheckContext, data: bytes, path: str) -> None:
    """Report bytes that a program cannot tell from a call of list_tools."""
    if data.startswith(LIST_TOOLS):
        overlap = f"0x{data[:32].hex()} starts with {_RESERVED}"
    elif len(data) > 1 and LIST_TOOLS.startswith(data):
        overlap = f"0x{data.hex()} starts {_RESERVED}"
    else:
        return
    message = f"{overlap}, which list_tools uses; choose another"
    context.findings.error(path, message, "reserved-discriminator")


def _report_empty(context: CheckContext, ix: Instruction, path: str) -> None:
    if len(context.model.instructions) > 1:
        message = (
            f"{ix.name!r} has no discriminator that distinguishes it from the others"
        )
        context.findings.error(path, message, "empty-discriminator")
    else:
        message = f"{ix.name!r} has no discriminator: its data is its arguments alone"
        context.findings.info(path, message, "empty-discriminator")


@dataclass(frozen=True, slots=True)
class _Known:
    """The leading bytes of one item, and its place in the list."""

    data: bytes
    place: int


def check_shadowing(
    context: CheckContext,
    items: Sequence[Instruction | AccountType | Event],
    path: str,
    what: str,
    level: Level,
) -> None:
    """Report items of one list whose discriminators are equal, or start one another."""
    # After sorting, entries that start with the same bytes follow one another. `prefixes` holds the
    # entries that start the current one, each starting the next.
    prefixes: list[_Known] = []
    for known in _sorted_by_first_bytes(items):
        while prefixes and not known.data.startswith(prefixes[-1].data):
            prefixes.pop()
        if prefixes:
            _report_shadow(context, items, path, what, level, prefixes[-1], known)
        prefixes.append(known)


def _sorted_by_first_bytes(
    items: Sequence[Instruction | AccountType | Event],
) -> list[_Known]:
    """Return the items that only their first bytes identify, sorted by these bytes."""
    out = []
    for i, item in enumerate(items):
        if _is_known_by_first_bytes(item):
            out.append(_Known(item.discriminator.value, i))
    return sorted(out, key=attrgetter("data", "place"))


def _is_known_by_first_bytes(item: Instruction | AccountType | Event) -> bool:
    discriminator: Discriminator = item.discriminator
    if not isinstance(item, Event) and item.also:
        return False
    starts_data = discriminator.value != b"" and discriminator.offset == 0
    return starts_data and discriminator.size is None


def _report_shadow(
    context: CheckContext,
    items: Sequence[Instruction | AccountType | Event],
    path: str,
    what: str,
    level: Level,
    shorter: _Known,
    longer: _Known,
) -> None:
    first, second = items[shorter.place], items[longer.place]
    where = f"{path}[{longer.place}].discriminator"
    if shorter.data == longer.data:
        how = f"is also that of {first.name!r}"
    else:
        how = f"starts with 0x{shorter.data[:32].hex()} of {first.name!r}"
    message = (
        f"the discriminator 0x{longer.data[:32].hex()} of {what} {second.name!r} {how}"
    )
    context.findings.add(level, where, message, "shadowed-discriminator")

"""Account types that a check cannot tell apart by their discriminators."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from mcpsol_py.model.program import AccountType, ProgramModel

__all__ = ["ambiguous_types"]


def ambiguous_types(model: ProgramModel) -> dict[str, str]:
    """Return, by name, the account types whose data may be something else, each with the reason.

    A stranger can give the program an account of zeros: the system program allocates it and assigns it to any owner.
    """
    return dict((*_alike(model.accounts), *_blank(model.accounts)))


def _blank(types: tuple[AccountType, ...]) -> Iterator[tuple[str, str]]:
    for kind in types:
        value = kind.discriminator.value
        if not value:
            yield kind.name, "it has no discriminator"
        elif not any(value):
            yield (
                kind.name,
                "its discriminator is zero, as all bytes of a new account are",
            )


def _alike(types: tuple[AccountType, ...]) -> Iterator[tuple[str, str]]:
    for kind, other in permutations(types, 2):
        value, others = kind.discriminator.value, other.discriminator.value
        shared = min(len(value), len(others))
        if shared and kind != other and value[:shared] == others[:shared]:
            how = "equals" if value == others else "begins like"
            yield (
                kind.name,
                f"its discriminator 0x{value.hex()} {how} 0x{others.hex()} of {other.name}",
            )

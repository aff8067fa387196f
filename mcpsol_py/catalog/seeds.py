"""The seeds of a catalogue: the programs of the runtime and of SPL, which this package describes."""

from __future__ import annotations

from functools import cache

from mcpsol_py.catalog.records import SEED, NewVersion
from mcpsol_py.model.identity import model_hash
from mcpsol_py.sources.well_known import is_well_known, well_known, well_known_names

__all__ = ["seed_mark", "seed_of", "seeds"]


def seeds() -> list[NewVersion]:
    """Return the versions that every catalogue begins with."""
    return [_seed(name) for name in well_known_names()]


def seed_of(name: str) -> NewVersion | None:
    """Return the seed called *name*, if there is one."""
    return _seed(name) if is_well_known(name) else None


def _seed(name: str) -> NewVersion:
    model = well_known(name)
    return NewVersion(model, SEED, f"mcpsol-py: {name.replace('-', '_')}", lint=False)


@cache
def seed_mark() -> str:
    """Return a text that is another one if a seed is."""
    return "".join(model_hash(well_known(name))[:6] for name in well_known_names())

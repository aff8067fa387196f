"""Programs of the runtime and of SPL, described in this package: system, tokens, stake, vote, loader and others.

Most of them publish no schema on chain. Each table is checked against the official encoders and landed instructions.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mcpsol_py.model.program import ProgramModel

__all__ = ["is_well_known", "well_known", "well_known_at", "well_known_names"]

_FOLDER = Path(__file__).parent


@cache
def well_known_names() -> tuple[str, ...]:
    """Return the names of the programs, such as "spl_token" and "solana_stake"."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def is_well_known(name: str) -> bool:
    """Return whether *name* is one of the programs; "spl-token" is "spl_token"."""
    return name.replace("-", "_") in well_known_names()


@cache
def well_known(name: str) -> ProgramModel:
    """Return a program by its name, for which `is_well_known` holds."""
    from mcpsol_py.sources.well_known.table import read_table

    key = name.replace("-", "_")
    text = (_FOLDER / f"{key}.txt").read_text(encoding="utf-8")
    return read_table(text, key.removeprefix("solana_"))


def well_known_at(address: str) -> ProgramModel | None:
    """Return the program that runs at *address*, None for any other address."""
    name = _by_address().get(address)
    return None if name is None else well_known(name)


@cache
def _by_address() -> dict[str, str]:
    return {str(well_known(name).address): name for name in well_known_names()}

"""Finds the spec of a test, and the compiled program beside the spec."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from mcpsol_py.errors import SourceError

__all__ = ["SPEC", "compiled_beside", "spec_near"]

#: The file name of a spec.
SPEC = "spec.py"


def spec_near(place: str | PathLike[str]) -> Path:
    """Return the spec.py in the folder of a file, or in the nearest folder above it. Raises SourceError."""
    for folder in Path(place).resolve().parents:
        if (folder / SPEC).is_file():
            return folder / SPEC
    raise SourceError(
        f"no {SPEC} is in its folder, nor in one above it", origin=str(place)
    )


def compiled_beside(spec: Path) -> Path | None:
    """Return the .so in a spec's folder: the only one, or of several the one named as the folder. None without one."""
    found = sorted(spec.parent.glob("*.so"))
    named = [so for so in found if so.stem == spec.resolve().parent.name]
    return next(iter(named), found[0] if len(found) == 1 else None)

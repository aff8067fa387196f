"""The compiled programs that ship with this package: counter, guard, vault and x402."""

from __future__ import annotations

from pathlib import Path

from mcpsol_py.errors import UnknownName

__all__ = ["bundled_programs", "bundled_so"]


def bundled_programs() -> dict[str, Path]:
    """Return name -> folder, which has `<name>.so`, `idl.json` and `spec.py`.

    The folders are in the wheel, or in the repository of an editable install. Empty if the package
    has neither.
    """
    package = Path(__file__).resolve().parent
    return _programs_in(package / "_programs") or _programs_in(
        package.parent / "programs"
    )


def _programs_in(folder: Path) -> dict[str, Path]:
    built = sorted(folder.glob("*/*.so"))
    return {so.stem: so.parent for so in built if so.stem == so.parent.name}


def bundled_so(name: str) -> Path:
    """Return the path of the compiled program *name*. Raises UnknownName."""
    programs = bundled_programs()
    UnknownName.check("bundled program", [name], programs)
    return programs[name] / f"{name}.so"

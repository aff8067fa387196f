"""The programs that ship with this package, built: counter, vault and x402."""

from __future__ import annotations

from pathlib import Path

from mcpsol_py.errors import UnknownName

__all__ = ["bundled_programs", "bundled_so"]


def bundled_programs() -> dict[str, Path]:
    """name -> its folder, with <name>.so, idl.json and spec.py: in the wheel, or in the repository of an editable
    install. Empty where neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_programs", package.parent / "programs"):
        if folder.is_dir():
            found = {p.name: p for p in sorted(folder.iterdir()) if (p / f"{p.name}.so").is_file()}
            if found:
                return found
    return {}


def bundled_so(name: str) -> Path:
    """The compiled program *name*, to put on a LiteSVM or a cluster. Raises UnknownName."""
    programs = bundled_programs()
    if name not in programs:
        raise UnknownName("bundled program", name, programs)
    return programs[name] / f"{name}.so"

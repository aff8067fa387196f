"""Builds a bundled program once, with a place in the compiled file that says which of its checks is off."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain
from tests.attack_mutants.sites import MARKER, MODULE, Mutant, Numbers, guarded

__all__ = ["Built", "build", "write"]

PROGRAMS = Path(__file__).resolve().parents[2] / "programs"


@dataclass(frozen=True, slots=True)
class Built:
    """The compiled program of all mutants."""

    elf: bytes
    mutants: tuple[Mutant, ...]

    def without(self, number: int) -> bytes:
        """The program without the check of this number; 0 for the whole program."""
        assert self.elf.count(MARKER) == 1, (
            "the number's place is not in the compiled program once"
        )
        return self.elf.replace(MARKER, number.to_bytes(2, "little") + MARKER[2:])


def write(program: str, folder: Path) -> tuple[Path, tuple[Mutant, ...]]:
    """Write the crate whose checks have numbers into a copy of programs/ in *folder*."""
    ignore = shutil.ignore_patterns("target", "*.so")
    shutil.copytree(PROGRAMS, folder, ignore=ignore, dirs_exist_ok=True)
    crate, numbers = folder / program, Numbers()
    source = crate / "src"
    shared = ["checks.rs", "codec.rs", "entrypoint.rs"]
    files = sorted(path.relative_to(source) for path in source.rglob("*.rs"))
    for file in files:
        if file.as_posix() in shared or file.parent.as_posix() in (
            "instruction",
            "state",
        ):
            path = source / file
            text = guarded(file.as_posix(), path.read_text(encoding="utf-8"), numbers)
            path.write_text(text, encoding="utf-8")
    (source / "mutants.rs").write_text(MODULE, encoding="utf-8")
    root = source / "lib.rs"
    root.write_text(
        root.read_text(encoding="utf-8") + "\nmod mutants;\n", encoding="utf-8"
    )
    return crate, tuple(numbers.mutants)


def build(program: str, folder: Path, toolchain: Toolchain) -> Built:
    """Build the program of all mutants. Raises BuildError."""
    crate, mutants = write(program, folder)
    return Built(compile_crate(read_crate(crate), toolchain).so.read_bytes(), mutants)

"""Tells instructions of one name apart: the later ones get a number, if their data differ."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from mcpsol_py.errors import abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Instruction, ProgramModel

__all__ = ["tell_apart"]

_AMBIGUOUS = "another instruction has the same name and discriminator, and differs from it"


def tell_apart(model: ProgramModel) -> ProgramModel:
    """Return *model* with a name of its own for each instruction.

    A repeated instruction is left out. One with another discriminator is called `name_2`, `name_3` and so on. If the
    discriminators are equal, nobody knows which one the program means, so both are disabled.
    """
    names = names_of(model.instructions)
    if len(set(names)) == len(names):
        return model
    return _Names(model).told_apart()


class _Names:
    """Gives the instructions of a model their names, in order."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.taken = set(names_of(model.instructions))
        #: every instruction that is kept, by its name in the source
        self.kept: defaultdict[str, list[int]] = defaultdict(list)
        self.out: list[Instruction] = []
        self.findings = list(model.findings)

    def told_apart(self) -> ProgramModel:
        for place, ix in enumerate(self.model.instructions):
            self._add(ix, f"instructions[{place}].name")
        return replace(self.model, instructions=tuple(self.out), findings=tuple(self.findings))

    def _add(self, ix: Instruction, path: str) -> None:
        same = self.kept[ix.name]
        if not same:
            self._keep(ix, ix)
        elif any(_is_same(ix, self.out[index]) for index in same):
            message = f"instruction {abbr(ix.name, 60)} is listed twice, and read once"
            self.findings.append((path, "warning", message))
        else:
            self._add_second(ix, path, [i for i in same if _data_alike(self.out[i], ix)])

    def _add_second(self, ix: Instruction, path: str, twins: list[int]) -> None:
        """Add another instruction of the same name. If data cannot tell it from its *twins*, all are disabled."""
        name = self._free_name(ix.name)
        called = f"a second instruction {abbr(ix.name, 60)} is called {abbr(name, 60)} here"
        if not twins:
            self.findings.append((path, "warning", called))
            self._keep(ix, replace(ix, name=name))
            return
        self.findings.append((path, "error", f"{called}; {_AMBIGUOUS}"))
        for index in twins:
            self.out[index] = replace(self.out[index], disabled=_AMBIGUOUS)
        self._keep(ix, replace(ix, name=name, disabled=_AMBIGUOUS))

    def _keep(self, ix: Instruction, shown: Instruction) -> None:
        self.kept[ix.name].append(len(self.out))
        self.out.append(shown)

    def _free_name(self, name: str) -> str:
        number = 2
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _is_same(ix: Instruction, other: Instruction) -> bool:
    return replace(ix, name=other.name, disabled=other.disabled) == other


def _data_alike(one: Instruction, other: Instruction) -> bool:
    """Return whether data of one may as well be data of the other."""
    first, second = one.discriminator, other.discriminator
    return (first.value, first.offset, first.size, one.also) == (
        second.value,
        second.offset,
        second.size,
        other.also,
    )

"""Tells instructions of one name apart: the later ones get a number, if their data differ."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TypeAlias

from mcpsol_py.errors import abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.names import NumberedNames

__all__ = ["tell_apart"]

_AMBIGUOUS = (
    "another instruction has the same name and discriminator, and differs from it"
)


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
        self.numbered = NumberedNames(names_of(model.instructions))
        #: the names that came before
        self.seen: set[str] = set()
        #: the instructions that came before, as `_content`
        self.known: set[Instruction] = set()
        #: the places in `out` of instructions with one name that data cannot tell apart
        self.alike: defaultdict[_DataKey, list[int]] = defaultdict(list)
        self.out: list[Instruction] = []
        self.findings = list(model.findings)

    def told_apart(self) -> ProgramModel:
        for place, ix in enumerate(self.model.instructions):
            self._add(ix, f"instructions[{place}].name")
        return replace(
            self.model, instructions=tuple(self.out), findings=tuple(self.findings)
        )

    def _add(self, ix: Instruction, path: str) -> None:
        if _content(ix) in self.known:
            message = f"instruction {abbr(ix.name, 60)} is listed twice, and read once"
            self.findings.append((path, "warning", message))
            return
        self.known.add(_content(ix))
        twins = self.alike[_data_key(ix)]
        twins.append(len(self.out))
        self.out.append(self._named(ix, path, len(twins) > 1))
        if len(twins) > 1:
            for index in (twins[0], twins[-1]):
                self.out[index] = replace(self.out[index], disabled=_AMBIGUOUS)

    def _named(self, ix: Instruction, path: str, is_ambiguous: bool) -> Instruction:
        if ix.name not in self.seen:
            self.seen.add(ix.name)
            return ix
        name = self.numbered.next(ix.name)
        called = (
            f"a second instruction {abbr(ix.name, 60)} is called {abbr(name, 60)} here"
        )
        level, why = (
            ("error", f"{called}; {_AMBIGUOUS}")
            if is_ambiguous
            else ("warning", called)
        )
        self.findings.append((path, level, why))
        return replace(ix, name=name)


def _content(ix: Instruction) -> Instruction:
    """Return all of an instruction that the source wrote."""
    return replace(ix, disabled=None)


_DataKey: TypeAlias = tuple[str, bytes, int, int | None, tuple[Discriminator, ...]]


def _data_key(ix: Instruction) -> _DataKey:
    """Return its name and everything that tells its data from those of others."""
    mark = ix.discriminator
    return ix.name, mark.value, mark.offset, mark.size, ix.also

"""The program of a spec as the simulator runs it: its class, its model and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any, TypeGuard, TypeVar

from mcpsol_py.bodies.aliases import must_differ, must_differ_from_items
from mcpsol_py.bodies.tree import Bump, Function, bodies_of, find
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.program import AccountType, Instruction
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.program import Program
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec import read_spec
from mcpsol_py.sources.spec.file import import_file, only_program

__all__ = ["SpecProgram", "read_program"]

T = TypeVar("T")


class SpecProgram:
    """A program that a spec describes. Nothing in it changes, so all simulators of a class share one."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.model = read_spec(cls)
        self.program = Program(self.model)
        self.resolver = Resolver(self.model)
        self.types = Codecs(self.model)
        self.bodies: Mapping[str, Function] = bodies_of(self.model).instructions
        self.instructions: dict[str, Instruction] = {
            ix.name: ix for ix in self.model.instructions
        }
        self.states: dict[str, AccountType] = {
            state.name: state for state in self.model.accounts
        }
        #: The classes of state, structs and enums.
        self.classes = _classes_of(cls)

    @cached_property
    def different(self) -> dict[str, list[tuple[str, str]]]:
        """By instruction, the pairs of accounts that must not be the same."""
        return self._of_each(must_differ)

    @cached_property
    def no_items(self) -> dict[str, list[str]]:
        """By instruction, the accounts that must be none of those after the named ones."""
        return self._of_each(
            lambda ix, body: [one for one, _ in must_differ_from_items(ix, body)]
        )

    @cached_property
    def bumps(self) -> dict[str, set[str]]:
        """By instruction, the accounts whose bump the body reads."""
        return self._of_each(
            lambda _, body: {node.account for node in find(body.body, Bump)}
        )

    def _of_each(self, fact: Callable[[Instruction, Function], T]) -> dict[str, T]:
        return {
            name: fact(self.instructions[name], body)
            for name, body in self.bodies.items()
        }


def read_program(spec: type | str | PathLike[str]) -> SpecProgram:
    """Return the program of a spec: its class, or the path of its file. Raises SourceError, InvalidProgram.

    A file is read anew each time.
    """
    if isinstance(spec, type):
        return _of_class(spec)
    return _of_class(only_program(import_file(Path(spec)), None))


@lru_cache(maxsize=64)
def _of_class(cls: type) -> SpecProgram:
    return SpecProgram(cls)


def _classes_of(program: type) -> dict[str, Any]:
    """Return the classes of state, structs and enums by name: those in the program class and in its module."""
    methods = [
        value for value in vars(program).values() if isinstance(value, FunctionType)
    ]
    seen = [
        *vars(program).values(),
        *(methods[0].__globals__.values() if methods else ()),
    ]
    classes = filter(_is_declared, seen)
    return {cls.__name__: cls for cls in classes}


def _is_declared(value: object) -> TypeGuard[type[words.Struct | words.Enum]]:
    return isinstance(value, type) and issubclass(value, (words.Struct, words.Enum))

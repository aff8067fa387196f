"""The program class of a spec: errors, constants, events, state and instructions.

Mistakes are SourceErrors: `origin` is "file:line" and `path` the place in the spec
("Counter.increment.counter"). If a spec has several mistakes, one InvalidProgram reports them all.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TypeGuard, TypeVar

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    Constant,
    ErrorCode,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    Array,
    Int,
    Type,
)
from mcpsol_py.names import snake
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.execution import check_may_run
from mcpsol_py.sources.spec.bodies import read_bodies
from mcpsol_py.sources.spec.checks import check_program
from mcpsol_py.sources.spec.definitions import Definitions, discriminator_of
from mcpsol_py.sources.spec.docstrings import docs_of
from mcpsol_py.sources.spec.file import import_errors, import_file, only_program
from mcpsol_py.sources.spec.instruction import SpecInstructionReader
from mcpsol_py.sources.spec.lines import Problems, SpecLines
from mcpsol_py.sources.spec.parameters import check_address

__all__ = ["read_spec"]

T = TypeVar("T")

#: What a class holds under the name of a method.
_METHODS = (types.FunctionType, staticmethod, classmethod, property)

#: Anchor numbers a program's own errors from here.
_FIRST_ERROR = 6000
_MAX_ERROR = 2**32 - 1


def read_spec(source: str | PathLike[str] | types.ModuleType | type) -> ProgramModel:
    """Read the program that *source* describes.

    *source* is a .py file, "package.module", "package.module:Class", a module, or the class itself.

    Raises SourceError for one mistake or if the module cannot be imported, InvalidProgram for
    several mistakes.
    """
    if isinstance(source, type):
        if "mcpsol_program" not in vars(source):
            raise SourceError(
                f"class {source.__name__} is not a program: put @program(name=…) above it.",
                origin=source.__module__,
            )
        return SpecProgramReader(source).read()
    if isinstance(source, types.ModuleType):
        return SpecProgramReader(only_program(source, None)).read()
    text = str(source)
    if text.endswith(".py"):
        return SpecProgramReader(
            only_program(import_file(Path(text)), None), text
        ).read()
    name, _, wanted = text.partition(":")
    check_may_run(text)
    with import_errors(text):
        module = importlib.import_module(name)
    return SpecProgramReader(only_program(module, wanted or None)).read()


class SpecProgramReader:
    """Reads one program class."""

    def __init__(self, cls: type, file: str | None = None) -> None:
        self.cls = cls
        self.name = cls.__name__
        self.options: words.ProgramOptions = vars(cls)["mcpsol_program"]
        self.lines = SpecLines(cls, file)
        self.problems = Problems(self.lines)
        self.definitions = Definitions(cls, self.problems)

    def read(self) -> ProgramModel:
        if self.options.address is not None:
            with self.problems.at(self.name):
                check_address(self.options.address)
        self._check_methods()
        errors = self._errors()
        constants = self._constants()
        events = self._events()
        self._read_types()
        instructions = self._instructions()
        self._check_repeated_names()
        model = ProgramModel(
            name=self.options.name or snake(self.name),
            instructions=instructions,
            accounts=self.definitions.states(),
            events=events,
            errors=errors,
            types=self.definitions.type_defs(),
            constants=constants,
            address=self.options.address,
            version=self.options.version,
            docs=docs_of(self.cls).text,
            origin=self.lines.file,
            dialect="spec",
            origins=self._origins(),
        )
        if not instructions and not self.problems.found:
            message = "the program has no instruction: put @instruction above a method."
            self.problems.add(self.name, message)
        check_program(model, self.name, self.problems)
        self.problems.raise_if_any()
        bodies = read_bodies(model, self.definitions, self._methods())
        self.problems.raise_if_any()
        return replace(model, bodies=bodies)

    def _origins(self) -> dict[str, str]:
        """Return "file:line" of each part of the model, by its name in the model."""
        parts = {
            f"types.{path.rpartition('.')[2]}": path
            for path in self.definitions.class_names()
        }
        parts |= {
            f"instructions.{name}": path for name, path in self._instruction_paths()
        }
        for section, kind in (("errors", words.error), ("constants", words.constant)):
            names = self._members_of(kind)
            parts |= {f"{section}.{name}": f"{self.name}.{name}" for name in names}
        return {
            f"{part}{rest}": line
            for part, path in parts.items()
            for rest, line in self.lines.below(path).items()
        }

    def _instruction_paths(self) -> Iterator[tuple[str, str]]:
        """Yield each instruction's name and its path in the spec."""
        for attribute, value in self._members_of(types.FunctionType).items():
            if _is_instruction(value):
                options = vars(value)["mcpsol_instruction"]
                yield options.name or attribute, f"{self.name}.{attribute}"

    def _methods(self) -> dict[str, types.FunctionType]:
        """Return the methods of the instructions by the instruction's name."""
        functions = self._members_of(types.FunctionType).items()
        return {
            vars(function)["mcpsol_instruction"].name or name: function
            for name, function in functions
            if _is_instruction(function)
        }

    def _check_repeated_names(self) -> None:
        """Report names that the program or one of its types gives twice."""
        classes = {self.name, *self.definitions.class_names()}
        for path, line in self.lines.repeated:
            if path.rpartition(".")[0] in classes:
                message = f"the name is given twice, first on line {line}: rename one of the two."
                self.problems.add(path, message)

    def _check_methods(self) -> None:
        """Report methods that would be left out without a word."""
        for name, value in vars(self.cls).items():
            if (
                isinstance(value, _METHODS)
                and not _is_instruction(value)
                and name[:1] != "_"
            ):
                message = "the method has no @instruction: put it above, or start the name with _."
                self.problems.add(f"{self.name}.{name}", message)
        for base in self.cls.__mro__[1:]:
            inherited = [
                name for name, value in vars(base).items() if _is_instruction(value)
            ]
            for name in inherited:
                message = f"{base.__name__}.{name} is inherited, and left out: write it in the class itself."
                self.problems.add(self.name, message)

    def _members_of(self, kind: type[T]) -> dict[str, T]:
        """Return the attributes of the program class that are instances of *kind*."""
        return {
            name: value
            for name, value in vars(self.cls).items()
            if isinstance(value, kind)
        }

    # --- errors and constants

    def _errors(self) -> tuple[ErrorCode, ...]:
        out: list[ErrorCode] = []
        code = _FIRST_ERROR
        for name, value in self._members_of(words.error).items():
            if value.code is not None:
                code = value.code
            if not 0 <= code <= _MAX_ERROR:
                message = f"expected an error code from 0 to {_MAX_ERROR}, got {code}."
                self.problems.add(f"{self.name}.{name}", message)
            out.append(ErrorCode(code, name, value.message))
            code += 1
        return tuple(out)

    def _error_name(self, value: words.error, path: str) -> str:
        """Return the attribute of the program class that holds *value*."""
        errors = self._members_of(words.error)
        same = [name for name, v in errors.items() if v is value]
        # typing caches `Mut[...]` of equal parts, so a file that is read again gets the errors of
        # the first reading.
        equal = [name for name, v in errors.items() if v == value]
        if len(equal) == 1:
            return equal[0]
        if same:
            return same[-1]
        message = f"the error {abbr(value.message)} is not an attribute of {self.name}."
        self.problems.add(path, message)
        return ""

    def _constants(self) -> tuple[Constant, ...]:
        out: list[Constant] = []
        for name, value in self._members_of(words.constant).items():
            with self.problems.at(f"{self.name}.{name}"):
                kind = self.definitions.read_type(value.type)
                docs = (value.docs,) if value.docs else ()
                out.append(Constant(name, kind, _literal(value.value, kind), docs))
        return tuple(out)

    # --- types and events

    def _events(self) -> tuple[Event, ...]:
        out: list[Event] = []
        for value in self._members_of(type).values():
            if not issubclass(value, words.Event):
                continue
            with self.problems.at(value.__qualname__):
                link = self.definitions.link(value)
                given = value.mcpsol_discriminator
                discriminator = discriminator_of(given, "event", value.__name__)
                out.append(
                    Event(value.__name__, discriminator, link, docs_of(value).text)
                )
        return tuple(out)

    def _read_types(self) -> None:
        """Read every state, struct and enum in the class: all of them are part of the program."""
        for value in self._members_of(type).values():
            if not _is_type(value):
                continue
            is_state = issubclass(value, words.Account)
            with self.problems.at(f"{self.name}.{value.__name__}"):
                self.definitions.state(value) if is_state else self.definitions.link(
                    value
                )

    # --- instructions

    def _instructions(self) -> tuple[Instruction, ...]:
        out: list[Instruction] = []
        for attribute, value in self._members_of(types.FunctionType).items():
            if not _is_instruction(value):
                continue
            with self.problems.at(f"{self.name}.{attribute}"):
                reader = SpecInstructionReader(
                    self.definitions, attribute, value, self.options, self._error_name
                )
                out.append(reader.read())
        return tuple(out)


def _is_type(value: type) -> bool:
    """Return whether a class is a struct, an enum or a state."""
    return issubclass(value, (words.Struct, words.Enum)) and not issubclass(
        value, words.Event
    )


def _is_instruction(value: object) -> TypeGuard[types.FunctionType]:
    if not isinstance(value, types.FunctionType):
        return False
    return isinstance(vars(value).get("mcpsol_instruction"), words.InstructionOptions)


# --- constants as Rust literals ------------------------------------------------------------------


def _literal(value: object, kind: Type) -> str:
    """Return a constant's value as a Rust literal, as Anchor's IDL writes it. Raises SourceError."""
    for write in _LITERALS:
        text = write(value, kind)
        if text is not None:
            return text
    raise SourceError(f"expected a {type_text(kind)}, got {abbr(value)}.")


def _int_literal(value: object, kind: Type) -> str | None:
    if not isinstance(kind, Int) or not _is_int(value):
        return None
    low = -(2 ** (kind.bits - 1)) if kind.signed else 0
    high = low + 2**kind.bits - 1
    if not low <= value <= high:
        raise SourceError(f"{value} does not fit {type_text(kind)} ({low} to {high}).")
    return str(int(value))


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _bool_literal(value: object, kind: Type) -> str | None:
    if kind != BOOL or not isinstance(value, bool):
        return None
    return str(value).lower()


def _string_literal(value: object, kind: Type) -> str | None:
    if kind != BORSH_STRING or not isinstance(value, str):
        return None
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _bytes_literal(value: object, kind: Type) -> str | None:
    if not isinstance(value, bytes) or kind not in (BORSH_BYTES, Array(U8, len(value))):
        return None
    return f"[{', '.join(map(str, value))}]"


def _address_literal(value: object, kind: Type) -> str | None:
    if kind != PUBKEY or not isinstance(value, str):
        return None
    return check_address(value)


_LITERALS: tuple[Callable[[object, Type], str | None], ...] = (
    _int_literal,
    _bool_literal,
    _string_literal,
    _bytes_literal,
    _address_literal,
)

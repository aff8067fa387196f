"""What tests reach: the lines of a spec's bodies that ran, and the errors that calls ended with."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from mcpsol_py.sources.spec.file import source_text

__all__ = [
    "Missed",
    "Reached",
    "follow",
    "missed",
    "note_call",
    "note_skipped",
    "recording",
]

T = TypeVar("T")


@dataclass(slots=True)
class Reached:
    """What tests reached.

    `lines`: by number, for each file. `errors` and `instructions`: by name. `calls`: how many were made in each place.
    `skipped`: what a machine left out and why, and how often.
    """

    lines: dict[str, set[int]] = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)
    calls: dict[str, int] = field(default_factory=dict)
    instructions: set[str] = field(default_factory=set)
    skipped: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return it as JSON text."""
        lines = {file: sorted(numbers) for file, numbers in self.lines.items()}
        names = {
            "errors": sorted(self.errors),
            "instructions": sorted(self.instructions),
        }
        return json.dumps(
            {"lines": lines, **names, "calls": self.calls, "skipped": self.skipped}
        )

    def add_json(self, text: str) -> None:
        """Add what another run reached."""
        document = json.loads(text)
        for file, numbers in document["lines"].items():
            self.lines.setdefault(file, set()).update(numbers)
        self.errors.update(document["errors"])
        self.instructions.update(document["instructions"])
        for mine, other in (
            (self.calls, document["calls"]),
            (self.skipped, document["skipped"]),
        ):
            for name, count in other.items():
                mine[name] = mine.get(name, 0) + count


#: What runs in this process add to, if anything; and the files whose lines are followed.
_record: Reached | None = None


class recording:
    """Records what runs within it reach, in the lines of some files: `with recording([spec]) as reached`."""

    def __init__(self, files: list[Path]) -> None:
        self.reached = Reached({str(file.resolve()): set() for file in files})

    def __enter__(self) -> Reached:
        global _record
        self.before, _record = _record, self.reached
        return self.reached

    def __exit__(self, *_: object) -> None:
        global _record
        _record = self.before


def note_call(place: str, error: str, instruction: str) -> None:
    """Note that an instruction was called in a place ("simulator", "svm"), and the error that the call ended with."""
    if _record is not None:
        _record.calls[place] = _record.calls.get(place, 0) + 1
        _record.errors.add(error)
        _record.instructions.add(instruction)


def note_skipped(what: str) -> None:
    """Note that a machine left something out: an instruction, and why."""
    if _record is not None:
        _record.skipped[what] = _record.skipped.get(what, 0) + 1


def follow(function: Callable[..., T], arguments: Mapping[str, Any]) -> T:
    """Call *function*, and note the lines that it runs. Without a record it is only called."""
    if _record is None:
        return function(**arguments)
    before = sys.gettrace()
    sys.settrace(_enter)
    try:
        return function(**arguments)
    finally:
        sys.settrace(before)


def _enter(frame: FrameType, _event: str, _value: object) -> Any:
    """Follow the lines of a function, if its file is recorded."""
    lines = None if _record is None else _record.lines.get(frame.f_code.co_filename)
    if lines is None:
        return None

    def line(frame: FrameType, _event: str, _value: object) -> Any:
        lines.add(frame.f_lineno)
        return line

    return line


# --- what was not reached --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Missed:
    """A line of a body that never ran: its instruction or helper, its number and its text."""

    function: str
    line: int
    text: str


def missed(spec: Path, reached: Reached) -> tuple[list[Missed], int]:
    """Return the statements of a spec's bodies that never ran, and how many there are in all."""
    text = source_text(spec)
    ran = reached.lines.get(str(spec.resolve()), set())
    lines = text.split("\n")
    found = [
        (function, node)
        for function in _functions(ast.parse(text))
        for node in _statements(function.body)
    ]
    left = [
        Missed(function.name, node.lineno, lines[node.lineno - 1].strip())
        for function, node in found
        if ran.isdisjoint(_own_lines(node))
    ]
    return left, len(found)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the helpers of the module, and the methods of its classes that are instructions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            yield from filter(_is_instruction, methods)


def _is_instruction(node: ast.FunctionDef) -> bool:
    """Is this a method with the decorator `instruction`?"""
    names = (
        n.id
        for d in node.decorator_list
        for n in ast.walk(d)
        if isinstance(n, ast.Name)
    )
    return "instruction" in names


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield every statement of a body, without its docstring and without `...` and `pass`."""
    for node in body:
        if isinstance(node, ast.Pass) or _is_text(node):
            continue
        yield node
        for inner in _blocks(node):
            yield from _statements(inner)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks within a statement: of if and else, of a loop, of the cases of match."""
    for name in ("body", "orelse"):
        yield getattr(node, name, [])
    for case in getattr(node, "cases", []):
        yield case.body


def _own_lines(node: ast.stmt) -> range:
    """Return the lines of a statement, without the blocks within it."""
    first = next((block[0].lineno for block in _blocks(node) if block), None)
    end = node.end_lineno or node.lineno
    return range(
        node.lineno, (end if first is None else max(first - 1, node.lineno)) + 1
    )

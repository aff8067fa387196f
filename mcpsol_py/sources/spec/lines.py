"""The line of each part of a spec, and the problems found in it."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mcpsol_py.errors import InvalidProgram, SourceError
from mcpsol_py.sources.spec.file import source_text

__all__ = ["Problems", "SpecLines"]

T = TypeVar("T")


class SpecLines:
    """Line numbers of classes, attributes, functions and parameters by dotted path, from the syntax
    tree.

    `file` is the file's name in messages: as the reader was given it, or else its path.
    """

    def __init__(self, cls: type, named: str | None = None) -> None:
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None) or _code_file(cls) or cls.__module__
        self.file = named or file
        self.at: dict[str, int] = {}
        #: the file's text, "" if it cannot be read
        self.text = ""
        #: every function of the file, by its name and the line on which it starts
        self.functions: dict[tuple[str, int], ast.FunctionDef] = {}
        #: names that are given twice, with the earlier line: Python keeps only the last
        self.repeated: list[tuple[str, int]] = []
        try:
            self.text = source_text(Path(file))
            tree = ast.parse(self.text)
        except (OSError, SyntaxError, UnicodeDecodeError):
            return
        self._walk(tree.body, "")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                first = node.decorator_list[0] if node.decorator_list else node
                self.functions[node.name, first.lineno] = node

    def function(self, function: types.FunctionType) -> ast.FunctionDef | None:
        """Return the syntax tree of a function of the file, None if it is of another file."""
        code = function.__code__
        return self.functions.get((code.co_name, code.co_firstlineno))

    def _walk(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            name = _given_name(node)
            if name is None:
                continue
            self.at[prefix + name] = node.lineno
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                self._enter(node, prefix + name)

    def _enter(self, node: ast.ClassDef | ast.FunctionDef, path: str) -> None:
        """Record the lines of the parts of a class or function."""
        if isinstance(node, ast.FunctionDef):
            self.at |= {f"{path}.{arg.arg}": arg.lineno for arg in _parameters(node)}
        else:
            self._find_repeated(node.body, path)
        self._walk(node.body, f"{path}.")

    def _find_repeated(self, body: list[ast.stmt], path: str) -> None:
        """Record the names that a class body gives twice."""
        first: dict[str, int] = {}
        for node in body:
            name = _given_name(node)
            if name is not None and first.setdefault(name, node.lineno) != node.lineno:
                self.repeated.append((f"{path}.{name}", first[name]))

    def origin(self, path: str) -> str:
        """Return "file:line" of *path*, or of the nearest part around it whose line is known."""
        while path and path not in self.at:
            path = path.rpartition(".")[0]
        line = self.at.get(path)
        return f"{self.file}:{line}" if line else self.file

    def below(self, path: str) -> dict[str, str]:
        """Return "file:line" of *path* and of its parts, by what follows *path* (".amount", or "" for itself)."""
        return {
            part[len(path) :]: f"{self.file}:{line}"
            for part, line in self.at.items()
            if part == path or part.startswith(f"{path}.")
        }


def _given_name(node: ast.stmt) -> str | None:
    """Return the name that a statement of a class body gives to something."""
    match node:
        case (
            ast.ClassDef(name=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
        ):
            return name
        case (
            ast.AnnAssign(target=ast.Name(id=name))
            | ast.Assign(targets=[ast.Name(id=name)])
        ):
            return name
    return None


def _code_file(cls: type) -> str | None:
    for value in vars(cls).values():
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename
    return None


def _parameters(node: ast.FunctionDef) -> list[ast.arg]:
    args = node.args
    rest = filter(None, (args.vararg, args.kwarg))
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


class Problems:
    """Collects the problems of a spec, so that authors see all of them at once."""

    def __init__(self, lines: SpecLines) -> None:
        self.lines = lines
        self.found: list[SourceError] = []

    def add(self, path: str, message: str) -> None:
        """Record a problem at *path*."""
        self.found.append(
            SourceError(message, origin=self.lines.origin(path), path=path)
        )

    def add_at(self, line: int, column: int, message: str) -> None:
        """Record a problem at a place in the spec's file."""
        self.found.append(
            SourceError(message, origin=f"{self.lines.file}:{line}:{column}")
        )

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Record a SourceError that is raised inside as a problem at *path*."""
        try:
            yield
        except SourceError as error:
            self._record(error, path)

    def _record(self, error: SourceError, path: str) -> None:
        error.origin = self.lines.origin(path)
        error.path = error.path or path
        self.found.append(error)

    def attempt(self, path: str, read: Callable[[], T]) -> T | None:
        """Return read(). If it raises a SourceError, record it as a problem at *path* and return
        None.
        """
        try:
            return read()
        except SourceError as error:
            self._record(error, path)
            return None

    def raise_if_any(self) -> None:
        """Raise the one problem as it is, or several as InvalidProgram."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise InvalidProgram(self.found, self.lines.file)

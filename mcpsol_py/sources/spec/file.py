"""A spec's file: importing it, and which class in it is the program."""

from __future__ import annotations

import importlib.util
import re
import sys
import tokenize
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from mcpsol_py.errors import SourceError, UnresolvedName, suggest
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.execution import check_may_run

__all__ = ["import_errors", "import_file", "only_program", "source_text"]


def import_file(path: Path) -> types.ModuleType:
    """Run *path* as a module, which is not kept in sys.modules."""
    if not path.is_file():
        raise SourceError("no such file.", origin=str(path))
    check_may_run(str(path))
    name = f"mcpsol_spec_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise SourceError("expected a Python file.", origin=str(path))
    module = importlib.util.module_from_spec(found)
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # reading a spec must not write a __pycache__ folder
    sys.modules[name] = module  # dataclasses and enums in a spec look up their module
    try:
        with import_errors(str(path)):
            found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop(name, None)
    return module


def source_text(path: Path) -> str:
    """Return the text of a Python file, in its encoding. Raises OSError, SyntaxError, UnicodeDecodeError."""
    with tokenize.open(path) as file:
        return file.read()


@contextmanager
def import_errors(origin: str) -> Iterator[None]:
    """Turn any error of importing a spec into a SourceError with the line of the spec."""
    try:
        yield
    except SyntaxError as error:
        in_spec = (
            error.filename is None or Path(error.filename).name == Path(origin).name
        )
        place = f"{origin if in_spec else error.filename}:{error.lineno}"
        raise SourceError(f"invalid Python: {error.msg}.", origin=place) from error
    except SourceError:
        raise
    except (Exception, SystemExit) as error:  # a spec may raise anything
        frame = _frame_of_spec(error, origin)
        raise SourceError(
            f"the spec raised {type(error).__name__} during its import: {error}."
            f"{_import_hint(error, frame)}",
            origin=f"{origin}{_line_of(frame, origin)}",
        ) from error


def _frame_of_spec(error: BaseException, origin: str) -> traceback.FrameSummary | None:
    """Return the innermost frame in the spec, or else in any Python file."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename.endswith(".py")
    ]
    own = [f for f in frames if Path(f.filename).name == Path(origin).name]
    return next(reversed(own or frames), None)


def _line_of(frame: traceback.FrameSummary | None, origin: str) -> str:
    if frame is None or not frame.filename.endswith(Path(origin).name):
        return ""
    return f":{frame.lineno}"


def _import_hint(error: BaseException, frame: traceback.FrameSummary | None) -> str:
    """Return what may be wrong with a name that Python did not find, or with `@program` alone."""
    if isinstance(error, TypeError) and str(error).startswith("program() takes 0"):
        return " Above the class, write @program(name=…)."
    if not isinstance(error, NameError) or not error.name:
        return ""
    if frame is not None and _defines_inner_class(frame.filename, error.name):
        return (
            " Classes inside a class do not see each other's names: move it out of the class,"
            " above it."
        )
    if error.name in words.__all__:
        return f" Write: import {error.name} from mcpsol_py.spec."
    near = suggest(error.name, words.__all__)
    return f" {near.partition('?')[0]}?" if near.startswith("Did") else ""


def _defines_inner_class(file: str, name: str) -> bool:
    """Return whether *file* has an indented class with that name."""
    try:
        text = source_text(Path(file))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return False
    return re.search(rf"^\s+class {re.escape(name)}\b", text, re.M) is not None


def only_program(module: types.ModuleType, wanted: str | None) -> type:
    """Return the program class of *module*: the one named *wanted*, or the only one that it
    defines.
    """
    classes: dict[str, type] = {
        name: value
        for name, value in vars(module).items()
        if _is_program(value, module)
    }
    origin = getattr(module, "__file__", None) or module.__name__
    if wanted is None:
        return _single(classes, origin)
    if wanted not in classes:
        raise UnresolvedName("program class", wanted, classes, origin=origin)
    return classes[wanted]


def _single(classes: dict[str, type], origin: str) -> type:
    if len(classes) == 1:
        return next(iter(classes.values()))
    listed = ", ".join(classes) or "none"
    raise SourceError(
        f"expected one class with @program, got {listed}. Name one: module:Class.",
        origin=origin,
    )


def _is_program(value: object, module: types.ModuleType) -> bool:
    if not isinstance(value, type) or "mcpsol_program" not in vars(value):
        return False
    return value.__module__ == module.__name__

"""A spec's file: importing it, which class in it is the program, the lines of its parts, and its docstrings."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from mcpsol_py.errors import SourceError, UnresolvedName, suggest
from mcpsol_py.sources import spec_words as words

__all__ = ["Docs", "Lines", "docs_of", "import_errors", "import_file", "lines_of", "only_program"]


def import_file(path: Path) -> types.ModuleType:
    """Runs *path* as a module of its own, which is not kept in sys.modules."""
    if not path.is_file():
        raise SourceError("there is no such file.", origin=str(path))
    name = f"mcpsol_spec_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise SourceError("this is no Python file.", origin=str(path))
    module = importlib.util.module_from_spec(found)
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # reading a spec leaves nothing beside it
    sys.modules[name] = module  # dataclasses and enums in a spec look their module up
    try:
        with import_errors(str(path)):
            found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop(name, None)
    return module


@contextmanager
def import_errors(origin: str) -> Iterator[None]:
    """Makes one SourceError of whatever a spec raises while it is imported, with the line of the spec that raised
    it."""
    try:
        yield
    except SyntaxError as error:
        in_spec = error.filename is None or Path(error.filename).name == Path(origin).name
        where = f"{origin if in_spec else error.filename}:{error.lineno}"
        raise SourceError(f"this is no Python: {error.msg}.", origin=where) from error
    except SourceError:
        raise
    except Exception as error:  # a spec is the user's code: it may raise anything
        frames = [
            f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(".py")
        ]
        own = [f for f in frames if Path(f.filename).name == Path(origin).name] or frames[-1:]
        line = f":{own[-1].lineno}" if own and own[-1].filename.endswith(Path(origin).name) else ""
        hint = ""
        if isinstance(error, NameError) and error.name:
            near = suggest(error.name, words.__all__)
            hint = (
                " " + near.split(" Available")[0].split(" There are")[0]
                if near.startswith("Did")
                else ""
            )
            if own and _defines(own[-1].filename, error.name):
                hint = " Classes inside a class do not see each other's names: move it out of the class, above it."
        raise SourceError(
            f"the spec raised {type(error).__name__} while it was imported: {error}.{hint}",
            origin=f"{origin}{line}",
        ) from error


def _defines(file: str, name: str) -> bool:
    """Does *file* have a class of that name, indented?"""
    try:
        return (
            re.search(
                rf"^\s+class {re.escape(name)}\b", Path(file).read_text(encoding="utf-8"), re.M
            )
            is not None
        )
    except (OSError, UnicodeDecodeError):
        return False


def only_program(module: types.ModuleType, wanted: str | None) -> type:
    """The program class of *module*: the one named, or the only one that it defines."""
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and "mcpsol_program" in vars(value)
        and value.__module__ == module.__name__
    }
    origin = getattr(module, "__file__", None) or module.__name__
    if wanted is not None:
        if wanted not in classes:
            raise UnresolvedName("program class", wanted, classes, origin=origin)
        return classes[wanted]
    if len(classes) != 1:
        listed = ", ".join(classes) or "none"
        raise SourceError(
            f"a spec has one class with @program; this has {listed}. Name one: module:Class.",
            origin=origin,
        )
    return next(iter(classes.values()))


class Lines:
    """Line numbers of classes, their attributes, functions and parameters, by dotted path; from the source's syntax
    tree. `file` is the file as its reader named it."""

    def __init__(self, cls: type, named: str | None = None) -> None:
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None) or self._code_file(cls) or cls.__module__
        self.file = named or file
        self.at: dict[str, int] = {}
        try:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, UnicodeDecodeError):
            return
        self._walk(tree.body, "")

    @staticmethod
    def _code_file(cls: type) -> str | None:
        for value in vars(cls).values():
            if isinstance(value, types.FunctionType):
                return value.__code__.co_filename
        return None

    def _walk(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef():
                    self.at[prefix + node.name] = node.lineno
                    self._walk(node.body, f"{prefix}{node.name}.")
                case ast.FunctionDef():
                    self.at[prefix + node.name] = node.lineno
                    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                    for arg in [*every, *(a for a in (node.args.vararg, node.args.kwarg) if a)]:
                        self.at[f"{prefix}{node.name}.{arg.arg}"] = arg.lineno
                    self._walk(node.body, f"{prefix}{node.name}.")
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self.at[prefix + name] = node.lineno
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.at[prefix + name] = node.lineno
                case _:
                    pass

    def origin(self, path: str) -> str:
        """ "file:line" of the nearest known place around *path*."""
        while path and path not in self.at:
            path = path.rpartition(".")[0]
        line = self.at.get(path)
        return f"{self.file}:{line}" if line else self.file


@dataclass
class Docs:
    """A docstring: what it says first, and its sections."""

    text: tuple[str, ...] = ()
    when: str = ""
    #: parameter or attribute -> (unit, text)
    items: dict[str, tuple[str, str]] = field(default_factory=dict)


_ITEM_SECTIONS = ("args:", "arguments:", "accounts:", "attributes:", "fields:", "variants:")
_WHEN_SECTIONS = ("when to use:", "use when:")
_OTHER_SECTIONS = ("returns:", "raises:")


def docs_of(obj: object) -> Docs:
    """The docstring of *obj* in Google's style: free text, then "Args:", "Attributes:", "When to use:".

    An item is `name: text` or `name (unit): text`; the unit is what agents are told that the number counts
    ("lamports").
    """
    raw = obj.__doc__ if isinstance(obj, (type, types.FunctionType)) else None
    out = Docs()
    text: list[str] = []
    section = ""
    item = ""
    for line in inspect.cleandoc(raw or "").splitlines():
        bare = line.strip()
        lower = bare.lower()
        if not line.startswith(" ") and lower in (
            *_ITEM_SECTIONS,
            *_WHEN_SECTIONS,
            *_OTHER_SECTIONS,
        ):
            section, item = lower, ""
        elif bare and not line.startswith(" ") and section:
            section = ""  # free text again
            text.append(bare)
        elif section in _ITEM_SECTIONS and bare:
            head, colon, rest = bare.partition(":")
            name, _, unit = head.partition(" (")
            if colon and name.isidentifier() and (not unit or unit.endswith(")")):
                item = name
                out.items[item] = (unit.removesuffix(")"), rest.strip())
            elif item:
                unit_text, sofar = out.items[item]
                out.items[item] = (unit_text, f"{sofar} {bare}".strip())
        elif section in _WHEN_SECTIONS and bare:
            out.when = f"{out.when} {bare}".strip()
        elif not section:
            text.append(bare)
    while text and not text[-1]:
        text.pop()
    out.text = tuple(text)
    return out


def lines_of(docs: Docs, name: str) -> tuple[str, ...]:
    """What a docstring says of one parameter or attribute."""
    _, text = docs.items.get(name, ("", ""))
    return (text,) if text else ()

"""Reads a Python spec (a decorated class, its module or its file) into a program model.

The words of a spec stand in `spec_words`; authors import them from `mcpsol_py.spec`. Mistakes are SourceErrors whose
origin is "file:line" and whose path is the place in the spec ("Counter.increment.counter"); of several mistakes all
are told, in one InvalidProgram.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin

from mcpsol_py.errors import InvalidProgram, SourceError, UnresolvedName, UnsupportedType, abbr, suggest
from mcpsol_py.model.base58 import address_bytes
from mcpsol_py.model.program import (
    LIST_TOOLS,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountType,
    ArgSeed,
    Constant,
    Constraints,
    ConstSeed,
    ConstValue,
    Discriminator,
    ErrorCode,
    Init,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
    Seed,
    TokenConstraint,
    Value,
)
from mcpsol_py.model.program import Account as ModelAccount
from mcpsol_py.model.program import Event as ModelEvent
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U32,
    Array,
    Bytes,
    Default,
    Field,
    Int,
    Link,
    Map,
    Option,
    Set,
    Tuple,
    Type,
    TypeDef,
    type_text,
    vec,
)
from mcpsol_py.model.types import Enum as ModelEnum
from mcpsol_py.model.types import Struct as ModelStruct
from mcpsol_py.model.types import Variant as ModelVariant
from mcpsol_py.names import snake
from mcpsol_py.sources import spec_words as words

__all__ = ["read_spec"]

_ATA_PROGRAM = ConstValue(words.AssociatedTokenProgram.mcpsol_address)
_PLAIN: dict[object, Type] = {
    bool: BOOL,
    str: BORSH_STRING,
    bytes: BORSH_BYTES,
    words.Pubkey: PUBKEY,
    words.RemainingBytes: Bytes(),
}
_PLAIN.update({number: node for number, node in words.NUMBERS.items()})  # noqa: C416  # widens the value's type
_MAX_SEED = 32
_TOKEN_PROGRAMS = (words.TokenProgram, words.Token2022Program, words.TokenInterface)


def read_spec(source: str | PathLike[str] | types.ModuleType | type) -> ProgramModel:
    """The program that *source* describes: a .py file, "package.module" or "package.module:Class", a module, or the
    class itself.

    Raises SourceError (one mistake, or the module cannot be imported) or InvalidProgram (several).
    """
    if isinstance(source, type):
        if "mcpsol_program" not in vars(source):
            raise SourceError(
                f"class {source.__name__} is no program: put @program(name=…) above it.", origin=source.__module__
            )
        return _Reader(source).read()
    if isinstance(source, types.ModuleType):
        return _Reader(_only_program(source, None)).read()
    text = str(source)
    if text.endswith(".py"):
        return _Reader(_only_program(_import_file(Path(text)), None), text).read()
    name, _, wanted = text.partition(":")
    with _import_errors(text):
        module = importlib.import_module(name)
    return _Reader(_only_program(module, wanted or None)).read()


def _import_file(path: Path) -> types.ModuleType:
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
        with _import_errors(str(path)):
            found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop(name, None)
    return module


@contextmanager
def _import_errors(origin: str) -> Iterator[None]:
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
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(".py")]
        own = [f for f in frames if Path(f.filename).name == Path(origin).name] or frames[-1:]
        line = f":{own[-1].lineno}" if own and own[-1].filename.endswith(Path(origin).name) else ""
        hint = ""
        if isinstance(error, NameError) and error.name:
            near = suggest(error.name, words.__all__)
            hint = " " + near.split(" Available")[0].split(" There are")[0] if near.startswith("Did") else ""
            if own and _defines(own[-1].filename, error.name):
                hint = " Classes inside a class do not see each other's names: move it out of the class, above it."
        raise SourceError(
            f"the spec raised {type(error).__name__} while it was imported: {error}.{hint}", origin=f"{origin}{line}"
        ) from error


def _defines(file: str, name: str) -> bool:
    """Does *file* have a class of that name, indented?"""
    try:
        return re.search(rf"^\s+class {re.escape(name)}\b", Path(file).read_text(encoding="utf-8"), re.M) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _only_program(module: types.ModuleType, wanted: str | None) -> type:
    """The program class of *module*: the one named, or the only one that it defines."""
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and "mcpsol_program" in vars(value) and value.__module__ == module.__name__
    }
    origin = getattr(module, "__file__", None) or module.__name__
    if wanted is not None:
        if wanted not in classes:
            raise UnresolvedName("program class", wanted, classes, origin=origin)
        return classes[wanted]
    if len(classes) != 1:
        listed = ", ".join(classes) or "none"
        raise SourceError(
            f"a spec has one class with @program; this has {listed}. Name one: module:Class.", origin=origin
        )
    return next(iter(classes.values()))


# --- where things stand ----------------------------------------------------------------------------------------------


class _Lines:
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


# --- docstrings ------------------------------------------------------------------------------------------------------


@dataclass
class _Docs:
    """A docstring: what it says first, and its sections."""

    text: tuple[str, ...] = ()
    when: str = ""
    #: parameter or attribute -> (unit, text)
    items: dict[str, tuple[str, str]] = field(default_factory=dict)


_ITEM_SECTIONS = ("args:", "arguments:", "accounts:", "attributes:", "fields:", "variants:")
_WHEN_SECTIONS = ("when to use:", "use when:")
_OTHER_SECTIONS = ("returns:", "raises:")


def _docs(obj: object) -> _Docs:
    """The docstring of *obj* in Google's style: free text, then "Args:", "Attributes:", "When to use:".

    An item is `name: text` or `name (unit): text`; the unit is what agents are told that the number counts
    ("lamports").
    """
    raw = obj.__doc__ if isinstance(obj, (type, types.FunctionType)) else None
    out = _Docs()
    text: list[str] = []
    section = ""
    item = ""
    for line in inspect.cleandoc(raw or "").splitlines():
        bare = line.strip()
        lower = bare.lower()
        if not line.startswith(" ") and lower in (*_ITEM_SECTIONS, *_WHEN_SECTIONS, *_OTHER_SECTIONS):
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


# --- reading ---------------------------------------------------------------------------------------------------------


def _derived(kind: str, name: str) -> Discriminator:
    return Discriminator(sha256(f"{kind}:{name}".encode()).digest()[:8], origin="anchor")


def _discriminator(given: bytes | None, kind: str, name: str) -> Discriminator:
    return _derived(kind, name) if given is None else Discriminator(given)


@dataclass
class _Parameter:
    """One account parameter, as annotated, before names in its constraints are looked up."""

    path: tuple[str, ...]
    base: type
    remarks: tuple[object, ...]
    optional: bool
    docs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path[-1]

    def has(self, kind: type) -> bool:
        return any(isinstance(r, kind) for r in self.remarks)

    @property
    def writable(self) -> bool:
        if issubclass(self.base, words.Payer):
            return True
        return any(isinstance(r, words.Access) and r.writable for r in self.remarks)

    @property
    def signs(self) -> bool:
        return issubclass(self.base, words.Signer) or words.signer in self.remarks


class _Reader:
    """Reads one program class."""

    def __init__(self, cls: type, file: str | None = None) -> None:
        self.cls = cls
        self.options: words.ProgramOptions = vars(cls)["mcpsol_program"]
        self.lines = _Lines(cls, file)
        self.problems: list[SourceError] = []
        self.types: dict[str, tuple[type, TypeDef | None]] = {}
        self.states: dict[type, AccountType] = {}
        self.error_names = {id(v): n for n, v in vars(cls).items() if isinstance(v, words.error)}

    # problems

    def problem(self, path: str, message: str) -> None:
        """Remembers that something at *path* is wrong."""
        self.problems.append(SourceError(message, origin=self.lines.origin(path), path=path))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """What raises a SourceError inside is a problem at *path*."""
        try:
            yield
        except SourceError as error:
            error.origin = self.lines.origin(path)
            error.path = error.path or path
            self.problems.append(error)

    # the whole

    def read(self) -> ProgramModel:
        name = self.cls.__name__
        model_name = self.options.name or snake(name)
        if self.options.address is not None:
            self.check_address(name, self.options.address)
        members = list(vars(self.cls).items())
        errors = self.read_errors(members)
        constants = self.read_constants(members)
        events = [
            event
            for _, v in members
            if isinstance(v, type) and issubclass(v, words.Event)
            for event in self.read_event(v)
        ]
        for _, value in members:  # every state, struct and enum that stands in the class is part of the program
            if isinstance(value, type) and issubclass(value, words.Account):
                with self.at(f"{name}.{value.__name__}"):
                    self.state(value)
            elif _is_type(value):
                with self.at(f"{name}.{value.__name__}"):
                    self.link(value)
        instructions: list[Instruction] = []
        for attribute, value in members:
            options = getattr(value, "mcpsol_instruction", None)
            if isinstance(value, types.FunctionType) and isinstance(options, words.InstructionOptions):
                with self.at(f"{name}.{attribute}"):
                    instructions.append(_InstructionReader(self, attribute, value, options).read())
        model = ProgramModel(
            name=model_name,
            instructions=tuple(instructions),
            accounts=tuple(self.states.values()),
            events=tuple(events),
            errors=errors,
            types=tuple(d for _, d in self.types.values() if d is not None),
            constants=constants,
            address=self.options.address,
            version=self.options.version,
            docs=_docs(self.cls).text,
            origin=self.lines.file,
            dialect="spec",
        )
        if not instructions and not self.problems:
            self.problem(name, "the program has no instruction: put @instruction above a method.")
        self.check_whole(model)
        if len(self.problems) == 1:
            raise self.problems[0]
        if self.problems:
            raise InvalidProgram(self.problems, self.lines.file)
        return model

    def check_address(self, path: str, text: str) -> None:
        try:
            address_bytes(text)
        except ValueError as error:
            self.problem(path, f"{abbr(text)} is no address: {error}.")

    def check_whole(self, model: ProgramModel) -> None:
        """What can only be seen with everything read: names and discriminators that clash, sizes that are not known."""
        name = self.cls.__name__
        taken: dict[bytes, str] = {}
        for ix in model.instructions:
            path = f"{name}.{ix.name}"
            value = ix.discriminator.value
            if not value:
                self.problem(path, "an instruction needs a discriminator of at least one byte.")
                continue
            if value == LIST_TOOLS or LIST_TOOLS.startswith(value):
                self.problem(path, f"the discriminator 0x{value.hex()} is taken by list_tools. Give another one.")
            for other, owner in taken.items():
                if value.startswith(other) or other.startswith(value):
                    clash = f"the discriminator 0x{value.hex()} cannot be told from {owner}'s 0x{other.hex()}."
                    self.problem(path, clash)
            taken[value] = ix.name
        seen: dict[str, str] = {}
        for ix in model.instructions:
            other_name = seen.setdefault(snake(ix.name), ix.name)
            if other_name != ix.name or [i.name for i in model.instructions].count(ix.name) > 1:
                self.problem(f"{name}.{ix.name}", f"two instructions would be named {snake(ix.name)!r}.")
        codes: dict[int, str] = {}
        for e in model.errors:
            if e.code in codes:
                self.problem(f"{name}.{e.name}", f"code {e.code} is {codes[e.code]}'s already.")
            codes[e.code] = e.name
        resolver = Resolver(model)
        for state in model.accounts:
            if isinstance(state.type, Link) and resolver.endless(state.type):
                why = "it holds itself without end. Put the inner one into an option or a list."
                self.problem(f"{name}.{state.name}", why)

    # errors and constants

    def read_errors(self, members: list[tuple[str, object]]) -> tuple[ErrorCode, ...]:
        out: list[ErrorCode] = []
        code = 6000
        for name, value in members:
            if not isinstance(value, words.error):
                continue
            code = value.code if value.code is not None else code
            if not 0 <= code < 2**32:
                self.problem(f"{self.cls.__name__}.{name}", f"an error's code is 0 to 4294967295, not {code}.")
            out.append(ErrorCode(code, name, value.message))
            code += 1
        return tuple(out)

    def error_name(self, value: words.error, path: str) -> str:
        name = self.error_names.get(id(value))
        if name is None:
            # typing keeps `Mut[...]` of equal parts: when the file is read again, it hands out the first reading's
            equal = [n for n, v in vars(self.cls).items() if isinstance(v, words.error) and v == value]
            name = equal[0] if len(equal) == 1 else None
        if name is None:
            self.problem(path, f"the error {abbr(value.message)} is no attribute of {self.cls.__name__}.")
            return ""
        return name

    def read_constants(self, members: list[tuple[str, object]]) -> tuple[Constant, ...]:
        out: list[Constant] = []
        for name, value in members:
            if not isinstance(value, words.constant):
                continue
            path = f"{self.cls.__name__}.{name}"
            with self.at(path):
                kind = self.read_type(value.type)
                out.append(Constant(name, kind, _literal(value.value, kind), (value.docs,) if value.docs else ()))
        return tuple(out)

    # types

    def read_type(self, annotation: object) -> Type:
        """The model's type for an annotation. Raises SourceError (without a place) or UnsupportedType."""
        plain = _PLAIN.get(annotation) if isinstance(annotation, type) else None
        if plain is not None:
            return plain
        if isinstance(annotation, type) and issubclass(annotation, (words.Struct, words.Enum)):
            return self.link(annotation)
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            item, remarks = args[0], args[1:]
            length = next((r for r in remarks if isinstance(r, words.Length)), None)
            if length is None:
                return self.read_type(item)
            if type(length.count) is not int or not 0 <= length.count < 2**32:
                raise UnsupportedType(
                    f"Array takes a type and a number of items, as in Array[u8, 32], not {abbr(length.count)}.",
                    found=abbr(annotation),
                )
            return Array(self.read_type(item), length.count)
        if origin in (Union, types.UnionType):
            given = [a for a in args if a is not type(None)]
            if len(given) == 1 and len(args) == 2:
                return Option(self.read_type(given[0]))
            raise UnsupportedType(
                "a union is no type here; use an Enum with a variant for each.", found=abbr(annotation)
            )
        if origin is list:
            return vec(self.read_type(args[0]))
        if origin in (set, frozenset):
            return Set(self.read_type(args[0]), U32)
        if origin is dict:
            return Map(self.read_type(args[0]), self.read_type(args[1]), U32)
        if origin is tuple and args and Ellipsis not in args:
            return Tuple(tuple(self.read_type(a) for a in args))
        if origin is words.COption:
            return Option(self.read_type(args[0]), U32, fixed=True)
        hint = {
            int: "int has no width: use u8, u16, u32, u64, u128, u256 or an i of these.",
            float: "float has no width: use f32 or f64.",
            list: "say of what: list[u64].",
            tuple: "say of what: tuple[u64, Pubkey].",
        }.get(annotation if isinstance(annotation, type) else object)
        shown = annotation.__name__ if isinstance(annotation, type) else abbr(annotation)
        raise UnsupportedType(
            hint
            or f"{shown} is no type of a spec. There are u8 to u256, i8 to i256, f32, f64, bool, str, bytes, Pubkey, "
            "list[…], Array[…, n], tuple[…], dict[…], set[…], … | None, COption[…], your own Struct and Enum classes.",
            found=shown,
        )

    def hints(self, obj: object) -> dict[str, Any]:
        """The annotations of a class or function, evaluated with the names that its own module and the program class
        see."""
        scope: dict[str, Any] = {}
        module = sys.modules.get(self.cls.__module__)
        for value in vars(self.cls).values():
            if isinstance(value, types.FunctionType):
                scope |= value.__globals__
                break
        if module is not None:
            scope |= vars(module)
        scope |= {k: v for k, v in vars(self.cls).items() if not isinstance(v, types.FunctionType)}
        if isinstance(obj, type):
            scope |= {k: v for k, v in vars(obj).items() if isinstance(v, type)}
        annotations: dict[str, Any] = dict(vars(obj).get("__annotations__", {})) if isinstance(obj, type) else {}
        if isinstance(obj, types.FunctionType):
            scope = {**obj.__globals__, **scope}
            annotations = dict(obj.__annotations__)
        out: dict[str, Any] = {}
        for name, annotation in annotations.items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, scope)  # the author's own words, as typing.get_type_hints does
                except Exception as error:  # noqa: BLE001  # an annotation is the user's code: it may raise anything
                    where = obj.__qualname__ if isinstance(obj, (type, types.FunctionType)) else ""
                    self.problem(f"{where}.{name}", f"the annotation {abbr(annotation)} cannot be read: {error}.")
                    continue
            out[name] = annotation
        return out

    def link(self, cls: type) -> Link:
        """The definition of a Struct or Enum class, made when it is first met."""
        name = cls.__name__
        known = self.types.get(name)
        if known is not None:
            if known[0] is not cls:
                raise SourceError(f"two types are named {name!r}. Rename one of them.")
            return Link(name)
        self.types[name] = (cls, None)  # a recursive type finds itself
        docs = _docs(cls)
        if issubclass(cls, words.Enum):
            body: Type = self.read_enum(cls, docs)
            definition = TypeDef(name, body, docs.text, shape="enum")
        else:
            layout = getattr(cls, "mcpsol_layout", "borsh")
            if layout not in ("borsh", "c"):
                raise SourceError(f'a layout is "borsh" or "c", not {abbr(layout)}.')
            definition = TypeDef(name, ModelStruct(self.fields(cls, docs)), docs.text, layout=layout)
        self.types[name] = (cls, definition)
        return Link(name)

    def fields(self, cls: type, docs: _Docs) -> tuple[Field, ...]:
        out: list[Field] = []
        for name, annotation in self.hints(cls).items():
            path = f"{cls.__qualname__}.{name}"
            with self.at(path):
                out.append(Field(name, self.read_type(annotation), _lines_of(docs, name)))
        self.check_snake(cls.__qualname__, [f.name for f in out])
        return tuple(out)

    def check_snake(self, path: str, names: list[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(snake(name), name)
            if other != name:
                self.problem(f"{path}.{name}", f"{name!r} and {other!r} are the same name in snake_case.")

    def read_enum(self, cls: type, docs: _Docs) -> ModelEnum:
        tag = _PLAIN.get(getattr(cls, "mcpsol_tag", words.u8))
        if not isinstance(tag, Int) or tag.signed or tag.bits > 64:
            raise SourceError("an enum's tag is u8, u16, u32 or u64.")
        variants: list[ModelVariant] = []
        explicit = False
        for name, value in vars(cls).items():
            path = f"{cls.__qualname__}.{name}"
            if name.startswith(("_", "mcpsol_")):
                continue
            doc = _lines_of(docs, name)
            if type(value) is int:
                variants.append(ModelVariant(name, None, value, doc))
                explicit = True
            elif isinstance(value, words.Variant):
                payload: Type | None = None
                with self.at(path):
                    if value.items and value.fields:
                        raise SourceError("a variant has positional types or named ones, not both.")
                    if value.items:
                        payload = Tuple(tuple(self.read_type(i) for i in value.items))
                    elif value.fields:
                        payload = ModelStruct(tuple(Field(n, self.read_type(t)) for n, t in value.fields))
                variants.append(ModelVariant(name, payload, None, doc))
            else:
                self.problem(path, f"a variant is variant(…) or an int, not {abbr(value)}.")
        if explicit:  # as in Rust: one without a tag takes the number after the one before it
            following = 0
            for i, v in enumerate(variants):
                tagged = following if v.value is None else v.value
                variants[i] = ModelVariant(v.name, v.payload, tagged, v.docs)
                following = tagged + 1
        tags = [v.value if v.value is not None else i for i, v in enumerate(variants)]
        if len(set(tags)) != len(tags) or any(not 0 <= t < 2**tag.bits for t in tags):
            self.problem(cls.__qualname__, f"tags are different numbers from 0 to {2**tag.bits - 1}, not {tags}.")
        if not variants:
            self.problem(cls.__qualname__, "an enum has at least one variant.")
        return ModelEnum(tuple(variants), tag)

    def state(self, cls: type) -> AccountType:
        """The account type of an Account class."""
        known = self.states.get(cls)
        if known is None:
            link = self.link(cls)
            given = getattr(cls, "mcpsol_discriminator", None)
            discriminator = _discriminator(given, "account", cls.__name__)
            resolver = Resolver(self.types_so_far())
            size = fixed_size(resolver, link)
            whole = None if size is None else size + len(discriminator.value)
            known = AccountType(cls.__name__, discriminator, link, _docs(cls).text, whole)
            self.states[cls] = known
        return known

    def types_so_far(self) -> ProgramModel:
        return ProgramModel("", types=tuple(d for _, d in self.types.values() if d is not None))

    def read_event(self, cls: type) -> Iterator[ModelEvent]:
        path = cls.__qualname__
        with self.at(path):
            link = self.link(cls)
            given = getattr(cls, "mcpsol_discriminator", None)
            yield ModelEvent(cls.__name__, _discriminator(given, "event", cls.__name__), link, _docs(cls).text)


def _is_type(value: object) -> TypeGuard[type]:
    return (
        isinstance(value, type) and issubclass(value, (words.Struct, words.Enum)) and not issubclass(value, words.Event)
    )


def _lines_of(docs: _Docs, name: str) -> tuple[str, ...]:
    _, text = docs.items.get(name, ("", ""))
    return (text,) if text else ()


def _literal(value: object, kind: Type) -> str:
    """A constant's value as a Rust literal, as Anchor's IDL writes it. Raises SourceError."""
    match kind:
        case Int(bits, signed, _) if type(value) is int or (isinstance(value, int) and not isinstance(value, bool)):
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            if not low <= int(value) <= high:
                raise SourceError(f"{value} does not fit {type_text(kind)} ({low} to {high}).")
            return str(int(value))
        case _ if kind == BOOL and isinstance(value, bool):
            return "true" if value else "false"
        case _ if kind == BORSH_STRING and isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _ if isinstance(value, bytes) and (kind == BORSH_BYTES or kind == Array(U8, len(value))):
            return "[" + ", ".join(map(str, value)) + "]"
        case _ if kind == PUBKEY and isinstance(value, str):
            try:
                address_bytes(value)
            except ValueError as error:
                raise SourceError(f"{abbr(value)} is no address: {error}.") from error
            return value
    raise SourceError(f"{abbr(value)} is no {type_text(kind)}.")


# --- one instruction -------------------------------------------------------------------------------------------------


class _InstructionReader:
    """Reads one method: parameters in two rounds, since constraints name other parameters."""

    def __init__(
        self, program: _Reader, attribute: str, function: Callable[..., object], options: words.InstructionOptions
    ) -> None:
        self.program = program
        self.function = function
        self.options = options
        self.path = f"{program.cls.__name__}.{attribute}"
        self.name = options.name or attribute
        self.docs = _docs(function)
        self.args: list[Field] = []
        self.accounts: dict[tuple[str, ...], _Parameter] = {}
        self.order: list[tuple[str, type | None]] = []  # top-level accounts: name, and the Group class
        self.remaining: list[RemainingAccounts] = []
        self.bumps: list[tuple[str, Value]] = []  # arguments that give one

    def read(self) -> Instruction:
        hints = self.program.hints(self.function)
        parameters = list(inspect.signature(self.function).parameters.values())
        if parameters and parameters[0].name in ("self", "cls") and parameters[0].name not in hints:
            parameters = parameters[1:]
        for p in parameters:
            path = f"{self.path}.{p.name}"
            if p.kind is inspect.Parameter.VAR_KEYWORD:
                self.program.problem(path, "an instruction has no **parameters.")
            elif p.name not in hints:
                if p.annotation is inspect.Parameter.empty:
                    self.program.problem(path, "the parameter has no type. Annotate it, as in `amount: u64`.")
            else:
                with self.program.at(path):
                    self.parameter(p, hints[p.name])
        self.program.check_snake(self.path, [a.name for a in self.args])
        self.program.check_snake(self.path, [n for n, _ in self.order])
        returns = self.options.returns if self.options.returns is not None else hints.get("return")
        if returns is type(None):
            returns = None
        returned: Type | None = None
        if returns is not None:
            with self.program.at(self.path):
                returned = self.program.read_type(returns)
        for name in self.docs.items:
            known = {p.name for p in parameters} | {path[-1] for path in self.accounts}
            if name not in known:
                self.program.problem(self.path, f"the docstring describes {name!r}, which is no parameter.")
        when = self.options.when or self.docs.when
        hints_out = [("when", when)] if when else []
        hints_out += [(f"unit:{a.name}", self.docs.items[a.name][0]) for a in self.args if self.unit(a.name)]
        discriminator = _discriminator(self.options.discriminator, "global", snake(self.name))
        return Instruction(
            name=self.name,
            discriminator=discriminator,
            args=tuple(self.args),
            accounts=tuple(self.item(name, group) for name, group in self.order),
            remaining=tuple(self.remaining),
            returns=returned,
            docs=self.docs.text,
            arg_values=tuple(self.bumps),
            hints=tuple(hints_out),
        )

    def unit(self, name: str) -> str:
        return self.docs.items.get(name, ("", ""))[0]

    # parameters

    def parameter(self, p: inspect.Parameter, annotation: object) -> None:
        base, remarks, optional = _unwrap(annotation)
        is_account = isinstance(base, type) and issubclass(base, (words.Account, words.Kind, words.Group))
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            if not is_account or issubclass(base, (words.Account, words.Group)):
                raise SourceError(f"remaining accounts are Signer, Payer or Unchecked, as in `*{p.name}: Signer`.")
            found = _Parameter((p.name,), base, remarks, optional, _lines_of(self.docs, p.name))
            self.remaining.append(RemainingAccounts(p.name, found.writable, found.signs, True, found.docs))
            return
        if not is_account:
            default = None
            if p.default is not inspect.Parameter.empty:
                default = Default(_json(p.default))
            self.args.append(Field(p.name, self.program.read_type(annotation), _lines_of(self.docs, p.name), default))
            return
        if issubclass(base, words.Group):
            if remarks or optional:
                raise SourceError("a group has no constraints of its own; put them on its accounts.")
            group_docs = _docs(base)
            self.order.append((p.name, base))
            for name, inner in self.program.hints(base).items():
                with self.program.at(f"{base.__qualname__}.{name}"):
                    self.add((p.name, name), inner, _lines_of(group_docs, name))
            return
        self.add((p.name,), annotation, _lines_of(self.docs, p.name))
        self.order.append((p.name, None))

    def add(self, path: tuple[str, ...], annotation: object, docs: tuple[str, ...]) -> None:
        base, remarks, optional = _unwrap(annotation)
        if not (isinstance(base, type) and issubclass(base, (words.Account, words.Kind))):
            raise SourceError(f"{abbr(annotation)} is no account: use an Account class, Signer, Wallet, Unchecked, ….")
        if base in (words.Account, words.Kind, words.Sysvar):
            raise SourceError(f"{base.__name__} is no account by itself: name one of its classes.")
        kept: list[object] = []
        for remark in remarks:
            if remark is Ellipsis:
                continue
            if not isinstance(remark, (words.Constraint, words.Access)):
                shown = f"{remark.__name__} without ()" if isinstance(remark, type) else abbr(remark)
                raise SourceError(f"{shown} is no constraint.")
            if any(type(remark) is type(k) and not isinstance(remark, (words.has_one, words._Flag)) for k in kept):
                raise SourceError(f"{type(remark).__name__} is given twice.")
            kept.append(remark)
        self.accounts[path] = _Parameter(path, base, tuple(kept), optional, docs)

    def item(self, name: str, group: type | None) -> AccountItem:
        if group is None:
            return self.account((name,))
        inner = tuple(self.account(path) for path in self.accounts if len(path) == 2 and path[0] == name)
        return AccountGroup(name, inner, _docs(group).text)

    # names in constraints

    def find(self, name: str, beside: tuple[str, ...]) -> tuple[str, ...] | None:
        """The path of the account called *name*: in the same group first, then at the top, or "group.account"."""
        for path in ((*beside[:-1], name), (name,), tuple(name.split("."))):
            if path in self.accounts:
                return path
        return None

    def need(self, name: object, beside: tuple[str, ...]) -> _Parameter:
        if not isinstance(name, str):
            raise SourceError(f"{abbr(name)} is no name of an account.")
        path = self.find(name, beside)
        if path is None:
            raise UnresolvedName("account", name, [".".join(p) for p in self.accounts])
        return self.accounts[path]

    def fields_of(self, cls: type) -> dict[str, Type]:
        definition = self.program.types[self.program.link(cls).name][1]
        if definition is None or not isinstance(definition.type, ModelStruct):
            return {}
        return {f.name: f.type for f in definition.type.fields}

    def field_type(self, p: _Parameter, name: str) -> Type:
        if not issubclass(p.base, words.Account):
            if issubclass(p.base, (words.TokenAccount, words.Mint)):
                raise SourceError(f"{p.name!r} is no state of this program; seeds take only its address.")
            raise SourceError(f"{p.name!r} is a {p.base.__name__}: it has no field {name!r}.")
        fields = self.fields_of(p.base)
        if name not in fields:
            raise UnresolvedName(f"field of {p.base.__name__}", name, fields)
        return fields[name]

    # one account

    def account(self, path: tuple[str, ...]) -> ModelAccount:
        p = self.accounts[path]
        found = [ModelAccount(p.name, p.writable, p.signs, p.optional, docs=p.docs)]
        with self.program.at(f"{self.path}.{'.'.join(path)}"):
            found.append(self.constrained(p))
        return found[-1]  # a problem is remembered: what is read further may find more

    def constrained(self, p: _Parameter) -> ModelAccount:
        address = getattr(p.base, "mcpsol_address", None) if issubclass(p.base, words.Kind) else None
        pda: Pda | None = None
        state = owned_by = close = payer = None
        has_one: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        made: Init | None = None
        space: int | None = None
        tokens: TokenConstraint | None = None
        is_program = issubclass(p.base, words.ProgramAccount) or words.executable in p.remarks
        signs = p.signs
        if issubclass(p.base, words.Account):
            state = self.program.state(p.base).name
        elif issubclass(p.base, words.Wallet):
            owned_by = words.SystemProgram.mcpsol_address
        elif issubclass(p.base, words.TokenAccount):
            tokens = TokenConstraint("account")
        elif issubclass(p.base, words.Mint):
            tokens = TokenConstraint("mint")

        def on_error(check: str, value: words.error | None) -> None:
            if value is not None:
                errors.append((check, self.program.error_name(value, f"{self.path}.{'.'.join(p.path)}")))

        for remark in p.remarks:
            match remark:
                case words.has_one(name, account, failure):
                    kind = self.field_type(p, name)
                    if kind != PUBKEY:
                        raise SourceError(f"has_one compares addresses; {name!r} is a {type_text(kind)}.")
                    self.need(account or name, p.path)
                    has_one.append((name, account or name))
                    on_error(f"has_one:{name}", failure)
                case words.seeds():
                    pda = self.pda(remark, p)
                    on_error("seeds", remark.error)
                case words.init(payer_name, size, if_needed):
                    made = self.init(p, payer_name, size, if_needed)
                    if not p.has(words.seeds) and not p.has(words.associated):
                        signs = True  # a new account that no seeds sign for signs for itself
                case words.close(to):
                    if state is None:
                        raise SourceError("only this program's own state can be closed.")
                    if not self.need(to, p.path).writable:
                        raise SourceError(f"{to!r} gets the lamports, so it must be Mut or Payer.")
                    close = to
                case words.realloc(new, payer_name):
                    if state is None:
                        raise SourceError("only this program's own state can be resized.")
                    if type(new) is not int or not 0 < new <= 10 * 1024 * 1024:
                        raise SourceError(f"a size is 1 to 10485760 bytes, not {abbr(new)}.")
                    self.payer(payer_name, p)
                    space, payer = new, payer_name
                case words.owner(text, failure):
                    owned_by = text
                    if self.find(text, p.path) is None:
                        self.check_address_or_name(text)
                    on_error("owner", failure)
                case words.address(text, failure):
                    if address is not None:
                        raise SourceError(f"{p.base.__name__} has its address already.")
                    try:
                        address_bytes(text)
                    except (ValueError, TypeError) as error:
                        raise SourceError(f"{abbr(text)} is no address: {error}.") from error
                    address = text
                    on_error("address", failure)
                case words.otherwise():
                    on_error("signer", remark.signer)
                    on_error("address", remark.address)
                case words.token(of, authority, program):
                    self.token_kind(p, words.TokenAccount, "token")
                    tokens = TokenConstraint("account", of, authority, None, program)
                    self.names(p, of, authority, program)
                case words.associated(of, authority, program):
                    self.token_kind(p, words.TokenAccount, "associated")
                    tokens = TokenConstraint("associated", of, authority, None, program)
                    self.names(p, of, authority, program)
                    pda = self.associated_pda(remark, p)
                case words.mint(authority, decimals, program):
                    self.token_kind(p, words.Mint, "mint")
                    if decimals is not None and not 0 <= decimals <= 255:
                        raise SourceError(f"decimals are 0 to 255, not {decimals}.")
                    tokens = TokenConstraint("mint", None, authority, decimals, program)
                    self.names(p, authority, program)
                case _:
                    pass
        if p.writable is False and (made or close or space):
            raise SourceError("what is created, closed or resized must be Mut.")
        if made and p.optional:
            raise SourceError("an account that is created cannot be optional.")
        if pda is not None and pda.bump is not None and made is not None and not pda.bump:
            pda = None
        if made is not None and tokens is not None:
            self.token_init(p, tokens)
        constraints = Constraints(
            state=state,
            owner=owned_by,
            has_one=tuple(has_one),
            init=made,
            close=close,
            realloc=space,
            realloc_payer=payer,
            token=tokens,
            executable=is_program,
            sysvar=p.base.__name__ if issubclass(p.base, words.Sysvar) else None,
            errors=tuple(errors),
            one_of=p.base.mcpsol_one_of if issubclass(p.base, words.Kind) else (),
        )
        return ModelAccount(
            name=p.name,
            writable=p.writable,
            signer=signs,
            optional=p.optional,
            address=address,
            pda=pda,
            docs=p.docs,
            constraints=constraints,  # also where the author asks for nothing more: None is "the source cannot say"
        )

    def check_address_or_name(self, text: object) -> None:
        try:
            address_bytes(str(text))
        except ValueError as error:
            names = [".".join(p) for p in self.accounts]
            message = f"{abbr(text)} is neither an account here nor an address. {suggest(str(text), names)}"
            raise SourceError(message) from error

    def names(self, p: _Parameter, *given: str | None) -> None:
        for name in given:
            if name is not None:
                self.need(name, p.path)

    @staticmethod
    def token_kind(p: _Parameter, wanted: type, word: str) -> None:
        if not issubclass(p.base, wanted):
            raise SourceError(f"{word}(…) is for a {wanted.__name__}, not for {p.base.__name__}.")

    def payer(self, name: object, p: _Parameter) -> _Parameter:
        found = self.need(name, p.path)
        if not (found.writable and found.signs):
            raise SourceError(f"{name!r} pays, so it must be a Payer (a signer that is written).")
        self.program_account(words.SystemProgram, "the system program creates and pays")
        return found

    def program_account(self, kind: type, why: str) -> _Parameter:
        for other in self.accounts.values():
            if issubclass(other.base, kind):
                return other
        name = snake(kind.__name__)
        raise SourceError(f"{why}: add the parameter `{name}: {kind.__name__}`.")

    def init(self, p: _Parameter, payer: str, space: int | None, if_needed: bool) -> Init:
        self.payer(payer, p)
        if if_needed and not self.program.options.allow_init_if_needed:
            raise SourceError(
                "if_needed=True takes an account that someone else may have made. Where the handler is safe with that, "
                "say @program(allow_init_if_needed=True)."
            )
        if issubclass(p.base, words.Account):
            size = self.program.state(p.base).size
            if space is None and size is None:
                raise SourceError(f"{p.base.__name__} has no fixed size: say init(…, space=…), discriminator included.")
            if space is not None and size is not None and space < size:
                raise SourceError(f"{p.base.__name__} takes {size} bytes, space={space} is too small.")
            if space is not None and not 0 < space <= 10 * 1024:
                raise SourceError(f"an account is created with 1 to 10240 bytes, not {space}.")
        elif not issubclass(p.base, (words.TokenAccount, words.Mint)):
            raise SourceError("init is for this program's state, a TokenAccount or a Mint.")
        elif space is not None:
            raise SourceError("token accounts and mints have their own size.")
        return Init(payer, space, if_needed)

    def token_init(self, p: _Parameter, tokens: TokenConstraint) -> None:
        self.program_account_any(_TOKEN_PROGRAMS, tokens.program)
        if tokens.kind == "associated":
            self.program_account(words.AssociatedTokenProgram, "the associated token program creates the account")
        elif tokens.kind == "account" and (tokens.mint is None or tokens.authority is None):
            raise SourceError("to create a token account say token(mint=…, authority=…).")
        elif tokens.kind == "mint" and (tokens.authority is None or tokens.decimals is None):
            raise SourceError("to create a mint say mint(authority=…, decimals=…).")

    def program_account_any(self, kinds: tuple[type, ...], named: str | None) -> None:
        if named is None and not any(issubclass(o.base, kinds) for o in self.accounts.values()):
            raise SourceError("the token program makes the account: add the parameter `token_program: TokenProgram`.")

    # seeds

    def pda(self, remark: words.seeds, p: _Parameter) -> Pda:
        if not remark.seeds:
            raise SourceError("seeds(…) needs at least one seed.")
        if len(remark.seeds) > 15:
            raise SourceError(f"an address is derived from at most 15 seeds and the bump, not {len(remark.seeds)}.")
        program: Value | None = None
        if remark.program is not None:
            self.check_address_or_name(remark.program)
            program = ConstValue(remark.program)
        return Pda(tuple(self.seed(s, p) for s in remark.seeds), program, bump=self.bump(remark.bump, p))

    def bump(self, name: str | None, p: _Parameter) -> str | None:
        """The field that keeps the bump; None where nothing does, also where an argument gives it, which is
        remembered."""
        if name is None:
            return None
        given = next((a for a in self.args if a.name == name), None)
        if given is None or (issubclass(p.base, words.Account) and name in self.fields_of(p.base)):
            kind, how = self.field_type(p, name), "kept in"
        else:
            kind, how = given.type, "given as"
            if p.has(words.init):
                raise SourceError("a new account's bump is searched: with another one it would stand elsewhere.")
            if any(name == arg for arg, _ in self.bumps):
                raise SourceError(f"{name!r} gives another account's bump already.")
            self.bumps.append((name, AccountBumpValue(p.path)))
        if kind != U8:
            raise SourceError(f"the bump is {how} a u8; {name!r} is a {type_text(kind)}.")
        return name if how == "kept in" else None

    def seed(self, value: object, p: _Parameter) -> Seed:
        if isinstance(value, words.constant):
            value = value.value
        if isinstance(value, bytes):
            if len(value) > _MAX_SEED:
                raise SourceError(f"a seed has at most {_MAX_SEED} bytes, not {len(value)}.")
            return ConstSeed(value)
        if not isinstance(value, str):
            raise SourceError(f"a seed is bytes or a name, not {abbr(value)}.")
        account = self.find(value, p.path)
        if account is not None:
            if account == p.path:
                raise SourceError("an address cannot be a seed of itself.")
            return AccountSeed(account)
        head, *rest = value.split(".")
        owner = self.find(head, p.path)
        if owner is not None and rest:
            if len(rest) > 1:
                raise SourceError(f"{value!r} goes too deep: a seed takes a field of the account's state itself.")
            kind = self.field_type(self.accounts[owner], rest[0])
            self.seedable(kind, value)
            return AccountSeed(owner, tuple(rest), self.accounts[owner].base.__name__, kind)
        for arg in self.args:
            if arg.name == head:
                kind = self.inside(arg.type, rest)
                self.seedable(kind, value)
                return ArgSeed((head, *rest), kind)
        names = [".".join(path) for path in self.accounts] + [a.name for a in self.args]
        raise UnresolvedName("account or argument", head, names)

    def inside(self, kind: Type, rest: list[str]) -> Type:
        for step in rest:
            body = self.program.types[kind.name][1] if isinstance(kind, Link) else None
            fields = {f.name: f.type for f in body.type.fields} if body and isinstance(body.type, ModelStruct) else {}
            if step not in fields:
                raise UnresolvedName("field", step, fields)
            kind = fields[step]
        return kind

    def seedable(self, kind: Type, name: str) -> None:
        size = fixed_size(Resolver(self.program.types_so_far()), kind)
        if kind in (BORSH_STRING, BORSH_BYTES) or (
            size is not None and size <= _MAX_SEED and not isinstance(kind, Link)
        ):
            return
        raise SourceError(f"{name!r} is a {type_text(kind)}; a seed is a number, an address, text or at most 32 bytes.")

    def associated_pda(self, remark: words.associated, p: _Parameter) -> Pda:
        authority = self.need(remark.authority, p.path).path
        of = self.need(remark.mint, p.path).path
        token_program: Seed | None = None
        if remark.program is not None:
            token_program = AccountSeed(self.need(remark.program, p.path).path)
        else:
            for other in self.accounts.values():
                if issubclass(other.base, _TOKEN_PROGRAMS):
                    token_program = AccountSeed(other.path)
        if token_program is None:
            token_program = ConstSeed(address_bytes(words.TokenProgram.mcpsol_address or ""))
        return Pda((AccountSeed(authority), token_program, AccountSeed(of)), _ATA_PROGRAM)


def _unwrap(annotation: object) -> tuple[Any, tuple[object, ...], bool]:
    """An account annotation taken apart: its class, its remarks, and whether it may be absent."""
    optional = False
    if get_origin(annotation) in (Union, types.UnionType):
        given = [a for a in get_args(annotation) if a is not type(None)]
        if len(given) == 1:
            optional, annotation = True, given[0]
    remarks: tuple[object, ...] = ()
    while get_origin(annotation) is Annotated:
        inner = get_args(annotation)
        if any(isinstance(r, words.Length) for r in inner[1:]):
            break
        annotation, remarks = inner[0], (*inner[1:], *remarks)
    return annotation, remarks, optional


def _json(value: object) -> object:
    """A parameter's default in the JSON form of values."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**53 else str(int(value))
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    raise SourceError(f"{abbr(value)} is no default: use a number, text, bytes, True, False or None.")

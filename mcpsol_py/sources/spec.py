"""Reads a Python spec (a decorated class, its module or its file) into a program model.

The words of a spec stand in `spec_words`; authors import them from `mcpsol_py.spec`. Mistakes are SourceErrors whose
origin is "file:line" and whose path is the place in the spec ("Counter.increment.counter"); of several mistakes all
are told, in one InvalidProgram.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin

from mcpsol_py.errors import InvalidProgram, SourceError, UnsupportedType, abbr
from mcpsol_py.model.program import (
    LIST_TOOLS,
    AccountType,
    Constant,
    ErrorCode,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.program import Event as ModelEvent
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    U32,
    Array,
    Bytes,
    Field,
    Int,
    Link,
    Map,
    Option,
    Set,
    Tuple,
    Type,
    TypeDef,
    vec,
)
from mcpsol_py.model.types import Enum as ModelEnum
from mcpsol_py.model.types import Struct as ModelStruct
from mcpsol_py.model.types import Variant as ModelVariant
from mcpsol_py.names import snake
from mcpsol_py.solana.base58 import address_bytes
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec_file import (
    Docs,
    Lines,
    docs_of,
    import_errors,
    import_file,
    lines_of,
    only_program,
)
from mcpsol_py.sources.spec_instruction import InstructionReader, discriminator_of

__all__ = ["ProgramReader", "read_spec"]

_PLAIN: dict[object, Type] = {
    bool: BOOL,
    str: BORSH_STRING,
    bytes: BORSH_BYTES,
    words.Pubkey: PUBKEY,
    words.RemainingBytes: Bytes(),
}
_PLAIN.update({number: node for number, node in words.NUMBERS.items()})  # noqa: C416  # widens the value's type


def read_spec(source: str | PathLike[str] | types.ModuleType | type) -> ProgramModel:
    """The program that *source* describes: a .py file, "package.module" or "package.module:Class", a module, or the
    class itself.

    Raises SourceError (one mistake, or the module cannot be imported) or InvalidProgram (several).
    """
    if isinstance(source, type):
        if "mcpsol_program" not in vars(source):
            raise SourceError(
                f"class {source.__name__} is no program: put @program(name=…) above it.",
                origin=source.__module__,
            )
        return ProgramReader(source).read()
    if isinstance(source, types.ModuleType):
        return ProgramReader(only_program(source, None)).read()
    text = str(source)
    if text.endswith(".py"):
        return ProgramReader(only_program(import_file(Path(text)), None), text).read()
    name, _, wanted = text.partition(":")
    with import_errors(text):
        module = importlib.import_module(name)
    return ProgramReader(only_program(module, wanted or None)).read()


class ProgramReader:
    """Reads one program class."""

    def __init__(self, cls: type, file: str | None = None) -> None:
        self.cls = cls
        self.options: words.ProgramOptions = vars(cls)["mcpsol_program"]
        self.lines = Lines(cls, file)
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
        for (
            _,
            value,
        ) in (
            members
        ):  # every state, struct and enum that stands in the class is part of the program
            if isinstance(value, type) and issubclass(value, words.Account):
                with self.at(f"{name}.{value.__name__}"):
                    self.state(value)
            elif _is_type(value):
                with self.at(f"{name}.{value.__name__}"):
                    self.link(value)
        instructions: list[Instruction] = []
        for attribute, value in members:
            options = getattr(value, "mcpsol_instruction", None)
            if isinstance(value, types.FunctionType) and isinstance(
                options, words.InstructionOptions
            ):
                with self.at(f"{name}.{attribute}"):
                    instructions.append(InstructionReader(self, attribute, value, options).read())
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
            docs=docs_of(self.cls).text,
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
                self.problem(
                    path,
                    f"the discriminator 0x{value.hex()} is taken by list_tools. Give another one.",
                )
            for other, owner in taken.items():
                if value.startswith(other) or other.startswith(value):
                    clash = f"the discriminator 0x{value.hex()} cannot be told from {owner}'s 0x{other.hex()}."
                    self.problem(path, clash)
            taken[value] = ix.name
        seen: dict[str, str] = {}
        for ix in model.instructions:
            other_name = seen.setdefault(snake(ix.name), ix.name)
            if other_name != ix.name or [i.name for i in model.instructions].count(ix.name) > 1:
                self.problem(
                    f"{name}.{ix.name}", f"two instructions would be named {snake(ix.name)!r}."
                )
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
                self.problem(
                    f"{self.cls.__name__}.{name}",
                    f"an error's code is 0 to 4294967295, not {code}.",
                )
            out.append(ErrorCode(code, name, value.message))
            code += 1
        return tuple(out)

    def error_name(self, value: words.error, path: str) -> str:
        name = self.error_names.get(id(value))
        if name is None:
            # typing keeps `Mut[...]` of equal parts: when the file is read again, it hands out the first reading's
            equal = [
                n for n, v in vars(self.cls).items() if isinstance(v, words.error) and v == value
            ]
            name = equal[0] if len(equal) == 1 else None
        if name is None:
            self.problem(
                path, f"the error {abbr(value.message)} is no attribute of {self.cls.__name__}."
            )
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
                out.append(
                    Constant(
                        name, kind, _literal(value.value, kind), (value.docs,) if value.docs else ()
                    )
                )
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
                "a union is no type here; use an Enum with a variant for each.",
                found=abbr(annotation),
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
        annotations: dict[str, Any] = (
            dict(vars(obj).get("__annotations__", {})) if isinstance(obj, type) else {}
        )
        if isinstance(obj, types.FunctionType):
            scope = {**obj.__globals__, **scope}
            annotations = dict(obj.__annotations__)
        out: dict[str, Any] = {}
        for name, annotation in annotations.items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(
                        annotation, scope
                    )  # the author's own words, as typing.get_type_hints does
                except Exception as error:  # noqa: BLE001  # an annotation is the user's code: it may raise anything
                    where = obj.__qualname__ if isinstance(obj, (type, types.FunctionType)) else ""
                    self.problem(
                        f"{where}.{name}",
                        f"the annotation {abbr(annotation)} cannot be read: {error}.",
                    )
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
        docs = docs_of(cls)
        if issubclass(cls, words.Enum):
            body: Type = self.read_enum(cls, docs)
            definition = TypeDef(name, body, docs.text, shape="enum")
        else:
            layout = getattr(cls, "mcpsol_layout", "borsh")
            if layout not in ("borsh", "c"):
                raise SourceError(f'a layout is "borsh" or "c", not {abbr(layout)}.')
            definition = TypeDef(
                name, ModelStruct(self.fields(cls, docs)), docs.text, layout=layout
            )
        self.types[name] = (cls, definition)
        return Link(name)

    def fields(self, cls: type, docs: Docs) -> tuple[Field, ...]:
        out: list[Field] = []
        for name, annotation in self.hints(cls).items():
            path = f"{cls.__qualname__}.{name}"
            with self.at(path):
                out.append(Field(name, self.read_type(annotation), lines_of(docs, name)))
        self.check_snake(cls.__qualname__, [f.name for f in out])
        return tuple(out)

    def check_snake(self, path: str, names: list[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(snake(name), name)
            if other != name:
                self.problem(
                    f"{path}.{name}", f"{name!r} and {other!r} are the same name in snake_case."
                )

    def read_enum(self, cls: type, docs: Docs) -> ModelEnum:
        tag = _PLAIN.get(getattr(cls, "mcpsol_tag", words.u8))
        if not isinstance(tag, Int) or tag.signed or tag.bits > 64:
            raise SourceError("an enum's tag is u8, u16, u32 or u64.")
        variants: list[ModelVariant] = []
        explicit = False
        for name, value in vars(cls).items():
            path = f"{cls.__qualname__}.{name}"
            if name.startswith(("_", "mcpsol_")):
                continue
            doc = lines_of(docs, name)
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
                        payload = ModelStruct(
                            tuple(Field(n, self.read_type(t)) for n, t in value.fields)
                        )
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
            self.problem(
                cls.__qualname__,
                f"tags are different numbers from 0 to {2**tag.bits - 1}, not {tags}.",
            )
        if not variants:
            self.problem(cls.__qualname__, "an enum has at least one variant.")
        return ModelEnum(tuple(variants), tag)

    def state(self, cls: type) -> AccountType:
        """The account type of an Account class."""
        known = self.states.get(cls)
        if known is None:
            link = self.link(cls)
            given = getattr(cls, "mcpsol_discriminator", None)
            discriminator = discriminator_of(given, "account", cls.__name__)
            resolver = Resolver(self.types_so_far())
            size = fixed_size(resolver, link)
            whole = None if size is None else size + len(discriminator.value)
            known = AccountType(cls.__name__, discriminator, link, docs_of(cls).text, whole)
            self.states[cls] = known
        return known

    def types_so_far(self) -> ProgramModel:
        return ProgramModel("", types=tuple(d for _, d in self.types.values() if d is not None))

    def read_event(self, cls: type) -> Iterator[ModelEvent]:
        path = cls.__qualname__
        with self.at(path):
            link = self.link(cls)
            given = getattr(cls, "mcpsol_discriminator", None)
            yield ModelEvent(
                cls.__name__,
                discriminator_of(given, "event", cls.__name__),
                link,
                docs_of(cls).text,
            )


def _is_type(value: object) -> TypeGuard[type]:
    return (
        isinstance(value, type)
        and issubclass(value, (words.Struct, words.Enum))
        and not issubclass(value, words.Event)
    )


def _literal(value: object, kind: Type) -> str:
    """A constant's value as a Rust literal, as Anchor's IDL writes it. Raises SourceError."""
    match kind:
        case Int(bits, signed, _) if type(value) is int or (
            isinstance(value, int) and not isinstance(value, bool)
        ):
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            if not low <= int(value) <= high:
                raise SourceError(f"{value} does not fit {type_text(kind)} ({low} to {high}).")
            return str(int(value))
        case _ if kind == BOOL and isinstance(value, bool):
            return "true" if value else "false"
        case _ if kind == BORSH_STRING and isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _ if isinstance(value, bytes) and (
            kind == BORSH_BYTES or kind == Array(U8, len(value))
        ):
            return "[" + ", ".join(map(str, value)) + "]"
        case _ if kind == PUBKEY and isinstance(value, str):
            try:
                address_bytes(value)
            except ValueError as error:
                raise SourceError(f"{abbr(value)} is no address: {error}.") from error
            return value
    raise SourceError(f"{abbr(value)} is no {type_text(kind)}.")

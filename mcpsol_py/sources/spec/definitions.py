"""Structs, enums and account state of a spec, and annotations that are written as strings."""

from __future__ import annotations

import sys
import types
from itertools import islice
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.items import names_of, types_by_name
from mcpsol_py.model.program import AccountType, Discriminator, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import (
    U8,
    U16,
    U32,
    U64,
    Enum,
    Field,
    Int,
    Link,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
)
from mcpsol_py.names import snake
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.reader import derived
from mcpsol_py.sources.spec.annotations import AnnotationReader
from mcpsol_py.sources.spec.docstrings import SpecDocs, docs_of
from mcpsol_py.sources.spec.lines import Problems

__all__ = ["Definitions", "discriminator_of"]

_TAGS: dict[object, Int] = {
    words.u8: U8,
    words.u16: U16,
    words.u32: U32,
    words.u64: U64,
}


def discriminator_of(given: bytes | None, namespace: str, name: str) -> Discriminator:
    """Return the discriminator that the author gave, or else Anchor's."""
    return derived(namespace, name) if given is None else Discriminator(given)


class Definitions:
    """The types and account types of one program class, read when they are first used."""

    def __init__(self, cls: type, problems: Problems) -> None:
        self.cls = cls
        self.problems = problems
        self._types: dict[str, tuple[type, TypeDef | None]] = {}
        self._states: dict[type, AccountType] = {}
        self._annotations = AnnotationReader(self)

    def read_type(self, annotation: object) -> Type:
        """Return the type of an annotation. Raises SourceError or UnsupportedType."""
        return self._annotations.read(annotation)

    def type_defs(self) -> tuple[TypeDef, ...]:
        """Return the definitions read so far."""
        return tuple(
            definition
            for _, definition in self._types.values()
            if definition is not None
        )

    def states(self) -> tuple[AccountType, ...]:
        """Return the account types read so far."""
        return tuple(self._states.values())

    def class_names(self) -> list[str]:
        """Return the qualified names of the classes of the types read so far."""
        return [cls.__qualname__ for cls, _ in self._types.values()]

    def resolver(self) -> Resolver:
        """Return a resolver for the definitions read so far."""
        return Resolver(ProgramModel("", types=self.type_defs()))

    # --- structs and state

    def link(self, cls: type) -> Link:
        """Return a link to the definition of a Struct or Enum class, which is read on first use."""
        name = cls.__name__
        known = self._types.get(name)
        if known is not None:
            if known[0] is not cls:
                raise SourceError(f"two types are named {name!r}. Rename one of them.")
            return Link(name)
        self._types[name] = (cls, None)  # a recursive type finds itself
        read = (
            self._enum_definition
            if issubclass(cls, words.Enum)
            else self._struct_definition
        )
        self._types[name] = (cls, read(cls, docs_of(cls)))
        return Link(name)

    def _struct_definition(self, cls: type, docs: SpecDocs) -> TypeDef:
        layout = getattr(cls, "mcpsol_layout", "borsh")
        if layout not in ("borsh", "c"):
            raise SourceError(f'a layout is "borsh" or "c", not {abbr(layout)}.')
        return TypeDef(
            cls.__name__, Struct(self._fields(cls, docs)), docs.text, layout=layout
        )

    def _fields(self, cls: type, docs: SpecDocs) -> tuple[Field, ...]:
        out: list[Field] = []
        for name, annotation in self.hints(cls).items():
            with self.problems.at(f"{cls.__qualname__}.{name}"):
                out.append(Field(name, self.read_type(annotation), docs.lines_of(name)))
        self.check_names(cls.__qualname__, names_of(out))
        return tuple(out)

    def fields_of(self, node: Type) -> dict[str, Type]:
        """Return the fields of a struct by name; other types have none."""
        definition = self._types[node.name][1] if isinstance(node, Link) else None
        if definition is None or not isinstance(definition.type, Struct):
            return {}
        return types_by_name(definition.type.fields)

    def state(self, cls: type) -> AccountType:
        """Return the account type of an Account class."""
        known = self._states.get(cls)
        if known is not None:
            return known
        link = self.link(cls)
        given = getattr(cls, "mcpsol_discriminator", None)
        discriminator = discriminator_of(given, "account", cls.__name__)
        size = fixed_size(self.resolver(), link)
        if size is not None:
            size += len(discriminator.value)
        out = AccountType(cls.__name__, discriminator, link, docs_of(cls).text, size)
        self._states[cls] = out
        return out

    # --- enums

    def _enum_definition(self, cls: type, docs: SpecDocs) -> TypeDef:
        tag = _TAGS.get(getattr(cls, "mcpsol_tag", words.u8))
        if tag is None:
            raise SourceError("an enum's tag is u8, u16, u32 or u64.")
        variants = self._variants(cls, docs)
        if any(v.value is not None for v in variants):
            variants = _with_tags(variants)
        self._check_tags(cls.__qualname__, variants, tag)
        return TypeDef(
            cls.__name__, Enum(tuple(variants), tag), docs.text, shape="enum"
        )

    def _variants(self, cls: type, docs: SpecDocs) -> list[Variant]:
        out: list[Variant] = []
        for name, value in vars(cls).items():
            if name.startswith(("_", "mcpsol_")):
                continue
            path, doc = f"{cls.__qualname__}.{name}", docs.lines_of(name)
            if type(value) is int:
                out.append(Variant(name, None, value, doc))
            elif isinstance(value, words.Variant):
                out.append(Variant(name, self._payload(value, path), None, doc))
            else:
                message = (
                    f"expected variant(…) or an int as the variant, got {abbr(value)}."
                )
                self.problems.add(path, message)
        return out

    def _payload(self, value: words.Variant, path: str) -> Type | None:
        with self.problems.at(path):
            if value.items and value.fields:
                raise SourceError(
                    "a variant has positional types or named ones, not both."
                )
            if value.items:
                return Tuple(tuple(map(self.read_type, value.items)))
            if value.fields:
                fields = [
                    Field(name, self.read_type(item)) for name, item in value.fields
                ]
                return Struct(tuple(fields))
        return None

    def _check_tags(self, path: str, variants: list[Variant], tag: Int) -> None:
        tags = Enum(tuple(variants)).tags
        highest = 2**tag.bits - 1
        valid = set(filter(range(highest + 1).__contains__, tags))
        if len(valid) != len(tags):
            message = f"expected different tags from 0 to {highest}, got {tags}."
            self.problems.add(path, message)
        if not variants:
            self.problems.add(path, "an enum has at least one variant.")

    # --- names

    def check_names(self, path: str, names: list[str]) -> None:
        """Record a problem for names that are equal in snake_case: generated code uses that form."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(snake(name), name)
            if other != name:
                message = f"{name!r} and {other!r} are the same name in snake_case."
                self.problems.add(f"{path}.{name}", message)

    def hints(self, obj: type | types.FunctionType) -> dict[str, Any]:
        """Return the annotations of a class or function.

        Those written as strings are evaluated with the names of the module and of the program
        class.
        """
        if isinstance(obj, type):
            annotations = vars(obj).get("__annotations__", {})
        else:
            annotations = obj.__annotations__
        scope = self._scope(obj)
        out: dict[str, Any] = {}
        for name, annotation in annotations.items():
            with self.problems.at(f"{obj.__qualname__}.{name}"):
                out[name] = _evaluated(annotation, scope)
        return out

    def _scope(self, obj: type | types.FunctionType) -> dict[str, Any]:
        """Return the names that the annotations of *obj* may use; later ones hide earlier ones."""
        members = vars(self.cls)
        functions = filter(_is_function, (obj, *members.values()))
        scope: dict[str, Any] = {}
        for function in islice(functions, 2):
            scope |= function.__globals__
        module = sys.modules.get(self.cls.__module__)
        if module is not None:
            scope |= vars(module)
        scope |= {name: v for name, v in members.items() if not _is_function(v)}
        if isinstance(obj, type):
            scope |= {name: v for name, v in vars(obj).items() if isinstance(v, type)}
        return scope


def _evaluated(annotation: object, scope: dict[str, Any]) -> Any:
    """Return the annotation; one written as a string is evaluated. Raises SourceError."""
    if not isinstance(annotation, str):
        return annotation
    try:
        # The author's own code, evaluated as typing.get_type_hints does.
        return eval(annotation, scope)
    except Exception as error:  # the author's code may raise anything
        message = f"cannot read the annotation {abbr(annotation)}: {error}."
        raise SourceError(message) from error


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType)


def _with_tags(variants: list[Variant]) -> list[Variant]:
    """Number the variants as Rust does: one without a tag takes the number after the one before it."""
    out: list[Variant] = []
    following = 0
    for v in variants:
        tag = following if v.value is None else v.value
        out.append(Variant(v.name, v.payload, tag, v.docs))
        following = tag + 1
    return out

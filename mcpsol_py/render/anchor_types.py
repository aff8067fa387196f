"""The types of a program as Anchor writes them: structs and enums that borsh serializes by derive."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    U8,
    U32,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    Float,
    Int,
    Link,
    Map,
    Option,
    Pubkey,
    Set,
    Struct,
    Tuple,
    Type,
    TypeDef,
)
from mcpsol_py.render.rust import IdentifierPool, Rust, code, doc
from mcpsol_py.render.rust_types import CannotRender

__all__ = ["AnchorTypes", "FieldView", "TypeView", "VariantView", "fields_of"]


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a struct: its name, its Rust type, its documentation lines."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class VariantView:
    """A variant of an enum, with its payload written out."""

    declaration: Rust
    docs: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class TypeView:
    """A struct, a tuple struct or an enum."""

    name: Rust
    docs: tuple[Rust, ...]
    is_enum: bool
    is_tuple: bool
    fields: tuple[FieldView, ...]
    variants: tuple[VariantView, ...]


class AnchorTypes:
    """Hands out the Rust type of a model type, and keeps the definitions that are needed for it.

    Only borsh has a form here, since Anchor serializes nothing else: `type` raises CannotRender for the rest.
    """

    def __init__(self, resolver: Resolver, names: IdentifierPool) -> None:
        self.resolver = resolver
        self.names = names
        #: types that are state or events: their struct stands elsewhere
        self.elsewhere: dict[Link, Rust] = {}
        #: the module where each of those structs stands
        self.modules: dict[Rust, str] = {}
        #: a type takes all bytes that are left
        self.takes_rest = False
        self._named: dict[Link | tuple[str, Type], Rust] = {}
        self._open: set[Link] = set()
        self._views: dict[Rust, TypeView | None] = {}

    def views(self) -> tuple[TypeView, ...]:
        """The types that were met, in that order."""
        return tuple(v for v in self._views.values() if v is not None)

    def type(self, node: Type, hint: str) -> str:
        """The Rust type of *node*; one that the source wrote in place is called after *hint*. Raises CannotRender."""
        match node:
            case Int(256, _, False):
                return "[u8; 32]"
            case Int(bits, signed, False):
                return f"{'i' if signed else 'u'}{bits}"
            case Amount(number, _, _) | DateTime(number):
                return self.type(number, hint)
            case Float(bits, False):
                return f"f{bits}"
            case Bool(Int(8, _, _)):
                return "bool"
            case Pubkey():
                return "Pubkey"
            case Bytes():
                self.takes_rest = True
                return "RemainingBytes"
            case _ if node == BORSH_STRING:
                return "String"
            case _ if node == BORSH_BYTES:
                return "Vec<u8>"
            case Option(item, Int(8, False, _), False):
                return f"Option<{self.type(item, hint)}>"
            case Array(item, int(count)) | Set(item, int(count)):
                return f"[{self.type(item, hint)}; {count}]"
            case Array(item, count) | Set(item, count) if count == U32:
                return f"Vec<{self.type(item, hint)}>"
            case Map(key, value, count) if count == U32:
                return f"Vec<({self.type(key, f'{hint} key')}, {self.type(value, hint)})>"
            case Tuple(items):
                inner = ", ".join(self.type(item, f"{hint} {i}") for i, item in enumerate(items))
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Struct() | Enum():
                return self._inline(node, hint)
            case Link():
                return self._link(node)
        raise CannotRender(f"{type_text(node)} is not borsh, and Anchor writes nothing else")

    def fields(self, fields: tuple[Field, ...], hint: str) -> tuple[FieldView, ...]:
        """The fields of a struct, in order. Raises CannotRender."""
        names = IdentifierPool()
        return tuple(
            FieldView(
                _plain(names, f.name), code(self.type(f.type, f"{hint} {f.name}")), doc(f.docs)
            )
            for f in fields
        )

    def body(self, node: Type) -> tuple[TypeDef | None, Type]:
        """What *node* names, with its definition. Raises CannotRender where it is unusable or not in borsh."""
        if not isinstance(node, Link):
            return None, node
        why = self.resolver.why_unusable(node)
        if why is not None:
            raise CannotRender(why)
        try:
            definition, body = self.resolver.expand(node)
        except UnresolvedName as error:
            raise CannotRender(str(error)) from error
        if definition.layout not in ("borsh", "transparent"):
            raise CannotRender(
                f"the type {definition.name} is laid out as {definition.layout!r}, and Anchor writes borsh only"
            )
        return definition, body

    def _link(self, link: Link) -> str:
        if link in self.elsewhere:
            return self.elsewhere[link]
        if link in self._named:
            return f"Box<{self._named[link]}>" if link in self._open else self._named[link]
        definition, body = self.body(link)
        assert definition is not None
        if not isinstance(body, (Struct, Enum)) and not (
            isinstance(body, Tuple) and definition.shape == "struct"
        ):
            return self.type(body, link.name)
        suffix = "".join(
            f" {a.value if isinstance(a.value, int) else type_text(a.value)}" for a in link.args
        )
        name = self.names.take(link.name.rpartition("::")[2] + suffix, "pascal")
        self._named[link] = name
        self._open.add(link)
        self._views[name] = None  # keeps its place
        self._views[name] = self._view(name, body, definition.docs)
        self._open.remove(link)
        return name

    def _inline(self, node: Struct | Enum, hint: str) -> Rust:
        key = (hint, node)
        if key not in self._named:
            name = self._named[key] = self.names.take(hint, "pascal")
            self._views[name] = None
            self._views[name] = self._view(name, node, ())
        return self._named[key]

    def _view(self, name: Rust, body: Type, docs: tuple[str, ...]) -> TypeView:
        match body:
            case Struct(fields):
                return TypeView(name, doc(docs), False, False, self.fields(fields, name), ())
            case Tuple(items):
                inner = tuple(
                    FieldView(code(""), code(self.type(t, f"{name} {i}")), ())
                    for i, t in enumerate(items)
                )
                return TypeView(name, doc(docs), False, True, inner, ())
            case Enum(variants, tag):
                if tag not in (U8, Int(8, True)) or any(
                    v.value not in (None, i) for i, v in enumerate(variants)
                ):
                    raise CannotRender(
                        f"{name} numbers its variants in another way than borsh does"
                    )
                names = IdentifierPool()
                views: list[VariantView] = []
                for v in variants:
                    own = names.take(v.name, "pascal")
                    views.append(
                        VariantView(
                            code(own + self._payload(v.payload, f"{name} {own}")), doc(v.docs)
                        )
                    )
                return TypeView(name, doc(docs), True, False, (), tuple(views))
        raise CannotRender(f"{name} is no struct and no enum")

    def _payload(self, payload: Type | None, hint: str) -> str:
        match payload:
            case None:
                return ""
            case Struct(fields):
                return (
                    " { "
                    + ", ".join(f"{f.name}: {f.type}" for f in self.fields(fields, hint))
                    + " }"
                )
            case Tuple(items):
                return (
                    "(" + ", ".join(self.type(t, f"{hint} {i}") for i, t in enumerate(items)) + ")"
                )
            case _:
                return f"({self.type(payload, hint)})"


def fields_of(fields: tuple[Field, ...]) -> dict[str, Rust]:
    """The Rust names of a struct's fields, by the source's."""
    names = IdentifierPool()
    return {f.name: _plain(names, f.name) for f in fields}


def _plain(names: IdentifierPool, name: str, style: str = "snake") -> Rust:
    """As `names.take`, and never raw: Anchor's macros make other identifiers of it."""
    taken = names.take(name, style)
    return (
        names.take(f"{taken.removeprefix('r#')} field", style) if taken.startswith("r#") else taken
    )

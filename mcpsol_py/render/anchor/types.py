"""The types of a program as Anchor writes them: structs and enums that borsh serializes by derive."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    U8,
    U32,
    Amount,
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
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
)
from mcpsol_py.model.visit import GroupVisitor, ListType
from mcpsol_py.render.anchor.names import plain_identifier
from mcpsol_py.render.rust import IdentifierPool, Rust, code, doc
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.type_traits import int_type, tuple_text, usable

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
    is_enum: bool = False
    is_tuple: bool = False
    fields: tuple[FieldView, ...] = ()
    variants: tuple[VariantView, ...] = ()


class AnchorTypes:
    """Hands out the Rust type of a model type, and keeps the definitions that it needs.

    Anchor serializes with borsh alone: `type` raises CannotRender for types that borsh does not have.
    """

    def __init__(self, resolver: Resolver, names: IdentifierPool) -> None:
        self.resolver = resolver
        self.names = names
        #: a type takes all bytes that are left
        self.takes_rest = False
        self._visitor = _RustType(self)
        #: state and events, which have their struct in another module
        self._elsewhere: dict[Link, Rust] = {}
        self._modules: dict[Rust, str] = {}
        self._named: dict[Link | tuple[str, Type], Rust] = {}
        self._open: set[Link] = set()
        self._views: dict[Rust, TypeView | None] = {}

    def views(self) -> tuple[TypeView, ...]:
        """The types that were used, in the order of their first use."""
        return tuple(view for view in self._views.values() if view is not None)

    def declare(self, name: str, kind: Type, module: str) -> Rust:
        """Take the name of an account type or event, whose struct is in *module*."""
        taken = self.names.take(name, "pascal")
        self._modules[taken] = module
        if isinstance(kind, Link):
            self._elsewhere.setdefault(kind, taken)
        return taken

    def paths(self) -> dict[str, str]:
        """The paths of the crate's own types, by their names."""
        modules = {str(view.name): "types" for view in self.views()}
        modules |= {str(name): module for name, module in self._modules.items()}
        if self.takes_rest:
            modules["RemainingBytes"] = "types"
        return {name: f"crate::{module}::{name}" for name, module in modules.items()}

    def type(self, node: Type, hint: str) -> str:
        """The Rust type of *node*. Raises CannotRender.

        A struct or enum that the source wrote in place is named after *hint*.
        """
        return self._visitor.visit(node, hint)

    def fields(self, fields: tuple[Field, ...], hint: str) -> tuple[FieldView, ...]:
        """The fields of a struct, in order. Raises CannotRender."""
        names = IdentifierPool()
        return tuple(self._field(field, names, hint) for field in fields)

    def _field(self, field: Field, names: IdentifierPool, hint: str) -> FieldView:
        name = plain_identifier(names, field.name, "field")
        return FieldView(
            name, code(self.type(field.type, f"{hint} {field.name}")), doc(field.docs)
        )

    def body(self, node: Type) -> tuple[TypeDef | None, Type]:
        """The type that *node* names, with its definition. Raises CannotRender if it is not borsh."""
        if not isinstance(node, Link):
            return None, node
        definition, body = usable(self.resolver, node)
        if definition.layout not in ("borsh", "transparent"):
            raise CannotRender(
                f"the type {definition.name} has the layout {definition.layout!r}, and Anchor only "
                "writes borsh"
            )
        return definition, body

    # --- named types --------------------------------------------------------------------------------------------------

    def of_link(self, link: Link) -> str:
        """The type that *link* names. One that contains itself is boxed. Raises CannotRender."""
        if link in self._elsewhere:
            return self._elsewhere[link]
        if link in self._named:
            name = self._named[link]
            return f"Box<{name}>" if link in self._open else name
        definition, body = self.body(link)
        assert definition is not None
        if not _has_own_struct(definition, body):
            return self.type(body, link.name)
        name = self.names.take(link.name.rpartition("::")[2] + _suffix(link), "pascal")
        self._named[link] = name
        self._open.add(link)
        self._define(name, body, definition.docs)
        self._open.remove(link)
        return name

    def inline(self, node: Struct | Enum, hint: str) -> str:
        """A type that the source wrote in place. Raises CannotRender."""
        key = (hint, node)
        if key not in self._named:
            self._named[key] = self.names.take(hint, "pascal")
            self._define(self._named[key], node, ())
        return self._named[key]

    def _define(self, name: Rust, body: Type, docs: tuple[str, ...]) -> None:
        self._views[name] = None  # keeps its place
        self._views[name] = self._view(name, body, docs)

    def _view(self, name: Rust, body: Type, docs: tuple[str, ...]) -> TypeView:
        if isinstance(body, Struct):
            return TypeView(name, doc(docs), fields=self.fields(body.fields, name))
        if isinstance(body, Tuple):
            items = self._items(body, name)
            fields = tuple(FieldView(code(""), code(item), ()) for item in items)
            return TypeView(name, doc(docs), is_tuple=True, fields=fields)
        assert isinstance(body, Enum)
        return TypeView(
            name, doc(docs), is_enum=True, variants=self._variants(body, name)
        )

    def _items(self, node: Tuple, hint: str) -> list[str]:
        return [self.type(item, f"{hint} {i}") for i, item in enumerate(node.items)]

    def _variants(self, node: Enum, enum: Rust) -> tuple[VariantView, ...]:
        if not _is_borsh_enum(node):
            raise CannotRender(f"{enum} numbers its variants differently from borsh")
        names = IdentifierPool()
        return tuple(self._variant(v, names, enum) for v in node.variants)

    def _variant(
        self, variant: Variant, names: IdentifierPool, enum: Rust
    ) -> VariantView:
        name = names.take(variant.name, "pascal")
        payload = self._payload(variant.payload, f"{enum} {name}")
        return VariantView(code(name + payload), doc(variant.docs))

    def _payload(self, payload: Type | None, hint: str) -> str:
        """The declaration of a variant behind its name."""
        if payload is None:
            return ""
        if isinstance(payload, Struct):
            fields = self.fields(payload.fields, hint)
            return f" {{ {', '.join(f'{f.name}: {f.type}' for f in fields)} }}"
        if isinstance(payload, Tuple):
            return f"({', '.join(self._items(payload, hint))})"
        return f"({self.type(payload, hint)})"

    def tuple_type(self, node: Tuple, hint: str) -> str:
        """The type of a tuple that the source wrote in place. Raises CannotRender."""
        return tuple_text(self._items(node, hint))


def _has_own_struct(definition: TypeDef, body: Type) -> bool:
    """Does the name get a struct or enum of its own? Other names are aliases."""
    if isinstance(body, Tuple):
        return definition.shape == "struct"
    return isinstance(body, (Struct, Enum))


def _suffix(link: Link) -> str:
    """The type arguments, as a part of the type's name."""
    values = (argument.value for argument in link.args)
    return "".join(f" {v if isinstance(v, int) else type_text(v)}" for v in values)


def _is_borsh_enum(node: Enum) -> bool:
    """Is the tag one byte that counts the variants from 0?"""
    if node.tag not in (U8, Int(8, True)):
        return False
    return all(v.value in (None, i) for i, v in enumerate(node.variants))


_PREFIXED = {BORSH_STRING: "String", BORSH_BYTES: "Vec<u8>"}


class _RustType(GroupVisitor[[str], str]):
    """The Rust type that borsh serializes as the model's type. The argument is the hint."""

    def __init__(self, types: AnchorTypes) -> None:
        self.types = types

    def refuse(self, node: Type, hint: str) -> str:
        raise CannotRender(
            f"{type_text(node)} is not borsh, and Anchor only writes borsh"
        )

    visit_scalar = visit_wrapper = visit_optional = refuse
    visit_generic = visit_unsupported = refuse

    def visit_int(self, node: Int, hint: str) -> str:
        return self.refuse(node, hint) if node.big_endian else int_type(node)

    def number(self, node: Amount | DateTime, hint: str) -> str:
        return self.visit(node.number, hint)

    visit_amount = visit_date_time = number

    def visit_float(self, node: Float, hint: str) -> str:
        return self.refuse(node, hint) if node.big_endian else f"f{node.bits}"

    def visit_bool(self, node: Bool, hint: str) -> str:
        return "bool" if node.size.bits == 8 else self.refuse(node, hint)

    def visit_pubkey(self, node: Pubkey, hint: str) -> str:
        return "Pubkey"

    def visit_bytes(self, node: Bytes, hint: str) -> str:
        self.types.takes_rest = True
        return "RemainingBytes"

    def visit_size_prefixed(self, node: SizePrefixed, hint: str) -> str:
        return _PREFIXED.get(node) or self.refuse(node, hint)

    def visit_option(self, node: Option, hint: str) -> str:
        if node.fixed or node.prefix.bits != 8 or node.prefix.signed:
            return self.refuse(node, hint)
        return f"Option<{self.visit(node.item, hint)}>"

    def visit_list(self, node: ListType, hint: str) -> str:
        if isinstance(node.count, int):
            return f"[{self.visit(node.item, hint)}; {node.count}]"
        if node.count != U32:
            return self.refuse(node, hint)
        return f"Vec<{self.visit(node.item, hint)}>"

    def visit_map(self, node: Map, hint: str) -> str:
        if node.count != U32:
            return self.refuse(node, hint)
        return f"Vec<({self.visit(node.key, f'{hint} key')}, {self.visit(node.value, hint)})>"

    def visit_product(self, node: Tuple | Struct, hint: str) -> str:
        if isinstance(node, Tuple):
            return self.types.tuple_type(node, hint)
        return self.types.inline(node, hint)

    def visit_enum(self, node: Enum, hint: str) -> str:
        return self.types.inline(node, hint)

    def visit_link(self, node: Link, hint: str) -> str:
        return self.types.of_link(node)


def fields_of(fields: tuple[Field, ...]) -> dict[str, Rust]:
    """The Rust names of a struct's fields, by the source's."""
    names = IdentifierPool()
    return {
        field.name: plain_identifier(names, field.name, "field") for field in fields
    }

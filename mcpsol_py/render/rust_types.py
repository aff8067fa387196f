"""Model types as Rust types, and the definitions of the structs and enums among them.

The Rust uses the rendered crate's codec.rs: `r` is its Reader, `w` its Output. Text and byte strings borrow from the
data, counted lists are Vecs, everything else is held by value. `rust_read` and `rust_write` make the code that reads
and writes values.
"""

from __future__ import annotations

from itertools import chain
from operator import attrgetter

from mcpsol_py.model import types
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    U8,
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    FixedSize,
    Float,
    Int,
    Link,
    Map,
    Offset,
    Pubkey,
    Set,
    ShortU16,
    String,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
    Variant,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
)
from mcpsol_py.render.rust import IdentifierPool, Rust, code, doc
from mcpsol_py.render.rust_read import ReadCode
from mcpsol_py.render.rust_write import WriteCode
from mcpsol_py.render.type_traits import (
    MOST_ON_STACK,
    Borrows,
    CannotRender,
    Definition,
    Owns,
    int_type,
    is_fixed_bytes,
    tuple_text,
    usable,
)
from mcpsol_py.render.type_views import (
    EnumView,
    RustField,
    StructView,
    Value,
    VariantForm,
)

__all__ = ["TAKEN", "CannotRender", "Types"]

#: Names that generated code uses otherwise: no type or account type of a source may have one.
TAKEN = (
    *("Self", "Option", "Vec", "Box", "Some", "None", "Ok", "Err", "Result"),
    *("Args", "Accounts", "Context", "Check", "Signer", "Seed"),
    *("Address", "AccountView", "ProgramResult", "ProgramError"),
    *("Reader", "Writer", "Output", "Flag"),
    *("Send", "Sync", "Copy", "Clone", "Debug", "PartialEq", "Drop", "Eq", "Ord"),
    *(
        "Fn",
        "FnMut",
        "FnOnce",
        "From",
        "Into",
        "Default",
        "Iterator",
        "String",
        "ToString",
    ),
    *(f"{kind}{bits}" for kind in "UI" for bits in (8, 16, 32, 64, 128, 256)),
    *("F32", "F64", "Bool", "Str"),
)


class Types:
    """The Rust types of a program. A type gets its name when it is first used."""

    def __init__(self, resolver: Resolver, *reserved: str) -> None:
        self.resolver = resolver
        self.names = IdentifierPool(*TAKEN, *reserved)
        self._borrows = Borrows(resolver)
        self._owns = Owns(resolver)
        self._types = _RustType(self)
        self._reads = ReadCode(self)
        self._writes = WriteCode(self)
        self._by_link: dict[Link, Definition] = {}
        self._inline: dict[tuple[str, Type], Definition] = {}
        self._order: list[Definition] = []

    # --- Rust of a type -----------------------------------------------------------------------------------------------

    def type(self, node: Type, hint: str = "Inline") -> str:
        """The Rust type of *node*, with lifetime 'a if it borrows. Raises CannotRender.

        A struct or enum that the source wrote in place is named after *hint*.
        """
        return self._types.visit(node, hint)

    def read(self, node: Type, hint: str = "Inline") -> str:
        """An expression that reads a value of *node* from `r`. Raises CannotRender."""
        return self._reads.visit(node, hint)

    def result(self, node: Type, hint: str = "Inline") -> str:
        """Like `read`, but without `?`: the last expression of a closure or function."""
        return self._reads.result(node, hint)

    def write(self, node: Type, value: Value, hint: str = "Inline") -> list[str]:
        """Statements that write *value*, of type *node*, to `w`. Raises CannotRender."""
        return self._writes.visit(node, value, hint)

    def borrows(self, node: Type) -> bool:
        """Does a value of *node* borrow from the data?"""
        return self._borrows.visit(node, frozenset())

    def exact_size(self, item: Type) -> int:
        """The bytes of *item*, for an option that reserves room for it. Raises CannotRender."""
        size = fixed_size(self.resolver, item)
        if size is None:
            raise CannotRender("an option reserves room for a type of variable size")
        return size

    # --- definitions --------------------------------------------------------------------------------------------------

    def views(self) -> tuple[StructView | EnumView, ...]:
        """The types that were used, in the order of their first use."""
        return tuple(d.view for d in self._order if d.view is not None)

    def named(self, link: Link) -> Definition | Type:
        """The definition of a struct or enum, or the type behind an alias. Raises CannotRender."""
        definition, body = usable(self.resolver, link)
        if isinstance(body, (Struct, Enum)):
            return self._define(link, definition, body)
        if isinstance(body, Tuple) and definition.shape == "struct":
            return self._define(link, definition, body)
        return body

    def inline(self, node: Struct | Enum, hint: str) -> Definition:
        """The definition of a type that the source wrote in place, named after its place."""
        key = (hint, node)
        known = self._inline.get(key)
        if known is None:
            known = self._new(self.names.take(hint, "pascal"), node, (), frozenset())
            self._inline[key] = known
            known.view = self._view(known)
        return known

    def _define(self, link: Link, definition: TypeDef, body: Type) -> Definition:
        known = self._by_link.get(link)
        if known is not None:
            if known.view is None and known not in self._order:
                raise CannotRender(f"the type {link.name} has no Rust form")
            return known
        base = link.name.rpartition("::")[2]
        suffix = "".join(self._suffix(argument.value) for argument in link.args)
        name = self.names.take(base + suffix, "pascal")
        known = self._by_link[link] = self._new(
            name, body, definition.docs, frozenset({link})
        )
        try:
            known.view = self._view(known)
        except CannotRender:
            self._order.remove(known)
            raise
        return known

    def _new(
        self, name: Rust, body: Type, docs: tuple[str, ...], seen: frozenset[Link]
    ) -> Definition:
        borrows, owns = self._borrows.visit(body, seen), self._owns.visit(body, seen)
        definition = Definition(name, body, docs, borrows=borrows, owns=owns)
        self._order.append(definition)
        return definition

    def _suffix(self, value: Type | int) -> str:
        if isinstance(value, int):
            return f"_{value}"
        if isinstance(value, Link):
            return f"_{value.name}"
        return "_" + self.type(value).replace("'a ", "")

    # --- fields and views ---------------------------------------------------------------------------------------------

    def fields(
        self, fields: tuple[Field, ...], hint: str, root: str = "self."
    ) -> tuple[RustField, ...]:
        """The fields of a struct, or the arguments of an instruction. Raises CannotRender."""
        names = IdentifierPool("r", "w")  # the Reader and the Output
        out: list[RustField] = []
        for f in fields:
            name = names.take(f.name)
            value = Value(f"{root}{name}", is_ref=not root)
            out.append(
                self._field(name, f.type, doc(f.docs), value, f"{hint} {f.name}")
            )
        return tuple(out)

    def _tuple_fields(
        self, items: tuple[Type, ...], hint: str, root: str
    ) -> tuple[RustField, ...]:
        out: list[RustField] = []
        for i, item in enumerate(items):
            name = code(f"field_{i}")
            value = (
                Value(f"{root}{i}", is_ref=False) if root else Value(name, is_ref=True)
            )
            out.append(self._field(name, item, (), value, f"{hint} {i}"))
        return tuple(out)

    def _field(
        self, name: Rust, node: Type, docs: tuple[Rust, ...], value: Value, hint: str
    ) -> RustField:
        kind, read = code(self.type(node, hint)), code(self.read(node, hint))
        return RustField(
            name, kind, docs, read, tuple(map(code, self.write(node, value, hint)))
        )

    def _view(self, definition: Definition) -> StructView | EnumView:
        body = definition.body
        if isinstance(body, Enum):
            return self._enum(definition, body)
        if isinstance(body, Tuple):
            fields = self._tuple_fields(body.items, definition.name, "self.")
            build = f"Self({_joined(fields, 'name')})"
            return self._struct(definition, fields, build, is_tuple=True)
        assert isinstance(body, Struct)
        fields = self.fields(body.fields, definition.name)
        build = f"Self {{ {_joined(fields, 'name')} }}"
        return self._struct(definition, fields, build, is_tuple=False)

    @staticmethod
    def _struct(
        definition: Definition,
        fields: tuple[RustField, ...],
        build: str,
        *,
        is_tuple: bool,
    ) -> StructView:
        return StructView(
            definition.name,
            _generics(definition),
            _derives(definition),
            doc(definition.docs),
            fields,
            is_tuple,
            tuple(field.reading for field in fields),
            _writes(fields),
            code(build),
        )

    def _enum(self, definition: Definition, body: Enum) -> EnumView:
        names = IdentifierPool("Self")
        variants: list[VariantForm] = []
        for tag, v in zip(body.tags, body.variants, strict=True):
            name = names.take(v.name, "pascal")
            variants.append(self._variant(v, name, tag, body.tag, definition.name))
        return EnumView(
            definition.name,
            _generics(definition),
            _derives(definition),
            doc(definition.docs),
            tuple(variants),
            code(self.read(body.tag, "")),
            any(not v.is_unit for v in variants),
        )

    def _variant(
        self, v: Variant, name: Rust, tag: int, tag_type: Int | ShortU16, owner: str
    ) -> VariantForm:
        bits = 16 if isinstance(tag_type, ShortU16) else tag_type.bits
        if not 0 <= tag < 2**bits:
            raise CannotRender(f"the tag {tag} of {owner} does not fit its type")
        payload = self._payload(v)
        place = f"{owner} {name}"
        if isinstance(payload, Struct):
            fields = self.fields(payload.fields, place, "")
        else:
            fields = self._tuple_fields(payload.items, place, "")
        declaration, pattern, build = _payload_text(
            fields, is_tuple=isinstance(payload, Tuple)
        )
        writes = self.write(tag_type, Value(f"{tag}_u{bits}", is_ref=False))
        writes += _writes(fields)
        return VariantForm(
            code(str(tag)),
            doc(v.docs),
            not fields,
            code(name + declaration),
            code(name + pattern),
            code(name + build),
            tuple(map(code, writes)),
        )

    def _payload(self, v: Variant) -> Struct | Tuple:
        """The fields of a variant. Any payload but a struct or tuple is a tuple's only item."""
        payload = v.payload
        if payload is None:
            return Tuple(())
        if isinstance(payload, Link) and not payload.args:
            target = self.resolver.target(payload)
            if isinstance(target, (Struct, Tuple)):
                return target
        if isinstance(payload, (Struct, Tuple)):
            return payload
        return Tuple((payload,))


def _generics(definition: Definition) -> Rust:
    return code(definition.generics)


def _derives(definition: Definition) -> Rust:
    return code(
        "Clone, Debug, PartialEq"
        if definition.owns
        else "Clone, Copy, Debug, PartialEq"
    )


def _payload_text(
    fields: tuple[RustField, ...], *, is_tuple: bool
) -> tuple[str, str, str]:
    """The text behind a variant's name: in its declaration, in a pattern, and in an expression."""
    if not fields:
        return "", "", ""
    names = _joined(fields, "name")
    if is_tuple:
        return (
            f"({_joined(fields, 'type')})",
            f"({names})",
            f"({_joined(fields, 'read')})",
        )
    declared, built = _joined(fields, "declaration"), _joined(fields, "initializer")
    return f" {{ {declared} }}", f" {{ {names} }}", f" {{ {built} }}"


def _joined(fields: tuple[RustField, ...], part: str) -> str:
    """One attribute of every field, with commas."""
    return ", ".join(map(attrgetter(part), fields))


def _writes(fields: tuple[RustField, ...]) -> tuple[Rust, ...]:
    """The statements that write all fields."""
    return tuple(chain.from_iterable(field.write for field in fields))


class _RustType(GroupVisitor[[str], str]):
    """The name of a Rust type. The argument is the hint."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def visit_scalar(self, node: ScalarType, hint: str) -> str:
        raise NotImplementedError  # each has its own method

    def visit_int(self, node: Int, hint: str) -> str:
        return int_type(node)

    def number(self, node: Amount | DateTime, hint: str) -> str:
        return self.visit(node.number, hint)

    visit_amount = visit_date_time = number

    def visit_short_u16(self, node: ShortU16, hint: str) -> str:
        return "u16"

    def visit_float(self, node: Float, hint: str) -> str:
        return f"f{node.bits}"

    def visit_bool(self, node: Bool, hint: str) -> str:
        return "bool"

    def visit_pubkey(self, node: Pubkey, hint: str) -> str:
        return "Address"

    def visit_string(self, node: String, hint: str) -> str:
        return "&'a str" if node.encoding == "utf8" else "&'a [u8]"

    def visit_bytes(self, node: Bytes, hint: str) -> str:
        return "&'a [u8]"

    def visit_wrapper(self, node: WrapperType, hint: str) -> str:
        return self.visit(node.item, hint)

    def visit_fixed_size(self, node: FixedSize, hint: str) -> str:
        return (
            f"&'a [u8; {node.size}]"
            if is_fixed_bytes(node)
            else self.visit(node.item, hint)
        )

    def visit_offset(self, node: Offset, hint: str) -> str:
        if node.strategy != "padded":
            raise CannotRender("it contains a jump to another offset")
        return self.visit(node.item, hint)

    def visit_optional(self, node: OptionalType, hint: str) -> str:
        return f"Option<{self.visit(node.item, hint)}>"

    def visit_list(self, node: Array | Set, hint: str) -> str:
        if node.item == U8:
            return (
                f"&'a [u8; {node.count}]" if isinstance(node.count, int) else "&'a [u8]"
            )
        inner = self.visit(node.item, hint)
        if isinstance(node.count, int) and node.count <= MOST_ON_STACK:
            return f"[{inner}; {node.count}]"
        return f"Vec<{inner}>"

    def visit_map(self, node: Map, hint: str) -> str:
        return f"Vec<({self.visit(node.key, hint + ' key')}, {self.visit(node.value, hint)})>"

    def visit_product(self, node: ProductType, hint: str) -> str:
        if isinstance(node, Struct):
            return self.types.inline(node, hint).type
        return tuple_text(
            [self.visit(t, f"{hint} {i}") for i, t in enumerate(node.items)]
        )

    def visit_enum(self, node: Enum, hint: str) -> str:
        return self.types.inline(node, hint).type

    def visit_link(self, node: Link, hint: str) -> str:
        found = self.types.named(node)
        if not isinstance(found, Definition):
            return self.visit(found, hint)
        return f"Box<{found.type}>" if found.view is None else found.type

    def nothing(self, node: types.Generic | Unsupported, hint: str) -> str:
        raise CannotRender(f"the type {type_text(node)} has no Rust form")

    visit_generic = visit_unsupported = nothing

"""Model types as Rust: the type's name, the expression that reads a value, the statements that write one.

The Rust stands on `codec.rs` of the rendered crate: `r` is its Reader over the bytes that are left, `w` its Output.
Text and byte strings borrow from the data; counted lists are Vecs; everything else is by value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size, least_size
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
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
    ZeroableOption,
)
from mcpsol_py.render.rust import Names, Rust, byte_array, code, doc

__all__ = [
    "TAKEN",
    "CannotRender",
    "EnumView",
    "FieldView",
    "StructView",
    "Types",
    "Val",
    "VariantView",
    "array_text",
]

#: Names that mean something else where generated code stands: no type or state of a source may be called so.
TAKEN = (
    *(
        "Self",
        "Option",
        "Vec",
        "Box",
        "Some",
        "None",
        "Ok",
        "Err",
        "Result",
        "Args",
        "Accounts",
        "Context",
        "Check",
        "Signer",
        "Seed",
    ),
    *(
        "Address",
        "AccountView",
        "ProgramResult",
        "ProgramError",
        "Reader",
        "Writer",
        "Output",
        "Flag",
        "Send",
        "Sync",
        "Copy",
        "Clone",
    ),
    *(
        "Debug",
        "PartialEq",
        "Drop",
        "Fn",
        "FnMut",
        "FnOnce",
        "From",
        "Into",
        "Default",
        "Iterator",
        "String",
        "ToString",
        "Eq",
        "Ord",
    ),
    *(f"{kind}{bits}" for kind in "UI" for bits in (8, 16, 32, 64, 128, 256)),
    *("F32", "F64", "Bool", "Str"),
)

#: Arrays of other things than bytes with more items than this are Vecs, since a stack frame holds 4,096 bytes.
_ARRAY_ON_STACK = 32


class CannotRender(Exception):
    """A type that no Rust is made for; the instruction then gets its bytes as they are. Never leaves the package."""


@dataclass(frozen=True, slots=True)
class Val:
    """A Rust expression for a value that is written: `self.amount` (a place), or `item` (a reference)."""

    text: str
    is_ref: bool

    @property
    def value(self) -> str:
        return f"*{self.text}" if self.is_ref else self.text

    @property
    def ref(self) -> str:
        return self.text if self.is_ref else f"&{self.text}"


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field: `read` an expression, `write` statements, `name` empty in a tuple."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    read: Rust
    write: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class StructView:
    """A named type with fields. `generics` is "<'a>" or empty."""

    name: Rust
    generics: Rust
    derives: Rust
    docs: tuple[Rust, ...]
    fields: tuple[FieldView, ...]
    is_tuple: bool
    #: statements that read all fields into variables of their names, and that write them
    reads: tuple[Rust, ...]
    writes: tuple[Rust, ...]
    build: Rust
    is_struct: bool = True
    #: the program reads values of this type, and writes them
    is_read: bool = True
    is_written: bool = True

    @property
    def reader(self) -> Rust:
        return code("'a" if self.generics else "'_")

    @property
    def r(self) -> Rust:
        """The reader's name, which says whether it is used."""
        return code("r" if self.reads else "_r")

    @property
    def w(self) -> Rust:
        return code("w" if self.writes else "_w")


@dataclass(frozen=True, slots=True)
class VariantView:
    """One variant: its declaration, what binds its fields, the expression that reads it, what writes it."""

    tag: Rust
    docs: tuple[Rust, ...]
    is_unit: bool
    declaration: Rust
    pattern: Rust
    build: Rust
    writes: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class EnumView:
    """A named enum; `read_tag` reads the number by which its variants are told apart."""

    name: Rust
    generics: Rust
    derives: Rust
    docs: tuple[Rust, ...]
    variants: tuple[VariantView, ...]
    read_tag: Rust
    has_payload: bool
    is_struct: bool = False
    is_read: bool = True
    is_written: bool = True

    @property
    def reader(self) -> Rust:
        return code("'a" if self.generics else "'_")


@dataclass(slots=True)
class _Definition:
    name: Rust
    body: Type
    docs: tuple[str, ...]
    view: StructView | EnumView | None = None
    borrows: bool = False
    owns: bool = False


def array_text(data: bytes) -> str:
    """A slice of bytes, as an expression."""
    return f"&{byte_array(data)}"


class Types:
    """Every type of a program that its crate needs, by the Rust name that it was given when it was first met."""

    def __init__(self, resolver: Resolver, *reserved: str) -> None:
        self.resolver = resolver
        self.names = Names(*TAKEN, *reserved)
        self._by_link: dict[Link, _Definition] = {}
        self._inline: dict[tuple[str, Type], _Definition] = {}
        self._order: list[_Definition] = []

    # --- definitions --------------------------------------------------------------------------------------------------

    def views(self) -> tuple[StructView | EnumView, ...]:
        """The types that were met, in that order."""
        return tuple(d.view for d in self._order if d.view is not None)

    def _define(self, link: Link, definition: TypeDef, body: Type) -> _Definition:
        known = self._by_link.get(link)
        if known is None:
            base = link.name.rpartition("::")[2]
            name = self.names.take(
                base + "".join(self._suffix(a.value) for a in link.args), "pascal"
            )
            known = _Definition(name, body, definition.docs)
            known.borrows = self._borrows(body, frozenset({link}))
            known.owns = self._owns(body, frozenset({link}))
            self._by_link[link] = known
            self._order.append(known)
            try:
                known.view = self._view(known)
            except CannotRender:
                self._order.remove(known)
                raise
        elif known.view is None and known not in self._order:
            raise CannotRender(f"type {link.name}")
        return known

    def _suffix(self, value: Type | int) -> str:
        if isinstance(value, int):
            return f"_{value}"
        return "_" + (
            value.name if isinstance(value, Link) else self.type(value).replace("'a ", "")
        )

    def _hoist(self, node: Struct | Enum, hint: str) -> _Definition:
        """A type that the source wrote in place gets a name: where it stands."""
        key = (hint, node)
        known = self._inline.get(key)
        if known is None:
            known = _Definition(self.names.take(hint, "pascal"), node, ())
            known.borrows = self._borrows(node, frozenset())
            known.owns = self._owns(node, frozenset())
            self._inline[key] = known
            self._order.append(known)
            known.view = self._view(known)
        return known

    def _resolve(self, link: Link) -> tuple[TypeDef, Type]:
        try:
            return self.resolver.expand(link)
        except UnresolvedName as error:
            raise CannotRender(str(error)) from error

    def _named(self, link: Link) -> _Definition | Type:
        """The definition of a struct or enum; for an alias, what it stands for."""
        why = self.resolver.why_unusable(link)
        if why is not None:
            raise CannotRender(why)
        definition, body = self._resolve(link)
        if isinstance(body, (Struct, Enum)) or (
            isinstance(body, Tuple) and definition.shape == "struct"
        ):
            return self._define(link, definition, body)
        return body

    def _any(self, node: Type, seen: frozenset[Link], test: str) -> bool:
        """Does *node* hold, anywhere, something that borrows (`test` "borrows") or allocates ("owns")?"""
        inner = self._borrows if test == "borrows" else self._owns
        match node:
            case Link():
                if node in seen:
                    return test == "owns"  # a recursive type is boxed
                _, body = self._resolve(node)
                return inner(body, seen | {node})
            case Struct(fields):
                return any(inner(f.type, seen) for f in fields)
            case Enum(variants, _):
                return any(v.payload is not None and inner(v.payload, seen) for v in variants)
            case Tuple(items):
                return any(inner(i, seen) for i in items)
            case Map(key, value, _):
                return inner(key, seen) or inner(value, seen)
            case (
                SizePrefixed(item=item)
                | FixedSize(item=item)
                | Sentinel(item=item)
                | HiddenPrefix(item=item)
                | HiddenSuffix(item=item)
                | Offset(item=item)
                | Option(item=item)
                | ZeroableOption(item=item)
                | RemainderOption(item=item)
                | Array(item=item)
                | Set(item=item)
            ):
                return inner(item, seen)
            case _:
                return False

    def _borrows(self, node: Type, seen: frozenset[Link]) -> bool:
        match node:
            case String() | Bytes():
                return True
            case Array(item, _) | Set(item, _) if item == U8:
                return True
            case _:
                return self._any(node, seen, "borrows")

    def _owns(self, node: Type, seen: frozenset[Link]) -> bool:
        match node:
            case Array(item, count) | Set(item, count):
                if item == U8:
                    return False
                if not isinstance(count, int) or count > _ARRAY_ON_STACK:
                    return True
                return self._owns(item, seen)
            case Map():
                return True
            case _:
                return self._any(node, seen, "owns")

    # --- views --------------------------------------------------------------------------------------------------------

    def fields(
        self, fields: tuple[Field, ...], hint: str, root: str = "self."
    ) -> tuple[FieldView, ...]:
        """The fields of a struct, or the arguments of an instruction. Raises CannotRender."""
        names = Names("r", "w")  # the Reader and the Output
        out: list[FieldView] = []
        for f in fields:
            name = names.take(f.name)
            place = f"{hint} {f.name}"
            out.append(
                FieldView(
                    name,
                    code(self.type(f.type, place)),
                    doc(f.docs),
                    code(self.read(f.type, place)),
                    tuple(map(code, self.write(f.type, Val(f"{root}{name}", not root), place))),
                )
            )
        return tuple(out)

    def _tuple_fields(self, items: tuple[Type, ...], hint: str, root: str) -> tuple[FieldView, ...]:
        out: list[FieldView] = []
        for i, item in enumerate(items):
            place = f"{hint} {i}"
            value = Val(f"{root}{i}", False) if root else Val(f"field_{i}", True)
            out.append(
                FieldView(
                    code(f"field_{i}"),
                    code(self.type(item, place)),
                    (),
                    code(self.read(item, place)),
                    tuple(map(code, self.write(item, value, place))),
                )
            )
        return tuple(out)

    def _view(self, definition: _Definition) -> StructView | EnumView:
        body, name = definition.body, definition.name
        generics = code("<'a>" if definition.borrows else "")
        copy = "" if definition.owns else "Copy, "
        derives = code(f"Clone, {copy}Debug, PartialEq")
        docs = doc(definition.docs)
        if isinstance(body, Enum):
            variants = self._variants(body, name)
            return EnumView(
                name,
                generics,
                derives,
                docs,
                variants,
                code(self.read(body.tag, "")),
                any(not v.is_unit for v in variants),
            )
        if isinstance(body, Tuple):
            fields = self._tuple_fields(body.items, name, "self.")
            reads, writes = self._sequence(fields)
            build = code(f"Self({', '.join(f.name for f in fields)})")
            return StructView(name, generics, derives, docs, fields, True, reads, writes, build)
        assert isinstance(body, Struct)
        fields = self.fields(body.fields, name)
        reads, writes = self._sequence(fields)
        build = code(f"Self {{ {', '.join(f.name for f in fields)} }}")
        return StructView(name, generics, derives, docs, fields, False, reads, writes, build)

    @staticmethod
    def _sequence(fields: tuple[FieldView, ...]) -> tuple[tuple[Rust, ...], tuple[Rust, ...]]:
        """Statements that read every field into a variable of its name, and that write them."""
        reads = tuple(code(f"let {f.name} = {f.read};") for f in fields)
        return reads, tuple(w for f in fields for w in f.write)

    def _variants(self, body: Enum, name: str) -> tuple[VariantView, ...]:
        out: list[VariantView] = []
        names = Names("Self")
        for i, v in enumerate(body.variants):
            out.append(
                self._variant(
                    v,
                    names.take(v.name, "pascal"),
                    i if v.value is None else v.value,
                    body.tag,
                    name,
                )
            )
        return tuple(out)

    def _variant(
        self, v: Variant, name: Rust, tag: int, tag_type: Int | ShortU16, owner: str
    ) -> VariantView:
        payload = v.payload
        if isinstance(payload, Link):
            target = self.resolver.target(payload)
            payload = (
                target
                if isinstance(target, (Struct, Tuple)) and not payload.args
                else Tuple((payload,))
            )
        if payload is not None and not isinstance(payload, (Struct, Tuple)):
            payload = Tuple((payload,))
        place = f"{owner} {name}"
        fields: tuple[FieldView, ...] = ()
        is_tuple = False
        if isinstance(payload, Struct):
            fields = self.fields(payload.fields, place, "")
        elif isinstance(payload, Tuple):
            fields = self._tuple_fields(payload.items, place, "")
            is_tuple = True
        bits = 16 if isinstance(tag_type, ShortU16) else tag_type.bits
        if not 0 <= tag < 2**bits:
            raise CannotRender(f"the tag {tag} of {owner}")
        if not fields:
            declaration, pattern, build = name, "", ""
        elif is_tuple:
            declaration = code(f"{name}({', '.join(f.type for f in fields)})")
            pattern = "(" + ", ".join(f.name for f in fields) + ")"
            build = "(" + ", ".join(f.read for f in fields) + ")"
        else:
            declaration = code(f"{name} {{ {', '.join(f'{f.name}: {f.type}' for f in fields)} }}")
            pattern = " { " + ", ".join(f.name for f in fields) + " }"
            build = " { " + ", ".join(f"{f.name}: {f.read}" for f in fields) + " }"
        writes = self.write(tag_type, Val(f"{tag}_u{bits}", False))
        writes += [statement for f in fields for statement in f.write]
        return VariantView(
            code(str(tag)),
            doc(v.docs),
            not fields,
            declaration,
            code(f"{name}{pattern}"),
            code(f"{name}{build}"),
            tuple(map(code, writes)),
        )

    # --- types --------------------------------------------------------------------------------------------------------

    def borrows(self, node: Type) -> bool:
        """Does a value of *node* borrow from the data?"""
        return self._borrows(node, frozenset())

    def type(self, node: Type, hint: str = "Inline") -> str:
        """The Rust type of a value of *node*, with lifetime 'a where it borrows. Raises CannotRender."""
        match node:
            case Int(256, _, _):
                return "[u8; 32]"
            case Int(bits, signed, _):
                return f"{'i' if signed else 'u'}{bits}"
            case Amount(number, _, _) | DateTime(number):
                return self.type(number, hint)
            case ShortU16():
                return "u16"
            case Float(bits, _):
                return f"f{bits}"
            case Bool():
                return "bool"
            case Pubkey():
                return "Address"
            case String("utf8"):
                return "&'a str"
            case String() | Bytes():
                return "&'a [u8]"
            case FixedSize(Bytes() | String("base16" | "base58" | "base64"), size):
                return f"&'a [u8; {size}]"
            case (
                SizePrefixed(item=item)
                | FixedSize(item=item)
                | Sentinel(item=item)
                | HiddenPrefix(item=item)
                | HiddenSuffix(item=item)
                | Offset(item=item, strategy="padded")
            ):
                return self.type(item, hint)
            case Option(item=item) | ZeroableOption(item=item) | RemainderOption(item=item):
                return f"Option<{self.type(item, hint)}>"
            case Array(item, count) | Set(item, count) if item == U8:
                return f"&'a [u8; {count}]" if isinstance(count, int) else "&'a [u8]"
            case Array(item, count) | Set(item, count):
                inner = self.type(item, hint)
                if isinstance(count, int) and count <= _ARRAY_ON_STACK:
                    return f"[{inner}; {count}]"
                return f"Vec<{inner}>"
            case Map(key, value, _):
                return f"Vec<({self.type(key, hint + ' key')}, {self.type(value, hint)})>"
            case Tuple(items):
                inner = ", ".join(self.type(t, f"{hint} {i}") for i, t in enumerate(items))
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Struct() | Enum():
                hoisted = self._hoist(node, hint)
                return hoisted.name + ("<'a>" if hoisted.borrows else "")
            case Link():
                found = self._named(node)
                if not isinstance(found, _Definition):
                    return self.type(found, hint)
                name = found.name + ("<'a>" if found.borrows else "")
                return f"Box<{name}>" if found.view is None else name
            case _:
                raise CannotRender(type(node).__name__)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _exact(self, item: Type) -> int:
        size = fixed_size(self.resolver, item)
        if size is None:
            raise CannotRender("an option with room for something whose size varies")
        return size

    def _length(self, prefix: Int | ShortU16) -> str:
        if isinstance(prefix, ShortU16):
            return "usize::from(r.short_u16()?)"
        size = prefix.bits // 8
        return (
            f"r.length_be::<{size}>()?"
            if prefix.big_endian and size > 1
            else f"r.length::<{size}>()?"
        )

    def read(self, node: Type, hint: str = "Inline") -> str:
        """An expression that reads a value of *node* from `r`. Raises CannotRender."""
        match node:
            case Int(8, False, _):
                return "r.byte()?"
            case Int(256, _, _):
                return "*r.array()?"
            case Int(_, _, big) | Float(_, big):
                return f"{self.type(node)}::from_{'be' if big else 'le'}_bytes(*r.array()?)"
            case Amount(number, _, _) | DateTime(number):
                return self.read(number, hint)
            case ShortU16():
                return "r.short_u16()?"
            case Bool(size):
                return f"r.flag::<{size.bits // 8}>()?"
            case Pubkey():
                return "Address::new_from_array(*r.array()?)"
            case String("utf8"):
                return "r.text_rest()?"
            case String() | Bytes():
                return "r.rest()"
            case SizePrefixed(String("utf8"), prefix):
                return f"{{ let length = {self._length(prefix)}; r.text(length)? }}"
            case SizePrefixed(String() | Bytes(), prefix):
                return f"{{ let length = {self._length(prefix)}; r.take(length)? }}"
            case SizePrefixed(item, prefix):
                return f"{{ let length = {self._length(prefix)}; r.within(length, {self.closure(item, hint)})? }}"
            case FixedSize(Bytes() | String("base16" | "base58" | "base64"), _):
                return "r.array()?"
            case FixedSize(String("utf8"), size):
                return f"r.padded_text({size})?"
            case FixedSize(item, size):
                return f"r.padded({size}, {self.closure(item, hint)})?"
            case Sentinel(item, end):
                return f"r.until({array_text(end)}, {self.closure(item, hint)})?"
            case HiddenPrefix(item, data):
                return f"{{ r.expect({array_text(data)})?; {self.read(item, hint)} }}"
            case HiddenSuffix(item, data):
                return f"{{ let value = {self.read(item, hint)}; r.expect({array_text(data)})?; value }}"
            case Offset(item, amount, "pre", "padded") if amount >= 0:
                return f"{{ r.take({amount})?; {self.read(item, hint)} }}"
            case Offset(item, amount, "post", "padded") if amount >= 0:
                return f"{{ let value = {self.read(item, hint)}; r.take({amount})?; value }}"
            case Option(item, prefix, fixed):
                flag = f"r.flag::<{prefix.bits // 8}>()?"
                skip = f"r.take({self._exact(item)})?; " if fixed else ""
                return f"if {flag} {{ Some({self.read(item, hint)}) }} else {{ {skip}None }}"
            case ZeroableOption(item, zero):
                mark = array_text(bytes(self._exact(item)) if zero is None else zero)
                return f"if r.skip_if({mark}) {{ None }} else {{ Some({self.read(item, hint)}) }}"
            case RemainderOption(item):
                return f"if r.is_empty() {{ None }} else {{ Some({self.read(item, hint)}) }}"
            case Array(item, count) | Set(item, count) if item == U8:
                if isinstance(count, int):
                    return "r.array()?"
                if count is None:
                    return "r.rest()"
                return f"{{ let length = {self._length(count)}; r.take(length)? }}"  # type: ignore[arg-type]  # Generic is gone
            case Array(item, count) | Set(item, count):
                return self._read_list(count, self.closure(item, hint), item)
            case Map(key, value, count):
                pair = f"|r| Ok(({self.read(key, hint + ' key')}, {self.read(value, hint)}))"
                return self._read_list(count, pair, Tuple((key, value)))
            case Tuple(items):
                inner = ", ".join(self.read(t, f"{hint} {i}") for i, t in enumerate(items))
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Struct() | Enum():
                return f"{self._hoist(node, hint).name}::decode(r)?"
            case Link():
                found = self._named(node)
                if not isinstance(found, _Definition):
                    return self.read(found, hint)
                text = f"{found.name}::decode(r)?"
                return f"Box::new({text})" if found.view is None else text
            case _:
                raise CannotRender(type(node).__name__)

    def result(self, node: Type, hint: str = "Inline") -> str:
        """As `read`, but the Result itself: what a closure or function ends with."""
        text = self.read(node, hint)
        if text.endswith(")?") and re.match(r"r\.|[A-Z]\w*::decode\(", text):
            depth = 0
            for i, char in enumerate(text):
                depth += (char == "(") - (char == ")")
                if char == ")" and depth == 0:
                    return text[:-1] if i == len(text) - 2 else f"Ok({text})"
        return f"Ok({text})"

    def closure(self, node: Type, hint: str = "Inline") -> str:
        """A function that reads a value of *node* from the Reader that it is given."""
        text = self.result(node, hint)
        return (
            text.removesuffix("(r)") if re.fullmatch(r"\w+::decode\(r\)", text) else f"|r| {text}"
        )

    def _read_list(self, count: object, item: str, node: Type) -> str:
        least = least_size(self.resolver, node)
        if count is None:
            return f"r.list_rest({item})?"
        if isinstance(count, int):
            if count <= _ARRAY_ON_STACK:
                return f"r.items({item})?"
            return f"r.list({count}, {least}, {item})?"
        if not isinstance(count, (Int, ShortU16)):
            raise CannotRender("a list of generic length")
        return f"{{ let count = {self._length(count)}; r.list(count, {least}, {item})? }}"

    # --- writing ------------------------------------------------------------------------------------------------------

    def _put_length(self, prefix: Int | ShortU16, length: str) -> str:
        if isinstance(prefix, ShortU16):
            return f"w.short_u16({length})?;"
        size = prefix.bits // 8
        return f"w.length{'_be' if prefix.big_endian and size > 1 else ''}::<{size}>({length})?;"

    def write(self, node: Type, v: Val, hint: str = "Inline") -> list[str]:
        """Statements that write *v*, a value of *node*, to `w`. Raises CannotRender."""
        match node:
            case Int(256, _, _):
                return [f"w.put({v.text}.as_slice())?;"]
            case Int(_, _, big) | Float(_, big):
                return [f"w.put(&{v.text}.to_{'be' if big else 'le'}_bytes())?;"]
            case Amount(number, _, _) | DateTime(number):
                return self.write(number, v, hint)
            case ShortU16():
                return [f"w.short_u16(usize::from({v.value}))?;"]
            case Bool(size):
                return [f"w.length::<{size.bits // 8}>(usize::from({v.value}))?;"]
            case Pubkey():
                return [f"w.put({v.text}.as_array().as_slice())?;"]
            case String("utf8"):
                return [f"w.put({v.text}.as_bytes())?;"]
            case String() | Bytes():
                return [f"w.put({v.text})?;"]
            case SizePrefixed(String() | Bytes() as item, prefix):
                return [self._put_length(prefix, f"{v.text}.len()"), *self.write(item, v, hint)]
            case SizePrefixed(item, prefix):
                inner = " ".join(self.write(item, v, hint))
                put = self._put_length(prefix, "part.len()")
                return [
                    f"{{ let mut part = Vec::new(); {{ let w = &mut part; {inner} }} {put} w.put(&part)?; }}"
                ]
            case FixedSize(Bytes() | String("base16" | "base58" | "base64"), _):
                return [f"w.put({v.text}.as_slice())?;"]
            case FixedSize(String("utf8"), size):
                return [f"w.padded({v.text}.as_bytes(), {size})?;"]
            case FixedSize(item, size):
                inner = " ".join(self.write(item, v, hint))
                return [
                    f"{{ let mut part = Vec::new(); {{ let w = &mut part; {inner} }} w.padded(&part, {size})?; }}"
                ]
            case Sentinel(item, end):
                return [*self.write(item, v, hint), f"w.put({array_text(end)})?;"]
            case HiddenPrefix(item, data):
                return [f"w.put({array_text(data)})?;", *self.write(item, v, hint)]
            case HiddenSuffix(item, data):
                return [*self.write(item, v, hint), f"w.put({array_text(data)})?;"]
            case Offset(item, amount, "pre", "padded") if amount >= 0:
                return [f"w.zeros({amount})?;", *self.write(item, v, hint)]
            case Offset(item, amount, "post", "padded") if amount >= 0:
                return [*self.write(item, v, hint), f"w.zeros({amount})?;"]
            case Option(item, prefix, fixed):
                some = " ".join(self.write(item, Val("value", True), hint))
                width = prefix.bits // 8
                none = f"w.length::<{width}>(0)?;" + (
                    f" w.zeros({self._exact(item)})?;" if fixed else ""
                )
                return [
                    f"match {v.ref} {{ Some(value) => {{ w.length::<{width}>(1)?; {some} }} None => {{ {none} }} }}"
                ]
            case ZeroableOption(item, zero):
                some = " ".join(self.write(item, Val("value", True), hint))
                mark = array_text(bytes(self._exact(item)) if zero is None else zero)
                return [f"match {v.ref} {{ Some(value) => {{ {some} }} None => w.put({mark})?, }}"]
            case RemainderOption(item):
                some = " ".join(self.write(item, Val("value", True), hint))
                return [f"if let Some(value) = {v.ref} {{ {some} }}"]
            case Array(item, count) | Set(item, count) if item == U8:
                head = (
                    []
                    if isinstance(count, int) or count is None
                    else [self._put_length(count, f"{v.text}.len()")]  # type: ignore[arg-type]  # Generic is gone
                )
                return [
                    *head,
                    f"w.put({v.text}{'.as_slice()' if isinstance(count, int) else ''})?;",
                ]
            case Array(item, count) | Set(item, count):
                each = " ".join(self.write(item, Val("item", True), hint))
                return self._write_list(count, v, "item", each)
            case Map(key, value, count):
                each = " ".join(
                    [
                        *self.write(key, Val("key", True), hint + " key"),
                        *self.write(value, Val("value", True), hint),
                    ]
                )
                return self._write_list(count, v, "(key, value)", each)
            case Tuple(items):
                out: list[str] = []
                for i, t in enumerate(items):
                    out += self.write(t, Val(f"{v.text}.{i}", False), f"{hint} {i}")
                return out
            case Struct() | Enum():
                self._hoist(node, hint)
                return [f"{v.text}.encode(w)?;"]
            case Link():
                found = self._named(node)
                return (
                    [f"{v.text}.encode(w)?;"]
                    if isinstance(found, _Definition)
                    else self.write(found, v, hint)
                )
            case _:
                raise CannotRender(type(node).__name__)

    def _write_list(self, count: object, v: Val, pattern: str, each: str) -> list[str]:
        loop = f"for {pattern} in {v.text}.iter() {{ {each} }}"
        if isinstance(count, int):
            return (
                [loop]
                if count <= _ARRAY_ON_STACK
                else [f"w.exactly({v.text}.len(), {count})?;", loop]
            )
        if count is None:
            return [loop]
        if not isinstance(count, (Int, ShortU16)):
            raise CannotRender("a list of generic length")
        return [self._put_length(count, f"{v.text}.len()"), loop]

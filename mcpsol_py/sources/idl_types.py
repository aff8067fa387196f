"""The type grammar shared by Anchor's two IDL forms and Shank: {"vec": "u8"}, {"defined": …},
{"kind": "struct", …}.

Reading a type never fails. If a type has no certain meaning, the result is Unsupported with the
reason, which disables only the instructions that need it.

To add a form, add its key and a method to `_TYPE_FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import orjson

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import IDL_KEY
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    INTS,
    PUBKEY,
    U8,
    U32,
    Array,
    Count,
    Enum,
    Field,
    Generic,
    GenericParam,
    Int,
    Link,
    Map,
    Option,
    Set,
    ShortU16,
    Struct,
    Tuple,
    Type,
    TypeArg,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.sources import rust_text
from mcpsol_py.sources.known_types import known_type, known_type_note
from mcpsol_py.sources.numbers import MAX_LENGTH, is_digits, is_length, unsigned
from mcpsol_py.sources.reader import (
    DocumentReader,
    check_kind,
    expected,
    keys,
    kind_of,
    object_or_empty,
)

__all__ = ["LEAVES", "MAX_LENGTH", "Shape", "TypeReader", "leaf"]

MAX_DEPTH = 48
_MAX_SHOWN = 120
#: Digits of an array length, and characters of a const argument.
_MAX_LENGTH_DIGITS = 10
_MAX_CONST = 23

_INT_SUFFIX = re.compile(rf"(?:usize|{'|'.join(INTS)})\Z")

#: How a definition was declared.
Shape: TypeAlias = Literal["struct", "enum", "alias"]

#: Type names of all three forms. Files of every age use both spellings of the key.
LEAVES: dict[str, Type] = {
    **INTS,
    "bool": BOOL,
    "f32": F32,
    "f64": F64,
    "string": BORSH_STRING,
    "bytes": BORSH_BYTES,
    "pubkey": PUBKEY,
    "publicKey": PUBKEY,
    "shortU16": ShortU16(),
}

_BODY = keys("kind fields variants alias value size tagEncoding docs")
_VARIANT = keys("name kind fields docs tag discriminant")
_FIELD = keys(f"name type docs index attrs {IDL_KEY}")
#: The keys by which IDLs give the integer type of an enum's tag, and the tag of one variant.
_TAG_SIZES = ("size", "tagEncoding")
_TAGS = ("tag", "discriminant")
#: Form of type -> keys that it may have beside its own.
_FORM_KEYS = {
    "option": "prefix fixed",
    "coption": "prefix fixed",
    "defined": "generics",
} | dict.fromkeys(
    ("vec", "hashMap", "bTreeMap", "map", "hashSet", "bTreeSet", "set"), "size"
)

_INTEGERS = "integers are u8, u16, u32, u64, u128, u256 and i8 to i256"


def leaf(written: object) -> Type | None:
    """Return the type of LEAVES that *written* names, or None."""
    return LEAVES.get(written) if type(written) is str else None


def _shown(value: object) -> str:
    """Return what the document wrote, short enough for a message."""
    if isinstance(value, str):
        return abbr(value, _MAX_SHOWN)[1:-1]
    try:
        text = orjson.dumps(value, default=str)[:400].decode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _bad(value: object, why: str) -> Unsupported:
    return Unsupported(_shown(value), why)


class TypeReader(DocumentReader):
    """Reads types. `defined` holds every name that the document defines."""

    def __init__(self, origin: str = "") -> None:
        super().__init__(origin)
        self.defined: set[str] = set()
        self._links: dict[str, Type] = {}

    # --- names

    def link(self, name: str, *, constant: bool = False) -> Type:
        """Return the type that {"defined": name} means. *constant*: it is the type of a constant."""
        known = self._links.get(name)
        if known is None:
            known = self._defined_name(name, constant)
            if not constant:
                self._links[name] = known
        return known

    def _defined_name(self, name: str, constant: bool) -> Type:
        if name in self.defined:
            return Link(self.clean_name(name))
        if rust_text.is_rust_text(name) or name in rust_text.PRIMITIVES:
            return rust_text.parse(name, self.defined.__contains__, constant=constant)
        if not name:
            return Unsupported("", "a defined type without a name")
        known = known_type(name)
        if known is None:
            return Link(self.clean_name(name))
        self.note(known_type_note(name, known), level="info")
        return known

    def named(self, name: str) -> Type:
        """Return the type for plain text that is not one of LEAVES."""
        if rust_text.is_rust_text(name):
            return rust_text.parse(name, self.defined.__contains__)
        if name in self.defined:
            hint = f'write {{"defined": {abbr(name, 60)}}} for the defined type'
        elif name in rust_text.PRIMITIVES:
            return rust_text.PRIMITIVES[name]
        else:
            hint = _INTEGERS
        return _bad(name, f"unknown type name; {hint}")

    # --- types

    def type(self, value: Any, depth: int = 0) -> Type:
        """Return the type that *value* writes; never raises."""
        if type(value) is str:
            return LEAVES.get(value) or self.named(value)
        if type(value) is not dict:
            return _bad(value, f"expected a type, got {kind_of(value)}")
        if depth > MAX_DEPTH:
            return Unsupported("...", f"types nest deeper than {MAX_DEPTH} levels")
        key = next(filter(value.__contains__, _TYPE_FORMS), None)
        if key is None:
            return _bad(value, "not a known form of type")
        if len(value) > 1 and key != "kind":
            known = keys(f"{key} {_FORM_KEYS.get(key, '')}")
            self.surplus(value, known, f"the type {key!r}", level="warning")
        return _TYPE_FORMS[key](self, value, value[key], depth)

    def _types(self, items: list[Any], depth: int) -> tuple[Type, ...]:
        return tuple([self.type(item, depth) for item in items])

    def _defined(self, owner: dict[str, Any], body: Any, depth: int) -> Type:
        """{"defined": "Name"}, or {"defined": {"name": "Name", "generics": […]}}."""
        if type(body) is str:
            return self.link(body)
        name = _name_in(body)
        if name is None:
            return _bad(body, "expected the name of a defined type")
        args = body.get("generics")
        return self._generic_link(body, args, depth) if args else self.link(name)

    def _with_type_args(self, owner: dict[str, Any], body: Any, depth: int) -> Type:
        """{"definedWithTypeArgs": {"name": "Name", "args": […]}} of Anchor 0.29."""
        if _name_in(body) is None:
            return _bad(body, "expected a type's name and its args")
        return self._generic_link(body, body.get("args", []), depth)

    def _generic_link(self, body: dict[str, Any], args: Any, depth: int) -> Type:
        if type(args) is not list:
            return _bad(body, "expected a list of generic arguments")
        given = tuple([self._generic_arg(arg, depth) for arg in args])
        return Link(self.clean_name(body["name"]), given)

    def _generic_arg(self, arg: Any, depth: int) -> TypeArg:
        """{"kind": "type", "type": …} or {"kind": "const", "value": "8"}; 0.29: {"type": …},
        {"value": "8"}, {"generic": "T"}.
        """
        given = object_or_empty(arg)
        if "type" in given:
            return TypeArg(self.type(given["type"], depth + 1))
        if type(given.get("generic")) is str:
            return TypeArg(Generic(self.clean_name(given["generic"])))
        if "value" in given:
            return TypeArg(self._const(given["value"]))
        return TypeArg(_bad(arg, "a generic argument is a type or a const"))

    def _const(self, value: Any) -> Type | int:
        """A const argument: an integer as Rust writes it, or the name of a const parameter."""
        if type(value) is int and value >= 0:
            return value
        if type(value) is not str:
            return _bad(value, "expected an integer as the const argument")
        text = _without_suffix(value.strip())
        if text.isidentifier():
            return Generic(self.clean_name(text))
        if len(text) > _MAX_CONST:
            return _bad(value, "the const argument is too large")
        try:
            return int(text, 0)
        except ValueError:
            return _bad(value, "expected an integer as the const argument")

    def _option(self, owner: dict[str, Any], item: Any, depth: int) -> Type:
        return self._option_of(owner, Option(self.type(item, depth + 1), U8))

    def _coption(self, owner: dict[str, Any], item: Any, depth: int) -> Type:
        return self._option_of(
            owner, Option(self.type(item, depth + 1), U32, fixed=True)
        )

    def _option_of(self, owner: dict[str, Any], plain: Option) -> Type:
        """Apply the keys that Kinobi added to options: "prefix" (an integer type) and "fixed"."""
        if len(owner) == 1:
            return plain
        width, fixed = owner.get("prefix"), owner.get("fixed")
        prefix = plain.prefix if width is None else leaf(width)
        if not isinstance(prefix, Int):
            return _bad(
                owner, f"expected an integer type as the prefix, got {kind_of(width)}"
            )
        if fixed is None:
            return replace(plain, prefix=prefix)
        if not isinstance(fixed, bool):
            return _bad(
                owner, f"expected true or false for fixed, got {kind_of(fixed)}"
            )
        return Option(plain.item, prefix, fixed)

    def _fixed_option(self, owner: dict[str, Any], body: Any, depth: int) -> Type:
        """Shank's option of Pod types: {"inner": type, "sentinel": the bytes that mean absent}."""
        shown, given = {"fixedSizeOption": body}, object_or_empty(body)
        if "inner" not in given:
            return _bad(shown, "a fixed-size option needs an inner type and a sentinel")
        zero = given.get("sentinel")
        if zero is None:
            return _bad(shown, "the sentinel (the bytes that mean absent) is missing")
        try:
            return ZeroableOption(
                self.type(given["inner"], depth + 1), self.bytes_of(zero)
            )
        except SourceError as error:
            return _bad(shown, error.text)

    def _vec(self, owner: dict[str, Any], item: Any, depth: int) -> Type:
        node = self.type(item, depth + 1)
        return Array(node, U32 if len(owner) == 1 else self._count(owner))

    def _set(self, owner: dict[str, Any], item: Any, depth: int) -> Type:
        return Set(self.type(item, depth + 1), self._count(owner))

    def _map(self, owner: dict[str, Any], pair: Any, depth: int) -> Type:
        if not _is_pair(pair):
            return _bad(owner, "a map needs a key type and a value type")
        count = self._count(owner)
        return Map(self.type(pair[0], depth + 1), self.type(pair[1], depth + 1), count)

    def _count(self, owner: dict[str, Any]) -> Count:
        """Kinobi's "size" of a vec, map or set: the prefix's type, a fixed count, or "remainder";
        default u32.
        """
        size = owner.get("size")
        if size is None:
            return U32
        if size == "remainder":
            return None
        if is_length(size):
            return size
        prefix = leaf(size)
        if isinstance(prefix, (Int, ShortU16)):
            return prefix
        message = f"expected the size of a list, got {kind_of(size)}; its length is read as u32"
        self.note(message, "size", "error")
        return U32

    def _array(self, owner: dict[str, Any], pair: Any, depth: int) -> Type:
        shown = {"array": pair}
        if not _is_pair(pair):
            return _bad(shown, "an array needs an item type and a length")
        length = self._array_length(pair[1])
        if length is None:
            return _bad(
                shown, f"expected the length of the array, got {kind_of(pair[1])}"
            )
        if isinstance(length, int) and not is_length(length):
            return _bad(shown, f"an array cannot have {length} items")
        return Array(self.type(pair[0], depth + 1), length)

    def _array_length(self, length: Any) -> int | Generic | None:
        """A number, digits, {"generic": "N"}, or the name of a const parameter."""
        if type(length) is int:
            return length
        if is_digits(length, _MAX_LENGTH_DIGITS):
            return int(length)
        name = length.get("generic") if type(length) is dict else length
        if type(name) is not str:
            return None
        is_name = name is not length or name.isidentifier()
        return Generic(self.clean_name(name)) if is_name else None

    def _tuple(self, owner: dict[str, Any], items: Any, depth: int) -> Type:
        if type(items) is not list:
            return _bad(owner, "a tuple is a list of types")
        return Tuple(self._types(items, depth + 1))

    def _generic(self, owner: dict[str, Any], name: Any, depth: int) -> Type:
        if type(name) is not str:
            return _bad(owner, "a generic without a name")
        return Generic(self.clean_name(name))

    def _in_place(self, owner: dict[str, Any], kind: Any, depth: int) -> Type:
        return self.body(owner, depth + 1)[0]

    # --- fields and bodies

    def field(self, item: dict[str, Any], depth: int = 0) -> Field:
        """Read a field of a struct, or an argument of an instruction."""
        name, kind = self.name(item), item.get("type")
        node = LEAVES.get(kind) if type(kind) is str else None
        # Most fields have a name and a simple type only.
        if node is not None and len(item) == 2:
            return Field(name, node)
        if not _FIELD.issuperset(item):
            self.surplus(item, _FIELD, f"field {name!r}")
        node = node or self._field_type(item, depth)
        return (
            Field(name, node, self.docs(item)) if "docs" in item else Field(name, node)
        )

    def _field_type(self, item: dict[str, Any], depth: int) -> Type:
        if "type" not in item:
            return Unsupported("", "its type is missing")
        try:
            return self.type(item["type"], depth)
        except SourceError as error:
            error.at(path="type")
            raise

    def fields(self, owner: dict[str, Any], depth: int = 0) -> Struct | Tuple | None:
        """Read owner["fields"]: a Struct if they have names, a Tuple if not, None without fields."""
        items = owner.get("fields")
        if not items:
            return None
        check_kind(items, list, "a list", path="fields")
        if type(items[0]) is not dict or "name" not in items[0]:
            return Tuple(self._types(items, depth + 1))
        if depth:
            return Struct(
                self.each(owner, "fields", lambda item: self.field(item, depth))
            )
        return Struct(self.each(owner, "fields", self.field))

    def body(self, value: dict[str, Any], depth: int = 0) -> tuple[Type, Shape]:
        """Read {"kind": "struct" | "enum" | "alias" | "type", …}; returns the type and how it was
        declared.
        """
        kind = value.get("kind")
        if not _BODY.issuperset(value):
            self.surplus(value, _BODY, "the type", level="warning")
        found = _BODIES.get(kind) if type(kind) is str else None
        if found is None:
            why = f"expected struct, enum or type as the kind, got {kind_of(kind)}"
            return _bad(value, why), "struct"
        read, shape = found
        return read(self, value, depth), shape

    def _struct(self, value: dict[str, Any], depth: int) -> Type:
        return self.fields(value, depth) or Struct(())

    def _enum(self, value: dict[str, Any], depth: int) -> Type:
        size = value.get(_given(value, _TAG_SIZES))
        tag = U8 if size is None else unsigned(leaf(size))
        if tag is None:
            return _bad(size, "an enum's tag is an unsigned integer")
        if not value.get("variants"):
            return self._bad_enum(value, "an enum needs variants")
        variants = self.each(value, "variants", lambda item: self._variant(item, depth))
        if not _tags_fit(variants, tag):
            return self._bad_enum(
                value, f"expected one tag of {type_text(tag)} for each variant"
            )
        return Enum(variants, tag)

    def _bad_enum(self, value: dict[str, Any], why: str) -> Unsupported:
        self.note(why, level="error")
        return _bad(value, why)

    def _variant(self, item: dict[str, Any], depth: int) -> Variant:
        if not _VARIANT.issuperset(item):
            self.surplus(item, _VARIANT, "the variant", level="warning")
        tag = self.optional(item, _given(item, _TAGS), self.whole)
        if tag is not None and tag < 0:
            raise expected("a tag of 0 or more", tag)
        return Variant(self.name(item), self.fields(item, depth), tag, self.docs(item))

    def _alias(self, value: dict[str, Any], depth: int) -> Type:
        key = next(filter(value.__contains__, ("alias", "value")), None)
        if key is None:
            return _bad(value, "an alias without its type")
        return self.type(value[key], depth + 1)

    def generics(self, owner: dict[str, Any]) -> tuple[GenericParam, ...]:
        """Read the parameters that a type declares: {"kind", "name", "type"}, or in 0.29 only their
        names.
        """
        items = owner.get("generics")
        if not items:
            return ()
        check_kind(items, list, "a list", path="generics")
        return tuple(
            self.inside(f"generics[{i}]", self._generic_param, item)
            for i, item in enumerate(items)
        )

    def _generic_param(self, item: Any) -> GenericParam:
        if type(item) is str:
            return GenericParam(self.clean_name(item))
        check_kind(item, dict, "a generic parameter")
        const = None
        if item.get("kind") == "const":
            const = self.text(item, "type") or "usize"
        return GenericParam(self.name(item), const)


def _tags_fit(variants: tuple[Variant, ...], tag: Int | ShortU16) -> bool:
    """Return whether no variant has a tag, or each has one of its own that *tag* holds."""
    tags = [variant.value for variant in variants if variant.value is not None]
    bits = tag.bits if isinstance(tag, Int) else 16
    return len(set(tags)) in (0, len(variants)) and max(tags, default=0) >> bits == 0


def _given(owner: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of the keys *names* that has a value in *owner*."""
    return next((key for key in names if owner.get(key) is not None), names[0])


def _name_in(body: object) -> str | None:
    name = object_or_empty(body).get("name")
    return name if type(name) is str else None


def _is_pair(value: object) -> bool:
    return type(value) is list and len(value) == 2


def _without_suffix(text: str) -> str:
    """Remove the type suffix and underscores of an integer in Rust: "1_000usize" is 1000."""
    if not text[:1].isdigit():
        return text
    text = text.replace("_", "")
    return _INT_SUFFIX.sub("", text)


#: Kind of definition -> method(reader, the object, depth), and how the type was declared.
_BODIES: dict[str, tuple[Callable[[TypeReader, dict[str, Any], int], Type], Shape]] = {
    "struct": (TypeReader._struct, "struct"),
    "enum": (TypeReader._enum, "enum"),
    "alias": (TypeReader._alias, "alias"),
    "type": (TypeReader._alias, "alias"),
}

#: Key -> method(reader, the object, the key's value, depth). If an object has several keys, the
#: first one here counts.
_TYPE_FORMS: dict[str, Callable[[TypeReader, dict[str, Any], Any, int], Type]] = {
    "defined": TypeReader._defined,
    "option": TypeReader._option,
    "vec": TypeReader._vec,
    "array": TypeReader._array,
    "generic": TypeReader._generic,
    "coption": TypeReader._coption,
    "fixedSizeOption": TypeReader._fixed_option,
    "tuple": TypeReader._tuple,
    "hashMap": TypeReader._map,
    "bTreeMap": TypeReader._map,
    "map": TypeReader._map,
    "hashSet": TypeReader._set,
    "bTreeSet": TypeReader._set,
    "set": TypeReader._set,
    "definedWithTypeArgs": TypeReader._with_type_args,
    "genericLenArray": TypeReader._array,
    "kind": TypeReader._in_place,
}

"""The type grammar that Anchor's two IDL forms and Shank share: {"vec": "u8"}, {"defined": …}, {"kind": "struct", …}.

Whatever stands where a type must, a type comes out: what has no certain meaning becomes Unsupported with the reason,
which disables the instructions that need it and no others."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from mcpsol_py.errors import SourceError, abbr
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
    TypeDef,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.sources import rust_text
from mcpsol_py.sources.known_types import known_type, said_of
from mcpsol_py.sources.reader import MAX_NAME, Reader, kind_of

__all__ = ["LEAVES", "TypeReader", "typedef", "typedef_layout"]

MAX_DEPTH = 48
MAX_LENGTH = 2**31

#: Type names of all three forms. Both spellings of the key stand in files of both ages.
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

_INTEGERS = "integers are u8, u16, u32, u64, u128, u256 and their i- forms"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return abbr(value, 120)[1:-1]
    try:
        text = orjson.dumps(value, default=str)[:400].decode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return text if len(text) <= 120 else text[:117] + "..."


class TypeReader(Reader):
    """Reads types. `defined` holds every name that the document defines."""

    def __init__(self, origin: str = "") -> None:
        super().__init__(origin)
        self.defined: set[str] = set()
        self._links: dict[str, Type] = {}

    # --- names

    def link(self, name: str, *, constant: bool = False) -> Type:
        """What a name in {"defined": name} stands for."""
        known = self._links.get(name)
        if known is None:
            if name in self.defined:
                known = Link(self.clean_name(name))
            elif rust_text.is_rust_text(name) or name in rust_text.PRIMITIVES:
                known = rust_text.parse(name, self.defined.__contains__, constant=constant)
            elif not name:
                known = Unsupported("", "a defined type without a name")
            else:
                known = self._foreign(name)
            if not constant:
                self._links[name] = known
        return known

    def _foreign(self, name: str) -> Type:
        """A name that the document does not define."""
        known = known_type(name)
        if known is None:
            return Link(self.clean_name(name))
        self.note(said_of(name, known), level="info")
        return known

    def named(self, name: str) -> Type:
        """A type written as plain text that is none of LEAVES."""
        if rust_text.is_rust_text(name):
            return rust_text.parse(name, self.defined.__contains__)
        if name in rust_text.PRIMITIVES and name not in self.defined:
            return rust_text.PRIMITIVES[name]
        hint = (
            f'write {{"defined": {abbr(name, 60)}}} for the defined type'
            if name in self.defined
            else _INTEGERS
        )
        return Unsupported(_shown(name), f"no type of this name; {hint}")

    # --- types

    def type(self, value: Any, depth: int = 0) -> Type:
        """The type that *value* writes; never raises."""
        if type(value) is str:
            return LEAVES.get(value) or self.named(value)
        if type(value) is not dict:
            return Unsupported(_shown(value), f"found {kind_of(value)} where a type must stand")
        if depth > MAX_DEPTH:
            return Unsupported("...", f"types nest deeper than {MAX_DEPTH} levels")
        if "defined" in value:
            return self._defined(value["defined"], depth)
        if "option" in value:
            return self._option(value, value["option"], U8, False, depth)
        if "vec" in value:
            item = self.type(value["vec"], depth + 1)
            return Array(item, U32 if len(value) == 1 else self._count(value.get("size")))
        if "array" in value:
            return self._array(value["array"], depth)
        if "generic" in value:
            name = value["generic"]
            return (
                Generic(self.clean_name(name))
                if type(name) is str
                else self._bad(value, "a generic without a name")
            )
        if "coption" in value:
            return self._option(value, value["coption"], U32, True, depth)
        if "fixedSizeOption" in value:
            return self._fixed_option(value["fixedSizeOption"], depth)
        if "tuple" in value:
            items = value["tuple"]
            if type(items) is not list:
                return self._bad(value, "a tuple is a list of types")
            return Tuple(tuple([self.type(i, depth + 1) for i in items]))
        for key in ("hashMap", "bTreeMap", "map"):
            if key in value:
                pair = value[key]
                if type(pair) is not list or len(pair) != 2:
                    return self._bad(value, "a map has a key type and a value type")
                count = self._count(value.get("size"))
                return Map(self.type(pair[0], depth + 1), self.type(pair[1], depth + 1), count)
        for key in ("hashSet", "bTreeSet", "set"):
            if key in value:
                return Set(self.type(value[key], depth + 1), self._count(value.get("size")))
        if "definedWithTypeArgs" in value:
            return self._with_type_args(value["definedWithTypeArgs"], depth)
        if "genericLenArray" in value:
            return self._array(value["genericLenArray"], depth)
        if "kind" in value:  # a struct, enum or alias in place
            return self.body(value, depth + 1)[0]
        return self._bad(value, "this is none of the ways to write a type")

    def _bad(self, value: object, why: str) -> Unsupported:
        return Unsupported(_shown(value), why)

    def _defined(self, value: Any, depth: int) -> Type:
        if type(value) is str:
            return self.link(value)
        if type(value) is dict and type(value.get("name")) is str:
            args = value.get("generics")
            if not args:
                return self.link(value["name"])
            if type(args) is list:
                return Link(
                    self.clean_name(value["name"]),
                    tuple([self._generic_arg(a, depth) for a in args]),
                )
        return self._bad(value, "a defined type is given by its name")

    def _generic_arg(self, arg: Any, depth: int) -> TypeArg:
        """{"kind": "type", "type": …} or {"kind": "const", "value": "8"}; 0.29: {"type": …}, {"value": "8"},
        {"generic": "T"}."""
        if type(arg) is dict:
            if "type" in arg:
                return TypeArg(self.type(arg["type"], depth + 1))
            if type(arg.get("generic")) is str:
                return TypeArg(Generic(self.clean_name(arg["generic"])))
            if "value" in arg:
                return TypeArg(self._const(arg["value"]))
        return TypeArg(self._bad(arg, "a generic argument is a type or a const"))

    def _const(self, value: Any) -> Type | int:
        """A const argument: Rust text of an integer, or the name of a const parameter."""
        if type(value) is int and value >= 0:
            return value
        if type(value) is str:
            text = value.strip().replace("_", "") if value[:1].isdigit() else value.strip()
            for suffix in ("usize", *INTS):
                text = text.removesuffix(suffix) if text[:1].isdigit() else text
            try:
                return (
                    int(text, 0)
                    if len(text) < 24
                    else self._bad(value, "a const argument that is too large")
                )
            except ValueError:
                if text.isidentifier():
                    return Generic(self.clean_name(text))
        return self._bad(value, "a const argument that is no integer")

    def _with_type_args(self, value: Any, depth: int) -> Type:
        if (
            type(value) is dict
            and type(value.get("name")) is str
            and type(value.get("args", [])) is list
        ):
            args = value.get("args", [])
            return Link(
                self.clean_name(value["name"]), tuple([self._generic_arg(a, depth) for a in args])
            )
        return self._bad(value, "a type with arguments is given by its name and args")

    def _option(
        self, owner: dict[str, Any], item: Any, prefix: Type, fixed: bool, depth: int
    ) -> Type:
        node = self.type(item, depth + 1)
        if len(owner) > 1:  # Kinobi's extra keys
            width = owner.get("prefix")
            if width is not None:
                prefix = LEAVES.get(width, U8) if type(width) is str else U8
                if not isinstance(prefix, Int) or type(width) is not str or width not in INTS:
                    return self._bad(owner, f"an option's prefix cannot be {kind_of(width)}")
            given = owner.get("fixed")
            if isinstance(given, bool):
                fixed = given
            elif given is not None:
                return self._bad(
                    owner, f"found {kind_of(given)} for fixed, where true or false must stand"
                )
        assert isinstance(prefix, Int)
        return Option(node, prefix, fixed)

    def _fixed_option(self, value: Any, depth: int) -> Type:
        """Shank's option of Pod types: {"inner": type, "sentinel": the bytes that mean none}."""
        if type(value) is not dict or "inner" not in value:
            return self._bad(
                {"fixedSizeOption": value}, "such an option has an inner type and a sentinel"
            )
        zero = value.get("sentinel")
        if zero is None:
            return self._bad(
                {"fixedSizeOption": value}, "its sentinel, the bytes that mean none, is not given"
            )
        try:
            return ZeroableOption(self.type(value["inner"], depth + 1), self.bytes_of(zero))
        except SourceError as error:
            return self._bad({"fixedSizeOption": value}, error.text)

    def _count(self, size: Any) -> Count:
        """Kinobi's "size" of a vec, map or set: the prefix's type, a fixed count, or "remainder". Default: u32."""
        if size is None:
            return U32
        if size == "remainder":
            return None
        if type(size) is int and 0 <= size <= MAX_LENGTH:
            return size
        if type(size) is str:
            leaf = LEAVES.get(size)
            if isinstance(leaf, (Int, ShortU16)):
                return leaf
        self.note(
            f"found {kind_of(size)} as the size of a list; its length is read as u32",
            "size",
            "error",
        )
        return U32

    def _array(self, pair: Any, depth: int) -> Type:
        if type(pair) is not list or len(pair) != 2:
            return self._bad({"array": pair}, "an array has an item type and a length")
        item, length = pair
        if type(length) is not int:
            if type(length) is dict and type(length.get("generic")) is str:
                return Array(
                    self.type(item, depth + 1), Generic(self.clean_name(length["generic"]))
                )
            if type(length) is str and length.isdigit() and len(length) < 11:
                length = int(length)
            elif type(length) is str and length.isidentifier():
                return Array(self.type(item, depth + 1), Generic(self.clean_name(length)))
            else:
                return self._bad(
                    {"array": pair}, f"found {kind_of(length)} where the array's length must stand"
                )
        if not 0 <= length <= MAX_LENGTH:
            return self._bad({"array": pair}, f"an array of {length} items")
        return Array(self.type(item, depth + 1), length)

    # --- fields and bodies

    def field(self, item: dict[str, Any], depth: int = 0) -> Field:
        """A struct's field or an instruction's argument."""
        name = item.get("name")
        if type(name) is not str or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
            name = self.name(item)
        kind = item.get("type")
        node = LEAVES.get(kind) if type(kind) is str else None
        if node is None:
            if "type" not in item:
                node = Unsupported("", "its type is missing")
            else:
                try:
                    node = self.type(kind, depth)
                except SourceError as error:
                    error.at(path="type")
                    raise
        return Field(name, node, self.docs(item)) if "docs" in item else Field(name, node)

    def fields(self, owner: dict[str, Any], depth: int = 0) -> Struct | Tuple | None:
        """owner["fields"]: named -> Struct, unnamed -> Tuple, none -> None."""
        items = owner.get("fields")
        if not items:
            return None
        if type(items) is not list:
            raise SourceError(f"found {kind_of(items)} where a list must stand.", path="fields")
        first = items[0]
        if type(first) is dict and "name" in first:
            if depth:
                return Struct(self.each(owner, "fields", lambda item: self.field(item, depth)))
            return Struct(self.each(owner, "fields", self.field))
        return Tuple(tuple([self.type(i, depth + 1) for i in items]))

    def body(
        self, value: dict[str, Any], depth: int = 0
    ) -> tuple[Type, Literal["struct", "enum", "alias"]]:
        """{"kind": "struct" | "enum" | "alias" | "type", …} and how it was declared."""
        kind = value.get("kind")
        if kind == "struct":
            return self.fields(value, depth) or Struct(()), "struct"
        if kind == "enum":
            size = value.get("size")
            tag = U8 if size is None else LEAVES.get(size) if type(size) is str else None
            if not isinstance(tag, (Int, ShortU16)) or (isinstance(tag, Int) and tag.signed):
                return self._bad(size, "an enum's tag is an unsigned integer"), "enum"
            return Enum(
                self.each(value, "variants", lambda item: self._variant(item, depth)), tag
            ), "enum"
        if kind in ("alias", "type"):
            for key in ("alias", "value"):
                if key in value:
                    return self.type(value[key], depth + 1), "alias"
            return self._bad(value, "an alias without what it stands for"), "alias"
        return self._bad(
            value, f"found {kind_of(kind)} as the kind; kinds are struct, enum and type"
        ), "struct"

    def _variant(self, item: dict[str, Any], depth: int) -> Variant:
        docs = self.docs(item) if "docs" in item else ()
        return Variant(
            self.name(item), self.fields(item, depth) if "fields" in item else None, None, docs
        )

    def generics(self, owner: dict[str, Any]) -> tuple[GenericParam, ...]:
        """The parameters that a type declares: {"kind", "name", "type"}, or in 0.29 their names alone."""
        items = owner.get("generics")
        if not items:
            return ()
        if type(items) is not list:
            raise SourceError(f"found {kind_of(items)} where a list must stand.", path="generics")
        out = []
        for i, item in enumerate(items):
            if type(item) is str:
                out.append(GenericParam(self.clean_name(item)))
            elif type(item) is dict:
                try:
                    const = (
                        (self.text(item, "type") or "usize")
                        if item.get("kind") == "const"
                        else None
                    )
                    out.append(GenericParam(self.name(item), const))
                except SourceError as error:
                    error.at(path=f"generics[{i}]")
                    raise
            else:
                raise SourceError(
                    f"found {kind_of(item)} where a generic parameter must stand.",
                    path=f"generics[{i}]",
                )
        return tuple(out)


def typedef_layout(
    serialization: object, repr_: object
) -> tuple[str, int | None, tuple[tuple[str, str], ...], str | None]:
    """Layout, alignment, what was declared, and what could not be read, of Anchor's `serialization` and `repr` keys.

    bytemuck is repr(C). bytemuckunsafe without a repr is packed: that is what `#[zero_copy(unsafe)]` adds where the
    author wrote none (anchor-lang's attribute macro), and without padding Rust has no reason to reorder. A borsh type
    is packed whatever its repr says."""
    declared: list[tuple[str, str]] = []
    problem = None
    kind, packed, align = "", False, None
    if isinstance(repr_, dict):
        kind = str(repr_.get("kind", "")).lower()[:16]
        packed = repr_.get("packed") is True
        given = repr_.get("align")
        if type(given) is int and 0 < given <= 2**29 and given & (given - 1) == 0:
            align = given
        elif given is not None:
            problem = f"found {kind_of(given)} as repr's align, where a power of two must stand"
    elif isinstance(repr_, str):
        kind = repr_.lower()[:16]
    elif repr_ is not None:
        problem = f"found {kind_of(repr_)} as the repr"
    if serialization is None or serialization == "borsh":
        layout = "borsh"
    elif serialization in ("bytemuck", "bytemuckunsafe"):
        if kind == "transparent":
            layout = "transparent"
        elif packed or (serialization == "bytemuckunsafe" and repr_ is None):
            layout = "packed"
        else:
            layout = "c"
    elif isinstance(serialization, dict) and isinstance(serialization.get("custom"), str):
        layout = "custom:" + Reader.clean_name(serialization["custom"])
    else:
        layout = "custom:" + (
            Reader.clean_name(serialization) if isinstance(serialization, str) else "?"
        )
    if serialization is not None:
        declared.append(
            ("serialization", layout if layout.startswith("custom:") else str(serialization))
        )
    if kind:
        declared.append(("repr", kind))
    if packed:
        declared.append(("packed", "true"))
    return layout, align, tuple(declared), problem


def typedef(
    reader: TypeReader,
    item: dict[str, Any],
    body: dict[str, Any],
    *,
    layout: tuple[object, object] = (None, None),
) -> TypeDef:
    """A TypeDef from an entry of "types" (or a legacy account) and its "type"."""
    name = reader.name(item)
    docs = reader.docs(item) if "docs" in item else ()
    generics = reader.generics(item) if "generics" in item else ()
    node, shape = reader.inside("type", reader.body, body)
    if layout == (None, None):
        return TypeDef(name, node, docs, generics, "borsh", None, shape)
    how, align, declared, problem = typedef_layout(*layout)
    if problem:
        reader.note(problem, "repr", "error")
    return TypeDef(name, node, docs, generics, how, align, shape, declared)

"""Types and type definitions of an Anchor IDL, written so that our reader gets the exact type back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from mcpsol_py.model import types
from mcpsol_py.model.program import IDL_KEY, AccountType, Event, ProgramModel
from mcpsol_py.model.serial import to_json, type_to_json
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
    FixedSize,
    Float,
    GenericParam,
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
    TypeArg,
    TypeDef,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ScalarType,
    TypeVisitor,
    WrapperType,
    generic_names,
)
from mcpsol_py.names import pascal, snake
from mcpsol_py.schema.anchor_idl_losses import Json, Losses, docs_entry
from mcpsol_py.schema.anchor_idl_names import numbered
from mcpsol_py.schema.schema_parts import given

__all__ = ["TypeWriter", "shape_of"]

#: Words for types whose text says too little to name them by.
_KINDS: dict[type, str] = {
    Struct: "data of",
    Enum: "kind of",
    Amount: "amount",
    DateTime: "time",
    Bytes: "raw bytes",
    String: "raw text",
    HiddenPrefix: "prefixed",
    HiddenSuffix: "suffixed",
    Offset: "moved",
}


Shape = Literal["struct", "enum", "alias"]

_SHAPES: dict[type, Shape] = {Struct: "struct", Tuple: "struct", Enum: "enum"}


def shape_of(node: Type) -> Shape:
    """Return how Anchor declares a definition of *node*."""
    return _SHAPES.get(type(node), "alias")


class TypeWriter:
    """Writes types, and collects the definitions that they need in `definitions`."""

    def __init__(self, model: ProgramModel, losses: Losses) -> None:
        self.losses = losses
        #: the definitions that are written, by name, in order
        self.definitions: dict[str, Json] = {}
        #: every defined type by name
        self.bodies: dict[str, Type] = {}
        #: types with a plain definition, which need no second one
        self.known: dict[Type, str] = {}
        for definition in model.types:
            self.bodies.setdefault(definition.name, definition.type)
            if _is_plain(definition):
                self.known.setdefault(definition.type, definition.name)
        described: tuple[TypeDef | AccountType | Event, ...]
        described = (*model.types, *model.accounts, *model.events)
        #: names in use, in snake_case, since Anchor's client writes them in camelCase
        self.taken = {snake(item.name) for item in described}
        self.hoisted: dict[tuple[Type, tuple[GenericParam, ...]], Json] = {}
        #: the generic parameters of the definition that is being written
        self.params: tuple[GenericParam, ...] = ()
        self._words = _Words(self)
        self._bodies = _Bodies(self)

    def type(self, node: Type) -> Any:
        """Return the Anchor type that reads back as *node*: in Anchor's words, or a definition made for it."""
        return self._words.visit(node)

    def define(self, definition: TypeDef) -> None:
        """Write *definition*, in its place before the definitions that its own fields need."""
        self.definitions[definition.name] = {}
        outer, self.params = self.params, definition.generics
        try:
            self.definitions[definition.name] = self._definition(definition)
        finally:
            self.params = outer

    def define_unknown(self, name: str) -> None:
        """Define a type that the source does not define, since Anchor's tools refuse documents that lack one."""
        body = Unsupported(name, "it is not defined")
        self.bodies[name] = body
        self.define(TypeDef(name, body, shape="alias"))

    def hoist(self, node: Type) -> Json:
        """Return a defined type for a type that Anchor cannot write in place."""
        if node in self.known:
            return defined(self.known[node])
        used = generic_names(node)
        params = tuple(p for p in self.params if p.name in used)
        key = (node, params)
        if key not in self.hoisted:
            name = self._free_name(node)
            # Anchor passes const parameters on like types.
            args = [{"kind": "type", "type": {"generic": p.name}} for p in params]
            self.hoisted[key] = defined(name, args)
            self.define(TypeDef(name, node, generics=params, shape=shape_of(node)))
        return self.hoisted[key]

    def _free_name(self, node: Type) -> str:
        shown = (
            self.losses.path
            if isinstance(node, (Struct, Enum))
            else type_text(node)[:200]
        )
        text = f"{_KINDS.get(type(node), '')} {shown}"
        base = pascal(re.sub(r"[^0-9A-Za-z]+", " ", text))[:48] or "Type"
        if base[0].isdigit():
            base = f"Type{base}"
        name = numbered(base, lambda candidate: snake(candidate) in self.taken)
        self.taken.add(snake(name))
        return name

    def _definition(self, definition: TypeDef) -> Json:
        out: Json = {"name": definition.name, **docs_entry(definition.docs)}
        body = self._bodies.visit(definition.type)
        out.update(_layout(definition))
        if definition.generics:
            out["generics"] = list(map(_generic_parameter, definition.generics))
        if not body.same_bytes:
            out["serialization"] = {"custom": IDL_KEY}
            out.pop("repr", None)
        if not body.exact:
            out[IDL_KEY] = _extension(definition, body)
            self._lose_type(definition, body)
        out["type"] = body.json
        return out

    def _lose_type(self, definition: TypeDef, body: _Body) -> None:
        text = f"type {definition.name}: {_summary(definition.type)}"
        if body.same_bytes:
            message = f"{text} is written as its bytes alone"
        else:
            message = f"{text} is not an Anchor type; other tools refuse it"
        self.losses.add(message, f"types.{definition.name}")

    def field(self, field: Field) -> Json:
        """Write a struct's field or an argument. Its default goes into our extension."""
        out: Json = {
            "name": field.name,
            **docs_entry(field.docs),
            "type": self.type(field.type),
        }
        if field.default is not None:
            out[IDL_KEY] = {"default": to_json(field.default)}
            when = "is always" if field.default.omitted else "defaults to"
            value = str(field.default.value)[:60]
            self.losses.add(f"{field.name} {when} {value}; other tools ask for it")
        return out


def _is_plain(definition: TypeDef) -> bool:
    if definition.generics or definition.align is not None:
        return False
    return definition.layout == "borsh"


def defined(name: str, args: list[Json] | None = None) -> Json:
    """Return a reference to a defined type."""
    return {"defined": {"name": name, **given({"generics": args})}}


def _generic_parameter(parameter: GenericParam) -> Json:
    if parameter.const:
        return {"kind": "const", "name": parameter.name, "type": parameter.const}
    return {"kind": "type", "name": parameter.name}


def _extension(definition: TypeDef, body: _Body) -> Json:
    extension: Json = {"type": type_to_json(definition.type)}
    if body.same_bytes or definition.layout == "borsh":
        return extension
    return extension | {"layout": definition.layout, "align": definition.align}


def _summary(node: Type) -> str:
    if not isinstance(node, Enum):
        return type_text(node)[:80]
    if node.tag == U8:
        return "an enum with explicit tags"
    return f"an enum with {type_text(node.tag)} tags"


# --- types in place --------------------------------------------------------------------------------------------------


class _Words(TypeVisitor[[], Any]):
    """Anchor's own words for types. Types without one are hoisted into a definition."""

    def __init__(self, writer: TypeWriter) -> None:
        self.writer = writer

    def no_word(
        self,
        node: ShortU16
        | String
        | Bytes
        | FixedSize
        | Sentinel
        | HiddenPrefix
        | HiddenSuffix
        | Offset
        | ZeroableOption
        | RemainderOption
        | Set
        | Map
        | Tuple
        | Struct
        | Enum
        | Amount
        | DateTime
        | Unsupported,
    ) -> Any:
        return self.writer.hoist(node)

    visit_short_u16 = visit_string = visit_bytes = visit_amount = visit_date_time = (
        no_word
    )
    visit_fixed_size = visit_sentinel = visit_hidden_prefix = visit_hidden_suffix = (
        no_word
    )
    visit_offset = visit_zeroable_option = visit_remainder_option = no_word
    visit_set = visit_map = visit_tuple = visit_struct = visit_enum = (
        visit_unsupported
    ) = no_word

    def number(self, node: Int | Float) -> Any:
        if node.big_endian:
            return self.writer.hoist(node)
        return type_text(node)

    visit_int = visit_float = number

    def visit_bool(self, node: Bool) -> Any:
        if node.size != U8:
            return self.writer.hoist(node)
        return "bool"

    def visit_pubkey(self, node: Pubkey) -> Any:
        return "pubkey"

    def visit_size_prefixed(self, node: SizePrefixed) -> Any:
        if node in (BORSH_STRING, BORSH_BYTES):
            return type_text(node)
        return self.writer.hoist(node)

    def visit_array(self, node: Array) -> Any:
        match node.count:
            case int(count):
                return {"array": [self.writer.type(node.item), count]}
            case types.Generic(name):
                return {"array": [self.writer.type(node.item), {"generic": name}]}
            case count if count == U32:
                return {"vec": self.writer.type(node.item)}
        return self.writer.hoist(node)

    def visit_option(self, node: Option) -> Any:
        if node.fixed or node.prefix != U8:
            return self.writer.hoist(node)
        return {"option": self.writer.type(node.item)}

    def visit_generic(self, node: types.Generic) -> Any:
        return {"generic": node.name}

    def visit_link(self, node: Link) -> Any:
        if node.name not in self.writer.bodies:
            self.writer.define_unknown(node.name)
        return defined(node.name, list(map(self.argument, node.args)))

    def argument(self, arg: TypeArg) -> Json:
        if isinstance(arg.value, int):
            return {"kind": "const", "value": str(arg.value)}
        return {"kind": "type", "type": self.writer.type(arg.value)}


# --- bodies of definitions -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of a definition. `exact`: it reads back as the same type. `same_bytes`: values have the same bytes."""

    json: Json
    exact: bool
    same_bytes: bool


class _Bodies(GroupVisitor[[], _Body]):
    """The body of a definition of each type: a struct, an enum or an alias."""

    def __init__(self, writer: TypeWriter) -> None:
        self.writer = writer
        self.nearest = _Nearest(writer)

    def alias(
        self,
        node: ScalarType
        | WrapperType
        | OptionalType
        | ListType
        | Map
        | Link
        | types.Generic
        | Unsupported,
    ) -> _Body:
        near = self.nearest.visit(node)
        if near is None:
            alias = {"kind": "type", "alias": self.writer.type(node)}
            return _Body(alias, exact=True, same_bytes=True)
        alias = {"kind": "type", "alias": near.json}
        return _Body(alias, exact=False, same_bytes=near.same_bytes)

    visit_scalar = visit_wrapper = visit_optional = visit_list = alias
    visit_map = visit_link = visit_generic = visit_unsupported = alias

    def visit_product(self, node: Tuple | Struct) -> _Body:
        # An empty tuple reads back as the unit struct.
        exact = node != Tuple(())
        body = {"kind": "struct", "fields": self.members(node)}
        return _Body(body, exact=exact, same_bytes=True)

    def members(self, node: Tuple | Struct) -> list[Any]:
        if isinstance(node, Struct):
            return list(map(self.writer.field, node.fields))
        return list(map(self.writer.type, node.items))

    def visit_enum(self, node: Enum) -> _Body:
        variants = list(map(self.variant, node.variants))
        has_borsh_tags = _has_borsh_tags(node)
        return _Body(
            {"kind": "enum", "variants": variants},
            exact=has_borsh_tags and all(_reads_back(v.payload) for v in node.variants),
            same_bytes=has_borsh_tags,
        )

    def variant(self, variant: Variant) -> Json:
        out = {"name": variant.name, **docs_entry(variant.docs)}
        return out | given({"fields": self.payload(variant.payload)})

    def payload(self, node: Type | None) -> list[Any]:
        if node is None:
            return []
        if isinstance(node, (Struct, Tuple)):
            return self.members(node)
        return [self.writer.type(node)]

    def visit_option(self, node: Option) -> _Body:
        if not node.fixed:
            return self.alias(node)
        tag = ("tag", _little_endian(node.prefix))
        return self.parts(
            tag, ("value", node.item), same_bytes=not node.prefix.big_endian
        )

    def visit_hidden_prefix(self, node: HiddenPrefix) -> _Body:
        return self.parts(("prefix", _byte_array(node.data)), ("value", node.item))

    def visit_hidden_suffix(self, node: HiddenSuffix) -> _Body:
        return self.parts(("value", node.item), ("suffix", _byte_array(node.data)))

    def visit_offset(self, node: Offset) -> _Body:
        if not node.is_padding:
            return self.alias(node)
        value, padding = ("value", node.item), ("padding", Array(U8, node.amount))
        if node.when == "post":
            return self.parts(value, padding)
        return self.parts(padding, value)

    def parts(self, *parts: tuple[str, Type], same_bytes: bool = True) -> _Body:
        """A struct with these fields, which has the bytes of a type that Anchor does not know."""
        fields = [
            {"name": name, "type": self.writer.type(part)} for name, part in parts
        ]
        return _Body(
            {"kind": "struct", "fields": fields}, exact=False, same_bytes=same_bytes
        )


def _has_borsh_tags(node: Enum) -> bool:
    """Is each variant's tag one byte, its position in the list?"""
    if node.tag != U8:
        return False
    return all(variant.value in (None, i) for i, variant in enumerate(node.variants))


def _byte_array(data: bytes) -> Array:
    return Array(U8, len(data))


def _reads_back(payload: Type | None) -> bool:
    """Does a variant with *payload* read back unchanged? One without fields reads back as a unit variant."""
    match payload:
        case None:
            return True
        case Struct(members) | Tuple(members):
            return bool(members)
    return False


# --- the nearest type ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Near:
    """The nearest Anchor type, and whether its values have the same bytes."""

    json: Any
    same_bytes: bool


class _Nearest(TypeVisitor[[], _Near | None]):
    """The nearest Anchor type of each type that Anchor has no word for; None for the others."""

    def __init__(self, writer: TypeWriter) -> None:
        self.writer = writer

    def is_native(
        self,
        node: Pubkey
        | HiddenPrefix
        | HiddenSuffix
        | Tuple
        | Struct
        | Enum
        | Link
        | types.Generic,
    ) -> _Near | None:
        return None

    visit_pubkey = visit_hidden_prefix = visit_hidden_suffix = is_native
    visit_tuple = visit_struct = visit_enum = visit_link = visit_generic = is_native

    def named_number(self, node: Amount | DateTime) -> _Near | None:
        return _Near(_little_endian_text(node.number), not node.number.big_endian)

    visit_amount = visit_date_time = named_number

    def visit_bool(self, node: Bool) -> _Near | None:
        if node.size == U8:
            return None
        return _Near(_little_endian_text(node.size), not node.size.big_endian)

    def number(self, node: Int | Float) -> _Near | None:
        if not node.big_endian:
            return None
        return _Near(_little_endian_text(node), node.bits == 8)

    visit_int = visit_float = number

    def visit_short_u16(self, node: ShortU16) -> _Near | None:
        return _Near("u16", False)

    def visit_string(self, node: String) -> _Near | None:
        return _Near("string" if node.encoding == "utf8" else "bytes", False)

    def as_bytes(self, node: Bytes | Unsupported) -> _Near | None:
        return _Near("bytes", False)

    visit_bytes = visit_unsupported = as_bytes

    def visit_fixed_size(self, node: FixedSize) -> _Near | None:
        return _Near({"array": ["u8", node.size]}, True)

    def visit_size_prefixed(self, node: SizePrefixed) -> _Near | None:
        if node in (BORSH_STRING, BORSH_BYTES):
            return None
        return _Near("bytes", node.prefix == U32)

    def visit_set(self, node: Set) -> _Near | None:
        return self.like(Array(node.item, node.count))

    def visit_map(self, node: Map) -> _Near | None:
        return self.like(Array(Tuple((node.key, node.value)), node.count))

    def like(self, array: Array) -> _Near:
        return self.visit_array(array) or _Near(self.writer.type(array), True)

    def visit_array(self, node: Array) -> _Near | None:
        if isinstance(node.count, (int, types.Generic)) or node.count == U32:
            return None
        return _Near({"vec": self.writer.type(node.item)}, False)

    def visit_option(self, node: Option) -> _Near | None:
        if node.prefix == U8:
            return None
        return self.visit_remainder_option(RemainderOption(node.item))

    def visit_remainder_option(self, node: RemainderOption) -> _Near | None:
        return _Near({"option": self.writer.type(node.item)}, False)

    def visit_zeroable_option(self, node: ZeroableOption) -> _Near | None:
        return _Near(self.writer.type(node.item), True)

    def item_alone(self, node: Sentinel | Offset) -> _Near | None:
        return _Near(self.writer.type(node.item), False)

    visit_sentinel = visit_offset = item_alone


def _little_endian(number: Int) -> Int:
    return replace(number, big_endian=False)


def _little_endian_text(number: Int | Float) -> str:
    return type_text(replace(number, big_endian=False))


# --- layouts ---------------------------------------------------------------------------------------------------------


def _layout(definition: TypeDef) -> Json:
    """Return Anchor's `serialization` and `repr`."""
    if (
        definition.layout == "borsh"
        and not definition.declared
        and definition.align is None
    ):
        return {}
    kind = _repr_kind(definition)
    packed = _is_packed(definition, kind)
    written = given({"kind": kind, "packed": packed, "align": definition.align})
    if written:
        written = {"kind": "rust"} | written
    return given({"serialization": _serialization(definition), "repr": written})


def _serialization(definition: TypeDef) -> Any:
    layout = definition.layout
    declared = dict(definition.declared).get("serialization")
    if layout.startswith("custom:"):
        return {"custom": layout.removeprefix("custom:")}
    if declared is not None or layout == "borsh":
        return declared
    if layout == "packed":
        return "bytemuckunsafe"
    return "bytemuck"


def _repr_kind(definition: TypeDef) -> str:
    declared = dict(definition.declared)
    if "repr" in declared:
        return declared["repr"]
    if definition.layout == "borsh" or "serialization" in declared:
        return ""
    if definition.layout == "transparent":
        return "transparent"
    return "c"


def _is_packed(definition: TypeDef, kind: str) -> bool:
    declared = dict(definition.declared)
    if "packed" in declared:
        return True
    if not kind or "serialization" in declared:
        return False
    return definition.layout == "packed"

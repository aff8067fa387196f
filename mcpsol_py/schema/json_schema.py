"""Types as JSON Schema, for callers (what they may give) and for results (what they get).

The schemas are valid under draft-07 and 2020-12, inlined and finite: no $ref, no tuple keywords, no union at the root.
A tuple is an object with field_0, field_1, …; a map is a list of {key, value}; an option that is a property is simply
not required. A shape's `convert` turns what a caller gives into the codec's form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mcpsol_py.errors import UnknownName, UnresolvedName
from mcpsol_py.items import items_by_name, names_of
from mcpsol_py.model import types
from mcpsol_py.model.program import AccountType, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BORSH_STRING,
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
    Pubkey,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Unsupported,
    Variant,
    field_keys,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
)
from mcpsol_py.names import clean_text
from mcpsol_py.schema.client_profiles import PROFILES, Profile, or_null
from mcpsol_py.schema.json_shapes import (
    Member,
    Shape,
    items_converter,
    object_converter,
    pairs_converter,
    tuple_converter,
    variant_converter,
)
from mcpsol_py.schema.schema_parts import (
    described,
    given,
    join,
    object_schema,
    opened,
    property_names,
    quoted,
)

__all__ = [
    "PROFILES",
    "Profile",
    "Schemas",
    "Shape",
    "account_schema",
    "input_schema",
    "described",
    "join",
    "object_converter",
    "object_schema",
    "opened",
    "output_schema",
    "property_names",
    "quoted",
]

_WORD = re.compile(r"[\w .:$-]{1,64}")
_BASE58 = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"
_BYTES_IN = 'bytes: "0x" and hex, "base64:…" or "base58:…"'


class Schemas(GroupVisitor[[int], Shape]):
    """The shapes of one program's types, for callers or, with `output`, for results. All are cached.

    Each method takes a type and the depth at which it is in the schema.
    """

    def __init__(
        self,
        resolver: Resolver,
        profile: Profile = PROFILES["default"],
        *,
        output: bool = False,
    ) -> None:
        self.resolver = resolver
        self.profile = profile
        self.output = output
        #: Are there unions below the root?
        self.has_unions = output or profile.unions
        #: Must callers give every property, absent ones as null?
        self.needs_all = profile.all_required and not output
        self._leaves = _Leaves(profile, output)
        self._is_nullable = _IsNullable(resolver)
        self._kept: dict[Type, Shape] = {}
        #: the links that are being expanded
        self._open: list[Link] = []
        #: how many parts were left out so far, so that their shapes depend on their place
        self._cut = 0
        #: how many nodes the schema may still use
        self._left = 0

    def shape(self, node: Type) -> Shape:
        """Return the shape of *node*. For a type that cannot be used, it is any JSON value."""
        self._left = self.profile.nodes
        self._cut = 0
        return self._shape(node, 0)

    def _shape(self, node: Type, depth: int) -> Shape:
        kept = self._kept.get(node)
        if kept is not None and self._fits(kept, depth):
            self._left -= kept.nodes
            return kept
        if depth >= self.profile.depth or self._left <= 0:
            return self._cut_short(node)
        cut_before = self._cut
        shape = self._make(node, depth)
        if self._cut == cut_before:
            self._kept[node] = shape
        return shape

    def _fits(self, shape: Shape, depth: int) -> bool:
        return shape.nodes <= self._left and depth + shape.depth <= self.profile.depth

    def _cut_short(self, node: Type) -> Shape:
        leaf = self._leaves.visit(node)
        if leaf is not None:
            return leaf
        self._cut += 1
        return self._any_value(node)

    def _make(self, node: Type, depth: int) -> Shape:
        leaf = self._leaves.visit(node)
        if leaf is None:
            return self.visit(node, depth)
        self._left -= 1
        return leaf

    def _any_value(self, node: Type) -> Shape:
        """End the schema here: callers give JSON text, which the codec reads like the value itself."""
        self._left -= 1
        nullable = self._is_nullable.visit(node, 0)
        if self.output:
            every_kind = ["object", "array", "string", "number", "boolean", "null"]
            return Shape({"type": every_kind}, nullable=nullable)
        about = f"{clean_text(type_text(node), 80)}, as JSON text"
        return Shape({"type": "string", "description": about}, nullable=nullable)

    # --- one kind of type each ---------------------------------------------------------------------------------------

    def unusable(
        self, node: ScalarType | types.Generic | Unsupported, depth: int
    ) -> Shape:
        return self._any_value(node)

    visit_scalar = visit_generic = visit_unsupported = unusable  # scalars are leaves

    def visit_wrapper(self, node: WrapperType, depth: int) -> Shape:
        return self._shape(node.item, depth)

    def visit_link(self, node: Link, depth: int) -> Shape:
        if node in self._open:
            self._cut += 1
            return self._any_value(node)
        try:
            _, body = self.resolver.expand(node)
        except UnresolvedName:
            return self._any_value(node)
        self._open.append(node)
        cut_before = self._cut
        shape = self._shape(body, depth)
        self._open.pop()
        if not self._open and self._left > 0:
            # Only this type itself was cut within its body, so the shape is the same everywhere.
            self._cut = cut_before
            self._kept[node] = shape
        return shape

    def visit_optional(self, node: OptionalType, depth: int) -> Shape:
        if self._is_nullable.visit(node.item, 0):
            some = Member("some", "some", self._shape(node.item, depth + 1))
            return self.object_of([some], nullable=True)
        inner = self._shape(node.item, depth)
        return Shape(inner.schema, inner.convert, True, inner.nodes, inner.depth)

    def visit_list(self, node: ListType, depth: int) -> Shape:
        inner = self._shape(node.item, depth + 1)
        schema: dict[str, Any] = {"type": "array", "items": self._or_null(inner)}
        if isinstance(node.count, int) and self.profile.limits:
            schema |= {"minItems": node.count, "maxItems": node.count}
        self._left -= 1
        convert = items_converter(inner)
        return Shape(schema, convert, nodes=inner.nodes + 1, depth=inner.depth + 1)

    def visit_map(self, node: Map, depth: int) -> Shape:
        if self.output:
            pair = self._tuple((node.key, node.value), depth + 1)
        else:
            pair = self.object_of(
                [
                    Member("key", "key", self._shape(node.key, depth + 2)),
                    Member("value", "value", self._shape(node.value, depth + 2)),
                ]
            )
        key = self._shape(node.key, depth + 2)
        value = self._shape(node.value, depth + 2)
        schema = {"type": "array", "items": pair.schema}
        convert = pairs_converter(key, value)
        return Shape(schema, convert, nodes=pair.nodes + 1, depth=pair.depth + 1)

    def visit_product(self, node: ProductType, depth: int) -> Shape:
        if isinstance(node, Tuple):
            return self._tuple(node.items, depth)
        return self._struct(node.fields, depth)

    def visit_enum(self, node: Enum, depth: int) -> Shape:
        units = node.units
        others = [variant for variant in node.variants if variant.payload is not None]
        self._left -= 1
        words = self._words(units)
        if not others:
            return words
        # With unions, a unit variant is a word; without, it is a property like the others.
        if not self.has_unions:
            members = self._variants(node.variants, depth)
            return self._converted_enum(self._one_of(members), members, units, words)
        members = self._variants(others, depth)
        whole = self._one_of(members)
        if units:
            either = {"anyOf": [words.schema, whole.schema]}
            whole = Shape(either, nodes=whole.nodes + 2, depth=whole.depth)
        return self._converted_enum(whole, members, units, words)

    def _converted_enum(
        self, whole: Shape, members: list[Member], units: list[str], words: Shape
    ) -> Shape:
        """Return *whole* with the converter of the variants. Results need none."""
        if self.output:
            return whole
        convert = variant_converter(members, units, words)
        return Shape(whole.schema, convert, nodes=whole.nodes, depth=whole.depth)

    # --- what these are made of --------------------------------------------------------------------------------------

    def _or_null(self, shape: Shape) -> dict[str, Any]:
        """Return the schema of a value that must be given, or is an item of a list, and may be null."""
        schema = shape.schema
        if not shape.nullable:
            return schema
        if self.has_unions:
            return {"anyOf": [schema, {"type": "null"}]}
        if not self.profile.type_lists:
            return schema | {"nullable": True}
        return or_null(schema)

    def _tuple(self, items: tuple[Type, ...], depth: int) -> Shape:
        shapes = [self._shape(item, depth + 1) for item in items]
        self._left -= 1
        if self.output:
            return self._list_of(shapes)
        names = [f"field_{i}" for i in range(len(items))]
        members = list(map(Member, names, names, shapes))
        whole = self.object_of(members)
        convert = tuple_converter(names, shapes)
        return Shape(whole.schema, convert, nodes=whole.nodes, depth=whole.depth)

    def _list_of(self, shapes: list[Shape]) -> Shape:
        """A list with one item of each shape: a tuple in a result."""
        schema: dict[str, Any] = {
            "type": "array",
            "minItems": len(shapes),
            "maxItems": len(shapes),
        }
        items = _distinct(list(map(self._or_null, shapes)))
        if len(items) == 1:
            schema["items"] = items[0]
        elif items:
            schema["items"] = {"anyOf": items}
        return Shape(schema, nodes=_nodes(shapes), depth=_depth(shapes))

    def _struct(self, fields: tuple[Field, ...], depth: int) -> Shape:
        keyed = zip(field_keys(fields), fields, strict=True)
        shown = {key: field for key, field in keyed if not field.is_constant}
        names = self._names(list(shown))
        members = []
        for name, (key, field) in zip(names, shown.items(), strict=True):
            member = Member(
                name,
                key,
                self._shape(field.type, depth + 1),
                self._about(field.docs),
                needed=field.default is None,
            )
            members.append(member)
        self._left -= 1
        return self.object_of(members)

    def _names(self, keys: list[str]) -> list[str]:
        """Results keep the names of the source."""
        if self.output:
            return keys
        return property_names(keys)

    def _about(self, docs: tuple[str, ...]) -> str:
        if self.output:
            return clean_text(" ".join(docs), 200)
        return quoted(docs, 200)

    def object_of(self, members: Sequence[Member], nullable: bool = False) -> Shape:
        """Return the shape of an object with *members*."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for member in members:
            must = self.output or member.is_required
            properties[member.name] = self._property(member, must=must)
            if must or self.needs_all:
                required.append(member.name)
        schema = object_schema(properties, required, self.profile)
        convert = None if self.output else object_converter(members, self.needs_all)
        shapes = [member.shape for member in members]
        return Shape(schema, convert, nullable, _nodes(shapes), _depth(shapes))

    def _property(self, member: Member, *, must: bool) -> dict[str, Any]:
        """Return the schema of a member. *must*: it has to be given."""
        schema = self._member_schema(member.shape, must)
        return described(schema, member.about, self.profile.about)

    def _member_schema(self, shape: Shape, must: bool) -> dict[str, Any]:
        if self.output:
            return self._or_null(shape)
        if not self.needs_all:
            return shape.schema
        return self._or_null(shape if must else Shape(shape.schema, nullable=True))

    def _variants(self, variants: Sequence[Variant], depth: int) -> list[Member]:
        names = self._names(names_of(variants))
        return [
            self._variant(name, variant, depth)
            for name, variant in zip(names, variants, strict=True)
        ]

    def _variant(self, name: str, variant: Variant, depth: int) -> Member:
        payload = variant.payload or Struct(())
        about = "" if self.output else quoted(variant.docs, 100)
        return Member(
            name, variant.name, self._shape(payload, depth + 1), about, needed=False
        )

    def _words(self, names: list[str]) -> Shape:
        """One of the words *names*. Callers see words with unusual characters as `property_names` writes them."""
        shown = (
            names
            if self.output
            else list(map(_plain_word, names, property_names(names)))
        )
        schema = {"type": "string", **given({"enum": shown})}
        if shown == names:
            return Shape(schema)
        return Shape(schema, _WordConverter(dict(zip(shown, names, strict=True))))

    def _one_of(self, members: list[Member]) -> Shape:
        """An object with exactly one of the members."""
        properties = {
            member.name: self._property(member, must=False) for member in members
        }
        required = list(properties) if self.needs_all else []
        schema = object_schema(properties, required, self.profile)
        if self.profile.limits:
            schema |= {"minProperties": 1, "maxProperties": 1}
        if self.needs_all:
            schema["description"] = "exactly one of these, the others null"
        elif not self.output:
            schema["description"] = "exactly one of these"
        shapes = [member.shape for member in members]
        return Shape(schema, nodes=_nodes(shapes), depth=_depth(shapes))


@dataclass(frozen=True, slots=True)
class _WordConverter:
    """Turns a word of a schema into the name of the variant. Other values stay as they are."""

    names: dict[str, str]

    def __call__(self, value: Any) -> Any:
        return self.names.get(value, value) if isinstance(value, str) else value


def _plain_word(name: str, changed: str) -> str:
    """Return *name*, or if it has unusual characters the *changed* one."""
    return name if _WORD.fullmatch(name) else changed


def _distinct(schemas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(
        {json.dumps(schema, sort_keys=True): schema for schema in schemas}.values()
    )


def _nodes(shapes: Iterable[Shape]) -> int:
    """The size of a schema that holds *shapes*."""
    return 1 + sum(shape.nodes for shape in shapes)


def _depth(shapes: Iterable[Shape]) -> int:
    """The depth of a schema that holds *shapes*."""
    return 1 + max((shape.depth for shape in shapes), default=0)


class _IsNullable(GroupVisitor[[int], bool]):
    """Is null a value of the type? Then an option around it is written as {"some": value}."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def no(
        self,
        node: ScalarType
        | ListType
        | ProductType
        | Map
        | Enum
        | types.Generic
        | Unsupported,
        depth: int,
    ) -> bool:
        return False

    visit_scalar = visit_list = visit_product = visit_map = visit_enum = no
    visit_generic = visit_unsupported = no

    def visit_optional(self, node: OptionalType, depth: int) -> bool:
        return True

    def visit_wrapper(self, node: WrapperType, depth: int) -> bool:
        return depth < 64 and self.visit(node.item, depth + 1)

    def visit_link(self, node: Link, depth: int) -> bool:
        if depth >= 64:
            return False
        try:
            _, body = self.resolver.expand(node)
        except UnresolvedName:
            return False
        return self.visit(body, depth + 1)


# --- leaves ----------------------------------------------------------------------------------------------------------


class _Leaves(GroupVisitor[[], Shape | None]):
    """The shapes of types that are one JSON value: scalars, bytes and text. None for all others."""

    def __init__(self, profile: Profile, output: bool) -> None:
        self.profile = profile
        self.output = output

    def not_a_leaf(
        self,
        node: OptionalType
        | ProductType
        | Map
        | Enum
        | Link
        | types.Generic
        | Unsupported,
    ) -> Shape | None:
        return None

    visit_optional = visit_product = visit_map = visit_enum = visit_link = not_a_leaf
    visit_generic = visit_unsupported = not_a_leaf

    def visit_scalar(self, node: ScalarType) -> Shape | None:
        raise NotImplementedError  # each scalar has a method below

    def integer(self, node: Int | ShortU16) -> Shape | None:
        return Shape(self._int(node, type_text(node)))

    visit_int = visit_short_u16 = integer

    def visit_amount(self, node: Amount) -> Shape | None:
        about = f"{type_text(node.number)}, base units with {node.decimals} decimals"
        if node.unit and node.decimals <= 30:
            about += f" ({10**node.decimals:,} make one {clean_text(node.unit, 20)})"
        return Shape(self._int(node.number, about))

    def visit_date_time(self, node: DateTime) -> Shape | None:
        about = f"{type_text(node.number)}, seconds since 1970-01-01 UTC"
        return Shape(self._int(node.number, about))

    def visit_float(self, node: Float) -> Shape | None:
        if not self.output:
            return Shape({"type": "number", "description": f"f{node.bits}"})
        named = {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}
        return Shape({"anyOf": [{"type": "number"}, named]}, nodes=3)

    def visit_bool(self, node: Bool) -> Shape | None:
        return Shape({"type": "boolean"})

    def visit_pubkey(self, node: Pubkey) -> Shape | None:
        return Shape(self._text("base58 address", _BASE58))

    def visit_bytes(self, node: Bytes) -> Shape | None:
        return Shape(self._bytes())

    def visit_string(self, node: String) -> Shape | None:
        if node.encoding == "utf8":
            return Shape({"type": "string"})
        return Shape(self._text(f"{node.encoding} text"))

    def visit_list(self, node: ListType) -> Shape | None:
        if not isinstance(node, Array) or node.item != U8:
            return None
        if isinstance(node.count, int):
            return Shape(self._bytes(f"{node.count} "))
        return Shape(self._bytes())

    def visit_wrapper(self, node: WrapperType) -> Shape | None:
        return None

    def visit_fixed_size(self, node: FixedSize) -> Shape | None:
        if node.item != Bytes():
            return None
        return Shape(self._bytes(most=f", at most {node.size}"))

    def visit_size_prefixed(self, node: SizePrefixed) -> Shape | None:
        if node != BORSH_STRING:
            return None
        return Shape({"type": "string"})

    def _int(self, node: Int | ShortU16, about: str) -> dict[str, Any]:
        bits, signed = (
            (node.bits, node.signed) if isinstance(node, Int) else (16, False)
        )
        if bits >= 64:  # JSON readers round such numbers
            return self._text(
                f"{about}, as decimal text", _decimal_pattern(bits, signed)
            )
        schema: dict[str, Any] = {"type": "integer", "description": about}
        if self.profile.limits:
            low, high = _int_range(bits, signed)
            schema |= {"minimum": low, "maximum": high}
        return schema

    def _text(self, about: str, pattern: str = "") -> dict[str, Any]:
        schema = {"type": "string", "description": about}
        if pattern and self.profile.limits:
            schema["pattern"] = pattern
        return schema

    def _bytes(self, exact: str = "", most: str = "") -> dict[str, Any]:
        if self.output:
            return self._text(f'{exact}bytes as "0x" and hex', "^0x([0-9a-f]{2})*$")
        return self._text(exact + _BYTES_IN + most)


def _int_range(bits: int, signed: bool) -> tuple[int, int]:
    if signed:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def _decimal_pattern(bits: int, signed: bool) -> str:
    sign = "-?" if signed else ""
    digits = len(str(_int_range(bits, signed)[1])) - 1
    return f"^(0|{sign}[1-9][0-9]{{0,{digits}}})$"


# --- whole schemas ---------------------------------------------------------------------------------------------------


def input_schema(
    model: ProgramModel | Resolver,
    instruction: Instruction | str,
    profile: str = "default",
) -> dict[str, Any]:
    """Return the schema of an instruction's arguments: a plain object. Tools add the accounts (mcp_tools.py)."""
    resolver = _resolver(model)
    found: Instruction = _named(resolver.model.instructions, instruction)
    return Schemas(resolver, PROFILES[profile]).shape(Struct(found.args)).schema


def output_schema(model: ProgramModel | Resolver, node: Type) -> dict[str, Any]:
    """Return the schema of a decoded value of *node* in JSON results. It may be a union; tools wrap it in an object."""
    shape = Schemas(_resolver(model), output=True).shape(node)
    if shape.nullable:
        return {"anyOf": [shape.schema, {"type": "null"}]}
    return shape.schema


def account_schema(
    model: ProgramModel | Resolver, account: AccountType | str
) -> dict[str, Any]:
    """Return the schema of a decoded account."""
    resolver = _resolver(model)
    found: AccountType = _named(resolver.model.accounts, account)
    return output_schema(resolver, found.type)


def _resolver(model: ProgramModel | Resolver) -> Resolver:
    if isinstance(model, Resolver):
        return model
    return Resolver(model)


def _named(items: Iterable[Any], wanted: Any) -> Any:
    """Return the item with the name *wanted*, or *wanted* itself if it is not a name."""
    if not isinstance(wanted, str):
        return wanted
    known = items_by_name(reversed(list(items)))
    if wanted not in known:
        raise UnknownName("instruction or account type", wanted, list(reversed(known)))
    return known[wanted]

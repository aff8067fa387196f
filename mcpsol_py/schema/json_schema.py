"""Types as JSON Schema, for callers (what they may give) and for results (what they get).

The schemas are valid under draft-07 and 2020-12, inlined and finite: no $ref, no tuple keywords, no union at the root.
A tuple is an object with field_0, field_1, …; a map is a list of {key, value}; an option that is a property is simply
not required. What a caller gives in that form (or in the forms of DESIGN.md 6) is turned into the codec's by the
shape's `convert`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mcpsol_py.errors import UnknownName, UnresolvedName
from mcpsol_py.model.program import AccountType, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BORSH_STRING,
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
    Variant,
    ZeroableOption,
    field_keys,
)
from mcpsol_py.names import clean_text, forms

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

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one kind of client takes (FIELD-NOTES C3, D).

    `unions`: anyOf below the root. `type_lists`: "type": ["x", "null"]. `closed`: additionalProperties false is
    understood. `all_required`: every key must be given, absent ones as null. `limits`: pattern, minimum, minItems and
    their like are understood. `depth`, `nodes`: how deep and how large one argument's schema may be; deeper and larger
    parts are asked for as JSON text. `about`: the longest description, in characters.
    """

    name: str
    unions: bool = True
    type_lists: bool = False
    closed: bool = True
    all_required: bool = False
    limits: bool = True
    depth: int = 12
    nodes: int = 2000
    about: int = 1024


_DEFAULT = Profile("default")
PROFILES: dict[str, Profile] = {
    "default": _DEFAULT,
    "claude": Profile("claude"),
    "openai": Profile("openai"),
    "codex": Profile("codex"),
    "cursor": Profile("cursor"),
    "vscode": Profile("vscode"),
    "gemini": Profile("gemini", unions=False, closed=False, depth=8),
    "strict": Profile(
        "strict", unions=False, type_lists=True, all_required=True, limits=False, depth=4, nodes=500
    ),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A type for one profile: its `schema`, how a value in that form becomes the codec's (`convert`, None: as it is),
    whether null is a value (`nullable`), and how large and deep the schema is."""

    schema: dict[str, Any]
    convert: Convert | None = None
    nullable: bool = False
    nodes: int = 1
    depth: int = 0


_PROPERTY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_WORD = re.compile(r"[\w .:$-]{1,64}")
_BASE58 = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"
_BYTES_IN = 'bytes: "0x" and hex, "base64:…" or "base58:…"'


def property_names(names: Iterable[str]) -> list[str]:
    """A property name for each of *names* that every client takes (`[a-zA-Z_][a-zA-Z0-9_]{0,63}`), none twice; most
    stay as they are.

    What had to be changed gets a hash of the name, so that it does not depend on the others' order.
    """
    out: list[str] = []
    names = list(names)
    taken = {n for n in names if _PROPERTY.fullmatch(n)}
    seen: set[str] = set()
    for place, name in enumerate(names):
        if _PROPERTY.fullmatch(name) and name not in seen:
            good = name
        else:
            plain = re.sub(r"[^a-zA-Z0-9_]+", "_", name).strip("_")
            plain = plain if re.match(r"[a-zA-Z_]", plain) else f"_{plain}"
            good = plain if len(plain) <= 64 and plain not in taken and plain != "_" else ""
            salt = name
            while not good or good in seen:
                good = f"{plain[:55]}_{sha256(salt.encode('utf-8', 'replace')).hexdigest()[:8]}"
                salt += f"#{place}"
            taken.add(good)
        seen.add(good)
        out.append(good)
    return out


def quoted(docs: Iterable[str], limit: int = 400) -> str:
    """Text from a program, marked as its own words: data, no instructions to whoever reads it (FIELD-NOTES W6)."""
    text = " ".join(clean_text("\n".join(docs), 4 * limit).split()).replace('"', "'")
    if not text:
        return ""
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return f'Program\'s words: "{text}"'


def join(*parts: str, limit: int = 1024) -> str:
    """Sentences in one description of at most *limit* characters."""
    text = ". ".join(p.rstrip(".") if not p.endswith('"') else p for p in parts if p)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Schemas:
    """The shapes of one program's types, for callers (`output` False) or for results. All are kept."""

    def __init__(
        self, resolver: Resolver, profile: Profile = _DEFAULT, *, output: bool = False
    ) -> None:
        self.resolver = resolver
        self.profile = profile
        self.output = output
        self._kept: dict[Type, Shape] = {}
        self._open: list[Link] = []
        self._cut = 0
        self._left = 0

    def shape(self, node: Type) -> Shape:
        """The shape of *node*. Types that cannot be used are any JSON value."""
        self._left = self.profile.nodes
        self._cut = 0
        return self._shape(node, 0)

    def _shape(self, node: Type, depth: int) -> Shape:
        kept = self._kept.get(node)
        if (
            kept is not None
            and kept.nodes <= self._left
            and depth + kept.depth <= self.profile.depth
        ):
            self._left -= kept.nodes
            return kept
        if depth >= self.profile.depth or self._left <= 0:
            leaf = self._leaf(node)
            self._cut += leaf is None
            return leaf or self._loose(node)
        cuts = self._cut
        shape = self._make(node, depth)
        if self._cut == cuts:
            self._kept[node] = shape
        return shape

    def _make(self, node: Type, depth: int) -> Shape:
        leaf = self._leaf(node)
        if leaf is not None:
            self._left -= 1
            return leaf
        match node:
            case Link():
                return self._link(node, depth)
            case Option(item=item) | ZeroableOption(item=item) | RemainderOption(item=item):
                return self._option(item, depth)
            case Array(item, count) | Set(item, count):
                return self._array(item, count if isinstance(count, int) else None, depth)
            case Map(key, value, _):
                return self._map(key, value, depth)
            case Tuple(items):
                return self._tuple(items, depth)
            case Struct(fields):
                return self._struct(fields, depth)
            case Enum(variants, _):
                return self._enum(variants, depth)
            case (
                SizePrefixed(item=item)
                | FixedSize(item=item)
                | Sentinel(item=item)
                | HiddenPrefix(item=item)
                | HiddenSuffix(item=item)
                | Offset(item=item)
            ):
                return self._shape(item, depth)
            case _:
                return self._loose(node)

    # --- leaves ----------------------------------------------------------------------------------------------------

    def _leaf(self, node: Type) -> Shape | None:
        match node:
            case Int() | ShortU16():
                return Shape(self._int(node, type_text(node)))
            case Amount(number, decimals, unit):
                whole = (
                    f" ({10**decimals:,} make one {clean_text(unit, 20)})"
                    if unit and decimals <= 30
                    else ""
                )
                return Shape(
                    self._int(
                        number, f"{type_text(number)}, base units with {decimals} decimals{whole}"
                    )
                )
            case DateTime(number):
                return Shape(
                    self._int(number, f"{type_text(number)}, seconds since 1970-01-01 UTC")
                )
            case Float(bits):
                named = {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}
                if self.output:
                    return Shape({"anyOf": [{"type": "number"}, named]}, nodes=3)
                return Shape({"type": "number", "description": f"f{bits}"})
            case Bool():
                return Shape({"type": "boolean"})
            case Pubkey():
                return Shape(self._text("base58 address", _BASE58))
            case Bytes():
                return Shape(self._bytes(None))
            case Array(Int(8, False, False), count):
                return Shape(self._bytes(count if isinstance(count, int) else None))
            case FixedSize(Bytes(), size):
                return Shape(self._bytes(None, f", at most {size}"))
            case String(encoding):
                return Shape(
                    {"type": "string"} if encoding == "utf8" else self._text(f"{encoding} text")
                )
            case _ if node == BORSH_STRING:
                return Shape({"type": "string"})
            case _:
                return None

    def _int(self, node: Int | ShortU16, about: str) -> dict[str, Any]:
        bits, signed = (16, False) if isinstance(node, ShortU16) else (node.bits, node.signed)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if bits < 64:
            schema: dict[str, Any] = {"type": "integer", "description": about}
            return schema | ({"minimum": low, "maximum": high} if self.profile.limits else {})
        digits = len(str(high)) - 1
        pattern = f"^(0|{'-?' if signed else ''}[1-9][0-9]{{0,{digits}}})$"
        return self._text(f"{about}, as decimal text", pattern)

    def _text(self, about: str, pattern: str = "") -> dict[str, Any]:
        schema = {"type": "string", "description": about}
        return schema | ({"pattern": pattern} if pattern and self.profile.limits else {})

    def _bytes(self, count: int | None, size: str = "") -> dict[str, Any]:
        exact = f"{count} " if count is not None else ""
        if self.output:
            return self._text(f'{exact}bytes as "0x" and hex', "^0x([0-9a-f]{2})*$")
        return self._text(exact + _BYTES_IN + size)

    def _loose(self, node: Type) -> Shape:
        """Where a schema must end: callers give JSON text, which the codec reads as it does the value itself."""
        self._left -= 1
        nullable = self._nullable(node)
        if self.output:
            return Shape(
                {"type": ["object", "array", "string", "number", "boolean", "null"]},
                nullable=nullable,
            )
        about = f"{clean_text(type_text(node), 80)}, as JSON text"
        return Shape({"type": "string", "description": about}, nullable=nullable)

    def _nullable(self, node: Type) -> bool:
        """Is null a value of *node*? Then an option around it says {"some": value}."""
        for _ in range(64):
            match node:
                case Option() | ZeroableOption() | RemainderOption():
                    return True
                case Link():
                    try:
                        node = self.resolver.expand(node)[1]
                    except UnresolvedName:
                        return False
                case (
                    SizePrefixed(item=item)
                    | FixedSize(item=item)
                    | Sentinel(item=item)
                    | HiddenPrefix(item=item)
                    | HiddenSuffix(item=item)
                    | Offset(item=item)
                ):
                    node = item
                case _:
                    return False
        return False

    # --- what holds others -----------------------------------------------------------------------------------------

    def _link(self, node: Link, depth: int) -> Shape:
        if node in self._open:
            self._cut += 1
            return self._loose(node)
        try:
            _, body = self.resolver.expand(node)
        except UnresolvedName:
            return self._loose(node)
        self._open.append(node)
        cuts = self._cut
        shape = self._shape(body, depth)
        self._open.pop()
        if not self._open and self._left > 0:
            self._cut = (
                cuts  # what was cut within was this type itself: the same wherever it stands
            )
            self._kept[node] = shape
        return shape

    def _option(self, item: Type, depth: int) -> Shape:
        if not self._nullable(item):
            inner = self._shape(item, depth)
            return Shape(inner.schema, inner.convert, True, inner.nodes, inner.depth)
        inner = self._shape(item, depth + 1)
        return self.object_of([("some", "some", inner, "", True)], True)

    def _or_null(self, shape: Shape) -> dict[str, Any]:
        """The schema of a value that may be null, where it stands in a list or must be given."""
        if not shape.nullable:
            return shape.schema
        schema = shape.schema
        if self.profile.unions or self.output:
            return {"anyOf": [schema, {"type": "null"}]}
        if not self.profile.type_lists:
            return schema | {"nullable": True}
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        nullable = schema | {"type": [*kinds, "null"]}
        return nullable | {"enum": [*schema["enum"], None]} if "enum" in schema else nullable

    def _array(self, item: Type, count: int | None, depth: int) -> Shape:
        inner = self._shape(item, depth + 1)
        schema: dict[str, Any] = {"type": "array", "items": self._or_null(inner)}
        if count is not None and self.profile.limits:
            schema |= {"minItems": count, "maxItems": count}
        convert = inner.convert

        def each(value: Any) -> Any:
            value = opened(value)
            if not isinstance(value, list) or convert is None:
                return value
            return [v if v is None else convert(v) for v in value]

        self._left -= 1
        return Shape(
            schema, each if convert else None, nodes=inner.nodes + 1, depth=inner.depth + 1
        )

    def _map(self, key: Type, value: Type, depth: int) -> Shape:
        if self.output:
            pair = self._tuple((key, value), depth + 1)
        else:
            shapes = [self._shape(key, depth + 2), self._shape(value, depth + 2)]
            pair = self.object_of(
                [(n, n, s, "", True) for n, s in zip(("key", "value"), shapes, strict=True)], False
            )
        first, second = (self._shape(t, depth + 2).convert for t in (key, value))

        def pairs(given: Any) -> Any:
            given = opened(given)
            if isinstance(given, dict):
                given = list(given.items())
            if not isinstance(given, list):
                return given
            out: list[Any] = []
            for entry in given:
                if isinstance(entry, dict) and entry.keys() <= {"key", "value"}:
                    entry = [entry.get("key"), entry.get("value")]
                if isinstance(entry, (list, tuple)) and len(entry) == 2:
                    entry = [
                        c(x) if c and x is not None else x
                        for c, x in zip((first, second), entry, strict=True)
                    ]
                out.append(entry)
            return out

        return Shape(
            {"type": "array", "items": pair.schema},
            pairs,
            nodes=pair.nodes + 1,
            depth=pair.depth + 1,
        )

    def _tuple(self, items: tuple[Type, ...], depth: int) -> Shape:
        shapes = [self._shape(t, depth + 1) for t in items]
        self._left -= 1
        if self.output:  # the result's form is a list
            each = [self._or_null(s) for s in shapes]
            unlike = list({json.dumps(e, sort_keys=True): e for e in each}.values())
            schema: dict[str, Any] = {
                "type": "array",
                "minItems": len(items),
                "maxItems": len(items),
            }
            if unlike:
                schema["items"] = unlike[0] if len(unlike) == 1 else {"anyOf": unlike}
            return Shape(
                schema,
                nodes=sum(s.nodes for s in shapes) + 1,
                depth=1 + max((s.depth for s in shapes), default=0),
            )
        names = [f"field_{i}" for i in range(len(items))]
        whole = self.object_of(
            [(n, n, s, "", True) for n, s in zip(names, shapes, strict=True)], False
        )

        def listed(value: Any) -> Any:
            value = opened(value)
            if isinstance(value, dict) and value.keys() <= set(names):
                value = [
                    value.get(n)
                    for n, s in zip(names, shapes, strict=True)
                    if n in value or s.nullable
                ]
            if isinstance(value, list) and len(value) == len(shapes):
                return [
                    s.convert(v) if s.convert and v is not None else v
                    for s, v in zip(shapes, value, strict=True)
                ]
            return value

        return Shape(whole.schema, listed, nodes=whole.nodes, depth=whole.depth)

    def _struct(self, fields: tuple[Field, ...], depth: int) -> Shape:
        keys = field_keys(fields)
        shown = [
            (k, f)
            for k, f in zip(keys, fields, strict=True)
            if not (f.default and f.default.omitted)
        ]
        names = [k for k, _ in shown] if self.output else property_names(k for k, _ in shown)
        members = []
        for name, (key, f) in zip(names, shown, strict=True):
            about = quoted(f.docs, 200)
            if self.output:
                about = clean_text(" ".join(f.docs), 200)
            members.append((name, key, self._shape(f.type, depth + 1), about, f.default is None))
        self._left -= 1
        return self.object_of(members, False)

    def object_of(self, members: list[tuple[str, str, Shape, str, bool]], nullable: bool) -> Shape:
        """An object of *members*: (property, key in the codec's form, shape, about, must it be given unless it may be
        null?).
        """
        properties: dict[str, Any] = {}
        required: list[str] = []
        for name, _, shape, about, needed in members:
            must = self.output or (needed and not shape.nullable)
            schema = shape.schema
            if self.output or self.profile.all_required:
                schema = self._or_null(
                    shape if must or self.output else Shape(schema, nullable=True)
                )
            properties[name] = described(schema, about, self.profile.about)
            if must or self.profile.all_required:
                required.append(name)
        schema = object_schema(properties, required, self.profile)
        nodes = 1 + sum(s.nodes for _, _, s, _, _ in members)
        deep = 1 + max((s.depth for _, _, s, _, _ in members), default=0)
        convert = None if self.output else object_converter(members, self.profile.all_required)
        return Shape(schema, convert, nullable, nodes, deep)

    def _enum(self, variants: tuple[Variant, ...], depth: int) -> Shape:
        units = [v.name for v in variants if v.payload is None]
        self._left -= 1
        if len(units) == len(variants):
            return self._units(units)
        single = self.output or self.profile.unions
        shown = [v for v in variants if v.payload is not None or not single]
        names = [v.name for v in shown] if self.output else property_names(v.name for v in shown)
        members: list[tuple[str, str, Shape, str, bool]] = []
        for name, v in zip(names, shown, strict=True):
            shape = self._shape(v.payload if v.payload is not None else Struct(()), depth + 1)
            members.append(
                (name, v.name, shape, quoted(v.docs, 100) if not self.output else "", False)
            )
        whole = self._one_of(members)
        words = self._units(units)
        if single and units:
            whole = Shape(
                {"anyOf": [words.schema, whole.schema]}, nodes=whole.nodes + 2, depth=whole.depth
            )
        if self.output:
            return whole
        bare = frozenset(units)
        converts = {n: (key, s.convert) for n, key, s, _, _ in members}
        converts |= {key: (key, s.convert) for _, key, s, _, _ in members}

        def variant(value: Any) -> Any:
            value = opened(value)
            if not isinstance(value, dict):
                return words.convert(value) if words.convert else value
            chosen = {k: v for k, v in value.items() if v is not None}
            if len(chosen) != 1 and len(value) == 1:
                chosen = value
            if len(chosen) != 1:
                return value
            ((name, payload),) = chosen.items()
            key, convert = converts.get(name, (name, None))
            if key in bare:
                return key
            return {key: convert(payload) if convert and payload is not None else payload}

        return Shape(whole.schema, variant, False, whole.nodes, whole.depth)

    def _units(self, names: list[str]) -> Shape:
        """One of these words. Those that are no plain words are shown as `property_names` makes them."""
        shown = [
            n if _WORD.fullmatch(n) else p
            for n, p in zip(names, property_names(names), strict=True)
        ]
        if self.output or shown == names:
            return Shape({"type": "string", "enum": names} if names else {"type": "string"})
        meant = dict(zip(shown, names, strict=True))
        return Shape(
            {"type": "string", "enum": shown},
            lambda v: meant.get(v, v) if isinstance(v, str) else v,
        )

    def _one_of(self, members: list[tuple[str, str, Shape, str, bool]]) -> Shape:
        """An object with exactly one of the members."""
        properties = {}
        for name, _, shape, about, _ in members:
            schema = shape.schema
            if self.profile.all_required and not self.output:
                schema = self._or_null(Shape(schema, nullable=True))
            elif self.output:
                schema = self._or_null(shape)
            properties[name] = described(schema, about, self.profile.about)
        required = list(properties) if self.profile.all_required and not self.output else []
        schema = object_schema(properties, required, self.profile)
        if self.profile.limits:
            schema |= {"minProperties": 1, "maxProperties": 1}
        if not self.output:
            schema["description"] = "exactly one of these" + (
                ", the others null" if required else ""
            )
        nodes = 1 + sum(s.nodes for _, _, s, _, _ in members)
        return Shape(schema, None, False, nodes, 1 + max(s.depth for _, _, s, _, _ in members))


def object_schema(
    properties: dict[str, Any], required: list[str], profile: Profile
) -> dict[str, Any]:
    """An object with these properties and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if profile.closed:
        schema["additionalProperties"] = False
    return schema


def described(schema: dict[str, Any], about: str, limit: int = 1024) -> dict[str, Any]:
    """*schema* with *about* before its own description."""
    if not about:
        return schema
    return schema | {"description": join(schema.get("description", ""), about, limit=limit)}


def object_converter(
    members: list[tuple[str, str, Shape, str, bool]], drops_null: bool
) -> Convert | None:
    """Properties -> the codec's keys: other ways to write a name are read, absent options are None, and what the schema
    made null that has a default of its own (`drops_null`) is left out."""
    names: dict[str, str] = {}
    for _, key, _, _, _ in members:
        for form in forms(key):
            names.setdefault(form, key)
    names |= {name: key for name, key, _, _, _ in members} | {
        key: key for _, key, _, _, _ in members
    }
    converts = {key: s.convert for _, key, s, _, _ in members if s.convert}
    absent = [key for _, key, s, _, needed in members if s.nullable and needed]
    defaults = frozenset(
        key for _, key, s, _, needed in members if drops_null and not needed and not s.nullable
    )
    if not converts and not absent and not defaults and all(n == k for n, k, _, _, _ in members):
        return None

    def convert(value: Any) -> Any:
        value = opened(value)
        if not isinstance(value, dict):
            return value
        out: dict[str, Any] = {}
        for given, item in value.items():
            key: str = names[given] if given in names else str(given)
            if item is None and key in defaults:
                continue
            inner = converts.get(key)
            out[key] = inner(item) if inner and item is not None else item
        for key in absent:
            out.setdefault(key, None)
        return out

    return convert


def opened(value: Any) -> Any:
    """Objects and lists that arrive as JSON text (FIELD-NOTES C-45), opened; only asked for where one must stand."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


# --- whole schemas ---------------------------------------------------------------------------------------------------


def _resolver(model: ProgramModel | Resolver) -> Resolver:
    return model if isinstance(model, Resolver) else Resolver(model)


def input_schema(
    model: ProgramModel | Resolver, instruction: Instruction | str, profile: str = "default"
) -> dict[str, Any]:
    """The schema of an instruction's arguments alone: a plain object. (Tools add the accounts: schema/mcp_tools.py.)"""
    resolver = _resolver(model)
    ix = (
        instruction
        if isinstance(instruction, Instruction)
        else _named(resolver.model.instructions, instruction)
    )
    return Schemas(resolver, PROFILES[profile]).shape(Struct(ix.args)).schema


def output_schema(model: ProgramModel | Resolver, node: Type) -> dict[str, Any]:
    """The schema of a decoded value of *node*, as JSON results carry it. May be a union: tools wrap it in an object."""
    shape = Schemas(_resolver(model), output=True).shape(node)
    return {"anyOf": [shape.schema, {"type": "null"}]} if shape.nullable else shape.schema


def account_schema(model: ProgramModel | Resolver, account: AccountType | str) -> dict[str, Any]:
    """The schema of a decoded account."""
    resolver = _resolver(model)
    found = (
        account if isinstance(account, AccountType) else _named(resolver.model.accounts, account)
    )
    return output_schema(resolver, found.type)


def _named(items: Iterable[Any], name: str) -> Any:
    items = list(items)
    for item in items:
        if item.name == name:
            return item
    raise UnknownName("instruction or account type", name, [i.name for i in items])

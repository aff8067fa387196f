"""Codama roots (standard "codama", 1.x) to the program model: every type, value, count, link, seed and discriminator
node of the spec.

The model's types follow Codama's cut, so types map one to one. Three things are made of several nodes: leading
arguments or fields that are always one constant become the discriminator; a PDA link with its seed values becomes one
`Pda`; a link into an additional program becomes "program::name". Lists that newer Codama leaves out are empty. Nodes
and keys that say nothing about bytes or addresses (display, byteDeltas, subInstructions, …) are counted and told as
findings."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import orjson

from mcpsol_py.errors import SourceError, UnknownDialect, abbr
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountSeed,
    AccountType,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    Constant,
    ConstSeed,
    ConstValue,
    Discriminator,
    ErrorCode,
    Event,
    IdentityValue,
    Instruction,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    RemainingAccounts,
    ResolverValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    F32,
    F64,
    INTS,
    PUBKEY,
    Amount,
    Array,
    Bool,
    Bytes,
    Count,
    DateTime,
    Default,
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
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.solana.base58 import b58decode, is_address
from mcpsol_py.sources.known_types import known_type
from mcpsol_py.sources.known_types import known_type_note as said_of
from mcpsol_py.sources.reader import DocumentReader as Reader
from mcpsol_py.sources.reader import expected, keys, kind_of

__all__ = ["read_codama"]

MAX_DEPTH = 48
MAX_LENGTH = 2**31
#: the padding that a constant may have: accounts, which constants tell apart, take at most 10 MB
MAX_CONSTANT = 65_536

Node = dict[str, Any]

_FORMATS: dict[str, Type] = {
    **INTS,
    **{f"{name}/be": Int(n.bits, n.signed, n.bits > 8) for name, n in INTS.items()},
    "f32": F32,
    "f64": F64,
    "f32/be": Float(32, True),
    "f64/be": Float(64, True),
    "shortU16": ShortU16(),
    "shortU16/be": ShortU16(),
}

#: kind -> the keys that are read; others are counted as ignored
_KNOWN: dict[str, frozenset[str]] = {
    kind: keys(f"kind {names}")
    for kind, names in {
        "rootNode": "standard version program additionalPrograms",
        "programNode": "name publicKey version origin docs accounts instructions definedTypes pdas events errors "
        "constants prefix",
        "instructionNode": "name docs optionalAccountStrategy accounts arguments remainingAccounts discriminators"
        " idlName",
        "instructionAccountNode": "name isWritable isSigner isOptional docs defaultValue accountLink",
        "instructionArgumentNode": "name defaultValueStrategy docs type defaultValue",
        "structFieldTypeNode": "name defaultValueStrategy docs type defaultValue",
        "accountNode": "name size docs data pda discriminators idlName",
        "eventNode": "name docs data discriminators idlName",
        "definedTypeNode": "name docs type idlName",
        "numberTypeNode": "format endian",
        "instructionRemainingAccountsNode": "isOptional isSigner isWritable docs value",
    }.items()
}
_WHY_IGNORED = {
    "display": "how wallets show it",
    "byteDeltas": "rent that it takes or frees",
    "extraArguments": "inputs of a client's own code, no part of the data",
    "subInstructions": "narrower forms of the same instruction",
    "provides": "values for display",
    "status": "its life cycle",
    "plugins": "plug-ins of generators",
}

#: values that depend on the instruction's accounts, arguments or client
_CONTEXTUAL = keys(
    "accountBumpValueNode accountFieldValueNode accountValueNode argumentValueNode conditionalValueNode "
    "identityValueNode payerValueNode pdaValueNode programIdValueNode resolverValueNode programLinkNode"
)


def read_codama(doc: Node, origin: str = "") -> ProgramModel:
    """The model of a Codama root (or of a programNode alone). Raises SourceError with the JSON path."""
    reader = _Codama(origin)
    try:
        return reader.root(doc)
    except SourceError as error:
        error.at(origin)
        raise


class _Codama(Reader):
    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.ignored: Counter[tuple[str, str]] = Counter()
        self.types: dict[str, TypeDef] = {}
        self.programs: dict[str, str] = {}  # name -> address
        self.pdas: dict[str, Node] = {}  # qualified name -> pdaNode
        self.space = ""  # "program::" while an additional program is read
        self._links: dict[str, Type] = {}
        self.defined: set[str] = (
            set()
        )  # qualified names of all defined types, known before they are read

    # --- root and program

    def root(self, doc: Node) -> ProgramModel:
        if doc.get("kind") == "programNode":
            doc = {"kind": "rootNode", "program": doc}
            standalone = True
        else:
            standalone = False
            version = doc.get("version")
            if version is not None and not (type(version) is str and version.startswith("1.")):
                raise UnknownDialect(
                    f"Codama {abbr(version, 40)} is not known; 1.x is. Write it again with a Codama of that line.",
                    path="version",
                )
            if doc.get("standard", "codama") != "codama":
                self.note(
                    f"found {kind_of(doc['standard'])} where 'codama' must stand; read as Codama",
                    "standard",
                )
            self.count_unread(doc)
        program = doc.get("program")
        if type(program) is not dict:
            raise SourceError(
                f"found {kind_of(program)} where a programNode must stand.", path="program"
            )
        extra = _nodes(doc.get("additionalPrograms"))
        self._index(program, "")
        for other in extra:
            if type(other.get("name")) is str:
                self._index(other, f"{self.clean_name(other['name'])}::")
        for i, other in enumerate(extra):
            self.space = f"{self.clean_name(str(other.get('name', '')))}::"
            for definition in self.inside(
                f"additionalPrograms[{i}]",
                lambda p: self.each(p, "definedTypes", self.typedef),
                other,
            ):
                self.types.setdefault(definition.name, definition)
            if other.get("instructions"):
                self.note(
                    f"the program {self.space[:-2]!r} has instructions; load it as a document of its own to use them",
                    f"additionalPrograms[{i}].instructions",
                    "info",
                )
        self.space = ""
        model = (
            self.program(program) if standalone else self.inside("program", self.program, program)
        )
        return replace(model, findings=self.found())

    def _index(self, program: Node, space: str) -> None:
        """Names that links may reach before they are read."""
        name = program.get("name")
        if type(name) is str and type(program.get("publicKey")) is str:
            self.programs[name] = program["publicKey"]
        self.defined.update(
            space + t["name"]
            for t in _nodes(program.get("definedTypes"))
            if type(t.get("name")) is str
        )
        for pda in _nodes(program.get("pdas")):
            if type(pda.get("name")) is str:
                self.pdas.setdefault(space + pda["name"], pda)

    def program(self, node: Node) -> ProgramModel:
        self.count_unread(node)
        foreign = tuple(self.types.values())
        own = self.each(node, "definedTypes", self.typedef)
        for definition in own:
            self.types.setdefault(definition.name, definition)
        errors = self.each(node, "errors", self.error)
        pdas = self.each(node, "pdas", lambda pda: self.pda(pda, None, ""))
        accounts = self.each(node, "accounts", self.account_type)
        events = self.each(node, "events", self.event)
        instructions = self.each(node, "instructions", self.instruction)
        constants = self.each(node, "constants", self.constant)
        for (kind, key), count in sorted(self.ignored.items()):
            why = f" ({_WHY_IGNORED[key]})" if key in _WHY_IGNORED else ""
            where = f"{count} {kind.removesuffix('s')}s have" if count > 1 else f"1 {kind} has"
            self.note(f"{where} the key {abbr(key, 40)}{why}; not read", "", "info")
        return ProgramModel(
            name=self.program_name(node),
            instructions=instructions,
            accounts=accounts,
            events=events,
            errors=errors,
            types=own + foreign,
            constants=constants,
            pdas=pdas,
            address=self.address(node.get("publicKey") or None, "the program", "publicKey"),
            version=self.text(node, "version", 64),
            docs=self.docs(node),
            origin=self.origin,
            dialect="codama",
        )

    def count_unread(self, node: Node) -> None:
        """Counts the keys of *node* that are not read."""
        kind = _kind(node)
        known = _KNOWN.get(kind)
        if known is not None and not known.issuperset(node):
            kind = kind.removesuffix("Node").removesuffix("Type")
            for key in node:
                if key not in known and node[key] not in (None, [], ""):
                    self.ignored[kind, key] += 1

    def typedef(self, node: Node) -> TypeDef:
        name = self.space + self.name(node)
        body = self.inside("type", self.type, node.get("type"))
        shape: Literal["struct", "enum", "alias"] = (
            "struct"
            if isinstance(body, (Struct, Tuple))
            else "enum"
            if isinstance(body, Enum)
            else "alias"
        )
        return TypeDef(
            name, body, self.docs(node) if "docs" in node else (), (), "borsh", None, shape
        )

    def error(self, node: Node) -> ErrorCode:
        return ErrorCode(self.whole(node, "code"), self.name(node), self.text(node, "message"))

    def constant(self, node: Node) -> Constant:
        value = self.inside("value", self.value, node.get("value"))
        text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
        return Constant(self.name(node), self.type(node.get("type")), text, self.docs(node))

    # --- types

    def type(self, node: Any, depth: int = 0) -> Type:
        """The type that *node* writes. What the model cannot say becomes Unsupported; wrong kinds in structs raise."""
        if type(node) is not dict:
            return Unsupported(
                abbr(node, 80), f"found {kind_of(node)} where a type node must stand"
            )
        kind = node.get("kind")
        read = _TYPES.get(kind) if type(kind) is str else None
        if read is None:
            return Unsupported(abbr(kind, 80)[1:-1], "no type node of this kind in Codama 1.x")
        if depth > MAX_DEPTH:
            return Unsupported(str(kind), f"types nest deeper than {MAX_DEPTH} levels")
        return read(self, node, depth + 1)

    def _bad(self, node: Node, why: str) -> Unsupported:
        return Unsupported(str(node.get("kind"))[:80], why)

    def _number(self, node: Node, depth: int) -> Type:
        form, endian = node.get("format"), node.get("endian", "le")
        if "display" in node:
            self.ignored["number", "display"] += 1
        found = (
            _FORMATS.get(f"{form}/be" if endian == "be" else form) if type(form) is str else None
        )
        if found is None or endian not in ("le", "be"):
            return self._bad(
                node, f"a number of format {abbr(form, 40)} and endian {abbr(endian, 20)}"
            )
        return found

    def _width(self, node: Any, depth: int) -> Int | ShortU16 | None:
        """A number type that is a plain unsigned integer (a prefix, a tag, a count)."""
        found = self.type(node, depth)
        if isinstance(found, ShortU16) or (isinstance(found, Int) and not found.signed):
            return found
        return None

    def _amount(self, node: Node, depth: int) -> Type:
        number = self.type(node.get("number"), depth)
        if not isinstance(number, Int):
            return number
        if node["kind"] == "solAmountTypeNode":
            return Amount(number, 9, "SOL")
        decimals = node.get("decimals")
        if type(decimals) is not int or not 0 <= decimals <= 255:
            self.note(
                f"found {kind_of(decimals)} as an amount's decimals; read as a plain number",
                "decimals",
            )
            return number
        return Amount(number, decimals, self.text(node, "unit", 32) or None)

    def _date(self, node: Node, depth: int) -> Type:
        number = self.type(node.get("number"), depth)
        return DateTime(number) if isinstance(number, Int) else number

    def _boolean(self, node: Node, depth: int) -> Type:
        size = self._width(node["size"], depth) if "size" in node else Int(8)
        return (
            Bool(size)
            if isinstance(size, Int)
            else self._bad(node, "a boolean's size is an unsigned integer")
        )

    def _string(self, node: Node, depth: int) -> Type:
        encoding = node.get("encoding", "utf8")
        if encoding in ("utf8", "base16", "base58", "base64"):
            return String(encoding)
        return self._bad(node, f"text in the encoding {abbr(encoding, 40)}")

    def _fixed_size(self, node: Node, depth: int) -> Type:
        size = node.get("size")
        if type(size) is not int or not 0 <= size <= MAX_LENGTH:
            return self._bad(node, f"found {kind_of(size)} where a size in bytes must stand")
        return FixedSize(self.type(node.get("type"), depth), size)

    def _size_prefix(self, node: Node, depth: int) -> Type:
        prefix = self._width(node.get("prefix"), depth)
        if prefix is None:
            return self._bad(node, "a size prefix is an unsigned integer")
        return SizePrefixed(self.type(node.get("type"), depth), prefix)

    def _sentinel(self, node: Node, depth: int) -> Type:
        mark = self._constants([node.get("sentinel")])
        if isinstance(mark, str) or not mark:
            return self._bad(node, mark if isinstance(mark, str) else "an empty sentinel")
        return Sentinel(self.type(node.get("type"), depth), mark)

    def _hidden(self, node: Node, depth: int) -> Type:
        before = node["kind"] == "hiddenPrefixTypeNode"
        data = self._constants(node.get("prefix" if before else "suffix") or [])
        if isinstance(data, str):
            return self._bad(node, data)
        item = self.type(node.get("type"), depth)
        if not data:
            return item
        return HiddenPrefix(item, data) if before else HiddenSuffix(item, data)

    def _constants(self, nodes: Any) -> bytes | str:
        """The bytes of constant value nodes, one after another; or why they are not known."""
        try:
            if type(nodes) is not list:
                raise expected("a list of constants", nodes)
            return b"".join(self.constant_bytes(n) for n in nodes)
        except SourceError as error:
            return f"constant bytes that cannot be read: {error.text}"

    def width_of(self, node: Type, depth: int = 0) -> int | None:
        """The bytes that a type of plain, fixed parts takes; None for others."""
        if depth > MAX_DEPTH:
            return None
        match node:
            case Int(bits=bits) | Float(bits=bits) | Bool(size=Int(bits=bits)):
                return bits // 8
            case Amount(number=Int(bits=bits)) | DateTime(number=Int(bits=bits)):
                return bits // 8
            case Pubkey():
                return 32
            case FixedSize(size=size):
                return size
            case Array(item, int() as count):
                width = self.width_of(item, depth + 1)
                return None if width is None else width * count
            case Enum(variants, Int(bits=bits)) if all(v.payload is None for v in variants):
                return bits // 8
            case Link(name=name) if name in self.types:
                return self.width_of(self.types[name].type, depth + 1)
            case _:
                return None

    def constant_bytes(self, node: Any) -> bytes:
        """The bytes of a constantValueNode. Raises SourceError."""
        if type(node) is not dict or node.get("kind") != "constantValueNode":
            raise expected("a constantValueNode", node)
        return self.encode(self.type(node.get("type")), node.get("value"))

    def _offset(self, node: Node, depth: int) -> Type:
        amount, strategy = node.get("offset"), node.get("strategy", "relative")
        when: Literal["pre", "post"] = "pre" if node["kind"] == "preOffsetTypeNode" else "post"
        if type(amount) is not int or abs(amount) > MAX_LENGTH:
            return self._bad(node, f"found {kind_of(amount)} where an offset in bytes must stand")
        if strategy not in ("relative", "absolute", "padded") and not (
            strategy == "preOffset" and when == "post"
        ):
            return self._bad(node, f"an offset of strategy {abbr(strategy, 40)}")
        return Offset(self.type(node.get("type"), depth), amount, when, strategy)

    def _option(self, node: Node, depth: int) -> Type:
        prefix = self._width(node["prefix"], depth) if "prefix" in node else Int(8)
        if not isinstance(prefix, Int):
            return self._bad(node, "an option's prefix is an unsigned integer of fixed width")
        return Option(self.type(node.get("item"), depth), prefix, node.get("fixed") is True)

    def _zeroable(self, node: Node, depth: int) -> Type:
        zero = None
        if node.get("zeroValue") is not None:
            data = self._constants([node["zeroValue"]])
            if isinstance(data, str):
                return self._bad(node, data)
            zero = data
        return ZeroableOption(self.type(node.get("item"), depth), zero)

    def _count(self, node: Any, depth: int) -> Count | str:
        kind = node.get("kind") if type(node) is dict else None
        if kind == "fixedCountNode":
            value = node.get("value")
            return (
                value
                if type(value) is int and 0 <= value <= MAX_LENGTH
                else f"a count of {abbr(value, 40)}"
            )
        if kind == "prefixedCountNode":
            return (
                self._width(node.get("prefix"), depth)
                or "a count whose prefix is no unsigned integer"
            )
        if kind == "remainderCountNode":
            return None
        return f"found {kind_of(node)} where a count node must stand"

    def _array(self, node: Node, depth: int) -> Type:
        count = self._count(node.get("count"), depth)
        if isinstance(count, str):
            return self._bad(node, count)
        item = self.type(node.get("item"), depth)
        return Array(item, count) if node["kind"] == "arrayTypeNode" else Set(item, count)

    def _map(self, node: Node, depth: int) -> Type:
        count = self._count(node.get("count"), depth)
        if isinstance(count, str):
            return self._bad(node, count)
        return Map(self.type(node.get("key"), depth), self.type(node.get("value"), depth), count)

    def _tuple(self, node: Node, depth: int) -> Type:
        items = node.get("items") or []
        if type(items) is not list:
            return self._bad(node, f"found {kind_of(items)} where a list must stand")
        return Tuple(tuple([self.type(i, depth) for i in items]))

    def _struct(self, node: Node, depth: int) -> Type:
        return Struct(self.each(node, "fields", lambda f: self.field(f, depth)))

    def field(self, node: Node, depth: int = 0) -> Field:
        """A structFieldTypeNode or an instructionArgumentNode."""
        self.count_unread(node)
        default = None
        given = node.get("defaultValue")
        if type(given) is dict and _kind(given) not in _CONTEXTUAL:
            try:
                default = Default(self.value(given), node.get("defaultValueStrategy") == "omitted")
            except SourceError as error:
                self.note(f"the default value is not read: {error.text}", "defaultValue")
        docs = self.docs(node) if "docs" in node else ()
        return Field(
            self.name(node),
            self.inside("type", lambda t: self.type(t, depth), node.get("type")),
            docs,
            default,
        )

    def _enum(self, node: Node, depth: int) -> Type:
        tag = self._width(node["size"], depth) if "size" in node else Int(8)
        if tag is None:
            return self._bad(node, "an enum's size is an unsigned integer")
        return Enum(self.each(node, "variants", lambda v: self._variant(v, depth)), tag)

    def _variant(self, node: Node, depth: int) -> Variant:
        kind, payload = node.get("kind"), None
        if kind == "enumStructVariantTypeNode":
            payload = self.inside("struct", lambda t: self.type(t, depth), node.get("struct"))
        elif kind == "enumTupleVariantTypeNode":
            payload = self.inside("tuple", lambda t: self.type(t, depth), node.get("tuple"))
        elif kind != "enumEmptyVariantTypeNode":
            raise SourceError(
                f"found {abbr(kind, 60)} where an enum variant node must stand.", path="kind"
            )
        value = self.whole(node, "discriminator") if node.get("discriminator") is not None else None
        return Variant(self.name(node), payload, value, self.docs(node) if "docs" in node else ())

    def _link(self, node: Node, depth: int) -> Type:
        name = node.get("name")
        if type(name) is not str or not name:
            return self._bad(node, "a link without a name")
        space = self.space
        program = node.get("program")
        if program is not None:
            if type(program) is not dict or type(program.get("name")) is not str:
                return self._bad(
                    node, f"found {kind_of(program)} where a programLinkNode must stand"
                )
            space = self._space(program["name"])
        key = space + name
        link = self._links.get(key)
        if link is None:
            known = None if key in self.defined or program is not None else known_type(name)
            if known is not None:
                self.note(said_of(name, known), level="info")
            link = self._links[key] = known or Link(space + self.clean_name(name))
        return link

    def _space(self, program: str) -> str:
        main = next(iter(self.programs), None)
        return "" if program == main else f"{self.clean_name(program)}::"

    # --- values

    def value(self, node: Any, depth: int = 0) -> Any:
        """A value node in the JSON form of its type (DESIGN 6). Raises SourceError for what is no plain value."""
        if type(node) is not dict:
            raise expected("a value node", node)
        if depth > MAX_DEPTH:
            raise SourceError(f"values nest deeper than {MAX_DEPTH} levels.")
        kind = node.get("kind")
        match kind:
            case "numberValueNode":
                number = node.get("number")
                if type(number) not in (int, float):
                    raise expected("a number", number)
                return str(number) if type(number) is int and abs(number) > 2**53 - 1 else number
            case "booleanValueNode":
                return self.flag(node, "boolean")
            case "stringValueNode":
                return self.text(node, "string", 65_536)
            case "bytesValueNode":
                return "0x" + self._bytes(node).hex()
            case "publicKeyValueNode":
                key = node.get("publicKey")
                if type(key) is not str or not is_address(key):
                    raise SourceError(
                        f"{kind_of(key)} is no address (32 bytes in base58).", path="publicKey"
                    )
                return key
            case "noneValueNode":
                return None
            case "someValueNode":
                inner = node.get("value")
                value = self.value(inner, depth + 1)
                nested = type(inner) is dict and inner.get("kind") in (
                    "someValueNode",
                    "noneValueNode",
                )
                return {"some": value} if nested else value
            case "arrayValueNode" | "setValueNode" | "tupleValueNode":
                return [self.value(i, depth + 1) for i in self._items(node, "items")]
            case "mapValueNode":
                return [
                    [self.value(e.get("key"), depth + 1), self.value(e.get("value"), depth + 1)]
                    for e in self._items(node, "entries")
                ]
            case "structValueNode":
                return {
                    self.name(f): self.value(f.get("value"), depth + 1)
                    for f in self._items(node, "fields")
                }
            case "enumValueNode":
                name = self.name(node, "variant")
                return (
                    name
                    if node.get("value") is None
                    else {name: self.value(node["value"], depth + 1)}
                )
            case "constantValueNode":
                return self.value(node.get("value"), depth + 1)
            case "injectedValueNode":
                if node.get("fallback") is not None:
                    return self.value(node["fallback"], depth + 1)
        raise SourceError(f"found {abbr(kind, 60)} where a plain value must stand.")

    def _items(self, node: Node, key: str) -> list[Any]:
        items = node.get(key) or []
        if type(items) is not list or any(type(i) is not dict for i in items):
            raise SourceError(f"found {kind_of(items)} where a list of nodes must stand.", path=key)
        return items

    def _bytes(self, node: Node) -> bytes:
        data, encoding = node.get("data"), node.get("encoding")
        if type(data) is not str:
            raise expected("the bytes as text", data)
        return self._decoded(data, encoding)

    def _decoded(self, text: str, encoding: object) -> bytes:
        try:
            match encoding:
                case (
                    "base16"
                ):  # a digit alone is a byte, as for Codama's encoders; other odd lengths are none
                    return bytes([int(text, 16)]) if len(text) == 1 else bytes.fromhex(text)
                case "base58":
                    if len(text) > 4096:
                        raise ValueError("too long")
                    return b58decode(text)
                case "base64":
                    return base64.b64decode(text, validate=True)
                case "utf8":
                    return text.encode()
        except (ValueError, binascii.Error):
            pass
        raise SourceError(f"{abbr(text, 40)} is no {abbr(encoding, 20)}.")

    def encode(self, kind: Type, node: Any, depth: int = 0) -> bytes:
        """A constant's bytes: numbers, bytes, text, keys, enum variants. Raises SourceError for other types."""
        if type(node) is not dict or depth > MAX_DEPTH:
            raise expected("a value node", node)
        value = node.get("kind")
        if value == "constantValueNode":
            return self.encode(self.type(node.get("type")), node.get("value"), depth + 1)
        match kind:
            case Int(bits, signed, big) if (
                value == "numberValueNode" and type(node.get("number")) is int
            ):
                try:
                    return int(node["number"]).to_bytes(
                        bits // 8, "big" if big else "little", signed=signed
                    )
                except OverflowError:
                    raise SourceError(
                        f"{node['number']} does not fit {type_text(kind)}.", path="number"
                    ) from None
            case ShortU16() if value == "numberValueNode" and type(node.get("number")) is int:
                return _short_u16(node["number"])
            case Bool(size) if value == "booleanValueNode":
                return int(self.flag(node, "boolean")).to_bytes(
                    size.bits // 8, "big" if size.big_endian else "little"
                )
            case Pubkey() if value == "publicKeyValueNode":
                return b58decode(str(self.value(node)))
            case Bytes() if value == "bytesValueNode":
                return self._bytes(node)
            case String(encoding) if value == "stringValueNode" and type(node.get("string")) is str:
                return self._decoded(node["string"], encoding)
            case Bytes() | String() if (
                value == "stringValueNode" and type(node.get("string")) is str
            ):
                return str(node["string"]).encode()
            case Pubkey() | String() if value == "bytesValueNode":
                return self._bytes(node)
            case Array(Int(8, False, _), int()) if value == "bytesValueNode":
                return self._bytes(node)
            case FixedSize(item, size):
                data = self.encode(item, node, depth + 1)
                if len(data) > size:
                    raise SourceError(f"{len(data)} bytes do not fit {size}.")
                return data.ljust(size, b"\0")
            case SizePrefixed(item, prefix):
                data = self.encode(item, node, depth + 1)
                if isinstance(prefix, ShortU16):
                    return _short_u16(len(data)) + data
                return (
                    len(data).to_bytes(prefix.bits // 8, "big" if prefix.big_endian else "little")
                    + data
                )
            case HiddenPrefix(item, data):
                return data + self.encode(item, node, depth + 1)
            case HiddenSuffix(item, data):
                return self.encode(item, node, depth + 1) + data
            case Sentinel(item, mark):
                return self.encode(item, node, depth + 1) + mark
            case Offset(item, amount, when, "padded") if 0 <= amount <= MAX_CONSTANT:
                data, zeros = self.encode(item, node, depth + 1), bytes(amount)
                return zeros + data if when == "pre" else data + zeros
            case Amount(number, _, _) | DateTime(number):
                return self.encode(number, node, depth + 1)
            case Array(item, length) if value in ("arrayValueNode", "setValueNode"):
                items = self._items(node, "items")
                body = b"".join(self.encode(item, i, depth + 1) for i in items)
                if isinstance(length, Int):
                    return (
                        len(items).to_bytes(
                            length.bits // 8, "big" if length.big_endian else "little"
                        )
                        + body
                    )
                if length is None or length == len(items):
                    return body
            case Tuple(items_) if value == "tupleValueNode" and len(
                self._items(node, "items")
            ) == len(items_):
                return b"".join(
                    self.encode(t, i, depth + 1)
                    for t, i in zip(items_, self._items(node, "items"), strict=True)
                )
            case Enum(variants, tag) if value == "enumValueNode":
                for i, variant in enumerate(variants):
                    if variant.name == node.get("variant"):
                        place = i if variant.value is None else variant.value
                        head = self.encode(
                            tag, {"kind": "numberValueNode", "number": place}, depth + 1
                        )
                        if variant.payload is None:
                            return head
                        return head + self.encode(variant.payload, node.get("value"), depth + 1)
                raise SourceError(f"no variant {abbr(node.get('variant'), 40)}.", path="variant")
            case Struct(fields) if value == "structValueNode":
                given = {self.name(f): f.get("value") for f in self._items(node, "fields")}
                return b"".join(self.encode(f.type, given.get(f.name), depth + 1) for f in fields)
            case Link(name, _):
                definition = self.types.get(name)
                if definition is None:
                    raise SourceError(f"no type named {name!r}.")
                return self.encode(definition.type, node, depth + 1)
        raise SourceError(f"{abbr(value, 40)} is no constant of type {type_text(kind)[:80]}.")

    # --- what a client fills in

    def fill(self, node: Any, depth: int = 0) -> Value | None:
        """A default value of an account or argument as the model says it; None with a finding when it is not known."""
        try:
            if type(node) is not dict:
                raise expected("a value node", node)
            if depth > MAX_DEPTH:
                raise SourceError(f"values nest deeper than {MAX_DEPTH} levels.")
            match node.get("kind"):
                case "accountValueNode":
                    return AccountValue((self.name(node),))
                case "accountBumpValueNode":
                    return AccountBumpValue((self.name(node),))
                case "accountFieldValueNode":
                    path = node.get("path")
                    field = (
                        tuple(self.clean_name(p) for p in path.split("."))
                        if type(path) is str and path
                        else ()
                    )
                    return AccountValue((self.name(node, "account"),), field)
                case "argumentValueNode":
                    return ArgValue((self.name(node),))
                case "identityValueNode":
                    return IdentityValue()
                case "payerValueNode":
                    return PayerValue()
                case "programIdValueNode":
                    return ProgramIdValue()
                case "programLinkNode":
                    name = self.name(node)
                    address = self.programs.get(node["name"])
                    if address is None or not is_address(address):
                        raise SourceError(f"no address is given for the program {name!r}.")
                    return ConstValue(address)
                case "publicKeyValueNode":
                    return ConstValue(self.value(node))
                case "resolverValueNode":
                    depends = tuple(self.name(d) for d in self._items(node, "dependsOn"))
                    return ResolverValue(self.name(node), depends)
                case "conditionalValueNode":
                    return self._conditional(node, depth)
                case "pdaValueNode":
                    return PdaValue(self.pda_value(node))
                case "constantValueNode":
                    return ConstValue(self.value(node), self.type(node.get("type")))
                case _:
                    return ConstValue(self.value(node))
        except SourceError as error:
            self.note(f"the default value is not read: {error.text}", error.path, "warning")
            return None

    def _conditional(self, node: Node, depth: int) -> Value:
        condition = self.fill(node.get("condition"), depth + 1)
        if condition is None:
            raise SourceError("its condition is not known.", path="condition")
        equals = self.value(node["value"]) if node.get("value") is not None else None
        then = self.fill(node["ifTrue"], depth + 1) if node.get("ifTrue") is not None else None
        otherwise = (
            self.fill(node["ifFalse"], depth + 1) if node.get("ifFalse") is not None else None
        )
        return ConditionalValue(condition, equals, then, otherwise)

    # --- PDAs

    def pda_value(self, node: Node) -> Pda:
        """A pdaValueNode: the PDA that it links to (or holds), with the values of its seeds."""
        pda = node.get("pda")
        address = None
        if type(pda) is dict and pda.get("kind") == "pdaLinkNode":
            name, program = pda.get("name"), pda.get("program")
            space = self.space
            if type(program) is dict and type(program.get("name")) is str:
                space = self._space(program["name"])
                address = self.programs.get(program["name"]) if space else None
            found = self.pdas.get(f"{space}{name}")
            if found is None:
                raise SourceError(f"no PDA named {abbr(name, 60)}.", path="pda")
            pda = found
        if type(pda) is not dict or pda.get("kind") != "pdaNode":
            raise SourceError(f"found {kind_of(pda)} where a pdaNode must stand.", path="pda")
        values = {self.name(s): s.get("value") for s in self._items(node, "seeds")}
        out = self.pda(pda, values, address or "")
        if node.get("programId") is not None:
            program_value = self.fill(node["programId"])
            out = Pda(
                out.seeds, program_value or ResolverValue("its program is not known"), out.name
            )
        return out

    def pda(self, node: Node, values: dict[Any, Any] | None, address: str) -> Pda:
        """A pdaNode. Without *values* its variable seeds stay arguments of their own names."""
        seeds = self.each(node, "seeds", lambda seed: self.seed(seed, values))
        given = node.get("programId") or address or None
        program: Value | None = None
        if given is not None:
            known = self.address(given, "the PDA's program", "programId")
            program = ConstValue(known) if known else ResolverValue("its program is no address")
        return Pda(seeds, program, self.name(node))

    def seed(self, node: Node, values: dict[Any, Any] | None) -> Seed:
        """One seed of a PDA."""
        kind = node.get("kind")
        if kind == "constantPdaSeedNode":
            value = node.get("value")
            if type(value) is dict and value.get("kind") == "programIdValueNode":
                return ProgramIdSeed()
            return self._const_seed(self.type(node.get("type")), value)
        if kind == "variablePdaSeedNode":
            name, shape = self.name(node), self.type(node.get("type"))
            if values is None:
                return ArgSeed((name,), shape)
            value = values.get(name)
            if type(value) is not dict:
                return UnknownSeed(f"nothing gives the seed {name!r}")
            match value.get("kind"):
                case "accountValueNode":
                    return AccountSeed(
                        (self.name(value),), (), None, None if shape == PUBKEY else shape
                    )
                case "argumentValueNode":
                    return ArgSeed((self.name(value),), shape)
                case _:
                    return self._const_seed(shape, value)
        why = f"a seed of kind {abbr(kind, 40)}, which this reader does not know"
        self.note(why, "kind", "error")
        return UnknownSeed(why)

    def _const_seed(self, shape: Type, value: Any) -> Seed:
        try:
            return ConstSeed(self.encode(shape, value))
        except SourceError as error:
            self.note(error.text, "value", "error")
            return UnknownSeed(f"a constant that cannot be read: {error.text}")

    # --- instructions

    def instruction(self, node: Node) -> Instruction:
        self.count_unread(node) if node.get("kind") == "instructionNode" else self._expect(
            node, "instructionNode"
        )
        strategy = node.get("optionalAccountStrategy")
        if strategy not in (None, "programId", "omitted"):
            self.note(f"found {kind_of(strategy)}; read as programId", "optionalAccountStrategy")
        data = _Data(self, node, "arguments")
        self.each(node, "arguments", data.add)
        first, also = data.discriminators()
        accounts = self.each(node, "accounts", self.account)
        return Instruction(
            self.name(node),
            first,
            tuple(data.fields),
            accounts,
            self.each(node, "remainingAccounts", self.remaining),
            docs=self.docs(node) if "docs" in node else (),
            optional_accounts="omitted" if strategy == "omitted" else "program_id",
            also=also,
            arg_values=tuple(data.values),
        )

    def _expect(self, node: Node, kind: str) -> None:
        raise SourceError(
            f"found {abbr(node.get('kind'), 60)} where a node of kind {kind} must stand.",
            path="kind",
        )

    def account(self, node: Node) -> Account:
        self.count_unread(node) if node.get("kind") == "instructionAccountNode" else self._expect(
            node, "instructionAccountNode"
        )
        signer = node.get("isSigner", False)
        if signer != "either":
            signer = self.flag(node, "isSigner")
        default = None
        if node.get("defaultValue") is not None:
            default = self.inside("defaultValue", self.fill, node["defaultValue"])
        return Account(
            self.name(node),
            self.flag(node, "isWritable"),
            signer,
            self.flag(node, "isOptional"),
            default=default,
            docs=self.docs(node) if "docs" in node else (),
        )

    def remaining(self, node: Node) -> RemainingAccounts:
        if node.get("kind") != "instructionRemainingAccountsNode":
            self._expect(node, "instructionRemainingAccountsNode")
        self.count_unread(node)
        value = node.get("value")
        if type(value) is not dict:
            raise SourceError(
                f"found {kind_of(value)} where a value node must stand.", path="value"
            )
        if value.get("kind") == "resolverValueNode":
            self.note(
                "remaining accounts that a client's own code finds; they are given as a list",
                "value",
                "info",
            )
        signer = node.get("isSigner", False)
        if signer != "either":
            signer = self.flag(node, "isSigner")
        return RemainingAccounts(
            self.inside("value", self.name, value),
            self.flag(node, "isWritable"),
            signer,
            self.flag(node, "isOptional"),
            self.docs(node) if "docs" in node else (),
        )

    # --- accounts and events

    def account_type(self, node: Node) -> AccountType:
        self.count_unread(node) if node.get("kind") == "accountNode" else self._expect(
            node, "accountNode"
        )
        body, first, also = self._described(node)
        size = node.get("size")
        if size is not None:
            size = self.whole(node, "size")
        for d in (first, *also):
            if d.size is not None and size is None:
                size = d.size
        pda = None
        link = node.get("pda")
        if type(link) is dict:
            found = self.pdas.get(f"{self.space}{link.get('name')}")
            if found is None:
                self.note(f"no PDA named {abbr(link.get('name'), 60)}", "pda")
            else:
                pda = self.inside("pda", lambda p: self.pda(p, None, ""), found)
        return AccountType(
            self.name(node), first, body, self.docs(node) if "docs" in node else (), size, pda, also
        )

    def event(self, node: Node) -> Event:
        self.count_unread(node) if node.get("kind") == "eventNode" else self._expect(
            node, "eventNode"
        )
        body, first, also = self._described(node)
        if also:
            self.note(
                "an event with several discriminators is known by the first", "discriminators"
            )
        return Event(self.name(node), first, body, self.docs(node) if "docs" in node else ())

    def _described(self, node: Node) -> tuple[Type, Discriminator, tuple[Discriminator, ...]]:
        """The data of an account or event without its leading constants, and what it is known by."""
        data = node.get("data")
        parts = _Data(self, node, "data")
        if type(data) is dict and data.get("kind") == "structTypeNode":
            self.inside("data", lambda d: self.each(d, "fields", parts.add), data)
            first, also = parts.discriminators()
            return Struct(tuple(parts.fields)), first, also
        body = self.inside("data", self.type, data)
        if isinstance(body, HiddenPrefix):
            parts.prefix = body.data
            body = body.item
        first, also = parts.discriminators()
        return body, first, also


class _Data:
    """An instruction's arguments or a struct's fields: leading constants become the discriminator, the others stay
    fields."""

    def __init__(self, reader: _Codama, node: Node, what: str) -> None:
        self.reader, self.node, self.what = reader, node, what
        self.prefix = b""
        self.folded: set[str] = set()
        self.fields: list[Field] = []
        self.values: list[tuple[str, Value]] = []
        self.raw: dict[str, Node] = {}

    def add(self, node: Node) -> None:
        reader = self.reader
        field = reader.field(node)
        self.raw[field.name] = node
        given = node.get("defaultValue")
        if given is None:
            self.fields.append(field)
            return
        omitted = node.get("defaultValueStrategy") == "omitted"
        contextual = type(given) is dict and _kind(given) in _CONTEXTUAL
        if omitted and not contextual and not self.fields:
            try:
                self.prefix += reader.encode(field.type, given)
                self.folded.add(field.name)
                return
            except SourceError as error:
                reader.note(f"a constant that is not read: {error.text}", "defaultValue", "error")
        if contextual:
            value = reader.inside("defaultValue", reader.fill, given)
            if value is not None:
                self.values.append((field.name, value))
        self.fields.append(field)

    def discriminators(self) -> tuple[Discriminator, tuple[Discriminator, ...]]:
        """The leading discriminator, and what must match beside it."""
        also: list[Discriminator] = []
        self.reader.each(self.node, "discriminators", lambda node: self._one(node, also))
        if self.prefix:
            return Discriminator(self.prefix, "codama"), tuple(also)
        if also:
            return also[0], tuple(also[1:])
        return Discriminator(b"", "none"), ()

    def _before_fields(self, size: int) -> bool:
        """Does a constant of *size* bytes, at the start of an account or event that lists no field for it, come before
        the fields? An event's always does: its fields are what the program was given to log. An account's does
        where no whole fields fill those bytes. (Converters of Anchor IDLs before Codama's hidden prefixes left the
        eight bytes out of both.)"""
        if self.what == "arguments":
            return False
        if self.node.get("kind") == "eventNode":
            return True
        covered: int | None = 0
        for field in self.fields:
            width = self.reader.width_of(field.type)
            covered = None if width is None or covered is None else covered + width
            if covered is None or covered >= size:
                break
        return covered != size

    def _one(self, node: Node, also: list[Discriminator]) -> None:
        kind, reader = node.get("kind"), self.reader
        if kind == "sizeDiscriminatorNode":
            size = reader.whole(node, "size")
            also.append(Discriminator(b"", "codama", 0, False, size))
            return
        offset = reader.whole(node, "offset") if node.get("offset") is not None else 0
        if not 0 <= offset <= MAX_LENGTH:
            raise SourceError(f"{offset} is no offset.", path="offset")
        if kind == "constantDiscriminatorNode":
            data = reader.inside("constant", reader.constant_bytes, node.get("constant"))
            if data and self.prefix[offset : offset + len(data)] == data:
                return
            if offset == len(self.prefix) and self._before_fields(len(data)):
                self.prefix += data
                return
            if self.what == "arguments" and offset <= len(self.prefix):
                reader.note(
                    f"the discriminator 0x{data.hex()} is no argument: as in Codama's own encoders, the data is the "
                    "arguments alone, and known by it only where they hold it",
                    "constant",
                )
            also.append(Discriminator(data, "codama", offset, False))
        elif kind == "fieldDiscriminatorNode":
            name = reader.name(node)
            if name in self.folded:
                return
            source = self.raw.get(name)
            given = source.get("defaultValue") if source else None
            field = next((f for f in self.fields if f.name == name), None)
            if field is None or given is None:
                reader.note(
                    f"the discriminator {name!r} is no field with a constant; not used to tell data apart",
                    "name",
                )
                return
            try:
                also.append(
                    Discriminator(reader.encode(field.type, given), "codama", offset, False)
                )
            except SourceError as error:
                reader.note(f"the discriminator {name!r} is not read: {error.text}", "name")
        else:
            reader.note(
                f"a discriminator of kind {abbr(kind, 40)}, which this reader does not know", "kind"
            )


def _kind(node: Node) -> str:
    kind = node.get("kind")
    return kind if type(kind) is str else ""


def _nodes(value: Any) -> list[Node]:
    """The nodes of a list; what is none is told by who reads it."""
    return [n for n in value if type(n) is dict] if type(value) is list else []


def _short_u16(number: int) -> bytes:
    if not 0 <= number < 2**16:
        raise SourceError(f"{abbr(number, 40)} does not fit shortU16.")
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_TYPES: dict[str, Callable[[_Codama, Node, int], Type]] = {
    "numberTypeNode": _Codama._number,
    "amountTypeNode": _Codama._amount,
    "solAmountTypeNode": _Codama._amount,
    "dateTimeTypeNode": _Codama._date,
    "booleanTypeNode": _Codama._boolean,
    "publicKeyTypeNode": lambda reader, node, depth: PUBKEY,
    "bytesTypeNode": lambda reader, node, depth: Bytes(),
    "stringTypeNode": _Codama._string,
    "fixedSizeTypeNode": _Codama._fixed_size,
    "sizePrefixTypeNode": _Codama._size_prefix,
    "sentinelTypeNode": _Codama._sentinel,
    "hiddenPrefixTypeNode": _Codama._hidden,
    "hiddenSuffixTypeNode": _Codama._hidden,
    "preOffsetTypeNode": _Codama._offset,
    "postOffsetTypeNode": _Codama._offset,
    "optionTypeNode": _Codama._option,
    "zeroableOptionTypeNode": _Codama._zeroable,
    "remainderOptionTypeNode": lambda reader, node, depth: RemainderOption(
        reader.type(node.get("item"), depth)
    ),
    "arrayTypeNode": _Codama._array,
    "setTypeNode": _Codama._array,
    "mapTypeNode": _Codama._map,
    "tupleTypeNode": _Codama._tuple,
    "structTypeNode": _Codama._struct,
    "enumTypeNode": _Codama._enum,
    "definedTypeLinkNode": _Codama._link,
}

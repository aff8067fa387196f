"""The model as an Anchor IDL in spec 0.1.0, and what was lost on the way.

What Anchor has words for is written with them. What it has not is written so that other Anchor tools still read the
document, and this library's reader gets the exact meaning back from the key "mcpsol" beside it:

- a type of the same bytes (an amount, a map, a fixed string): a defined type that is the nearest Anchor type, with
the exact one beside it;
- a type of other bytes (a length prefix of one byte, a big-endian number): the same, marked `"serialization":
  {"custom": "mcpsol"}`, so that other tools refuse it instead of writing wrong bytes;
- what is no type (defaults, size discriminators, remaining accounts): beside the instruction, argument, account or
event.

Reading the document again gives the same bytes for the same values. Each thing that only this library understands is
one `Loss`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from mcpsol_py.model.program import (
    IDL_KEY,
    Account,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountType,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Discriminator,
    Event,
    Instruction,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.serial import to_json, type_to_json
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
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
    Generic,
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
from mcpsol_py.names import pascal, snake
from mcpsol_py.solana.base58 import b58decode

__all__ = ["Loss", "to_anchor"]


@dataclass(frozen=True, slots=True)
class Loss:
    """What other Anchor tools do not learn from the document. `path` is the place in it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def to_anchor(model: ProgramModel) -> tuple[dict[str, Any], list[Loss]]:
    """The Anchor IDL 0.1.0 of *model*, ready for json.dumps, and the losses."""
    writer = _Writer(model)
    return writer.document(), writer.losses


#: words for types whose text says too little to name them by
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


class _Writer:
    def __init__(self, model: ProgramModel) -> None:
        self.losses: list[Loss] = []
        self.path = ""
        self.model = _with_free_names(model)
        self.types: dict[str, dict[str, Any]] = {}
        self.bodies: dict[str, Type] = {}
        self.known: dict[Type, str] = {}  # what is defined already needs no second definition
        for definition in self.model.types:
            self.bodies.setdefault(definition.name, definition.type)
            if (
                not definition.generics
                and definition.layout == "borsh"
                and definition.align is None
            ):
                self.known.setdefault(definition.type, definition.name)
        described: tuple[TypeDef | AccountType | Event, ...]
        described = (*self.model.types, *self.model.accounts, *self.model.events)
        self.taken = {snake(d.name) for d in described}  # Anchor's client writes names in camelCase
        self.hoisted: dict[tuple[Type, tuple[GenericParam, ...]], Any] = {}
        self.params: tuple[GenericParam, ...] = ()
        self.args: dict[str, Type] = {}

    def lose(self, message: str, path: str | None = None) -> None:
        self.losses.append(Loss(self.path if path is None else path, message))

    # --- the document

    def document(self) -> dict[str, Any]:
        model = self.model
        out: dict[str, Any] = {}
        if model.address is None:
            self.lose(
                "the program's address is not known; Anchor wants one (--program-id gives it)",
                "address",
            )
        else:
            out["address"] = model.address
        if model.facade_of is not None:
            self.lose(
                f"it is a facade: accounts, return data and errors are those of {model.facade_of}",
                "",
            )
        out["metadata"] = {"name": model.name, "version": model.version or "0.1.0", "spec": "0.1.0"}
        if model.docs:
            out["docs"] = list(model.docs)
        for i, definition in enumerate(model.types):
            if definition.name in self.types:
                self.lose(
                    f"a second type of the name {definition.name!r} is left out", f"types[{i}]"
                )
                continue
            self.path = f"types.{definition.name}"
            self.types[
                definition.name
            ] = {}  # its place in the list, before the types that its own fields need
            self.types[definition.name] = self.definition(definition)
        out["instructions"] = [
            self.instruction(ix, f"instructions[{i}]") for i, ix in enumerate(model.instructions)
        ]
        out["accounts"] = [
            self.described(a, f"accounts[{i}]") for i, a in enumerate(model.accounts)
        ]
        out["events"] = [self.described(e, f"events[{i}]") for i, e in enumerate(model.events)]
        out["errors"] = [
            {"code": e.code, "name": e.name, **({"msg": e.message} if e.message else {})}
            for e in model.errors
        ]
        constants = []
        for i, constant in enumerate(model.constants):
            self.path = f"constants[{i}]"
            entry: dict[str, Any] = {"name": constant.name, **_docs(constant.docs)}
            constants.append({**entry, "type": self.type(constant.type), "value": constant.value})
        out["constants"] = constants
        out["types"] = list(self.types.values())
        if model.pdas:
            self.lose(f"{len(model.pdas)} named PDAs that no instruction needs to hold", "")
        return {
            k: v for k, v in out.items() if v != [] or k in ("instructions", "accounts", "types")
        }

    # --- types

    def type(self, node: Type) -> Any:
        """The Anchor type that reads back as *node*: with Anchor's own words, or a defined type made for it."""
        match node:
            case Int(_, _, False):
                return type_text(node)
            case Float(bits, False):
                return f"f{bits}"
            case Bool(size) if size == U8:
                return "bool"
            case Pubkey():
                return "pubkey"
            case SizePrefixed() if node == BORSH_STRING:
                return "string"
            case SizePrefixed() if node == BORSH_BYTES:
                return "bytes"
            case Array(item, count) if count == U32:
                return {"vec": self.type(item)}
            case Array(item, Generic(name)):
                return {"array": [self.type(item), {"generic": name}]}
            case Array(item, int(count)):
                return {"array": [self.type(item), count]}
            case Option(item, prefix, False) if prefix == U8:
                return {"option": self.type(item)}
            case Generic(name):
                return {"generic": name}
            case Link(name, args):
                if name not in self.bodies:
                    self.undefined(name)
                return _defined(name, [self.argument(a) for a in args])
            case _:
                return self.hoist(node)

    def undefined(self, name: str) -> None:
        """A type that nothing defines: Anchor's tools refuse a document with one, so it is defined as unknown."""
        body = Unsupported(name, "it is referenced, not defined")
        self.bodies[name] = body
        self.types[name] = {}
        self.types[name] = self.definition(TypeDef(name, body, shape="alias"))

    def argument(self, arg: TypeArg) -> dict[str, Any]:
        if isinstance(arg.value, int):
            return {"kind": "const", "value": str(arg.value)}
        return {"kind": "type", "type": self.type(arg.value)}

    def hoist(self, node: Type) -> Any:
        """A defined type for what stands in place, or has no word in Anchor."""
        if node in self.known:
            return _defined(self.known[node], [])
        used = _generics(node)
        params = tuple(p for p in self.params if p.name in used)
        key = (node, params)
        if key not in self.hoisted:
            name = self.free_name(node)
            args = [
                {"kind": "type", "type": {"generic": p.name}} for p in params
            ]  # Anchor passes consts on so, too
            self.hoisted[key] = _defined(name, args)
            self.types[name] = {}
            shape: Any = (
                "struct"
                if isinstance(node, (Struct, Tuple))
                else "enum"
                if isinstance(node, Enum)
                else "alias"
            )
            self.types[name] = self.definition(TypeDef(name, node, generics=params, shape=shape))
        return self.hoisted[key]

    def free_name(self, node: Type) -> str:
        shown = self.path if isinstance(node, (Struct, Enum)) else type_text(node)[:200]
        base = (
            pascal(re.sub(r"[^0-9A-Za-z]+", " ", f"{_KINDS.get(type(node), '')} {shown}"))[:48]
            or "Type"
        )
        if base[0].isdigit():
            base = f"Type{base}"
        name, n = base, 1
        while snake(name) in self.taken:
            n += 1
            name = f"{base}{n}"
        self.taken.add(snake(name))
        return name

    def definition(self, definition: TypeDef) -> dict[str, Any]:
        outer, self.params = self.params, definition.generics
        try:
            return self._definition(definition)
        finally:
            self.params = outer

    def _definition(self, definition: TypeDef) -> dict[str, Any]:
        out: dict[str, Any] = {"name": definition.name, **_docs(definition.docs)}
        body, exact, same_bytes = self.body(definition.type)
        out.update(_layout(definition))
        if definition.generics:
            out["generics"] = [
                {"kind": "const", "name": g.name, "type": g.const}
                if g.const
                else {"kind": "type", "name": g.name}
                for g in definition.generics
            ]
        if not exact:
            extension: dict[str, Any] = {"type": type_to_json(definition.type)}
            if not same_bytes:
                if definition.layout != "borsh":
                    extension["layout"] = definition.layout
                    extension["align"] = definition.align
                out["serialization"] = {"custom": IDL_KEY}
                out.pop("repr", None)
                self.lose(
                    f"type {definition.name}: {_said(definition.type)}, which Anchor cannot say; its tools refuse it",
                    f"types.{definition.name}",
                )
            else:
                self.lose(
                    f"type {definition.name}: {_said(definition.type)} is written as its bytes alone",
                    f"types.{definition.name}",
                )
            out[IDL_KEY] = extension
        out["type"] = body
        return out

    def body(self, node: Type) -> tuple[dict[str, Any], bool, bool]:
        """A definition's body; does reading it give *node* back; does it lie in the same bytes?"""
        match node:
            case Struct(fields):
                return {"kind": "struct", "fields": [self.field(f) for f in fields]}, True, True
            case Tuple(items) if items:
                return {"kind": "struct", "fields": [self.type(i) for i in items]}, True, True
            case Tuple():
                return {"kind": "struct", "fields": []}, False, True
            case Enum(variants, tag):
                plain = tag == U8 and all(v.value in (None, i) for i, v in enumerate(variants))
                exact = plain and all(_native_payload(v.payload) for v in variants)
                return (
                    {"kind": "enum", "variants": [self.variant(v) for v in variants]},
                    exact,
                    plain,
                )
            case Option(item, prefix, True):
                return (
                    _parts(
                        ("tag", type_text(replace(prefix, big_endian=False))),
                        ("value", self.type(item)),
                    ),
                    False,
                    (not prefix.big_endian),
                )
            case HiddenPrefix(item, data):
                return (
                    _parts(("prefix", _bytes(len(data))), ("value", self.type(item))),
                    False,
                    True,
                )
            case HiddenSuffix(item, data):
                return (
                    _parts(("value", self.type(item)), ("suffix", _bytes(len(data)))),
                    False,
                    True,
                )
            case Offset(item, amount, when, "padded") if amount >= 0:
                parts = (("value", self.type(item)), ("padding", _bytes(amount)))
                return _parts(*(parts if when == "post" else reversed(parts))), False, True
            case _:
                near, same_bytes = self.near(node)
                exact = near is None
                return (
                    {"kind": "type", "alias": self.type(node) if exact else near},
                    exact,
                    same_bytes,
                )

    def variant(self, variant: Variant) -> dict[str, Any]:
        out: dict[str, Any] = {"name": variant.name, **_docs(variant.docs)}
        match variant.payload:
            case None:
                pass
            case Struct(fields):
                if fields:
                    out["fields"] = [self.field(f) for f in fields]
            case Tuple(items):
                if items:
                    out["fields"] = [self.type(i) for i in items]
            case other:
                out["fields"] = [self.type(other)]
        return out

    def near(self, node: Type) -> tuple[Any, bool]:
        """The nearest Anchor type of one that Anchor has no word for, and whether it has the same bytes; None: it has
        a word."""
        match node:
            case Amount(number, _, _) | DateTime(number):
                return self.type(number) if not number.big_endian else type_text(
                    replace(number, big_endian=False)
                ), (not number.big_endian)
            case Bool(size) if size != U8:
                return type_text(replace(size, big_endian=False)), not size.big_endian
            case Int(bits, signed, True):
                return type_text(Int(bits, signed)), bits == 8
            case Float(bits, True):
                return f"f{bits}", False
            case ShortU16():
                return "u16", False
            case String(encoding):
                return "string" if encoding == "utf8" else "bytes", False
            case Bytes():
                return "bytes", False
            case FixedSize(_, size):
                return {"array": ["u8", size]}, True
            case SizePrefixed() if node in (BORSH_STRING, BORSH_BYTES):
                return None, True
            case SizePrefixed(_, prefix):
                return "bytes", prefix == U32
            case Set(item, count):
                near, same = self.near(Array(item, count))
                return near if near is not None else self.type(Array(item, count)), same
            case Map(key, value, count):
                pairs = Array(Tuple((key, value)), count)
                near, same = self.near(pairs)
                return near if near is not None else self.type(pairs), same
            case Array(item, count) if not isinstance(count, (int, Generic)) and count != U32:
                return {"vec": self.type(item)}, False
            case Option(item, prefix, _) if prefix != U8:
                return {"option": self.type(item)}, False
            case ZeroableOption(item, None):
                return self.type(item), True
            case ZeroableOption(item, _):
                return self.type(item), True
            case RemainderOption(item):
                return {"option": self.type(item)}, False
            case Sentinel(item, _) | Offset(item, _, _, _):
                return self.type(item), False
            case Unsupported():
                return "bytes", False
            case _:
                return None, True

    def field(self, field: Field) -> dict[str, Any]:
        """A struct's field or an argument; what it has when it is not given stands in the extension."""
        out: dict[str, Any] = {
            "name": field.name,
            **_docs(field.docs),
            "type": self.type(field.type),
        }
        if field.default is not None:
            out[IDL_KEY] = {"default": to_json(field.default)}
            what = "is always" if field.default.omitted else "is, when not given,"
            self.lose(
                f"{field.name} {what} {str(field.default.value)[:60]}; other tools ask for it"
            )
        return out

    # --- instructions

    def instruction(self, ix: Instruction, path: str) -> dict[str, Any]:
        self.path = path
        self.args = {a.name: a.type for a in ix.args}
        extension: dict[str, Any] = {}
        out: dict[str, Any] = {
            "name": ix.name,
            **_docs(ix.docs),
            "discriminator": self.discriminator(ix.discriminator, extension),
        }
        out["accounts"] = self.accounts(ix.accounts, (), f"{path}.accounts")
        args = []
        for i, arg in enumerate(ix.args):
            self.path = f"{path}.args[{i}]"
            args.append(self.field(arg))
        self.path = path
        out["args"] = args
        if ix.returns is not None:
            out["returns"] = self.type(ix.returns)
        if ix.also:
            extension["also"] = to_json(ix.also)
            self.lose("further discriminators, by which it is told from others")
        if ix.remaining:
            extension["remaining"] = to_json(ix.remaining)
            self.lose(
                f"the accounts that follow the named ones: {', '.join(r.name for r in ix.remaining)}"
            )
        if ix.optional_accounts != "program_id":
            extension["optional_accounts"] = ix.optional_accounts
            if any(a.optional for a in _flat(ix.accounts)):
                self.lose(
                    "an absent optional account is left out of the list; Anchor puts the program's id there"
                )
        if ix.arg_values:
            extension["arg_values"] = [[name, to_json(value)] for name, value in ix.arg_values]
            self.lose(f"a client fills in {', '.join(name for name, _ in ix.arg_values)} by itself")
        if ix.disabled is not None:
            extension["disabled"] = ix.disabled
            self.lose(f"it cannot be served: {ix.disabled}")
        if extension:
            out[IDL_KEY] = extension
        return out

    def discriminator(self, known: Discriminator, extension: dict[str, Any]) -> list[int]:
        plain = known.offset == 0 and known.size is None and (known.consumed or not known.value)
        if plain:
            return list(known.value)
        extension["discriminator"] = to_json(known)
        if known.size is not None:
            self.lose(f"it is known by its size of {known.size} bytes")
        if known.value:
            self.lose(
                f"it is known by 0x{known.value.hex()} at byte {known.offset} of its own fields"
            )
        return []

    def accounts(
        self, items: tuple[AccountItem, ...], prefix: tuple[str, ...], path: str
    ) -> list[dict[str, Any]]:
        out = []
        for i, item in enumerate(items):
            self.path = f"{path}[{i}]"
            if isinstance(item, AccountGroup):
                inner = self.accounts(item.accounts, (*prefix, item.name), f"{path}[{i}].accounts")
                out.append({"name": item.name, **_docs(item.docs), "accounts": inner})
            else:
                out.append(self.account(item, prefix))
        return out

    def account(self, account: Account, prefix: tuple[str, ...]) -> dict[str, Any]:
        extension: dict[str, Any] = {}
        out: dict[str, Any] = {"name": account.name, **_docs(account.docs)}
        if account.writable:
            out["writable"] = True
        if account.signer == "either":
            extension["signer"] = "either"
            self.lose("it may sign; Anchor knows only yes and no")
        elif account.signer:
            out["signer"] = True
        if account.optional:
            out["optional"] = True
        if account.address is not None:
            out["address"] = account.address
        if account.pda is not None:
            written = self.pda(account.pda, prefix)
            if written is None:
                extension["pda"] = to_json(account.pda)
                self.lose("seeds that Anchor cannot say")
            else:
                out["pda"] = written
                if any(
                    isinstance(s, (ArgSeed, AccountSeed)) and s.type is not None
                    for s in account.pda.seeds
                ):
                    extension["pda"] = to_json(
                        account.pda
                    )  # the same, with the types that Anchor leaves to its reader
        if account.relations:
            out["relations"] = list(account.relations)
        if account.default is not None:
            extension["default"] = to_json(account.default)
            match account.default:
                case ConstValue(str(address), None) if "address" not in out:
                    out["address"] = address
                    self.lose(
                        "its address is a default that may be replaced; Anchor holds it fixed"
                    )
                case PdaValue(pda) if (
                    written := self.pda(pda, prefix)
                ) is not None and "pda" not in out:
                    out["pda"] = written
                    self.lose(
                        "its address is a default that may be replaced; Anchor holds it fixed"
                    )
                case _:
                    self.lose("how a client fills it in")
        if extension:
            out[IDL_KEY] = extension
        return out

    def pda(self, pda: Pda, prefix: tuple[str, ...]) -> dict[str, Any] | None:
        """{"seeds": …, "program": …}, or None when Anchor cannot say all of it."""
        seeds = []
        for seed in pda.seeds:
            written = self.seed(seed, prefix)
            if written is None:
                return None
            seeds.append(written)
        out: dict[str, Any] = {"seeds": seeds}
        if pda.program is not None:
            program = self.program(pda.program, prefix)
            if program is None:
                return None
            out["program"] = program
        return out

    def seed(self, seed: object, prefix: tuple[str, ...]) -> dict[str, Any] | None:
        match seed:
            case ConstSeed(value):
                return {"kind": "const", "value": list(value)}
            case ArgSeed(path, kind, None) if kind is None or self.as_given(path, kind):
                return (
                    {"kind": "arg", "path": ".".join(path)}
                    if not any("." in p for p in path)
                    else None
                )
            case AccountSeed(account, field, kind, shape, None, None, _) if shape in (None, PUBKEY):
                steps = (*_relative(account, prefix), *field)
                if any("." in s for s in steps):
                    return None
                return {
                    "kind": "account",
                    "path": ".".join(steps),
                    **({"account": kind} if kind else {}),
                }
            case ProgramIdSeed() if self.model.address is not None:
                return {"kind": "const", "value": list(b58decode(self.model.address))}
            case UnknownSeed():
                return None
            case _:
                return None

    def as_given(self, path: tuple[str, ...], kind: Type) -> bool:
        """Is the seed of type *kind* what Anchor's tools make of the argument at *path*? Text and bytes lose their
        length there."""
        node: Type | None = self.args.get(path[0]) if path else None
        for step in path[1:]:
            while isinstance(node, Link):
                node = self.bodies.get(node.name)
            fields = node.fields if isinstance(node, Struct) else ()
            node = next((f.type for f in fields if f.name == step), None)
        raw = {String(): BORSH_STRING, Bytes(): BORSH_BYTES}.get(kind, kind)
        return node is not None and node in (kind, raw)

    def program(self, value: Value, prefix: tuple[str, ...]) -> dict[str, Any] | None:
        match value:
            case ConstValue(str(address), None):
                return {"kind": "const", "value": list(b58decode(address))}
            case ProgramIdValue() if self.model.address is not None:
                return {"kind": "const", "value": list(b58decode(self.model.address))}
            case ArgValue(path):
                return {"kind": "arg", "path": ".".join(path)}
            case AccountValue(account, field, kind):
                steps = (*_relative(account, prefix), *field)
                return {
                    "kind": "account",
                    "path": ".".join(steps),
                    **({"account": kind} if kind else {}),
                }
            case _:
                return None

    # --- accounts and events

    def described(self, item: AccountType | Event, path: str) -> dict[str, Any]:
        """An entry of "accounts" or "events"; its type is the definition of its name."""
        self.path = path
        extension: dict[str, Any] = {}
        out: dict[str, Any] = {
            "name": item.name,
            **_docs(item.docs),
            "discriminator": self.discriminator(item.discriminator, extension),
        }
        body = item.type
        if not (isinstance(body, Link) and body.name == item.name and not body.args):
            shape: Any = (
                "struct"
                if isinstance(body, (Struct, Tuple))
                else "enum"
                if isinstance(body, Enum)
                else "alias"
            )
            if self.bodies.setdefault(item.name, body) != body:
                extension["type"] = type_to_json(body)
                self.lose(
                    f"another {item.name!r} is described already; this one's type stands beside it"
                )
            elif item.name not in self.types:
                self.types[item.name] = {}
                self.types[item.name] = self.definition(TypeDef(item.name, body, shape=shape))
        if isinstance(item, AccountType):
            for key in ("also", "size", "pda"):
                value = getattr(item, key)
                if value not in (None, ()):
                    extension[key] = to_json(value)
                    self.lose(
                        {
                            "also": "further discriminators",
                            "size": f"its size of {item.size} bytes",
                            "pda": "its own seeds",
                        }[key]
                    )
        if extension:
            out[IDL_KEY] = extension
        return out


def _said(node: Type) -> str:
    if isinstance(node, Enum):
        return (
            f"an enum with {type_text(node.tag)} tags"
            if node.tag != U8
            else "an enum with tags of its own choice"
        )
    return type_text(node)[:80]


def _native_payload(payload: Type | None) -> bool:
    """Does the variant read back as it is? One with no fields at all reads as a unit variant."""
    return (
        payload is None
        or (isinstance(payload, Struct) and bool(payload.fields))
        or (isinstance(payload, Tuple) and bool(payload.items))
    )


def _parts(*parts: tuple[str, Any]) -> dict[str, Any]:
    """A struct of these fields, which lies in the same bytes as something that Anchor has no word for."""
    return {"kind": "struct", "fields": [{"name": name, "type": kind} for name, kind in parts]}


def _bytes(count: int) -> dict[str, Any]:
    return {"array": ["u8", count]}


def _docs(docs: tuple[str, ...]) -> dict[str, Any]:
    return {"docs": list(docs)} if docs else {}


def _defined(name: str, args: list[dict[str, Any]]) -> dict[str, Any]:
    return {"defined": {"name": name, **({"generics": args} if args else {})}}


def _layout(definition: TypeDef) -> dict[str, Any]:
    """Anchor's `serialization` and `repr`."""
    declared = dict(definition.declared)
    layout = definition.layout
    serialization: Any = declared.get("serialization")
    if layout.startswith("custom:"):
        serialization = {"custom": layout.removeprefix("custom:")}
    elif serialization is None and layout != "borsh":
        serialization = "bytemuckunsafe" if layout == "packed" else "bytemuck"
    out: dict[str, Any] = {}
    if serialization is not None:
        out["serialization"] = serialization
    kind = declared.get(
        "repr",
        ""
        if layout == "borsh" or "serialization" in declared
        else "transparent"
        if layout == "transparent"
        else "c",
    )
    packed = "packed" in declared or (
        layout == "packed" and kind != "" and "serialization" not in declared
    )
    if kind or packed or definition.align is not None:
        out["repr"] = {
            "kind": kind or "rust",
            **({"packed": True} if packed else {}),
            **({"align": definition.align} if definition.align is not None else {}),
        }
    return out


def _relative(account: tuple[str, ...], prefix: tuple[str, ...]) -> tuple[str, ...]:
    """An account's path as it is written from within the group *prefix*."""
    return account[len(prefix) :] if prefix and account[: len(prefix)] == prefix else account


def _flat(items: tuple[AccountItem, ...]) -> list[Account]:
    out: list[Account] = []
    for item in items:
        out += _flat(item.accounts) if isinstance(item, AccountGroup) else [item]
    return out


# --- names -----------------------------------------------------------------------------------------------------------


def _with_free_names(model: ProgramModel) -> ProgramModel:
    """Anchor finds an account's or event's type by its name. Where a different type holds that name, the type is
    renamed."""
    wanted: dict[str, Type] = {}
    described: tuple[AccountType | Event, ...] = (*model.accounts, *model.events)
    for item in described:
        if not (isinstance(item.type, Link) and item.type.name == item.name):
            wanted.setdefault(item.name, item.type)
    names = {d.name for d in model.types} | set(wanted)
    renamed: dict[str, str] = {}
    for definition in model.types:
        if (
            definition.name in wanted
            and definition.type != wanted[definition.name]
            and definition.name not in renamed
        ):
            name, n = f"{definition.name}Type", 1
            while name in names:
                n += 1
                name = f"{definition.name}Type{n}"
            names.add(name)
            renamed[definition.name] = name
    if not renamed:
        return model

    def link(node: Type) -> Type:
        return _relink(node, renamed)

    def args(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(replace(f, type=link(f.type)) for f in fields)

    return replace(
        model,
        types=tuple(
            replace(d, name=renamed.get(d.name, d.name), type=link(d.type)) for d in model.types
        ),
        instructions=tuple(
            replace(
                ix, args=args(ix.args), returns=None if ix.returns is None else link(ix.returns)
            )
            for ix in model.instructions
        ),
        accounts=tuple(replace(a, type=link(a.type)) for a in model.accounts),
        events=tuple(replace(e, type=link(e.type)) for e in model.events),
        constants=tuple(replace(c, type=link(c.type)) for c in model.constants),
    )


def _relink(node: Type, renamed: dict[str, str]) -> Type:
    """*node* with links to renamed types."""
    match node:
        case Link(name, args):
            return Link(
                renamed.get(name, name),
                tuple(
                    a if isinstance(a.value, int) else TypeArg(_relink(a.value, renamed))
                    for a in args
                ),
            )
        case Struct(fields):
            return Struct(tuple(replace(f, type=_relink(f.type, renamed)) for f in fields))
        case Tuple(items):
            return Tuple(tuple(_relink(i, renamed) for i in items))
        case Enum(variants, _):
            return replace(
                node,
                variants=tuple(
                    v if v.payload is None else replace(v, payload=_relink(v.payload, renamed))
                    for v in variants
                ),
            )
        case Map(key, value, _):
            return replace(node, key=_relink(key, renamed), value=_relink(value, renamed))
        case (
            SizePrefixed()
            | FixedSize()
            | Sentinel()
            | HiddenPrefix()
            | HiddenSuffix()
            | Offset()
            | Option()
            | ZeroableOption()
            | RemainderOption()
            | Array()
            | Set()
        ):
            return replace(node, item=_relink(node.item, renamed))
        case _:
            return node


def _generics(node: Type) -> set[str]:
    """The generic parameters that *node* uses."""
    match node:
        case Generic(name):
            return {name}
        case Link(_, args):
            return set().union(*(_generics(a.value) for a in args if not isinstance(a.value, int)))
        case Struct(fields):
            return set().union(*(_generics(f.type) for f in fields))
        case Tuple(items):
            return set().union(*(_generics(i) for i in items))
        case Enum(variants, _):
            return set().union(*(_generics(v.payload) for v in variants if v.payload is not None))
        case Map(key, value, _):
            return _generics(key) | _generics(value)
        case Array(item, count) | Set(item, count):
            return _generics(item) | ({count.name} if isinstance(count, Generic) else set())
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
        ):
            return _generics(item)
        case _:
            return set()

"""The type nodes: what a value is and how its bytes lie. Frozen and hashable.

The vocabulary is small and composes (it follows Codama's cut, since that is the widest dialect):

| node | bytes |
|---|---|
| Int, ShortU16, Float, Bool, Pubkey | fixed width, little-endian unless `big_endian`; ShortU16 is Solana's
compact-u16 |
| String, Bytes | all bytes that are left; a wrapper bounds them |
| SizePrefixed, FixedSize, Sentinel | bound the item: a length before it, n bytes (zero padded), an end mark |
| HiddenPrefix, HiddenSuffix | constant bytes before or after, that values do not show |
| Offset | moves the cursor before or after the wrapped type |
| Option | tag of `prefix` width, then the item; `fixed`: its room is there when absent too (COption) |
| ZeroableOption, RemainderOption | absent is `zero` bytes (all 0 when None); absent is the end of the data |
| Array, Set, Map | `count`: int = fixed, Int/ShortU16 = that prefix, None = to the end, Generic = const argument |
| Tuple, Struct, Enum | in order; an enum's `tag` is an Int |
| Link, Generic | by name: a defined type (with its arguments), a type parameter |
| Amount, DateTime | a number with a meaning that people and agents are told |
| Unsupported | what the source said and the model cannot; disables what needs it |

borsh's string is ``SizePrefixed(String(), U32)``; its vec is ``Array(item, U32)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mcpsol_py.model.fast_init import quicken

__all__ = [
    "BOOL",
    "BORSH_BYTES",
    "BORSH_STRING",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "I128",
    "I256",
    "INTS",
    "PUBKEY",
    "U8",
    "U16",
    "U32",
    "U64",
    "U128",
    "U256",
    "Amount",
    "Array",
    "Bool",
    "Bytes",
    "Count",
    "DateTime",
    "Default",
    "Enum",
    "Field",
    "FixedSize",
    "Float",
    "Generic",
    "GenericParam",
    "HiddenPrefix",
    "HiddenSuffix",
    "Int",
    "Link",
    "Map",
    "Offset",
    "Option",
    "Pubkey",
    "RemainderOption",
    "Sentinel",
    "Set",
    "ShortU16",
    "SizePrefixed",
    "String",
    "Struct",
    "Tuple",
    "Type",
    "TypeArg",
    "TypeDef",
    "Unsupported",
    "Variant",
    "ZeroableOption",
    "field_keys",
    "vec",
]


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of `bits` (8, 16, 32, 64, 128 or 256)."""

    bits: int
    signed: bool = False
    big_endian: bool = False


@dataclass(frozen=True, slots=True)
class ShortU16:
    """Solana's compact-u16: one to three bytes of seven bits, low first."""


@dataclass(frozen=True, slots=True)
class Float:
    """IEEE 754, `bits` 32 or 64."""

    bits: int
    big_endian: bool = False


@dataclass(frozen=True, slots=True)
class Bool:
    """0 or 1 in the width of `size`; any other value is refused when read."""

    size: Int = Int(8)


@dataclass(frozen=True, slots=True)
class Pubkey:
    """32 bytes; base58 in JSON."""


@dataclass(frozen=True, slots=True)
class String:
    """Text of all bytes that are left. Encodings other than utf8 show the bytes as base16, base58 or base64 text
    (Codama).
    """

    encoding: Literal["utf8", "base16", "base58", "base64"] = "utf8"


@dataclass(frozen=True, slots=True)
class Bytes:
    """All bytes that are left."""


@dataclass(frozen=True, slots=True)
class SizePrefixed:
    """`prefix` holds the number of bytes that `item` takes."""

    item: Type
    prefix: Int | ShortU16


@dataclass(frozen=True, slots=True)
class FixedSize:
    """`item` within exactly `size` bytes: zero padded behind, refused if longer."""

    item: Type
    size: int


@dataclass(frozen=True, slots=True)
class Sentinel:
    """`item` ends where the bytes `mark` stand."""

    item: Type
    mark: bytes


@dataclass(frozen=True, slots=True)
class HiddenPrefix:
    """Constant `data` before `item`."""

    item: Type
    data: bytes


@dataclass(frozen=True, slots=True)
class HiddenSuffix:
    """Constant `data` after `item`."""

    item: Type
    data: bytes


@dataclass(frozen=True, slots=True)
class Offset:
    """Moves the cursor by `amount` before (`when="pre"`) or after (`"post"`) `item`.

    `strategy` as in Codama: relative (to here), absolute (from the start, negative: from the end), padded (relative,
    and what is skipped is written as zeros), preOffset (post only: relative to where the item's own pre-offset stood).
    """

    item: Type
    amount: int
    when: Literal["pre", "post"]
    strategy: Literal["relative", "absolute", "padded", "preOffset"]


@dataclass(frozen=True, slots=True)
class Option:
    """`prefix` is 0 or 1, then the item. `fixed`: an absent item still takes its (fixed) size, as zeros: SPL's
    COption.
    """

    item: Type
    prefix: Int = Int(8)
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class ZeroableOption:
    """Absent is `zero`, or as many zero bytes as the item takes."""

    item: Type
    zero: bytes | None = None


@dataclass(frozen=True, slots=True)
class RemainderOption:
    """Absent is the end of the data."""

    item: Type


@dataclass(frozen=True, slots=True)
class Generic:
    """A parameter of the type definition it stands in: of a type, or of an array's length."""

    name: str


#: int: that many; Int or ShortU16: a prefix of that type; None: as many as the data holds; Generic: a const parameter.
Count: TypeAlias = "int | Int | ShortU16 | Generic | None"


@dataclass(frozen=True, slots=True)
class Array:
    """`count` items, one after another. JSON: a list (of u8: bytes)."""

    item: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Set:
    """As Array, each value once; written in the order given."""

    item: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Map:
    """Key-value pairs, each key once; written in the order given. JSON: a list of [key, value]."""

    key: Type
    value: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Tuple:
    """Items without names; also a tuple struct. JSON: a list."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Default:
    """What a field or argument has when it is not given: `value` in the JSON form of its type.

    `omitted`: it is always that value, and values neither show nor take it (discriminators, Codama's strategy
    "omitted").
    """

    value: object
    omitted: bool = False

    def __hash__(self) -> int:
        return hash((repr(self.value), self.omitted))


@dataclass(frozen=True, slots=True)
class Field:
    """A named member of a struct, or an argument of an instruction."""

    name: str
    type: Type
    docs: tuple[str, ...] = ()
    default: Default | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in order; no fields at all is the unit struct (JSON: an empty object)."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant: `payload` None (unit), a Struct or a Tuple. `value` is its tag, or None for its place in the
    list.
    """

    name: str
    payload: Type | None = None
    value: int | None = None
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    """A tag of type `tag`, then the variant's payload."""

    variants: tuple[Variant, ...]
    tag: Int | ShortU16 = Int(8)


@dataclass(frozen=True, slots=True)
class TypeArg:
    """An argument to a generic type: a type, or a const written as an int."""

    value: Type | int


@dataclass(frozen=True, slots=True)
class Link:
    """A defined type by name, with generic arguments. A type of another program of the same document is
    "program::name".
    """

    name: str
    args: tuple[TypeArg, ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of base units: `decimals` places make one `unit` (SOL: 9)."""

    number: Int
    decimals: int
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class DateTime:
    """Seconds since 1970-01-01 UTC."""

    number: Int


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What the source wrote, and why the model cannot say it."""

    text: str
    why: str


Type: TypeAlias = (
    Int
    | ShortU16
    | Float
    | Bool
    | Pubkey
    | String
    | Bytes
    | SizePrefixed
    | FixedSize
    | Sentinel
    | HiddenPrefix
    | HiddenSuffix
    | Offset
    | Option
    | ZeroableOption
    | RemainderOption
    | Generic
    | Array
    | Set
    | Map
    | Tuple
    | Struct
    | Enum
    | Link
    | Amount
    | DateTime
    | Unsupported
)


@dataclass(frozen=True, slots=True)
class GenericParam:
    """A parameter that a type definition declares; `const` is the const's type name ("usize"), None for a type."""

    name: str
    const: str | None = None


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A named type. `layout` says how its bytes lie wherever it stands:

    "borsh": packed, in order. "c": repr(C) with natural alignment and padding (bytemuck). "packed": repr(C, packed): no
    padding. "transparent": as its only field. Anything else is the source's word (a custom serialization or a repr that
    is not known), and the type is not usable. `align`: repr(align(n)), which raises the alignment and so the size.
    `shape` remembers how the source declared it, for writing it back: "struct", "enum" or "alias".
    """

    name: str
    type: Type
    docs: tuple[str, ...] = ()
    generics: tuple[GenericParam, ...] = ()
    layout: str = "borsh"
    align: int | None = None
    shape: Literal["struct", "enum", "alias"] = "struct"
    #: how the source named the serialization and repr ("bytemuckunsafe", "C"), kept for writing it back
    declared: tuple[tuple[str, str], ...] = field(default=())


quicken(Field, Variant, TypeDef, Link, Array, Option)

U8, U16, U32, U64, U128, U256 = (Int(b) for b in (8, 16, 32, 64, 128, 256))
I8, I16, I32, I64, I128, I256 = (Int(b, signed=True) for b in (8, 16, 32, 64, 128, 256))
F32, F64 = Float(32), Float(64)
BOOL, PUBKEY = Bool(), Pubkey()
BORSH_STRING = SizePrefixed(String(), U32)
BORSH_BYTES = SizePrefixed(Bytes(), U32)

#: "u8" … "i256" -> node
INTS: dict[str, Int] = {
    f"{'i' if n.signed else 'u'}{n.bits}": n
    for n in (U8, U16, U32, U64, U128, U256, I8, I16, I32, I64, I128, I256)
}


def vec(item: Type) -> Array:
    """borsh's Vec<item>."""
    return Array(item, U32)


def field_keys(fields: tuple[Field, ...]) -> tuple[str, ...]:
    """The names of *fields* as a value's keys: the source's own, and where it repeats one ("padding", "padding") the
    later get "_2", "_3"."""
    names = tuple(f.name for f in fields)
    if len(set(names)) == len(names):
        return names
    taken, out = set(names), []
    seen: set[str] = set()
    for name in names:
        key, n = name, 1
        while key in seen or (n > 1 and key in taken):
            n += 1
            key = f"{name}_{n}"
        seen.add(key)
        out.append(key)
    return tuple(out)

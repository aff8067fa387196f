"""The type nodes: the kind of a value and the layout of its bytes. Frozen and hashable.

The vocabulary is small and composes. It follows Codama, the dialect that can express most:

| node | bytes |
|---|---|
| Int, ShortU16, Float, Bool, Pubkey | fixed width, little-endian unless `big_endian`; ShortU16: Solana's compact-u16 |
| String, Bytes | all remaining bytes; a wrapper bounds them |
| SizePrefixed, FixedSize, Sentinel | bound the item: a length before it, n bytes (zero padded), an end mark |
| HiddenPrefix, HiddenSuffix | constant bytes before or after the item, not part of the value |
| Offset | moves the cursor before or after the item |
| Option | tag of `prefix` width, then the item; `fixed`: an absent item takes its bytes too (COption) |
| ZeroableOption, RemainderOption | absent is `zero` bytes (None: all 0); absent is the end of the data |
| Array, Set, Map | `count`: int = fixed, Int/ShortU16 = that prefix, None = to the end, Generic = const argument |
| Tuple, Struct, Enum | in order; an enum's `tag` is an Int |
| Link, Generic | a defined type by name (with its arguments), a type parameter by name |
| Amount, DateTime | a number with a meaning that descriptions show |
| Unsupported | a type that the model cannot represent; disables the instructions that need it |

borsh's string is ``SizePrefixed(String(), U32)``; its vec is ``Array(item, U32)``. A new kind needs a
method in every visitor (visit.py), a tag in serial_shapes.py and a row in docs/wire.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeGuard

from mcpsol_py.items import names_of
from mcpsol_py.model.fast_init import quicken
from mcpsol_py.names import NumberedNames

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
    "is_bytes",
]


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of `bits` (8, 16, 32, 64, 128 or 256)."""

    bits: int
    signed: bool = False
    big_endian: bool = False

    @property
    def letter(self) -> str:
        """The letter of its name in Rust: i, or u without a sign."""
        return "i" if self.signed else "u"


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
    """0 or 1 in the width of `size`. Readers refuse any other value."""

    size: Int = Int(8)


@dataclass(frozen=True, slots=True)
class Pubkey:
    """32 bytes; base58 in JSON."""


@dataclass(frozen=True, slots=True)
class String:
    """Text: all remaining bytes. Other encodings than utf8 show the bytes as base16, base58 or base64
    text (Codama).
    """

    encoding: Literal["utf8", "base16", "base58", "base64"] = "utf8"


@dataclass(frozen=True, slots=True)
class Bytes:
    """All remaining bytes."""


@dataclass(frozen=True, slots=True)
class SizePrefixed:
    """`prefix` holds the length of `item` in bytes."""

    item: Type
    prefix: Int | ShortU16


@dataclass(frozen=True, slots=True)
class FixedSize:
    """`item` in exactly `size` bytes, padded with zeros at the end. Longer items are refused."""

    item: Type
    size: int


@dataclass(frozen=True, slots=True)
class Sentinel:
    """`item`, ended by the bytes `mark`."""

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

    `strategy` as in Codama: relative (to the cursor), absolute (from the start; negative: from the end), padded
    (relative, and skipped bytes are written as zeros), preOffset (only "post": relative to the cursor before the item's
    own pre-offset).
    """

    item: Type
    amount: int
    when: Literal["pre", "post"]
    strategy: Literal["relative", "absolute", "padded", "preOffset"]

    @property
    def is_padding(self) -> bool:
        """Does it only add zeros before or after its item?"""
        return self.strategy == "padded" and self.amount >= 0


@dataclass(frozen=True, slots=True)
class Option:
    """`prefix` is 0 or 1, then the item. `fixed`: an absent item takes its (fixed) size too, as zeros, like SPL's
    COption.
    """

    item: Type
    prefix: Int = Int(8)
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class ZeroableOption:
    """An absent item is written as `zero`; None: as zeros of the item's size."""

    item: Type
    zero: bytes | None = None


@dataclass(frozen=True, slots=True)
class RemainderOption:
    """The item is absent if the data ends here."""

    item: Type


@dataclass(frozen=True, slots=True)
class Generic:
    """A parameter of the type definition around it: a type, or the length of an array."""

    name: str


#: int: a fixed number; Int or ShortU16: a prefix of that type; None: up to the end of the data; Generic: a const
#: parameter.
Count: TypeAlias = "int | Int | ShortU16 | Generic | None"


@dataclass(frozen=True, slots=True)
class Array:
    """`count` items, one after another. JSON: a list, or bytes if the items are u8."""

    item: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Set:
    """Like Array, but with each value once. Written in the order given."""

    item: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Map:
    """Key-value pairs with each key once. Written in the order given. JSON: a list of [key, value]."""

    key: Type
    value: Type
    count: Count


@dataclass(frozen=True, slots=True)
class Tuple:
    """Items without names, or a tuple struct. JSON: a list."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Default:
    """The value of a field or argument that is not given: `value` in the JSON form of its type.

    `omitted`: the field always has this value, and callers neither give nor see it (discriminators, Codama's strategy
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

    @property
    def is_constant(self) -> bool:
        """Does it always have its default, so that callers neither give nor see it?"""
        return self.default is not None and self.default.omitted


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in order. JSON: an object. Without fields, it is the unit struct."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of an enum. `payload`: a Struct, a Tuple, or None for a unit variant. `value` is the tag; None: its
    position in the list.
    """

    name: str
    payload: Type | None = None
    value: int | None = None
    docs: tuple[str, ...] = ()

    def tag_at(self, index: int) -> int:
        """Return the tag of the variant if it is at *index* in the list."""
        return index if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class Enum:
    """A tag of type `tag`, then the payload of the variant."""

    variants: tuple[Variant, ...]
    tag: Int | ShortU16 = Int(8)

    @property
    def units(self) -> list[str]:
        """The names of the variants without a payload."""
        return [variant.name for variant in self.variants if variant.payload is None]

    @property
    def tags(self) -> list[int]:
        """The tag of each variant."""
        return [variant.tag_at(index) for index, variant in enumerate(self.variants)]


@dataclass(frozen=True, slots=True)
class TypeArg:
    """An argument of a generic type: a type, or an int for a const."""

    value: Type | int


@dataclass(frozen=True, slots=True)
class Link:
    """A defined type by name, with generic arguments. The name of a type of another program in the same document is
    "program::name".
    """

    name: str
    args: tuple[TypeArg, ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of base units; 10**`decimals` of them make one `unit` (SOL: 9 decimals)."""

    number: Int
    decimals: int
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class DateTime:
    """Seconds since 1970-01-01 UTC."""

    number: Int


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A type that the model cannot represent: its text in the source, and the reason."""

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
    """A parameter that a type definition declares. `const` is the type name of a const ("usize"), None for a type."""

    name: str
    const: str | None = None


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A named type. `layout` is the layout of its bytes:

    "borsh": packed, in order. "c": repr(C) with natural alignment and padding (bytemuck). "packed": repr(C, packed),
    without padding. "transparent": like its only field. Any other text is the source's own word (a custom serialization
    or an unknown repr), and the type is not usable. `align`: repr(align(n)), which raises the alignment and so the
    size. `shape` is how the source declared it ("struct", "enum" or "alias"), for writing it back.
    """

    name: str
    type: Type
    docs: tuple[str, ...] = ()
    generics: tuple[GenericParam, ...] = ()
    layout: str = "borsh"
    align: int | None = None
    shape: Literal["struct", "enum", "alias"] = "struct"
    #: the source's names of the serialization and repr ("bytemuckunsafe", "C"), for writing them back
    declared: tuple[tuple[str, str], ...] = field(default=())


quicken(Field, Variant, TypeDef, Link, Array, Option)

U8, U16, U32, U64, U128, U256 = map(Int, (8, 16, 32, 64, 128, 256))
I8, I16, I32, I64, I128, I256 = (Int(b, signed=True) for b in (8, 16, 32, 64, 128, 256))
F32, F64 = Float(32), Float(64)
BOOL, PUBKEY = Bool(), Pubkey()
BORSH_STRING = SizePrefixed(String(), U32)
BORSH_BYTES = SizePrefixed(Bytes(), U32)


def is_bytes(node: object) -> TypeGuard[Array]:
    """Return whether *node* is an array of u8, of any length: its values are bytes."""
    return isinstance(node, Array) and node.item == U8


#: "u8" … "i256" -> node
INTS: dict[str, Int] = {
    f"{'i' if n.signed else 'u'}{n.bits}": n
    for n in (U8, U16, U32, U64, U128, U256, I8, I16, I32, I64, I128, I256)
}


def vec(item: Type) -> Array:
    """Return borsh's Vec<item>."""
    return Array(item, U32)


def field_keys(fields: tuple[Field, ...]) -> tuple[str, ...]:
    """Return the keys of *fields* in a value: their names, with "_2", "_3" added to names that repeat ("padding",
    "padding").
    """
    names = tuple(names_of(fields))
    if len(set(names)) == len(names):
        return names
    numbered, used, keys = NumberedNames(names), set[str](), []
    for name in names:
        keys.append(numbered.next(name) if name in used else name)
        used.add(name)
    return tuple(keys)

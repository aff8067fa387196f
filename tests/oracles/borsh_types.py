"""The types of the Rust crate in borsh/, by its names for them, in the words of the program model."""

from __future__ import annotations

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    I128,
    INTS,
    U8,
    U16,
    U32,
    U64,
    U128,
    Array,
    Enum,
    Field,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
    vec,
)

__all__ = ["BORSH", "BORSH_TYPES", "MEMORY", "MEMORY_TYPES"]

KEY = Array(U8, 32)


def _struct(**fields: Type) -> Struct:
    return Struct(tuple(Field(name, type) for name, type in fields.items()))


def _definition(
    name: str, type: Type, layout: str = "borsh", align: int | None = None
) -> TypeDef:
    return TypeDef(name, type, layout=layout, align=align)


_NUMBERS: dict[str, Type] = dict(
    zip(
        "abcdefghijklm",
        (U8, I8, U16, I16, U32, I32, U64, I64, U128, I128, F32, F64, BOOL),
        strict=True,
    )
)

#: src/types.rs: what borsh writes.
BORSH = ProgramModel(
    "borsh",
    types=(
        _definition("Unit", Struct(())),
        _definition("Numbers", _struct(**_NUMBERS)),
        _definition(
            "Texts",
            _struct(
                name=BORSH_STRING, note=Option(BORSH_STRING), tags=vec(BORSH_STRING)
            ),
        ),
        _definition(
            "Nested",
            _struct(
                head=Link("Numbers"),
                texts=vec(Link("Texts")),
                pair=Tuple((U8, BORSH_STRING)),
                last=Option(Link("Node")),
            ),
        ),
        _definition("Node", _struct(value=U32, next=Option(Link("Node")))),
        _definition("Plain", Enum((Variant("A"), Variant("B"), Variant("C")))),
        _definition(
            "Mixed",
            Enum(
                (
                    Variant("Nothing"),
                    Variant("One", Tuple((U64,))),
                    Variant("Two", Tuple((U8, BORSH_STRING))),
                    Variant("Named", _struct(key=KEY, list=vec(U16))),
                )
            ),
        ),
        _definition(
            "Tree",
            Enum(
                (
                    Variant("Leaf"),
                    Variant("Branch", Tuple((Link("Tree"), Link("Tree")))),
                )
            ),
        ),
        _definition(
            "All",
            _struct(
                plain=Link("Plain"),
                mixed=vec(Link("Mixed")),
                tree=Link("Tree"),
                map=Map(BORSH_STRING, BORSH_BYTES, U32),
                set=Set(U32, U32),
                unit=Link("Unit"),
            ),
        ),
        _definition(
            "Bounds",
            _struct(
                empty=vec(U64),
                fixed=Array(U32, 5),
                wide=Array(U16, 40),
                matrix=Array(Array(I8, 3), 2),
                blob=BORSH_BYTES,
                key=KEY,
            ),
        ),
    ),
)

BORSH_TYPES: dict[str, Type] = {
    **{name: node for name, node in INTS.items() if node.bits <= 128},
    "f32": F32,
    "f64": F64,
    "bool": BOOL,
    "string": BORSH_STRING,
    "bytes": BORSH_BYTES,
    "bytes32": KEY,
    "option_u64": Option(U64),
    "vec_u64": vec(U64),
    "vec_vec_string": vec(vec(BORSH_STRING)),
    "vec_option_u16": vec(Option(U16)),
    "array_u64_4": Array(U64, 4),
    "array_string_2": Array(BORSH_STRING, 2),
    "tuple_u8_string_bool": Tuple((U8, BORSH_STRING, BOOL)),
    "btree_map": Map(U32, BORSH_STRING, U32),
    "hash_map": Map(U16, U64, U32),
    "btree_set": Set(BORSH_STRING, U32),
    **{d.name: Link(d.name) for d in BORSH.types},
}

#: src/layout.rs: what rustc lays out in memory.
MEMORY = ProgramModel(
    "memory",
    types=(
        _definition("Padded", _struct(a=U8, b=U64, c=U16, d=U32, e=BOOL), "c"),
        _definition("Inner", _struct(a=U16, b=U8), "c"),
        _definition(
            "Outer",
            _struct(
                first=U8,
                inner=Link("Inner"),
                list=Array(Link("Inner"), 3),
                key=KEY,
                x=F32,
                y=F64,
                tail=Array(U8, 5),
            ),
            "c",
        ),
        _definition(
            "Packed", _struct(a=U8, b=U64, inner=Link("Inner"), c=U16), "packed"
        ),
        _definition("HoldsPacked", _struct(a=U8, packed=Link("Packed"), b=U32), "c"),
        _definition("Aligned", _struct(a=U32, b=Array(U8, 3)), "c", 16),
        _definition("HoldsAligned", _struct(a=U8, aligned=Link("Aligned"), b=U8), "c"),
        _definition("Transparent", _struct(only=U64), "transparent"),
        _definition("HoldsTransparent", _struct(a=U8, t=Link("Transparent")), "c"),
        _definition("Wide", _struct(big=Array(U64, 40), small=Array(I8, 3)), "c"),
        _definition(
            "Tagged",
            Enum(
                (
                    Variant("Empty"),
                    Variant("Small", Tuple((U8,))),
                    Variant("Big", Tuple((U64, U8))),
                )
            ),
            "c",
        ),
    ),
)
MEMORY_TYPES: dict[str, Type] = {d.name: Link(d.name) for d in MEMORY.types}

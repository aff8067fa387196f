"""The three shapes in which serial.py writes the classes of the model: nodes, rows and records.

- A *node* (a type, a seed, a value that a client fills in) is ``[tag, field, field, …]``, or a word.
- A *row* (a field, a variant, a discriminator, an error) is ``[field, field, …]``.
- A *record* (an instruction, an account, the program) is an object of its fields.

A new class needs a tag here, or a place among the rows, or nothing if it is a record. A new field of
a class needs nothing.
"""

from __future__ import annotations

import typing
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, NamedTuple, get_args

from mcpsol_py.model import program, types
from mcpsol_py.model.types import Type

__all__ = [
    "CLASS_OF_TAG",
    "ROWS",
    "TAGS",
    "UNIONS",
    "WORDS",
    "WORD_OF",
    "FieldShape",
    "field_shapes",
]

#: Types that are written as one word. No two words mean the same type.
WORDS: dict[str, Type] = {
    **types.INTS,
    **{
        f"{name}be": types.Int(n.bits, n.signed, True)
        for name, n in types.INTS.items()
        if n.bits > 8
    },
    "shortU16": types.ShortU16(),
    "f32": types.F32,
    "f64": types.F64,
    "f32be": types.Float(32, True),
    "f64be": types.Float(64, True),
    "bool": types.BOOL,
    "pubkey": types.PUBKEY,
    "string": types.BORSH_STRING,
    "bytes": types.BORSH_BYTES,
    "text": types.String(),
    "raw": types.Bytes(),
}
#: The same, by type.
WORD_OF: dict[Type, str] = {node: word for word, node in WORDS.items()}

#: Class -> the tag that opens its node.
TAGS: dict[type, str] = {
    types.Int: "int",
    types.ShortU16: "shortU16",
    types.Float: "float",
    types.Bool: "bool",
    types.Pubkey: "pubkey",
    types.String: "text",
    types.Bytes: "raw",
    types.SizePrefixed: "sized",
    types.FixedSize: "fixed",
    types.Sentinel: "until",
    types.HiddenPrefix: "before",
    types.HiddenSuffix: "after",
    types.Offset: "offset",
    types.Option: "option",
    types.ZeroableOption: "zeroable",
    types.RemainderOption: "remainder",
    types.Generic: "generic",
    types.Array: "array",
    types.Set: "set",
    types.Map: "map",
    types.Tuple: "tuple",
    types.Struct: "struct",
    types.Enum: "enum",
    types.Link: "link",
    types.Amount: "amount",
    types.DateTime: "time",
    types.Unsupported: "unsupported",
    program.ConstValue: "const",
    program.ArgValue: "arg",
    program.AccountValue: "account",
    program.AccountBumpValue: "bump",
    program.ProgramIdValue: "program",
    program.IdentityValue: "identity",
    program.PayerValue: "payer",
    program.ResolverValue: "resolver",
    program.PdaValue: "pda",
    program.ConditionalValue: "if",
    program.ConstSeed: "const",
    program.ArgSeed: "arg",
    program.AccountSeed: "account",
    program.ProgramIdSeed: "program",
    program.UnknownSeed: "unknown",
}
#: Classes that are written as a list without a tag.
ROWS: frozenset[type] = frozenset(
    {
        types.Field,
        types.Variant,
        types.GenericParam,
        types.Default,
        program.ErrorCode,
        program.Discriminator,
        program.Init,
        program.Pda,
    }
)

#: The unions of nodes by the name that messages use.
UNIONS: dict[str, frozenset[type]] = {
    "type": frozenset(get_args(Type)),
    "value": frozenset(get_args(program.Value)),
    "seed": frozenset(get_args(program.Seed)),
}

#: Union -> tag -> class. Tags are unique within their union.
CLASS_OF_TAG: dict[str, dict[str, type]] = {
    union: {tag: kind for kind, tag in TAGS.items() if kind in members}
    for union, members in UNIONS.items()
}


class FieldShape(NamedTuple):
    """A field of a class that is written."""

    name: str
    #: its annotation
    hint: Any
    #: `dataclasses.MISSING` if it has none
    default: Any
    #: Does it hold any JSON value?
    is_free: bool

    @property
    def is_required(self) -> bool:
        """Must it be given?"""
        return self.default is MISSING

    def is_default(self, value: Any) -> bool:
        """May *value* be left out? False for a value that only compares equal to the default."""
        return bool(value == self.default) and type(value) is type(self.default)


@cache
def field_shapes(kind: Any) -> tuple[FieldShape, ...]:
    """Return the fields of *kind* that take part in comparisons; the others are not written."""
    hints = typing.get_type_hints(kind)
    compared = (f for f in fields(kind) if f.compare)
    return tuple(
        FieldShape(f.name, hints[f.name], _default(f), hints[f.name] is object)
        for f in compared
    )


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default

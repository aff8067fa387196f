"""Hypothesis strategies for whole program models, made from the dataclasses' own annotations: a new field is covered at
once.

`anything(cls)` gives objects of any class of the model with any values at all (names may clash, links may dangle): for
what must carry
everything. `programs()` gives models as a reader would make them: names are identifiers and unique, texts are clean.
"""

from __future__ import annotations

import typing
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st

from mcpsol_py.model import program as p
from mcpsol_py.model import types as t
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.sources import detect

__all__ = ["anything", "json_values", "names", "programs", "real"]


@cache
def real(path: Path) -> p.ProgramModel:
    """The model of one of the real IDLs, read once a run."""
    return detect.read(path)


_LEAVES: tuple[Any, ...] = (
    t.Int,
    t.ShortU16,
    t.Float,
    t.Bool,
    t.Pubkey,
    t.String,
    t.Bytes,
    t.Link,
    t.Generic,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _name(head: str, tail: str) -> str:
    """Of two plain texts, which Hypothesis draws several times faster than a regular expression."""
    return (head if head[0].isalpha() else f"n{head[1:]}") + (
        f"_{tail}" if tail else ""
    )


#: [a-z][a-z0-9]{0,5}(_[a-z]{1,4})?
names = st.builds(
    _name,
    st.text(_LETTERS + "0123456789", min_size=1, max_size=6),
    st.text(_LETTERS, max_size=4),
)
texts = st.text(st.characters(codec="utf-8"), max_size=20).map(clean_text)
addresses = st.binary(min_size=32, max_size=32).map(b58encode)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.just("$hex"), inner, max_size=3)
    ),
    max_leaves=6,
)


def _later(kind: Any) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: anything(kind))


@cache
def anything(kind: Any) -> st.SearchStrategy[Any]:
    """Objects of *kind*, a class or an annotation of the model."""
    if kind is object:
        return json_values
    if kind is str:
        return texts
    if kind is int:
        return st.integers(-(2**40), 2**40) | st.integers(0, 300)
    if kind is bool:
        return st.booleans()
    if kind is bytes:
        return st.binary(max_size=12)
    if kind is NoneType:
        return st.none()
    origin = get_origin(kind)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if origin is tuple:
        args = get_args(kind)
        if len(args) == 2 and args[1] is Ellipsis:
            return st.lists(st.deferred(lambda: anything(args[0])), max_size=3).map(
                tuple
            )
        return st.tuples(*(anything(a) for a in args))
    if origin is Union or origin is UnionType:
        args = get_args(kind)
        if t.Option in args:
            simple = [a for a in args if a in _LEAVES]
            return st.one_of(
                *(anything(a) for a in simple),
                st.deferred(lambda: st.one_of(*map(anything, args))),
            )
        if t.Generic in args:  # a count
            return (
                st.none()
                | st.integers(0, 99)
                | st.sampled_from([t.U8, t.U32, t.ShortU16(), t.Generic("N")])
            )
        return st.one_of(*(_later(a) for a in args))
    hints = typing.get_type_hints(kind)
    parts = {f.name: anything(hints[f.name]) for f in fields(kind) if f.compare}
    if kind is t.Int:
        parts["bits"] = st.sampled_from([8, 16, 32, 64, 128, 256])
    return st.builds(kind, **parts)


# --- as readers make them ---------------------------------------------------------------------------------------------

_scalars: st.SearchStrategy[Any] = st.sampled_from(
    [
        t.U8,
        t.U16,
        t.U32,
        t.U64,
        t.U128,
        t.I8,
        t.I64,
        t.I128,
        t.BOOL,
        t.F64,
        t.PUBKEY,
        t.BORSH_STRING,
        t.BORSH_BYTES,
        t.Int(32, False, True),
    ]
)


_unique_names = st.lists(names, max_size=4, unique=True)
_variants = st.lists(names, min_size=1, max_size=3, unique=True).map(
    lambda ns: t.Enum(tuple(t.Variant(n) for n in ns))
)
_up_to = [st.integers(0, n) for n in range(65)]


def _type(draw: st.DrawFn, defined: list[str], depth: int = 2) -> Any:
    """A type that may link to those *defined*. A function that walks: strategies made for each program would be
    validated for each."""

    def inner() -> Any:
        return _type(draw, defined, depth - 1)

    match draw(_up_to[10 if depth else 2]):
        case 0 | 1:
            return draw(_scalars)
        case 2:
            return (
                t.Link(defined[draw(_up_to[len(defined) - 1])])
                if defined
                else draw(_scalars)
            )
        case 3:
            return t.Option(inner())
        case 4:
            return t.vec(inner())
        case 5:
            return t.Array(inner(), draw(_up_to[64]))
        case 6:
            return t.Tuple(tuple(inner() for _ in range(draw(_up_to[3]))))
        case 7:
            return t.Map(draw(_scalars), inner(), t.U32)
        case 8 | 9:
            return t.Struct(_members(draw, defined, depth - 1))
        case _:
            return draw(_variants)


def _members(
    draw: st.DrawFn, defined: list[str], depth: int = 2
) -> tuple[t.Field, ...]:
    return tuple(
        t.Field(name, _type(draw, defined, depth)) for name in draw(_unique_names)
    )


_flags = st.booleans()
_pdas = st.builds(
    p.Pda,
    st.lists(
        st.one_of(
            st.binary(min_size=1, max_size=8).map(p.ConstSeed),
            st.builds(p.ArgSeed, st.tuples(names)),
        ),
        max_size=3,
    ).map(tuple),
)
_accounts = st.builds(
    p.Account,
    st.one_of(names, names.map(lambda n: n + "_w"), names.map(lambda n: n + "_s")),
    writable=_flags,
    signer=st.sampled_from([False, True, "either"]),
    optional=_flags,
    address=st.none() | addresses,
    pda=st.none() | _pdas,
)
_items = st.one_of(
    _accounts,
    st.builds(
        p.AccountGroup,
        names.map(lambda n: "g" + n),
        st.lists(_accounts, min_size=1, max_size=3, unique_by=lambda a: a.name).map(
            tuple
        ),
    ),
)


_account_lists = st.lists(_items, max_size=8, unique_by=lambda a: a.name).map(tuple)
_discriminators = st.builds(
    p.Discriminator, st.binary(min_size=8, max_size=8) | st.binary(max_size=12)
)
_prose = st.lists(
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=80).map(
        clean_text
    ),
    max_size=3,
).map(tuple)
_defined = st.lists(names.map(str.capitalize), max_size=3, unique=True)


@cache
def _instruction_names(most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(names, max_size=most, unique=True)


@st.composite
def programs(
    draw: st.DrawFn, max_instructions: int = 6, docs: bool = True
) -> p.ProgramModel:
    """A model with instructions of every shape that pages must carry, over a few defined types."""
    defined = draw(_defined)
    instructions = tuple(
        p.Instruction(
            name=name,
            discriminator=draw(_discriminators),
            args=_members(draw, defined),
            accounts=draw(_account_lists),
            docs=draw(_prose) if docs else (),
            returns=_type(draw, defined) if draw(_flags) else None,
            optional_accounts="omitted" if draw(_flags) else "program_id",
        )
        for name in draw(_instruction_names(max_instructions))
    )
    types = tuple(t.TypeDef(name, t.Struct(_members(draw, []))) for name in defined)
    return p.ProgramModel(name=draw(names), instructions=instructions, types=types)

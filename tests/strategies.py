"""Hypothesis strategies derived from types: values of a type in the plain Python form, and types themselves.

`Values(codecs).of(type)` gives values that encode; `types()` gives types of the whole table (without links), and
`programs()` a program whose types link to one another, with one of its types.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Never

from hypothesis import reject
from hypothesis import strategies as st
from solders.pubkey import Pubkey as Address

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.json_values import int_range, text_of
from mcpsol_py.errors import CodecError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    INTS,
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
    TypeDef,
    Variant,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import children

__all__ = ["Choices", "NoValue", "Values", "draw_type", "programs", "same", "types"]


def same(a: Any, b: Any) -> bool:
    """Are two plain values the same? NaN is itself, and 0.0 is not -0.0."""
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (
            math.isnan(a) and math.isnan(b)
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    return bool(a == b)


class Choices:
    """Where choices come from: Hypothesis, which shrinks, or a seeded generator, for values too large for Hypothesis
    to draw."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(_integers(low, high))

    def real(self, bits: int, nan: bool) -> float:
        return self._draw(_floats(bits, nan))

    def binary(self, low: int, high: int) -> bytes:
        return self._draw(_binary(low, high))

    def text(self) -> str:
        return self._draw(_TEXT)

    def one(self, of: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(of))

    def give_up(self) -> Never:
        reject()


class _Seeded(Choices):
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.choice(
            (
                low,
                high,
                self._random.randint(low, high),
                self._random.randint(low, high),
            )
        )

    def real(self, bits: int, nan: bool) -> float:
        edges = [
            0.0,
            -0.0,
            1.5,
            -2.25,
            math.inf,
            -math.inf,
            *([math.nan] if nan else []),
        ]
        raw = self._random.choice(
            [*edges, self._random.uniform(-1e6, 1e6), self._random.uniform(-1e6, 1e6)]
        )
        return (
            float(struct.unpack("<f", struct.pack("<f", raw))[0]) if bits == 32 else raw
        )

    def binary(self, low: int, high: int) -> bytes:
        return self._random.randbytes(self._random.randint(low, high))

    def text(self) -> str:
        alphabet = "abc XYZ_0\x01é☃😀\u2028"
        return "".join(self._random.choices(alphabet, k=self._random.randint(0, 12)))

    def one(self, of: Sequence[Any]) -> Any:
        return self._random.choice(of)

    def give_up(self) -> Never:
        raise NoValue


class NoValue(Exception):
    """A seed that leads to no value of the type."""


class Values:
    """Values of the types of one program, as decode() would give them.

    `nan`: floats that are no number too. `most`: the longest list. Recursive types end after `depth` links. Drawn by
    one function that walks the type: strategies composed for each type would be validated over and over.
    """

    def __init__(
        self, codecs: Codecs, *, nan: bool = False, most: int = 3, depth: int = 4
    ) -> None:
        self.codecs = codecs
        self.nan, self.most, self.depth = nan, most, depth

    def of(self, node: Type) -> st.SearchStrategy[Any]:
        """Values of *node*."""
        return st.composite(lambda draw: self._draw(Choices(draw), node, 0))()

    def seeded(self, node: Type) -> st.SearchStrategy[Any]:
        """Values of *node*, each from one number that Hypothesis draws: for large types, and for many values."""
        return st.integers(0, 2**64 - 1).map(lambda seed: self.from_seed(node, seed))

    def from_seed(self, node: Type, seed: int) -> Any:
        """The value of *node* that *seed* leads to. Raises NoValue if it leads to none."""
        return self._draw(_Seeded(seed), node, 0)

    def _draw(self, draw: Choices, node: Type, depth: int) -> Any:
        match node:
            case Int() | ShortU16():
                return draw.integer(*int_range(node))
            case Amount(number, _, _) | DateTime(number):
                return draw.integer(*int_range(number))
            case Float(bits):
                return draw.real(bits, self.nan)
            case Bool():
                return draw.one((False, True))
            case Pubkey():
                return Address.from_bytes(draw.binary(32, 32))
            case Bytes():
                return draw.binary(0, 12)
            case String("utf8"):
                return draw.text()
            case String(encoding):
                return text_of(encoding, draw.binary(0, 12))
            case FixedSize(Bytes(), size):
                return draw.binary(size, size)
            case FixedSize(String("utf8"), size):
                return draw.text().encode()[:size].decode(errors="ignore").rstrip("\0")
            case FixedSize(String(encoding), size):
                return text_of(encoding, draw.binary(size, size))
            # What is short of it is read with its padding, so not every value comes back.
            case FixedSize(item, _):
                return self._some(draw, node, lambda: self._draw(draw, item, depth))
            case Sentinel(item, _) | SizePrefixed(item, _):
                return self._some(draw, node, lambda: self._draw(draw, item, depth))
            case HiddenPrefix(item, _) | HiddenSuffix(item, _) | Offset(item, _, _, _):
                return self._draw(draw, item, depth)
            case (
                Option(item=item)
                | ZeroableOption(item=item)
                | RemainderOption(item=item)
            ):
                if depth >= self.depth or draw.one((True, False, False)):
                    return None
                nullable = self.codecs.layouts.nullable(item)

                def some() -> Any:
                    value = self._draw(draw, item, depth)
                    return {"some": value} if nullable else value

                return (
                    some() if isinstance(node, Option) else self._some(draw, node, some)
                )
            case Array(_, count) if is_bytes(node):
                return (
                    draw.binary(count, count)
                    if isinstance(count, int)
                    else draw.binary(0, 12)
                )
            case Array(item, count):
                return [
                    self._draw(draw, item, depth)
                    for _ in range(self._length(draw, count, depth))
                ]
            case Set(item, count):
                length = self._length(draw, count, depth)
                return self._some(
                    draw,
                    node,
                    lambda: [self._draw(draw, item, depth) for _ in range(length)],
                )
            case Map(key, val, count):
                length = self._length(draw, count, depth)
                return self._some(
                    draw,
                    node,
                    lambda: [
                        [self._draw(draw, key, depth), self._draw(draw, val, depth)]
                        for _ in range(length)
                    ],
                )
            case Tuple(items):
                return [self._draw(draw, item, depth) for item in items]
            case Struct(fields):
                keys = field_keys(fields)
                shown = [
                    (k, f)
                    for k, f in zip(keys, fields, strict=True)
                    if not (f.default and f.default.omitted)
                ]
                return {k: self._draw(draw, f.type, depth) for k, f in shown}
            case Enum(variants, _):
                ending = [
                    v for v in variants if v.payload is None or not _links(v.payload)
                ]
                variant = draw.one(
                    ending if depth >= self.depth and ending else variants
                )
                return (
                    variant.name
                    if variant.payload is None
                    else {variant.name: self._draw(draw, variant.payload, depth)}
                )
            case Link():
                return self._draw(
                    draw, self.codecs.layouts.resolver.expand(node)[1], depth + 1
                )
            case _:
                raise AssertionError(f"no values of {node}")

    def _length(self, draw: Choices, count: object, depth: int) -> int:
        if isinstance(count, int):
            return count
        return draw.integer(0, self.most) if depth < self.depth else 0

    def _some(self, draw: Choices, node: Type, make: Callable[[], Any]) -> Any:
        """A value that the type's own rules allow (no end mark within, each set item once, not the bytes of absence,
        …)."""
        interpreted = self.codecs.interpreted
        for _ in range(5):
            value = make()
            try:
                if (
                    same(
                        interpreted.decode(node, interpreted.encode(node, value))[0],
                        value,
                    )
                    or value != value
                ):
                    return value
            except CodecError:
                continue
        return draw.give_up()


def _links(node: Type) -> bool:
    return isinstance(node, Link) or any(map(_links, children(node)))


_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(low, high), st.sampled_from([low, high]))


@cache
def _floats(bits: int, nan: bool) -> st.SearchStrategy[float]:
    return st.floats(width=32 if bits == 32 else 64, allow_nan=nan)


@cache
def _binary(low: int, high: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=low, max_size=high)


# --- types -----------------------------------------------------------------------------------------------------------

_INTS = tuple(INTS.values())
_TAGS = (
    Int(8),
    Int(16),
    Int(32),
    Int(64),
    Int(32, big_endian=True),
    Int(16, signed=True),
)
_PREFIXES = (*_TAGS, ShortU16())
_MARKS = (b"\0", b"\xff\xff", b"END", b"aab")
#: Types that read to the end of the data, which only a bound around them ends.
_TAILS = (
    String(),
    Bytes(),
    String("base16"),
    String("base58"),
    String("base64"),
    Array(Int(8), None),
)
_LEAVES: tuple[Type, ...] = (
    *_INTS,
    *(Int(n.bits, n.signed, big_endian=True) for n in _INTS),
    *(
        Float(32),
        Float(64),
        Float(32, True),
        Float(64, True),
        ShortU16(),
        Pubkey(),
        DateTime(Int(64, signed=True)),
    ),
    *(Bool(tag) for tag in _TAGS),
    *(Amount(n, 9, "SOL") for n in _INTS),
    Struct(()),
    Enum((Variant("A"), Variant("B", value=7), Variant("C"))),
)
_plain = Codecs(ProgramModel("plain"))


@st.composite
def types(draw: st.DrawFn, depth: int = 3) -> Type:
    """Types of the whole table, nested up to *depth* deep, without links."""
    return draw_type(Choices(draw), depth)


def draw_type(draw: Choices, depth: int) -> Type:
    """A type of the whole table, nested up to *depth* deep, from any source of choices."""
    one, number = draw.one, draw.integer

    def inner() -> Type:
        return draw_type(draw, depth - 1)

    def fixed() -> Type:
        node = inner()
        return node if _plain.layouts.fixed_size(node) else one(_INTS)

    def tail() -> Type:
        node = inner()
        node = node if _plain.layouts.least(node) else one(_INTS)
        return Array(node, None) if number(0, 1) else RemainderOption(node)

    def fields(most: int) -> tuple[Field, ...]:
        return tuple(
            Field(f"{one('abcd')}_{i}", inner()) for i in range(number(0, most))
        )

    kind = number(0, 24 if depth else 7)
    match kind:
        case 0 | 1 | 2:
            return one(_LEAVES)  # type: ignore[no-any-return]  # one() gives what it is given
        case 3:
            return Array(Int(8), number(0, 40) if number(0, 1) else one(_PREFIXES))
        case 4 | 5:
            return SizePrefixed(one(_TAILS), one(_PREFIXES))
        case 6:
            return FixedSize(one(_TAILS[:5]), number(0, 20))
        case 7:
            return Sentinel(one(_TAILS), one(_MARKS))
        case 8 | 9:
            return Option(inner(), one(_TAGS))
        case 10:
            return Option(fixed(), Int(32), fixed=True)
        case 11:
            return ZeroableOption(fixed(), one([None, b"\xff\xfe"]))
        case 12 | 13:
            return Array(inner(), number(0, 3) if number(0, 1) else one(_PREFIXES))
        case 14:
            return Array(one(_LEAVES), one([33, 40]))
        case 15:
            return Set(inner(), number(0, 1) if number(0, 1) else one(_PREFIXES))
        case 16:
            return Map(
                inner(), inner(), number(0, 1) if number(0, 1) else one(_PREFIXES)
            )
        case 17:
            return Tuple(tuple(inner() for _ in range(number(0, 4))))
        case 18 | 19:
            return Struct(fields(5))
        case 20 | 21:
            payloads = (
                None,
                Struct(fields(2)),
                Tuple((inner(),)),
                Tuple((inner(), inner())),
            )
            return Enum(
                tuple(Variant(n, one(payloads)) for n in "ABCD"[: number(1, 4)]),
                one(_PREFIXES),
            )
        case 22:
            wrap = one((HiddenPrefix, HiddenSuffix))
            return wrap(inner(), draw.binary(1, 4))  # type: ignore[no-any-return]  # as above
        case 23:
            return SizePrefixed(tail() if number(0, 1) else inner(), one(_PREFIXES))
        case _:
            return Offset(inner(), number(0, 5), one(("pre", "post")), "padded")


@st.composite
def programs(draw: st.DrawFn) -> tuple[ProgramModel, Type]:
    """A program of two types, the second of which holds the first and (behind an option, a list or an enum) itself;
    and that type."""
    me = Link("B")
    again: list[Type] = [
        Option(me),
        Array(me, Int(8)),
        Enum((Variant("End"), Variant("More", Tuple((me,))))),
    ]
    first, second = draw_type(Choices(draw), 2), draw_type(Choices(draw), 2)
    body = Struct(
        (
            Field("a", Link("A")),
            Field("rest", second),
            Field("again", draw(st.sampled_from(again))),
        )
    )
    return ProgramModel("linked", types=(TypeDef("A", first), TypeDef("B", body))), me

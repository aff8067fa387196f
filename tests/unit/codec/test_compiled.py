"""The compiled codec against the interpreted one, and both against themselves."""

from __future__ import annotations

import gc
import json
import linecache
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import DecodeError, EncodeError, NotUsable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    Array,
    Field,
    Int,
    Link,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
)
from tests.strategies import Values, programs, same, types

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=33),
    st.lists(st.integers(0, 300), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@st.composite
def cases(draw: st.DrawFn, nan: bool = True) -> tuple[Codecs, Type, Any]:
    model, node = draw(
        st.one_of(programs(), types().map(lambda t: (ProgramModel("plain"), t)))
    )
    codecs = Codecs(model)
    return codecs, node, draw(Values(codecs, nan=nan).of(node))


def mutate(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any) -> Any:
    """*value* with one part replaced, taken away or added."""
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], mutate(draw, value[index]), *value[index + 1 :]]
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: mutate(draw, value[key])}
    return draw(ODD)


@given(cases())
def test_encoding_and_decoding_are_inverse(case: tuple[Codecs, Type, Any]) -> None:
    codecs, node, value = case
    codec = codecs.codec(node)
    data = codec.encode(value)
    assert same(codec.decode(data), value)
    assert codec.encode(codec.decode(data)) == data


@given(cases())
def test_compiled_code_takes_plain_values_and_gives_the_same_bytes(
    case: tuple[Codecs, Type, Any],
) -> None:
    codecs, node, value = case

    def must_not_be_needed(value: Any) -> bytes:
        raise AssertionError(f"the fast code did not take {value!r}")

    fast = codecs.writer(codecs.codec(node).node, fallback=must_not_be_needed)
    assert fast(value) == codecs.interpreted.encode(node, value)


@given(cases(), st.data())
def test_the_interpreted_codec_takes_all_that_compiled_code_takes(
    case: tuple[Codecs, Type, Any], data: st.DataObject
) -> None:
    codecs, node, value = case
    value = mutate(data.draw, value)
    fast = codecs.writer(codecs.codec(node).node, fallback=lambda _: b"refused")(value)
    try:
        interpreted = codecs.interpreted.encode(node, value)
    except EncodeError:
        interpreted = None
    assert fast == b"refused" or fast == interpreted


@given(cases(), st.data())
def test_damaged_bytes_decode_alike_in_both_or_in_none(
    case: tuple[Codecs, Type, Any], data: st.DataObject
) -> None:
    codecs, node, value = case
    raw = bytearray(codecs.codec(node).encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(
                st.integers(0, 255)
            )
    raw = raw[: data.draw(st.integers(0, len(raw)))] + data.draw(st.binary(max_size=3))
    try:
        found = codecs.interpreted.decode(node, bytes(raw))
    except DecodeError:
        with pytest.raises(DecodeError):
            codecs.codec(node).decode_from(bytes(raw))
    else:
        assert 0 <= found[1] <= len(raw)
        fast = codecs.codec(node).decode_from(bytes(raw))
        assert fast[1] == found[1]
        assert same(fast[0], found[0])


@given(cases(nan=False))  # JSON's NaN has no bits of its own
def test_json_is_json_and_encodes_to_the_same_bytes(
    case: tuple[Codecs, Type, Any],
) -> None:
    codecs, node, value = case
    codec = codecs.codec(node)
    text = json.dumps(codec.to_json(value), allow_nan=False)
    assert (
        codec.encode_json(json.loads(text))
        == codec.encode(json.loads(text))
        == codecs.interpreted.encode(node, value)
    )


@given(cases())
def test_sizes_hold_for_values(case: tuple[Codecs, Type, Any]) -> None:
    codecs, node, value = case
    size = len(codecs.codec(node).encode(value))
    assert size >= codecs.layouts.least(node)
    assert codecs.codec(node).fixed_size in (None, size)


def test_the_source_of_compiled_code_is_kept() -> None:
    codecs = Codecs(ProgramModel("p"))
    codecs.codec(Struct(())).encode({})
    code = codecs.codec(Struct(())).encode.__code__
    assert linecache.getline(code.co_filename, code.co_firstlineno).startswith(
        "def encode_"
    )


def test_the_source_is_forgotten_with_the_codecs() -> None:
    codecs = Codecs(ProgramModel("p"))
    codecs.codec(Struct(())).encode({})
    file = codecs.codec(Struct(())).encode.__code__.co_filename
    assert file in linecache.cache
    del codecs
    gc.collect()
    assert file not in linecache.cache


def test_a_type_that_cannot_be_encoded_says_why() -> None:
    codecs = Codecs(
        ProgramModel(
            "p",
            types=(
                TypeDef("Odd", Unsupported("HashMap<K>", "its order is the program's")),
            ),
        )
    )
    with pytest.raises(NotUsable, match="its order is the program's"):
        codecs.codec(Array(Link("Odd"), Int(8)))


def test_a_type_larger_than_any_account_is_refused_each_time() -> None:
    codecs = Codecs(ProgramModel("p"))
    for _ in range(2):
        with pytest.raises(NotUsable, match="it takes over"):
            codecs.codec(Array(Int(64), 10**9))


def _doubling(levels: int, leaf: Type, layout: str) -> Codecs:
    """Types T0, T1, …, each of which holds the one before twice."""
    bodies = [
        Struct((Field("a", Link(f"T{i}")), Field("b", Link(f"T{i}"))))
        for i in range(levels)
    ]
    names = [TypeDef(f"T{i + 1}", body, layout=layout) for i, body in enumerate(bodies)]
    return Codecs(ProgramModel("p", types=(TypeDef("T0", leaf, layout=layout), *names)))


@pytest.mark.parametrize("layout", ["borsh", "c"])
@pytest.mark.parametrize("leaf", [Struct(()), Struct((Field("x", Int(8)),))])
def test_types_that_grow_by_doubling_are_refused(leaf: Type, layout: str) -> None:
    codecs = _doubling(20, leaf, layout)
    with pytest.raises(NotUsable, match="it has more than 8,192 parts"):
        codecs.codec(Link("T20"))


def test_nested_empty_types_become_functions_of_their_own() -> None:
    codec = _doubling(10, Struct(()), "borsh").codec(Link("T10"))
    value: Any = {}
    for _ in range(10):
        value = {"a": value, "b": value}
    assert codec.decode(codec.encode(value)) == value
    assert len(codec.encode.__code__.co_code) < 10_000


@pytest.mark.parametrize(
    "node",
    [
        Array(Array(Array(Struct(()), 100), 100), 100),
        Array(Struct((Field("x", Int(8)), Field("y", Array(Tuple(()), 1000)))), 1000),
        Array(Array(Struct(()), 10**9), Int(32)),
    ],
)
def test_items_without_bytes_are_bounded(node: Type) -> None:
    with pytest.raises(
        NotUsable, match="it has over 65,536 items that may take no bytes"
    ):
        Codecs(ProgramModel("p")).codec(node)


def test_deep_types_go_on_in_functions_of_their_own() -> None:
    node: Type = Int(16)
    for _ in range(40):
        node = Array(node, Int(8))
    codec = Codecs(ProgramModel("p")).codec(node)
    value: Any = 7
    for _ in range(40):
        value = [value]
    assert codec.encode(value) == b"\x01" * 40 + b"\x07\x00"
    assert codec.decode(codec.encode(value)) == value

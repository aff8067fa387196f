"""The fuzz targets under Hypothesis, the kept corpus once more, and every finding as a test of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec, find_instruction
from mcpsol_py.errors import DecodeError, EncodeError, NotUsable
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.model.types import (
    U8,
    U64,
    Array,
    Field,
    FixedSize,
    Int,
    Link,
    Offset,
    Option,
    String,
    Struct,
    TypeDef,
    vec,
)
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=600))
def test_whatever_the_bytes_only_our_own_errors_come_out(
    name: str, data: bytes
) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_still_passes(name: str) -> None:
    files = sorted((CORPUS / name).iterdir())
    assert files
    for file in files:
        TARGETS[name](file.read_bytes())


# --- no unbounded time or memory -------------------------------------------------------------------------------------


def quick(seconds: float, started: float) -> bool:
    return time.process_time() - started < seconds


def test_huge_counts_are_refused_before_anything_is_allocated() -> None:
    codecs = Codecs(ProgramModel("p", types=(TypeDef("Empty", Struct(())),)))
    started = time.process_time()
    for node in (
        vec(U64),
        vec(U8),
        vec(vec(U8)),
        vec(Link("Empty")),
        vec(Array(U64, 1000)),
        Array(U8, Int(64)),
    ):
        with pytest.raises(DecodeError):
            codecs.codec(node).decode(b"\xff" * 12)
    assert quick(1, started)


def test_types_that_would_take_gigabytes_are_refused() -> None:
    codecs = Codecs(ProgramModel("p"))
    for node in (
        Array(U8, 2**40),
        FixedSize(String(), 2**40),
        Offset(U8, 2**40, "pre", "padded"),
        Option(FixedSize(String(), 2**40), fixed=True),
        vec(Array(Array(U64, 2**20), 2**20)),
    ):
        with pytest.raises(NotUsable, match="it takes over"):
            codecs.codec(node)


def test_a_hundred_thousand_instructions_are_searched_and_one_encodes_at_once() -> None:
    many = tuple(
        Instruction(
            f"ix{i}", Discriminator(i.to_bytes(8, "little")), (Field("a", U64),)
        )
        for i in range(100_000)
    )
    model = ProgramModel("many", many)
    started = time.process_time()
    data = InstructionCodec(Codecs(model), many[77_777]).encode({"a": 1})
    found = find_instruction(model, data)
    assert found is many[77_777]
    assert quick(5, started)


def test_a_struct_of_many_fields_compiles_in_time() -> None:
    fields = tuple(Field(f"f{i}", U64 if i % 3 else vec(U8)) for i in range(5_000))
    codec = Codecs(ProgramModel("p")).codec(Struct(fields))
    started = time.process_time()
    value = {f.name: 1 if f.type == U64 else b"x" for f in fields}
    assert codec.decode(codec.encode(value)) == value
    assert quick(10, started)


def test_lists_that_hold_lists_do_not_multiply() -> None:
    codec = Codecs(ProgramModel("p")).codec(vec(vec(vec(Struct(())))))
    started = time.process_time()
    with pytest.raises(DecodeError):
        codec.decode(b"\xff\xff\xff\x00" * 1000)
    assert quick(5, started)


def test_names_from_strangers_stay_names() -> None:
    names = [
        "'",
        '"',
        "\\",
        "']+open('/etc/passwd')#",
        "\n",
        "\u2028",
        "{{x}}",
        "\ud800",
        "__import__",
        "a" * 100_000,
    ]
    codec = Codecs(ProgramModel("p")).codec(
        Struct(tuple(Field(name, U8) for name in names))
    )
    value = {name: index for index, name in enumerate(names)}
    assert codec.encode(value) == bytes(range(len(names)))
    assert codec.decode(codec.encode(value)) == value
    with pytest.raises(EncodeError) as caught:
        codec.encode({**value, names[0]: -1})
    assert caught.value.path == names[0]

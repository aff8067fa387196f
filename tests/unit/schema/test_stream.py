import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import MalformedPage, SchemaError
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.serial import to_json
from mcpsol_py.schema import stream as module
from mcpsol_py.schema.stream import (
    CHUNK,
    DICTIONARY,
    StreamRef,
    model_text,
    read_stream,
    stream,
    stream_ref,
    write_stream,
)
from tests.models import anything, programs, real

MODEL = ProgramModel(
    "vault",
    docs=tuple(f"{i} words that do not pack well {i * 7919:x}" for i in range(400)),
)


@given(programs())
def test_what_is_written_is_read(model: ProgramModel) -> None:
    pages, ref = stream(model)
    assert all(len(p) <= 1024 and p[-1] == 0xFF for p in pages)
    assert len(pages) == ref.pages
    assert read_stream(pages, ref) == model


@given(anything(Instruction))
def test_instructions_with_anything_in_them_too(instruction: Instruction) -> None:
    model = ProgramModel("x", (instruction,))
    assert read_stream(write_stream(model), stream_ref(model)) == model


def test_equal_models_have_one_identity() -> None:
    again = ProgramModel("vault", docs=MODEL.docs, origin="elsewhere")
    assert stream_ref(MODEL) == stream_ref(again)
    assert stream_ref(MODEL).sha256 != stream_ref(ProgramModel("vault")).sha256


def test_text_that_utf8_cannot_say_does_not_stop_it() -> None:
    model = ProgramModel("x", docs=("half a pair \ud800.",))
    assert read_stream(write_stream(model), stream_ref(model)).docs == (
        "half a pair ?.",
    )


def test_pages_are_framed_as_docs_wire_says() -> None:
    pages, ref = stream(MODEL)
    assert ref.pages > 2
    packed = b"".join(page[9:-1] for page in pages)
    for i, page in enumerate(pages):
        assert page[0] == 1
        assert int.from_bytes(page[1:3], "little") == i
        assert int.from_bytes(page[3:5], "little") == len(pages)
        assert int.from_bytes(page[5:9], "little") == zlib.crc32(page[9:-1])
    assert all(len(page) == 1024 for page in pages[:-1])
    assert len(packed) == ref.size
    assert zlib.decompressobj(-15, DICTIONARY).decompress(packed) == model_text(MODEL)


@given(st.data())
def test_any_changed_byte_is_found(data: st.DataObject) -> None:
    pages, ref = stream(MODEL)
    i = data.draw(st.integers(0, len(pages) - 1))
    at = data.draw(st.integers(0, len(pages[i]) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda b: b != pages[i][at]))
    pages[i] = pages[i][:at] + bytes([new]) + pages[i][at + 1 :]
    with pytest.raises(MalformedPage) as caught:
        read_stream(pages, ref)
    assert caught.value.cursor == ref.at + i


@given(st.data())
def test_missing_swapped_cut_and_foreign_pages_are_found(data: st.DataObject) -> None:
    pages, ref = stream(MODEL)
    other, _ = stream(ProgramModel("other", docs=MODEL.docs))
    kind = data.draw(
        st.sampled_from(["missing", "swapped", "cut", "foreign", "empty", "none"])
    )
    i = data.draw(st.integers(0, len(pages) - 2))
    if kind == "missing":
        del pages[i]
    elif kind == "swapped":
        pages[i], pages[i + 1] = pages[i + 1], pages[i]
    elif kind == "cut":
        pages[i] = pages[i][: data.draw(st.integers(0, len(pages[i]) - 1))]
    elif kind == "foreign":
        pages[i] = other[i]
        if other[i] == stream(MODEL)[0][i]:
            return
    elif kind == "empty":
        pages[i] = b""
    else:
        pages = []
    with pytest.raises(MalformedPage):
        read_stream(pages, ref)


def test_zeros_that_nodes_trim_or_add_do_no_harm() -> None:
    pages, ref = stream(MODEL)
    assert read_stream([p + b"\0\0" for p in pages], ref) == MODEL


@pytest.mark.parametrize(
    "change",
    [
        {"at": 0},
        {"at": 0xFFFF},
        {"size": 0},
        {"size": 0x8000 * CHUNK + 1},
        {"text": 10**12},
        {"text": True},
        {"sha256": "ab"},
        {"sha256": 5},
        {"at": None},
    ],
)
def test_a_reference_that_cannot_be_is_refused(change: dict[str, object]) -> None:
    good = StreamRef(0x8000, 3000, 9000, "0" * 64)
    assert StreamRef.from_json(good.to_json()) == good
    with pytest.raises(MalformedPage):
        StreamRef.from_json(good.to_json() | change)
    with pytest.raises(MalformedPage):
        StreamRef.from_json([])


def test_a_bomb_is_not_unpacked() -> None:
    packer = zlib.compressobj(
        9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
    )
    packed = packer.compress(bytes(10_000_000)) + packer.flush()
    chunks = [packed[i : i + CHUNK] for i in range(0, len(packed), CHUNK)]
    pages = [
        module._HEAD.pack(1, i, len(chunks), zlib.crc32(c)) + c + b"\xff"
        for i, c in enumerate(chunks)
    ]
    with pytest.raises(MalformedPage, match="does not unpack to the 5,000 bytes"):
        read_stream(pages, StreamRef(0x8000, len(packed), 5000, "0" * 64))


def test_a_model_without_cursors_enough_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SchemaError, match="there are cursors for 1"):
        stream(MODEL, at=0xFFFF)
    monkeypatch.setattr(module, "MAX_TEXT", 100)
    with pytest.raises(SchemaError, match="Shorten its docs"):
        stream(MODEL)


def test_text_of_another_kind_than_a_model_is_refused() -> None:
    text = b'{"name":3}'
    packed = module._pack(text)
    page = module._HEAD.pack(1, 0, 1, zlib.crc32(packed)) + packed + b"\xff"
    ref = StreamRef(0x8000, len(packed), len(text), sha256(text).hexdigest())
    with pytest.raises(MalformedPage, match="this version cannot read the model"):
        read_stream([page], ref)


def test_real_programs_fit_few_pages(shared_idl: Path) -> None:
    model = real(shared_idl)
    pages, ref = stream(model)
    assert read_stream(pages, ref) == model
    assert ref.pages <= 64, "a program of 250 instructions must fit in 64 pages"
    assert to_json(read_stream(pages, ref)) == to_json(model)

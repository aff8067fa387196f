"""`Data` as it runs in Python: it reads what struct reads, and nothing behind the end."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.data import READS, Data, DataTooShort
from mcpsol_py.bodies.numbers import u8, u64

FORMATS = {
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "i8": "b",
    "i16": "h",
    "i32": "i",
}
FORMATS |= {"i64": "q"}


@given(st.binary(max_size=40), st.sampled_from(sorted(FORMATS)), st.integers(0, 45))
def test_numbers_are_little_endian(data: bytes, name: str, at: int) -> None:
    form = "<" + FORMATS[name]
    read = getattr(Data(data), name)
    if at + struct.calcsize(form) <= len(data):
        found = read(u64(at))
        assert int(found) == struct.unpack_from(form, data, at)[0]
        assert type(found).__name__ == name
    else:
        with pytest.raises(DataTooShort):
            read(at)


@given(st.binary(max_size=20), st.integers(-3, 25), st.integers(-3, 25))
def test_a_part_is_within_the_data(data: bytes, start: int, stop: int) -> None:
    if 0 <= start <= stop <= len(data):
        assert Data(data)[start:stop] == data[start:stop]
    else:
        with pytest.raises(DataTooShort):
            Data(data)[start:stop]


def test_addresses_bytes_and_wide_numbers() -> None:
    data = Data(bytes(range(40)))
    assert data.pubkey(4) == Pubkey(bytes(range(4, 36)))
    assert data[39] == 39
    assert type(data[39]) is u8
    assert data[38:] == b"\x26\x27"
    assert data[38:].u16(0) == 0x2726
    assert int(Data(b"\xff" * 16).u128(0)) == 2**128 - 1
    assert int(Data(b"\xff" * 16).i128(0)) == -1
    assert {"u128", "i128", *FORMATS} == set(READS)
    for behind in (
        lambda: data[40],
        lambda: data[-1],
        lambda: data.pubkey(9),
        lambda: data[41:],
    ):
        with pytest.raises(DataTooShort):
            behind()

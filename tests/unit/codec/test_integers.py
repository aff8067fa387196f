"""Integers as bytes, and the compact-u16 encodings that Solana refuses."""

from __future__ import annotations

import pytest

from mcpsol_py.codec.integers import decode_short_u16, encode_short_u16, int_bytes
from mcpsol_py.model.types import Int, ShortU16


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16383, 16384, 65535])
def test_compact_u16_comes_back(number: int) -> None:
    data = encode_short_u16(number)
    assert decode_short_u16(b"x" + data, 1) == (number, 1 + len(data))
    assert len(data) == (1 if number < 128 else 2 if number < 16384 else 3)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x80\x00", "got a longer one"),
        (b"\xff\xff\x7f", "got a number over 65,535"),
        (b"\x80\x80\x80", "got more than three bytes"),
    ],
)
def test_other_compact_u16_encodings_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode_short_u16(data, 0)


def test_a_compact_u16_that_is_cut_off_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        decode_short_u16(b"\x80", 0)


@pytest.mark.parametrize(
    ("node", "number", "data"),
    [
        (Int(16), 258, b"\x02\x01"),
        (Int(16, big_endian=True), 258, b"\x01\x02"),
        (Int(8, signed=True), -1, b"\xff"),
        (ShortU16(), 128, b"\x80\x01"),
    ],
)
def test_integers_have_the_width_and_order_of_their_type(
    node: Int | ShortU16, number: int, data: bytes
) -> None:
    assert int_bytes(node, number) == data

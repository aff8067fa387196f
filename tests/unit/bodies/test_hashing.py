"""The hash of values: the bytes that each has in an account, and what they hash to."""

from __future__ import annotations

import struct
from hashlib import sha256

import pytest

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.data import Data
from mcpsol_py.bodies.hashing import bytes_of, hash_of
from mcpsol_py.bodies.numbers import i64, u8, u32

OWNER = Pubkey("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")


def test_it_is_the_hash_of_the_bytes_in_their_order() -> None:
    packed = struct.pack("<BqI?", 7, -2, 5, True) + bytes(OWNER) + b"abc"
    parts = (u8(7), i64(-2), u32(5), True, OWNER, Data(b"ab"), b"c")
    assert hash_of(*parts) == sha256(packed).digest()
    assert hash_of(*parts) != hash_of(*reversed(parts))


@pytest.mark.parametrize("value", [5, "text", None])
def test_a_value_of_no_known_length_has_no_bytes(value: object) -> None:
    with pytest.raises(TypeError, match="no bytes"):
        bytes_of(value)  # type: ignore[arg-type]

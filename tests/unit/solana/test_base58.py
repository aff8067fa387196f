import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py.solana.base58 import b58decode, b58encode, is_address


@given(st.binary(max_size=80))
def test_encoding_and_decoding_are_inverse(data: bytes) -> None:
    assert b58decode(b58encode(data)) == data


@given(st.binary(min_size=32, max_size=32))
def test_addresses_are_as_solders_writes_them(data: bytes) -> None:
    text = str(Pubkey(data))
    assert (b58encode(data), b58decode(text)) == (text, data)
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "1" * 31, "1" * 33, "0" * 32, "l" * 43, "z" * 44, " " + "1" * 32, "é" * 32],
)
def test_what_is_no_address(text: str) -> None:
    assert not is_address(text)


def test_characters_outside_the_alphabet_are_named() -> None:
    with pytest.raises(ValueError, match="'0'"):
        b58decode("10")

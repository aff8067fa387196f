"""Names that settle an address, and fields of other programs' state."""

import struct

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.solana import addresses as wellknown
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM, certain, foreign_field


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("systemProgram", "11111111111111111111111111111111"),
        ("system_program", "11111111111111111111111111111111"),
        ("tokenProgram", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
        ("associatedTokenProgram", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
        ("rent", "SysvarRent111111111111111111111111111111111"),
        ("clock", "SysvarC1ock11111111111111111111111111111111"),
        ("instructionsSysvar", "Sysvar1nstructions1111111111111111111111111"),
    ],
)
def test_names_in_any_case_style(name: str, address: str) -> None:
    assert str(certain(name)) == address


@pytest.mark.parametrize(
    "name", ["program", "mint", "authority", "swap_program", "token", "metadata", "oracle"]
)
def test_a_name_that_does_not_settle_it_gives_nothing(name: str) -> None:
    assert certain(name) is None


def test_every_address_is_one_and_named_once_in_snake_case() -> None:
    for name, address in wellknown.BY_NAME.items():
        assert certain(name) == address
        assert len(bytes(address)) == 32


def test_fields_of_a_mint_and_of_a_token_account() -> None:
    mint_key, owner_key = Pubkey.new_unique(), Pubkey.new_unique()
    mint = bytearray(82)
    struct.pack_into("<Q", mint, 36, 1_000)
    mint[44] = 6
    account = bytes(mint_key) + bytes(owner_key) + struct.pack("<Q", 77) + bytes(93)
    assert foreign_field("Mint", "supply", TOKEN_PROGRAM, bytes(mint)) == (
        struct.pack("<Q", 1_000),
        1_000,
    )
    assert foreign_field("Mint", "decimals", TOKEN_2022_PROGRAM, bytes(mint)) == (b"\x06", 6)
    assert foreign_field("TokenAccount", "mint", TOKEN_PROGRAM, account) == (
        bytes(mint_key),
        mint_key,
    )
    assert foreign_field("TokenAccount", "owner", TOKEN_PROGRAM, account) == (
        bytes(owner_key),
        owner_key,
    )
    assert foreign_field(None, "amount", TOKEN_PROGRAM, account) == (struct.pack("<Q", 77), 77)


def test_state_of_an_unknown_owner_or_too_short_is_not_guessed() -> None:
    assert foreign_field("Mint", "supply", Pubkey.new_unique(), bytes(82)) is None
    assert foreign_field("Mint", "supply", TOKEN_PROGRAM, bytes(40)) is None
    assert foreign_field("Mint", "price", TOKEN_PROGRAM, bytes(82)) is None

"""Our bytes of SPL Token's accounts against those that solders makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount, TokenAccountState

from mcpsol_py.solana import token_bytes as tokens

KEYS = st.binary(min_size=32, max_size=32).map(Pubkey)
U64 = st.integers(0, 2**64 - 1)


@given(st.none() | KEYS, st.integers(0, 255), U64)
def test_mints(authority: Pubkey | None, decimals: int, supply: int) -> None:
    other = Mint(authority, supply, decimals, is_initialized=True, freeze_authority=None)
    assert tokens.mint_data(authority, decimals, supply) == bytes(other)
    assert len(bytes(other)) == tokens.MINT_SIZE


@given(KEYS, KEYS, U64)
def test_token_accounts(mint: Pubkey, owner: Pubkey, amount: int) -> None:
    other = TokenAccount(mint, owner, amount, None, TokenAccountState.Initialized, None, 0, None)
    made = tokens.token_data(mint, owner, amount)
    assert made == bytes(other)
    assert len(made) == tokens.ACCOUNT_SIZE
    frozen = TokenAccount.from_bytes(tokens.put_at(made, tokens.STATE, b"\2"))
    assert frozen.state == TokenAccountState.Frozen


@given(KEYS, KEYS, U64, KEYS, U64)
def test_each_offset_is_that_of_its_field(
    mint: Pubkey, owner: Pubkey, amount: int, other: Pubkey, more: int
) -> None:
    made = tokens.token_data(mint, owner, amount)
    assert TokenAccount.from_bytes(tokens.put_at(made, tokens.MINT, bytes(other))).mint == other
    assert TokenAccount.from_bytes(tokens.put_at(made, tokens.OWNER, bytes(other))).owner == other
    changed = TokenAccount.from_bytes(
        tokens.put_at(made, tokens.AMOUNT, more.to_bytes(8, "little"))
    )
    assert (changed.amount, changed.mint, changed.owner) == (more, mint, owner)
    coin = tokens.mint_data(mint, 6, amount)
    assert (
        Mint.from_bytes(tokens.put_at(coin, tokens.SUPPLY, more.to_bytes(8, "little"))).supply
        == more
    )
    assert Mint.from_bytes(tokens.put_at(coin, tokens.DECIMALS, b"\7")).decimals == 7
    assert (
        Mint.from_bytes(tokens.put_at(coin, tokens.AUTHORITY + 4, bytes(other))).mint_authority
        == other
    )
    with pytest.raises(ValueError, match="hasn't been initialized"):
        Mint.from_bytes(tokens.put_at(coin, tokens.INITIALIZED_MINT, b"\0"))

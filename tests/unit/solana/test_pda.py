"""Derived addresses, against addresses that are public knowledge on mainnet (tests/vectors/addresses.json)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py.errors import PdaError
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.pda import (
    anchor_idl_address,
    associated_token,
    event_authority,
    find_pda,
)

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "addresses.json").read_text()
)["addresses"]


def seed_bytes(seed: dict[str, Any]) -> bytes:
    ((kind, value),) = seed.items()
    if kind == "text":
        return str(value).encode()
    if kind == "key":
        return bytes(Pubkey.from_string(value))
    if kind == "decimal":
        return str(value).encode()
    return int(value).to_bytes({"u8": 1, "u16": 2}[kind], "little")


def derive(vector: dict[str, Any]) -> Pubkey:
    if vector["kind"] == "ata":
        keys = (
            Pubkey.from_string(vector[k]) for k in ("owner", "mint", "token_program")
        )
        return associated_token(*keys)
    program = Pubkey.from_string(vector["program"])
    if vector["kind"] == "anchor_idl":
        return anchor_idl_address(program)
    if vector["kind"] == "event_authority":
        return event_authority(program)
    return find_pda([seed_bytes(s) for s in vector["seeds"]], program)[0]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: str(v["name"]))
def test_known_addresses_of_mainnet(vector: dict[str, Any]) -> None:
    assert str(derive(vector)) == vector["address"]
    assert vector["source"]


def test_the_token_program_is_part_of_an_associated_address() -> None:
    owner, mint = Pubkey.new_unique(), Pubkey.new_unique()
    assert associated_token(owner, mint) == associated_token(owner, mint, TOKEN_PROGRAM)
    assert associated_token(owner, mint, TOKEN_2022_PROGRAM) != associated_token(
        owner, mint, TOKEN_PROGRAM
    )


def test_a_seed_over_32_bytes_is_refused_not_hashed() -> None:
    with pytest.raises(PdaError) as caught:
        find_pda([b"ok", bytes(33)], Pubkey.new_unique(), account="swap.vault")
    assert caught.value.account == "swap.vault"
    assert "seed 2 has 33 bytes" in str(caught.value)


def test_more_than_15_seeds_are_refused() -> None:
    with pytest.raises(PdaError, match="16 seeds"):
        find_pda([b"x"] * 16, Pubkey.new_unique())
    find_pda([b"x"] * 15, Pubkey.new_unique())


@given(
    st.lists(st.binary(max_size=32), max_size=15), st.binary(min_size=32, max_size=32)
)
def test_the_bump_is_the_first_that_leaves_the_curve(
    seeds: list[bytes], program: bytes
) -> None:
    owner = Pubkey(program)
    address, bump = find_pda(seeds, owner)
    assert not address.is_on_curve()
    assert Pubkey.create_program_address([*seeds, bytes([bump])], owner) == address
    for higher in range(bump + 1, 256):
        with pytest.raises(Exception, match="off|curve|seeds"):
            Pubkey.create_program_address([*seeds, bytes([higher])], owner)

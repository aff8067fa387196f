"""Addresses of real pools and accounts, derived through the real IDLs, some with an overlay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.errors import MissingAccount, SourceError

VECTORS = {
    v["name"]: v
    for v in json.loads(
        (Path(__file__).parents[1] / "vectors" / "addresses.json").read_text()
    )["addresses"]
}
POOL = VECTORS["Orca SOL/USDC whirlpool, tick spacing 64"]
TICKS = VECTORS["tick array of an Orca pool: the start index is decimal text"]
OVERLAY = {
    "instructions": {
        "initialize_tick_array": {
            "accounts": {"tick_array": {"encodings": {"start_tick_index": "utf8"}}}
        },
    }
}


def test_the_whirlpool_of_sol_and_usdc(shared_idls: Path) -> None:
    program = load(shared_idls / "anchor__whirlpool.json")
    config, sol, usdc = (seed["key"] for seed in POOL["seeds"][1:4])
    accounts = {"whirlpools_config": config, "token_mint_a": sol, "token_mint_b": usdc}
    pool = program.instruction("initialize_pool").address(
        "whirlpool", {"tick_spacing": 64}, accounts
    )
    assert str(pool) == POOL["address"]


def test_the_event_authority_of_jupiter(shared_idls: Path) -> None:
    program = load(shared_idls / "anchor__jupiter_v6.json")
    authority = program.instruction("route").address("event_authority", {}, {})
    assert str(authority) == VECTORS["event authority of Jupiter v6"]["address"]


def test_the_metadata_of_usdc_by_codamas_seeds(shared_idls: Path) -> None:
    vector = VECTORS["Token Metadata account of USDC"]
    instruction = load(shared_idls / "codama__mpl_token_metadata.json").instruction(
        "create"
    )
    assert (
        str(instruction.address("metadata", {}, {"mint": vector["seeds"][2]["key"]}))
        == vector["address"]
    )


def test_the_program_metadata_of_a_program_by_codamas_seeds(shared_idls: Path) -> None:
    program_id = Pubkey.from_string(POOL["program"])
    instruction = load(shared_idls / "codama__program_metadata.json").instruction(
        "initialize"
    )
    derived = instruction.address(
        "metadata", {"seed": "idl"}, {"program": program_id, "authority": program_id}
    )
    assert derived in (
        metadata_address(program_id),
        metadata_address(program_id, authority=program_id),
    )


def tick_array(address: str = TICKS["address"]) -> dict[str, object]:
    _, pool, start = TICKS["seeds"]
    return {
        "instruction": "initialize_tick_array",
        "account": "tick_array",
        "args": {"start_tick_index": start["decimal"]},
        "accounts": {"whirlpool": pool["key"]},
        "address": address,
    }


def test_a_tick_array_whose_number_is_text_needs_the_overlay(shared_idls: Path) -> None:
    known = tick_array()
    args, accounts = known["args"], known["accounts"]
    assert isinstance(args, dict)
    assert isinstance(accounts, dict)
    bare = load(shared_idls / "anchor__whirlpool.json").instruction(
        "initialize_tick_array"
    )
    assert str(bare.address("tick_array", args, accounts)) != TICKS["address"]
    program = load(
        shared_idls / "anchor__whirlpool.json", overlay={**OVERLAY, "known": [known]}
    )
    derived = program.instruction("initialize_tick_array").address(
        "tick_array", args, accounts
    )
    assert str(derived) == TICKS["address"]


def test_an_overlay_whose_known_address_does_not_come_out_is_refused(
    shared_idls: Path,
) -> None:
    with pytest.raises(SourceError) as caught:
        load(
            shared_idls / "anchor__whirlpool.json",
            overlay={**OVERLAY, "known": [tick_array(POOL["address"])]},
        )
    assert caught.value.path == "known[0]"
    assert TICKS["address"] in str(caught.value)


def test_every_derived_account_of_every_idl_says_what_it_needs(
    shared_idl: Path,
) -> None:
    """Without anything given, each account is filled in or named with the reason; nothing else is raised."""
    program = load(shared_idl)
    reasons: list[tuple[str, MissingAccount]] = []
    for name in program.instructions:
        instruction = program.instruction(name)
        for account in instruction.accounts:
            try:
                instruction.address(
                    account, {}, {}, program_id=POOL["program"], wallet=POOL["address"]
                )
            except MissingAccount as error:
                reasons.append((name, error))
    assert [
        error for name, error in reasons if error.instruction != name or not error.why
    ] == []

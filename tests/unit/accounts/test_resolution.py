"""Addresses that a call reads from the data of other accounts."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.errors import MissingAccount
from mcpsol_py.solana.addresses import TOKEN_PROGRAM

AUTHORITY, MINT, VAULT, SOURCE = (Pubkey(bytes([n]) * 32) for n in range(1, 5))


def test_has_one_of_a_spec_is_read_from_the_state(repo: Path) -> None:
    program = load(f"{repo}/programs/vault/spec.py")
    state = {
        "authority": AUTHORITY,
        "mint": MINT,
        "deposited": 0,
        "withdrawn": 0,
        "bump": 255,
    }
    program_id = program.instruction("deposit").program_id()
    data = program.encode_account("State", state)
    held = {
        VAULT: Account(1, data, program_id),
        MINT: Account(1, bytes(82), TOKEN_PROGRAM),
    }
    plan = program.instruction("deposit").plan
    call = plan.resolve(
        {"amount": 1},
        {"vault": VAULT, "source": SOURCE},
        program_id=program_id,
        wallet=AUTHORITY,
        online=True,
    )
    while wanted := call.wanted():
        call.supply((key, held.get(key)) for key in wanted)
    assert call.addresses()["mint"] == MINT
    assert {"vault", "source", "depositor"} < call.addresses().keys()


def test_offline_it_is_asked_for(repo: Path) -> None:
    deposit = load(f"{repo}/programs/vault/spec.py").instruction("deposit")
    with pytest.raises(MissingAccount, match=r"deposit\.mint.*read from the chain"):
        deposit.build(
            {"amount": 1}, {"vault": VAULT, "source": SOURCE}, wallet=AUTHORITY
        )

"""Withdraw authorities and stake accounts of native programs."""

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    LOADER_V4,
    STAKE_PROGRAM,
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
    VOTE_PROGRAM,
)
from mcpsol_py.solana.native_accounts import read_stake, withdraw_authority

HOLDER, OTHER, CUSTODIAN = (bytes([n]) * 32 for n in (1, 2, 3))


def tag(number: int) -> bytes:
    return number.to_bytes(4, "little")


def stake(kind: int) -> bytes:
    return tag(kind) + bytes(8) + OTHER + HOLDER + bytes(16) + CUSTODIAN + bytes(76)


def account(owner: Pubkey, data: bytes) -> Account:
    return Account(1, data, owner)


@pytest.mark.parametrize(
    ("owner", "data"),
    [
        (STAKE_PROGRAM, stake(1)),
        (STAKE_PROGRAM, stake(2)),
        (VOTE_PROGRAM, tag(2) + OTHER + HOLDER + bytes(100)),
        (SYSTEM_PROGRAM, tag(1) + tag(1) + HOLDER + bytes(40)),
        (UPGRADEABLE_LOADER, tag(1) + b"\1" + HOLDER + b"ELF"),
        (UPGRADEABLE_LOADER, tag(3) + bytes(8) + b"\1" + HOLDER + b"ELF"),
        (ADDRESS_LOOKUP_TABLE_PROGRAM, tag(1) + bytes(17) + b"\1" + HOLDER + bytes(2)),
        (LOADER_V4, bytes(8) + HOLDER + bytes(8)),
    ],
)
def test_the_withdraw_authority_of_each_kind(owner: Pubkey, data: bytes) -> None:
    assert withdraw_authority(account(owner, data)) == Pubkey(HOLDER)


@pytest.mark.parametrize(
    ("owner", "data"),
    [
        (STAKE_PROGRAM, stake(0)),
        (STAKE_PROGRAM, stake(1)[:75]),
        (SYSTEM_PROGRAM, tag(1) + tag(0) + HOLDER + bytes(40)),
        (SYSTEM_PROGRAM, b""),
        (UPGRADEABLE_LOADER, tag(1) + b"\0" + HOLDER + b"ELF"),
        (UPGRADEABLE_LOADER, tag(2) + HOLDER),
        (Pubkey(OTHER), stake(1)),
    ],
)
def test_other_accounts_have_no_withdraw_authority(owner: Pubkey, data: bytes) -> None:
    assert withdraw_authority(account(owner, data)) is None


def test_a_stake_account_is_read() -> None:
    found = read_stake(account(STAKE_PROGRAM, stake(2)))
    assert found is not None
    assert (found.staker, found.withdrawer, found.custodian) == (
        Pubkey(OTHER),
        Pubkey(HOLDER),
        Pubkey(CUSTODIAN),
    )
    assert found.lockup == bytes(16) + CUSTODIAN


@pytest.mark.parametrize("data", [stake(0), stake(3), stake(1)[:123]])
def test_other_data_is_no_stake_account(data: bytes) -> None:
    assert read_stake(account(STAKE_PROGRAM, data)) is None

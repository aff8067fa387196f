"""Absent and closed accounts."""

from __future__ import annotations

from solders.account import Account

from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.lamports import existing, lamports_of


def account(lamports: int, data: bytes) -> Account:
    return Account(lamports, data, SYSTEM_PROGRAM)


def test_an_account_without_lamports_and_data_is_closed() -> None:
    assert existing(None) is None
    assert existing(account(0, b"")) is None


def test_an_account_with_lamports_or_data_exists() -> None:
    for held in (account(1, b""), account(0, b"x")):
        assert existing(held) == held


def test_an_absent_account_has_no_lamports() -> None:
    assert [lamports_of(held) for held in (None, account(5, b""))] == [0, 5]

"""An address that is no program is said to be what it is, wherever its schema is looked for."""

from __future__ import annotations

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey

from mcpsol_py import connect_sync
from mcpsol_py.client.discovery import discover_sync, list_tools_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import NoProgram
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_PROGRAM, UPGRADEABLE_LOADER

ADDRESS = Pubkey(b"\x09" * 32)
#: A token account: mint, owner, amount, no delegate, initialized.
TOKENS = (
    bytes(32) + b"\x01" * 32 + bytes(8) + bytes(36) + b"\x01" + bytes(12) + bytes(44)
)
#: A mint: no authority, supply, decimals, initialized, no freeze authority.
MINT = bytes(36) + bytes(8) + b"\x06\x01" + bytes(36)


@pytest.mark.parametrize(
    ("account", "told"),
    [
        (None, "no account at this address"),
        (Account(10**9, b"", SYSTEM_PROGRAM), "is a wallet"),
        (Account(10**9, TOKENS, TOKEN_PROGRAM), "is a token account"),
        (Account(10**9, MINT, TOKEN_PROGRAM), "is a mint"),
        (
            Account(10**9, bytes(45), UPGRADEABLE_LOADER),
            "is a program's code or buffer",
        ),
        (
            Account(10**9, b"abc", Pubkey(b"\x07" * 32)),
            f"is an account of program {Pubkey(bytes([7]) * 32)}",
        ),
    ],
)
def test_what_is_no_program_is_named(account: Account | None, told: str) -> None:
    svm = LiteSVM()
    payer = Keypair().pubkey()
    svm.airdrop(payer, 10**9)
    if account is not None:
        svm.set_account(ADDRESS, account)
    chain = SvmTransport(svm)
    with pytest.raises(NoProgram, match=told):
        discover_sync(chain, ADDRESS, payer=payer)
    with pytest.raises(NoProgram, match=told):
        list_tools_sync(chain, ADDRESS, payer=payer)
    with pytest.raises(NoProgram, match=told):
        connect_sync(str(ADDRESS), chain, payer=payer)

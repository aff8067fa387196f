"""Accounts of two owners, as solders writes them."""

from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import TokenAccount, TokenAccountState

from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_PROGRAM

ME, THEM, MINT, BOX, BOX2 = (Pubkey.from_bytes(bytes([i]) * 32) for i in range(1, 6))


def token(
    owner: Pubkey = ME,
    amount: int = 100,
    delegate: Pubkey | None = None,
    delegated: int = 0,
    closer: Pubkey | None = None,
) -> Account:
    state = TokenAccount(
        mint=MINT,
        owner=owner,
        amount=amount,
        delegate=delegate,
        state=TokenAccountState.Initialized,
        is_native=None,
        delegated_amount=delegated,
        close_authority=closer,
    )
    return Account(2_039_280, bytes(state), TOKEN_PROGRAM)


def sol(lamports: int, owner: Pubkey = SYSTEM_PROGRAM, data: bytes = b"") -> Account:
    return Account(lamports, data, owner)

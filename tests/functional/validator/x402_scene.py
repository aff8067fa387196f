"""What the node has for the x402 program from the start: a mint of its own, and three token accounts."""

from __future__ import annotations

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.x402.chain.program import PROGRAM_ID, TREASURY_OWNER
from tests.functional.x402_chain import REPO, mint_data, token_data
from tests.unit.x402.payments import keypair

PAYER, PAYEE = keypair(61), keypair(62)
MINT = keypair(63).pubkey()
PROGRAM = {PROGRAM_ID: REPO / "programs/x402/x402.so"}


def accounts() -> dict[Pubkey, Account]:
    """What the node starts with: a mint, and the token accounts of payer, payee and treasury."""
    rows = {MINT: mint_data()}
    for owner, amount in (
        (PAYER.pubkey(), 1_000_000),
        (PAYEE.pubkey(), 0),
        (TREASURY_OWNER, 0),
    ):
        rows[associated_token(owner, MINT, TOKEN_PROGRAM)] = token_data(
            MINT, owner, amount
        )
    return {key: Account(10**8, data, TOKEN_PROGRAM) for key, data in rows.items()}

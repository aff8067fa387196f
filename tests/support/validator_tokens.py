"""Token balances on a validator."""

from __future__ import annotations

from solders.pubkey import Pubkey

from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.transaction import associated_token_address
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC


def tokens(chain: PaymentChain, owner: Pubkey) -> int:
    (account,) = chain.get_accounts(
        [str(associated_token_address(owner, USDC, TOKEN_PROGRAM))]
    )
    assert account is not None
    return int.from_bytes(account.data[64:72], "little")

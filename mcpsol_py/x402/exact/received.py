"""Whether a transfer reaches its payee in full: what Token-2022 mints and accounts allow.

A fee comes out of what the payee gets. With the other extensions a payment's transfer fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana import tokens
from mcpsol_py.solana.tokens import Extension, TokenAccountState
from mcpsol_py.x402.chain.payment_chain import PaymentChain

__all__ = ["REFUSALS", "check_account", "check_mint", "check_received"]

#: The reasons of the refusals here.
REFUSALS = (
    "token_non_transferable",
    "token_paused",
    "token_confidential_only",
    "token_transfer_hook",
    "token_transfer_fee",
    "token_account_frozen",
    "token_memo_required",
)


def check_mint(mint: str | Pubkey, account: Account | None, amount: int) -> None:
    """Raise PaymentError with the reason if a payee of *amount* base units would get less."""
    found = tokens.extensions(account)
    if not found:
        return
    fee = tokens.highest_transfer_fee(found, amount)
    hook = tokens.transfer_hook(found)
    refusals = {
        "token_non_transferable": Extension.NON_TRANSFERABLE in found
        and "cannot be transferred",
        "token_paused": tokens.is_paused(found) and "is paused",
        "token_confidential_only": Extension.CONFIDENTIAL_MINT_BURN in found
        and "is minted for confidential transfers only",
        "token_transfer_hook": hook is not None
        and f"calls the transfer hook {hook}, for which a payment has no accounts",
        "token_transfer_fee": fee > 0
        and f"takes a fee, so the payee would get {amount - fee:,} of {amount:,} base units",
    }
    _raise_first(f"the token {mint}", refusals)


def check_account(subject: str, account: Account | None) -> None:
    """Raise PaymentError with the reason if a token account takes no payment. *subject* names it.

    An account that does not exist is not judged here.
    """
    held = tokens.read_token_account(account)
    if held is None:
        return
    found = tokens.extensions(account)
    refusals = {
        "token_account_frozen": held.state == TokenAccountState.FROZEN
        and "is frozen; the mint's freeze authority must thaw it first",
        "token_memo_required": tokens.requires_memo(found)
        and "takes only transfers with a memo before them, which a payment cannot have",
        "token_confidential_only": not tokens.takes_plain_transfers(found)
        and "takes only confidential transfers",
    }
    _raise_first(subject, refusals)


def check_received(
    chain: PaymentChain, mint: str | Pubkey, destination: str | Pubkey, amount: int
) -> None:
    """Read both accounts and check them. Raises PaymentError, ChainUnavailable."""
    minted, held = chain.get_accounts([str(mint), str(destination)])
    check_mint(mint, minted, amount)
    check_account(f"the payee's token account {destination}", held)


def _raise_first(subject: str, refusals: Mapping[str, str | bool]) -> None:
    for code, why in refusals.items():
        if why:
            raise PaymentError(code, f"{subject} {why}")

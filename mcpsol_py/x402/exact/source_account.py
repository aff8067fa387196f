"""The token account that a payment comes from: whether its payer may take from it, and how much."""

from __future__ import annotations

from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import TokenAccount, TokenAccountState, read_token_account
from mcpsol_py.x402.chain.payment_chain import PaymentChain

__all__ = ["REFUSALS", "SourceAccount", "check_funds", "read_own_source", "read_source"]

#: The codes of the refusals here.
REFUSALS = (
    "NO_TOKEN_ACCOUNT",
    "ACCOUNT_FROZEN",
    "NO_DELEGATION",
    "DELEGATION_EXPIRED",
    "INSUFFICIENT_FUNDS",
)


@dataclass(frozen=True, slots=True)
class SourceAccount:
    """A token account that a payer may take from.

    `available`: the base units that a transfer can take now. `is_capped`: the owner's delegation
    allows less than the account holds. `refusal`: why the payer can take nothing.
    """

    address: str
    mint: str
    available: int = 0
    is_capped: bool = False
    refusal: PaymentError | None = None


def read_source(
    address: str, account: Account | None, payer: Pubkey, mint: str | None = None
) -> SourceAccount:
    """Return what *payer* can take from a token account, as it was read from the chain.

    *mint*: the token that it must be of.
    """
    held = read_token_account(account)
    if held is None or (mint is not None and str(held.mint) != mint):
        token = f" of the token {mint}" if mint is not None else ""
        refusal = PaymentError(
            "NO_TOKEN_ACCOUNT", f"there is no token account{token} at {address}"
        )
        return SourceAccount(address, mint or "", refusal=refusal)
    refused = _refusal(address, held, payer)
    if refused is not None:
        return SourceAccount(address, str(held.mint), refusal=PaymentError(*refused))
    if held.owner == payer:
        return SourceAccount(address, str(held.mint), held.amount)
    available = min(held.delegated_amount, held.amount)
    return SourceAccount(address, str(held.mint), available, available < held.amount)


def _refusal(address: str, held: TokenAccount, payer: Pubkey) -> tuple[str, str] | None:
    if held.state == TokenAccountState.FROZEN:
        return (
            "ACCOUNT_FROZEN",
            f"{address} is frozen; the token's issuer must thaw it first",
        )
    if held.owner == payer:
        return None
    if held.delegate != payer:
        return "NO_DELEGATION", f"{address} is not delegated to {payer}"
    if held.delegated_amount == 0:
        return (
            "DELEGATION_EXPIRED",
            f"the delegation of {address} is used up; its owner must approve again",
        )
    return None


def check_funds(source: SourceAccount, amount: int) -> None:
    """Raise PaymentError if *source* cannot give *amount* base units."""
    if source.refusal is not None:
        raise source.refusal
    if amount > source.available:
        raise PaymentError(
            "INSUFFICIENT_FUNDS",
            f"the payment takes {amount:,} base units of {source.mint}; {source.address} can give "
            f"{source.available:,}",
        )


def read_own_source(
    chain: PaymentChain, payer: Pubkey, mint: str, token_program: Pubkey
) -> SourceAccount:
    """Read the payer's own account of a token. Raises ChainUnavailable."""
    address = str(associated_token(payer, Pubkey.from_string(mint), token_program))
    return read_source(address, chain.get_accounts([address])[0], payer, mint)

"""Accounts that a wallet's signature can spend from without owning them: as delegate, close authority or signer.

- Token accounts of a multisig that the wallet signs for.
- Token accounts of others that name the wallet as delegate or close authority, or whose mint names it as permanent
  delegate; and the lamports of mints.
- In a direct call of a native or token program, all accounts of the call. Those programs add no signature of their
  own, so the wallet's signature allowed all that they take, for example from an address derived from the wallet's
  with a seed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import AccountMap, AccountState
from mcpsol_py.solana.addresses import CONFIG_PROGRAM, ZK_ELGAMAL_PROOF_PROGRAM
from mcpsol_py.solana.native_accounts import NATIVE_PROGRAMS
from mcpsol_py.solana.tokens import (
    TOKEN_PROGRAMS,
    Extension,
    TokenAccount,
    extension_address,
    extensions,
    read_mint,
    read_multisig,
    read_token_account,
)

__all__ = ["SigningPower", "signing_power"]

#: Programs that take only what the transaction's signatures allow.
_DIRECT = (
    *NATIVE_PROGRAMS,
    *TOKEN_PROGRAMS,
    CONFIG_PROGRAM,
    ZK_ELGAMAL_PROOF_PROGRAM,
)


@dataclass(frozen=True, slots=True)
class SigningPower:
    """The property that a wallet's signature can move.

    `owners` are the addresses whose holdings are the wallet's own: itself, and multisigs that it signs for. `accounts`
    are those of others that its signature can take from.
    """

    owners: frozenset[str]
    accounts: frozenset[Pubkey] = frozenset()


def signing_power(wallet: Pubkey, program_id: Pubkey, accounts: AccountMap) -> SigningPower:
    """Return the signing power of *wallet* in a call of *program_id*.

    *accounts* are all accounts of the call, as they are before it.
    """
    multisigs = [str(key) for key, account in accounts.items() if wallet in _signers(account)]
    owners = frozenset([str(wallet), *multisigs])
    if program_id in _DIRECT:
        return SigningPower(owners, frozenset(accounts))
    powers = {key: _mint_powers(account) for key, account in accounts.items()}
    # A permanent delegate can move every account of its mint.
    everyones = {mint for mint, power in powers.items() if str(power.delegate) in owners}
    taken = {mint for mint, power in powers.items() if owners & power.takes_lamports}
    for key, account in accounts.items():
        token = read_token_account(account)
        if token is not None and (token.mint in everyones or _may_spend(token, owners)):
            taken.add(key)
    return SigningPower(owners, frozenset(taken))


def _signers(account: AccountState | None) -> tuple[Pubkey, ...]:
    """Return the signers of a multisig, and nothing for any other account."""
    multisig = read_multisig(account)
    return () if multisig is None else multisig.signers


def _may_spend(token: TokenAccount, owners: Collection[str]) -> bool:
    """Whether one of *owners* is the account's delegate, with an allowance, or its close authority."""
    if str(token.close_authority) in owners:
        return True
    return token.delegated_amount > 0 and str(token.delegate) in owners


@dataclass(frozen=True, slots=True)
class _MintPowers:
    """Who can take lamports out of a mint, and who can move everybody's tokens of it."""

    takes_lamports: frozenset[str] = frozenset()
    delegate: Pubkey | None = None


def _mint_powers(account: AccountState | None) -> _MintPowers:
    mint = read_mint(account)
    if mint is None:
        return _MintPowers()
    parts = extensions(account)
    closer = extension_address(parts, Extension.MINT_CLOSE_AUTHORITY)
    delegate = extension_address(parts, Extension.PERMANENT_DELEGATE)
    # The mint authority may take what exceeds the rent.
    takers = (closer, mint.mint_authority)
    return _MintPowers(frozenset(str(key) for key in takers if key is not None), delegate)

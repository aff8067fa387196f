"""Accounts that a wallet's signature can spend from without owning them: as delegate, close authority or signer.

- Token accounts of a multisig that the wallet signs for.
- Token accounts of others that name the wallet as delegate or close authority, or whose mint names it as permanent
  delegate; and the lamports of mints.
- In an instruction of a native or token program, all its accounts. Those programs add no signature of their own, so the
  wallet's signature allowed all that they take, for example from an address derived from the wallet's with a seed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import AccountMap, readable
from mcpsol_py.solana.addresses import CONFIG_PROGRAM, ZK_ELGAMAL_PROOF_PROGRAM
from mcpsol_py.solana.native_accounts import NATIVE_PROGRAMS
from mcpsol_py.solana.tokens import (
    TOKEN_PROGRAMS,
    Extension,
    Mint,
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
    are those of others that its signature can take from. `spendable` are those of them that any program can take from
    with that signature: the others are only accounts of a direct call.
    """

    owners: frozenset[str]
    accounts: frozenset[Pubkey] = frozenset()
    spendable: frozenset[Pubkey] = frozenset()


def signing_power(
    wallet: Pubkey, instructions: Sequence[Instruction], accounts: AccountMap
) -> SigningPower:
    """Return the signing power of *wallet* in a transaction of *instructions*.

    *accounts* are all accounts of the transaction, as they are before it.
    """
    multisigs = readable(accounts.items(), read_multisig)
    signed_for = [str(key) for key, multisig in multisigs if wallet in multisig.signers]
    owners = frozenset([str(wallet), *signed_for])
    direct = [ix.accounts for ix in instructions if ix.program_id in _DIRECT]
    taken_from = {meta.pubkey for metas in direct for meta in metas}
    spendable = frozenset(_reachable(accounts, owners))
    return SigningPower(owners, spendable.union(taken_from), spendable)


def _reachable(accounts: AccountMap, owners: Collection[str]) -> Iterator[Pubkey]:
    """Find the mints and token accounts that *owners* can take from."""
    mints = {
        key: _MintPowers.of(mint, extensions(accounts[key]))
        for key, mint in readable(accounts.items(), read_mint)
    }
    for key, powers in mints.items():
        if not powers.takes_lamports.isdisjoint(owners):
            yield key
    for key, token in readable(accounts.items(), read_token_account):
        if _may_spend(token, owners, mints.get(token.mint, _MintPowers())):
            yield key


@dataclass(frozen=True, slots=True)
class _MintPowers:
    """Who can take lamports out of a mint, and who can move everybody's tokens of it.

    Addresses are texts, and "None" is nobody.
    """

    takes_lamports: frozenset[str] = frozenset()
    permanent_delegate: str = "None"

    @classmethod
    def of(cls, mint: Mint, parts: dict[int, bytes]) -> _MintPowers:
        """Return the powers over a mint with the extensions *parts*."""
        closer = extension_address(parts, Extension.MINT_CLOSE_AUTHORITY)
        # The mint authority may take what exceeds the rent.
        takers = (closer, mint.mint_authority)
        delegate = extension_address(parts, Extension.PERMANENT_DELEGATE)
        return cls(frozenset(map(str, takers)), str(delegate))


def _may_spend(
    token: TokenAccount, owners: Collection[str], powers: _MintPowers
) -> bool:
    """Whether *owners* can take from the account: by its delegate, close authority or mint."""
    takers = {str(token.close_authority), powers.permanent_delegate}
    if token.delegated_amount > 0:
        takers.add(str(token.delegate))
    return not takers.isdisjoint(owners)

"""What one wallet's signature can move beside what the wallet owns.

- Token accounts that a multisig owns which the wallet signs for.
- Token accounts of others whose delegate or close authority it is, or whose mint names it as permanent delegate; the
  lamports of mints.
- Where a program of the runtime or of the tokens is called directly, everything that the call takes from anybody: these
  have no signatures of their own to give, so it was the wallet's that allowed it (an address derived from the wallet's
  with a seed, for one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import NATIVE, AccountState, mint_powers
from mcpsol_py.solana.addresses import CONFIG_PROGRAM, ZK_ELGAMAL_PROOF_PROGRAM
from mcpsol_py.solana.tokens import TOKEN_PROGRAMS, read_multisig, read_token_account

__all__ = ["SigningPower", "signing_power"]

_DIRECT = (
    *NATIVE,
    *TOKEN_PROGRAMS,
    CONFIG_PROGRAM,
    ZK_ELGAMAL_PROOF_PROGRAM,
)


@dataclass(frozen=True, slots=True)
class SigningPower:
    """`owners`: addresses whose holdings are the wallet's own: itself, and multisigs that it signs for. `accounts`:
    those of others that its signature can take from.
    """

    owners: frozenset[str]
    accounts: frozenset[Pubkey] = frozenset()


def signing_power(
    wallet: Pubkey, program_id: Pubkey, accounts: Mapping[Pubkey, AccountState | None]
) -> SigningPower:
    """The reach of *wallet* in a call of *program_id*. *accounts*: all that it names, as they are before it."""
    owners = {str(wallet)} | {
        str(key) for key, account in accounts.items() if wallet in _signers(account)
    }
    if program_id in _DIRECT:
        return SigningPower(frozenset(owners), frozenset(accounts))
    powers = {key: mint_powers(account) for key, account in accounts.items()}
    everyones = {mint for mint, (_, moves) in powers.items() if moves & owners}
    taken = {mint for mint, (takes, _) in powers.items() if takes & owners}
    for key, account in accounts.items():
        state = read_token_account(account)
        if state is not None and (
            (str(state.delegate) in owners and state.delegated_amount > 0)
            or str(state.close_authority) in owners
            or state.mint in everyones
        ):
            taken.add(key)
    return SigningPower(frozenset(owners), frozenset(taken))


def _signers(account: AccountState | None) -> tuple[Pubkey, ...]:
    """Return the signers of a multisig, and nothing for any other account."""
    multisig = read_multisig(account)
    return () if multisig is None else multisig.signers

"""What one wallet's signature can move beside what the wallet owns.

- Token accounts that a multisig owns which the wallet signs for (SPL Token: 355 bytes; how many must sign 0, how many
  there are 1, whether it is in use 2, the signers from 3).
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

from mcpsol_py.calls.balances import (
    MULTISIG,
    NATIVE,
    TOKEN_PROGRAMS,
    AccountState,
    mint_powers,
    token_state,
)

__all__ = ["SigningPower", "signing_power"]

_DIRECT = (
    *NATIVE,
    *TOKEN_PROGRAMS,
    Pubkey.from_string("Config1111111111111111111111111111111111111"),
    Pubkey.from_string("ZkE1Gama1Proof11111111111111111111111111111"),
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
        state = token_state(account)
        if state is not None and (
            (str(state.delegate) in owners and state.delegated > 0)
            or str(state.close_authority) in owners
            or state.mint in everyones
        ):
            taken.add(key)
    return SigningPower(frozenset(owners), frozenset(taken))


def _signers(account: AccountState | None) -> list[Pubkey]:
    """Who signs for a multisig; none where it is no multisig."""
    data = b"" if account is None or account.owner not in TOKEN_PROGRAMS else bytes(account.data)
    if len(data) != MULTISIG or data[2] != 1 or not 1 <= data[1] <= 11:
        return []
    return [Pubkey.from_bytes(data[3 + 32 * n : 35 + 32 * n]) for n in range(data[1])]

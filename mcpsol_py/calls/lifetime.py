"""How long a transaction can land: until a block height, until its nonce is advanced, or unknown.

    lifetime = await lifetime_of(transport, transaction)
    if await lifetime.is_over(transport):
        ...

Each kind says when it is over, and words truthfully whether the transaction can still land.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.client.transport import Transport
from mcpsol_py.solana.nonce import advanced_first, read_nonce

__all__ = [
    "DurableNonce",
    "Lifetime",
    "UnknownLifetime",
    "UntilBlockHeight",
    "lifetime_of",
]


@dataclass(frozen=True, slots=True)
class UntilBlockHeight:
    """The transaction has a recent blockhash: it can land up to block height `height`."""

    height: int

    async def is_over(self, transport: Transport) -> bool:
        """Return whether that block height has passed."""
        return await transport.block_height() > self.height

    @property
    def over(self) -> str:
        """The end of a message about a transaction that was not seen to land in time."""
        return (
            f"block height {self.height:,} has passed, so it can no longer land, "
            "and the node does not know it"
        )

    @property
    def still_open(self) -> str:
        """The same for a transaction whose time is not over."""
        return f"it can still land until block height {self.height:,}"


@dataclass(frozen=True, slots=True)
class DurableNonce:
    """The transaction has a nonce in place of a blockhash: it can land while `account` holds `value`."""

    account: Pubkey
    value: Hash

    async def is_over(self, transport: Transport) -> bool:
        """Return whether the account holds another nonce. If it cannot be read, the nonce counts as not advanced."""
        (account,) = await transport.get_accounts([self.account])
        nonce = read_nonce(account)
        return nonce is not None and nonce.value != self.value

    @property
    def over(self) -> str:
        """See `UntilBlockHeight.over`. The transaction itself may be what advanced the nonce."""
        return (
            f"the nonce of account {self.account} was advanced, by this transaction or by another, "
            "and the node does not know this one"
        )

    @property
    def still_open(self) -> str:
        """See `UntilBlockHeight.still_open`."""
        return (
            f"it can still land until the nonce of account {self.account} is advanced"
        )


@dataclass(frozen=True, slots=True)
class UnknownLifetime:
    """The blockhash was chosen elsewhere, so nobody here knows when it expires.

    Even a blockhash that was the newest when the transaction was handed in expires at block height `look_until`, so
    nobody needs to look after that.
    """

    look_until: int

    async def is_over(self, transport: Transport) -> bool:
        """Return whether block height `look_until` has passed."""
        return await transport.block_height() > self.look_until

    @property
    def over(self) -> str:
        """See `UntilBlockHeight.over`. It makes no claim about an expiry that is not known."""
        return (
            f"it had not landed at block height {self.look_until:,}. Its blockhash was chosen elsewhere, "
            "so whether it can still land is not known"
        )

    @property
    def still_open(self) -> str:
        """See `UntilBlockHeight.still_open`."""
        return "its blockhash was chosen elsewhere, so whether it can still land is not known"


Lifetime: TypeAlias = UntilBlockHeight | DurableNonce | UnknownLifetime


async def lifetime_of(
    transport: Transport, transaction: VersionedTransaction
) -> Lifetime:
    """Return the lifetime of a transaction that somebody else may have built. Raises TransportError.

    Its last block height is known only if this process got the blockhash from the chain, or if it is the newest one.
    """
    blockhash = transaction.message.recent_blockhash
    chosen_here = sent_messages(transport).last_valid_height(blockhash)
    if chosen_here is not None:
        return UntilBlockHeight(chosen_here)
    nonce_account = advanced_first(transaction.message)
    if nonce_account is not None and await _may_hold(
        transport, nonce_account, blockhash
    ):
        return DurableNonce(nonce_account, blockhash)
    newest = await transport.latest_blockhash()
    if newest.value == blockhash:
        return UntilBlockHeight(newest.last_valid_block_height)
    return UnknownLifetime(newest.last_valid_block_height)


async def _may_hold(transport: Transport, nonce_account: Pubkey, value: Hash) -> bool:
    """Return False if the account holds another nonce: then *value* is an ordinary blockhash, or used up."""
    return not await DurableNonce(nonce_account, value).is_over(transport)

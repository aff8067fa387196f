"""What payments ask of a chain, as a small synchronous interface, and the clusters that give it.

Synchronous because x402's mechanism protocols are; an async server runs them in a worker thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = [
    "AccountData",
    "Chain",
    "ChainRejected",
    "ChainUnavailable",
    "MessageStatus",
    "SignatureStatus",
    "Simulated",
]


@dataclass(frozen=True, slots=True)
class AccountData:
    """An account as the chain holds it."""

    lamports: int
    owner: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulation's outcome: `error` None is success, else the error's text. `units` are compute units."""

    error: str | None
    logs: tuple[str, ...] = ()
    units: int = 0


@dataclass(frozen=True, slots=True)
class SignatureStatus:
    """`state`: "landed" (executed without an error), "failed" (executed with `error`), "unknown" (not seen yet)."""

    state: Literal["landed", "failed", "unknown"]
    error: str | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """What became of a message whoever signed for its fee: as SignatureStatus, or "expired": it can no longer land."""

    state: Literal["landed", "failed", "expired", "unknown"]
    signature: str | None = None


class ChainUnavailable(Exception):
    """The chain did not answer: nothing is known of what was asked. Never an answer about a payment."""


class ChainRejected(Exception):
    """The cluster took the bytes for no transaction it would broadcast."""


class Chain(Protocol):
    """One cluster. Every method may raise ChainUnavailable."""

    network: str  # CAIP-2

    def get_accounts(self, addresses: Sequence[str]) -> list[AccountData | None]:
        """The accounts in the order asked, None where there is none."""

    def latest_blockhash(self) -> tuple[str, int]:
        """A recent blockhash (base58) and the last block height at which it is valid."""

    def blockhash_expired(self, blockhash: str, last_valid_block_height: int | None = None) -> bool:
        """True only when a transaction with this blockhash can no longer land."""

    def simulate(self, transaction: bytes, *, verify_signatures: bool) -> Simulated:
        """Runs the wire bytes without effect, with the blockhash they carry."""

    def send(self, transaction: bytes) -> str:
        """Broadcasts the wire bytes as they are and returns the signature. Sending the same bytes again is harmless.

        Raises ChainRejected when the cluster refuses them unseen."""

    def status(self, signature: str) -> SignatureStatus:
        """What became of a signature, at the commitment "confirmed"."""

    def find(self, transaction: bytes) -> MessageStatus:
        """What became of this transaction's message, when the fee payer's signature is not known (the payer's side)."""

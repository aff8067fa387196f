"""A Chain on an in-process LiteSVM: payments without a network, executed by the real token programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import run
from mcpsol_py.x402.chain.chain import (
    AccountData,
    ChainRejected,
    MessageStatus,
    SignatureStatus,
    Simulated,
)
from mcpsol_py.x402.protocol.networks import DEVNET

if TYPE_CHECKING:
    from solders.litesvm import LiteSVM

__all__ = ["SvmChain"]


class SvmChain:
    """See Chain. Stands on *svm*: the transport that a bridge or a client uses too, or a LiteSVM of its own."""

    def __init__(self, svm: LiteSVM | SvmTransport | None = None, network: str = DEVNET) -> None:
        self.transport = svm if isinstance(svm, SvmTransport) else SvmTransport(svm)
        self.svm: LiteSVM = self.transport.svm
        self.network = network
        self.lock = self.transport.lock
        self._messages: dict[bytes, str] = {}

    def get_accounts(self, addresses: Sequence[str]) -> list[AccountData | None]:
        """See Chain."""
        with self.lock:
            found = run(self.transport.get_accounts([Pubkey.from_string(a) for a in addresses]))
        return [
            AccountData(a.lamports, str(a.owner), bytes(a.data)) if a is not None else None
            for a in found
        ]

    def latest_blockhash(self) -> tuple[str, int]:
        """See Chain."""
        with self.lock:
            found = run(self.transport.latest_blockhash())
        return str(found.value), found.last_valid_block_height

    def blockhash_expired(self, blockhash: str, last_valid_block_height: int | None = None) -> bool:
        """See Chain. LiteSVM takes its newest blockhash only."""
        with self.lock:
            return str(self.svm.latest_blockhash()) != blockhash

    def simulate(self, transaction: bytes, *, verify_signatures: bool) -> Simulated:
        """See Chain. The signatures are looked at here, since a cluster's simulation has a switch for it."""
        tx = VersionedTransaction.from_bytes(transaction)
        if verify_signatures and not all(tx.verify_with_results()):
            return Simulated("SignatureFailure")
        with self.lock:
            outcome = run(self.transport.simulate(tx, replace_blockhash=False))
        return Simulated(
            None if outcome.err is None else str(outcome.err),
            tuple(outcome.logs),
            outcome.units or 0,
        )

    def send(self, transaction: bytes) -> str:
        """See Chain: executed at once."""
        tx = VersionedTransaction.from_bytes(transaction)
        with self.lock:
            if run(self.transport.status(tx.signatures[0])) is not None:
                return str(tx.signatures[0])
            run(self.transport.send(tx, skip_preflight=True))
            outcome = run(self.transport.transaction(tx.signatures[0]))
            assert outcome is not None  # the transport keeps what it sent
            if outcome.err is not None and not (
                isinstance(outcome.err, dict) and "InstructionError" in outcome.err
            ):
                # Errors before execution (blockhash, signatures, fees) leave no trace: it may still be sent.
                self.transport.forget(tx.signatures[0])
                raise ChainRejected(str(outcome.err))
        return str(tx.signatures[0])

    def find(self, transaction: bytes) -> MessageStatus:
        """See Chain."""
        wanted = to_bytes_versioned(VersionedTransaction.from_bytes(transaction).message)
        with self.lock:
            for signature, sent in self.transport.executed().items():
                self._messages.setdefault(to_bytes_versioned(sent.message), str(signature))
            known = self._messages.get(wanted)
        if known is not None:
            return MessageStatus(self.status(known).state, known)
        blockhash = VersionedTransaction.from_bytes(transaction).message.recent_blockhash
        return MessageStatus("expired" if self.blockhash_expired(str(blockhash)) else "unknown")

    def status(self, signature: str) -> SignatureStatus:
        """See Chain."""
        with self.lock:
            found = run(self.transport.status(Signature.from_string(signature)))
        if found is None:
            return SignatureStatus("unknown")
        return (
            SignatureStatus("landed")
            if found.err is None
            else SignatureStatus("failed", str(found.err))
        )

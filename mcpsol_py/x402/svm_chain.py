"""A Chain on an in-process LiteSVM: payments without a network, executed by the real token programs."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from solders.litesvm import LiteSVM
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from mcpsol_py.x402.chain import AccountData, ChainRejected, MessageStatus, SignatureStatus, Simulated
from mcpsol_py.x402.networks import DEVNET

__all__ = ["SvmChain"]


class SvmChain:
    """See Chain. One lock stands around the SVM, which is not made for threads."""

    def __init__(self, svm: LiteSVM | None = None, network: str = DEVNET) -> None:
        self.svm = svm if svm is not None else LiteSVM()
        self.network = network
        self.lock = threading.RLock()
        self._statuses: dict[str, SignatureStatus] = {}
        self._messages: dict[bytes, str] = {}

    def get_accounts(self, addresses: Sequence[str]) -> list[AccountData | None]:
        """See Chain."""
        with self.lock:
            found = [self.svm.get_account(Pubkey.from_string(a)) for a in addresses]
        return [AccountData(a.lamports, str(a.owner), bytes(a.data)) if a is not None else None for a in found]

    def latest_blockhash(self) -> tuple[str, int]:
        """See Chain. LiteSVM knows no block heights, so the second is 0."""
        with self.lock:
            return str(self.svm.latest_blockhash()), 0

    def blockhash_expired(self, blockhash: str, last_valid_block_height: int | None = None) -> bool:
        """See Chain. LiteSVM takes its newest blockhash only."""
        with self.lock:
            return str(self.svm.latest_blockhash()) != blockhash

    def simulate(self, transaction: bytes, *, verify_signatures: bool) -> Simulated:
        """See Chain. LiteSVM's switch for signatures is the instance's own, so unsigned bytes run with it off."""
        tx = VersionedTransaction.from_bytes(transaction)
        with self.lock:
            switched = not verify_signatures and self.svm.get_sigverify()
            if switched:
                self.svm.with_sigverify(False)
            try:
                outcome = self.svm.simulate_transaction(tx)
            finally:
                if switched:
                    self.svm.with_sigverify(True)
        if isinstance(outcome, FailedTransactionMetadata):
            meta = outcome.meta()
            return Simulated(str(outcome.err()), tuple(meta.logs()), meta.compute_units_consumed())
        meta = outcome.meta()
        return Simulated(None, tuple(meta.logs()), meta.compute_units_consumed())

    def send(self, transaction: bytes) -> str:
        """See Chain: executed at once."""
        tx = VersionedTransaction.from_bytes(transaction)
        signature = str(tx.signatures[0])
        with self.lock:
            if signature in self._statuses:
                return signature
            outcome = self.svm.send_transaction(tx)
            if isinstance(outcome, FailedTransactionMetadata):
                error = str(outcome.err())
                # Errors before execution (blockhash, signatures, fees) leave no trace: it may still be sent.
                if "InstructionError" not in repr(outcome.err()) and "InstructionError" not in error:
                    raise ChainRejected(error)
                self._statuses[signature] = SignatureStatus("failed", error)
            else:
                self._statuses[signature] = SignatureStatus("landed")
            self._messages[to_bytes_versioned(tx.message)] = signature
        return signature

    def find(self, transaction: bytes) -> MessageStatus:
        """See Chain."""
        message = VersionedTransaction.from_bytes(transaction).message
        with self.lock:
            signature = self._messages.get(to_bytes_versioned(message))
        if signature is not None:
            return MessageStatus(self.status(signature).state, signature)
        expired = self.blockhash_expired(str(message.recent_blockhash))
        return MessageStatus("expired" if expired else "unknown")

    def status(self, signature: str) -> SignatureStatus:
        """See Chain."""
        with self.lock:
            known = self._statuses.get(signature)
            if known is not None:
                return known
            found = self.svm.get_transaction(Signature.from_string(signature))
        if found is None:
            return SignatureStatus("unknown")
        if isinstance(found, FailedTransactionMetadata):
            return SignatureStatus("failed", str(found.err()))
        return SignatureStatus("landed")

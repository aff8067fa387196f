"""A chain in this process: wallets, accounts, and instructions that succeed or are refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

Outcome = TransactionMetadata | FailedTransactionMetadata


class Chain:
    """A LiteSVM and `wallet`, which has SOL and signs where a call names no other signers."""

    def __init__(
        self, svm: LiteSVM | None = None, wallet: Keypair | None = None
    ) -> None:
        self.svm = svm or LiteSVM()
        self.wallet = wallet or self.new_wallet()

    def new_wallet(self) -> Keypair:
        """A key pair with 10 SOL."""
        wallet = Keypair()
        self.svm.airdrop(wallet.pubkey(), 10**10)
        return wallet

    def put(self, data: bytes, owner: Pubkey) -> Pubkey:
        """The address of a new account."""
        key = Pubkey.new_unique()
        self.svm.set_account(key, Account(10**9, data, owner))
        return key

    def watched(self) -> list[Pubkey]:
        """The accounts that a refused call must not change."""
        return []

    def run(
        self, *instructions: Instruction, signers: Sequence[Keypair] = ()
    ) -> Outcome:
        signers = list(signers) or [self.wallet]
        self.svm.expire_blockhash()  # the same call may follow on a new one
        message = Message.new_with_blockhash(
            list(instructions), signers[0].pubkey(), self.svm.latest_blockhash()
        )
        return self.svm.send_transaction(VersionedTransaction(message, signers))

    def ok(
        self, *instructions: Instruction, signers: Sequence[Keypair] = ()
    ) -> TransactionMetadata:
        """Run instructions that succeed."""
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, TransactionMetadata), outcome
        return outcome

    def fails(
        self, name: str, *instructions: Instruction, signers: Sequence[Keypair] = ()
    ) -> None:
        """Run instructions that fail: the log names the error, and the watched accounts stay as they were."""
        before = [self.svm.get_account(key) for key in self.watched()]
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, FailedTransactionMetadata), outcome
        logs = "\n".join(outcome.meta().logs())
        assert f"Program log: {name} (" in logs, logs
        assert [self.svm.get_account(key) for key in self.watched()] == before

"""Transactions on a durable nonce, in LiteSVM: they outlive blockhashes, and end with their nonce."""

from __future__ import annotations

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    AdvanceNonceAccountParams,
    TransferParams,
    advance_nonce_account,
    create_nonce_account,
    transfer,
)
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.nonce import read_nonce
from mcpsol_py.sync_client import SyncProgramClient
from tests.functional.counter_scenario import REPO

PROGRAM = load(REPO / "programs/counter/idl.json")
RENT = 2_000_000


class Bank:
    """A wallet with a nonce account, and somebody to pay."""

    def __init__(self) -> None:
        self.chain = SvmTransport()
        self.wallet, self.nonce, self.bob = Keypair(), Keypair(), Pubkey.new_unique()
        self.chain.airdrop(self.wallet.pubkey(), 10**10)
        self.client = SyncProgramClient(
            ProgramClient(PROGRAM, self.chain, wallet=self.wallet)
        )
        me = self.wallet.pubkey()
        self.client.send(
            create_nonce_account(me, self.nonce.pubkey(), me, RENT), [self.nonce]
        )
        self.chain.expire_blockhash()

    @property
    def advance(self) -> Instruction:
        return advance_nonce_account(
            AdvanceNonceAccountParams(
                nonce_pubkey=self.nonce.pubkey(), authorized_pubkey=self.wallet.pubkey()
            )
        )

    def pay(self, lamports: int = 10**7) -> list[Instruction]:
        move = TransferParams(
            from_pubkey=self.wallet.pubkey(), to_pubkey=self.bob, lamports=lamports
        )
        return [self.advance, transfer(move)]

    @property
    def value(self) -> Hash:
        (account,) = run(self.chain.get_accounts([self.nonce.pubkey()]))
        found = read_nonce(account)
        assert found is not None
        return found.value

    @property
    def paid(self) -> int:
        return self.chain.svm.get_balance(self.bob) or 0

    def signed(self) -> VersionedTransaction:
        unsigned = self.client.transaction(self.pay(), compute_units=50_000)
        return VersionedTransaction(unsigned.message, [self.wallet])


@pytest.fixture
def bank() -> Bank:
    return Bank()


def test_a_transaction_for_others_to_sign_outlives_blockhashes(bank: Bank) -> None:
    transaction = bank.signed()
    assert transaction.message.recent_blockhash == bank.value
    for _ in range(3):
        bank.chain.expire_blockhash()
    bank.client.send_transaction(transaction)
    assert bank.paid == 10**7
    assert transaction.message.recent_blockhash != bank.value


def test_handed_in_again_it_lands_once(bank: Bank) -> None:
    transaction = bank.signed()
    first = bank.client.send_transaction(transaction)
    bank.chain.expire_blockhash()
    assert bank.client.send_transaction(transaction) == first
    assert bank.paid == 10**7


def test_two_identical_calls_are_two_transactions(bank: Bank) -> None:
    assert bank.client.send(bank.pay()) != bank.client.send(bank.pay())
    assert bank.paid == 2 * 10**7


def test_once_its_nonce_is_advanced_it_is_refused(bank: Bank) -> None:
    transaction = bank.signed()
    bank.client.send(bank.advance)
    bank.chain.expire_blockhash()
    with pytest.raises(ProgramFailed, match="BlockhashNotFound"):
        bank.client.send_transaction(transaction)
    assert bank.paid == 0

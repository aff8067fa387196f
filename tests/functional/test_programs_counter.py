"""The committed counter in a real SVM: what it does, what it refuses by which error, and what its logs say.

Instructions and accounts are written out by hand here (struct, hashlib), so that the generated Rust is checked against
the spec's meaning and not against the same code that made it.
"""

from __future__ import annotations

import base64
import struct
from hashlib import sha256
from pathlib import Path

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

REPO = Path(__file__).resolve().parents[2]
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
PROGRAM = Pubkey.from_string("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
MAX = 2**64 - 1


def discriminator(kind: str, name: str) -> bytes:
    return sha256(f"{kind}:{name}".encode()).digest()[:8]


class Chain:
    """A LiteSVM with the counter, and a wallet that has SOL."""

    def __init__(self, so: Path = REPO / "programs/counter/counter.so") -> None:
        self.svm = LiteSVM()
        self.svm.add_program(PROGRAM, so.read_bytes())
        self.wallet = self.new_wallet()

    def new_wallet(self) -> Keypair:
        wallet = Keypair()
        self.svm.airdrop(wallet.pubkey(), 10**10)
        return wallet

    def run(
        self, *instructions: Instruction, signers: list[Keypair] | None = None
    ) -> TransactionMetadata | FailedTransactionMetadata:
        signers = signers or [self.wallet]
        self.svm.expire_blockhash()  # so that the same call may be sent again
        message = Message.new_with_blockhash(
            list(instructions), signers[0].pubkey(), self.svm.latest_blockhash()
        )
        return self.svm.send_transaction(VersionedTransaction(message, signers))

    def ok(
        self, *instructions: Instruction, signers: list[Keypair] | None = None
    ) -> TransactionMetadata:
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, TransactionMetadata), outcome
        return outcome

    def fails(
        self, name: str, *instructions: Instruction, signers: list[Keypair] | None = None
    ) -> None:
        """The transaction fails, its log names the error, and the counter stays as it was."""
        at = counter_of(self.wallet.pubkey())
        before = self.svm.get_account(at)
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, FailedTransactionMetadata), outcome
        logs = "\n".join(outcome.meta().logs())
        assert f"Program log: {name} (" in logs, logs
        assert self.svm.get_account(at) == before

    def state(self) -> tuple[Pubkey, int, int]:
        account = self.svm.get_account(counter_of(self.wallet.pubkey()))
        assert account is not None
        assert account.owner == PROGRAM
        assert account.data[:8] == discriminator("account", "State")
        assert len(account.data) == 49
        return Pubkey(account.data[8:40]), *struct.unpack_from("<QB", account.data, 40)


def counter_of(wallet: Pubkey) -> Pubkey:
    return Pubkey.find_program_address([b"counter", bytes(wallet)], PROGRAM)[0]


def call(
    name: str,
    data: bytes,
    wallet: Pubkey,
    *,
    counter: Pubkey | None = None,
    signs: bool = True,
    writable: bool = True,
) -> Instruction:
    accounts = [
        AccountMeta(counter or counter_of(wallet), False, writable),
        AccountMeta(wallet, signs, name in ("initialize", "close")),
    ]
    if name == "initialize":
        accounts.append(AccountMeta(SYSTEM, False, False))
    return Instruction(PROGRAM, discriminator("global", name) + data, accounts)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


@pytest.fixture
def chain() -> Chain:
    return Chain()


@pytest.fixture
def counted(chain: Chain) -> Chain:
    """A counter that stands at 5."""
    chain.ok(call("initialize", u64(5), chain.wallet.pubkey()))
    return chain


def test_a_counter_lives_from_creation_to_close(chain: Chain) -> None:
    me = chain.wallet.pubkey()
    chain.ok(call("initialize", u64(5), me))
    _, bump = Pubkey.find_program_address([b"counter", bytes(me)], PROGRAM)
    assert chain.state() == (me, 5, bump)
    chain.ok(call("increment", u64(37), me))
    assert chain.state()[1] == 42
    outcome = chain.ok(call("decrement", u64(2), me))
    assert bytes(outcome.return_data().data) == u64(40)
    assert outcome.return_data().program_id == PROGRAM
    chain.ok(call("decrement", u64(40), me))
    before = chain.svm.get_balance(me)
    rent = chain.svm.get_balance(counter_of(me))
    assert before is not None
    assert rent
    chain.ok(call("close", b"", me))
    assert chain.svm.get_balance(counter_of(me)) in (None, 0)
    assert chain.svm.get_balance(me) == before + rent - 5000


def test_each_change_is_logged_as_an_event(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    outcome = counted.ok(call("increment", u64(1), me))
    [line] = [line for line in outcome.logs() if line.startswith("Program data: ")]
    data = base64.b64decode(line.removeprefix("Program data: "))
    assert data == discriminator("event", "Changed") + bytes(counter_of(me)) + u64(6)


def test_lamports_sent_before_do_not_hinder_the_creation(chain: Chain) -> None:
    me = chain.wallet.pubkey()
    chain.svm.airdrop(counter_of(me), 1_000_000)
    chain.ok(call("initialize", u64(1), me))
    assert chain.state()[1] == 1
    assert chain.svm.get_balance(counter_of(me)) == chain.svm.minimum_balance_for_rent_exemption(49)


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_the_count_neither_overflows_nor_goes_below_zero(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    counted.fails("Overflow", call("increment", u64(MAX), me))
    counted.fails("Overflow", call("increment", u64(MAX - 4), me))
    counted.fails("Underflow", call("decrement", u64(6), me))
    counted.ok(call("increment", u64(MAX - 5), me))
    assert counted.state()[1] == MAX
    counted.ok(call("increment", u64(0), me))
    counted.fails("Overflow", call("increment", u64(1), me))


def test_only_a_counter_at_zero_is_closed(counted: Chain) -> None:
    counted.fails("NotZero", call("close", b"", counted.wallet.pubkey()))


def test_a_signature_must_be_there(counted: Chain) -> None:
    other = counted.new_wallet()
    ix = call("increment", u64(1), counted.wallet.pubkey(), signs=False)
    counted.fails("AccountNotSigner", ix, signers=[other])


def test_another_wallet_is_refused(counted: Chain) -> None:
    other = counted.new_wallet()
    mine = counter_of(counted.wallet.pubkey())
    ix = call("increment", u64(1), other.pubkey(), counter=mine)
    counted.fails("ConstraintHasOne", ix, signers=[other])


def test_a_read_only_counter_is_refused(counted: Chain) -> None:
    counted.fails(
        "ConstraintMut", call("increment", u64(1), counted.wallet.pubkey(), writable=False)
    )


def test_a_look_alike_of_another_program_is_refused(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    fake = Pubkey.new_unique()
    counted.svm.set_account(fake, Account(genuine.lamports, genuine.data, SYSTEM))
    counted.fails("AccountOwnedByWrongProgram", call("increment", u64(1), me, counter=fake))


def test_state_of_another_type_is_refused(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    fake = Pubkey.new_unique()
    data = discriminator("account", "Other") + genuine.data[8:]
    counted.svm.set_account(fake, Account(genuine.lamports, data, PROGRAM))
    counted.fails("AccountDiscriminatorMismatch", call("increment", u64(1), me, counter=fake))
    counted.svm.set_account(fake, Account(genuine.lamports, genuine.data[:48], PROGRAM))
    counted.fails("AccountDidNotDeserialize", call("increment", u64(1), me, counter=fake))
    counted.svm.set_account(fake, Account(genuine.lamports, b"\x01", PROGRAM))
    counted.fails("AccountDiscriminatorNotFound", call("increment", u64(1), me, counter=fake))


def test_a_genuine_state_at_another_address_is_refused(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    elsewhere = Pubkey.new_unique()
    counted.svm.set_account(elsewhere, genuine)
    counted.fails("ConstraintSeeds", call("increment", u64(1), me, counter=elsewhere))


def test_it_is_created_at_its_address_only(chain: Chain) -> None:
    me = chain.wallet.pubkey()
    chain.fails("ConstraintSeeds", call("initialize", u64(1), me, counter=Pubkey.new_unique()))


def test_it_is_not_created_twice(counted: Chain) -> None:
    counted.fails(
        "AccountDiscriminatorAlreadySet", call("initialize", u64(9), counted.wallet.pubkey())
    )


def test_a_closed_counter_is_gone_within_the_same_transaction(counted: Chain) -> None:
    me = counted.wallet.pubkey()
    counted.ok(call("decrement", u64(5), me))
    refund = Instruction(
        SYSTEM,
        struct.pack("<IQ", 2, 2_000_000),
        [AccountMeta(me, True, True), AccountMeta(counter_of(me), False, True)],
    )
    counted.fails(
        "AccountNotInitialized", call("close", b"", me), refund, call("increment", u64(1), me)
    )


@pytest.mark.parametrize(
    "data", [b"", u64(1)[:7], u64(1) + b"\0", b"\1"], ids=["none", "short", "trailing", "one"]
)
def test_arguments_have_their_exact_length(counted: Chain, data: bytes) -> None:
    counted.fails("InstructionDidNotDeserialize", call("increment", data, counted.wallet.pubkey()))


def test_missing_accounts_are_refused(counted: Chain) -> None:
    ix = call("increment", u64(1), counted.wallet.pubkey())
    counted.fails("AccountNotEnoughKeys", Instruction(PROGRAM, ix.data, ix.accounts[:1]))


def test_another_program_does_not_pass_for_the_system_program(chain: Chain) -> None:
    ix = call("initialize", u64(1), chain.wallet.pubkey())
    fake = [*ix.accounts[:2], AccountMeta(PROGRAM, False, False)]
    chain.fails("InvalidProgramId", Instruction(PROGRAM, ix.data, fake))


@pytest.mark.parametrize("data", [b"", b"\1\2\3", bytes(8)], ids=["empty", "short", "unknown"])
def test_an_unknown_instruction_is_refused(chain: Chain, data: bytes) -> None:
    chain.fails(
        "InstructionFallbackNotFound",
        Instruction(PROGRAM, data, [AccountMeta(SYSTEM, False, False)]),
    )

"""The committed vault in a real SVM with real SPL tokens: what it does, and what it refuses by which error."""

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
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
PROGRAM = Pubkey.from_string("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")


def discriminator(kind: str, name: str) -> bytes:
    return sha256(f"{kind}:{name}".encode()).digest()[:8]


def mint_data(authority: Pubkey) -> bytes:
    """82 bytes: mint authority, supply, decimals, initialized, no freeze authority."""
    return struct.pack("<I32sQBBI32s", 1, bytes(authority), 10**15, 6, 1, 0, bytes(32))


def token_data(mint: Pubkey, owner: Pubkey, amount: int, state: int = 1) -> bytes:
    """165 bytes: mint, owner, amount, no delegate, state, not native, nothing delegated, no close authority."""
    return struct.pack(
        "<32s32sQI32sBIQQI32s",
        bytes(mint),
        bytes(owner),
        amount,
        0,
        bytes(32),
        state,
        0,
        0,
        0,
        0,
        bytes(32),
    )


class Chain:
    """A LiteSVM with the vault, a mint, a wallet with 1,000 tokens, and that wallet's vault."""

    def __init__(self, so: Path = REPO / "programs/vault/vault.so") -> None:
        self.svm = LiteSVM()
        self.svm.add_program(PROGRAM, so.read_bytes())
        self.wallet = self.new_wallet()
        self.me = self.wallet.pubkey()
        self.mint = self.new_mint()
        self.purse = self.new_tokens(self.mint, self.me, 1000)
        self.vault, self.bump = Pubkey.find_program_address(
            [b"vault", bytes(self.me), bytes(self.mint)], PROGRAM
        )
        self.tokens = Pubkey.find_program_address([b"tokens", bytes(self.vault)], PROGRAM)[0]

    def new_wallet(self) -> Keypair:
        wallet = Keypair()
        self.svm.airdrop(wallet.pubkey(), 10**10)
        return wallet

    def put(self, data: bytes, owner: Pubkey = TOKEN) -> Pubkey:
        key = Pubkey.new_unique()
        self.svm.set_account(key, Account(10**9, data, owner))
        return key

    def new_mint(self) -> Pubkey:
        return self.put(mint_data(Pubkey.new_unique()))

    def new_tokens(self, mint: Pubkey, owner: Pubkey, amount: int) -> Pubkey:
        return self.put(token_data(mint, owner, amount))

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
        """The transaction fails, its log names the error, and neither the vault nor any tokens changed."""
        watched = [self.vault, self.tokens, self.purse]
        before = [self.svm.get_account(a) for a in watched]
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, FailedTransactionMetadata), outcome
        logs = "\n".join(outcome.meta().logs())
        assert f"Program log: {name} (" in logs, logs
        assert [self.svm.get_account(a) for a in watched] == before

    def amount(self, account: Pubkey) -> int:
        found = self.svm.get_account(account)
        assert found is not None
        [amount] = struct.unpack_from("<Q", found.data, 64)
        assert isinstance(amount, int)
        return amount

    def state(self) -> tuple[Pubkey, Pubkey, int, int, int]:
        found = self.svm.get_account(self.vault)
        assert found is not None
        assert found.data[:8] == discriminator("account", "State")
        assert len(found.data) == 8 + 32 + 32 + 8 + 8 + 1
        return (
            Pubkey(found.data[8:40]),
            Pubkey(found.data[40:72]),
            *struct.unpack_from("<QQB", found.data, 72),
        )

    # instructions, whose accounts a test may replace by name

    def initialize(self, **changed: Pubkey) -> Instruction:
        a = {
            "vault": self.vault,
            "tokens": self.tokens,
            "mint": self.mint,
            "token_program": TOKEN,
            "system": SYSTEM,
        }
        a |= changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(self.me, True, True),
            AccountMeta(a["token_program"], False, False),
            AccountMeta(a["system"], False, False),
        ]
        return Instruction(PROGRAM, discriminator("global", "initialize"), accounts)

    def deposit(self, amount: int, **changed: Pubkey) -> Instruction:
        a = {"vault": self.vault, "tokens": self.tokens, "source": self.purse, "mint": self.mint}
        a |= {"depositor": self.me, "token_program": TOKEN} | changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["source"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(a["depositor"], True, False),
            AccountMeta(a["token_program"], False, False),
        ]
        return Instruction(
            PROGRAM, discriminator("global", "deposit") + struct.pack("<Q", amount), accounts
        )

    def withdraw(self, amount: int, *, signs: bool = True, **changed: Pubkey) -> Instruction:
        a = {
            "vault": self.vault,
            "tokens": self.tokens,
            "destination": self.purse,
            "mint": self.mint,
        }
        a |= {"authority": self.me, "token_program": TOKEN} | changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["destination"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(a["authority"], signs, False),
            AccountMeta(a["token_program"], False, False),
        ]
        return Instruction(
            PROGRAM, discriminator("global", "withdraw") + struct.pack("<Q", amount), accounts
        )


@pytest.fixture
def chain() -> Chain:
    return Chain()


@pytest.fixture
def filled(chain: Chain) -> Chain:
    """A vault that holds 600 of the wallet's 1,000 tokens."""
    chain.ok(chain.initialize())
    chain.ok(chain.deposit(600))
    return chain


def test_tokens_go_in_and_come_out_again(chain: Chain) -> None:
    chain.ok(chain.initialize())
    assert chain.state() == (chain.me, chain.mint, 0, 0, chain.bump)
    made = chain.svm.get_account(chain.tokens)
    assert made is not None
    assert made.owner == TOKEN
    assert made.data[:64] == bytes(chain.mint) + bytes(chain.vault)
    chain.ok(chain.deposit(600))
    assert (chain.amount(chain.tokens), chain.amount(chain.purse)) == (600, 400)
    outcome = chain.ok(chain.withdraw(250))
    assert bytes(outcome.return_data().data) == struct.pack("<Q", 350)
    assert (chain.amount(chain.tokens), chain.amount(chain.purse)) == (350, 650)
    assert chain.state()[2:4] == (600, 250)
    chain.ok(chain.withdraw(350))
    assert chain.amount(chain.tokens) == 0


def test_anyone_may_deposit(filled: Chain) -> None:
    other = filled.new_wallet()
    purse = filled.new_tokens(filled.mint, other.pubkey(), 50)
    outcome = filled.ok(filled.deposit(50, depositor=other.pubkey(), source=purse), signers=[other])
    assert filled.amount(filled.tokens) == 650
    [line] = [line for line in outcome.logs() if line.startswith("Program data: ")]
    expected = (
        discriminator("event", "Deposited")
        + bytes(filled.vault)
        + bytes(other.pubkey())
        + struct.pack("<Q", 50)
    )
    assert base64.b64decode(line.removeprefix("Program data: ")) == expected


def test_what_is_not_there_is_not_paid_out(filled: Chain) -> None:
    filled.fails("NotEnoughTokens", filled.withdraw(601))
    filled.fails("NotEnoughTokens", filled.withdraw(2**64 - 1))
    filled.fails("ZeroAmount", filled.withdraw(0))
    filled.fails("ZeroAmount", filled.deposit(0))


def test_a_wrong_authority_is_named_as_such(filled: Chain) -> None:
    thief = filled.new_wallet()
    pocket = filled.new_tokens(filled.mint, thief.pubkey(), 0)
    ix = filled.withdraw(1, authority=thief.pubkey(), destination=pocket)
    filled.fails("WrongAuthority", ix, signers=[thief])
    filled.fails(
        "AccountNotSigner", filled.withdraw(1, signs=False, destination=pocket), signers=[thief]
    )


def test_look_alike_vaults_are_refused(filled: Chain) -> None:
    genuine = filled.svm.get_account(filled.vault)
    assert genuine is not None
    elsewhere = filled.put(genuine.data, PROGRAM)
    filled.fails("ConstraintTokenOwner", filled.withdraw(1, vault=elsewhere))
    own_tokens = filled.new_tokens(filled.mint, elsewhere, 5)
    filled.fails("ConstraintSeeds", filled.withdraw(1, vault=elsewhere, tokens=own_tokens))
    foreign = filled.put(genuine.data, SYSTEM)
    filled.fails("AccountOwnedByWrongProgram", filled.withdraw(1, vault=foreign))
    other_type = filled.put(discriminator("account", "Deposit") + genuine.data[8:], PROGRAM)
    filled.fails("AccountDiscriminatorMismatch", filled.withdraw(1, vault=other_type))


def test_only_the_vaults_own_token_account_counts(filled: Chain) -> None:
    second = filled.new_tokens(filled.mint, filled.vault, 600)
    filled.fails("ConstraintSeeds", filled.withdraw(1, tokens=second))
    filled.fails(
        "ConstraintTokenOwner",
        filled.withdraw(1, tokens=filled.new_tokens(filled.mint, filled.me, 600)),
    )
    forged = filled.put(token_data(filled.mint, filled.vault, 600), SYSTEM)
    filled.fails("AccountOwnedByWrongProgram", filled.withdraw(1, tokens=forged))
    unborn = filled.put(token_data(filled.mint, filled.vault, 600, state=0))
    filled.fails("AccountDidNotDeserialize", filled.withdraw(1, tokens=unborn))


def test_other_mints_are_refused(filled: Chain) -> None:
    other = filled.new_mint()
    pocket = filled.new_tokens(other, filled.me, 10)
    filled.fails("ConstraintHasOne", filled.withdraw(1, mint=other))
    filled.fails("ConstraintTokenMint", filled.withdraw(1, destination=pocket))
    filled.fails("ConstraintTokenMint", filled.deposit(1, source=pocket))


def test_the_same_account_twice_is_refused(filled: Chain) -> None:
    filled.fails("ConstraintDuplicateMutableAccount", filled.withdraw(1, destination=filled.tokens))
    filled.fails("ConstraintDuplicateMutableAccount", filled.deposit(1, source=filled.tokens))


def test_no_other_program_is_called(filled: Chain) -> None:
    filled.fails("InvalidProgramId", filled.withdraw(1, token_program=PROGRAM))
    filled.fails("InvalidProgramId", filled.withdraw(1, token_program=Pubkey.new_unique()))


def test_a_vault_is_made_once_and_where_it_belongs(filled: Chain) -> None:
    filled.fails("AccountDiscriminatorAlreadySet", filled.initialize())
    filled.fails("ConstraintSeeds", filled.initialize(vault=Pubkey.new_unique()))
    filled.fails("ConstraintSeeds", filled.initialize(tokens=Pubkey.new_unique()))
    filled.fails("AccountDidNotDeserialize", filled.initialize(mint=filled.purse))

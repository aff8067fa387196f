"""One table of behaviour for three render targets: the same spec gives the same program, whatever it is written with.

Errors are compared by name. Where Anchor's framework refuses a call by another check than the other targets do, the row
says that name too: Anchor looks at derived addresses before it compares fields, and lets the system and token programs
refuse what they know best. All run with every feature on: the compiler with the standard library puts a sixth
argument where an SVM with stack gaps refuses it. What that compiler gets right is checked first
(`std_abilities`).
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.discovery import discover_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.model.program import LIST_TOOLS, ProgramModel
from mcpsol_py.schema.pages import page_set
from mcpsol_py.sources.detect import read
from tests.functional import test_programs_counter as counter
from tests.functional import test_programs_vault as vault
from tests.functional.canaries import Ability, svm_without_stack_gaps
from tests.functional.targets import REPO, TARGETS, built, failure

U64_MAX = 2**64 - 1
SYSTEM = counter.SYSTEM
Outcome = TransactionMetadata | FailedTransactionMetadata


class Counted(counter.Chain):
    """A counter that stands at 5, and somebody else's that stands at 7."""

    def __init__(self, so: Path) -> None:
        self.svm = svm_without_stack_gaps()
        self.svm.add_program(counter.PROGRAM, so.read_bytes())
        self.wallet, self.other = self.new_wallet(), self.new_wallet()
        self.me = self.wallet.pubkey()
        self.counter = counter.counter_of(self.me)

    def fill(self) -> Counted:
        self.ok(self.call("initialize", u64(5)))
        self.ok(counter.call("initialize", u64(7), self.other.pubkey()), signers=[self.other])
        return self

    def call(self, name: str, data: bytes = b"", **changed: object) -> Instruction:
        return counter.call(name, data, self.me, **changed)  # type: ignore[arg-type]

    def put(self, data: bytes, owner: Pubkey = counter.PROGRAM) -> Pubkey:
        key = Pubkey.new_unique()
        self.svm.set_account(key, Account(10**9, data, owner))
        return key

    def genuine(self) -> bytes:
        found = self.svm.get_account(self.counter)
        assert found is not None
        return found.data

    def watched(self) -> list[Pubkey]:
        return [self.counter, counter.counter_of(self.other.pubkey())]


class Filled(vault.Chain):
    """A vault that holds 600 of the wallet's 1,000 tokens."""

    def __init__(self, so: Path) -> None:
        self.svm = svm_without_stack_gaps()
        self.svm.add_program(vault.PROGRAM, so.read_bytes())
        self.wallet, self.other = self.new_wallet(), self.new_wallet()
        self.me = self.wallet.pubkey()
        self.mint = self.new_mint()
        self.purse = self.new_tokens(self.mint, self.me, 1000)
        self.vault, self.bump = Pubkey.find_program_address(
            [b"vault", bytes(self.me), bytes(self.mint)], vault.PROGRAM
        )
        self.tokens = Pubkey.find_program_address([b"tokens", bytes(self.vault)], vault.PROGRAM)[0]

    def fill(self) -> Filled:
        self.ok(self.initialize())
        self.ok(self.deposit(600))
        return self

    def genuine(self) -> bytes:
        found = self.svm.get_account(self.vault)
        assert found is not None
        return found.data

    def watched(self) -> list[Pubkey]:
        return [self.vault, self.tokens, self.purse]


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def without(instruction: Instruction, last: int) -> Instruction:
    """The same with the last accounts left out."""
    return Instruction(
        instruction.program_id,
        instruction.data,
        instruction.accounts[: len(instruction.accounts) - last],
    )


def with_data(instruction: Instruction, data: bytes) -> Instruction:
    return Instruction(instruction.program_id, data, instruction.accounts)


def unsigned(instruction: Instruction, index: int) -> Instruction:
    """The same, where the account at *index* does not sign."""
    metas = list(instruction.accounts)
    metas[index] = AccountMeta(metas[index].pubkey, False, metas[index].is_writable)
    return Instruction(instruction.program_id, instruction.data, metas)


@dataclass(frozen=True)
class Row:
    """A call that is refused: its error's name, and Anchor's own where that is another. `by`: who signs and pays."""

    what: str
    call: Callable[[Counted], Instruction] | Callable[[Filled], Instruction]
    error: str
    anchor: str = ""
    by: str = "wallet"


COUNTER = [
    Row(
        "made twice",
        lambda c: c.call("initialize", u64(1)),
        "AccountDiscriminatorAlreadySet",
        "already in use",
    ),
    Row(
        "made at another address",
        lambda c: c.call("initialize", u64(1), counter=Pubkey.new_unique()),
        "ConstraintSeeds",
    ),
    Row(
        "made for who does not sign",
        lambda c: c.call("initialize", u64(1), signs=False),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "no signature",
        lambda c: c.call("increment", u64(1), signs=False),
        "AccountNotSigner",
        by="other",
    ),
    Row("not writable", lambda c: c.call("increment", u64(1), writable=False), "ConstraintMut"),
    Row(
        "another's counter",
        lambda c: c.call("increment", u64(1), counter=counter.counter_of(c.other.pubkey())),
        "ConstraintHasOne",
        "ConstraintSeeds",
    ),
    Row(
        "no counter there",
        lambda c: c.call("increment", u64(1), counter=Pubkey.new_unique()),
        "AccountNotInitialized",
    ),
    Row(
        "owned by another program",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine(), vault.TOKEN)),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "another type of account",
        lambda c: c.call("increment", u64(1), counter=c.put(b"\1" * 8 + c.genuine()[8:])),
        "AccountDiscriminatorMismatch",
    ),
    Row(
        "no room for a discriminator",
        lambda c: c.call("increment", u64(1), counter=c.put(b"\1" * 4)),
        "AccountDiscriminatorNotFound",
    ),
    Row(
        "state cut short",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine()[:-1])),
        "AccountDidNotDeserialize",
    ),
    Row(
        "the same state elsewhere",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine())),
        "ConstraintSeeds",
    ),
    Row(
        "a counter that names another",
        lambda c: forged_counter(c).call("increment", u64(1)),
        "ConstraintHasOne",
    ),
    Row(
        "too few accounts",
        lambda c: without(c.call("increment", u64(1)), 1),
        "AccountNotEnoughKeys",
    ),
    Row("no accounts", lambda c: without(c.call("increment", u64(1)), 2), "AccountNotEnoughKeys"),
    Row("no arguments", lambda c: c.call("increment"), "InstructionDidNotDeserialize"),
    Row(
        "arguments cut short",
        lambda c: c.call("increment", u64(1)[:7]),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "a byte too many",
        lambda c: c.call("increment", u64(1) + b"\0"),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "data behind no arguments", lambda c: c.call("close", b"\0"), "InstructionDidNotDeserialize"
    ),
    Row("over the top", lambda c: c.call("increment", u64(U64_MAX)), "Overflow"),
    Row("below zero", lambda c: c.call("decrement", u64(6)), "Underflow"),
    Row("closed while it counts", lambda c: c.call("close"), "NotZero"),
    Row(
        "no such instruction",
        lambda c: with_data(c.call("close"), b"\7" * 8),
        "InstructionFallbackNotFound",
    ),
    Row(
        "half a discriminator",
        lambda c: with_data(c.call("close"), b"\7" * 4),
        "InstructionFallbackNotFound",
    ),
    Row("no data at all", lambda c: with_data(c.call("close"), b""), "InstructionFallbackNotFound"),
    Row(
        "another system program",
        lambda c: Instruction(
            counter.PROGRAM,
            c.call("initialize", u64(1)).data,
            [
                AccountMeta(counter.counter_of(c.wallet.pubkey()), False, True),
                AccountMeta(c.me, True, True),
                AccountMeta(vault.TOKEN, False, False),
            ],
        ),
        "InvalidProgramId",
    ),
]


def forged_counter(c: Counted) -> Counted:
    """At the counter's own address stands one that names somebody else, which no call can bring about."""
    data = c.genuine()
    c.svm.set_account(
        c.counter, Account(10**9, data[:8] + bytes(c.other.pubkey()) + data[40:], counter.PROGRAM)
    )
    return c


def forged_vault(c: Filled) -> Filled:
    """The same of a vault."""
    data = c.genuine()
    c.svm.set_account(
        c.vault, Account(10**9, data[:8] + bytes(c.other.pubkey()) + data[40:], vault.PROGRAM)
    )
    return c


def stolen(c: Filled) -> Instruction:
    """A withdrawal by somebody else, into their own pocket."""
    pocket = c.new_tokens(c.mint, c.other.pubkey(), 0)
    return c.withdraw(1, authority=c.other.pubkey(), destination=pocket)


VAULT = [
    Row("made twice", lambda c: c.initialize(), "AccountDiscriminatorAlreadySet", "already in use"),
    Row(
        "made at another address",
        lambda c: c.initialize(vault=Pubkey.new_unique()),
        "ConstraintSeeds",
    ),
    Row(
        "no mint",
        lambda c: c.initialize(mint=c.purse),
        "AccountDidNotDeserialize",
        "InvalidAccountData",
    ),
    Row("nothing put in", lambda c: c.deposit(0), "ZeroAmount"),
    Row("nothing taken out", lambda c: c.withdraw(0), "ZeroAmount"),
    Row("more than there is", lambda c: c.withdraw(601), "NotEnoughTokens"),
    Row("another authority", stolen, "WrongAuthority", "ConstraintSeeds", by="other"),
    Row("no signature", lambda c: c.withdraw(1, signs=False), "AccountNotSigner", by="other"),
    Row(
        "no signature to deposit",
        lambda c: unsigned(c.deposit(1), 4),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "another mint",
        lambda c: c.withdraw(1, mint=c.new_mint()),
        "ConstraintHasOne",
        "ConstraintSeeds",
    ),
    Row(
        "a vault that names another authority",
        lambda c: forged_vault(c).withdraw(1),
        "WrongAuthority",
    ),
    Row(
        "tokens of another mint out",
        lambda c: c.withdraw(1, destination=c.new_tokens(c.new_mint(), c.me, 1)),
        "ConstraintTokenMint",
    ),
    Row(
        "tokens of another mint in",
        lambda c: c.deposit(1, source=c.new_tokens(c.new_mint(), c.me, 1)),
        "ConstraintTokenMint",
    ),
    Row(
        "somebody else's tokens in",
        lambda c: c.deposit(1, source=c.new_tokens(c.mint, c.other.pubkey(), 1)),
        "ConstraintTokenOwner",
    ),
    Row(
        "another token account of the vault's",
        lambda c: c.withdraw(1, tokens=c.new_tokens(c.mint, c.vault, 9)),
        "ConstraintSeeds",
    ),
    Row(
        "tokens that no token program knows",
        lambda c: c.withdraw(1, tokens=c.put(vault.token_data(c.mint, c.vault, 9), SYSTEM)),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "a token account that is not initialized",
        lambda c: c.withdraw(1, tokens=c.put(vault.token_data(c.mint, c.vault, 9, state=0))),
        "AccountDidNotDeserialize",
        "UninitializedAccount",
    ),
    Row(
        "out and in the same",
        lambda c: c.withdraw(1, destination=c.tokens),
        "ConstraintDuplicateMutableAccount",
    ),
    Row(
        "in and out the same",
        lambda c: c.deposit(1, source=c.tokens),
        "ConstraintDuplicateMutableAccount",
    ),
    Row(
        "another token program",
        lambda c: c.withdraw(1, token_program=vault.PROGRAM),
        "InvalidProgramId",
    ),
    Row(
        "a vault elsewhere",
        lambda c: c.deposit(1, vault=c.put(c.genuine(), vault.PROGRAM)),
        "ConstraintTokenOwner",
        "ConstraintSeeds",
    ),
    Row(
        "a vault that the system program owns",
        lambda c: c.withdraw(1, vault=c.put(c.genuine(), SYSTEM)),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "another type of account",
        lambda c: c.withdraw(1, vault=c.put(b"\1" * 8 + c.genuine()[8:], vault.PROGRAM)),
        "AccountDiscriminatorMismatch",
    ),
    Row("too few accounts", lambda c: without(c.withdraw(1), 1), "AccountNotEnoughKeys"),
    Row(
        "arguments cut short",
        lambda c: with_data(c.withdraw(1), c.withdraw(1).data[:-1]),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "a byte too many",
        lambda c: with_data(c.withdraw(1), c.withdraw(1).data + b"\0"),
        "InstructionDidNotDeserialize",
    ),
]


# --- the programs ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def able(std_abilities: dict[str, Ability], std_toolchain: Toolchain) -> Toolchain:
    """The compiler with the standard library; skips where its canaries say that it cannot be trusted."""
    wrong = [str(ability) for ability in std_abilities.values() if not ability.right]
    if wrong:
        pytest.skip("the compiler gets canaries wrong: " + "; ".join(wrong))
    return std_toolchain


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture
def so_of(target: str, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    def file(program: str) -> Path:
        if target == "pinocchio":
            return REPO / "programs" / program / f"{program}.so"
        return built(target, program, request.getfixturevalue("able"))

    return file


@pytest.fixture
def counted(so_of: Callable[[str], Path]) -> Counted:
    return Counted(so_of("counter"))


@pytest.fixture
def filled(so_of: Callable[[str], Path]) -> Filled:
    return Filled(so_of("vault"))


def events(outcome: TransactionMetadata) -> Iterator[bytes]:
    """What programs logged as data."""
    for line in outcome.logs():
        if line.startswith("Program data: "):
            yield base64.b64decode(line.removeprefix("Program data: "))


# --- what is done ----------------------------------------------------------------------------------------------------


def test_a_counter_lives_from_creation_to_close(counted: Counted) -> None:
    outcome = counted.ok(counted.call("initialize", u64(5)))
    _, bump = Pubkey.find_program_address([b"counter", bytes(counted.me)], counter.PROGRAM)
    changed = counter.discriminator("event", "Changed") + bytes(counted.counter)
    assert counted.state() == (counted.me, 5, bump)
    assert list(events(outcome)) == [changed + u64(5)]
    outcome = counted.ok(counted.call("increment", u64(37)))
    assert counted.state() == (counted.me, 42, bump)
    assert list(events(outcome)) == [changed + u64(42)]
    assert not outcome.return_data().data
    outcome = counted.ok(counted.call("decrement", u64(2)))
    assert bytes(outcome.return_data().data).ljust(8, b"\0") == u64(40)
    assert outcome.return_data().program_id == counter.PROGRAM
    counted.ok(counted.call("decrement", u64(40)))
    before = counted.svm.get_balance(counted.me)
    counted.ok(counted.call("close"))
    assert counted.svm.get_account(counted.counter) is None
    after = counted.svm.get_balance(counted.me)
    assert before is not None
    assert after is not None
    assert after > before, "the rent comes back"
    counted.ok(counted.call("initialize", u64(U64_MAX)))
    assert counted.state()[1] == U64_MAX


def test_lamports_at_the_new_address_hinder_nobody(counted: Counted) -> None:
    counted.svm.airdrop(counted.counter, 10**9)
    counted.ok(counted.call("initialize", u64(5)))
    assert counted.state()[1] == 5


def test_tokens_go_in_and_come_out_again(filled: Filled) -> None:
    filled.ok(filled.initialize())
    assert filled.state() == (filled.me, filled.mint, 0, 0, filled.bump)
    made = filled.svm.get_account(filled.tokens)
    assert made is not None
    assert (made.owner, made.data[:64]) == (vault.TOKEN, bytes(filled.mint) + bytes(filled.vault))
    outcome = filled.ok(filled.deposit(600))
    deposited = vault.discriminator("event", "Deposited") + bytes(filled.vault) + bytes(filled.me)
    assert list(events(outcome)) == [deposited + u64(600)]
    assert (filled.amount(filled.tokens), filled.amount(filled.purse)) == (600, 400)
    outcome = filled.ok(filled.withdraw(250))
    assert bytes(outcome.return_data().data).ljust(8, b"\0") == u64(350)
    assert list(events(outcome)) == [
        vault.discriminator("event", "Withdrawn") + bytes(filled.vault) + u64(250)
    ]
    assert (filled.amount(filled.tokens), filled.amount(filled.purse)) == (350, 650)
    assert filled.state() == (filled.me, filled.mint, 600, 250, filled.bump)


def test_anyone_may_deposit(filled: Filled) -> None:
    filled.fill()
    purse = filled.new_tokens(filled.mint, filled.other.pubkey(), 50)
    filled.ok(
        filled.deposit(50, depositor=filled.other.pubkey(), source=purse), signers=[filled.other]
    )
    assert filled.amount(filled.tokens) == 650


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(chain: Counted | Filled, row: Row, target: str) -> None:
    call = row.call(chain)  # type: ignore[arg-type]
    before = [chain.svm.get_account(key) for key in chain.watched()]
    signer: Keypair = getattr(chain, row.by)
    outcome = chain.run(call, signers=[signer])
    assert failure(outcome) == ((target == "anchor" and row.anchor) or row.error), outcome
    assert [chain.svm.get_account(key) for key in chain.watched()] == before


@pytest.mark.parametrize("row", COUNTER, ids=lambda row: row.what)
def test_the_counter_refuses(counted: Counted, target: str, row: Row) -> None:
    refused(counted.fill(), row, target)


@pytest.mark.parametrize("row", VAULT, ids=lambda row: row.what)
def test_the_vault_refuses(filled: Filled, target: str, row: Row) -> None:
    refused(filled.fill(), row, target)


@pytest.mark.parametrize("program", ["counter", "vault"])
def test_every_error_of_the_spec_is_in_the_table(program: str) -> None:
    """So that a new error is not forgotten. The vault's Overflow needs more tokens than a mint can have."""
    rows = {row.error for row in (COUNTER if program == "counter" else VAULT)}
    own = {error.name for error in model_of(program).errors}
    assert own - rows <= {"Overflow"} if program == "vault" else own <= rows


# --- list_tools ------------------------------------------------------------------------------------------------------


@cache
def model_of(program: str) -> ProgramModel:
    return read(REPO / "programs" / program / "spec.py")


def ask(
    chain: Counted | Filled,
    program: Pubkey,
    cursor: bytes,
    accounts: list[AccountMeta] | None = None,
) -> Outcome:
    return chain.run(Instruction(program, LIST_TOOLS + cursor, accounts or []))


def same_pages(chain: Counted | Filled, program: Pubkey, model: ProgramModel) -> None:
    pages = page_set(model)
    asked = dict(enumerate(pages.json_pages)) | dict(
        enumerate(pages.stream_pages, pages.stream_base)
    )
    for cursor, page in asked.items():
        for text in [
            cursor.to_bytes(2, "little"),
            *([bytes([cursor])] if cursor < 256 else []),
            *([b""] if not cursor else []),
        ]:
            outcome = ask(chain, program, text)
            assert isinstance(outcome, TransactionMetadata), outcome
            assert bytes(outcome.return_data().data).ljust(len(page), b"\0") == page
    for text in [bytes([len(pages.json_pages)]), b"\xff\xff", b"\0\0\0"]:
        outcome = ask(chain, program, text)
        assert isinstance(outcome, FailedTransactionMetadata)
        assert len(text) == 3 or "InvalidInstructionData" in failure(outcome)
        assert not outcome.meta().return_data().data


def test_the_pages_are_the_same(counted: Counted, filled: Filled) -> None:
    same_pages(counted, counter.PROGRAM, model_of("counter"))
    same_pages(filled, vault.PROGRAM, model_of("vault"))


def test_it_may_be_asked_with_accounts(counted: Counted) -> None:
    outcome = ask(counted, counter.PROGRAM, b"", [AccountMeta(counted.me, True, True)])
    assert isinstance(outcome, TransactionMetadata)
    assert bytes(outcome.return_data().data) == page_set(model_of("counter")).json_pages[0]
    missing = ask(counted, counter.PROGRAM, b"\xff", [AccountMeta(counted.me, True, True)])
    assert isinstance(missing, FailedTransactionMetadata)
    assert "InvalidInstructionData" in failure(missing)


# --- a program that exists -------------------------------------------------------------------------------------------


def test_the_module_gives_a_program_that_exists_its_tools(able: Toolchain) -> None:
    so = built("anchor", "notes", able)
    folder = REPO / "tests/targets/anchor/notes"
    model = read(folder / "idl.json")
    program = Pubkey.from_string(model.address or "")
    transport = SvmTransport(features="all")
    transport.svm.add_program(program, so.read_bytes())
    discovered = discover_sync(transport, program)
    assert discovered.source == "list_tools"
    found = discovered.program
    assert found.instructions == ["write", "erase"]
    wallet = Keypair()
    transport.svm.airdrop(wallet.pubkey(), 10**10)
    chain = Noted(transport, wallet)
    note = Pubkey.find_program_address([b"note", bytes(wallet.pubkey())], program)[0]
    write = found.instruction("write")
    metas = [
        AccountMeta(note, False, True),
        AccountMeta(wallet.pubkey(), True, True),
        AccountMeta(SYSTEM, False, False),
    ]
    outcome = chain.run(Instruction(program, write.encode({"text": "hello"}), metas))
    assert isinstance(outcome, TransactionMetadata), outcome
    account = transport.svm.get_account(note)
    assert account is not None
    assert found.decode_account(account.data[: 8 + 32 + 4 + 5])[1] == {
        "author": wallet.pubkey(),
        "text": "hello",
    }
    chain2 = chain.run(Instruction(program, write.encode({"text": "x" * 101}), metas))
    assert failure(chain2) == "already in use"


class Noted(counter.Chain):
    """The SVM of a transport."""

    def __init__(self, transport: SvmTransport, wallet: Keypair) -> None:
        self.svm, self.wallet = transport.svm, wallet


def test_the_lines_to_add_are_those_of_the_program() -> None:
    """list_tools.md says what was added by hand to the program that the test above runs."""
    folder = REPO / "tests/targets/anchor/notes/src"
    lib = (folder / "lib.rs").read_text(encoding="utf-8")
    text = (folder / "list_tools.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```rust\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    have = [line.strip() for line in lib.splitlines()]
    for block in blocks:
        for line in block.splitlines():
            assert line.strip() in have

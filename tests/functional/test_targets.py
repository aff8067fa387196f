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
from collections.abc import Callable, Iterator
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
from tests.functional.canaries import Ability
from tests.functional.targets import REPO, TARGETS, built, built_crate, failure
from tests.golden.targets.regen import EXISTING
from tests.support import counter_chain as counter
from tests.support import vault_chain as vault
from tests.support.chains import Chain, Outcome
from tests.support.counter_chain import u64
from tests.support.refused_calls import (
    COUNTER,
    SYSTEM,
    U64_MAX,
    VAULT,
    Counted,
    Filled,
    Row,
)

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
    _, bump = Pubkey.find_program_address(
        [b"counter", bytes(counted.me)], counter.PROGRAM
    )
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
    assert (made.owner, made.data[:64]) == (
        vault.TOKEN,
        bytes(filled.mint) + bytes(filled.vault),
    )
    outcome = filled.ok(filled.deposit(600))
    deposited = (
        vault.discriminator("event", "Deposited")
        + bytes(filled.vault)
        + bytes(filled.me)
    )
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
        filled.deposit(50, depositor=filled.other.pubkey(), source=purse),
        signers=[filled.other],
    )
    assert filled.amount(filled.tokens) == 650


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(chain: Counted | Filled, row: Row, target: str) -> None:
    call = row.call(chain)  # type: ignore[arg-type]
    before = [chain.svm.get_account(key) for key in chain.watched()]
    signer: Keypair = getattr(chain, row.by)
    outcome = chain.run(call, signers=[signer])
    assert failure(outcome) == ((target == "anchor" and row.anchor) or row.error), (
        outcome
    )
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
    chain: Chain,
    program: Pubkey,
    cursor: bytes,
    accounts: list[AccountMeta] | None = None,
) -> Outcome:
    return chain.run(Instruction(program, LIST_TOOLS + cursor, accounts or []))


def same_pages(chain: Chain, program: Pubkey, model: ProgramModel) -> None:
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
    assert (
        bytes(outcome.return_data().data) == page_set(model_of("counter")).json_pages[0]
    )
    missing = ask(
        counted, counter.PROGRAM, b"\xff", [AccountMeta(counted.me, True, True)]
    )
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
    chain = Chain(transport.svm, wallet)
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


@pytest.mark.parametrize("library", ["pinocchio", "native"])
def test_the_module_gives_a_program_without_a_framework_its_tools(
    library: str, able: Toolchain
) -> None:
    model = read(REPO / "tests/targets/tally.json")
    program = Pubkey.from_string(model.address or "")
    transport = SvmTransport(features="all")
    so = built_crate(REPO / "tests/targets" / library / "tally", able)
    transport.svm.add_program(program, so.read_bytes())
    wallet = Keypair()
    transport.svm.airdrop(wallet.pubkey(), 10**10)
    chain = Chain(transport.svm, wallet)

    same_pages(chain, program, model)
    found = discover_sync(transport, program).program
    assert found.model.instructions == model.instructions

    tally = Pubkey(bytes([9] * 32))
    state = Account(10**9, (41).to_bytes(8, "little"), program)
    transport.svm.set_account(tally, state)
    metas = [AccountMeta(tally, False, True)]
    asked = chain.run(Instruction(program, LIST_TOOLS, metas))
    assert isinstance(asked, TransactionMetadata)
    assert bytes(asked.return_data().data) == page_set(model).json_pages[0]
    add = found.instruction("add").encode({"amount": 1})
    assert isinstance(chain.run(Instruction(program, add, metas)), TransactionMetadata)
    outcome = chain.run(
        Instruction(program, found.instruction("read").encode({}), metas)
    )
    assert isinstance(outcome, TransactionMetadata)
    assert bytes(outcome.return_data().data).ljust(8, b"\0") == u64(42)
    unknown = chain.run(Instruction(program, b"\x02", metas))
    assert "InvalidInstructionData" in failure(unknown)


@pytest.mark.parametrize("crate", EXISTING)
def test_the_lines_to_add_are_those_of_the_program(crate: str) -> None:
    """list_tools.md says what was added by hand to the program that the test above runs."""
    folder = REPO / "tests/targets" / crate / "src"
    lib = (folder / "lib.rs").read_text(encoding="utf-8")
    text = (folder / "list_tools.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```rust\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    have = [line.strip() for line in lib.splitlines()]
    for block in blocks:
        for line in block.splitlines():
            assert line.strip() in have

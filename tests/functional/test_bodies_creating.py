"""Accounts that instructions create, in the simulator and in an SVM at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.bodies.addresses import Pubkey as Address
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.testing import TwinProgram
from tests.support.oracle import Oracle
from tests.support.random_programs import built_from
from tests.support.token_extensions import fees, listed

pytestmark = pytest.mark.rust

SPEC = Path(__file__).with_name("creating_spec.py")


@pytest.fixture(scope="module")
def oracle(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Oracle:
    return built_from(SPEC, tmp_path_factory.mktemp("creating"))


class Bank:
    """A bank, its visitors, and calls of both that are mostly as they should be."""

    def __init__(self, oracle: Oracle, r: random.Random, tokens: Pubkey) -> None:
        self.oracle, self.r, self.tokens = oracle, r, tokens
        self.admin, *self.visitors = (oracle.wallet() for _ in range(3))
        self.visitors.append(oracle.wallet(r.randrange(900_000, 6_000_000)))
        self.bank = self.at(b"bank", self.admin.pubkey())
        self.coin, self.vault = (
            self.at(b"coin", self.bank),
            self.at(b"vault", self.bank),
        )

    def at(self, word: bytes, of: Pubkey) -> Pubkey:
        seeds = [word, bytes(of)]
        return Pubkey.find_program_address(seeds, self.oracle.address)[0]

    def programs(self) -> dict[str, Pubkey | None]:
        token_program = self.tokens
        if self.r.random() < 0.1:
            token_program = self.r.choice([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
        return {
            "token_program": token_program,
            "associated_token_program": ASSOCIATED_TOKEN_PROGRAM,
            "system_program": SYSTEM_PROGRAM,
        }

    def found(self) -> None:
        programs = self.programs()
        del programs["associated_token_program"]
        accounts = {"bank": self.bank, "coin": self.coin, "vault": self.vault}
        accounts |= {"admin": self.admin.pubkey(), **programs}  # type: ignore[dict-item]  # none is left out
        first = self.r.choice([0, 7, 2**64 - 1])
        self.oracle.call("found", accounts, {"first": first}, self.admin)

    def visit(self) -> None:
        payer, other = self.r.sample(self.visitors, 2)
        programs = self.programs()
        owner = payer if self.r.random() < 0.9 else other
        accounts = {
            "bank": self.bank,
            "coin": self.coin,
            "member": self.at(b"member", payer.pubkey()),
            "purse": self.purse(owner, programs["token_program"]),
            "payer": payer.pubkey(),
            **programs,
        }
        if self.r.random() < 0.1:
            accounts["purse"] = self.vault
        amount = self.r.choice([0, 5, 2**64 - 1])
        self.oracle.call("visit", accounts, {"amount": amount}, payer)

    def open(self) -> None:
        owner, payer = self.r.sample([*self.visitors, self.oracle.wallet()], 2)
        programs = self.programs()
        accounts = {
            "purse": self.purse(owner, programs["token_program"]),
            "coin": self.coin,
            "owner": owner.pubkey(),
            "payer": payer.pubkey(),
            **programs,
        }
        self.oracle.call("open", accounts, {}, owner, payer)

    def held(self) -> None:
        kind = self.r.choice([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
        mint = self.oracle.mint(program=kind)
        purse = self.oracle.tokens(mint, self.admin.pubkey(), 5, program=kind)
        accounts: dict[str, Pubkey | None] = {"bank": self.bank, "purse": purse}
        accounts |= {"admin": self.admin.pubkey(), "token_program": self.tokens}
        self.oracle.call("held", accounts, {}, self.admin)

    def purse(self, owner: Keypair, program: Pubkey | None) -> Pubkey:
        assert program is not None
        return associated_token(owner.pubkey(), self.coin, program)


MINTS = {
    "none": b"",
    "a transfer fee": fees(0),
    "no transfers": listed(9, b""),
    "a hook": listed(14, bytes(64)),
    "pauses": listed(26, bytes(33)),
    "two": listed(26, bytes(33)) + fees(0),
    "one that accounts do not need": listed(3, bytes(32)),
}


@pytest.mark.parametrize("extensions", MINTS.values(), ids=MINTS)
def test_accounts_of_mints_with_extensions(oracle: Oracle, extensions: bytes) -> None:
    oracle.start()
    payer, program = oracle.wallet(), TOKEN_2022_PROGRAM
    mint = oracle.mint(program=program, extensions=extensions)
    given = {"coin": mint, "payer": payer.pubkey(), "token_program": program}
    given |= {"system_program": SYSTEM_PROGRAM}
    box = Pubkey.find_program_address([b"box", bytes(mint)], oracle.address)[0]
    refused = extensions not in (b"", MINTS["one that accounts do not need"])
    found = oracle.call("box", {**given, "box": box}, {}, payer)
    assert found == ("InvalidAccountData" if refused else "")
    purse = associated_token(payer.pubkey(), mint, program)
    given |= {"purse": purse, "owner": payer.pubkey()}
    given |= {"associated_token_program": ASSOCIATED_TOKEN_PROGRAM}
    assert oracle.call("open", given, {}, payer) == ""
    held = oracle.simulator.reader.data(oracle.simulator.ledger, Address(purse))
    on_chain = oracle.svm.get_account(purse)
    assert on_chain is not None
    assert bytes(held) == bytes(on_chain.data)


@pytest.mark.parametrize("program", [TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=str)
def test_what_is_no_mint(oracle: Oracle, program: Pubkey) -> None:
    oracle.start()
    oracle.errors.clear()
    payer = oracle.wallet()
    others = oracle.mint(program=TOKEN_PROGRAM), oracle.mint(program=TOKEN_2022_PROGRAM)
    purses = [
        oracle.tokens(mint, payer.pubkey(), 1, program=kind)
        for mint, kind in zip(others, (TOKEN_PROGRAM, TOKEN_2022_PROGRAM), strict=True)
    ]
    for coin in (payer.pubkey(), *others, *purses):
        box = Pubkey.find_program_address([b"box", bytes(coin)], oracle.address)[0]
        given = {"coin": coin, "payer": payer.pubkey(), "token_program": program}
        given |= {"system_program": SYSTEM_PROGRAM, "box": box}
        oracle.call("box", given, {}, payer)
    assert oracle.errors == {"": 1, "IncorrectProgramId": 3, "InvalidMint": 1}


def test_what_a_refused_call_returned_does_not_count(oracle: Oracle) -> None:
    """The program returns, and then the runtime refuses to leave its payer too few lamports."""
    twin = TwinProgram(oracle.spec, oracle.so)
    admin, poor = twin.wallet("admin"), twin.wallet("poor", 3_600_000)
    made = twin.call("found", accounts={"admin": admin, **SPL}, args={"first": 1})
    bank, coin = made.accounts["bank"], made.accounts["coin"]
    given = {"bank": bank, "coin": coin, "payer": poor, **SPL}
    visited = twin.call("visit", accounts=given, args={"amount": 1})
    assert (visited.error, visited.carried) == ("InsufficientFundsForRent", b"")


SPL = {"token_program": TOKEN_PROGRAM}


@pytest.mark.parametrize("tokens", [TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=str)
def test_python_and_the_svm_agree(oracle: Oracle, tokens: Pubkey) -> None:
    r = random.Random(11)
    oracle.errors.clear()
    for _ in range(12):
        oracle.start()
        bank = Bank(oracle, r, tokens)
        bank.found()
        for _ in range(25):
            r.choice([bank.found, bank.visit, bank.visit, bank.open, bank.held])()
    wanted = {"", "Enough", "ArithmeticOverflow", "AccountDiscriminatorAlreadySet"}
    wanted |= {"AccountOwnedByWrongProgram", "ConstraintTokenOwner"}
    wanted |= {"ConstraintAssociated", "ResultWithNegativeLamports"}
    wanted |= {"InsufficientFundsForRent"}
    assert set(oracle.errors) == wanted

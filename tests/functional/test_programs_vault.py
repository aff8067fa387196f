"""The committed vault in a real SVM with real SPL tokens: what it does, and what it refuses by which error."""

from __future__ import annotations

import base64
import struct

import pytest
from solders.pubkey import Pubkey

from tests.support.vault_chain import (
    PROGRAM,
    SYSTEM,
    VaultChain,
    discriminator,
    token_data,
    tokens_in_and_out,
)


@pytest.fixture
def chain() -> VaultChain:
    return VaultChain()


@pytest.fixture
def filled(chain: VaultChain) -> VaultChain:
    """A vault that holds 600 of the wallet's 1,000 tokens."""
    chain.ok(chain.initialize())
    chain.ok(chain.deposit(600))
    return chain


def test_tokens_go_in_and_come_out_again(chain: VaultChain) -> None:
    tokens_in_and_out(chain)


def test_anyone_may_deposit(filled: VaultChain) -> None:
    other = filled.new_wallet()
    purse = filled.new_tokens(filled.mint, other.pubkey(), 50)
    outcome = filled.ok(
        filled.deposit(50, depositor=other.pubkey(), source=purse), signers=[other]
    )
    assert filled.amount(filled.tokens) == 650
    [line] = [line for line in outcome.logs() if line.startswith("Program data: ")]
    expected = (
        discriminator("event", "Deposited")
        + bytes(filled.vault)
        + bytes(other.pubkey())
        + struct.pack("<Q", 50)
    )
    assert base64.b64decode(line.removeprefix("Program data: ")) == expected


def test_what_is_not_there_is_not_paid_out(filled: VaultChain) -> None:
    filled.fails("NotEnoughTokens", filled.withdraw(601))
    filled.fails("NotEnoughTokens", filled.withdraw(2**64 - 1))
    filled.fails("ZeroAmount", filled.withdraw(0))
    filled.fails("ZeroAmount", filled.deposit(0))


def test_a_wrong_authority_is_named_as_such(filled: VaultChain) -> None:
    thief = filled.new_wallet()
    pocket = filled.new_tokens(filled.mint, thief.pubkey(), 0)
    ix = filled.withdraw(1, authority=thief.pubkey(), destination=pocket)
    filled.fails("WrongAuthority", ix, signers=[thief])
    filled.fails(
        "AccountNotSigner",
        filled.withdraw(1, signs=False, destination=pocket),
        signers=[thief],
    )


def test_look_alike_vaults_are_refused(filled: VaultChain) -> None:
    genuine = filled.svm.get_account(filled.vault)
    assert genuine is not None
    elsewhere = filled.put(genuine.data, PROGRAM)
    filled.fails("ConstraintTokenOwner", filled.withdraw(1, vault=elsewhere))
    own_tokens = filled.new_tokens(filled.mint, elsewhere, 5)
    filled.fails(
        "ConstraintSeeds", filled.withdraw(1, vault=elsewhere, tokens=own_tokens)
    )
    foreign = filled.put(genuine.data, SYSTEM)
    filled.fails("AccountOwnedByWrongProgram", filled.withdraw(1, vault=foreign))
    other_type = filled.put(
        discriminator("account", "Deposit") + genuine.data[8:], PROGRAM
    )
    filled.fails("AccountDiscriminatorMismatch", filled.withdraw(1, vault=other_type))


def test_only_the_vaults_own_token_account_counts(filled: VaultChain) -> None:
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


def test_other_mints_are_refused(filled: VaultChain) -> None:
    other = filled.new_mint()
    pocket = filled.new_tokens(other, filled.me, 10)
    filled.fails("ConstraintHasOne", filled.withdraw(1, mint=other))
    filled.fails("ConstraintTokenMint", filled.withdraw(1, destination=pocket))
    filled.fails("ConstraintTokenMint", filled.deposit(1, source=pocket))


def test_the_same_account_twice_is_refused(filled: VaultChain) -> None:
    filled.fails(
        "ConstraintDuplicateMutableAccount",
        filled.withdraw(1, destination=filled.tokens),
    )
    filled.fails(
        "ConstraintDuplicateMutableAccount", filled.deposit(1, source=filled.tokens)
    )


def test_no_other_program_is_called(filled: VaultChain) -> None:
    filled.fails("InvalidProgramId", filled.withdraw(1, token_program=PROGRAM))
    filled.fails(
        "InvalidProgramId", filled.withdraw(1, token_program=Pubkey.new_unique())
    )


def test_a_vault_is_made_once_and_where_it_belongs(filled: VaultChain) -> None:
    filled.fails("AccountDiscriminatorAlreadySet", filled.initialize())
    filled.fails("ConstraintSeeds", filled.initialize(vault=Pubkey.new_unique()))
    filled.fails("ConstraintSeeds", filled.initialize(tokens=Pubkey.new_unique()))
    filled.fails("AccountDidNotDeserialize", filled.initialize(mint=filled.purse))

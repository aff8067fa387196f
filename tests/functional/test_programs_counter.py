"""The committed counter in a real SVM: what it does, what it refuses by which error, and what its logs say.

Instructions and accounts are written out by hand here (struct, hashlib), so that the generated Rust is checked against
the spec's meaning and not against the same code that made it.
"""

from __future__ import annotations

import base64
import struct

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from tests.support.counter_chain import (
    MAX,
    PROGRAM,
    SYSTEM,
    CounterChain,
    call,
    counter_of,
    creation_where_lamports_are,
    discriminator,
    u64,
    whole_life,
)


@pytest.fixture
def chain() -> CounterChain:
    return CounterChain()


@pytest.fixture
def counted(chain: CounterChain) -> CounterChain:
    """A counter that stands at 5."""
    chain.ok(call("initialize", u64(5), chain.wallet.pubkey()))
    return chain


def test_a_counter_lives_from_creation_to_close(chain: CounterChain) -> None:
    whole_life(chain)


def test_each_change_is_logged_as_an_event(counted: CounterChain) -> None:
    me = counted.wallet.pubkey()
    outcome = counted.ok(call("increment", u64(1), me))
    [line] = [line for line in outcome.logs() if line.startswith("Program data: ")]
    data = base64.b64decode(line.removeprefix("Program data: "))
    assert data == discriminator("event", "Changed") + bytes(counter_of(me)) + u64(6)


def test_lamports_sent_before_do_not_hinder_the_creation(chain: CounterChain) -> None:
    creation_where_lamports_are(chain)


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_the_count_neither_overflows_nor_goes_below_zero(counted: CounterChain) -> None:
    me = counted.wallet.pubkey()
    counted.fails("Overflow", call("increment", u64(MAX), me))
    counted.fails("Overflow", call("increment", u64(MAX - 4), me))
    counted.fails("Underflow", call("decrement", u64(6), me))
    counted.ok(call("increment", u64(MAX - 5), me))
    assert counted.state()[1] == MAX
    counted.ok(call("increment", u64(0), me))
    counted.fails("Overflow", call("increment", u64(1), me))


def test_only_a_counter_at_zero_is_closed(counted: CounterChain) -> None:
    counted.fails("NotZero", call("close", b"", counted.wallet.pubkey()))


def test_a_signature_must_be_there(counted: CounterChain) -> None:
    other = counted.new_wallet()
    ix = call("increment", u64(1), counted.wallet.pubkey(), signs=False)
    counted.fails("AccountNotSigner", ix, signers=[other])


def test_another_wallet_is_refused(counted: CounterChain) -> None:
    other = counted.new_wallet()
    mine = counter_of(counted.wallet.pubkey())
    ix = call("increment", u64(1), other.pubkey(), counter=mine)
    counted.fails("ConstraintHasOne", ix, signers=[other])


def test_a_read_only_counter_is_refused(counted: CounterChain) -> None:
    counted.fails(
        "ConstraintMut",
        call("increment", u64(1), counted.wallet.pubkey(), writable=False),
    )


def test_a_look_alike_of_another_program_is_refused(counted: CounterChain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    fake = Pubkey.new_unique()
    counted.svm.set_account(fake, Account(genuine.lamports, genuine.data, SYSTEM))
    counted.fails(
        "AccountOwnedByWrongProgram", call("increment", u64(1), me, counter=fake)
    )


def test_state_of_another_type_is_refused(counted: CounterChain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    fake = Pubkey.new_unique()
    data = discriminator("account", "Other") + genuine.data[8:]
    counted.svm.set_account(fake, Account(genuine.lamports, data, PROGRAM))
    counted.fails(
        "AccountDiscriminatorMismatch", call("increment", u64(1), me, counter=fake)
    )
    counted.svm.set_account(fake, Account(genuine.lamports, genuine.data[:48], PROGRAM))
    counted.fails(
        "AccountDidNotDeserialize", call("increment", u64(1), me, counter=fake)
    )
    counted.svm.set_account(fake, Account(genuine.lamports, b"\x01", PROGRAM))
    counted.fails(
        "AccountDiscriminatorNotFound", call("increment", u64(1), me, counter=fake)
    )


def test_a_genuine_state_at_another_address_is_refused(counted: CounterChain) -> None:
    me = counted.wallet.pubkey()
    genuine = counted.svm.get_account(counter_of(me))
    assert genuine is not None
    elsewhere = Pubkey.new_unique()
    counted.svm.set_account(elsewhere, genuine)
    counted.fails("ConstraintSeeds", call("increment", u64(1), me, counter=elsewhere))


def test_it_is_created_at_its_address_only(chain: CounterChain) -> None:
    me = chain.wallet.pubkey()
    chain.fails(
        "ConstraintSeeds", call("initialize", u64(1), me, counter=Pubkey.new_unique())
    )


def test_it_is_not_created_twice(counted: CounterChain) -> None:
    counted.fails(
        "AccountDiscriminatorAlreadySet",
        call("initialize", u64(9), counted.wallet.pubkey()),
    )


def test_a_closed_counter_is_gone_within_the_same_transaction(
    counted: CounterChain,
) -> None:
    me = counted.wallet.pubkey()
    counted.ok(call("decrement", u64(5), me))
    refund = Instruction(
        SYSTEM,
        struct.pack("<IQ", 2, 2_000_000),
        [AccountMeta(me, True, True), AccountMeta(counter_of(me), False, True)],
    )
    counted.fails(
        "AccountNotInitialized",
        call("close", b"", me),
        refund,
        call("increment", u64(1), me),
    )


@pytest.mark.parametrize(
    "data",
    [b"", u64(1)[:7], u64(1) + b"\0", b"\1"],
    ids=["none", "short", "trailing", "one"],
)
def test_arguments_have_their_exact_length(counted: CounterChain, data: bytes) -> None:
    counted.fails(
        "InstructionDidNotDeserialize", call("increment", data, counted.wallet.pubkey())
    )


def test_missing_accounts_are_refused(counted: CounterChain) -> None:
    ix = call("increment", u64(1), counted.wallet.pubkey())
    counted.fails(
        "AccountNotEnoughKeys", Instruction(PROGRAM, ix.data, ix.accounts[:1])
    )


def test_another_program_does_not_pass_for_the_system_program(
    chain: CounterChain,
) -> None:
    ix = call("initialize", u64(1), chain.wallet.pubkey())
    fake = [*ix.accounts[:2], AccountMeta(PROGRAM, False, False)]
    chain.fails("InvalidProgramId", Instruction(PROGRAM, ix.data, fake))


@pytest.mark.parametrize(
    "data", [b"", b"\1\2\3", bytes(8)], ids=["empty", "short", "unknown"]
)
def test_an_unknown_instruction_is_refused(chain: CounterChain, data: bytes) -> None:
    chain.fails(
        "InstructionFallbackNotFound",
        Instruction(PROGRAM, data, [AccountMeta(SYSTEM, False, False)]),
    )

"""Accounts that bodies open themselves, in the simulator and in an SVM at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.bodies.addresses import Pubkey as Address
from mcpsol_py.build.toolchain import Toolchain
from tests.support.oracle import SOL, Oracle
from tests.support.random_programs import built_from

pytestmark = pytest.mark.rust

SPEC = Path(__file__).with_name("opening_spec.py")
KEYS = (bytes(32), bytes(range(1, 33)), bytes(30) + b"\xff\xff")


@pytest.fixture(scope="module")
def oracle(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Oracle:
    return built_from(SPEC, tmp_path_factory.mktemp("opening"))


def run(oracle: Oracle, calls: int) -> None:
    """Write, mark and add notes at random. Every call is compared, with all that it did."""
    r = random.Random(7)
    oracle.start()
    wallets = [oracle.wallet() for _ in range(2)]
    wallets += [oracle.wallet(lamports) for lamports in (900_000, 2_000_000)]
    notes = {
        key: Pubkey.find_program_address([b"note", key], oracle.address)[0]
        for key in KEYS
    }
    other, strange = Pubkey.new_unique(), Pubkey.new_unique()
    for _ in range(calls):
        oracle.put_state(other, "Other", count=r.choice([0, 1, 2**64 - 1]))
        oracle.put_data(
            strange, r.choice([Pubkey.new_unique(), *notes.values()]), b"\7"
        )
        key, author = r.choice(KEYS), r.choice(wallets)
        if r.random() < 0.1:  # lamports came before the account
            forget(oracle, notes[key], r.choice([SOL, 900_000, 0, 0]))
        accounts = {
            "note": notes[key],
            "author": author.pubkey(),
            "system_program": Pubkey.default(),
        }
        which = r.random()
        if which < 0.6:
            args = {
                "amount": r.choice([0, 1, 2**63]),
                "most": r.choice([0, 5, 2**64 - 1]),
            }
            oracle.call("write", accounts, {"key": key, **args}, author)
        elif which < 0.7:
            oracle.call("mark", accounts, {"key": key}, author)
        else:
            held = [*notes.values(), other, strange]
            read = {name: r.choice(held) for name in ("note", "second", "look")}
            oracle.call("total", {**read, "other": other}, {})
            count = r.randint(0, 2)
            for name, items in (("gather", "notes"), ("peek", "others")):
                beside = r.choices([*notes.values()], k=count)
                oracle.call(name, {"note": read["note"], items: beside}, {})


def forget(oracle: Oracle, address: Pubkey, lamports: int) -> None:
    """Leave an account on both sides with lamports alone."""
    oracle.simulator.ledger.states.pop(Address(address), None)
    oracle.svm.set_account(address, Account(lamports, b"", Pubkey.default()))
    oracle.simulator.put_wallet(address, lamports)


def test_python_and_the_svm_agree(oracle: Oracle) -> None:
    run(oracle, 400)
    wanted = {"", "Taken", "Full", "Late", "AccountDiscriminatorAlreadySet"}
    wanted |= {"AccountDiscriminatorMismatch", "AccountOwnedByWrongProgram"}
    wanted |= {"AccountNotInitialized", "ConstraintDuplicateMutableAccount"}
    wanted |= {"ResultWithNegativeLamports", "InsufficientFundsForRent"}
    assert wanted <= set(oracle.errors), oracle.errors

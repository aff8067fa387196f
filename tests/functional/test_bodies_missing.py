"""Accounts and values that a call leaves out, in the simulator and in an SVM at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_PROGRAM
from tests.functional.missing_spec import FEEDS
from tests.support.oracle import Oracle
from tests.support.random_programs import built_from

pytestmark = pytest.mark.rust

SPEC = Path(__file__).with_name("missing_spec.py")


@pytest.fixture(scope="module")
def oracle(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Oracle:
    return built_from(SPEC, tmp_path_factory.mktemp("missing"))


def run(oracle: Oracle, calls: int) -> None:
    """Tip, level and empty jars at random. Every call is compared, with all that it did."""
    r = random.Random(3)
    oracle.start()
    me, jar, second = oracle.wallet(), Pubkey.new_unique(), Pubkey.new_unique()
    for _ in range(calls):
        owner = r.choice([me.pubkey(), Pubkey.new_unique()])
        for key in (jar, second):
            total = r.choice([0, 7, 100, 2**64 - 1])
            oracle.put_state(key, "Jar", owner=owner, total=total)
        other = r.choice([None, second, second, second, jar, oracle.address])
        signer = r.choice([None, me.pubkey()])
        signing = [me] if signer else []
        which = r.random()
        if which < 0.6:
            args = {
                "amount": r.choice([0, 3, 1000]),
                "limit": r.choice([None, 3, 1000]),
                "percent": r.choice([None, 0, 30, 101]),
            }
            accounts = {"jar": jar, "second": other, "guest": signer}
            oracle.call("tip", accounts, args, *signing)
        elif which < 0.8:
            oracle.call("level", {"jar": jar, "second": other}, {})
        else:
            oracle.call("empty", {"jar": jar, "owner": signer}, {}, *signing)


def test_python_and_the_svm_agree(oracle: Oracle) -> None:
    run(oracle, 400)
    wanted = {"", "TooMuch", "TooLarge", "ArithmeticOverflow", "ConstraintHasOne"}
    wanted |= {"ConstraintDuplicateMutableAccount", "ConstraintAccountIsNone"}
    assert wanted == set(oracle.errors)


def test_owners_of_accounts_are_checked_alike(oracle: Oracle) -> None:
    """Owners that an address and that an account gives, an absent account, and an account of the system program."""
    r = random.Random(5)
    oracle.start()
    oracle.errors.clear()
    me, first, second = oracle.wallet(), Pubkey.new_unique(), Pubkey.new_unique()
    jar, mint, nothing = Pubkey.new_unique(), oracle.mint(), Pubkey.new_unique()
    oracle.put_state(jar, "Jar", owner=me.pubkey(), total=3)
    purse = oracle.tokens(mint, me.pubkey(), 5)
    others = [jar, mint, purse, nothing, me.pubkey()]
    feeds, other = Pubkey.from_string(FEEDS), Pubkey.new_unique()
    for _ in range(300):
        for key, program in ((first, feeds), (second, other)):
            size = r.choice([8, 8, 12, 7])
            oracle.put_data(key, program, r.randbytes(size))
        accounts = {
            "feed": r.choice([first] * 8 + [second, *others]),
            "second": r.choice([None, None, first, second, second, *others]),
            "by": r.choice(
                [None, feeds, other, other, jar, SYSTEM_PROGRAM, TOKEN_PROGRAM]
            ),
            "shop": r.choice([me.pubkey()] * 6 + [first, *others]),
        }
        oracle.call("rate", accounts, {})
    wanted = {"", "NotAFeed", "ConstraintOwner", "AccountNotSystemOwned"}
    wanted |= {"ConstraintAccountIsNone", "AccountDidNotDeserialize"}
    assert wanted == set(oracle.errors)

"""Accounts and values that a call leaves out, in the simulator and in an SVM at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from tests.support.oracle import Oracle
from tests.support.random_programs import built

pytestmark = pytest.mark.rust

SPEC = Path(__file__).with_name("missing_spec.py")


@pytest.fixture(scope="module")
def oracle(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Oracle:
    folder = tmp_path_factory.mktemp("missing")
    (folder / "spec.py").write_bytes(SPEC.read_bytes())
    return built(folder)


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

"""The simulator: accounts, checks, rollback, and what it refuses to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.running import emit
from mcpsol_py.errors import NotUsable, UnknownName
from mcpsol_py.solana.pda import find_pda
from mcpsol_py.testing import Simulator

REPO = Path(__file__).resolve().parents[3]
COUNTER = REPO / "programs/counter/spec.py"
SOL = 10**9
ME, STRANGER = Pubkey(b"\x01" * 32), Pubkey(b"\x02" * 32)


@pytest.fixture
def simulator() -> Simulator:
    made = Simulator(COUNTER)
    made.put_wallet(ME, SOL)
    return made


def counter_of(simulator: Simulator, wallet: Pubkey = ME) -> Pubkey:
    return Pubkey(
        find_pda([b"counter", bytes(wallet)], Key(bytes(simulator.address)))[0]
    )


@pytest.fixture
def counter(simulator: Simulator) -> Pubkey:
    at = counter_of(simulator)
    assert (
        simulator.call(
            "initialize", accounts={"counter": at, "authority": ME}, args={"start": 5}
        ).error
        == ""
    )
    return at


def test_a_counter_lives(simulator: Simulator, counter: Pubkey) -> None:
    accounts = {"counter": counter, "authority": ME}
    rent = simulator.lamports(counter)
    assert simulator.lamports(ME) == SOL - rent
    outcome = simulator.call("decrement", accounts=accounts, args={"amount": 5})
    assert (outcome.error, outcome.returned) == ("", 0)
    [event] = outcome.events
    assert (event.counter, event.count) == (counter, 0)
    assert simulator.state(counter).authority == ME
    assert simulator.call("close", accounts=accounts).error == ""
    assert simulator.lamports(ME) == SOL
    with pytest.raises(KeyError):
        simulator.state(counter)


def test_a_refused_call_changes_nothing(simulator: Simulator, counter: Pubkey) -> None:
    accounts = {"counter": counter, "authority": ME}
    outcome = simulator.call("decrement", accounts=accounts, args={"amount": 6})
    assert (outcome.error, outcome.events, outcome.returned) == ("Underflow", (), None)
    assert simulator.state(counter).count == 5


TOTALS = """\
from mcpsol_py.spec import *
@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Totals:
    class S(Account):
        n: u64
    class Added(Event):
        n: u64
    Full = error("Full")
    @instruction
    def add(self, s: Mut[S, ...], other: Ref[S, ...], amount: u64) -> None:
        s.n += amount
        emit(self.Added(n=s.n))
        require(s.n + other.n < 10, self.Full)
"""


def test_what_a_body_did_before_it_failed_is_undone(tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(TOTALS, encoding="utf-8")
    totals = Simulator(tmp_path / "spec.py")
    for key in (ME, STRANGER):
        totals.put_state(key, totals.new_state("S"))
    accounts = {"s": ME, "other": STRANGER}
    assert totals.call("add", accounts=accounts, args={"amount": 9}).error == ""
    refused = totals.call("add", accounts=accounts, args={"amount": 9})
    assert (refused.error, refused.events) == ("Full", ())
    assert totals.state(ME).n == 9
    same = totals.call("add", accounts={"s": ME, "other": ME}, args={"amount": 0})
    assert same.error == "ConstraintDuplicateMutableAccount"


@pytest.mark.parametrize(
    ("authority", "signers", "error"),
    [
        (STRANGER, None, "ConstraintHasOne"),
        (ME, [], "AccountNotSigner"),
        (ME, [STRANGER], "AccountNotSigner"),
    ],
)
def test_the_generated_checks_hold(
    authority: Pubkey,
    signers: list[Pubkey] | None,
    error: str,
    simulator: Simulator,
    counter: Pubkey,
) -> None:
    accounts = {"counter": counter, "authority": authority}
    args = {"amount": 1}
    assert (
        simulator.call("increment", accounts=accounts, args=args, signers=signers).error
        == error
    )
    assert simulator.state(counter).count == 5


def test_accounts_that_are_not_what_they_should_be(
    simulator: Simulator, counter: Pubkey
) -> None:
    again = simulator.call(
        "initialize", accounts={"counter": counter, "authority": ME}, args={"start": 1}
    )
    assert again.error == "AccountDiscriminatorAlreadySet"
    elsewhere = simulator.call(
        "initialize", accounts={"counter": STRANGER, "authority": ME}, args={"start": 1}
    )
    assert elsewhere.error == "ConstraintSeeds"
    missing = simulator.call(
        "increment", accounts={"counter": STRANGER, "authority": ME}, args={"amount": 1}
    )
    assert missing.error == "AccountNotInitialized"
    simulator.put_tokens(STRANGER, mint=ME, owner=ME, amount=1)
    other = simulator.call(
        "increment", accounts={"counter": STRANGER, "authority": ME}, args={"amount": 1}
    )
    assert other.error == "AccountOwnedByWrongProgram"


def test_what_it_cannot_run_is_an_error(
    tmp_path: Path, simulator: Simulator, counter: Pubkey
) -> None:
    with pytest.raises(UnknownName):
        simulator.call("raise", accounts={})
    with pytest.raises(NotUsable, match="'authority' is not given"):
        simulator.call("increment", accounts={"counter": counter}, args={"amount": 1})
    spec = tmp_path / "spec.py"
    spec.write_text(
        "from mcpsol_py.spec import *\n"
        '@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")\n'
        "class P:\n"
        "    class S(Account):\n        n: u64\n"
        "    @instruction\n    def by_hand(self, s: Mut[S, ...]) -> None:\n        '''By hand.'''\n"
        "    @instruction\n    def owned(self, s: Ref[Unchecked, owner('s')]) -> None:\n        return\n",
        encoding="utf-8",
    )
    other = Simulator(spec)
    with pytest.raises(NotUsable, match="written in Rust"):
        other.call("by_hand", accounts={"s": ME})
    with pytest.raises(NotUsable, match="no check for the constraints of s"):
        other.call("owned", accounts={"s": ME})


def test_a_body_runs_only_in_a_simulator() -> None:
    with pytest.raises(RuntimeError, match="simulator"):
        emit(object())

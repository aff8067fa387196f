"""The simulator: accounts, checks, rollback, and what it refuses to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.running import emit
from mcpsol_py.errors import EncodeError, McpsolError, NotUsable, UnknownName
from mcpsol_py.solana import ids
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
        "    @instruction\n    def called(self, s: Ref[ProgramAccount, ...]) -> None:\n        return\n"
        "    @instruction\n    def given(self, s: Ref[Wallet, ...]) -> None:\n        return\n",
        encoding="utf-8",
    )
    other = Simulator(spec)
    with pytest.raises(NotUsable, match="written in Rust"):
        other.call("by_hand", accounts={"s": ME})
    with pytest.raises(NotUsable, match="no check for the constraints of s"):
        other.call("called", accounts={"s": ME})
    assert other.call("given", accounts={"s": ME}).error == ""
    for of_runtime in (ids.TOKEN_PROGRAM, other.address):
        with pytest.raises(NotUsable, match="no check for the owner of a program"):
            other.call("given", accounts={"s": of_runtime})


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "amount"),
        ({"amount": -1}, "amount"),
        ({"amount": 2**64}, "amount"),
        ({"amount": 1.5}, "amount"),
        ({"amount": None}, "amount"),
        ({"amount": 1, "amuont": 2}, "amuont"),
    ],
)
def test_arguments_that_do_not_fit_are_an_error_of_ours(
    args: dict[str, object], why: str, simulator: Simulator, counter: Pubkey
) -> None:
    accounts = {"counter": counter, "authority": ME}
    with pytest.raises(McpsolError, match=why):
        simulator.call("increment", accounts=accounts, args=args)


@pytest.mark.parametrize(
    "args", [{"flag": 1, "mark": bytes(4)}, {"flag": True, "mark": bytes(3)}]
)
def test_flags_and_bytes_that_do_not_fit_are_refused(
    args: dict[str, object], tmp_path: Path
) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text(
        "from mcpsol_py.spec import *\n"
        '@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")\n'
        "class P:\n"
        "    @instruction\n    def go(self, flag: bool, mark: Array[u8, 4]) -> bool:\n        return flag\n",
        encoding="utf-8",
    )
    with pytest.raises(EncodeError):
        Simulator(spec).call("go", accounts={}, args=args)


def test_an_argument_with_a_default_value_may_be_left_out(tmp_path: Path) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text(
        "from mcpsol_py.spec import *\n"
        '@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")\n'
        "class P:\n"
        "    @instruction\n    def add(self, a: u64, b: u64 = u64(5)) -> u64:\n        return a + b\n",
        encoding="utf-8",
    )
    simulator = Simulator(spec)
    assert simulator.call("add", accounts={}, args={"a": 2}).returned == 7
    assert simulator.call("add", accounts={}, args={"a": 2, "b": 3}).returned == 5


def test_a_constant_has_one_value_in_methods_and_helpers(tmp_path: Path) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text(
        "from mcpsol_py.spec import *\n"
        "def most() -> u64:\n    return P.MOST\n"
        '@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")\n'
        "class P:\n    MOST = constant(u64, 7)\n"
        "    @instruction\n    def go(self) -> u64:\n        return P.MOST + self.MOST + most()\n",
        encoding="utf-8",
    )
    assert Simulator(spec).call("go", accounts={}).returned == 21


def test_state_of_no_type_is_an_error(simulator: Simulator) -> None:
    with pytest.raises(UnknownName, match="State"):
        simulator.new_state("Stat")


def test_a_body_runs_only_in_a_simulator() -> None:
    with pytest.raises(RuntimeError, match="simulator"):
        emit(object())


POOL = """\
from mcpsol_py.spec import *
from mcpsol_py.spec import u64


class Stage(Enum):
    Open = variant()
    Over = variant()


class Score(Struct):
    points: u64
    stage: Stage


@program(name="pool", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Pool:
    class State(Account):
        stage: Stage
        best: Score
        heir: COption[Pubkey]

    @instruction
    def end(self, pool: Mut[State, ...], heir: Signer | None, points: u64 | None) -> u64 | None:
        if points is not None:
            pool.best = Score(points=points, stage=pool.stage)
        if heir is not None:
            pool.heir = heir.address
        pool.stage = Stage.Over
        return None if pool.heir is None else pool.best.points
"""


@pytest.fixture
def pool(tmp_path: Path) -> Simulator:
    (tmp_path / "pool.py").write_text(POOL, encoding="utf-8")
    made = Simulator(tmp_path / "pool.py")
    made.put_state(STRANGER, made.new_state("State"))
    return made


def test_new_state_has_the_first_variant_and_no_optional_value(pool: Simulator) -> None:
    state = pool.state(STRANGER)
    assert (str(state.stage), state.best.points, state.heir) == ("Open", 0, None)
    assert str(state.best.stage) == "Open"


def test_what_is_left_out_is_none(pool: Simulator) -> None:
    ended = pool.call("end", accounts={"pool": STRANGER}, args={"points": None})
    assert (ended.error, ended.returned) == ("", None)
    state = pool.state(STRANGER)
    assert (str(state.stage), state.best.points, state.heir) == ("Over", 0, None)
    accounts = {"pool": STRANGER, "heir": ME}
    ended = pool.call("end", accounts=accounts, args={"points": 7})
    assert (ended.returned, pool.state(STRANGER).heir) == (7, ME)
    assert str(pool.state(STRANGER).best.stage) == "Over"


def test_an_optional_signer_signs_if_it_is_there(pool: Simulator) -> None:
    accounts = {"pool": STRANGER, "heir": ME}
    args = {"points": None}
    refused = pool.call("end", accounts=accounts, args=args, signers=[])
    assert refused.error == "AccountNotSigner"
    absent = accounts | {"heir": pool.address}
    assert pool.call("end", accounts=absent, args=args, signers=[]).error == ""


def test_fields_of_state_are_set_in_their_json_form(pool: Simulator) -> None:
    state = pool.state(STRANGER)
    best = {"points": 3, "stage": "Over"}
    pool.set_fields(state, {"stage": "Over", "best": best, "heir": str(ME)})
    assert (state.best.points, state.heir) == (3, ME)
    pool.set_fields(state, {"heir": None})
    assert state.heir is None
    with pytest.raises(UnknownName, match="best"):
        pool.set_fields(state, {"bset": best})

"""Tests of the program. Once it is compiled, each call is made in an SVM too, and compared: `idl2mcp test`."""

from __future__ import annotations

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.testing import ProgramMachine, TwinProgram, spec_near

MAX = 2**64 - 1


@pytest.fixture
def score(program: TwinProgram, wallet: Keypair) -> Pubkey:
    """The score of the wallet, open and empty."""
    opened = program.call("open", accounts={"owner": wallet})
    assert opened.error == ""
    return opened.accounts["score"]


def test_a_new_score_belongs_to_its_wallet(
    program: TwinProgram, wallet: Keypair, score: Pubkey
) -> None:
    assert program.state(score)["owner"] == wallet.pubkey()
    assert program.state(score)["points"] == 0


def test_points_are_added(program: TwinProgram, wallet: Keypair, score: Pubkey) -> None:
    first = program.call("add", accounts={"owner": wallet}, args={"points": 30})
    second = program.call("add", accounts={"owner": wallet}, args={"points": 12})
    assert (first.returned, second.returned) == (30, 42)
    assert second.events[0].fields["points"] == 42
    assert program.state(score)["points"] == 42


def test_a_call_adds_1000_points_at_most(
    program: TwinProgram, wallet: Keypair, score: Pubkey
) -> None:
    assert (
        program.call("add", accounts={"owner": wallet}, args={"points": 1001}).error
        == "TooMany"
    )
    assert program.state(score)["points"] == 0


def test_a_full_score_takes_no_points(
    program: TwinProgram, wallet: Keypair, score: Pubkey
) -> None:
    program.put_state(score, points=MAX)
    assert (
        program.call("add", accounts={"owner": wallet}, args={"points": 1}).error
        == "Full"
    )
    assert program.state(score)["points"] == MAX


def test_a_stranger_adds_nothing(program: TwinProgram, score: Pubkey) -> None:
    stranger = program.wallet("stranger")
    refused = program.call(
        "add", accounts={"score": score, "owner": stranger}, args={"points": 1}
    )
    assert refused.error == "ConstraintHasOne"


def test_a_closed_score_gives_its_rent_back(
    program: TwinProgram, wallet: Keypair, score: Pubkey
) -> None:
    before = program.lamports(wallet) + program.lamports(score)
    assert program.call("close", accounts={"owner": wallet}).error == ""
    assert program.lamports(wallet) == before


class Machine(ProgramMachine):
    """Calls the instructions in any order, as several users, in Python and in the SVM at once."""

    spec = spec_near(__file__)


TestMachine = Machine.TestCase

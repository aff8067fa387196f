"""The pytest plugin: fixtures for the tests of a program that a Python spec describes.

    def test_a_counter_starts_at_its_start(program, wallet):
        made = program.call("initialize", accounts={"authority": wallet}, args={"start": 5})
        assert program.state(made.accounts["counter"])["count"] == 5

The program is the one of the nearest spec.py: in the test's folder, or in a folder above it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from mcpsol_py.testing.svm_program import SvmProgram
    from mcpsol_py.testing.twin import TwinProgram

__all__ = ["REPORT_VARIABLE", "Clock", "clock", "mint", "program", "svm", "wallet"]

#: `idl2mcp test` sets it to a folder, into which each process of a run writes what its tests reached.
REPORT_VARIABLE = "MCPSOL_TEST_REPORT"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("mcpsol", "Solana programs")
    group.addoption(
        "--no-svm",
        action="store_true",
        help="Run bodies in Python only, even if the program is compiled.",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Record what the tests reach, if `idl2mcp test` runs them."""
    folder = os.environ.get(REPORT_VARIABLE)
    if folder is None:
        return (yield)
    from mcpsol_py.testing.project import SPEC
    from mcpsol_py.testing.reached import recording

    with recording(sorted(session.config.rootpath.glob(f"**/{SPEC}"))) as reached:
        try:
            return (yield)
        finally:
            report = Path(folder) / f"{os.getpid()}.json"
            report.write_text(reached.to_json(), encoding="utf-8")


@pytest.fixture
def program(request: pytest.FixtureRequest) -> TwinProgram:
    """The program of the nearest spec.py, with no accounts: in the simulator, and in an SVM if it is compiled."""
    from mcpsol_py.testing.project import compiled_beside, spec_near
    from mcpsol_py.testing.twin import TwinProgram

    spec = spec_near(request.path)
    compiled = None if request.config.getoption("--no-svm") else compiled_beside(spec)
    return TwinProgram(spec, compiled)


@pytest.fixture
def svm(program: TwinProgram) -> SvmProgram:
    """The compiled program in its SVM. The test is skipped if there is no compiled program."""
    if program.svm is None:
        pytest.skip("the program is not compiled: run `idl2mcp build`")
    return program.svm


@pytest.fixture
def wallet(program: TwinProgram) -> Keypair:
    """A wallet with 100 SOL. `program.wallet("bob")` makes others."""
    return program.wallet()


@pytest.fixture
def mint(program: TwinProgram, wallet: Keypair) -> Pubkey:
    """A mint with 6 decimals, whose authority is `wallet`. `program.mint("usd")` makes others."""
    return program.mint(authority=wallet)


class Clock:
    """The clock that the program reads."""

    def __init__(self, program: TwinProgram) -> None:
        self._program = program

    @property
    def unix_timestamp(self) -> int:
        """The time in seconds since 1970."""
        return int(self._program.simulator.time.unix_timestamp)

    @unix_timestamp.setter
    def unix_timestamp(self, seconds: int) -> None:
        self._program.set_clock(unix_timestamp=seconds)

    @property
    def slot(self) -> int:
        """The slot."""
        return int(self._program.simulator.time.slot)

    @slot.setter
    def slot(self, slot: int) -> None:
        self._program.set_clock(slot=slot)


@pytest.fixture
def clock(program: TwinProgram) -> Clock:
    """The clock that the program reads. It stands until a test sets it."""
    return Clock(program)

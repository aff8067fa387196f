from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from mcpsol_py.testing import CallOutcome, Difference, ProgramMachine, turns
from mcpsol_py.testing.reached import recording

REPO = Path(__file__).resolve().parents[3]
MIXED = Path(__file__).with_name("mixed_spec.py")
COUNTER, VAULT = REPO / "programs/counter", REPO / "programs/vault"
SHORT = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


class Vault(ProgramMachine):
    """The vault, with an invariant and a count of how its calls end."""

    spec = VAULT / "spec.py"
    seen: ClassVar[Counter[str]] = Counter()

    def called(self, instruction: str, outcome: CallOutcome) -> None:
        self.seen[f"{instruction} {outcome.error}"] += 1

    @invariant()
    def no_token_appears_or_vanishes(self) -> None:
        held = sum(
            int(account.amount)
            for account in self.program.simulator.ledger.tokens.values()
        )
        assert held == len(self.wallets) * len(self.mints) * 10**6


def test_every_instruction_succeeds_and_is_refused() -> None:
    run_state_machine_as_test(Vault, settings=settings(SHORT, max_examples=40))
    for name in ("initialize", "deposit", "withdraw"):
        assert Vault.seen[f"{name} "] > 0, Vault.seen
        refused = [
            key for key in Vault.seen if key.startswith(f"{name} ") and key[-1] != " "
        ]
        assert refused, Vault.seen


class BrokenInvariant(Vault):
    @invariant()
    def nobody_ever_opens_a_vault(self) -> None:
        assert not self.program.simulator.ledger.states


def test_an_invariant_that_does_not_hold_is_found() -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(BrokenInvariant, settings=SHORT)


class OtherProgram(ProgramMachine):
    """A spec beside another program's file: the sides cannot agree."""

    spec = COUNTER / "spec.py"
    elf = VAULT / "vault.so"


def test_a_program_that_is_not_its_spec_is_found() -> None:
    with pytest.raises(Difference):
        run_state_machine_as_test(OtherProgram, settings=SHORT)


class Mixed(ProgramMachine):
    """A program with a handler in Rust, constraints that the simulator cannot check, and a loop without an end."""

    spec = MIXED


def test_what_the_simulator_cannot_run_is_said_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "MOST_TURNS", 100)
    with recording([MIXED]) as reached, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        few = settings(SHORT, max_examples=10, stateful_step_count=10)
        run_state_machine_as_test(Mixed, settings=few)
    said = "\n".join(reached.skipped)
    assert {f"Mixed leaves out calls: {why}" for why in reached.skipped} == {
        str(each.message) for each in warned
    }
    assert "'in_rust' cannot be used: its handler is written in Rust" in said
    assert (
        "'calls' cannot be used: the simulator has no check for the constraints of it"
        in said
    )
    assert "'long' cannot be used: its loops have more than 300,000 turns" in said
    assert reached.instructions == {"short"}

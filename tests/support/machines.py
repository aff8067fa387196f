"""Run state machines: a few hundred steps, and ten thousand in full runs. Steps are counted, not assumed."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

__all__ = ["FULL", "machine_settings", "run_machine"]

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
_FULL_STEPS = 10_000
#: Hypothesis leaves out a run that equals an earlier one, and ends some early.
_MARGIN = 1.25


def run_machine(
    machine: type[RuleBasedStateMachine], *, steps: int = 400, length: int = 25
) -> int:
    """Run *machine* for at least *steps* steps, 10,000 in a full run. Return how many it took."""
    wanted = _FULL_STEPS if FULL else steps
    counts = {"runs": 0, "checks": 0}

    def begin(self: Any) -> None:
        counts["runs"] += 1
        machine.__init__(self)

    def check(self: Any, *args: Any, **options: Any) -> None:
        counts["checks"] += 1
        machine.check_invariants(self, *args, **options)

    counted = type(
        machine.__name__, (machine,), {"__init__": begin, "check_invariants": check}
    )
    run_state_machine_as_test(
        counted, settings=machine_settings(steps=wanted, length=length)
    )
    # Invariants are checked before the first step, too.
    taken = counts["checks"] - counts["runs"]
    assert taken >= wanted, f"{machine.__name__} took {taken} of {wanted} steps"
    return taken


def machine_settings(*, steps: int, length: int) -> settings:
    """Settings for a machine of about *steps* steps, *length* a run."""
    return settings(
        max_examples=int(steps * _MARGIN / length) + 1,
        stateful_step_count=length,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        # A run makes a chain, so that shrinking would take minutes.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )

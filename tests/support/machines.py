"""How long state machines run: a few hundred steps, and ten thousand in full runs."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

__all__ = ["FULL", "machine_settings"]

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
_FULL_STEPS = 10_000


def machine_settings(*, steps: int = 400, length: int = 25) -> settings:
    """Settings for a machine of about *steps* steps, *length* a run."""
    return settings(
        max_examples=-(-(_FULL_STEPS if FULL else steps) // length),
        stateful_step_count=length,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        # A run makes a chain, so that shrinking would take minutes.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )

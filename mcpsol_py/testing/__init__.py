"""Tools to test programs: run method bodies in Python, call the compiled program, and compare the two.

The fixtures of the pytest plugin are in `mcpsol_py.testing.plugin`; `idl2mcp test` runs tests with it.
"""

from typing import TYPE_CHECKING

from mcpsol_py.lazy_exports import lazy_exports
from mcpsol_py.testing.simulator import Outcome, Simulator

if TYPE_CHECKING:
    from mcpsol_py.testing.call_strategies import CallStrategies, Strategies, strategies
    from mcpsol_py.testing.machine import ProgramMachine
    from mcpsol_py.testing.project import spec_near
    from mcpsol_py.testing.svm_program import Event, SvmOutcome, SvmProgram
    from mcpsol_py.testing.twin import CallOutcome, Difference, TwinProgram

__all__ = [
    "CallOutcome",
    "CallStrategies",
    "Difference",
    "Event",
    "Outcome",
    "ProgramMachine",
    "Simulator",
    "Strategies",
    "SvmOutcome",
    "SvmProgram",
    "TwinProgram",
    "spec_near",
    "strategies",
]

#: Hypothesis and the SVM are imported when they are first needed.
_HOMES = {
    "ProgramMachine": "mcpsol_py.testing.machine",
    "spec_near": "mcpsol_py.testing.project",
    **dict.fromkeys(
        ("CallStrategies", "Strategies", "strategies"),
        "mcpsol_py.testing.call_strategies",
    ),
    **dict.fromkeys(
        ("Event", "SvmOutcome", "SvmProgram"), "mcpsol_py.testing.svm_program"
    ),
    **dict.fromkeys(
        ("CallOutcome", "Difference", "TwinProgram"), "mcpsol_py.testing.twin"
    ),
}
__getattr__ = lazy_exports(__name__, _HOMES)

"""Tools to test programs: a simulator that runs the method bodies of a spec in Python."""

from mcpsol_py.testing.simulator import Outcome, Simulator

__all__ = ["Outcome", "Simulator"]

"""Attacks a compiled program as a stranger would: every attack that the constraints of its spec admit, on a LiteSVM.

docs/attack.md lists the attacks and shows how to write a scenario file.
"""

from mcpsol_py.attack.run import Report, Result, attack_program
from mcpsol_py.attack.sandbox import Call, Scene

__all__ = ["Call", "Report", "Result", "Scene", "attack_program"]

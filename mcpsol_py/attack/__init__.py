"""Attacks a compiled program as strangers would: every attack that the constraints of its spec admit, in an SVM of its
own. docs/attack.md says what each of them is, and how a scenario file is written."""

from mcpsol_py.attack.run import Report, Result, attack_program
from mcpsol_py.attack.sandbox import Call, Scene

__all__ = ["Call", "Report", "Result", "Scene", "attack_program"]

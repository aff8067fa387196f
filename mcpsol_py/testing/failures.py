"""The name of the error by which a transaction failed in an SVM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcpsol_py.client.error_tables import ANCHOR_ERRORS, BUILTIN_ERRORS
from mcpsol_py.client.svm import error_json
from mcpsol_py.program import Program

__all__ = ["failure_name"]

#: A rendered program logs `Name (6000)`; Anchor has a sentence of its own.
_LOGGED = re.compile(r"^Program log: (\w+) \(\d+\)|Error Code: (\w+)\.")
_CODED = re.compile(
    r"^Program (\w{32,44}) failed: custom program error: 0x([0-9a-f]+)$"
)


def failure_name(program: Program, error: object, logs: Sequence[str]) -> str:
    """Return the name that the program or a called program gives to its error, else the SVM's own name."""
    for line in logs:
        logged = _LOGGED.search(line)
        if logged is not None:
            return logged[1] or logged[2]
    for line in logs:
        coded = _CODED.match(line)
        if coded is not None:
            return _named(program, coded[1], int(coded[2], 16))
    found = error_json(error)
    if isinstance(found, dict) and "InstructionError" in found:
        found = found["InstructionError"][1]
    if isinstance(found, dict) and "Custom" not in found:
        return next(iter(found))  # what comes with it is an index
    return str(found)


def _named(program: Program, address: str, code: int) -> str:
    """Return the name of an error code of the program at *address*: its own, Anchor's or a built-in program's."""
    own = {error.code: error.name for error in program.errors}
    names = BUILTIN_ERRORS.get(address, {**ANCHOR_ERRORS, **own})
    return names.get(code, f"Custom({code})")

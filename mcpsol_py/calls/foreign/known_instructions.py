"""Instructions of common programs, read without an IDL: those of the runtime and of SPL, memos, and guards."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from mcpsol_py.errors import McpsolError
from mcpsol_py.program import Program
from mcpsol_py.solana.ids import (
    ASSOCIATED_TOKEN_PROGRAM,
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    PROGRAM_NAMES,
)
from mcpsol_py.sources.well_known import well_known_at

__all__ = ["read_known"]

#: Assertions at the end of what the bridge signs (calls/guard.py): the transaction fails if one does not hold.
_GUARDS = (GUARD_PROGRAM, LIGHTHOUSE_PROGRAM)
_GUARD = {3: "assert_account_data_multi", 6: "assert_account_info_multi"}
_LONGEST_MEMO = 600

KnownInstruction: TypeAlias = tuple[str, dict[str, Any], tuple[str, ...]]


def read_known(program_id: str, data: bytes) -> KnownInstruction | None:
    """Return an instruction's name, its arguments in JSON form and the names of its accounts.

    None means that its program is not described, or has no such instruction. The text of a memo is not cleaned.
    """
    if PROGRAM_NAMES.get(program_id) == "Memo":
        return "memo", {"text": data.decode("utf-8", "replace")[:_LONGEST_MEMO]}, ()
    if program_id in _GUARDS:
        name = _GUARD.get(data[0]) if data else None
        return None if name is None else (name, {}, ("target_account",))
    if program_id == ASSOCIATED_TOKEN_PROGRAM:
        data = data or b"\0"  # its first instruction may have no data
    program = _described(program_id)
    return None if program is None else _read(program, data)


@cache
def _described(program_id: str) -> Program | None:
    model = well_known_at(program_id)
    return None if model is None else Program(model)


def _read(program: Program, data: bytes) -> KnownInstruction | None:
    try:
        reading = program.read_instruction(data)
    except McpsolError:
        return None
    if reading.missing:
        return None
    return (
        reading.name,
        reading.json(),
        tuple(program.instruction(reading.name).accounts),
    )

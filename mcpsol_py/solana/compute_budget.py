"""Instructions of the Compute Budget program, and the runtime's limits of compute units."""

from __future__ import annotations

from collections.abc import Iterable

from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import Instruction

from mcpsol_py.solana.addresses import COMPUTE_BUDGET

__all__ = [
    "DEFAULT_UNITS",
    "MAX_UNITS",
    "PRICE",
    "UNITS",
    "budget_settings",
    "compute_budget",
    "compute_unit_limit",
    "compute_unit_price",
    "sets_fee",
]

#: The most compute units that a transaction can ask for.
MAX_UNITS = 1_400_000
#: The compute units of each instruction in a transaction that asks for none.
DEFAULT_UNITS = 200_000
#: Settings of a transaction by the instruction that sets them. Each may be set once.
UNITS, PRICE = "compute unit limit", "compute unit price"
#: Settings by the first byte of the data.
_SETTINGS = {
    b"\1": "heap size",
    b"\2": UNITS,
    b"\3": PRICE,
    b"\4": "limit of loaded account data",
}


def budget_settings(instructions: Iterable[Instruction]) -> list[str]:
    """Return the settings that the Compute Budget instructions among *instructions* make, in order."""
    own = [bytes(ix.data[:1]) for ix in instructions if ix.program_id == COMPUTE_BUDGET]
    return [_SETTINGS[tag] for tag in own if tag in _SETTINGS]


def compute_unit_limit(units: int) -> Instruction:
    """Return SetComputeUnitLimit: tag 2, u32."""
    return set_compute_unit_limit(units)


def compute_unit_price(micro_lamports: int) -> Instruction:
    """Return SetComputeUnitPrice: tag 3, u64 micro-lamports for each compute unit."""
    return set_compute_unit_price(micro_lamports)


def sets_fee(instruction: Instruction) -> bool:
    """Return whether *instruction* is SetComputeUnitLimit or SetComputeUnitPrice."""
    return instruction.program_id == COMPUTE_BUDGET and bytes(instruction.data[:1]) in (
        b"\2",
        b"\3",
    )


def compute_budget(units: int | None, price: int | None) -> list[Instruction]:
    """Return the instructions for a limit of *units* and a *price* in micro-lamports a unit.

    A value of None leaves its instruction out.
    """
    instructions = []
    if units is not None:
        instructions.append(compute_unit_limit(units))
    if price is not None:
        instructions.append(compute_unit_price(price))
    return instructions

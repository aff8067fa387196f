"""Fees of transactions: what each signature costs, and the priority fee."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpsol_py.solana.addresses import COMPUTE_BUDGET
from mcpsol_py.solana.compute_budget import DEFAULT_UNITS, MAX_UNITS

if TYPE_CHECKING:  # older solders have no MessageV1
    from solders.message import Message, MessageV0, MessageV1

__all__ = [
    "LAMPORTS_PER_SIGNATURE",
    "LAMPORTS_PER_SOL",
    "fee_lamports",
    "priority_fee",
    "priority_lamports",
    "total_fee",
]

LAMPORTS_PER_SIGNATURE = 5_000
LAMPORTS_PER_SOL = 10**9
#: Tag and length of SetComputeUnitLimit and SetComputeUnitPrice.
_SET_LIMIT, _SET_PRICE = (2, 5), (3, 9)


def priority_fee(units: int, price: int | None) -> int:
    """Return the lamports for *units* compute units at *price* micro-lamports each, rounded up."""
    return -(-units * (price or 0) // 10**6)


def fee_lamports(message: Message | MessageV0 | MessageV1) -> int:
    """Return the fee of a transaction: its signatures and its priority."""
    keys, instructions = message.account_keys, message.instructions
    settings = [
        ix.data for ix in instructions if keys[ix.program_id_index] == COMPUTE_BUDGET
    ]
    budget = {
        (data[0], len(data)): int.from_bytes(data[1:], "little")
        for data in settings
        if data
    }
    default_units = min(DEFAULT_UNITS * len(instructions), MAX_UNITS)
    units = budget.get(_SET_LIMIT, default_units)
    return total_fee(
        message.header.num_required_signatures, units, budget.get(_SET_PRICE)
    )


def priority_lamports(message: Message | MessageV0 | MessageV1) -> int:
    """Return the part of a transaction's fee above its signatures."""
    return (
        fee_lamports(message)
        - LAMPORTS_PER_SIGNATURE * message.header.num_required_signatures
    )


def total_fee(signatures: int, units: int, price: int | None) -> int:
    """Return the fee of a transaction with this many signatures: see `priority_fee` for the rest."""
    return signatures * LAMPORTS_PER_SIGNATURE + priority_fee(units, price)

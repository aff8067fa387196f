"""Fees of transactions: what each signature costs, and the priority fee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpsol_py.solana.addresses import COMPUTE_BUDGET
from mcpsol_py.solana.compute_budget import DEFAULT_UNITS, MAX_UNITS

if TYPE_CHECKING:  # older solders have no MessageV1
    from solders.instruction import CompiledInstruction
    from solders.message import Message, MessageV0, MessageV1
    from solders.pubkey import Pubkey

__all__ = [
    "LAMPORTS_PER_SIGNATURE",
    "LAMPORTS_PER_SOL",
    "fee_lamports",
    "fee_of",
    "priority_fee",
    "priority_lamports",
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
    signatures = message.header.num_required_signatures
    return fee_of(message.account_keys, message.instructions, signatures)


def priority_lamports(message: Message | MessageV0 | MessageV1) -> int:
    """Return the part of a transaction's fee above its signatures."""
    return fee_lamports(message) - LAMPORTS_PER_SIGNATURE * message.header.num_required_signatures


def fee_of(
    keys: Sequence[Pubkey], instructions: Sequence[CompiledInstruction], signatures: int
) -> int:
    """Return the fee of a transaction whose message was taken apart, as `fee_lamports` does."""
    settings = [ix.data for ix in instructions if keys[ix.program_id_index] == COMPUTE_BUDGET]
    budget = {(data[0], len(data)): int.from_bytes(data[1:], "little") for data in settings if data}
    default_units = min(DEFAULT_UNITS * len(instructions), MAX_UNITS)
    units = budget.get(_SET_LIMIT, default_units)
    return signatures * LAMPORTS_PER_SIGNATURE + priority_fee(units, budget.get(_SET_PRICE))

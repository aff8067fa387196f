"""The fee of a transaction, and the highest fee that a sponsor pays for a payment.

The payer chooses limit and price of compute, and the sponsor pays for them. So the fee is limited
by a share of what the payment is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from solders.message import Message, MessageV0, MessageV1

from mcpsol_py.solana.ids import NATIVE_MINT
from mcpsol_py.x402.exact.transaction import COMPUTE_BUDGET
from mcpsol_py.x402.protocol.networks import DEFAULT_ASSETS

__all__ = ["FeeLimit", "fee_lamports", "priority_fee"]

LAMPORTS_PER_SIGNATURE = 5_000
LAMPORTS_PER_SOL = 10**9
#: Compute units of a transaction that sets no limit: so many for each instruction, to a maximum.
_UNITS_PER_INSTRUCTION, _MOST_UNITS = 200_000, 1_400_000
_SET_LIMIT, _SET_PRICE = (2, 5), (3, 9)
#: The decimals of stablecoins by mint.
_STABLECOINS = {a.mint: a.decimals for assets in DEFAULT_ASSETS.values() for a in assets}


@dataclass(frozen=True, slots=True)
class FeeLimit:
    """The highest fee of a payment: *share* of its worth, but at least *least_lamports*.

    *least_lamports* is the fee of two signatures with a little for priority, which every payment
    costs. It is also the limit for a token whose worth is not known. The worth of SOL is only for
    this comparison.
    """

    share: Fraction = Fraction(1, 4)
    dollars_per_sol: int = 200
    least_lamports: int = 2 * LAMPORTS_PER_SIGNATURE + 1_000

    def most(self, mint: str, amount: int) -> int:
        """Return the limit in lamports for a payment of *amount* base units of *mint*."""
        return max(self.least_lamports, self._share_of(mint, amount))

    def _share_of(self, mint: str, amount: int) -> int:
        share = self.share  # whole numbers only: arithmetic of Fraction takes longer than the rest
        if mint == NATIVE_MINT:
            return amount * share.numerator // share.denominator
        decimals = _STABLECOINS.get(mint)
        if decimals is None:
            return 0
        base_units_per_sol: int = 10**decimals * self.dollars_per_sol
        return (
            amount * LAMPORTS_PER_SOL * share.numerator // (base_units_per_sol * share.denominator)
        )


def priority_fee(units: int, micro_lamports: int) -> int:
    """Return the lamports for *units* compute units at a price for each."""
    return -(-units * micro_lamports // 10**6)


def fee_lamports(message: Message | MessageV0 | MessageV1) -> int:
    """Return the fee of a transaction: its signatures and its priority."""
    keys, instructions = message.account_keys, message.instructions
    budget = {
        (ix.data[0], len(ix.data)): int.from_bytes(ix.data[1:], "little")
        for ix in instructions
        if ix.data and keys[ix.program_id_index] == COMPUTE_BUDGET
    }
    default_units = min(_UNITS_PER_INSTRUCTION * len(instructions), _MOST_UNITS)
    units = budget.get(_SET_LIMIT, default_units)
    signatures = message.header.num_required_signatures * LAMPORTS_PER_SIGNATURE
    return signatures + priority_fee(units, budget.get(_SET_PRICE, 0))

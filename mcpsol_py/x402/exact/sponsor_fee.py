"""The highest fee that a sponsor pays for a payment.

The payer chooses limit and price of compute, and the sponsor pays for them. So the fee is limited
by a share of what the payment is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE, LAMPORTS_PER_SOL
from mcpsol_py.solana.ids import NATIVE_MINT
from mcpsol_py.x402.protocol.networks import DEFAULT_ASSETS

__all__ = ["FeeLimit", "check_fee"]

#: The decimals of stablecoins by mint.
_STABLECOINS = {
    a.mint: a.decimals for assets in DEFAULT_ASSETS.values() for a in assets
}


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
        # Whole numbers only: arithmetic of Fraction takes longer than the rest.
        share = self.share
        if mint == NATIVE_MINT:
            return amount * share.numerator // share.denominator
        decimals = _STABLECOINS.get(mint)
        if decimals is None:
            return 0
        base_units_per_sol: int = 10**decimals * self.dollars_per_sol
        return (
            amount
            * LAMPORTS_PER_SOL
            * share.numerator
            // (base_units_per_sol * share.denominator)
        )


def check_fee(fee: int, most: int, code: str) -> None:
    """Raise PaymentError(*code*) if a transaction's *fee* is above *most* lamports."""
    if fee > most:
        raise PaymentError(
            code,
            f"a fee of {fee:,} lamports; the sponsor pays at most {most:,} for this payment",
        )

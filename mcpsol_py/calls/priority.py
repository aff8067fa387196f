"""Priority fees: what a transaction pays above its signatures to land sooner, within a limit.

A price is micro-lamports for each compute unit that the transaction asks for. "auto" is what others paid recently.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.transactions import compile_message, with_budget, with_headroom
from mcpsol_py.client.simulation import run_transaction, unsigned
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import InvalidTransaction
from mcpsol_py.solana.compute_budget import MAX_UNITS
from mcpsol_py.solana.fees import priority_fee

__all__ = [
    "MOST_LAMPORTS",
    "NO_PRIORITY",
    "Price",
    "PriorityFee",
    "budget_of",
    "prioritized",
    "written_by",
]

#: The limit for a transaction's priority fee, if no other is given: 0.001 SOL.
MOST_LAMPORTS = 1_000_000

#: Micro-lamports for each compute unit, or "auto".
Price = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class PriorityFee:
    """A price, or None for no priority fee. `most` is the limit in lamports for one transaction."""

    price: Price | None = None
    most: int = MOST_LAMPORTS

    async def price_for(
        self, transport: Transport, written: Collection[Pubkey], units: int
    ) -> int | None:
        """Return the price for a transaction that asks for *units* and writes to the accounts *written*.

        A price of "auto" is lowered to the limit. Raises InvalidTransaction if another price exceeds it.
        """
        if self.price != "auto":
            self.check(priority_fee(units, self.price))
            return self.price
        fees = sorted(await transport.priority_fees(sorted(written, key=bytes))) or [0]
        upper_quartile = fees[len(fees) * 3 // 4]
        return min(upper_quartile, self.most * 10**6 // units)

    def check(self, lamports: int) -> None:
        """Raise InvalidTransaction if a priority fee of *lamports* exceeds the limit."""
        if lamports > self.most:
            raise InvalidTransaction(
                f"its priority fee would be {lamports:,} lamports, and the limit is {self.most:,}. "
                "Choose a lower price, or raise the limit"
            )


NO_PRIORITY = PriorityFee()


def written_by(instructions: Sequence[Instruction]) -> set[Pubkey]:
    """Return the accounts that *instructions* lock for writing: their fees compete with each other."""
    metas = [meta for instruction in instructions for meta in instruction.accounts]
    return {meta.pubkey for meta in metas if meta.is_writable}


@dataclass(frozen=True, slots=True)
class Budget:
    """The compute units that a transaction asks for, and its price for each."""

    units: int
    price: int


async def budget_of(
    transport: Transport,
    payer: Pubkey,
    instructions: Sequence[Instruction],
    fee: PriorityFee,
    *,
    tables: Sequence[AddressLookupTableAccount] = (),
) -> Budget | None:
    """Return the budget with which *instructions* pay *fee*, by the units that a simulation takes.

    None without a fee, and if the simulation fails: the transaction is simulated again, and then the failure is
    explained. Raises InvalidTransaction, TransactionTooLarge, TransportError.
    """
    if fee.price is None:
        return None
    trial = compile_message(
        payer, with_budget(instructions, MAX_UNITS, 0), Hash.default(), tables
    )
    outcome = await run_transaction(transport, unsigned(trial))
    if outcome.err is not None:
        return None
    units = with_headroom(outcome.units or MAX_UNITS)
    price = await fee.price_for(transport, written_by(instructions), units)
    return None if price is None else Budget(units, price)


async def prioritized(prepared: PreparedCall, fee: PriorityFee) -> PreparedCall:
    """Return *prepared* with the budget of *fee*. Raises as `budget_of`."""
    transport = prepared.served.transport
    if transport is None or prepared.payer is None:
        return prepared
    budget = await budget_of(transport, prepared.payer, prepared.body, fee)
    if budget is None:
        return prepared
    return replace(prepared, units=budget.units, price=budget.price)

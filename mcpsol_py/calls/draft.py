"""Drafting a transaction from instructions: lookup tables, compute budget and fee, without blockhash and signatures.

Compute units and fees that are given as "auto" are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey

from mcpsol_py.calls.simulate import simulate_instructions
from mcpsol_py.calls.transactions import (
    compile_message,
    nonce_account_of,
    read_lookup_tables,
    with_budget,
    with_headroom,
)
from mcpsol_py.client.errors import Errors, explain
from mcpsol_py.client.simulation import Payers
from mcpsol_py.client.transport import Transport
from mcpsol_py.solana.compute_budget import DEFAULT_UNITS, MAX_UNITS

__all__ = ["Amount", "TransactionDraft", "draft_transaction"]

#: A number, "auto" to measure it, or None to leave it out.
Amount = int | Literal["auto"] | None


@dataclass(frozen=True, slots=True)
class TransactionDraft:
    """Instructions with their compute budget, and who pays for them."""

    payer: Pubkey
    instructions: Sequence[Instruction]
    tables: Sequence[AddressLookupTableAccount] = ()
    legacy: bool = False

    @property
    def nonce_account(self) -> Pubkey | None:
        """The nonce account that the first instruction advances, or None."""
        return nonce_account_of(self.instructions)

    def message(self, blockhash: Hash) -> Message | MessageV0:
        """Return the message to sign. Raises TransactionTooLarge, InvalidTransaction."""
        return compile_message(
            self.payer, self.instructions, blockhash, self.tables, legacy=self.legacy
        )


async def draft_transaction(
    transport: Transport,
    instructions: Sequence[Instruction],
    payer: Pubkey,
    *,
    lookup_tables: Sequence[Pubkey | str] = (),
    compute_units: Amount = None,
    priority_fee: Amount = None,
    legacy: bool = False,
    own: Errors | None = None,
) -> TransactionDraft:
    """Return *instructions* as a draft. *own* has the errors of programs, by number.

    Raises ProgramFailed if ``compute_units="auto"`` shows that it would fail, AccountNotFound for a lookup table,
    InvalidTransaction, TransportError.
    """
    tables = await read_lookup_tables(transport, lookup_tables)
    price = priority_fee
    if price == "auto":
        price = await _recent_fee(transport, instructions)
    units = compute_units
    if units == "auto":
        trial = with_budget(instructions, MAX_UNITS, price)
        units = await _measured_units(transport, trial, payer, tables, own)
    return TransactionDraft(payer, with_budget(instructions, units, price), tables, legacy)


async def _measured_units(
    transport: Transport,
    instructions: Sequence[Instruction],
    payer: Pubkey,
    tables: Sequence[AddressLookupTableAccount],
    own: Errors | None,
) -> int:
    outcome = await simulate_instructions(
        transport, instructions, Payers(option=payer), tables=tables
    )
    failed = explain(outcome, programs=[ix.program_id for ix in instructions], own=own)
    if failed is not None:
        raise failed
    return with_headroom(outcome.units or DEFAULT_UNITS)  # some nodes do not count them


async def _recent_fee(transport: Transport, instructions: Sequence[Instruction]) -> int:
    """Return the upper quartile of recent fees for the accounts that would be locked for writing."""
    metas = [meta for instruction in instructions for meta in instruction.accounts]
    writable = {meta.pubkey for meta in metas if meta.is_writable}
    fees = sorted(await transport.priority_fees(sorted(writable, key=bytes))) or [0]
    return fees[len(fees) * 3 // 4]

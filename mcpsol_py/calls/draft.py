"""Drafting a transaction from instructions: lookup tables, compute budget and fee, without blockhash and signatures.

Compute units and fees that are given as "auto" are measured. A fee that is measured has a limit (see `priority`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey

from mcpsol_py.calls.priority import PriorityFee, written_by
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
from mcpsol_py.errors import InvalidTransaction
from mcpsol_py.solana.compute_budget import (
    DEFAULT_UNITS,
    MAX_UNITS,
    PRICE,
    UNITS,
    budget_settings,
)

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
    _check_set_once(instructions, {UNITS: compute_units, PRICE: priority_fee})
    tables = await read_lookup_tables(transport, lookup_tables)
    units = compute_units
    if units == "auto":
        given = None if priority_fee == "auto" else priority_fee
        trial = with_budget(instructions, MAX_UNITS, given)
        units = await _measured_units(transport, trial, payer, tables, own)
    price = priority_fee
    if price == "auto":
        written = written_by(instructions)
        price = await PriorityFee("auto").price_for(
            transport, written, units or MAX_UNITS
        )
    return TransactionDraft(
        payer, with_budget(instructions, units, price), tables, legacy
    )


def _check_set_once(
    instructions: Sequence[Instruction], given: Mapping[str, Amount]
) -> None:
    """Raise InvalidTransaction for a number that an instruction sets too. The measured value gives way to it."""
    own = budget_settings(instructions)
    for setting, amount in given.items():
        if setting in own and isinstance(amount, int):
            raise InvalidTransaction(
                f"the {setting} is given as {amount:,}, and an instruction sets it too; leave out one of them"
            )


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

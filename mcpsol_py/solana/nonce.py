"""Durable nonces: the account that holds one, and the instruction that advances it.

A transaction whose first instruction is AdvanceNonceAccount, and whose blockhash is the nonce that the account holds,
does not expire with a block height. It can land until the nonce is advanced, by itself or by another transaction.

Layout of a nonce account (solana-nonce, 80 bytes): version u32, state u32 (1 = initialized), authority 32 bytes,
nonce 32 bytes, lamports per signature u64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solders.hash import Hash
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import SYSTEM_PROGRAM

if TYPE_CHECKING:
    from solders.account import Account
    from solders.message import VersionedMessage

__all__ = ["NonceAccount", "advanced_by", "advanced_first", "read_nonce"]

_SIZE = 80
_INITIALIZED = (1).to_bytes(4, "little")
#: SystemInstruction::AdvanceNonceAccount
_ADVANCE = (4).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class NonceAccount:
    """An initialized nonce account: who may advance the nonce, and its present value."""

    authority: Pubkey
    value: Hash


def read_nonce(account: Account | None) -> NonceAccount | None:
    """Return the nonce account in *account*, or None if it is something else or does not exist."""
    if account is None or account.owner != SYSTEM_PROGRAM:
        return None
    data = bytes(account.data)
    if len(data) != _SIZE or data[4:8] != _INITIALIZED:
        return None
    return NonceAccount(Pubkey.from_bytes(data[8:40]), Hash.from_bytes(data[40:72]))


def advanced_by(instruction: Instruction) -> Pubkey | None:
    """Return the nonce account that *instruction* advances, or None if it is another instruction."""
    if instruction.program_id != SYSTEM_PROGRAM or bytes(instruction.data)[:4] != _ADVANCE:
        return None
    return instruction.accounts[0].pubkey if instruction.accounts else None


def advanced_first(message: VersionedMessage) -> Pubkey | None:
    """Return the nonce account that the first instruction of *message* advances, or None."""
    if not message.instructions:
        return None
    first, keys = message.instructions[0], message.account_keys
    accounts = list(first.accounts)
    if not accounts or max(first.program_id_index, accounts[0]) >= len(keys):
        return None
    is_advance = (
        keys[first.program_id_index] == SYSTEM_PROGRAM and bytes(first.data)[:4] == _ADVANCE
    )
    return keys[accounts[0]] if is_advance else None

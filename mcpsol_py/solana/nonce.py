"""Durable nonces: the account that holds one, and the instruction that advances it.

A transaction does not expire with a block height if its first instruction is AdvanceNonceAccount and its blockhash is
the nonce in that account. It can land until the nonce is advanced, by itself or by another transaction.

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
    if not _is_advance(instruction.program_id, instruction.data):
        return None
    return next((meta.pubkey for meta in instruction.accounts), None)


def advanced_first(message: VersionedMessage) -> Pubkey | None:
    """Return the nonce account that the first instruction of *message* advances, or None."""
    first = next(iter(message.instructions), None)
    if first is None:
        return None
    keys = dict(enumerate(message.account_keys))
    if not _is_advance(keys.get(first.program_id_index), first.data):
        return None
    nonce_index = next(iter(first.accounts), -1)
    return keys.get(nonce_index)


def _is_advance(program_id: Pubkey | None, data: bytes) -> bool:
    return program_id == SYSTEM_PROGRAM and bytes(data[:4]) == _ADVANCE

"""A small transaction that any chain runs."""

from __future__ import annotations

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

__all__ = ["transfer_with"]


def transfer_with(blockhash: Hash, payer: Keypair) -> VersionedTransaction:
    """A transfer of one lamport from *payer* to itself, with that blockhash."""
    move = transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=payer.pubkey(), lamports=1)
    )
    return VersionedTransaction(
        MessageV0.try_compile(payer.pubkey(), [move], [], blockhash), [payer]
    )

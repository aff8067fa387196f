"""Signing and sending, once: the bytes that were simulated are the bytes that are signed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.transactions import sign
from mcpsol_py.program_client import ProgramClient

__all__ = ["send_signed", "submit"]


async def send_signed(prepared: PreparedCall, keys: Sequence[Keypair]) -> str:
    """Signs with *keys*, sends and waits. The signature. Raises as `submit`, and MissingSigner."""
    transport = prepared.served.transport
    assert transport is not None
    recent = await transport.latest_blockhash()
    transaction = sign(prepared.message(recent.value), keys)
    return await submit(prepared, transaction, recent.last_valid_block_height)


async def submit(
    prepared: PreparedCall,
    transaction: VersionedTransaction,
    last_valid_block_height: int,
    handed_in: Callable[[], Awaitable[None]] | None = None,
) -> str:
    """Hands a signed transaction in, once, and waits until it is confirmed, has failed or can no longer land.

    *handed_in* is awaited once the node has it. Raises ProgramFailed, TransportError (it was not handed in),
    SendUnknown (whether it landed is not known).
    """
    served = prepared.served
    assert served.transport is not None
    client = ProgramClient(served.program, served.transport, prepared.instruction.program_id)
    signature = await client.send_transaction(
        transaction, last_valid_block_height=last_valid_block_height, handed_in=handed_in
    )
    return str(signature)

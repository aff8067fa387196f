"""Signing and sending, once: the bytes that were simulated are the bytes that are signed."""

from __future__ import annotations

from collections.abc import Sequence

from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from mcpsol_py.bridge.calls import Prepared
from mcpsol_py.client.errors import explain
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import SendUnknown

__all__ = ["send_signed", "submit"]

#: seconds between looks at a signature
_LOOK_AGAIN = 1.0


async def send_signed(prepared: Prepared, keys: Sequence[Keypair]) -> str:
    """Signs with *keys* (one for each signer, in order), sends and waits. The signature.

    Raises ProgramFailed, TransportError (nothing was sent), SendUnknown (whether it landed is not known).
    """
    transport = prepared.served.transport
    assert transport is not None
    blockhash = await transport.latest_blockhash()
    message = prepared.message(blockhash.value)
    transaction = VersionedTransaction(message, list(keys))
    return await submit(prepared, transport, transaction, blockhash.last_valid_block_height)


async def submit(
    prepared: Prepared, transport: Transport, transaction: VersionedTransaction, last_valid_block_height: int
) -> str:
    """Hands a signed transaction in, once, and waits until it is confirmed, has failed or can no longer land."""
    signature = transaction.signatures[0]
    _, refused = await transport.send(transaction)
    if refused is not None:
        raise _failure(prepared, refused)
    while True:
        status = await transport.status(signature)
        if status is not None and status.err is not None:
            landed = await transport.transaction(signature)
            raise _failure(prepared, landed or Outcome(err=status.err))
        if status is not None and status.confirmed:
            return str(signature)
        if await transport.block_height() > last_valid_block_height:
            raise SendUnknown(str(signature), "its blockhash has expired and the node does not show it")
        await transport.sleep(_LOOK_AGAIN)


def _failure(prepared: Prepared, outcome: Outcome) -> Exception:
    program = prepared.served.program
    failure = explain(
        outcome,
        programs=[prepared.instruction.program_id],
        own={str(prepared.instruction.program_id): program.error},
    )
    assert failure is not None
    return failure

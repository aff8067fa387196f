"""Lets the time of a LiteSVM pass: a block every 0.4 seconds, and the clock that programs read."""

from __future__ import annotations

import asyncio
import time

from mcpsol_py.client.svm import SvmTransport

__all__ = ["BLOCK_SECONDS", "produce_blocks"]

#: Solana's target for the time of a slot.
BLOCK_SECONDS = 0.4


async def produce_blocks(transport: SvmTransport) -> None:
    """Make blocks until cancelled.

    A clock that was set goes on from there; one that was not starts at the time of this machine.
    """
    if transport.unix_time == 0:
        transport.set_time(int(time.time()))
    started, blocks, seconds = time.monotonic(), 0, 0
    while True:
        await asyncio.sleep(BLOCK_SECONDS)
        elapsed = time.monotonic() - started
        new_blocks, new_seconds = (
            int(elapsed / BLOCK_SECONDS) - blocks,
            int(elapsed) - seconds,
        )
        if new_seconds:
            transport.set_time(transport.unix_time + new_seconds)
        if new_blocks:
            transport.new_block(new_blocks)
        blocks, seconds = blocks + new_blocks, seconds + new_seconds

"""Blocks and time of an embedded chain while it is served."""

from __future__ import annotations

import asyncio
import time

import pytest

from mcpsol_py import SvmTransport
from mcpsol_py.client import svm_blocks
from mcpsol_py.client.svm_blocks import produce_blocks
from mcpsol_py.client.transport import run


async def for_a_while(chain: SvmTransport, seconds: float) -> None:
    blocks = asyncio.create_task(produce_blocks(chain))
    await asyncio.sleep(seconds)
    blocks.cancel()
    await asyncio.gather(blocks, return_exceptions=True)


async def test_blocks_and_the_clock_move_with_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(svm_blocks, "BLOCK_SECONDS", 0.05)
    chain = SvmTransport()
    before, height = chain.current_slot, run(chain.block_height())
    hashes = {run(chain.latest_blockhash()).value}
    started = time.monotonic()
    await for_a_while(chain, 1.3)
    elapsed = time.monotonic() - started
    hashes.add(run(chain.latest_blockhash()).value)
    made = chain.current_slot - before
    assert len(hashes) == 2
    assert 10 <= made <= elapsed / 0.05 + 1
    assert run(chain.block_height()) == height + made
    assert time.time() - elapsed - 2 <= chain.unix_time <= time.time()


async def test_a_clock_that_was_set_goes_on_from_there() -> None:
    chain = SvmTransport()
    chain.set_time(1_000)
    started = time.monotonic()
    await for_a_while(chain, 1.5)
    assert 1_001 <= chain.unix_time <= 1_000 + time.monotonic() - started

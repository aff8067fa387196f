"""The worker turns vouchers into money: as a job, by two workers at once, once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.worker import PeriodicJobs, Worker, add_vouchers
from tests.support.x402_channels import buyers, endpoint
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld


async def test_the_worker_redeems_vouchers_once(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'shop.db'}")
    shop = BatchShop(ChannelWorld(program=OURS), database)
    for buyer in buyers(shop, 2):
        await buyer.pay()
    jobs = PeriodicJobs()
    add_vouchers(
        jobs,
        redeeming=[(shop.scheme, endpoint(shop), shop.world.chain)],
        tidying=[(shop.desk, shop.sponsored)],
        every=0,
    )
    assert [job.name for job in jobs] == ["vouchers", "channels"]
    done = await asyncio.gather(*(Worker(database, jobs).run_once() for _ in range(2)))
    await Worker(database, jobs).run_once()
    assert shop.world.held[1] == 2_000
    assert sum(one.get("vouchers", 0) for one in done) == 4_000  # claimed, and paid out
    database.close()

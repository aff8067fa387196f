"""Run the jobs of one or more merchants on one database and one cluster (`idl2mcp x402 worker`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

if TYPE_CHECKING:
    from httpx import AsyncClient
    from solders.keypair import Keypair

    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.worker import PeriodicJobs

__all__ = ["jobs_for", "run_worker"]


async def run_worker(
    database: Database,
    chain: PaymentChain | None,
    collector: Keypair | None,
    merchants: Sequence[str],
    *,
    once: bool,
    queue: str | None = None,
) -> dict[str, int]:
    """Run until SIGINT or SIGTERM, or run each job *once* and return what each did.

    *collector* signs charges; without it, nothing is charged. *queue* is the PostgreSQL database of procrastinate's
    queue; without it, workers take turns through the payments' database.
    """
    import httpx

    from mcpsol_py.bridge.signals import on_stop_signal
    from mcpsol_py.client.bounded import NO_PROXY_HERE
    from mcpsol_py.x402.worker import Worker, run_on_procrastinate

    stop, done = asyncio.Event(), dict[str, int]()
    async with httpx.AsyncClient(mounts=NO_PROXY_HERE) as client:
        several = [
            (
                m,
                await anyio.to_thread.run_sync(
                    jobs_for, database, chain, collector, m, client
                ),
            )
            for m in merchants
        ]
        if once:
            for merchant, jobs in several:
                for name, count in (
                    await Worker(database, jobs, tenant=merchant).run_once(
                        all_jobs=True
                    )
                ).items():
                    done[f"{merchant}:{name}"] = count
            return done
        with on_stop_signal(stop.set):
            if queue is not None:
                await asyncio.gather(
                    *(
                        run_on_procrastinate(queue, jobs, stop, tenant=m)
                        for m, jobs in several
                    )
                )
            else:
                await asyncio.gather(
                    *(Worker(database, jobs, tenant=m).run(stop) for m, jobs in several)
                )
    return done


def jobs_for(
    database: Database,
    chain: PaymentChain | None,
    collector: Keypair | None,
    merchant: str,
    client: AsyncClient | None,
) -> PeriodicJobs:
    """The jobs of one merchant, for a worker process or a server. *client* is an httpx client that sends events."""
    from mcpsol_py.x402.store.settlements import SqlSettlements
    from mcpsol_py.x402.subscriptions.charging import (
        Charging,
        DelegatedCollector,
        OnChainCollector,
    )
    from mcpsol_py.x402.subscriptions.onchain import OnChain
    from mcpsol_py.x402.subscriptions.store import SubscriptionStore
    from mcpsol_py.x402.worker import merchant_jobs

    chains = {} if chain is None else {chain.network: chain}
    charging, book = None, SubscriptionStore(database, merchant)
    if chain is not None and collector is not None:
        on_chain = OnChain(chain)
        charging = Charging(
            book,
            SqlSettlements(database),
            chains,
            {chain.network: DelegatedCollector(chain, collector)},
            on_chain={chain.network: (on_chain, OnChainCollector(on_chain, collector))},
        )
    jobs = merchant_jobs(
        database, tenant=merchant, chains=chains, charging=charging, client=client
    )
    if chain is not None:

        def mirror() -> int:
            """Refresh subscriptions on chain: others may have charged, changed or cancelled them."""
            mirrored = OnChain(chain, fresh=0.0)
            found = book.on_chain()
            return sum(mirrored.refresh(book, row) != row for row in found)

        jobs.add("mirror", 60, mirror)
    return jobs

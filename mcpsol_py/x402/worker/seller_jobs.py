"""The periodic jobs of a seller, and those of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread
import httpx

from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.channel_facilitator import ChannelFacilitator
from mcpsol_py.x402.channels.redeem import redeem, tidy
from mcpsol_py.x402.store.channels import SponsoredChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.charging import Charging
from mcpsol_py.x402.worker.periodic_jobs import PeriodicJobs, log
from mcpsol_py.x402.worker.reconcile import (
    reconcile_calls,
    reconcile_settlements,
    reconcile_spendings,
)
from mcpsol_py.x402.worker.webhooks import deliver_due

__all__ = ["add_vouchers", "merchant_jobs"]


def merchant_jobs(
    database: Database,
    *,
    tenant: str = "default",
    chains: Mapping[str, PaymentChain],
    charging: Charging | None = None,
    client: httpx.AsyncClient | None = None,
    lease: float = 120.0,
) -> PeriodicJobs:
    """Return the jobs of any seller: charging subscriptions, sending events, reconciling pending
    payments.

    *client* sends the events. Add others to the result: see add_vouchers.
    """
    jobs, settlements = PeriodicJobs(), SqlSettlements(database)
    if charging is not None:
        jobs.add("charges", 10, charging.run_due)
    if client is not None:
        webhooks = Webhooks(database, tenant)
        jobs.add("webhooks", 5, lambda: deliver_due(webhooks, client))
    executions, lease_ms = Executions(database, tenant), int(lease * 1000)

    async def pending() -> int:
        ended = 0
        for chain in chains.values():
            ended += await anyio.to_thread.run_sync(
                reconcile_settlements, settlements, chain
            )
            ended += await reconcile_spendings(database, chain)
        return ended + await anyio.to_thread.run_sync(
            lambda: reconcile_calls(executions, settlements, chains, lease_ms=lease_ms)
        )

    jobs.add("pending", 15, pending)
    return jobs


def add_vouchers(
    jobs: PeriodicJobs,
    *,
    redeeming: Sequence[tuple[BatchServer, Any, PaymentChain]] = (),
    tidying: Sequence[tuple[ChannelFacilitator, SponsoredChannels]] = (),
    every: float = 300.0,
) -> None:
    """Add the jobs that channels need (channels/redeem.py).

    A seller's vouchers become money well before a payer can withdraw, for each (server,
    facilitator, chain) of *redeeming*. A sponsor's channels are closed when they are over, for each
    of *tidying*.
    """

    async def vouchers() -> int:
        done = [
            await redeem(server, facilitator, chain=chain)
            for server, facilitator, chain in redeeming
        ]
        for one in done:
            for channel, why in one.problems.items():
                log.warning("channel %s: %s", channel, why)
        return sum(one.claimed + one.paid_out for one in done)

    def channels() -> int:
        return sum(len(tidy(desk, sponsored)) for desk, sponsored in tidying)

    if redeeming:
        jobs.add("vouchers", every, vouchers)
    if tidying:
        jobs.add("channels", every, channels)

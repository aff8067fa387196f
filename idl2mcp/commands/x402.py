"""`idl2mcp x402 …`: payments from the command line. Who pays is in idl2mcp/x402/buying.py, who sells in merchant.py."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.local_node import LocalNode, passing_time
from idl2mcp.x402 import buying, merchant, upkeep
from idl2mcp.x402 import sales as selling
from idl2mcp.x402.storage import KEY_FILE, database_option, open_chain, open_database

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.x402.chain.payment_chain import PaymentChain


@click.group("x402")
def command() -> None:
    """Payments by x402: pay within a budget, serve an agent's wallet, list payments and sales, run a facilitator."""


for _part in (
    buying.pay,
    buying.history,
    buying.wallet,
    merchant.decide,
    selling.sales,
    selling.refund,
):
    command.add_command(_part)
for _part in (upkeep.prune, upkeep.erase, upkeep.backup, upkeep.restore):
    command.add_command(_part)
for _part in (merchant.subscriptions, merchant.webhooks, merchant.worker):
    command.add_command(_part)


@command.command("facilitator")
@click.option(
    "--url",
    help="The cluster's JSON-RPC. Without it: a chain in this process, with play money, at /rpc.",
)
@click.option(
    "--wallet",
    type=KEY_FILE,
    multiple=True,
    help="A fee payer's key file; may be repeated.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8402, show_default=True, type=click.IntRange(1, 65535))
@database_option
def facilitator(
    url: str | None,
    wallet: tuple[Path, ...],
    host: str,
    port: int,
    database: str | None,
) -> None:
    """Serve /verify, /settle, /supported and /discovery for one cluster, paying fees with the wallets given."""
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.bridge.http import serve_app, taken_ports
    from mcpsol_py.client.keys import open_keypair
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.exact.settle import KeypairSponsor
    from mcpsol_py.x402.facilitator import (
        channel_facilitators,
        facilitator_app,
        make_facilitator,
    )
    from mcpsol_py.x402.store.bazaar import ServiceCatalog
    from mcpsol_py.x402.store.channels import SponsoredChannels
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.store.settlements import SqlSettlements
    from mcpsol_py.x402.worker import PeriodicJobs, Worker, add_vouchers

    sockets = click.get_current_context().with_resource(taken_ports(host, port))
    keys = [open_keypair(file, passphrase(file)) for file in wallet]
    routes: dict[str, Any] = {}
    node: LocalNode | None = None
    with report.progress("reading the cluster"):
        if url is not None:
            if not keys:
                raise click.UsageError(
                    "--wallet: somebody must pay the fees on a cluster"
                )
            chain, kept = open_chain(url), open_database(database)
        else:
            chain, node, sponsor = _own_chain(host, port)
            keys, kept = keys or [sponsor], Database(database or "sqlite://")
            routes["/rpc"] = node.page
        sponsors, settlements, sponsored = (
            KeypairSponsor(*keys),
            SqlSettlements(kept),
            SponsoredChannels(kept),
        )
        desks = channel_facilitators(chain, sponsors, settlements, sponsored, OURS)
        core = make_facilitator(chain, sponsors, settlements, channels=desks)
    payers = ", ".join(str(key.pubkey()) for key in keys)
    report.note(
        f"facilitator on http://{host}:{port} for {chain.network}, paying with {payers}"
    )
    if node is not None:
        node.announce()
        report.note("@alice has 1 USDC of play money there")
    app = _beside(facilitator_app(core, catalog=ServiceCatalog(kept)), routes)
    jobs = PeriodicJobs()
    add_vouchers(jobs, tidying=[(desk, sponsored) for desk in desks])

    async def serve() -> None:
        stop = asyncio.Event()
        working = asyncio.create_task(Worker(kept, jobs).run(stop))
        try:
            async with AsyncExitStack() as stack:
                if node is not None:
                    await stack.enter_async_context(passing_time(node.transport))
                    await stack.enter_async_context(node.running())
                await serve_app(app, host, port, sockets=sockets)
        finally:
            stop.set()
            await working

    asyncio.run(serve())


def _beside(app: Any, routes: dict[str, Any]) -> Any:
    """*app*, and other apps at the paths of *routes*."""

    async def chosen(scope: Any, receive: Any, send: Any) -> None:
        await routes.get(scope.get("path"), app)(scope, receive, send)

    return chosen


def _own_chain(host: str, port: int) -> tuple[PaymentChain, LocalNode, Keypair]:
    """(a LiteSVM with the demo's money, its node, a sponsor with SOL)."""
    from idl2mcp.config.payments import DEMO_PAYMENTS_SETUP
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bundled import bundled_so
    from mcpsol_py.x402.chain.payment_chain import svm_chain
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.protocol.networks import LOCAL

    cluster = LocalCluster()
    cluster.apply(DEMO_PAYMENTS_SETUP)
    cluster.add_program(bundled_so("x402").read_bytes(), OURS.program_id, "x402")
    node = LocalNode(cluster.transport, host, port)
    return svm_chain(cluster.transport, network=LOCAL), node, cluster.wallet("sponsor")

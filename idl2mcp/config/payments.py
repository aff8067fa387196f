"""[payments] of the bridge's configuration: who is paid, where, and what each tool costs
(docs/configuration.md).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp import inputs
from idl2mcp.config.plans import PlanEntry, open_plans, read_plans
from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import PaymentError, SourceError, abbr
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.toml_schema import FLAG, TABLE, TABLES, TEXT, TEXTS, Keys, checked

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from x402 import x402ResourceServer

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.channels.channel_facilitator import ChannelDesk
    from mcpsol_py.x402.selling.mcp_seller import Paid
    from mcpsol_py.x402.store.channels import SponsoredChannels
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.store.executions import Executions
    from mcpsol_py.x402.subscriptions.tools import SubscriptionTools
    from mcpsol_py.x402.worker.worker import Jobs, Worker

__all__ = ["DEMO_PAYMENTS", "DEMO_PAYMENTS_SETUP", "Payments", "Shop", "open_shop", "read_payments"]

PAYMENTS: Keys = {
    "pay_to": TEXT,
    "prices": TABLE,
    "url": TEXT,
    "facilitators": TEXTS,
    "sponsors": TEXTS,
    "database": TEXT,
    "merchant": TEXT,
    "receipts": TEXT,
    "vouchers": TEXT,
    "public_url": TEXT,
    "verify_only": FLAG,
    "v1_errors": FLAG,
    "plans": TABLES,
    "domain": TEXT,
    "collector": TEXT,
}

#: what `serve --demo --paid` adds to the demo's cluster, and what it sells
DEMO_PAYMENTS_SETUP: dict[str, Any] = {
    "wallets": {"alice": 10, "merchant": 1, "sponsor": 10},
    "mints": {"usdc": {"decimals": 6, "address": ids.DEVNET_USDC}},
    "tokens": {
        "alice_usdc": {"mint": "@usdc", "owner": "@alice", "amount": 1_000_000},
        "merchant_usdc": {"mint": "@usdc", "owner": "@merchant"},
        # what channels need: their payee's, and the program's treasury (x402/program.TREASURY_OWNER)
        "sponsor_usdc": {"mint": "@usdc", "owner": "@sponsor"},
        "treasury_usdc": {"mint": "@usdc", "owner": ids.X402_TREASURY_OWNER},
    },
}
DEMO_PAYMENTS: dict[str, Any] = {
    "pay_to": "@merchant",
    "sponsors": ["@sponsor"],
    "receipts": "@merchant",
    "vouchers": "@merchant",
    "prices": {"*_get_*": "free", "*_list_*": "free", "counter_*": "$0.001", "vault_*": "$0.01"},
}


@dataclass(frozen=True, slots=True)
class Payments:
    """[payments], read. `prices`: pattern -> the prices, any one of which pays; none is free."""

    pay_to: str
    prices: Mapping[str, tuple[Any, ...]]
    url: str | None = None
    facilitators: tuple[str, ...] = ()
    sponsors: tuple[str, ...] = ()
    database: str | None = None
    merchant: str = "default"
    receipts: str | None = None
    vouchers: str | None = None
    public_url: str | None = None
    verify_only: bool = False
    v1_errors: bool = False
    plans: tuple[PlanEntry, ...] = ()
    domain: str = ""
    collector: str | None = None
    base: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True)
class Shop:
    """`paid` goes to Server.middleware, `subscriptions` too where there are plans; `executions` is what was sold."""

    paid: Paid
    executions: Executions
    subscriptions: SubscriptionTools | None = None
    #: what is to be done between calls: pending payments, events, due charges, vouchers (`x402 worker` does it apart)
    worker: Worker | None = None


def read_payments(table: Mapping[str, Any], base: Path = Path()) -> Payments:
    """The settings of the table [payments]; files are relative to *base*. Raises SourceError with the key's path."""
    said = dict(checked(table, PAYMENTS, "payments", required=["pay_to", "prices"]))
    said["plans"] = read_plans(said.get("plans", []))
    if said["plans"] and not said.get("domain"):
        raise SourceError(
            "is missing: whom subscribers' signatures are for", path="payments.domain"
        )
    said["prices"] = {
        tool: _prices(price, f"payments.prices.{tool}") for tool, price in said["prices"].items()
    }
    if "url" in said:
        said["url"] = inputs.endpoint(said["url"])
    said |= {key: tuple(said[key]) for key in ("facilitators", "sponsors") if key in said}
    return Payments(**said, base=base)


def _prices(value: Any, path: str) -> tuple[Any, ...]:
    if value == "free":
        return ()
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, (str, dict)) or row == "free":
            raise SourceError(
                f'{abbr(row)} is no price; "$0.001", "0.001 USDC", {{ amount = "1000", asset = "…" }} and "free" are',
                path=path,
            )
    return tuple(rows)


def open_shop(
    payments: Payments,
    bridge: Bridge,
    url: str | None,
    cluster: LocalCluster | None,
    resources: ExitStack,
) -> Shop:
    """What sells *bridge*'s tools. *url*, *cluster*: where the programs run; *resources* closes what is opened.

    Raises SourceError, PaymentError, TransportError.
    """
    import httpx
    from x402 import x402ResourceServer

    from idl2mcp.x402.worker import jobs_for
    from mcpsol_py.bridge.pricing import PriceList, sell
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.exact.mechanism import ExactServer
    from mcpsol_py.x402.protocol.receipts import Signatory
    from mcpsol_py.x402.selling.paid_calls import PaidCalls
    from mcpsol_py.x402.selling.payment_processor import witness_of
    from mcpsol_py.x402.store.executions import Executions
    from mcpsol_py.x402.subscriptions.grants import Grants
    from mcpsol_py.x402.subscriptions.store import SubscriptionBook
    from mcpsol_py.x402.worker.worker import Worker

    chain = _chain(payments, url, cluster, resources)
    kept = _database(payments, cluster, resources)
    pay_to = cluster.address(payments.pay_to) if cluster is not None else payments.pay_to
    if not is_address(pay_to):
        raise SourceError(
            f"{abbr(pay_to)} is no address (base58 of 32 bytes)", path="payments.pay_to"
        )
    if payments.vouchers is not None and cluster is not None:
        cluster.add_program(bundled_so("x402").read_bytes(), OURS.program_id, "x402")
    settling = _settling(payments, chain, kept, cluster)
    core = x402ResourceServer(settling.facilitator)
    core.register(chain.network, ExactServer())
    # on a cluster the collector's key stays with `idl2mcp x402 worker`
    local = cluster is not None and (payments.collector or "").startswith("@")
    collector = _key(str(payments.collector), payments, cluster) if local else None
    jobs = jobs_for(kept, chain, collector, payments.merchant, httpx.AsyncClient())
    schemes: tuple[str, ...] = ("exact",)
    if payments.vouchers is not None:
        authorizer = _key(payments.vouchers, payments, cluster)
        schemes += (
            _sell_vouchers(authorizer, payments.merchant, core, settling, chain, kept, jobs),
        )
    core.initialize()
    if (
        payments.vouchers is not None
        and core.get_supported_kind(2, chain.network, "batch-settlement") is None
    ):
        raise SourceError(
            "no facilitator of these settles vouchers on this cluster", path="payments.vouchers"
        )

    def landed(signature: str) -> bool | None:
        return {"landed": True, "failed": False}.get(chain.status(signature).state)

    executions = Executions(kept, payments.merchant)
    book = SubscriptionBook(kept, payments.merchant)
    paid_calls = PaidCalls(
        core,
        executions,
        verify_only=payments.verify_only,
        landed=landed,
        grants=Grants(book, executions) if payments.plans else None,
        witness=witness_of(chain)
        if payments.facilitators
        else None,  # another's word is held against the chain
    )
    prices = PriceList(
        tuple(payments.prices.items()),
        pay_to,
        chain.network,
        schemes=schemes,
        public_url=payments.public_url,
        signatory=Signatory(_key(payments.receipts, payments, cluster))
        if payments.receipts is not None
        else None,
    )
    try:
        paid = sell(bridge, core, paid_calls, prices, v1_errors=payments.v1_errors)
    except PaymentError as error:
        if error.code != "invalid_price":
            raise
        raise SourceError(str(error), path="payments.prices") from error
    worker = Worker(kept, jobs, tenant=payments.merchant)
    if not payments.plans:
        return Shop(paid, executions, worker=worker)
    renewal = payments.collector
    if cluster is not None and renewal:
        renewal = cluster.address(renewal)
    tools = open_plans(
        payments.plans,
        paid,
        core,
        paid_calls,
        executions,
        book,
        pay_to=pay_to,
        network=chain.network,
        domain=payments.domain,
        collector=renewal,
    )
    return Shop(paid, executions, tools, worker)


@dataclass(frozen=True, slots=True)
class _Settling:
    """Who settles. Where it is this process: the desks of the channel schemes, and the channels that it pays for."""

    facilitator: Any
    desks: Sequence[ChannelDesk] = ()
    sponsored: SponsoredChannels | None = None


def _settling(
    payments: Payments, chain: PaymentChain, kept: Database, cluster: LocalCluster | None
) -> _Settling:
    """The facilitators that are named, else one in this process, whose fees the sponsors pay."""
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.exact.settle import KeypairSponsor
    from mcpsol_py.x402.facilitator.app import LocalFacilitator, channel_desks, make_facilitator
    from mcpsol_py.x402.selling.facilitators import (
        Facilitators,
        HttpFacilitator,
        custom_facilitator,
    )
    from mcpsol_py.x402.store.channels import SponsoredChannels
    from mcpsol_py.x402.store.settlements import SqlSettlements

    if payments.facilitators:
        named = [
            HttpFacilitator(u) if "://" in u else custom_facilitator(u)
            for u in payments.facilitators
        ]
        return _Settling(Facilitators(named))
    if not payments.sponsors:
        raise SourceError(
            "payments.facilitators or payments.sponsors: one must say who settles the payments",
            path="payments",
        )
    sponsor = KeypairSponsor(*(_key(text, payments, cluster) for text in payments.sponsors))
    settlements = SqlSettlements(kept)
    sponsored, desks = SponsoredChannels(kept), []
    if payments.vouchers is not None:
        desks = channel_desks(chain, sponsor, settlements, sponsored, OURS)
    return _Settling(
        LocalFacilitator(make_facilitator(chain, sponsor, settlements, desks=desks)),
        desks,
        sponsored,
    )


def _sell_vouchers(
    authorizer: Keypair,
    merchant: str,
    core: x402ResourceServer,
    settling: _Settling,
    chain: PaymentChain,
    kept: Database,
    jobs: Jobs,
) -> str:
    """Sells for vouchers too, and has them turned into money now and then. The scheme's name."""
    from mcpsol_py.x402.channels.batch_server import BatchServer
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.store.channels import PaidChannels
    from mcpsol_py.x402.worker.worker import add_vouchers

    server = BatchServer(authorizer, PaidChannels(kept, merchant), OURS, chain)
    core.register(chain.network, server)
    tidying = [
        (desk, settling.sponsored) for desk in settling.desks if settling.sponsored is not None
    ]
    add_vouchers(jobs, redeeming=[(server, settling.facilitator, chain)], tidying=tidying)
    return "batch-settlement"


def _database(payments: Payments, cluster: LocalCluster | None, resources: ExitStack) -> Database:
    from mcpsol_py.x402.store.database import Database

    if payments.database is not None:
        kept = Database(inputs.database_beside(payments.database, payments.base))
    elif cluster is not None:  # its chain ends with this process, and what was paid on it too
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="idl2mcp-"))
        kept = Database(f"sqlite:///{folder}/sales.db")
    else:
        raise SourceError(
            'is missing: where paid calls are remembered, as "sqlite:///sales.db" or "postgresql+psycopg://…"',
            path="payments.database",
        )
    resources.callback(kept.close)
    return kept


def _chain(
    payments: Payments, url: str | None, cluster: LocalCluster | None, resources: ExitStack
) -> PaymentChain:
    from mcpsol_py.x402.chain.payment_chain import svm_chain
    from mcpsol_py.x402.protocol.networks import LOCAL

    at = payments.url or (url if cluster is None else None)
    if at is not None:
        chain = inputs.payment_chain(at)
        resources.callback(chain.close)
        return chain
    if cluster is not None:
        return svm_chain(cluster.transport, network=LOCAL)
    raise SourceError("is missing: the cluster on which payments settle", path="payments.url")


def _key(text: str, payments: Payments, cluster: LocalCluster | None) -> Keypair:
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keypair

    if text.startswith("@") and cluster is not None:
        cluster.address(text)
        return cluster.wallet(text)
    path = payments.base / text
    return open_keypair(path, passphrase(path))

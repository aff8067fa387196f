"""The table [payments] of the bridge's configuration: who is paid, where, and the price of each tool.

docs/configuration.md lists the keys.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idl2mcp import inputs
from idl2mcp.config.facilitators import (
    FacilitatorEntry,
    open_facilitators,
    read_facilitators,
)
from idl2mcp.config.plans import PlanEntry, open_plans, read_plans
from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import PaymentError, SourceError, abbr
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.toml_schema import (
    FLAG,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    TEXTS_OR_TABLES,
    Keys,
    checked,
    checked_value,
    one_of,
)

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.channels.channel_facilitator import ChannelFacilitator
    from mcpsol_py.x402.selling.mcp_seller import Paid
    from mcpsol_py.x402.selling.paid_calls import PaidCalls
    from mcpsol_py.x402.store.channels import SponsoredChannels
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.store.executions import Executions
    from mcpsol_py.x402.subscriptions.tools import SubscriptionTools
    from mcpsol_py.x402.worker import PeriodicJobs, Worker

__all__ = [
    "DEMO_PAYMENTS",
    "DEMO_PAYMENTS_SETUP",
    "Payments",
    "Shop",
    "open_shop",
    "read_payments",
]

PAYMENTS: Keys = {
    "pay_to": TEXT,
    "prices": TABLE,
    "settle": TABLE,
    "url": TEXT,
    "facilitators": TEXTS_OR_TABLES,
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

_ORDER = one_of("first", "after")
#: What `serve --demo --paid` adds to the demo's cluster, and its prices.
DEMO_PAYMENTS_SETUP: dict[str, Any] = {
    "wallets": {"alice": 10, "merchant": 1, "sponsor": 10},
    "mints": {"usdc": {"decimals": 6, "address": ids.DEVNET_USDC}},
    "tokens": {
        "alice_usdc": {"mint": "@usdc", "owner": "@alice", "amount": 1_000_000},
        "merchant_usdc": {"mint": "@usdc", "owner": "@merchant"},
        # Channels need token accounts of their payee and of the program's treasury.
        "sponsor_usdc": {"mint": "@usdc", "owner": "@sponsor"},
        "treasury_usdc": {"mint": "@usdc", "owner": ids.X402_TREASURY_OWNER},
    },
}
DEMO_PAYMENTS: dict[str, Any] = {
    "pay_to": "@merchant",
    "sponsors": ["@sponsor"],
    "receipts": "@merchant",
    "vouchers": "@merchant",
    "prices": {
        "*_get_*": "free",
        "*_list_*": "free",
        "counter_*": "$0.001",
        "vault_*": "$0.01",
    },
}


@dataclass(frozen=True, slots=True)
class Payments:
    """The settings of [payments]. `prices` maps a pattern to prices; any one of them pays, and none means free."""

    pay_to: str
    prices: Mapping[str, tuple[Any, ...]]
    #: pattern -> "first" or "after"
    settle: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    facilitators: tuple[FacilitatorEntry, ...] = ()
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
    """What sells a bridge's tools.

    `paid` and `subscriptions` (if there are plans) are middleware for the MCP server. `executions` records the sales.
    `worker` does the jobs between calls: pending payments, events, due charges, vouchers. (`idl2mcp x402 worker` runs
    the same jobs in a process of its own.) `notes` are for the operator at the start.
    """

    paid: Paid
    executions: Executions
    subscriptions: SubscriptionTools | None = None
    worker: Worker | None = None
    notes: tuple[str, ...] = ()


def read_payments(table: Mapping[str, Any], base: Path = Path()) -> Payments:
    """Read the table [payments]; file names are relative to *base*. Raises SourceError with the key's path."""
    values = dict(checked(table, PAYMENTS, "payments", required=["pay_to", "prices"]))
    values["plans"] = read_plans(values.get("plans", []))
    if values["plans"] and not values.get("domain"):
        raise SourceError(
            "is missing: plans need the domain that subscribers sign for",
            path="payments.domain",
        )
    values["prices"] = {
        tool: _prices(price, f"payments.prices.{tool}")
        for tool, price in values["prices"].items()
    }
    for tool, order in values.get("settle", {}).items():
        checked_value(order, _ORDER, f"payments.settle.{tool}")
    if "url" in values:
        values["url"] = inputs.endpoint(values["url"])
    values["facilitators"] = read_facilitators(values.get("facilitators", []), base)
    values["sponsors"] = tuple(values.get("sponsors", ()))
    return Payments(**values, base=base)


def _prices(value: Any, path: str) -> tuple[Any, ...]:
    if value == "free":
        return ()
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, (str, dict)) or row == "free":
            raise SourceError(
                f'expected a price ("$0.001", "0.001 USDC", {{ amount = "1000", asset = "…" }} or "free"),'
                f" got {abbr(row)}",
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
    """Open everything that sells *bridge*'s tools.

    The programs run at *url* or on *cluster*. *resources* closes all of it. Raises SourceError, PaymentError,
    TransportError.
    """
    return _Opening(payments, bridge, url, cluster, resources).shop()


@dataclass(frozen=True, slots=True)
class _Settling:
    """The facilitator that settles.

    If it runs in this process, also the desks of the channel schemes and the channels that it pays for.
    """

    facilitator: Any
    #: The addresses that pay its fees, if it runs in this process.
    sponsors: tuple[str, ...] = ()
    desks: Sequence[ChannelFacilitator] = ()
    sponsored: SponsoredChannels | None = None


class _Opening:
    """The steps of `open_shop`, with the values that they share."""

    def __init__(
        self,
        payments: Payments,
        bridge: Bridge,
        url: str | None,
        cluster: LocalCluster | None,
        resources: ExitStack,
    ) -> None:
        from x402 import x402ResourceServer

        from mcpsol_py.x402.store.executions import Executions
        from mcpsol_py.x402.subscriptions.store import SubscriptionStore

        self.payments = payments
        self.bridge = bridge
        self.cluster = cluster
        self.chain = _chain(payments, url, cluster, resources)
        self.database = _database(payments, cluster, resources)
        self.pay_to = self._pay_to()
        if payments.vouchers is not None and cluster is not None:
            self._deploy_payment_program(cluster)
        self.settling = self._settling()
        self.core = x402ResourceServer(self.settling.facilitator)
        self.jobs = self._jobs()
        self.executions = Executions(self.database, payments.merchant)
        self.book = SubscriptionStore(self.database, payments.merchant)

    def shop(self) -> Shop:
        """Register the schemes, put prices on the tools, and open the plans."""
        from mcpsol_py.x402.worker import Worker

        schemes = self._register_schemes()
        paid_calls = self._paid_calls()
        paid = self._sell(paid_calls, schemes)
        notes = self._checked(paid)
        worker = Worker(self.database, self.jobs, tenant=self.payments.merchant)
        subscriptions = (
            self._open_plans(paid, paid_calls) if self.payments.plans else None
        )
        return Shop(paid, self.executions, subscriptions, worker, notes)

    # --- parties and keys ------------------------------------------------------------------

    def _pay_to(self) -> str:
        return self._meant(self.payments.pay_to, "payments.pay_to")

    def _meant(self, text: str, path: str) -> str:
        """Return the address that *text* is or names. Raises SourceError with the key's *path*."""
        try:
            found = self._address(text)
        except SourceError as error:
            raise error.at(path=path) from None
        if not is_address(found):
            raise SourceError(
                f"expected an address (base58 of 32 bytes), got {abbr(found)}",
                path=path,
            )
        return found

    def _price(self, price: Any, path: str) -> Any:
        """Return a price with the address of its mint. Raises SourceError with the key's path."""
        if not isinstance(price, dict) or not isinstance(price.get("asset"), str):
            return price
        return {**price, "asset": self._meant(price["asset"], f"{path}.asset")}

    def _address(self, text: str) -> str:
        """Return the address of "@name" on the chain of the served programs; other text is returned unchanged."""
        books = [served.book for served in self.bridge.box.programs]
        return books[0].address(text) if books else text

    def _key(self, text: str) -> Keypair:
        """The key pair of a key file, or of a wallet of the local cluster ("@name")."""
        from idl2mcp.passphrases import passphrase
        from mcpsol_py.client.keys import open_keypair

        if text.startswith("@") and self.cluster is not None:
            self.cluster.address(text)
            return self.cluster.wallet(text)
        path = self.payments.base / text
        return open_keypair(path, passphrase(path))

    def _local_collector(self) -> Keypair | None:
        """The key that collects due charges, on a local cluster only.

        Elsewhere the collector's key stays with `idl2mcp x402 worker`.
        """
        name = self.payments.collector or ""
        return (
            self._key(name)
            if self.cluster is not None and name.startswith("@")
            else None
        )

    def _deploy_payment_program(self, cluster: LocalCluster) -> None:
        from mcpsol_py.x402.channels.program import OURS

        cluster.add_program(bundled_so("x402").read_bytes(), OURS.program_id, "x402")

    def _jobs(self) -> PeriodicJobs:
        import httpx

        from idl2mcp.x402.worker import jobs_for
        from mcpsol_py.client.bounded import NO_PROXY_HERE

        collector, merchant = self._local_collector(), self.payments.merchant
        client = httpx.AsyncClient(mounts=NO_PROXY_HERE)
        return jobs_for(self.database, self.chain, collector, merchant, client)

    # --- settling --------------------------------------------------------------------------

    def _settling(self) -> _Settling:
        """The facilitators of the configuration, or one in this process whose fees the sponsors pay."""
        if self.payments.facilitators:
            return _Settling(open_facilitators(self.payments.facilitators))
        if not self.payments.sponsors:
            raise SourceError(
                "needs facilitators or sponsors: somebody must settle the payments",
                path="payments",
            )
        return self._own_facilitator()

    def _own_facilitator(self) -> _Settling:
        from mcpsol_py.x402.channels.program import OURS
        from mcpsol_py.x402.exact.settle import KeypairSponsor
        from mcpsol_py.x402.facilitator import (
            LocalFacilitator,
            channel_facilitators,
            make_facilitator,
        )
        from mcpsol_py.x402.store.channels import SponsoredChannels
        from mcpsol_py.x402.store.settlements import SqlSettlements

        keys = [self._key(text) for text in self.payments.sponsors]
        sponsor = KeypairSponsor(*keys)
        settlements, sponsored = (
            SqlSettlements(self.database),
            SponsoredChannels(self.database),
        )
        desks = []
        if self.payments.vouchers is not None:
            desks = channel_facilitators(
                self.chain, sponsor, settlements, sponsored, OURS
            )
        facilitator = make_facilitator(self.chain, sponsor, settlements, channels=desks)
        addresses = tuple(str(key.pubkey()) for key in keys)
        return _Settling(LocalFacilitator(facilitator), addresses, desks, sponsored)

    # --- schemes ---------------------------------------------------------------------------

    def _register_schemes(self) -> tuple[str, ...]:
        """Register the payment schemes and return their names."""
        from mcpsol_py.x402.exact.mechanism import ExactServer

        self.core.register(self.chain.network, ExactServer())
        schemes: tuple[str, ...] = ("exact",)
        if self.payments.vouchers is not None:
            self._register_vouchers(self._key(self.payments.vouchers))
            schemes += ("batch-settlement",)
        self.core.initialize()
        for scheme in schemes:
            if self.core.get_supported_kind(2, self.chain.network, scheme) is None:
                raise SourceError(
                    f"no configured facilitator settles {scheme} payments on {self.chain.network}",
                    path="payments.facilitators"
                    if scheme == "exact"
                    else "payments.vouchers",
                )
        return schemes

    def _register_vouchers(self, authorizer: Keypair) -> None:
        """Accept vouchers, and let the worker redeem them."""
        from mcpsol_py.x402.channels.batch_server import BatchServer
        from mcpsol_py.x402.channels.program import OURS
        from mcpsol_py.x402.store.channels import PaidChannels
        from mcpsol_py.x402.worker import add_vouchers

        channels = PaidChannels(self.database, self.payments.merchant)
        server = BatchServer(authorizer, channels, OURS, self.chain)
        self.core.register(self.chain.network, server)
        settling = self.settling
        tidying = []
        if settling.sponsored is not None:
            tidying = [(desk, settling.sponsored) for desk in settling.desks]
        redeeming = [(server, settling.facilitator, self.chain)]
        add_vouchers(self.jobs, redeeming=redeeming, tidying=tidying)

    # --- selling ---------------------------------------------------------------------------

    def _paid_calls(self) -> PaidCalls:
        from mcpsol_py.x402.selling.paid_calls import PaidCalls
        from mcpsol_py.x402.selling.payment_processor import witness_of
        from mcpsol_py.x402.subscriptions.grants import Grants

        payments = self.payments
        return PaidCalls(
            self.core,
            self.executions,
            verify_only=payments.verify_only,
            landed=self._landed,
            grants=Grants(self.book, self.executions) if payments.plans else None,
            # What a remote facilitator reports is compared with the chain.
            witness=witness_of(self.chain) if payments.facilitators else None,
            facilitators=self.settling.facilitator if payments.facilitators else None,
        )

    def _landed(self, signature: str) -> bool | None:
        """True: it landed. False: it failed. None: not known."""
        return {"landed": True, "failed": False}.get(self.chain.status(signature).state)

    def _sell(self, paid_calls: PaidCalls, schemes: tuple[str, ...]) -> Paid:
        from mcpsol_py.bridge.pricing import PriceList, sell
        from mcpsol_py.x402.protocol.receipts import Signatory

        payments = self.payments
        signatory = None
        if payments.receipts is not None:
            signatory = Signatory(self._key(payments.receipts))
        prices = PriceList(
            tuple(
                (
                    tool,
                    tuple(self._price(row, f"payments.prices.{tool}") for row in rows),
                )
                for tool, rows in payments.prices.items()
            ),
            self.pay_to,
            self.chain.network,
            schemes=schemes,
            public_url=payments.public_url,
            signatory=signatory,
            settles_first=[
                (p, order == "first") for p, order in payments.settle.items()
            ],
        )
        try:
            return sell(
                self.bridge, self.core, paid_calls, prices, v1_errors=payments.v1_errors
            )
        except PaymentError as error:
            if error.code != "invalid_price":
                raise
            raise SourceError(str(error), path="payments.prices") from error

    def _checked(self, paid: Paid) -> tuple[str, ...]:
        """Return what the operator should know. Raises SourceError if no sale could succeed."""
        from mcpsol_py.x402.channels.program import OURS
        from mcpsol_py.x402.selling.start_checks import check_payee, check_sponsors

        offers = [paid.offer(name) for name in self.bridge.box.tools]
        accepts = [
            terms for offer in offers if offer is not None for terms in offer.accepts
        ]
        # A channel pays out only if the program's treasury has an account, too.
        treasury = {"pay_to": str(OURS.treasury_owner)}
        vouchers = [terms for terms in accepts if terms.scheme == "batch-settlement"]
        accepts += [terms.model_copy(update=treasury) for terms in vouchers]
        findings = check_payee(self.chain, accepts)
        findings += check_sponsors(self.chain, self.settling.sponsors)
        errors = [finding.text for finding in findings if finding.level == "error"]
        if errors:
            raise SourceError("; ".join(errors), path="payments")
        warnings = [f"warning: {finding.text}" for finding in findings]
        paid_to = f"payments go to {self.pay_to} on {self.chain.network}"
        return (paid_to, *self._facilitator_notes(), *warnings)

    def _facilitator_notes(self) -> list[str]:
        entries = self.payments.facilitators
        if not entries:
            return []
        states = self.settling.facilitator.answering
        said = {
            True: "answers",
            False: "warning: does not answer; it is asked again later",
        }
        return [
            f"facilitator {entry.url or entry.preset or entry.name}: {said[answers]}"
            for entry, answers in zip(entries, states, strict=True)
        ]

    def _open_plans(self, paid: Paid, paid_calls: PaidCalls) -> SubscriptionTools:
        collector = self.payments.collector
        if collector:
            collector = self._address(collector)
        plans = tuple(
            entry.priced(
                self._price(entry.settings["price"], f"payments.plans[{place}].price")
            )
            for place, entry in enumerate(self.payments.plans)
        )
        return open_plans(
            plans,
            paid,
            self.core,
            paid_calls,
            self.executions,
            self.book,
            pay_to=self.pay_to,
            network=self.chain.network,
            domain=self.payments.domain,
            collector=collector,
        )


def _database(
    payments: Payments, cluster: LocalCluster | None, resources: ExitStack
) -> Database:
    from mcpsol_py.x402.store.database import Database

    if payments.database is not None:
        database = Database(inputs.database_beside(payments.database, payments.base))
    elif cluster is not None:
        # An embedded chain ends with this process, so its payments may too.
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="idl2mcp-"))
        database = Database(f"sqlite:///{folder}/sales.db")
    else:
        raise SourceError(
            'is missing: paid calls are stored there; give "sqlite:///sales.db" or "postgresql+psycopg://…"',
            path="payments.database",
        )
    resources.callback(database.close)
    return database


def _chain(
    payments: Payments,
    url: str | None,
    cluster: LocalCluster | None,
    resources: ExitStack,
) -> PaymentChain:
    from mcpsol_py.x402.chain.payment_chain import svm_chain
    from mcpsol_py.x402.protocol.networks import LOCAL

    settle_at = payments.url or (url if cluster is None else None)
    if settle_at is not None:
        chain = inputs.payment_chain(settle_at)
        resources.callback(chain.close)
        return chain
    if cluster is not None:
        return svm_chain(cluster.transport, network=LOCAL)
    raise SourceError(
        "is missing: payments settle on that cluster", path="payments.url"
    )

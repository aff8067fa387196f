"""A bridge whose calls cost money, and a buyer."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mcp.server import Server

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.payments import (
    DEMO_PAYMENTS,
    DEMO_PAYMENTS_SETUP,
    open_shop,
    read_payments,
)
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.chain.payment_chain import svm_chain
from mcpsol_py.x402.protocol.networks import LOCAL
from mcpsol_py.x402.store.database import Database

USDC = DEMO_PAYMENTS_SETUP["mints"]["usdc"]["address"]


POLICY = {
    "clusters": ["local"],
    "program": [
        {
            "id": "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
            "instructions": ["initialize", "increment"],
        }
    ],
    "outflow": {"SOL": {"per_call": 10_000_000, "per_day": 100_000_000}},
}


class Shop:
    """The demo's programs behind a till; alice owns the bridge's wallet, and buys too."""

    def __init__(
        self, folder: Path, mode: str = "build", surface: str = "full", **policy: Any
    ) -> None:
        self.opened = ExitStack()
        self.folder = folder
        plan = BridgeConfig(
            [ProgramEntry(name, Chain()) for name in ("counter", "vault")],
            mode=mode,
            surface=surface,
        )
        plan.payments = read_payments(
            {**DEMO_PAYMENTS, "database": f"sqlite:///{folder / 'sales.db'}"}
        )
        plan.policy, plan.demo, plan.wallet = {**POLICY, **policy}, True, "@alice"
        self.bridge, self.loaded = make_bridge(plan)
        cluster = self.loaded[0].cluster
        assert cluster is not None
        self.cluster: LocalCluster = cluster
        self.payments = plan.payments
        self.server = self.open()

    def open(self) -> Server[Any]:
        """A server process of the same shop: another one is what starts after a crash."""
        server = make_server(self.bridge)
        opened = open_shop(self.payments, self.bridge, None, self.cluster, self.opened)
        paid, self.worker = opened.paid, opened.worker
        paid.paid_calls._wait = (
            0.1  # else a repeat waits ten seconds for a first request that is dead here
        )
        server.middleware.append(paid)
        return server

    def payer(self, deposit: int | None = None, **limit: int) -> CallPayer:
        chain = svm_chain(self.cluster.transport, network=LOCAL)
        kept = Database(f"sqlite:///{self.folder / 'purse.db'}")
        self.opened.callback(kept.close)
        limits = SpendingLimits(
            {USDC: SpendingLimit(**{"per_payment": 50_000, **limit})}
        )
        budget = Budget(kept, str(wallet("alice").pubkey()), limits, session="test")
        locks = {} if deposit is None else {USDC: deposit}
        return wallet_payer(
            wallet("alice"), chain, budget, kept, locks=locks, patience=1.0
        )

    @property
    def takings(self) -> int:
        (account,) = svm_chain(self.cluster.transport).get_accounts(
            [self.cluster.address("@merchant_usdc")]
        )
        assert account is not None
        return int.from_bytes(account.data[64:72], "little")

    def count(self) -> int:
        """What the counter of alice holds on the chain; -1 where there is none."""
        from solders.pubkey import Pubkey

        at, _ = Pubkey.find_program_address(
            [b"counter", bytes(wallet("alice").pubkey())],
            Pubkey.from_string(POLICY["program"][0]["id"]),  # type: ignore[index]  # a literal above
        )
        account = self.cluster.svm.get_account(at)
        return (
            -1
            if account is None
            else int.from_bytes(bytes(account.data)[40:48], "little")
        )


CREATE = {"start": "5", "accounts": {"authority": "@alice"}}

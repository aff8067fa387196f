"""A merchant that sells one tool over channels, and the wallet that buys it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import Server
from x402 import x402Client
from x402.schemas import PaymentPayload, PaymentRequired, ResourceInfo

from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run, current_run
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from tests.support.x402_shop import RepeatedCalls
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import USDC

__all__ = ["Store"]


@dataclass
class Store:
    """A merchant that sells `quote` for 1,000 by one scheme; `used` is what it charges of a ceiling."""

    path: Path
    scheme: str
    used: int | None = None
    fails: bool = False
    raises: bool = False
    world: ChannelWorld = field(default_factory=ChannelWorld)
    runs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shop = BatchShop(
            self.world, Database(f"sqlite:///{self.path / 'shop.db'}")
        )
        self.wallet = Database(f"sqlite:///{self.path / 'wallet.db'}")
        self.client = batch_client(self.world, self.wallet)

    def paid_calls(self, **options: Any) -> PaidCalls:
        options.setdefault("lease", 0.05)
        options.setdefault("wait", 0.0)
        executions = Executions(self.shop.database)
        calls = RepeatedCalls(self.shop.core, executions, landed=self.landed, **options)
        calls.wallet = self.world.payer
        return calls

    def landed(self, signature: str) -> bool | None:
        return {"landed": True, "failed": False}.get(
            self.world.chain.status(signature).state
        )

    def offer(self, amount: int = 1_000, **options: Any) -> Offer:
        return Offer(
            ResourceInfo(url="mcp://tool/quote"),
            (self.shop.terms(amount, self.scheme),),
            **options,
        )

    async def run(self, run: Run) -> tuple[dict[str, Any], bool]:
        self.runs.append(run.payment_id)
        if self.used is not None:
            run.charge(self.used)
        if self.raises:
            raise RuntimeError("broken")
        return {
            "content": [{"type": "text", "text": f"answer {len(self.runs)}"}]
        }, self.fails

    def signer(self) -> x402Client:
        signer = x402Client()
        signer.set_spend_controls(False)
        signer.register(DEVNET, self.client)
        signer.register(DEVNET, self.world.upto_client())
        return signer

    async def payment(
        self, payment_id: str | None = "pay_0123456789abcdef", amount: int = 1_000
    ) -> PaymentPayload:
        demand = PaymentRequired(accepts=[self.shop.terms(amount, self.scheme)])
        payment = await self.signer().create_payment_payload(demand)
        assert isinstance(payment, PaymentPayload)
        if payment_id is not None:
            payment.extensions = {
                "payment-identifier": {
                    "info": {"required": False, "id": payment_id},
                    "schema": {},
                }
            }
        return payment

    @property
    def charged(self) -> int:
        """By the record for vouchers, by the chain for ceilings."""
        if self.scheme == "upto":
            return self.world.held[1]
        return sum(row.charged for row in self.shop.channels.due())

    def budget(self, limit: SpendingLimit = SpendingLimit()) -> Budget:  # noqa: B008  # frozen
        wallet = str(self.world.payer.pubkey())
        return Budget(
            self.wallet, wallet, SpendingLimits({str(USDC): limit}), session="s"
        )

    def payer(self, budget: Budget) -> CallPayer:
        proofs = {"upto": self.world.upto_client().charged}
        wallet = self.world.payer
        return CallPayer(
            self.signer(), budget, patience=2.0, proofs=proofs, wallet=wallet
        )

    def serve(self) -> Server[Any]:
        async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(
                tools=[types.Tool(name="quote", input_schema={"type": "object"})]
            )

        async def call_tool(
            ctx: Any, params: types.CallToolRequestParams
        ) -> types.CallToolResult:
            run = current_run()
            assert run is not None
            body, failed = await self.run(run)
            return types.CallToolResult.model_validate({**body, "isError": failed})

        server: Server[Any] = Server(
            "shop", on_list_tools=list_tools, on_call_tool=call_tool
        )
        server.middleware.append(
            Paid(self.paid_calls(wait=5.0, lease=30.0), {"quote": self.offer()})
        )
        return server

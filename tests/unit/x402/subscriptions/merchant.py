"""A merchant with plans, on a LiteSVM and a database: the paid calls, the book and the tools that the tests call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import Server
from solders.keypair import Keypair
from x402.schemas import PaymentPayload, PaymentRequirements, ResourceInfo

from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.protocol.proof import (
    SIGN_IN_WITH_X,
    proof_meta,
    request_mark,
    sign_proof,
)
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.subscriptions.grants import Grants
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from mcpsol_py.x402.subscriptions.tools import SubscriptionTools
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import USDC, World

DOMAIN = "quotes.example"
DAY = 86_400_000
T0 = 1_800_000_000_000


@dataclass
class Clock:
    ms: int = T0

    def __call__(self) -> int:
        return self.ms


@dataclass
class Merchant:
    """Replicas share `shop.database`. `clock` is the book's."""

    shop: Shop
    clock: Clock = field(default_factory=Clock)
    tenant: str = "default"

    def __post_init__(self) -> None:
        self.book = self.open_book()

    @property
    def world(self) -> World:
        return self.shop.world

    @property
    def wallet(self) -> Keypair:
        return self.world.payer

    @property
    def address(self) -> str:
        return str(self.world.payer.pubkey())

    def open_book(self, database: Database | None = None) -> SubscriptionStore:
        return SubscriptionStore(
            database or self.shop.database, self.tenant, self.clock
        )

    def plan(self, plan_id: str = "pro", **changed: Any) -> SubscriptionPlan:
        terms: dict[str, Any] = {
            "name": "Pro",
            "network": DEVNET,
            "asset": str(USDC),
            "pay_to": str(self.world.payee.pubkey()),
            "price": 10_000,
            "period": "86400s",
            "grace_ms": DAY // 4,
            "quota": 3,
        }
        return self.book.add_plan(SubscriptionPlan(id=plan_id, **{**terms, **changed}))

    def grants(self, database: Database | None = None, **options: Any) -> Grants:
        options = {"lease": 0.05, "wait": 0.0} | options
        kept = database or self.shop.database
        return Grants(self.open_book(kept), Executions(kept, self.tenant), **options)

    def paid_calls(self, **options: Any) -> PaidCalls:
        """A replica; options of Grants under `grants`."""
        more = options.pop("grants", {})
        return self.shop.paid_calls(
            grants=self.grants(options.get("database"), **more), **options
        )

    def offer(self, *plans: str, **options: Any) -> Offer:
        return Offer(
            ResourceInfo(url="mcp://tool/quote"),
            (self.world.requirements(),),
            plans=plans or ("pro",),
            domain=DOMAIN,
            **options,
        )

    def terms_of(self, plan: SubscriptionPlan) -> PaymentRequirements:
        return self.world.requirements(plan.price)

    def tools(self, **options: Any) -> SubscriptionTools:
        kept = self.shop.database
        return SubscriptionTools(
            self.shop.paid_calls(),
            self.book,
            Executions(kept, self.tenant),
            terms_of=self.terms_of,
            domain=DOMAIN,
            **options,
        )

    def payment(self, amount: int = 10_000) -> PaymentPayload:
        self.world.svm.expire_blockhash()
        return self.shop.payment(None, amount=amount)

    def subscribed(self, plan_id: str = "pro", mark: str = "pay_1") -> str:
        return self.book.pay(plan_id, self.address, mark, "sig").id

    def proof(
        self,
        arguments: object,
        offer: Offer | None = None,
        wallet: Keypair | None = None,
        **changed: Any,
    ) -> Any:
        """The proof for a call, as `_meta` would carry it. The challenge's own time is the machine's, so the book's
        clock is put into it."""
        required = (offer or self.offer()).payment_required("sign")
        info = dict((required.extensions or {})[SIGN_IN_WITH_X]["info"])
        info["issuedAt"] = iso(self.clock.ms)
        mark = request_mark(info["uri"], arguments)
        return sign_proof(
            wallet or self.wallet, {**info, **changed}, DEVNET, request_id=mark
        )

    def signed(
        self, tool: str, arguments: dict[str, str], wallet: Keypair | None = None
    ) -> dict[str, Any]:
        """`_meta` that proves who calls one of the subscription tools."""
        uri = f"mcp://tool/{tool}"
        info = {
            "domain": DOMAIN,
            "uri": uri,
            "version": "1",
            "nonce": "n" * 16 + str(self.clock.ms % 997),
        }
        info["issuedAt"] = iso(self.clock.ms)
        mark = request_mark(uri, {"tool": tool, "arguments": arguments})
        return proof_meta(
            sign_proof(wallet or self.wallet, info, DEVNET, request_id=mark)
        )

    async def run(self, run: Run) -> tuple[dict[str, Any], bool]:
        return await self.shop.run(run)


def paying(payment: PaymentPayload) -> dict[str, Any]:
    return {PAYMENT_META: payment.model_dump(by_alias=True, exclude_none=True)}


def iso(ms: int) -> str:
    from datetime import UTC, datetime

    return (
        datetime.fromtimestamp(ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def serve(merchant: Merchant) -> Server[Any]:
    """The merchant's MCP server, which sells one tool."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="quote", input_schema={"type": "object"})]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        merchant.shop.runs.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="42")])

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(Paid(merchant.paid_calls(), {"quote": merchant.offer()}))
    return server

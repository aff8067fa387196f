"""Our seller, over stdio: the paid tool `quote`, settled on a node by our own facilitator.

usage: our_server.py RPC_URL SPONSOR_SEED_HEX PAY_TO MINT DATABASE_URL
"""

import asyncio
import sys
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from solders.keypair import Keypair
from x402 import x402ResourceServer
from x402.schemas import AssetAmount, ResourceConfig, ResourceInfo

from mcpsol_py.x402.chain.payment_chain import rpc_chain
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import LocalFacilitator, make_facilitator
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements


async def main() -> None:
    url, seed, pay_to, mint, database_url = sys.argv[1:]
    database = Database(database_url)
    chain = rpc_chain(url)
    sponsor = KeypairSponsor(Keypair.from_seed(bytes.fromhex(seed)))
    core = x402ResourceServer(
        LocalFacilitator(make_facilitator(chain, sponsor, SqlSettlements(database)))
    )
    core.register(chain.network, ExactServer())
    core.initialize()
    price = AssetAmount(amount="3000", asset=mint)
    terms = ResourceConfig(
        scheme="exact",
        network=chain.network,
        pay_to=pay_to,
        price=price,
        max_timeout_seconds=60,
    )
    accepts = tuple(core.build_payment_requirements(terms))
    paid = Paid(
        PaidCalls(core, Executions(database)),
        {"quote": Offer(ResourceInfo(url="mcp://tool/quote"), accepts)},
    )

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        return types.ListToolsResult(
            tools=[
                types.Tool(name="quote", description="A quote.", input_schema=schema)
            ]
        )

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        city = (params.arguments or {}).get("city")
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=f"rain in {city}")]
        )

    server: Server[Any] = Server(
        "ours", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(paid)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())

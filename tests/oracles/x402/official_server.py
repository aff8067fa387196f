"""The official SDK as seller: FastMCP (mcp 1.x) with its payment wrapper and its own facilitator.

Run in the environment x402peer.

usage: official_server.py RPC_URL SPONSOR_SEED_HEX PAY_TO MINT    Serves the paid tool `quote` over stdio.
"""

# mypy: ignore-errors
# Another environment's mcp (1.x) and x402: the types seen here are not those that it runs with.

import sys

from mcp.server.fastmcp import FastMCP
from solders.keypair import Keypair
from x402 import x402Facilitator, x402ResourceServer
from x402.mcp import create_payment_wrapper
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact import ExactSvmFacilitatorScheme, ExactSvmServerScheme
from x402.schemas import AssetAmount, ResourceConfig

NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
url, seed, pay_to, mint = sys.argv[1:]

facilitator = x402Facilitator()
signer = FacilitatorKeypairSigner(Keypair.from_seed(bytes.fromhex(seed)), rpc_url=url)
facilitator.register([NETWORK], ExactSvmFacilitatorScheme(signer))
core = x402ResourceServer(facilitator)
core.register(NETWORK, ExactSvmServerScheme())
core.initialize()
config = ResourceConfig(
    scheme="exact",
    network=NETWORK,
    pay_to=pay_to,
    price=AssetAmount(amount="4000", asset=mint),
    max_timeout_seconds=60,
)
server = FastMCP("official")
paid = create_payment_wrapper(core, accepts=core.build_payment_requirements(config))


@server.tool()
@paid
async def quote(city: str) -> str:
    return f"sunny in {city}"


server.run("stdio")

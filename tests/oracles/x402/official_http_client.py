"""The official Python SDK pays a tool of a server over HTTP, with its own Solana mechanism.

Run in the environment x402peer.

usage: official_http_client.py MCP_URL RPC_URL SEED_HEX TOOL ARGUMENTS    Prints one JSON object.
"""

# mypy: ignore-errors
# Another environment's mcp (1.x) and x402: the types seen here are not those that it runs with.

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from solders.keypair import Keypair
from x402 import x402Client
from x402.mcp import x402MCPSession
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact import register_exact_svm_client


async def main() -> None:
    mcp_url, rpc_url, seed, tool, arguments = sys.argv[1:]
    payer = x402Client()
    signer = KeypairSigner(Keypair.from_seed(bytes.fromhex(seed)))
    register_exact_svm_client(payer, signer, rpc_url=rpc_url)
    async with (
        streamablehttp_client(mcp_url) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        result = await x402MCPSession(session, payer).call_tool(
            tool, json.loads(arguments)
        )
        receipt = result.payment_response
        print(
            json.dumps(
                {
                    "isError": result.is_error,
                    "paid": result.payment_made,
                    "receipt": receipt
                    and receipt.model_dump(by_alias=True, exclude_none=True),
                }
            )
        )


asyncio.run(main())

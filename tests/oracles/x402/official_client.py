"""The official SDK as payer: its MCP session (mcp 1.x) and its own Solana mechanism. Run in the environment x402peer.

usage: official_client.py RPC_URL SEED_HEX COMMAND...
The command is the paid server, over stdio. Prints one JSON object.
"""

# mypy: ignore-errors
# Another environment's mcp (1.x) and x402: the types seen here are not those that it runs with.

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from solders.keypair import Keypair
from x402 import x402Client
from x402.mcp import x402MCPSession
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact import ExactSvmClientScheme


async def main() -> None:
    url, seed, *command = sys.argv[1:]
    payer = x402Client()
    keypair = Keypair.from_seed(bytes.fromhex(seed))
    payer.register(
        "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
        ExactSvmClientScheme(KeypairSigner(keypair), rpc_url=url),
    )
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        paying = x402MCPSession(session, payer)
        result = await paying.call_tool("quote", {"city": "Bern"})
        text = [c.text for c in result.content if getattr(c, "text", None)]
        receipt = result.payment_response
        print(
            json.dumps(
                {
                    "text": text,
                    "is_error": result.is_error,
                    "paid": result.payment_made,
                    "receipt": receipt.model_dump(by_alias=True, exclude_none=True)
                    if receipt
                    else None,
                }
            )
        )


asyncio.run(main())

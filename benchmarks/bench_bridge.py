"""The bridge over stdio beside an empty tool on the same SDK and transport: tools/call and tools/list, and starting
with ten programs.
"""

from __future__ import annotations

import asyncio
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.yardstick import Limit, Row, Yardstick
from idl2mcp.inputs import Chain
from idl2mcp.local import wallet
from idl2mcp.served import ProgramEntry
from idl2mcp.serving import Plan, make_bridge
from mcpsol_py.bridge.server import make_server

#: A server with nothing in it: what the SDK and the transport take by themselves.
EMPTY = """
import asyncio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def listed(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="empty", input_schema={"type": "object", "properties": {}})])

async def call(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="ok")])

async def main():
    server = Server("empty", on_list_tools=listed, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""
CALLS, ROUNDS = 40, 9
REPO = Path(__file__).resolve().parent.parent


async def _round(client: Client, tool: str, arguments: dict[str, Any]) -> float:
    """Seconds for one call, the mean of a round."""
    started = time.perf_counter()
    for _ in range(CALLS):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
    return (time.perf_counter() - started) / CALLS


async def _calls(source: list[str], accounts: dict[str, str]) -> tuple[float, float]:
    """Seconds of a call of ours and of an empty tool: the best rounds, taken in turns."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        empty_server = StdioServerParameters(command=sys.executable, args=[str(script)])
        our_server = StdioServerParameters(
            command=sys.executable, args=["-m", "idl2mcp", "serve", *source], cwd=str(REPO)
        )
        best = [math.inf, math.inf]
        async with Client(our_server) as ours, Client(empty_server) as empty:
            for _ in range(ROUNDS):
                a = await _round(ours, "initialize", {"start": "1", "accounts": accounts})
                b = await _round(empty, "empty", {})
                best = [min(best[0], a), min(best[1], b)]
        return best[0], best[1]


def _idl(folder: Path, number: int) -> Path:
    """A program of 247 instructions, each with accounts and arguments."""
    import json

    instructions = [
        {
            "name": f"operation_{n}",
            "discriminator": list((number * 1000 + n).to_bytes(8, "big")),
            "docs": [f"Does operation number {n} with the vault, and says what came of it."],
            "accounts": [{"name": a, "writable": True} for a in ("payer", "vault", "mint", "destination")],
            "args": [{"name": "amount", "type": "u64"}, {"name": "owner", "type": "pubkey"}],
        }
        for n in range(247)
    ]
    path = folder / f"bench{number}.json"
    document = {"address": str(wallet(f"p{number}").pubkey()), "metadata": {"name": f"bench{number}", "version": "1"}}
    document["metadata"]["spec"] = "0.1.0"  # type: ignore[index]  # an object
    path.write_text(json.dumps({**document, "instructions": instructions}), encoding="utf-8")
    return path


async def _listing(path: Path) -> float:
    bridge, _ = make_bridge(Plan([ProgramEntry(str(path), Chain())], surface="full"))
    best = math.inf
    async with Client(make_server(bridge), mode="legacy") as client:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            assert len((await client.list_tools()).tools) >= 247
            best = min(best, time.perf_counter() - started)
    return best


def measure() -> list[Row]:
    """The rows; each side of a ratio is measured in turns with the other."""
    accounts = {"authority": str(wallet("alice").pubkey())}
    rows: list[Row] = []
    for what, source in (
        ("tools/call that builds a transaction, offline", ["programs/counter/idl.json"]),
        ("tools/call that builds and simulates on LiteSVM", ["counter", "--wallet", "@alice"]),
    ):
        ours, empty = asyncio.run(_calls(source, accounts))
        rows.append(
            Yardstick(what, ours * 1e6, empty * 1e6, "µs", needed=1 / 1.5, note="an empty tool, same SDK, over stdio")
        )
    with tempfile.TemporaryDirectory() as name:
        paths = [_idl(Path(name), n) for n in range(10)]
        listing = asyncio.run(_listing(paths[0]))
        rows.append(Limit("tools/list of 247 instructions", listing * 1e3, 50, "ms", "in process, with the client"))
        started = time.perf_counter()
        make_server(make_bridge(Plan([ProgramEntry(str(p), Chain()) for p in paths]))[0])
        took = time.perf_counter() - started
        rows.append(Limit("start with ten programs of 247 instructions", took, 1, "s"))
    return rows

"""The bridge beside an empty tool on the same SDK and transport: tools/call and tools/list, and starting with ten
programs.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from solders.pubkey import Pubkey

from benchmarks.yardstick import Limit, Row, Yardstick
from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from idl2mcp.local_cluster import wallet
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.policy.rules import CLUSTERS
from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import SvmNode
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.idl_accounts import anchor_account, mute
from tests.functional.svm_node import listening
from tests.ports import free_port

#: A server with nothing in it, on stdio or on a port: what the SDK and the transport take by themselves.
EMPTY = """
import asyncio
import sys
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def listed(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="empty", input_schema={"type": "object", "properties": {}})])

async def call(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="ok")])

async def main():
    server = Server("empty", on_list_tools=listed, on_call_tool=call)
    if len(sys.argv) > 1:
        import uvicorn
        config = uvicorn.Config(server.streamable_http_app(), port=int(sys.argv[1]), log_level="warning")
        await uvicorn.Server(config).serve()
        return
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""
CALLS, ROUNDS, STARTS = 40, 15, 3
REPO = Path(__file__).resolve().parent.parent


async def _round(client: Client, tool: str, arguments: dict[str, Any]) -> float:
    """Seconds by the clock for one call, the mean of a round."""
    started = time.perf_counter()
    for _ in range(CALLS):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
    return (time.perf_counter() - started) / CALLS


@asynccontextmanager
async def _connected(command: list[str], port: int | None) -> AsyncIterator[Client]:
    """A client of the server that *command* starts, on stdio or on *port*."""
    if port is None:
        async with Client(
            StdioServerParameters(command=command[0], args=command[1:], cwd=str(REPO))
        ) as client:
            yield client
        return
    with subprocess.Popen(command, cwd=REPO, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                with (
                    suppress(OSError),
                    socket.create_connection(("127.0.0.1", port), 1),
                ):
                    break
                assert process.poll() is None, f"{command} did not start"
                await asyncio.sleep(0.05)
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                yield client
        finally:
            process.kill()


async def _calls(
    source: list[str], accounts: dict[str, str], transport: str
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of a call of ours and of an empty tool, taken in turns, the best rounds: seconds of the CPU, client and server
    together, and by the clock. A call is one thing after another, so on an idle machine the two are the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY, encoding="utf-8")
        ports = [free_port(), free_port()] if transport == "http" else [None, None]
        ours = [sys.executable, "-m", "idl2mcp", "serve", *source]
        empty = [sys.executable, str(script)]
        if ports[0] is not None:
            config = Path(folder) / "serve.toml"
            config.write_text(
                "[http]\ncalls_per_minute = 100_000_000\n", encoding="utf-8"
            )
            ours += [
                "--config",
                str(config),
                "--transport",
                "http",
                "--port",
                str(ports[0]),
            ]
            empty.append(str(ports[1]))
        cpu, best = [math.inf, math.inf], [math.inf, math.inf]
        before = _children()
        async with _connected(ours, ports[0]) as our_client:
            first = _children() - before
            async with _connected(empty, ports[1]) as empty_client:
                sides = [
                    (
                        our_client,
                        "initialize",
                        {"start": "1", "accounts": accounts},
                        first,
                    ),
                    (empty_client, "empty", {}, _children() - before - first),
                ]
                for round_ in range(1 + ROUNDS):
                    for side, (client, tool, arguments, servers) in enumerate(sides):
                        spent = time.process_time() + sum(map(_cpu, servers))
                        took = await _round(client, tool, arguments)
                        if round_:  # the first one warms up
                            spent = (
                                time.process_time() + sum(map(_cpu, servers)) - spent
                            )
                            cpu[side] = min(cpu[side], spent / CALLS)
                            best[side] = min(best[side], took)
        return (cpu[0], best[0]), (cpu[1], best[1])


def _children() -> set[int]:
    """The processes that this one started."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {
            int(pid) for pid in (task / "children").read_text(encoding="utf-8").split()
        }
    return found


def _cpu(pid: int) -> float:
    """Seconds of the CPU that a process and its threads have had (in nanoseconds, where the kernel says them)."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return (
            sum(
                int((t / "schedstat").read_text(encoding="utf-8").split()[0])
                for t in threads
            )
            / 1e9
        )
    except OSError:
        fields = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _idl(folder: Path, number: int, count: int = 247) -> Path:
    """A program of *count* instructions, each with accounts and arguments."""
    instructions = [
        {
            "name": f"operation_{n}",
            "discriminator": list((number * 1000 + n).to_bytes(8, "big")),
            "docs": [
                f"Does operation number {n} with the vault, and says what came of it."
            ],
            "accounts": [
                {"name": a, "writable": True}
                for a in ("payer", "vault", "mint", "destination")
            ],
            "args": [
                {"name": "amount", "type": "u64"},
                {"name": "owner", "type": "pubkey"},
            ],
        }
        for n in range(count)
    ]
    path = folder / f"bench{number}.json"
    document = {
        "address": str(wallet(f"p{number}").pubkey()),
        "metadata": {"name": f"bench{number}", "version": "1"},
    }
    document["metadata"]["spec"] = "0.1.0"  # type: ignore[index]  # an object
    path.write_text(
        json.dumps({**document, "instructions": instructions}), encoding="utf-8"
    )
    return path


async def _listing(path: Path) -> tuple[float, float]:
    """Seconds of CPU for tools/list, and for a question that search_tools answers, of 247 instructions."""
    bridge, _ = make_bridge(
        BridgeConfig([ProgramEntry(str(path), Chain())], surface="full")
    )
    listing = searching = math.inf
    async with Client(make_server(bridge), mode="legacy") as client:
        for _ in range(ROUNDS):
            started = time.process_time()
            assert len((await client.list_tools()).tools) >= 247
            listed = time.process_time()
            assert bridge.box.search(
                "operation 17, and what came of it for the vault", 3
            )
            listing = min(listing, listed - started)
            searching = min(searching, time.process_time() - listed)
    return listing, searching


INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"1"}}}\n'
)


def _start(sources: Sequence[Path | str], **env: str) -> tuple[float, float]:
    """Seconds of CPU and by the clock from nothing to the first answer of `idl2mcp serve`, over stdio."""
    command = [sys.executable, "-m", "idl2mcp", "serve", *map(str, sources)]
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        took = time.perf_counter() - started
        cpu = _cpu(process.pid)
        process.kill()
    return cpu, took


@contextmanager
def _deployed(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """A node's URL, and the ids of programs there: each has one of the IDLs in its Anchor IDL account."""
    chain = SvmTransport()
    elf = mute(bundled_so("counter").read_bytes())
    ids = []
    for path in paths:
        program_id = Pubkey.from_string(
            json.loads(path.read_text(encoding="utf-8"))["address"]
        )
        chain.add_program(program_id, elf)
        account = anchor_account(program_id, zlib.compress(path.read_bytes()))
        chain.set_account(anchor_idl_address(program_id), account)
        ids.append(str(program_id))
    with listening(SvmNode(chain, next(iter(CLUSTERS)))) as url:
        yield url, ids


def _sdk() -> float:
    """Seconds of CPU that importing the MCP SDK's server takes by itself."""
    code = "import time; t = time.process_time(); import mcp.server, mcp.server.stdio; print(time.process_time() - t)"
    return min(
        float(subprocess.check_output([sys.executable, "-c", code]))
        for _ in range(STARTS)
    )


def measure() -> list[Row]:
    """The rows; each side of a ratio is measured in turns with the other."""
    accounts = {"authority": str(wallet("alice").pubkey())}
    rows: list[Row] = []
    for what, source in (
        (
            "tools/call that builds a transaction, offline",
            ["programs/counter/idl.json"],
        ),
        (
            "tools/call that builds and simulates on LiteSVM",
            ["counter", "--wallet", "@alice"],
        ),
    ):
        for transport in ("stdio", "http"):
            (ours, ours_clock), (empty, empty_clock) = asyncio.run(
                _calls(source, accounts, transport)
            )
            clock = f"{ours_clock * 1e6:,.0f} and {empty_clock * 1e6:,.0f} µs"
            note = f"an empty tool, same SDK; by the clock {clock}"
            row = f"{what}, over {transport}"
            rows.append(
                Yardstick(
                    row, ours * 1e6, empty * 1e6, "µs CPU", needed=1 / 1.4, note=note
                )
            )
    with tempfile.TemporaryDirectory() as name:
        paths = [_idl(Path(name), n) for n in range(10)]
        listing, searching = asyncio.run(_listing(paths[0]))
        rows.append(
            Limit(
                "tools/list of 247 instructions",
                listing * 1e3,
                50,
                "ms CPU",
                "in process, with the client",
            )
        )
        rows.append(
            Limit(
                "search_tools among them",
                searching * 1e3,
                50,
                "ms CPU",
                "in process, best three",
            )
        )
        for count in (60, 247):
            ten = [_idl(Path(name), n, count) for n in range(10)]
            cpu, wall = min(_start(ten) for _ in range(STARTS))
            what = f"start with ten programs of {count} instructions, until it answers"
            note = f"{wall:.2f} s by the clock; {_sdk():.2f} s of the CPU's is importing the SDK"
            rows.append(Limit(what, cpu, 1, "s CPU", note))
            with _deployed(ten) as (url, ids):
                env = {"IDL2MCP_CACHE": f"{name}/cache{count}", "IDL2MCP_URL": url}
                first, first_wall = _start(ids, **env)
                cpu, wall = min(_start(ids, **env) for _ in range(STARTS))
            what = "the same, deployed ones, whose IDLs were kept at the first start"
            note = f"{wall:.2f} s by the clock; the first start: {first:.2f} s, {first_wall:.2f} s by the clock"
            rows.append(Limit(what, cpu, 1, "s CPU", note))
    return rows

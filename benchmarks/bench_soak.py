"""200 clients at once over HTTP for five minutes: no error, and memory that does not grow.

$SOAK_SECONDS and $SOAK_CLIENTS change that.

Clients of both protocol eras call as fast as they get answers: transactions that are built and simulated on LiteSVM,
calls that fail, accounts and balances that are read, lists of tools. Memory is the server's own, from when it is warm.
"""

from __future__ import annotations

import asyncio
import math
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.yardstick import Limit, Row

REPO = Path(__file__).resolve().parent.parent
SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))
CLIENTS = int(os.environ.get("SOAK_CLIENTS", "200"))
#: the server is warm when each client has had this many answers: the time counts from then
WARM_CALLS = 5
#: seconds that a client waits for an answer; a busy machine is no error of the server's
PATIENCE = 300
#: one for all clients, since it takes longer to make than hundreds of calls, and is not used over http
CERTIFICATES = ssl.create_default_context()

CONFIG = """
setup = "setup.toml"
[[program]]
source = "counter"
[[program]]
source = "vault"
[http]
calls_per_minute = 100_000_000 # all clients come from one address
"""
SETUP = """
[wallets]
alice = 10
[mints.coin]
decimals = 6
[tokens.alice_coin]
mint = "@coin"
owner = "@alice"
amount = 1_000_000
"""
#: a tool, its arguments, and whether the call is to succeed
CALLS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("counter_initialize", {"start": "7", "accounts": {"authority": "@alice"}}, True),
    ("vault_initialize", {"accounts": {"mint": "@coin", "authority": "@alice"}}, True),
    ("counter_initialize", {"start": "-1", "accounts": {"authority": "@alice"}}, False),
    ("counter_increment", {"amount": "1", "accounts": {"authority": "@alice"}}, False),
    ("get_balance", {"address": "@alice", "mints": ["@coin"]}, True),
)


@dataclass(slots=True)
class Soak:
    """What came of it. `warm`: seconds until the server was warm; `memory`: (seconds since then, resident bytes of the
    server), less than 0 before; `calls` and `seconds` are of both.
    """

    clients: int
    calls: int = 0
    seconds: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    cpu: float = 0.0
    warm: float = 0.0
    until: float = math.inf
    _warmed: int = 0

    @property
    def growth(self) -> float:
        """How much the server's memory grew since it was warm, in percent."""
        last = self.memory[-1][0]
        warm = [b for at, b in self.memory if 0 <= at <= last * 0.1]
        late = [b for at, b in self.memory if at >= last * 0.9]
        return (median(late) / median(warm) - 1) * 100

    def percentile(self, share: float) -> float:
        """Seconds under which this share of the calls was answered."""
        ordered = sorted(self.took)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def soak(seconds: float, clients: int) -> Soak:
    """Runs it. Raises AssertionError where the server does not start or does not live to the end."""
    from tests.ports import free_port

    out = Soak(clients)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bridge.toml").write_text(CONFIG, encoding="utf-8")
        (folder / "setup.toml").write_text(SETUP, encoding="utf-8")
        port = free_port()
        command = [
            sys.executable,
            "-m",
            "idl2mcp",
            "serve",
            "--config",
            "bridge.toml",
            "--transport",
            "http",
        ]
        with (folder / "stderr.txt").open("wb") as errors:
            process = subprocess.Popen(
                [*command, "--port", str(port)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(REPO)},
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        try:
            asyncio.run(
                _run(out, f"http://127.0.0.1:{port}/mcp", process.pid, seconds, clients)
            )
            assert process.poll() is None, "the server ended"
        finally:
            process.terminate()
            process.wait(30)
        text = (folder / "stderr.txt").read_text(encoding="utf-8")
        out.errors["traceback on stderr"] += text.count("Traceback")
        if out.errors.total():
            sys.stderr.write(text[-3000:])
    return out


async def _run(out: Soak, url: str, pid: int, seconds: float, clients: int) -> None:
    for _ in range(300):
        try:
            _, writer = await asyncio.open_connection(
                "127.0.0.1", int(url.split(":")[2].split("/")[0])
            )
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.1)
    started = time.monotonic()
    cpu = _cpu(pid)

    async def watch() -> None:
        while True:
            now = time.monotonic()
            out.memory.append((now - out.until + seconds, _resident(pid)))
            if out.until == math.inf and now - started > PATIENCE:
                out.errors["not all clients had their first answers"] += 1
                out.until = now + seconds
            await asyncio.sleep(min(1.0, seconds / 50))

    watcher = asyncio.create_task(watch())
    await asyncio.gather(
        *(_client(out, url, number, seconds) for number in range(clients))
    )
    watcher.cancel()
    out.seconds = time.monotonic() - started
    out.warm = out.until - seconds - started
    out.cpu = _cpu(pid) - cpu


async def _client(out: Soak, url: str, number: int, seconds: float) -> None:
    """One client, until the time is up; one that loses its connection counts as an error, and begins again."""
    place, answers = number, 0
    mode: Any = "legacy" if number % 2 else "auto"
    while time.monotonic() < out.until:
        try:
            async with (
                httpx2.AsyncClient(timeout=PATIENCE, verify=CERTIFICATES) as http,
                Client(
                    streamable_http_client(url, http_client=http), mode=mode
                ) as client,
            ):
                while time.monotonic() < out.until:
                    place += 1
                    started = time.monotonic()
                    if place % 50 == 0:
                        assert len((await client.list_tools()).tools) > 5
                    else:
                        tool, arguments, good = CALLS[place % len(CALLS)]
                        result = await client.call_tool(tool, arguments)
                        if result.is_error is good:
                            out.errors[f"{tool}: {str(result.content)[:200]}"] += 1
                    out.took.append(time.monotonic() - started)
                    out.calls += 1
                    answers += 1
                    out._warmed += answers == WARM_CALLS
                    if answers == WARM_CALLS and out._warmed == out.clients:
                        out.until = time.monotonic() + seconds
        except Exception as error:  # noqa: BLE001  # whatever it is, it is an error of the soak
            cause = _cause(error)
            out.errors[f"{mode}: {type(cause).__name__}: {str(cause)[:200]}"] += 1
            await asyncio.sleep(0.5)


def _cause(error: BaseException) -> BaseException:
    """What is in the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _cpu(pid: int) -> float:
    fields = (
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told(out: Soak) -> str:
    """The figures, for people."""
    first, last = next(b for at, b in out.memory if at >= 0), out.memory[-1][1]
    return (
        f"{out.calls:,} calls in {out.seconds:.0f} s ({out.calls / out.seconds:.0f} a second, "
        f"{out.cpu / max(out.calls, 1) * 1000:.2f} ms of the server's CPU each), "
        f"half in {out.percentile(0.5) * 1000:.0f} ms, 99 % in {out.percentile(0.99) * 1000:.0f} ms; "
        f"memory {first / 2**20:.0f} MiB when warm (after {out.warm:.0f} s), {last / 2**20:.0f} MiB at the end"
    )


def measure() -> list[Row]:
    """The rows. On a busy machine the rates say little; the errors and the growth still count."""
    out = soak(SECONDS, CLIENTS)
    print(told(out))
    for what, count in out.errors.most_common(10):
        if count:
            print(f"  {count} x {what}")
    what = f"{CLIENTS} clients over HTTP for {SECONDS:.0f} s"
    return [
        Limit(f"{what}: errors", out.errors.total(), 0, "errors"),
        Limit(
            f"{what}: growth of the server's memory",
            out.growth,
            20,
            "%",
            "since it was warm",
        ),
    ]

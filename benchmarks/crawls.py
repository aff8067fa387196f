"""Crawls by one worker and by two, each worker a process, with the CPU time of all that takes part.

On a machine with few cores the wall time says less than the CPU time: workers that wait for cores are slow.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.yardstick import Limit, NotMeasured, Row, Yardstick
from mcpsol_py.catalog.crawl import AT_ONCE
from tests.postgres import ADVICE, Cluster, binaries

REPO = Path(__file__).parents[1]
LATENCY = 0.05
#: The second crawl comes after one program of so many was deployed again.
CHANGED = 100
WORKER = """
import asyncio, sys
from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.crawl import Crawl
from mcpsol_py.catalog.crawl_queue import run_crawl

async def main(database, url, lists):
    with Catalog.open(database, indexed=False) as catalog:
        crawl = Crawl(catalog, url)
        await run_crawl(crawl, lists=lists == "lists", patience=60)
        await crawl.close()

asyncio.run(main(*sys.argv[1:]))
"""


def crawls(count: int) -> Iterator[Row]:
    """Two workers at least 1.8 times as fast as one; what a second crawl reads."""
    found = binaries()
    if found is None:
        raise NotMeasured(ADVICE)
    if not Path("/proc/self/stat").exists():
        raise NotMeasured(
            "the CPU time of processes is read from /proc: run it on Linux"
        )
    cluster = Cluster(found)
    try:
        with _node(count) as node:
            one, _ = _crawled(cluster, node, 1)
            two, database = _crawled(cluster, node, 2)
            before = node.ask("benchCounts")["idls"]
            node.ask("benchDeploy", CHANGED)
            _run(database, node.url, 1)
            again = node.ask("benchCounts")["idls"] - before
    finally:
        cluster.stop()
    what = f"a crawl of {count:,} programs"
    note = f"two workers, and one; each reads {AT_ONCE} programs together. With two: {two}. With one: {one}"
    yield Yardstick(what, two.wall, one.wall, "s", 1.8, note=note)
    share = 100 * again / count
    yield Limit("programs read by a second crawl, 1 % changed", share, 2, "%")


# --- what takes part -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """The seconds of a crawl by the clock, and the CPU seconds of all that took part."""

    wall: float
    workers: float
    node: float
    database: float
    requests: int
    idls: int

    def __sub__(self, earlier: Cost) -> Cost:
        return Cost(
            self.wall - earlier.wall,
            self.workers - earlier.workers,
            self.node - earlier.node,
            self.database - earlier.database,
            self.requests - earlier.requests,
            self.idls - earlier.idls,
        )

    def __str__(self) -> str:
        return (
            f"{self.wall:.1f} s, CPU {self.workers:.1f} s in workers, {self.node:.1f} s in the node, "
            f"{self.database:.1f} s in PostgreSQL; {self.requests:,} requests, {self.idls:,} programs read"
        )


@dataclass(slots=True)
class _Node:
    """The process of crawl_node.py."""

    url: str
    pid: int

    def ask(self, method: str, *params: Any) -> Any:
        """The result of a request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.url, json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())["result"]


@contextmanager
def _node(count: int) -> Iterator[_Node]:
    command = [sys.executable, "-m", "benchmarks.crawl_node", str(count), str(LATENCY)]
    with subprocess.Popen(
        command, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield _Node(process.stdout.readline().strip(), process.pid)
        process.stdin.close()


def _crawled(cluster: Cluster, node: _Node, workers: int) -> tuple[Cost, str]:
    """The cost of a crawl into a new database, from the start of all workers to the end of the last."""
    database = cluster.url(cluster.database(migrated=False))
    before = _spent(cluster, node)
    _run(database, node.url, workers)
    return _spent(cluster, node) - before, database


def _spent(cluster: Cluster, node: _Node) -> Cost:
    """What was spent until now; the difference of two is what a crawl cost."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = node.ask("benchCounts")
    return Cost(
        wall=time.perf_counter(),
        workers=ended.ru_utime + ended.ru_stime,
        node=_cpu_seconds(node.pid),
        database=sum(map(_cpu_seconds, _with_children(cluster.pid))),
        requests=counts["requests"],
        idls=counts["idls"],
    )


def _with_children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, listed.split())]


def _cpu_seconds(pid: int) -> float:
    """The CPU time of a process, and of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _run(database: str, url: str, workers: int) -> None:
    """Crawl *url* with so many workers; the first one lists the programs."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-c", WORKER, database, url]
        running = [
            subprocess.Popen(
                [*command, "takes" if number else "lists"],
                env={**os.environ, "IDL2MCP_CACHE": f"{cache}/{number}"},
                cwd=REPO,
            )
            for number in range(workers)
        ]
        for worker in running:
            if worker.wait() != 0:
                raise NotMeasured(
                    f"a worker of the crawl ended with {worker.returncode}"
                )

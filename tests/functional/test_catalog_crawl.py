"""The crawl on a real PostgreSQL: workers are killed at each step, and no version is missing or recorded twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.store.database import CatalogDatabase
from tests.postgres import ADVICE, Cluster, binaries
from tests.support.many_programs import ManyPrograms, listening
from tests.unit.catalog.shops import idl

REPO = Path(__file__).parents[2]
COUNT, AT_ONCE = 60, 4
WORKER = """
import asyncio, sys
from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.crawl import Crawl
from mcpsol_py.catalog.crawl_queue import run_crawl

async def main(database, url, lists):
    with Catalog.open(database, seeds=False) as catalog:
        crawl = Crawl(catalog, url, at_once=4)
        await run_crawl(crawl, lists=lists == "lists", silent_after=1.5)
        await crawl.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Cluster]:
    found = binaries()
    if found is None:
        pytest.skip(ADVICE)
    cluster = Cluster(found)
    yield cluster
    cluster.stop()


def worker(database: str, url: str, lists: str, cache: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, database, url, lists],
        env={**os.environ, "IDL2MCP_CACHE": str(cache)},
        cwd=REPO,
        stderr=subprocess.PIPE,
    )


def test_killed_workers_lose_and_repeat_nothing(
    postgres: Cluster, tmp_path: Path
) -> None:
    """The first is killed while it lists and defers, the others while they read and record."""
    name = postgres.database(migrated=False)
    database = postgres.url(name)
    node = ManyPrograms([idl(f"shop{number}") for number in range(COUNT)], 0.02)
    kills = 0
    with listening(node) as url:
        # Requests after which a worker is killed: at the list, after it, and at every step of reading.
        for requests in (2, 3, 5, 9, 20, 33, 47, 64):
            ended = sum(node.asked.values()) + requests
            running = worker(database, url, "lists" if requests < 9 else "", tmp_path)
            while sum(node.asked.values()) < ended and running.poll() is None:
                time.sleep(0.002)
            running.kill()
            running.communicate()
            kills += 1
        for lists in ("", "lists"):
            last = worker(database, url, lists, tmp_path)
            _, errors = last.communicate(timeout=120)
            assert last.returncode == 0, errors.decode()[-2000:]
    opened = CatalogDatabase(database)
    count = "SELECT count(*), count(DISTINCT program_id) FROM catalog_versions"
    rows, programs = opened.run(
        lambda connection: connection.execute(text(count)).one()
    )
    opened.close()
    assert (rows, programs) == (COUNT, COUNT)
    assert set(node.idls_read) == {str(address) for address in node.addresses}
    assert sum(node.idls_read.values()) <= COUNT + kills * AT_ONCE
    with Catalog.open(
        database, index=tmp_path / "index.search", seeds=False
    ) as catalog:
        assert len(catalog.search("buy product", limit=100)) > 50
    postgres.drop([name])

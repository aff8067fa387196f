"""The crawl: each deployment is read once, a changed one again, and what fails is read by the next crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.crawl import Crawl, Progress
from mcpsol_py.errors import SourceError
from tests.support.many_programs import ManyPrograms, listening
from tests.unit.catalog.shops import idl

COUNT = 40


@pytest.fixture
def node() -> ManyPrograms:
    return ManyPrograms([idl(f"shop{number}") for number in range(COUNT)])


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.open(str(tmp_path / "catalog.db"), seeds=False) as opened:
        yield opened


async def crawled(catalog: Catalog, url: str) -> Progress:
    crawl = Crawl(catalog, url)
    try:
        return await crawl.run()
    finally:
        await crawl.close()


async def test_every_program_is_read_and_found(catalog: Catalog, node: ManyPrograms) -> None:
    with listening(node) as url:
        progress = await crawled(catalog, url)
    assert (progress.read, progress.new_versions, progress.failed) == (COUNT, COUNT, 0)
    assert catalog.records.count() == (COUNT, COUNT)
    address = str(node.addresses[3])
    row = catalog.records.program(address)
    assert (row.current.first_slot, row.current.source) == (103, "Anchor IDL account")
    assert any(hit.address == address for hit in catalog.search(f"buy product at {address}"))


async def test_a_second_crawl_reads_only_what_changed(catalog: Catalog, node: ManyPrograms) -> None:
    with listening(node) as url:
        await crawled(catalog, url)
        node.idls_read.clear()
        node.deploy(node.addresses[5], 900, idl("shop5", version="2"))
        progress = await crawled(catalog, url)
    assert set(node.idls_read) == {str(node.addresses[5])}
    assert (progress.known, progress.read, progress.new_versions) == (COUNT - 1, 1, 1)
    newest, oldest = catalog.records.program(str(node.addresses[5])).versions
    assert (oldest.first_slot, oldest.last_slot, newest.first_slot) == (105, 899, 900)


async def test_a_crawl_that_is_stopped_goes_on_where_it_was(
    catalog: Catalog, node: ManyPrograms
) -> None:
    node.latency = 0.02
    with listening(node) as url:
        crawl = Crawl(catalog, url, at_once=2)
        task = asyncio.create_task(crawl.run())
        while crawl.progress.done < 5:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await crawl.close()
        before = len(catalog.records.read_slots(await _chain(url)))
        await crawled(catalog, url)
    assert 5 <= before < COUNT
    assert catalog.records.count() == (COUNT, COUNT)
    assert sum(node.idls_read.values()) <= COUNT + 2  # those that were being read


async def _chain(url: str) -> str:
    crawl = Crawl(Catalog.in_memory([]), url)
    try:
        return await crawl.chain()
    finally:
        await crawl.close()


async def test_a_hostile_idl_stops_nothing(catalog: Catalog, node: ManyPrograms) -> None:
    node.deploy(node.addresses[0], 500, {"instructions": "none", "name": "\x1b[31m"})
    with listening(node) as url:
        progress = await crawled(catalog, url)
    assert (progress.faulty, progress.read) == (1, COUNT - 1)
    assert list(catalog.faults) == [str(node.addresses[0])]


def test_a_pace_of_nothing_is_refused(catalog: Catalog) -> None:
    with pytest.raises(SourceError, match="more than 0"):
        Crawl(catalog, "http://127.0.0.1:1", per_second=0)

"""The crawl: each deployment is read once, a changed one again, and what fails is read by the next crawl."""

from __future__ import annotations

import asyncio
import base64
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.crawl import Crawl, Progress
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.errors import SourceError
from tests.functional.idl_accounts import metadata_account, packed
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


async def test_every_program_is_read_and_found(
    catalog: Catalog, node: ManyPrograms
) -> None:
    with listening(node) as url:
        progress = await crawled(catalog, url)
    assert (progress.read, progress.new_versions, progress.failed) == (COUNT, COUNT, 0)
    assert catalog.records.count() == (COUNT, COUNT)
    address = str(node.addresses[3])
    row = catalog.records.program(address)
    assert (row.current.first_slot, row.current.source) == (103, "Anchor IDL account")
    assert any(
        hit.address == address for hit in catalog.search(f"buy product at {address}")
    )


async def test_a_second_crawl_reads_only_what_changed(
    catalog: Catalog, node: ManyPrograms
) -> None:
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


async def test_a_hostile_idl_stops_nothing(
    catalog: Catalog, node: ManyPrograms
) -> None:
    node.deploy(node.addresses[0], 500, {"instructions": "none", "name": "\x1b[31m"})
    with listening(node) as url:
        progress = await crawled(catalog, url)
    assert (progress.faulty, progress.read) == (1, COUNT - 1)
    assert list(catalog.faults) == [str(node.addresses[0])]
    assert "instructions" in catalog.faults[str(node.addresses[0])]


def test_a_pace_of_nothing_is_refused(catalog: Catalog) -> None:
    with pytest.raises(SourceError, match="more than 0"):
        Crawl(catalog, "http://127.0.0.1:1", per_second=0)
    with pytest.raises(SourceError, match="one limit for all nodes or one for each"):
        Crawl(catalog, ["http://127.0.0.1:1"] * 3, per_second=[1, 2])


# --- nodes and their limits ------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path / "cache"))


def most_in_a_second(times: list[float]) -> int:
    return max(sum(start <= time < start + 1 for time in times) for start in times)


async def test_a_node_gets_no_more_requests_than_its_limit(
    catalog: Catalog, node: ManyPrograms
) -> None:
    with listening(node) as url:
        crawl = Crawl(catalog, url, per_second=50)
        done = await crawl.run()
        await crawl.close()
    assert done.read == COUNT
    # Requests that were late are not spaced when they arrive.
    assert most_in_a_second(node.times) <= 55


async def test_processes_of_one_machine_share_a_limit(node: ManyPrograms) -> None:
    """Two crawls know nothing of each other but the file of the pace."""
    with listening(node) as url:
        catalogs = [Catalog.in_memory([]) for _ in range(2)]
        crawls = [Crawl(one, url, per_second=50) for one in catalogs]
        await asyncio.gather(*(crawl.run() for crawl in crawls))
        for crawl, catalog in zip(crawls, catalogs, strict=True):
            await crawl.close()
            catalog.close()
    assert most_in_a_second(node.times) <= 70


async def test_a_node_that_asks_to_wait_gets_no_request_meanwhile(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """Also none of the programs that are read at the same time."""
    node.latency = 0.01
    with listening(node) as url:
        refused = iter([1])

        def refuse_once(_: Progress) -> None:
            node.refusals, node.retry_after = next(refused, node.refusals), 1.5

        crawl = Crawl(catalog, url, at_once=8, report=refuse_once)
        await crawl.run()
        await crawl.close()
    times = sorted(node.times)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) >= 1.3
    assert (crawl.progress.read, crawl.progress.failed) == (COUNT, 0)


async def test_several_nodes_share_the_work_and_one_takes_over(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """Each has its own limit; what one does not answer the other reads."""
    other = ManyPrograms([idl(f"shop{number}") for number in range(COUNT)], 0.01)
    node.latency = 0.01
    with listening(node) as first, listening(other) as second:
        crawl = Crawl(catalog, [first, second], at_once=2, per_second=[20, 1000])
        await crawl.run()
        await crawl.close()
        assert crawl.progress.read == COUNT
        assert most_in_a_second(node.times) <= 35
        read = [sum(one.idls_read.values()) for one in (node, other)]
        assert min(read) > 0
        assert sum(read) == COUNT
    with listening(other) as second:
        for number, address in enumerate(other.addresses):
            other.deploy(address, 900 + number, idl(f"shop{number}", version="2"))
        crawl = Crawl(catalog, [second, "http://127.0.0.1:9"], at_once=2)
        await crawl.run()
        await crawl.close()
    assert (crawl.progress.read, crawl.progress.failed) == (COUNT, 0)
    assert "1 silent endpoints" in crawl.progress.text()


async def test_nodes_of_two_chains_are_refused(
    catalog: Catalog, node: ManyPrograms
) -> None:
    other = ManyPrograms([idl()])
    other.do_getGenesisHash = lambda: "another"  # type: ignore[method-assign]
    with listening(node) as first, listening(other) as second:
        crawl = Crawl(catalog, [first, second])
        with pytest.raises(SourceError, match="one chain"):
            await crawl.run()
        await crawl.close()


async def test_sources_of_one_program_that_differ_are_a_conflict(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """Both IDL accounts are read, and lint is recorded with each."""
    address = node.addresses[0]
    content = packed(idl("shop0", instructions=idl()["instructions"][:2]))
    node.accounts[str(metadata_address(address))] = metadata_account(address, content)
    with listening(node) as url:
        done = await crawled(catalog, url)
    row = catalog.records.program(str(address))
    assert (done.read, done.new_versions) == (COUNT, COUNT + 1)
    assert [one.source for one in row.versions] == [
        "Program Metadata",
        "Anchor IDL account",
    ]
    (conflict,) = catalog.records.conflicts(row)
    assert conflict.paths == ("close_shop",)
    assert all(one.lint is not None for one in row.versions)


def test_the_estimate_counts_what_all_workers_do() -> None:
    progress = Progress(todo=20, read=10, queued=100, waiting=60)
    progress.started -= 4.0
    assert progress.seconds_left == pytest.approx(4.0 / 40 * 70, rel=0.1)
    assert "60 waiting for a worker" in progress.text()


async def test_a_deployment_without_another_schema_is_not_linted_again(
    catalog: Catalog, node: ManyPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(node) as url:
        await crawled(catalog, url)

        def linted(_: object) -> None:
            raise AssertionError("this schema was linted before")

        monkeypatch.setattr("mcpsol_py.schema.lint.lint", linted)
        node.deploy(node.addresses[5], 900, idl("shop5"))
        progress = await crawled(catalog, url)
    assert (progress.read, progress.new_versions) == (1, 0)


async def test_a_program_that_can_be_read_again_is_no_fault_any_more(
    catalog: Catalog, node: ManyPrograms
) -> None:
    address = node.addresses[0]
    with listening(node) as url:
        node.deploy(address, 500, {"instructions": "none"})
        await crawled(catalog, url)
        assert list(catalog.faults) == [str(address)]
        node.deploy(address, 501, idl("shop0"))
        await crawled(catalog, url)
    assert catalog.faults == {}


async def test_programs_that_are_read_together_take_few_requests(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """One for the IDL accounts of all, one for their deployments, and one to each for its list_tools."""
    with listening(node) as url:
        crawl = Crawl(catalog, url, at_once=20)
        await crawl.run()
        await crawl.close()
    assert node.asked["getMultipleAccounts"] == 2 * COUNT / 20
    assert node.asked["simulateTransaction"] == COUNT


async def test_a_program_that_is_deployed_while_it_is_read_is_read_again(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """The others that were read together with it are not."""
    address = node.addresses[1]

    def deployed_meanwhile(*_: object) -> object:
        node.do_simulateTransaction = ManyPrograms.do_simulateTransaction.__get__(node)  # type: ignore[method-assign]
        node.deploy(address, 900, idl("shop1", version="2"))
        return node.do_simulateTransaction()

    node.do_simulateTransaction = deployed_meanwhile  # type: ignore[method-assign]
    with listening(node) as url:
        await crawled(catalog, url)
    (only,) = catalog.records.program(str(address)).versions
    assert (only.first_slot, only.version) == (900, "2")
    assert node.idls_read == Counter({str(key): 1 for key in node.addresses}) + Counter(
        [str(address)]
    )


async def test_a_program_of_which_the_node_tells_nothing_is_read_by_the_next_crawl(
    catalog: Catalog, node: ManyPrograms
) -> None:
    address = node.addresses[1]

    def answers_about_others(text: str, *_: object) -> object:
        about = bytes(address) in base64.b64decode(text)
        return "busy" if about else ManyPrograms.do_simulateTransaction(node)

    node.do_simulateTransaction = answers_about_others  # type: ignore[method-assign]
    with listening(node) as url:
        first = await crawled(catalog, url)
        node.do_simulateTransaction = ManyPrograms.do_simulateTransaction.__get__(node)  # type: ignore[method-assign]
        second = await crawled(catalog, url)
    assert (first.failed, first.faulty, first.read) == (1, 0, COUNT - 1)
    assert (second.failed, second.faulty, second.read) == (0, 0, 1)


async def test_large_idl_accounts_are_read_on_their_own(
    catalog: Catalog, node: ManyPrograms
) -> None:
    """A hundred of the largest accounts would be more than an answer may have."""
    large, address = random.Random(1).randbytes(700_000).hex(), node.addresses[0]
    node.deploy(address, 900, {**idl("shop0"), "docs": [large]})
    with listening(node) as url:
        progress = await crawled(catalog, url)
    assert progress.read == COUNT
    assert [key for key, times in node.idls_read.items() if times > 1] == [str(address)]

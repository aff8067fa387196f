"""The crawl: lists the programs of a chain, and reads the schema of each that was deployed since.

The listing has the slot of each deployment and no program's data. A program whose slot is recorded is not read again.
What one program gives is written in one transaction, its version and that it was read, so a stop at any point loses
nothing and repeats at most what was being read.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.catalog.catalog import Catalog
from mcpsol_py.catalog.records import NewVersion
from mcpsol_py.client.discovery import discover_all
from mcpsol_py.client.loader import deployment_mark
from mcpsol_py.client.pace import Pace
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.simulation import Payers
from mcpsol_py.errors import (
    McpsolError,
    NoProgram,
    NoSchema,
    SourceError,
    TransportError,
)
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.solana.clusters import cluster_url
from mcpsol_py.solana.ids import UPGRADEABLE_LOADER
from mcpsol_py.solana.loader import (
    PROGRAM_HEAD,
    PROGRAM_SIZE,
    PROGRAMDATA_HEAD,
    SLOT_END,
    data_address,
    slot_of,
)

__all__ = ["Crawl", "Deployed", "Progress", "list_deployments"]

#: How often a program is read that is deployed while it is read.
_TRIES = 3
#: The index is brought up to date after so many programs.
_INDEX_EVERY = 500


@dataclass(frozen=True, slots=True)
class Deployed:
    """A program and the slot of its last deployment."""

    address: str
    slot: int


@dataclass(slots=True)
class Progress:
    """What this process did of a crawl so far. `failed`: programs that no node told; the next crawl reads them.

    `silent_nodes`: nodes that did not answer at the start, and are not asked later. `queued` and `waiting`: programs
    that were in the queue of all workers when this one began, and those in it now.
    """

    listed: int = 0
    known: int = 0
    todo: int = 0
    read: int = 0
    without_schema: int = 0
    faulty: int = 0
    failed: int = 0
    new_versions: int = 0
    silent_nodes: int = 0
    queued: int = 0
    waiting: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """How many programs were asked."""
        return self.read + self.without_schema + self.faulty + self.failed

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the seconds until the end, also of what other workers do; None before the first program."""
        by_all = max(self.done, self.queued - self.waiting)
        if not by_all:
            return None
        left = self.todo - self.done + self.waiting
        return (time.monotonic() - self.started) / by_all * left

    def text(self) -> str:
        """Return the progress in words."""
        left = self.seconds_left
        silent = f", {self.silent_nodes} silent endpoints" if self.silent_nodes else ""
        queue = f", {self.waiting:,} waiting for a worker" if self.queued else ""
        estimate = "" if left is None else f", about {left:.0f} s left"
        return (
            f"{self.done:,} of {self.todo:,} programs ({self.known:,} unchanged): {self.read:,} read, "
            f"{self.new_versions:,} new versions, {self.without_schema:,} without a schema, "
            f"{self.faulty:,} faulty, {self.failed:,} not answered{silent}{queue}{estimate}"
        )


async def list_deployments(node: RpcTransport) -> list[Deployed]:
    """Return every program of the upgradeable loader with its slot, from slices of accounts. Raises TransportError."""
    programs = await _slices(node, PROGRAM_HEAD, PROGRAM_SIZE)
    data = await _slices(node, PROGRAMDATA_HEAD, SLOT_END)
    heads = {bytes(Pubkey.from_string(key)): head for key, head in data.items()}
    found = []
    for key, program in sorted(programs.items()):
        head = heads.get(data_address(program))
        if head is not None:  # a program without data was closed
            found.append(Deployed(key, slot_of(head)))
    return found


async def _slices(node: RpcTransport, tag: bytes, length: int) -> dict[str, bytes]:
    options = {
        "commitment": node.commitment,
        "encoding": "base64",
        "dataSlice": {"offset": 0, "length": length},
        "filters": [{"memcmp": {"offset": 0, "bytes": b58encode(tag)}}],
    }
    rows = await node.request("getProgramAccounts", [UPGRADEABLE_LOADER, options])
    try:
        found = {
            str(row["pubkey"]): base64.b64decode(row["account"]["data"][0])
            for row in rows
        }
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise TransportError(
            node.endpoint, "the list of programs has another form"
        ) from error
    return {key: data[:length] for key, data in found.items() if len(data) >= length}


class Crawl:
    """Reads programs of the chain at *urls* into a catalogue. Several nodes of one chain share the work.

    *at_once*: programs that are read at the same time at each node. *per_second*: requests that a node gets in a second
    at most, None for no limit; one number for all nodes, or one for each. *report* is called with the progress.
    """

    def __init__(
        self,
        catalog: Catalog,
        urls: str | Sequence[str],
        *,
        at_once: int = 8,
        per_second: float | Sequence[float] | None = None,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.catalog, self.progress = catalog, Progress()
        self._nodes = _nodes([urls] if isinstance(urls, str) else urls, per_second)
        self._active = self._nodes
        self._at_once, self._report = at_once, report
        self._chain = ""
        self._unindexed = 0

    async def close(self) -> None:
        """Close the connections."""
        for node in self._nodes:
            await node.transport.close()

    async def run(self) -> Progress:
        """List the programs and read those that changed. Raises TransportError if the list cannot be had."""
        await self.read(await self.changed())
        return self.progress

    async def changed(self) -> list[Deployed]:
        """Return the programs that were deployed since they were read."""
        chain = await self.chain()
        listed = await self._list()
        known = await asyncio.to_thread(self.catalog.records.read_slots, chain)
        todo = [one for one in listed if known.get(one.address) != one.slot]
        self.progress.listed = len(listed)
        self.progress.known = len(listed) - len(todo)
        return todo

    async def unread(self, programs: Sequence[Deployed]) -> list[Deployed]:
        """Return those of *programs* that were not read at their slot."""
        addresses = [one.address for one in programs]
        known = await asyncio.to_thread(
            self.catalog.records.read_slots, await self.chain(), addresses
        )
        return [one for one in programs if known.get(one.address) != one.slot]

    async def _list(self) -> list[Deployed]:
        """Return the programs, as the first node that can list them does. Raises TransportError."""
        *others, last = self._active
        for node in others:
            with suppress(TransportError):
                return await list_deployments(node.transport)
        return await list_deployments(last.transport)

    async def chain(self) -> str:
        """Return the genesis hash of the chain. From then on, only nodes that told it are asked.

        Raises SourceError for nodes of several chains, and TransportError if no node answers.
        """
        if self._chain:
            return self._chain
        told: dict[str, list[_Node]] = {}
        failure: TransportError | None = None
        for node in self._nodes:
            try:
                genesis = str(await node.transport.request("getGenesisHash"))
            except TransportError as error:
                failure = error
                self.progress.silent_nodes += 1
            else:
                told.setdefault(genesis, []).append(node)
        if not told:
            assert failure is not None
            raise failure
        if len(told) > 1:
            raise SourceError("expected nodes of one chain, got nodes of several")
        ((self._chain, self._active),) = told.items()
        return self._chain

    async def read(self, programs: Sequence[Deployed]) -> None:
        """Read *programs*, those of them that were not read at their slot by now."""
        await self.chain()
        self.progress.todo += len(programs)
        waiting = iter(programs)

        async def work(nodes: Sequence[_Node]) -> None:
            for one in waiting:
                await self._read_one(one, nodes)

        async with asyncio.TaskGroup() as group:
            for place in range(len(self._active)):
                # The others take over.
                nodes = [*self._active[place:], *self._active[:place]]
                for _ in range(min(self._at_once, len(programs))):
                    group.create_task(work(nodes))
        await asyncio.to_thread(self.catalog.refresh)

    async def _read_one(self, one: Deployed, nodes: Iterable[_Node]) -> None:
        """Read a program at the first of *nodes* that answers, and record what it gave."""
        for node in nodes:
            try:
                found = await _read_program(node, one)
            except TransportError:
                continue
            await self._record(one, found)
            break
        else:
            self.progress.failed += 1
        self._report(self.progress)

    async def _record(self, one: Deployed, found: _Found) -> None:
        records, progress = self.catalog.records, self.progress
        added, outcome = await asyncio.to_thread(
            records.record_read,
            self._chain,
            one.address,
            found.slot,
            found.versions,
            found.why,
        )
        progress.read += outcome == "read"
        progress.faulty += outcome == "faulty"
        progress.without_schema += outcome == "none"
        progress.new_versions += added
        self._unindexed += added
        if self._unindexed >= _INDEX_EVERY:
            self._unindexed = 0
            await asyncio.to_thread(self.catalog.refresh)


@dataclass(frozen=True, slots=True)
class _Found:
    """The versions that the sources of a program gave. `why`: why it gave no version, if a source is faulty."""

    slot: int
    versions: tuple[NewVersion, ...] = ()
    why: str = ""


async def _read_program(node: _Node, one: Deployed) -> _Found:
    """Return the schemas of the deployment that was there when they were read. Raises TransportError."""
    slot, key = one.slot, Pubkey.from_string(one.address)
    for _ in range(_TRIES):
        found = await _discovered(node, key, slot)
        now = (await deployment_mark(node.transport, key)).slot
        if now in (slot, None):
            return found
        slot = now  # it was deployed meanwhile, so what was read may be of either
    why = f"{one.address} is deployed again and again"
    raise TransportError(node.transport.endpoint, why, retryable=True)


async def _discovered(node: _Node, key: Pubkey, slot: int) -> _Found:
    try:
        found = await discover_all(node.transport, key, node.payers)
        return _Found(
            slot, tuple(NewVersion.discovered(one, str(key), slot) for one in found)
        )
    except NoProgram:
        return _Found(slot)
    except NoSchema as error:
        return _Found(
            slot, why=clean_text(str(error), 1000) if "corrupt" in str(error) else ""
        )
    except TransportError:
        raise
    except (McpsolError, RecursionError) as error:
        return _Found(slot, why=clean_text(str(error) or type(error).__name__, 1000))


@dataclass(frozen=True, slots=True)
class _Node:
    """A node that is read from, and who pays in its simulations."""

    transport: RpcTransport
    payers: Payers


def _nodes(
    urls: Sequence[str], per_second: float | Sequence[float] | None
) -> list[_Node]:
    """Return the nodes at *urls*, each with its own pace. Raises SourceError."""
    limits = list(per_second) if isinstance(per_second, Sequence) else [per_second]
    if not urls or len(limits) not in (1, len(urls)):
        raise SourceError(
            f"expected one limit for all nodes or one for each, got {len(limits)} for {len(urls)} nodes"
        )
    paces = limits if len(limits) == len(urls) else limits * len(urls)
    return [
        _Node(RpcTransport(url, pace=Pace(cluster_url(url), limit)), Payers())
        for url, limit in zip(urls, paces, strict=True)
    ]


def jobs_of(programs: Sequence[Deployed], size: int) -> list[list[list[Any]]]:
    """Return *programs* in parts of *size*, as JSON values."""
    rows = [[one.address, one.slot] for one in programs]
    return [rows[start : start + size] for start in range(0, len(rows), size)]

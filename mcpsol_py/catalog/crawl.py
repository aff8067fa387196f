"""The crawl: lists the programs of a chain, and reads the schema of each that was deployed since.

The listing has the slot of each deployment and no program's data. A program whose slot is recorded is not read again.
Programs are read together, a few at a time: one request reads the IDL accounts of all of them, and one the slots of
their deployments. What they give is written in one transaction, the versions and that they were read. So a stop at any
point loses nothing and repeats at most what was being read.
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
from mcpsol_py.catalog.records import NewVersion, ProgramRead
from mcpsol_py.client.discovery import Discovery, discover_all
from mcpsol_py.client.loader import deployment_marks
from mcpsol_py.client.pace import Pace
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.simulation import Payers
from mcpsol_py.errors import (
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

__all__ = ["AT_ONCE", "Crawl", "Deployed", "Progress", "list_deployments"]

#: Programs that one process reads together at each node, if nothing else is asked for.
AT_ONCE = 8
#: How often a program is read that is deployed while it is read.
_TRIES = 3


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

    *at_once*: programs that are read together at each node. *per_second*: requests that a node gets in a second
    at most, None for no limit; one number for all nodes, or one for each. *report* is called with the progress.
    """

    def __init__(
        self,
        catalog: Catalog,
        urls: str | Sequence[str],
        *,
        at_once: int = AT_ONCE,
        per_second: float | Sequence[float] | None = None,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.catalog, self.progress = catalog, Progress()
        self._nodes = _nodes([urls] if isinstance(urls, str) else urls, per_second)
        self._active = self._nodes
        self._at_once, self._report = at_once, report
        self._chain = ""

    async def close(self) -> None:
        """Close the connections."""
        for node in self._nodes:
            await node.transport.close()

    async def run(self) -> Progress:
        """List the programs, read those that changed, and bring the search index up to date.

        Raises TransportError if the list cannot be had.
        """
        await self.read(await self.changed())
        await asyncio.to_thread(self.catalog.refresh)
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
        """Read *programs*. The search index stays as it is."""
        await self.chain()
        self.progress.todo += len(programs)
        waiting = iter(_parts(programs, self._at_once))

        async def work(nodes: Sequence[_Node]) -> None:
            for some in waiting:
                await self._read_some(some, nodes)

        async with asyncio.TaskGroup() as group:
            for place in range(len(self._active)):
                # The others take over.
                nodes = [*self._active[place:], *self._active[:place]]
                group.create_task(work(nodes))

    async def _read_some(
        self, programs: Sequence[Deployed], nodes: Iterable[_Node]
    ) -> None:
        """Read each of *programs* at the first of *nodes* that tells it, and record what it gave."""
        left = list(programs)
        for node in nodes:
            found = await _read_together(node, left)
            await self._record(found)
            told = {one.address for one in found}
            left = [one for one in left if one.address not in told]
            if not left:
                break
        self.progress.failed += len(left)
        self._report(self.progress)

    async def _record(self, found: Sequence[ProgramRead]) -> None:
        records, progress = self.catalog.records, self.progress
        outcomes = await asyncio.to_thread(records.record_reads, self._chain, found)
        for added, outcome in outcomes:
            progress.read += outcome == "read"
            progress.faulty += outcome == "faulty"
            progress.without_schema += outcome == "none"
            progress.new_versions += added


async def _read_together(
    node: _Node, programs: Sequence[Deployed]
) -> list[ProgramRead]:
    """Return what those of *programs* gave that the node tells, of the deployment that was there then."""
    found: list[ProgramRead] = []
    left = {Pubkey.from_string(one.address): one.slot for one in programs}
    with suppress(TransportError):
        for _ in range(_TRIES):
            gave = await discover_all(node.transport, list(left), node.payers)
            marks = await deployment_marks(node.transport, list(left))
            slots = dict(zip(left, (mark.slot for mark in marks), strict=True))
            same = [key for key in left if slots[key] in (left[key], None)]
            found += filter(None, (_read(key, left[key], gave[key]) for key in same))
            # It was deployed meanwhile, so what was read may be of either.
            left = {key: slots[key] or 0 for key in left if key not in same}
            if not left:
                break
    return found


def _read(
    key: Pubkey, slot: int, gave: Sequence[Discovery] | Exception
) -> ProgramRead | None:
    """Return what a program gave at *slot*, None if the node did not tell."""
    address = str(key)
    match gave:
        case TransportError():
            return None
        case NoProgram():
            return ProgramRead(address, slot)
        case NoSchema():
            why = clean_text(str(gave), 1000) if "corrupt" in str(gave) else ""
            return ProgramRead(address, slot, why=why)
        case Exception():
            why = clean_text(str(gave) or type(gave).__name__, 1000)
            return ProgramRead(address, slot, why=why)
    versions = (NewVersion.discovered(one, address, slot) for one in gave)
    return ProgramRead(address, slot, tuple(versions))


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
    return [
        [[one.address, one.slot] for one in part] for part in _parts(programs, size)
    ]


def _parts(programs: Sequence[Deployed], size: int) -> list[Sequence[Deployed]]:
    return [programs[start : start + size] for start in range(0, len(programs), size)]

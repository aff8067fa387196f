"""The crawl: lists the programs of a chain, and reads the schema of each that was deployed since.

The listing has the slot of each deployment and no program's data. A program whose slot is recorded is not read again.
What one program gives is written in one transaction, its version and that it was read, so a stop at any point loses
nothing and repeats at most what was being read.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.catalog.catalog import Catalog
from mcpsol_py.catalog.records import NewVersion
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.loader import deployment_mark
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.errors import McpsolError, NoProgram, NoSchema, SourceError, TransportError
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import b58encode
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
    """What a crawl did so far. `failed`: programs whose node did not answer; the next crawl reads them."""

    listed: int = 0
    known: int = 0
    todo: int = 0
    read: int = 0
    without_schema: int = 0
    faulty: int = 0
    failed: int = 0
    new_versions: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """How many programs were asked."""
        return self.read + self.without_schema + self.faulty + self.failed

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the seconds until the end; None before the first program."""
        if not self.done:
            return None
        return (time.monotonic() - self.started) / self.done * (self.todo - self.done)

    def text(self) -> str:
        """Return the progress in words."""
        left = self.seconds_left
        estimate = "" if left is None else f", about {left:.0f} s left"
        return (
            f"{self.done:,} of {self.todo:,} programs ({self.known:,} unchanged): {self.read:,} read, "
            f"{self.new_versions:,} new versions, {self.without_schema:,} without a schema, "
            f"{self.faulty:,} faulty, {self.failed:,} not answered{estimate}"
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
        found = {str(row["pubkey"]): base64.b64decode(row["account"]["data"][0]) for row in rows}
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise TransportError(node.endpoint, "the list of programs has another form") from error
    return {key: data[:length] for key, data in found.items() if len(data) >= length}


class Crawl:
    """Reads programs of the chain at *url* into a catalogue.

    *at_once*: programs that are read at the same time. *per_second*: programs that are begun in a second, None for no
    limit. *report* is called with the progress.
    """

    def __init__(
        self,
        catalog: Catalog,
        url: str,
        *,
        at_once: int = 8,
        per_second: float | None = None,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.catalog, self.progress = catalog, Progress()
        self._node = RpcTransport(url)
        self._at_once, self._report = at_once, report
        self._pace = _Pace(per_second)
        self._chain = ""
        self._unindexed = 0

    async def close(self) -> None:
        """Close the connection."""
        await self._node.close()

    async def run(self) -> Progress:
        """List the programs and read those that changed. Raises TransportError if the list cannot be had."""
        await self.read(await self.changed())
        return self.progress

    async def changed(self) -> list[Deployed]:
        """Return the programs that were deployed since they were read."""
        chain = await self.chain()
        listed = await list_deployments(self._node)
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

    async def chain(self) -> str:
        """Return the genesis hash of the chain."""
        self._chain = self._chain or str(await self._node.request("getGenesisHash"))
        return self._chain

    async def read(self, programs: Sequence[Deployed]) -> None:
        """Read *programs*, those of them that were not read at their slot by now."""
        await self.chain()
        self.progress.todo += len(programs)
        waiting = iter(programs)

        async def work() -> None:
            for one in waiting:
                await self._pace.wait()
                await self._read_one(one)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._at_once, len(programs))):
                group.create_task(work())
        await asyncio.to_thread(self.catalog.refresh)

    async def _read_one(self, one: Deployed) -> None:
        progress = self.progress
        try:
            slot, new, why = await self._schema(one)
        except TransportError:
            progress.failed += 1
            return
        outcome = "read" if new is not None else "faulty" if why else "none"
        is_new = await asyncio.to_thread(
            self.catalog.records.record_read, self._chain, one.address, slot, new, outcome, why
        )
        progress.read += outcome == "read"
        progress.faulty += outcome == "faulty"
        progress.without_schema += outcome == "none"
        progress.new_versions += is_new
        self._unindexed += is_new
        if self._unindexed >= _INDEX_EVERY:
            self._unindexed = 0
            await asyncio.to_thread(self.catalog.refresh)
        self._report(progress)

    async def _schema(self, one: Deployed) -> tuple[int, NewVersion | None, str]:
        """Return the slot, the version that was deployed then, and why there is none if its schema is faulty."""
        slot, key = one.slot, Pubkey.from_string(one.address)
        for _ in range(_TRIES):
            new, why = await self._discovered(key, slot)
            now = (await deployment_mark(self._node, key)).slot
            if now in (slot, None):
                return slot, new, why
            slot = now  # it was deployed meanwhile, so what was read may be of either
        raise TransportError(
            self._node.endpoint, f"{one.address} is deployed again and again", retryable=True
        )

    async def _discovered(self, key: Pubkey, slot: int) -> tuple[NewVersion | None, str]:
        try:
            found = await discover(self._node, key)
            new = NewVersion.discovered(found, str(key), slot)
        except NoProgram:
            return None, ""
        except NoSchema as error:
            return None, clean_text(str(error), 1000) if "corrupt" in str(error) else ""
        except TransportError:
            raise
        except (McpsolError, RecursionError) as error:
            return None, clean_text(str(error) or type(error).__name__, 1000)
        return new, ""


class _Pace:
    """Lets at most so many start in a second."""

    def __init__(self, per_second: float | None) -> None:
        if per_second is not None and per_second <= 0:
            raise SourceError(f"expected more than 0 programs a second, got {per_second}")
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = 0.0

    async def wait(self) -> None:
        now = time.monotonic()
        start, self._next = max(now, self._next), max(now, self._next) + self._gap
        if start > now:
            await asyncio.sleep(start - now)


def jobs_of(programs: Sequence[Deployed], size: int) -> list[list[list[Any]]]:
    """Return *programs* in parts of *size*, as JSON values."""
    rows = [[one.address, one.slot] for one in programs]
    return [rows[start : start + size] for start in range(0, len(rows), size)]

"""The programs that a bridge serves: read from their sources, held against their locks, and read again when they
change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from idl2mcp import inputs
from mcpsol_py.errors import McpsolError, TransportError

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import Transport

__all__ = ["ProgramEntry", "Programs"]

#: differences that are told of a schema that is not what was locked
_MOST_ROWS = 20
#: programs that are looked for at once: public nodes count connections (40 on mainnet-beta) and requests
_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """One program of the configuration: its SOURCE, where it runs, and what it was locked to."""

    source: str
    chain: inputs.Chain
    lock: Path | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A program that describes itself on chain, and the slot of its last deployment."""

    source: inputs.Source
    slot: int | None


class Programs:
    """Reads programs. All that run on the local cluster share one, so that they may call one another; all at one URL
    share a connection. *genesis*: endpoints are asked which cluster they are. *cache*: where schemas of programs on
    public clusters are kept (a local one begins anew with other programs at the same addresses and slots).
    """

    def __init__(self, *, genesis: bool, cache: Path | None = None) -> None:
        self.genesis = genesis
        self.cache = cache
        self.cluster: LocalCluster | None = None
        self._transports: dict[str, Transport] = {}
        self._genesis: dict[str, str] = {}
        #: by URL and SOURCE
        self._found: dict[tuple[str, str], _Found | McpsolError] = {}

    def look_up(self, entries: Iterable[ProgramEntry]) -> None:
        """Finds those of *entries* that describe themselves on chain, all at once; `read` then takes what was found."""
        wanted = {
            (entry.chain.url, entry.source): inputs.address(entry.source, "SOURCE")
            for entry in entries
            if entry.chain.url is not None and inputs.names_an_id(entry.source)
        }
        if wanted:
            with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop
                self._found |= thread.submit(asyncio.run, self._looked_up(wanted)).result()

    async def _looked_up(
        self, wanted: Mapping[tuple[str, str], Pubkey]
    ) -> dict[tuple[str, str], _Found | McpsolError]:
        from mcpsol_py.client.rpc import RpcTransport
        from mcpsol_py.client.schema_cache import SchemaCache

        cache, looking = SchemaCache(self.cache), asyncio.Semaphore(_AT_ONCE)

        async def found(
            transport: Transport, cluster: Awaitable[str], program_id: Pubkey, url: str
        ) -> _Found:
            async with looking:
                discovery, slot = await cache.discover(transport, program_id, cluster)
            return _Found(inputs.source_of(discovery, program_id, url), slot)

        async with AsyncExitStack() as stack:
            transports, clusters = {}, {}
            for url in {url for url, _ in wanted}:
                transports[url] = RpcTransport(url)
                stack.push_async_callback(transports[url].close)
                clusters[url] = asyncio.ensure_future(self._public(transports[url]))
            asked = [
                found(transports[url], clusters[url], key, url) for (url, _), key in wanted.items()
            ]
            results = await asyncio.gather(*asked, return_exceptions=True)
            await asyncio.gather(*clusters.values())
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, McpsolError):
                raise result
        return dict(zip(wanted, results, strict=True))  # type: ignore[arg-type]  # what else it may be was raised

    async def _public(self, transport: RpcTransport) -> str:
        """The genesis hash of a public cluster; "" of a local one, and where the node does not say it."""
        from mcpsol_py.bridge.policy.rules import CLUSTERS

        try:
            genesis = str(await transport.request("getGenesisHash"))
        except TransportError:  # asked again where the policy needs to know
            return ""
        self._genesis[transport.url] = genesis
        return genesis if genesis in CLUSTERS else ""

    def read(self, entry: ProgramEntry) -> tuple[ServedProgram, inputs.Source]:
        """Raises as inputs.load_source does, and SourceError for a lock file that is none."""
        from mcpsol_py.calls.prepare import ServedProgram

        place = (entry.chain.url or "", entry.source)
        if place not in self._found:
            self.look_up([entry])
        found = self._found.pop(place, None)
        if isinstance(found, McpsolError):
            raise found
        slot = None if found is None else found.slot
        if found is not None:
            source = found.source
        else:
            chain = entry.chain
            if self.cluster is not None and not chain.url:
                chain = replace(chain, cluster=self.cluster)
            source = inputs.load_source(entry.source, chain)
        if self.cluster is None:
            self.cluster = source.cluster
        transport = self._transport(source)

        async def again() -> ServedProgram:
            if source.cluster is not None or transport is None:
                return self.read(entry)[0]  # quick, and LiteSVM works in this thread
            return (await asyncio.to_thread(self.read, entry))[0]

        refused, note = _held_against_its_lock(source, entry, slot)
        served = ServedProgram(
            source.program,
            source.program_id,
            transport,
            source.how,
            self._cluster_name(source),
            slot=slot,
            refused=refused,
            locked=entry.lock is not None,
            note=note,
            again=again,
            files=(
                *inputs.files_of(entry.source, entry.chain),
                *([entry.lock] if entry.lock is not None else []),
            ),
            on_chain=source.kind == "chain",
        )
        return served, source

    def _transport(self, source: inputs.Source) -> Transport | None:
        if source.cluster is not None or source.url is None:
            return inputs.transport_of(source)
        if source.url not in self._transports:
            made = inputs.transport_of(source)
            assert made is not None
            self._transports[source.url] = made
        return self._transports[source.url]

    def _cluster_name(self, source: inputs.Source) -> str:
        """What the policy calls the chain: by its genesis hash, not by what the URL says."""
        if source.cluster is not None:
            return "local"
        if source.url is None:
            return ""
        if not self.genesis:
            return "rpc"
        from mcpsol_py.bridge.policy.rules import cluster_of

        if source.url not in self._genesis:
            from mcpsol_py.client.transport import run

            with inputs.endpoint_at(source.url) as transport:
                self._genesis[source.url] = str(run(transport.request("getGenesisHash")))
        return cluster_of(self._genesis[source.url], source.url)


def _held_against_its_lock(
    source: inputs.Source, entry: ProgramEntry, slot: int | None
) -> tuple[str, str]:
    """Why this schema is not served ("" where it is what was accepted, or nothing was locked), and what is to be said
    of it all the same."""
    from idl2mcp.schema_diff import differences, facts, read_locked

    if entry.lock is None:
        return "", ""
    locked = read_locked(entry.lock)
    drift = differences(facts(source.model), locked.facts)
    if drift:
        rows: Sequence[str] = [
            f"{d.path}: now {d.left}, locked {d.right}" for d in drift[:_MOST_ROWS]
        ]
        more = f"; and {len(drift) - _MOST_ROWS} more" if len(drift) > _MOST_ROWS else ""
        accept = f"idl2mcp lock {entry.source} --out {entry.lock.name} --accept"
        what = f"its schema is not what {entry.lock.name} was locked to ({'; '.join(rows)}{more})"
        return f"{what}. Its owner looks at it and accepts it: {accept}", ""
    was = locked.deployed.slot if locked.deployed is not None else None
    if slot is not None and was is not None and slot != was:
        return (
            "",
            f"it was deployed anew since it was locked (slot {was:,}, now {slot:,}); its schema is the same",
        )
    return "", ""

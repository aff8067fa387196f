"""Read the programs that a bridge serves, compare them with their locks, and read them again when they change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from idl2mcp import inputs
from idl2mcp.threads import run_in_thread
from mcpsol_py.errors import McpsolError, TransportError

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from idl2mcp.local_cluster import LocalCluster
    from idl2mcp.lock_file import Place
    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import Transport
    from mcpsol_py.schema.comparison.diff import Difference

__all__ = ["ProgramEntry", "Programs"]

#: Differences shown if a schema is not the locked one.
_MOST_ROWS = 20
#: Programs looked up at the same time. Public nodes limit connections (40 on mainnet-beta) and requests.
_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """One program of the configuration: its SOURCE, its chain, and its lock file."""

    source: str
    chain: inputs.Chain
    lock: Path | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A program that describes itself on chain, and the slot of its last deployment."""

    source: inputs.Source
    slot: int | None


class Programs:
    """Reads programs, sharing what they have in common.

    All programs on the local cluster share one cluster, so that they can call one another. All programs at one URL
    share a connection. With *genesis*, each endpoint is asked for its genesis hash. *cache* is the folder for schemas
    of programs on public clusters; a local cluster is not cached, since it may restart with other programs at the same
    addresses and slots.
    """

    def __init__(self, *, genesis: bool, cache: Path | None = None) -> None:
        self.genesis = genesis
        self.cache = cache
        self.cluster: LocalCluster | None = None
        self._transports: dict[str, Transport] = {}
        self._genesis: dict[str, str] = {}
        # by URL and SOURCE
        self._found: dict[tuple[str, str], _Found | McpsolError] = {}

    def look_up(self, entries: Iterable[ProgramEntry]) -> None:
        """Look up, all at once, those *entries* that describe themselves on chain. `read` uses the results."""
        wanted = {
            (entry.chain.url, entry.source): inputs.address(entry.source, "SOURCE")
            for entry in entries
            if entry.chain.url is not None and inputs.names_an_id(entry.source)
        }
        if wanted:
            self._found |= run_in_thread(self._looked_up(wanted))

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
                found(transports[url], clusters[url], key, url)
                for (url, _), key in wanted.items()
            ]
            results = await asyncio.gather(*asked, return_exceptions=True)
            await asyncio.gather(*clusters.values())
        for result in results:
            if isinstance(result, BaseException) and not isinstance(
                result, McpsolError
            ):
                raise result
        return dict(zip(wanted, results, strict=True))  # type: ignore[arg-type]  # others were raised

    async def _public(self, transport: RpcTransport) -> str:
        """The genesis hash of a public cluster; "" for a local one, or if the node does not answer."""
        from mcpsol_py.bridge.policy import CLUSTERS

        try:
            genesis = str(await transport.request("getGenesisHash"))
        except TransportError:  # asked again if the policy needs it
            return ""
        self._genesis[transport.url] = genesis
        return genesis if genesis in CLUSTERS else ""

    def read(self, entry: ProgramEntry) -> tuple[ServedProgram, inputs.Source]:
        """Read one program. Raises as `inputs.load_source` does, and SourceError for an invalid lock file."""
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
                return self.read(entry)[0]  # fast, and LiteSVM is bound to this thread
            return (await asyncio.to_thread(self.read, entry))[0]

        refused, note = self._compared_with_lock(source, entry, slot)
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

    def chain(self, url: str | None) -> tuple[Transport | None, str]:
        """Return the chain at *url*, or without one the local cluster, and its name in the policy."""
        if url is None:
            return (
                (None, "")
                if self.cluster is None
                else (self.cluster.transport, "local")
            )
        if url not in self._transports:
            from mcpsol_py.client.rpc import RpcTransport

            self._transports[url] = RpcTransport(url)
        return self._transports[url], self._cluster_at(url)

    def _transport(self, source: inputs.Source) -> Transport | None:
        if source.cluster is not None or source.url is None:
            return inputs.transport_of(source)
        if source.url not in self._transports:
            made = inputs.transport_of(source)
            assert made is not None
            self._transports[source.url] = made
        return self._transports[source.url]

    def _cluster_name(self, source: inputs.Source) -> str:
        """The cluster's name in the policy, by its genesis hash rather than its URL."""
        if source.cluster is not None:
            return "local"
        return "" if source.url is None else self._cluster_at(source.url)

    def _cluster_at(self, url: str) -> str:
        if not self.genesis:
            return "rpc"
        from mcpsol_py.bridge.policy import cluster_of

        return cluster_of(self._genesis_at(url), url)

    def _genesis_at(self, url: str) -> str:
        """Return the genesis hash of the cluster at *url*. Raises TransportError."""
        if url not in self._genesis:
            from mcpsol_py.client.transport import run

            with inputs.endpoint_at(url) as transport:
                self._genesis[url] = str(run(transport.request("getGenesisHash")))
        return self._genesis[url]

    def _compared_with_lock(
        self, source: inputs.Source, entry: ProgramEntry, slot: int | None
    ) -> tuple[str, str]:
        """Compare a program with its lock: (the reason not to serve it, or "", and a note for the user, or "")."""
        if entry.lock is None:
            return "", ""
        from idl2mcp.lock_file import read_locked

        locked = read_locked(entry.lock)
        drift = locked.schema_changes(source.model, inputs.program_id_of(source))
        if locked.deployed is not None:
            drift += locked.cluster_changes(self._lock_cluster(source))
        if drift:
            return _drift_message(entry, drift), ""
        return "", _redeployed_note(locked.deployed, slot)

    def _lock_cluster(self, source: inputs.Source) -> str:
        """Return the genesis hash of the cluster that a program is served on, in the form that locks have."""
        if source.cluster is not None:
            return "the local cluster"
        return "no cluster" if source.url is None else self._genesis_at(source.url)


def _redeployed_note(locked: Place | None, slot: int | None) -> str:
    """Return a note if the program was deployed again after it was locked."""
    if locked is None or None in (locked.slot, slot) or slot == locked.slot:
        return ""
    slots = f"slot {locked.slot:,}, now {slot:,}"
    return f"it was redeployed after it was locked ({slots}); its schema is the same"


def _drift_message(entry: ProgramEntry, drift: Sequence[Difference]) -> str:
    assert entry.lock is not None
    rows = [f"{d.path}: now {d.left}, locked {d.right}" for d in drift[:_MOST_ROWS]]
    if len(drift) > _MOST_ROWS:
        rows.append(f"and {len(drift) - _MOST_ROWS} more")
    is_elsewhere = {d.kind for d in drift} <= {"program-id", "cluster"}
    what = "program id or cluster" if is_elsewhere else "schema"
    return (
        f"its {what} differs from {entry.lock.name} ({'; '.join(rows)}). "
        f"To accept the new one, run: idl2mcp lock {entry.source} --out {entry.lock.name} --accept"
    )

"""The programs that a bridge serves: read from their sources, held against their locks, and read again when they
change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from idl2mcp import inputs

if TYPE_CHECKING:
    from idl2mcp.local import LocalCluster
    from mcpsol_py.bridge.calls import Served
    from mcpsol_py.client.transport import Transport

__all__ = ["ProgramEntry", "Programs"]

#: differences that are told of a schema that is not what was locked
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """One program of the configuration: its SOURCE, where it runs, and what it was locked to."""

    source: str
    chain: inputs.Chain
    lock: Path | None = None


class Programs:
    """Reads programs. All that run on the local cluster share one, so that they may call one another; all at one URL
    share a connection. *genesis*: endpoints are asked which cluster they are."""

    def __init__(self, *, genesis: bool) -> None:
        self.genesis = genesis
        self.cluster: LocalCluster | None = None
        self._transports: dict[str, Transport] = {}
        self._clusters: dict[str, str] = {}

    def read(self, entry: ProgramEntry) -> tuple[Served, inputs.Source]:
        """Raises as inputs.load_source does, and SourceError for a lock file that is none."""
        from mcpsol_py.bridge.calls import Served

        chain = entry.chain
        if self.cluster is not None and not chain.url:
            chain = replace(chain, cluster=self.cluster)
        slot = self._slot(entry)  # before its schema: what is deployed in between is then noticed
        source = inputs.load_source(entry.source, chain)
        if self.cluster is None:
            self.cluster = source.cluster
        transport = self._transport(source)

        async def again() -> Served:
            if source.cluster is not None or transport is None:
                return self.read(entry)[0]  # quick, and LiteSVM works in this thread
            return (await asyncio.to_thread(self.read, entry))[0]

        refused, note = _held_against_its_lock(source, entry, slot)
        served = Served(
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
            files=(*inputs.files_of(entry.source, chain), *([entry.lock] if entry.lock is not None else [])),
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

    def _slot(self, entry: ProgramEntry) -> int | None:
        if entry.chain.url is None or not inputs.names_an_id(entry.source):
            return None
        from mcpsol_py.bridge.refreshing import deployed_slot
        from mcpsol_py.client.transport import run

        with inputs.endpoint_at(entry.chain.url) as transport:
            return run(deployed_slot(transport, inputs.address(entry.source, "SOURCE")))

    def _cluster_name(self, source: inputs.Source) -> str:
        """What the policy calls the chain: by its genesis hash, not by what the URL says."""
        if source.cluster is not None:
            return "local"
        if source.url is None:
            return ""
        if not self.genesis:
            return "rpc"
        if source.url not in self._clusters:
            from mcpsol_py.bridge.policy import cluster_of
            from mcpsol_py.client.transport import run

            with inputs.endpoint_at(source.url) as transport:
                self._clusters[source.url] = cluster_of(str(run(transport.request("getGenesisHash"))))
        return self._clusters[source.url]


def _held_against_its_lock(source: inputs.Source, entry: ProgramEntry, slot: int | None) -> tuple[str, str]:
    """Why this schema is not served ("" where it is what was accepted, or nothing was locked), and what is to be said
    of it all the same."""
    from idl2mcp.drift import differences, facts, read_locked

    if entry.lock is None:
        return "", ""
    locked = read_locked(entry.lock)
    drift = differences(facts(source.model), locked.facts)
    if drift:
        rows: Sequence[str] = [f"{d.path}: now {d.left}, locked {d.right}" for d in drift[:_MOST_ROWS]]
        more = f"; and {len(drift) - _MOST_ROWS} more" if len(drift) > _MOST_ROWS else ""
        accept = f"idl2mcp lock {entry.source} --out {entry.lock.name} --accept"
        what = f"its schema is not what {entry.lock.name} was locked to ({'; '.join(rows)}{more})"
        return f"{what}. Its owner looks at it and accepts it: {accept}", ""
    was = locked.deployed.slot if locked.deployed is not None else None
    if slot is not None and was is not None and slot != was:
        return "", f"it was deployed anew since it was locked (slot {was:,}, now {slot:,}); its schema is the same"
    return "", ""

"""Programs of a catalogue that join the bridge when they are used, and leave it when others need the room.

A program that joins is a stranger's. Its label ends with a hash of its address, so its tools keep their names, and a
program whose label or tool would have the name of another one's is refused or left out: it never renames the other.
The descriptions of the bridge's own tools name no program that joined. What may be signed for it is the policy's
decision, by the program's address, as for every program.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.catalog.catalog import Catalog, Hit
from mcpsol_py.catalog.labels import address_hash, label_of
from mcpsol_py.catalog.records import SEED, NewVersion, ProgramRow, recorded_name
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.loader import deployment_mark
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import NoProgram, NoSchema, NotUsable, StorageError, UnknownName
from mcpsol_py.model.findings import Finding
from mcpsol_py.names import clean_text, one_line
from mcpsol_py.program import Program
from mcpsol_py.schema.lint import lint
from mcpsol_py.solana.program_directory import namesake_of

__all__ = ["CatalogPrograms", "Joined"]

#: Programs of the catalogue that have tools at the same time.
_AT_ONCE = 12
#: Labels whose address is remembered.
_LABELS = 4096
_FINDINGS = 10

#: Source -> how far its schema can be trusted.
_TRUST = {
    "list_tools": "the program itself returns it on chain; its upgrade authority vouches for it",
    "Program Metadata": "published on chain by the program's own authority",
    "Program Metadata (Foundation)": "published on chain by the Solana Foundation, not by the program",
    "Anchor IDL account": "published on chain by the authority of its IDL account",
    SEED: "described by this package, and checked against the official encoders",
}
_UNVERIFIED = "from a file in the owner's catalogue; nothing on chain vouches for it"


@dataclass(frozen=True, slots=True)
class Joined:
    """A program that joined: as it is served, the kind of its source, and what lint found."""

    served: ServedProgram
    source: str
    findings: tuple[Finding, ...] = ()

    @property
    def trust(self) -> str:
        """How far its schema can be trusted, for people and models."""
        return _TRUST.get(self.source, _UNVERIFIED)

    def facts(self) -> dict[str, Any]:
        """Return what use_program answers, without the tools."""
        served = self.served
        levels = [finding.level for finding in self.findings]
        worst = [
            one_line(f"{f.path}: {f.message}", 200) for f in self.findings[:_FINDINGS]
        ]
        return {
            "program": served.label,
            "name": one_line(served.program.name, 80),
            **_warning(served.program.name, str(served.program_id)),
            "program_id": str(served.program_id),
            "schema_from": served.shown_source,
            "trust": self.trust,
            "deployed_slot": served.slot,
            "lint": {
                "errors": levels.count("error"),
                "warnings": levels.count("warning"),
                "findings": worst,
            },
        }


def _warning(name: str, address: str) -> dict[str, str]:
    """Return what must be said of a program that calls itself as another one, or in letters that look like others."""
    known = namesake_of(name, address)
    if known is not None:
        place = f"the well-known program of this name is {known.addresses[0]}"
        return {"warning": f"this is another program; {place}"}
    if not name.isascii():
        return {
            "warning": "its name has letters that can look like others; go by its address"
        }
    return {}


class CatalogPrograms:
    """The catalogue of a bridge. *transport* is the chain on which its programs are called, None for none.

    `changed` is set by the bridge: it is called with the programs that have joined, after each change.
    """

    def __init__(
        self, catalog: Catalog, transport: Transport | None = None, cluster: str = ""
    ) -> None:
        self.catalog, self.transport, self.cluster = catalog, transport, cluster
        self.changed: Callable[[list[ServedProgram]], None] = lambda _: None
        #: Labels that the owner's own programs have.
        self.reserved: frozenset[str] = frozenset()
        self._joined: OrderedDict[str, Joined] = OrderedDict()
        self._addresses: OrderedDict[str, str] = OrderedDict()
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        """Close the catalogue, and the connection to its chain."""
        self.catalog.close()
        if self.transport is not None:
            await self.transport.close()

    # --- searching ---------------------------------------------------------------------------------------------------

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the instructions of the catalogue that fit *query*.

        A program is called by one of its versions, so instructions that only others have are left out.
        """
        found = self.catalog.search(query, 2 * limit)
        names = {key: self._names(key) for key in {hit.key for hit in found}}
        hits = [
            hit for hit in found if recorded_name(hit.instruction) in names[hit.key]
        ]
        for hit in hits[:limit]:
            if hit.address is not None:
                self._remember(label_of(hit.program, hit.address), hit.address)
        return hits[:limit]

    def _names(self, key: str) -> frozenset[str]:
        """Return the names of the instructions by which a program is called."""
        joined = self._joined.get(key)
        if joined is not None:
            instructions = joined.served.program.model.instructions
            return frozenset(recorded_name(ix.name) for ix in instructions)
        row = self.catalog.records.program_at(key)
        return (
            self.catalog.records.instruction_names(row.current) if row else frozenset()
        )

    def _remember(self, label: str, address: str) -> None:
        known = self._addresses.setdefault(label, address)
        if known != address:
            raise NotUsable("program", address, f"its label {label} is that of {known}")
        self._addresses.move_to_end(label)
        while len(self._addresses) > _LABELS:
            self._addresses.popitem(last=False)

    # --- joining -----------------------------------------------------------------------------------------------------

    async def join_for(self, tool: str) -> None:
        """Let the program join whose tool has this name, if the catalogue has it."""
        address = self._address_for(tool)
        if address is not None:
            await self.join(address, from_chain=False)

    def _address_for(self, tool: str) -> str | None:
        """Return the address of the program that a tool's name begins with the label of."""
        for label, address in self._addresses.items():
            if tool.startswith(f"{label}_"):
                return address
        hashed = address_hash(tool)
        return None if hashed is None else self.catalog.address_with_hash(hashed)

    async def join(self, address: str, *, from_chain: bool) -> Joined:
        """Let a program join. *from_chain*: its schema is read from the chain anew, if there is one.

        Raises UnknownName if neither the catalogue nor the chain knows it, NoSchema, NoProgram, TransportError, and
        NotUsable if its label is another program's.
        """
        async with self._turn:
            found = self._joined.get(address)
            if found is not None and not from_chain:
                self._joined.move_to_end(address)
                return found
            joined = await self._read(address, from_chain=from_chain)
            self._check_label(joined.served)
            self._joined[address] = joined
            self._joined.move_to_end(address)
            while len(self._joined) > _AT_ONCE:
                self._joined.popitem(last=False)
            self.changed([one.served for one in self._joined.values()])
            return joined

    def _check_label(self, served: ServedProgram) -> None:
        label, address = served.label, str(served.program_id)
        others = {one.served.label: key for key, one in self._joined.items()}
        if label in self.reserved or others.get(label, address) != address:
            raise NotUsable(
                "program", address, f"another program is called {label} here"
            )
        self._remember(label, address)

    async def _read(self, address: str, *, from_chain: bool) -> Joined:
        row = self.catalog.records.program_at(address)
        if self.transport is not None and (from_chain or row is None):
            try:
                return await self._discovered(address, self.transport)
            except (NoProgram, NoSchema):
                # What the catalogue has counts if the chain has nothing.
                if row is None:
                    raise
        if row is None:
            raise UnknownName(
                "program",
                address,
                (),
                "the catalogue",
                hint="No chain is configured to read it.",
            )
        return self._from_catalog(row)

    async def _discovered(self, address: str, transport: Transport) -> Joined:
        key = Pubkey.from_string(address)
        found = await discover(transport, key)
        mark = await deployment_mark(transport, key)
        model = found.program.model
        new = NewVersion.discovered(found, address, mark.slot)
        try:
            await asyncio.to_thread(self.catalog.record, [new])
        except StorageError:
            pass  # it can be called all the same
        findings = tuple(await asyncio.to_thread(lint, model))
        how = f"{found.source}, read when it was used"
        return Joined(
            self._served(address, found.program, how, mark.slot), found.source, findings
        )

    def _from_catalog(self, row: ProgramRow) -> Joined:
        assert row.address is not None
        program = Program(self.catalog.records.model(row.current))
        served = self._served(
            row.address,
            program,
            f"{row.current.source}, catalogued",
            row.current.first_slot,
        )
        served.versions = self.catalog.versions(row) if len(row.versions) > 1 else None
        return Joined(served, row.current.source)

    def _served(
        self, address: str, program: Program, how: str, slot: int | None
    ) -> ServedProgram:
        return ServedProgram(
            program,
            Pubkey.from_string(address),
            self.transport,
            how,
            self.cluster,
            label=label_of(clean_text(program.name, 200), address),
            slot=slot,
        )

    # --- reading with any program ------------------------------------------------------------------------------------

    def readers(
        self, addresses: Iterable[str], known: Iterable[ServedProgram]
    ) -> list[ServedProgram]:
        """Return the catalogue's programs at *addresses* that are not *known*, with their versions."""
        have = {str(served.program_id) for served in known}
        rows = (
            self.catalog.records.program_at(one)
            for one in sorted(set(addresses) - have)
        )
        return [
            self._reader(row)
            for row in rows
            if row is not None and row.address is not None
        ]

    def _reader(self, row: ProgramRow) -> ServedProgram:
        served = self._from_catalog(row).served
        served.versions = served.versions or self.catalog.versions(row)
        return served

    async def join_for_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Let the program join that a call needs: that of the tool, or of the one that its arguments name."""
        wanted = (
            arguments.get("name") if name in ("call_tool", "describe_tool") else name
        )
        if isinstance(wanted, str):
            await self.join_for(wanted)

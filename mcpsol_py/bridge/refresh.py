"""Served programs kept current: what a program is read from is watched, and read anew when it changes.

Of a deployed program these are the deployment (the slot of its last one, a few bytes) and the accounts that hold its
IDL; of files, when they were written. A new schema takes the old one's place; one that is not what was locked, or that
cannot be read, takes the program's tools away until that is mended. What is in flight meanwhile ends as it began,
except that nothing more is signed for a program that was replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from solders.pubkey import Pubkey

from mcpsol_py import telemetry
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.discovery import idl_places
from mcpsol_py.client.loader import PROGRAMDATA_HEADER, programdata_address, standing
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import Transport
from mcpsol_py.client.watching import AccountWatch
from mcpsol_py.errors import McpsolError, TransportError

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Refresher"]

logger = logging.getLogger(__name__)

#: a deployment is several transactions, and is seen a slot before it can be run: this long it settles
_SETTLES = 0.6
#: how long it is tried to read a new schema, in growing steps, before the program's tools are taken away
_PATIENCE = (0.5, 1.0, 2.0, 4.0, 8.0)
#: between attempts to reach a chain that does not answer
_AGAIN = 15.0
#: seconds between looks at files
_FILES = 1.0


class Refresher:
    """Keeps the programs of *bridge* current while `run` runs. *watches*: the accounts of each of its chains."""

    def __init__(self, bridge: Bridge, watches: Callable[[Transport], AccountWatch]) -> None:
        self.bridge, self.watches = bridge, watches
        self._dirty = {
            served.label: asyncio.Event()
            for served in bridge.box.programs
            if served.again is not None
        }

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for label in self._dirty:
                group.create_task(self._keep(label))

    def _now(self, label: str) -> ServedProgram:
        return self.bridge.box.labels[label]

    async def _keep(self, label: str) -> None:
        dirty = self._dirty[label]
        served = self._now(label)
        async with contextlib.AsyncExitStack() as stack:
            if served.files:
                looking = asyncio.create_task(self._look_at(served.files, dirty))
                stack.callback(looking.cancel)
            if served.on_chain and served.transport is not None and served.program_id is not None:
                await self._watch(served, dirty, stack)
            elif isinstance(served.transport, RpcTransport) and served.program_id is not None:
                minding = asyncio.create_task(
                    self._mind(label, served.transport, served.program_id)
                )
                stack.callback(minding.cancel)
            while True:
                await dirty.wait()
                await asyncio.sleep(_SETTLES if served.on_chain else 0)
                dirty.clear()
                await self._renew(label)

    async def _watch(
        self, served: ServedProgram, dirty: asyncio.Event, stack: contextlib.AsyncExitStack
    ) -> None:
        """The deployment, and the places of IDLs: another rung of the ladder may appear as well as change."""
        assert served.transport is not None
        assert served.program_id is not None
        program_id, watch = served.program_id, self.watches(served.transport)
        wanted: list[tuple[Pubkey, int | None]] = [
            (programdata_address(program_id), PROGRAMDATA_HEADER)
        ]
        wanted.append((program_id, PROGRAMDATA_HEADER))
        in_program = served.program.model.dialect.startswith("list_tools")  # the highest rung
        if not in_program:
            wanted += [(key, None) for key in idl_places(program_id)]
        for key, head in wanted:
            while True:
                try:
                    stack.callback(await watch.add(key, dirty.set, head=head))
                    break
                except TransportError:
                    await asyncio.sleep(_AGAIN)
        # it may have changed between the reading of its schema and now; an account does not say when it did
        with contextlib.suppress(TransportError):
            if not in_program or (await standing(served.transport, program_id)).slot != served.slot:
                dirty.set()

    async def _mind(self, label: str, transport: Transport, program_id: Pubkey) -> None:
        """A schema from a file does not change with the deployment, and may then be older than it: that is said."""
        changed = asyncio.Event()
        end: Callable[[], None] | None = None
        try:
            while True:
                try:
                    if end is None:
                        watch = self.watches(transport)
                        end = await watch.add(
                            programdata_address(program_id), changed.set, head=PROGRAMDATA_HEADER
                        )
                    first = (await standing(transport, program_id)).slot
                    break
                except TransportError:
                    await asyncio.sleep(_AGAIN)
            while True:
                await changed.wait()
                changed.clear()
                with contextlib.suppress(TransportError):
                    slot = (await standing(transport, program_id)).slot
                    now = self._now(label)
                    if slot not in (first, now.slot):
                        note = f"it was deployed anew in slot {slot}, and its schema, from a file, may be older"
                        self.bridge.replace(now, replace(now, slot=slot, note=note))
                        telemetry.event(
                            "program refreshed", program=label, outcome="noted", slot=slot or 0
                        )
        finally:
            if end is not None:
                end()

    async def _look_at(self, files: Iterable[Path], dirty: asyncio.Event) -> None:
        seen = _stamps(files)
        while True:
            await asyncio.sleep(_FILES)
            now = _stamps(files)
            if now != seen:
                seen = now
                dirty.set()

    async def _renew(self, label: str) -> None:
        old = self._now(label)
        assert old.again is not None
        failed: McpsolError | None = None
        for wait in (*_PATIENCE, None):
            try:
                before = await self._slot(old)
                new = await old.again()
                if await self._slot(old) != before:
                    # deployed between two of the reads: the old pages must not be taken for the new deployment's
                    raise McpsolError("it was deployed while its schema was read")
            except McpsolError as error:
                failed = error
            except Exception as error:  # a spec is its author's code: reading it may raise anything
                logger.warning("reading %s again failed", label, exc_info=error)
                failed = McpsolError(f"reading it raised {type(error).__name__}")
            else:
                self._take(old, new)
                return
            if isinstance(failed, TransportError):
                self._dirty[
                    label
                ].set()  # not the program's fault: the schema stays, and it is asked again
                await asyncio.sleep(_AGAIN)
                return
            if wait is None or not old.on_chain:
                break
            await asyncio.sleep(wait)
        slot = old.slot
        with contextlib.suppress(TransportError):
            slot = await self._slot(old)
        self._take(
            old,
            replace(
                old,
                slot=slot,
                refused=f"it has changed, and its schema cannot be read now: {failed}",
            ),
        )

    @staticmethod
    async def _slot(served: ServedProgram) -> int | None:
        """Of the last deployment, where the schema comes from the chain. Raises TransportError."""
        if not served.on_chain or served.transport is None or served.program_id is None:
            return served.slot
        return (await standing(served.transport, served.program_id)).slot

    def _take(self, old: ServedProgram, new: ServedProgram) -> None:
        new = replace(new, label=old.label)
        same = new.program.model == old.program.model and (new.how, new.refused) == (
            old.how,
            old.refused,
        )
        if same and new.slot == old.slot:
            return
        self.bridge.replace(old, replace(new, program=old.program) if same else new)
        outcome = "the same" if same else "refused" if new.refused else "changed"
        telemetry.event("program refreshed", program=old.label, outcome=outcome, slot=new.slot or 0)


def _stamps(files: Iterable[Path]) -> list[tuple[int, int] | None]:
    out: list[tuple[int, int] | None] = []
    for path in files:
        try:
            stat = path.stat()
        except OSError:
            out.append(None)
        else:
            out.append((stat.st_mtime_ns, stat.st_size))
    return out

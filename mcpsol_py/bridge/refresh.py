"""Keeps served programs current: watches their deployments, IDL accounts and files for changes.

When the source of a schema changes, the schema is read again and replaces the old one. If it does
not match its lock, or cannot be read, the program's tools are removed until it does. Calls in
progress finish with the schema that they began with, except that nothing more is signed for a
program that was replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from solders.pubkey import Pubkey

from mcpsol_py import telemetry
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.idl_accounts import idl_places
from mcpsol_py.client.loader import deployment_mark
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import Transport
from mcpsol_py.client.watching import AccountWatch
from mcpsol_py.errors import McpsolError, TransportError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.solana.loader import PROGRAMDATA_HEADER, programdata_address

if TYPE_CHECKING:
    from mcpsol_py.bridge.registry import ProgramRegistry

__all__ = ["Refresher"]

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

#: A deployment takes several transactions and is seen a slot before it can run, so wait this long.
_SETTLE_SECONDS = 0.6
#: Waits between attempts to read a new schema, before the program's tools are removed.
_RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: Wait between attempts to reach a chain that does not answer.
_RECONNECT_SECONDS = 15.0
#: Interval between checks of files.
_FILE_SECONDS = 1.0


class _Unreadable(Exception):
    """A program's schema could not be read. The message says why."""


class Refresher:
    """Keeps the programs of *registry* current while `run` runs.

    *watches* returns the watched accounts of a chain.
    """

    def __init__(
        self, registry: ProgramRegistry, watches: Callable[[Transport], AccountWatch]
    ) -> None:
        self.registry, self.watches = registry, watches
        #: Label -> event that is set when the program's schema must be read again.
        self._changed = {
            served.label: asyncio.Event()
            for served in registry.box.programs
            if served.again is not None
        }

    async def run(self) -> None:
        """Refresh programs until cancelled."""
        async with asyncio.TaskGroup() as group:
            for label in self._changed:
                group.create_task(self._keep_current(label))

    def _served(self, label: str) -> ServedProgram:
        return self.registry.box.labels[label]

    async def _keep_current(self, label: str) -> None:
        """Refresh one program until cancelled. Its errors never end the watch over the others.

        After an error that nobody expected its tools are removed, since its present schema is unknown.
        """
        while True:
            try:
                await self._follow(label)
            except Exception as error:
                logger.warning("watching %s failed", label, exc_info=error)
                self._refuse(label, f"reading it anew raised {type(error).__name__}")
            await asyncio.sleep(_RECONNECT_SECONDS)
            self._changed[label].set()  # it may have changed while nobody watched

    def _refuse(self, label: str, why: str) -> None:
        """Remove a program's tools. Its old schema stays, from which the others' tools were made before."""
        old = self._served(label)
        self._replace(
            old, replace(old, refused=f"the program's schema is not known now: {why}")
        )

    async def _follow(self, label: str) -> None:
        """Watch one program, and refresh it when it changes."""
        changed = self._changed[label]
        served = self._served(label)
        async with contextlib.AsyncExitStack() as stack:
            await self._start_watching(label, served, changed, stack)
            while True:
                await changed.wait()
                await asyncio.sleep(_SETTLE_SECONDS if served.on_chain else 0)
                changed.clear()
                await self._refresh(label)

    # --- watching ------------------------------------------------------------------------------

    async def _start_watching(
        self,
        label: str,
        served: ServedProgram,
        changed: asyncio.Event,
        stack: contextlib.AsyncExitStack,
    ) -> None:
        """Set *changed* when the source of a schema changes, until *stack* is closed."""
        if served.files:
            files = asyncio.create_task(_watch_files(served.files, changed))
            stack.callback(files.cancel)
        transport, program_id = served.transport, served.program_id
        if transport is None or program_id is None:
            return
        if served.on_chain:
            await self._watch_schema(served, transport, program_id, changed, stack)
        elif isinstance(transport, RpcTransport):
            deployment = asyncio.create_task(
                self._note_deployments(label, transport, program_id)
            )
            stack.callback(deployment.cancel)

    async def _watch_schema(
        self,
        served: ServedProgram,
        transport: Transport,
        program_id: Pubkey,
        changed: asyncio.Event,
        stack: contextlib.AsyncExitStack,
    ) -> None:
        """Watch the deployment, and every account that may hold an IDL.

        An IDL may also appear in an account that did not exist before.
        """
        watch = self.watches(transport)
        keys: list[tuple[Pubkey, int | None]] = [
            (programdata_address(program_id), PROGRAMDATA_HEADER),
            (program_id, PROGRAMDATA_HEADER),
        ]
        # list_tools is tried before any IDL, so a program that answers it has no IDL to watch.
        has_list_tools = served.program.model.dialect.startswith("list_tools")
        if not has_list_tools:
            keys += [(key, None) for key in idl_places(program_id)]
        for key, head in keys:
            add = partial(watch.add, key, changed.set, head=head)
            stack.callback(await _when_reachable(add))
        # The schema may have changed after it was read and before the watch began. Only the
        # deployment has a slot that shows this; an IDL account has none.
        with contextlib.suppress(TransportError):
            if not has_list_tools or await _slot(transport, program_id) != served.slot:
                changed.set()

    async def _note_deployments(
        self, label: str, transport: Transport, program_id: Pubkey
    ) -> None:
        """Add a note to a program whose schema is from a file when it is deployed again.

        The file does not change with the deployment, so it may be out of date afterwards.
        """
        changed = asyncio.Event()
        watch = self.watches(transport)
        key = programdata_address(program_id)
        stop = await _when_reachable(
            partial(watch.add, key, changed.set, head=PROGRAMDATA_HEADER)
        )
        try:
            first = await _when_reachable(partial(_slot, transport, program_id))
            while True:
                await changed.wait()
                changed.clear()
                with contextlib.suppress(TransportError):
                    slot = await _slot(transport, program_id)
                    self._note_deployment(label, slot, first)
        finally:
            stop()

    def _note_deployment(self, label: str, slot: int | None, first: int | None) -> None:
        served = self._served(label)
        if slot in (first, served.slot):
            return
        note = f"deployed again in slot {slot}; its schema is from a file and may be out of date"
        self.registry.replace(served, replace(served, slot=slot, note=note))
        telemetry.event(
            "program refreshed", program=label, outcome="noted", slot=slot or 0
        )

    # --- refreshing ----------------------------------------------------------------------------

    async def _refresh(self, label: str) -> None:
        """Read a program's schema again and replace the old one."""
        old = self._served(label)
        try:
            new = await self._read_with_retries(label, old)
        except TransportError:
            # Not the program's fault: keep its schema and try again later.
            self._changed[label].set()
            await asyncio.sleep(_RECONNECT_SECONDS)
            return
        except _Unreadable as error:
            why = f"the program has changed, and its schema cannot be read now: {error}"
            slot = old.slot
            with contextlib.suppress(TransportError):
                slot = await _deployed_slot(old)
            new = replace(old, slot=slot, refused=why)
        self._replace(old, new)

    async def _read_with_retries(self, label: str, old: ServedProgram) -> ServedProgram:
        """Return the program with its new schema.

        A program on a chain is tried several times, because a deployment takes a while. Raises
        TransportError, and _Unreadable if the last attempt failed.
        """
        waits = (*_RETRY_SECONDS, None) if old.on_chain else (None,)
        for wait in waits:
            try:
                return await self._read(label, old)
            except _Unreadable:
                if wait is None:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def _read(self, label: str, old: ServedProgram) -> ServedProgram:
        """Read a program's schema once. Raises TransportError and _Unreadable."""
        assert old.again is not None
        try:
            before = await _deployed_slot(old)
            new = await old.again()
            after = await _deployed_slot(old)
        except TransportError:
            raise
        except McpsolError as error:
            raise _Unreadable(str(error)) from error
        except (
            Exception,
            SystemExit,
        ) as error:  # a spec is Python code, which may raise anything
            logger.warning("reading %s again failed", label, exc_info=error)
            raise _Unreadable(f"reading it raised {type(error).__name__}") from error
        if after != before:
            # The pages may be from the old program, so they do not describe the new one.
            raise _Unreadable("it was deployed while its schema was read")
        return new

    def _replace(self, old: ServedProgram, new: ServedProgram) -> None:
        new = replace(new, label=old.label)
        is_same = _seen_by_clients(new) == _seen_by_clients(old)
        if is_same and new.slot == old.slot:
            return
        outcome = "refused" if new.refused else "changed"
        if is_same:
            new = replace(new, program=old.program)
            outcome = "the same"
        self.registry.replace(old, new)
        telemetry.event(
            "program refreshed", program=old.label, outcome=outcome, slot=new.slot or 0
        )


def _seen_by_clients(served: ServedProgram) -> tuple[ProgramModel, str, str]:
    return served.program.model, served.how, served.refused


async def _when_reachable(ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Return the answer of a chain. If it does not answer, wait and ask again."""
    while True:
        try:
            return await ask()
        except TransportError:
            await asyncio.sleep(_RECONNECT_SECONDS)


async def _slot(transport: Transport, program_id: Pubkey) -> int | None:
    """Return the slot of a program's last deployment. Raises TransportError."""
    return (await deployment_mark(transport, program_id)).slot


async def _deployed_slot(served: ServedProgram) -> int | None:
    """Return the slot of the last deployment, if the schema is read from the chain.

    Raises TransportError.
    """
    if not served.on_chain or served.transport is None or served.program_id is None:
        return served.slot
    return await _slot(served.transport, served.program_id)


async def _watch_files(files: Iterable[Path], changed: asyncio.Event) -> None:
    """Set *changed* each time one of *files* is written."""
    before = _file_stamps(files)
    while True:
        await asyncio.sleep(_FILE_SECONDS)
        now = _file_stamps(files)
        if now != before:
            before = now
            changed.set()


def _file_stamps(files: Iterable[Path]) -> list[tuple[int, int] | None]:
    """Return the modification time and size of each file, None for a missing one."""
    stamps: list[tuple[int, int] | None] = []
    for path in files:
        try:
            stat = path.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((stat.st_mtime_ns, stat.st_size))
    return stamps

"""Group commit for SQLite: what many calls write at once is committed, and synced to the disk, together.

One thread writes, in the order in which work comes, so that nobody waits for SQLite's lock without end. Each piece of
work keeps its own atomicity by a savepoint, and learns of its outcome after the common commit only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from mcpsol_py.x402.store.database import Database

__all__ = ["Writer", "grouped"]

T = TypeVar("T")
#: Work that one commit covers at most: it bounds how long the first of it waits.
_MOST = 64
#: Seconds without work after which the writer's thread ends.
_IDLE = 2.0


async def grouped(database: Database, function: Callable[..., T], *args: Any) -> T:
    """Runs *function*(*args), whose transactions on *database* join those of others. Raises what it raises."""
    if not database.groups:
        return await anyio.to_thread.run_sync(partial(function, *args))
    # A caller that goes away does not take back what is written: the next one finds it in the database.
    return await asyncio.shield(asyncio.wrap_future(database.writer.submit(partial(function, *args))))


class Writer:
    """One thread, while there is work. *group* runs pieces of it in one transaction (Database.group)."""

    def __init__(self, group: Callable[[Iterable[Callable[[], None]]], None]) -> None:
        self._group = group
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wait(self, work: Callable[[], T]) -> T:
        """Runs *work* and waits for the commit. Raises what it raises."""
        return self.submit(work).result()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Queues *work*."""
        done: Future[T] = Future()
        with self._lock:
            self._jobs.put((work, done))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="payments-writer", daemon=True)
                self._thread.start()
        return done

    def _work(self) -> None:
        while True:
            try:
                first = self._jobs.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._thread = None
                        return
                continue
            batch = [first]
            while len(batch) < _MOST:
                try:
                    batch.append(self._jobs.get_nowait())
                except Empty:
                    break
            self._run(batch)

    def _run(self, batch: list[tuple[Callable[[], Any], Future[Any]]]) -> None:
        outcomes: dict[int, tuple[Any, BaseException | None]] = {}

        def piece(number: int, work: Callable[[], Any]) -> None:
            try:
                outcomes[number] = (work(), None)
            except Exception as error:  # noqa: BLE001  # handed to whoever waits for this piece of work
                outcomes[number] = (None, error)

        try:
            self._group([partial(piece, n, work) for n, (work, _) in enumerate(batch)])
        except Exception as error:  # noqa: BLE001  # the common commit failed: nothing of it is written
            outcomes = dict.fromkeys(range(len(batch)), (None, error))
        for number, (_, done) in enumerate(batch):
            result, failed = outcomes[number]
            if done.cancelled():
                continue
            if failed is not None:
                done.set_exception(failed)
            else:
                done.set_result(result)

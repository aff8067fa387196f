"""Group commit for SQLite: what many calls write at once is committed, and synced to the disk, together.

Each piece of work keeps its own atomicity by a savepoint, and learns of its outcome after the common commit only. On
PostgreSQL, which does this by itself, work runs in a worker thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import anyio.to_thread

from mcpsol_py.x402.store.database import Database

__all__ = ["grouped"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], asyncio.Future[Any], asyncio.AbstractEventLoop]
#: Work that one commit covers at most: it bounds how long the first of it waits.
_MOST = 64
#: Seconds without work after which the writer's thread ends.
_IDLE = 2.0


async def grouped(database: Database, function: Callable[..., T], *args: Any) -> T:
    """Runs *function*(*args), whose transactions on *database* join those of others. Raises what it raises."""
    if not database.groups:
        return await anyio.to_thread.run_sync(partial(function, *args))
    return await _writer(database).submit(partial(function, *args))


_lock = threading.Lock()


def _writer(database: Database) -> _Writer:
    with _lock:
        found = _writers.get(database)
        if found is None:
            found = _writers[database] = _Writer(database)
        return found


class _Writer:
    """One thread a database, while there is work."""

    def __init__(self, database: Database) -> None:
        self._group = database.group
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    async def submit(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._jobs.put((work, done, loop))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="payments-writer", daemon=True)
                self._thread.start()
        # A caller that goes away does not take back what is written: the next one finds it in the database.
        return await asyncio.shield(done)

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

    def _run(self, batch: list[_Job]) -> None:
        outcomes: list[tuple[_Job, Any, BaseException | None]] = []

        def work() -> None:
            outcomes.clear()
            for job in batch:
                try:
                    outcomes.append((job, job[0](), None))
                except Exception as error:  # noqa: BLE001  # handed to whoever waits for this piece of work
                    outcomes.append((job, None, error))

        try:
            self._group(work)
        except Exception as error:  # noqa: BLE001  # the common commit failed: nothing of it is written
            outcomes = [(job, None, error) for job in batch]
        for (_, done, loop), result, failed in outcomes:
            try:
                loop.call_soon_threadsafe(_tell, done, result, failed)
            except RuntimeError:  # that loop is closed: nobody waits any more
                continue


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.cancelled():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)


_writers: WeakKeyDictionary[Database, _Writer] = WeakKeyDictionary()

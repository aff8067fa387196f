"""Group commit for SQLite: what many calls write at once is committed, and synced to the disk, together.

One thread writes, in the order in which work comes, so that nobody waits for SQLite's lock without end. Each piece of
work keeps its own atomicity by a savepoint, and learns of its outcome after the common commit only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from mcpsol_py.x402.store.database import Database

__all__ = ["Writer", "grouped"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "Future[Any] | asyncio.Future[Any]", bool]
_Outcome = tuple[Any, "BaseException | None"]
#: Work that one commit covers at most: it bounds how long the first of it waits.
_MOST = 64
#: Seconds without work after which the writer's thread ends.
_IDLE = 2.0


async def grouped(
    database: Database, function: Callable[..., T], *args: Any, lasting: bool = True
) -> T:
    """Runs *function*(*args), whose transactions on *database* join those of others. Raises what it raises.

    What is not *lasting* may be lost when the machine loses its power before something lasting is written: a claim or
    a lease, on which nobody acts before the next state is written.
    """
    if not database.groups:
        return await anyio.to_thread.run_sync(partial(function, *args))
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    database.writer.submit(partial(function, *args), done, lasting)
    # A caller that goes away does not take back what is written: the next one finds it in the database.
    return await asyncio.shield(done)


class Writer:
    """One thread, while there is work. *group* runs pieces of it in one transaction (Database.group)."""

    def __init__(self, group: Callable[[Iterable[Callable[[], None]], bool], None]) -> None:
        self._group = group
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wait(self, work: Callable[[], T]) -> T:
        """Runs *work* and waits for the commit. Raises what it raises."""
        done: Future[T] = Future()
        self.submit(work, done)
        return done.result()

    def submit(
        self, work: Callable[[], T], done: Future[T] | asyncio.Future[T], lasting: bool = True
    ) -> None:
        """Queues *work*; *done* hears of it. *lasting*: see `grouped`."""
        with self._lock:
            self._jobs.put((work, done, lasting))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="payments-writer", daemon=True
                )
                self._thread.start()

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
        outcomes: dict[int, _Outcome] = {}

        def piece(number: int, work: Callable[[], Any]) -> None:
            try:
                outcomes[number] = (work(), None)
            except Exception as error:  # noqa: BLE001  # handed to whoever waits for this piece of work
                outcomes[number] = (None, error)

        try:
            self._group(
                [partial(piece, n, work) for n, (work, _, _) in enumerate(batch)],
                any(lasting for _, _, lasting in batch),
            )
        except Exception as error:  # noqa: BLE001  # the common commit failed: nothing of it is written
            outcomes = dict.fromkeys(range(len(batch)), (None, error))
        loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]] = {}
        for number, (_, done, _) in enumerate(batch):
            if isinstance(done, Future):
                _tell([(done, outcomes[number])])
            else:
                loops.setdefault(done.get_loop(), []).append((done, outcomes[number]))
        for loop, told in loops.items():  # one wake-up for all that wait there
            try:
                loop.call_soon_threadsafe(_tell, told)
            except RuntimeError:  # that loop is closed: nobody waits any more
                continue


def _tell(told: Sequence[tuple[Future[Any] | asyncio.Future[Any], _Outcome]]) -> None:
    for done, (result, failed) in told:
        if done.cancelled():
            continue
        if failed is not None:
            done.set_exception(failed)
        else:
            done.set_result(result)

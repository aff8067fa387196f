"""Group commit for SQLite: work that many calls submit at once is committed, and synced to disk,
together.

One thread writes, in the order in which the work arrives, so no caller waits for SQLite's lock
indefinitely. Each piece of work is atomic by a savepoint. Its caller learns the outcome only after
the common commit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

__all__ = ["GroupCommitThread"]

T = TypeVar("T")
_Done: TypeAlias = "Future[Any] | asyncio.Future[Any]"
#: (result, None), or (None, the exception).
_Outcome: TypeAlias = tuple[Any, BaseException | None]
#: Runs pieces of work in one transaction. The flag says whether the commit must reach the disk.
RunGroup: TypeAlias = Callable[[Iterable[Callable[[], None]], bool], None]
#: The most pieces of work in one commit. It bounds how long the first piece waits.
_MAX_BATCH = 64
#: Seconds without work after which the thread ends.
_IDLE = 2.0


@dataclass(slots=True)
class _Piece:
    """Work that somebody waits for. `lasting`: see `Database.grouped`."""

    work: Callable[[], Any]
    done: _Done
    lasting: bool
    outcome: _Outcome = (None, None)

    def run(self) -> None:
        try:
            self.outcome = (self.work(), None)
        except Exception as error:  # noqa: BLE001  # handed to the caller that waits for this piece
            self.outcome = (None, error)


class GroupCommitThread:
    """A thread that exists while there is work. *run_group* runs a batch of it in one transaction."""

    def __init__(self, run_group: RunGroup) -> None:
        self._run_group = run_group
        self._pieces: SimpleQueue[_Piece] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wait(self, work: Callable[[], T]) -> T:
        """Run *work* and wait for the commit. Raises what *work* raises."""
        done: Future[T] = Future()
        self.submit(work, done)
        return done.result()

    def submit(
        self,
        work: Callable[[], T],
        done: Future[T] | asyncio.Future[T],
        lasting: bool = True,
    ) -> None:
        """Queue *work*. *done* receives its outcome."""
        with self._lock:
            self._pieces.put(_Piece(work, done, lasting))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="payments-writer", daemon=True
                )
                self._thread.start()

    def _serve(self) -> None:
        while True:
            batch = self._next_batch()
            if batch:
                self._commit(batch)
            elif self._ended():
                return

    def _next_batch(self) -> list[_Piece]:
        """Wait for work and take the queue, up to the limit. Return an empty list after
        `_IDLE` seconds.
        """
        batch: list[_Piece] = []
        try:
            batch.append(self._pieces.get(timeout=_IDLE))
            while len(batch) < _MAX_BATCH:
                batch.append(self._pieces.get_nowait())
        except Empty:
            pass
        return batch

    def _ended(self) -> bool:
        """Give the thread up, unless work arrived in the meantime."""
        with self._lock:
            if self._pieces.empty():
                self._thread = None
                return True
            return False

    def _commit(self, batch: Sequence[_Piece]) -> None:
        try:
            self._run_group(
                [piece.run for piece in batch], any(piece.lasting for piece in batch)
            )
        except Exception as error:  # noqa: BLE001  # the common commit failed, so nothing was written
            for piece in batch:
                piece.outcome = (None, error)
        _report(batch)


def _report(batch: Sequence[_Piece]) -> None:
    """Set each piece's future: directly, or on its event loop with one wake-up for each loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Piece]] = {}
    for piece in batch:
        if isinstance(piece.done, Future):
            _set_outcome([piece])
        else:
            loops.setdefault(piece.done.get_loop(), []).append(piece)
    for loop, pieces in loops.items():
        try:
            loop.call_soon_threadsafe(partial(_set_outcome, pieces))
        except RuntimeError:  # the loop is closed, so nobody waits any more
            continue


def _set_outcome(pieces: Sequence[_Piece]) -> None:
    for piece in pieces:
        result, error = piece.outcome
        if piece.done.cancelled():
            continue
        if error is not None:
            piece.done.set_exception(error)
        else:
            piece.done.set_result(result)

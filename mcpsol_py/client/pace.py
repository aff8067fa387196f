"""The pace of requests to a node: so many in a second, and none while it asked to wait.

With a limit, processes of one user on one machine share the pace of a node: a file has the time of the next request.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mcpsol_py.errors import SourceError

__all__ = ["Pace"]

#: A later time in the file is that of another clock, or of a process that was misled.
_LONGEST = 60.0


class Pace:
    """The pace of requests to the node at *url*. *per_second*: the most that begin in a second, None for any number."""

    def __init__(self, url: str, per_second: float | None = None) -> None:
        if per_second is not None and per_second <= 0:
            raise SourceError(
                f"expected more than 0 requests a second, got {per_second:g}"
            )
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = 0.0
        self._file = None if per_second is None else _file_for(url)

    async def wait(self) -> None:
        """Wait for the turn of one request."""
        now = time.time()
        start = self._book(now, 0.0, self._gap)
        if start > now:
            await asyncio.sleep(start - now)

    def hold(self, seconds: float) -> None:
        """Let no request begin for so long: the node asked for it."""
        self._book(time.time(), seconds, 0.0)

    def _book(self, now: float, pause: float, gap: float) -> float:
        """Return the time of the next request, and move that of the one after it."""
        if self._file is None:
            start = _start(now, self._next, pause)
            self._next = start + gap
            return start
        with _locked(self._file) as file:
            start = _start(now, _number(file.read()), pause)
            file.seek(0)
            file.truncate()
            file.write(repr(start + gap))
        return start


def _start(now: float, booked: float, pause: float) -> float:
    return max(now + pause, booked if booked - now < _LONGEST else 0.0)


def _file_for(url: str) -> Path:
    folder = Path(os.environ.get("IDL2MCP_CACHE") or Path.home() / ".cache" / "idl2mcp")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"pace-{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def _number(text: str) -> float:
    with suppress(ValueError):
        return float(text)
    return 0.0


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    with path.open("a+", encoding="ascii") as file:
        # Windows: each process has its own turn in the file.
        with suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file

"""The audit log: one JSON object a line, each with the hash of the one before it, so that no line can be changed or
taken out of the middle unseen. (Lines taken off the end leave a shorter, valid chain: keep the last hash elsewhere to
notice.)

A line is on disk before what it tells of happens ("intent"; "signed", with the signature, before it is handed in), and
another after ("sent", "failed", "unknown").

While a process has the log open it remembers the last line that it saw: a log that is cut, replaced or taken away under
it is noticed at the next line, and nothing is signed any more.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from mcpsol_py.errors import PolicyError, SourceError

__all__ = ["AuditLog", "verify_log"]

_START = "0" * 64
#: seconds that another process's lock is waited for, and between two tries
_LOCK_SECONDS, _LOCK_STEP = 10.0, 0.01


def _digest(entry: Mapping[str, Any]) -> str:
    body = {k: v for k, v in entry.items() if k != "hash"}
    return hashlib.sha256(
        json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def verify_log(path: Path) -> tuple[int, str]:
    """The number of lines and the last hash. Raises SourceError at the first line that is no JSON, out of order or
    changed.
    """
    count, last = 0, _START
    for entry in _entries(path):
        count += 1
        _follows(entry, count, last, path)
        last = entry["hash"]
    return count, last


def _follows(entry: Mapping[str, Any], count: int, last: str, path: Path) -> None:
    """Raises SourceError unless *entry* is line *count*, after one of the hash *last*."""
    where = f"line {count}"
    if entry.get("n") != count:
        raise SourceError(
            f"is number {entry.get('n')}: a line is missing or was added",
            origin=str(path),
            path=where,
        )
    if entry.get("prev") != last:
        raise SourceError("does not follow from the line before it", origin=str(path), path=where)
    if entry.get("hash") != _digest(entry):
        raise SourceError("was changed after it was written", origin=str(path), path=where)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            yield _entry(line, place, path)


def _entry(line: bytes, place: int, path: Path) -> dict[str, Any]:
    where = f"line {place}"
    if not line.endswith(b"\n"):
        why = "is cut off: whoever wrote it was stopped. What it tells of was not sent by it; take it out"
        raise SourceError(why, origin=str(path), path=where)
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"no JSON: {error}", origin=str(path), path=where) from error
    if not isinstance(entry, dict):
        raise SourceError("no JSON object", origin=str(path), path=where)
    return entry


@dataclass(slots=True)
class _Ledger:
    """What the lines so far come to: intents by their number, (wallet, day, base units by mint), as far as they count;
    marks of yeses; the last line, and where the file went on after it.
    """

    intents: dict[int, tuple[str, str, dict[str, int]]] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    count: int = 0
    last: str = _START
    end: int = 0
    line: bytes = b""

    def take(self, entry: Mapping[str, Any]) -> None:
        """One more line."""
        self.count, self.last = entry["n"], entry["hash"]
        if entry.get("event") == "intent":
            day, wallet = str(entry.get("at", ""))[:10], str(entry.get("wallet"))
            self.intents[self.count] = wallet, day, _units(entry)
            if "yes" in entry:
                self.marks.add(str(entry["yes"]))
        elif (
            entry.get("event") == "failed"
            and (found := self.intents.get(entry.get("intent", 0))) is not None
        ):
            # what failed took no more than its line says: nothing, or the fee where it landed
            self.intents[entry["intent"]] = (*found[:2], _units(entry))

    def spent(self, wallet: str, day: str, *, and_later: bool) -> dict[str, int]:
        totals: dict[str, int] = {}
        for whose, when, amounts in self.intents.values():
            if whose == wallet and (when == day or (and_later and when > day)):
                for mint, amount in amounts.items():
                    totals[mint] = totals.get(mint, 0) + amount
        return totals


def _units(entry: Mapping[str, Any]) -> dict[str, int]:
    found = {str(mint): int(amount) for mint, amount in entry.get("outflow", {}).items()}
    if any(amount < 0 for amount in found.values()):
        raise ValueError("an amount below 0")
    return found


class AuditLog:
    """The log at *path* (None: kept in memory only). Several processes may append to one file: each line is written
    under a lock. Raises SourceError for a log that is not whole, or that others may write.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._memory: list[dict[str, Any]] = []
        self._ledger = _Ledger()
        self._lock = threading.Lock()
        if path is not None and path.exists():
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode):
                raise SourceError("is no file that keeps what is written to it", origin=str(path))
            if os.name == "posix" and mode & 0o002:
                raise SourceError(
                    "others may write this log; run chmod o-w on it", origin=str(path)
                )
            with path.open("rb") as file:
                try:
                    _locked(file.fileno(), alone=False)
                except OSError as error:
                    raise SourceError(
                        f"cannot be read ({error.strerror})", origin=str(path)
                    ) from error
                self._catch_up(file)

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        """Adds a line and returns it, once it is on disk. *facts* are JSON values; never a key. Raises PolicyError
        where the log cannot be written, or is not what it was.
        """
        return self._write(event, facts, None)

    def reserve(
        self, wallet: str, check: Callable[[Mapping[str, int]], None], mark: str = "", **facts: Any
    ) -> dict[str, Any]:
        """Adds the line "intent" of *wallet*, if *check*, given what it has spent today, does not raise.

        *mark*: of the yes that a person gave to it, which is good for one intent. Raises PolicyError for a second one,
        and as `append`. Nothing is added by another thread or process in between, so that two cannot both take the last
        of a limit.
        """
        if mark:
            facts["yes"] = mark

        def decide(ledger: _Ledger) -> None:
            if mark and mark in ledger.marks:
                raise PolicyError(
                    "outflow.confirm_above", "that yes was given to an earlier call, and is used up"
                )
            check(ledger.spent(wallet, _today(), and_later=True))

        return self._write("intent", {"wallet": wallet, **facts}, decide)

    def _write(
        self, event: str, facts: Mapping[str, Any], decide: Callable[[_Ledger], None] | None
    ) -> dict[str, Any]:
        with self._lock:
            if self.path is None:
                if decide is not None:
                    decide(self._ledger)
                entry = self._next(event, facts)
                self._ledger.take(entry)
                self._memory.append(entry)
                return entry
            with _usable(self.path, "written"):
                return self._write_line(self.path, event, facts, decide)

    def _write_line(
        self,
        path: Path,
        event: str,
        facts: Mapping[str, Any],
        decide: Callable[[_Ledger], None] | None,
    ) -> dict[str, Any]:
        new = (
            os.O_CREAT if self._ledger.count == 0 else 0
        )  # one that was there does not come back empty
        handle = os.open(path, os.O_RDWR | new | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            _locked(file.fileno(), alone=True)
            self._catch_up(file)
            if decide is not None:
                decide(self._ledger)
            entry = self._next(event, facts)
            line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
            try:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):  # a part of a line would spoil the log
                    os.ftruncate(file.fileno(), self._ledger.end)
                raise
            self._took(entry, line)
        return entry

    def _catch_up(self, file: IO[bytes]) -> None:
        """Reads what others have added, up to the last whole line. Raises SourceError where what was seen is not there
        any more, and for new lines that do not follow from it.
        """
        assert self.path is not None
        ledger = self._ledger
        start = ledger.end - len(ledger.line)
        file.seek(start)
        if file.read(len(ledger.line)) != ledger.line:
            why = "the last line that was seen is gone: the log was cut, or another stands in its place"
            raise SourceError(why, origin=str(self.path), path=f"line {ledger.count}")
        for line in io.BytesIO(file.read()):
            entry = _entry(line, ledger.count + 1, self.path)
            _follows(entry, ledger.count + 1, ledger.last, self.path)
            try:
                self._took(entry, line)
            except (TypeError, ValueError, AttributeError) as error:
                where = f"line {ledger.count}"
                raise SourceError(
                    f"no line of ours: {error}", origin=str(self.path), path=where
                ) from error

    def _took(self, entry: Mapping[str, Any], line: bytes) -> None:
        self._ledger.take(entry)
        self._ledger.end, self._ledger.line = self._ledger.end + len(line), line

    def entries(self) -> list[dict[str, Any]]:
        """Every line so far. Raises SourceError for one that is none."""
        if self.path is None:
            return list(self._memory)
        return list(_entries(self.path)) if self.path.exists() else []

    def spent(self, wallet: str, day: str | None = None) -> dict[str, int]:
        """Base units by mint that left *wallet* on *day* (UTC, "2026-11-27"; None: today): of every intent not called
        off. Today's are also those of later days, should the clock have been set back.

        A send whose outcome is unknown counts: it may have landed. Raises PolicyError as `append`.
        """
        with self._lock:
            if self.path is not None and (self._ledger.count or self.path.exists()):
                with _usable(self.path, "read"), self.path.open("rb", buffering=0) as file:
                    _locked(file.fileno(), alone=False)
                    self._catch_up(file)
            return self._ledger.spent(wallet, day or _today(), and_later=day is None)

    def _next(self, event: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        entry = {
            "n": self._ledger.count + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **facts,
            "prev": self._ledger.last,
        }
        entry["hash"] = _digest(entry)
        return entry


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@contextmanager
def _usable(path: Path, done: str) -> Iterator[None]:
    """PolicyError for a log that is not what it was, or cannot be *done* (read, written)."""
    try:
        yield
    except SourceError as error:
        raise PolicyError("audit", f"nothing is signed without a whole log: {error}") from error
    except OSError as error:
        raise PolicyError("audit", f"{path.name} cannot be {done} ({error.strerror})") from error


def _locked(descriptor: int, *, alone: bool) -> None:
    """Locks the file as long as it is open: to write *alone*, or to read. Raises OSError where another process keeps
    it locked."""
    try:
        import fcntl
    except ImportError:  # Windows: one process a log
        return
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise OSError(error.errno, "another process keeps it locked") from error
        time.sleep(_LOCK_STEP)

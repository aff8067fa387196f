"""The audit log: one JSON object a line, each with the hash of the one before it, so that no line can be changed or
taken out of the middle unseen. (Lines taken off the end leave a shorter, valid chain: keep the last hash elsewhere to
notice.)

A line is on disk before what it tells of happens ("intent"; "signed", with the signature, before it is handed in), and
another after ("sent", "failed", "unknown").
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcpsol_py.errors import PolicyError, SourceError

__all__ = ["AuditLog", "verify_log"]

_START = "0" * 64


def _digest(entry: Mapping[str, Any]) -> str:
    body = {k: v for k, v in entry.items() if k != "hash"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def verify_log(path: Path) -> tuple[int, str]:
    """The number of lines and the last hash. Raises SourceError at the first line that is no JSON, out of order or
    changed.
    """
    count, last = 0, _START
    for entry in _entries(path):
        count += 1
        where = f"line {count}"
        if entry.get("n") != count:
            raise SourceError(
                f"is number {entry.get('n')}: a line is missing or was added", origin=str(path), path=where
            )
        if entry.get("prev") != last:
            raise SourceError("does not follow from the line before it", origin=str(path), path=where)
        if entry.get("hash") != _digest(entry):
            raise SourceError("was changed after it was written", origin=str(path), path=where)
        last = entry["hash"]
    return count, last


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise SourceError(f"no JSON: {error}", origin=str(path), path=f"line {place}") from error
            if not isinstance(entry, dict):
                raise SourceError("no JSON object", origin=str(path), path=f"line {place}")
            yield entry


class AuditLog:
    """The log at *path* (None: kept in memory only). Several processes may append to one file: each line is written
    under a lock.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._memory: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        if path is not None and path.exists():
            verify_log(path)

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        """Adds a line and returns it, once it is on disk. *facts* are JSON values; never a key."""
        return self._write(event, facts, None)

    def reserve(
        self, wallet: str, check: Callable[[Mapping[str, int]], None], mark: str = "", **facts: Any
    ) -> dict[str, Any]:
        """Adds the line "intent" of *wallet*, if *check*, given what it has spent today, does not raise.

        *mark*: of the yes that a person gave to it, which is good for one intent. Raises PolicyError for a second one.
        Nothing is added by another thread or process in between, so that two cannot both take the last of a limit.
        """
        if mark:
            facts["yes"] = mark

        def decide(entries: Sequence[Mapping[str, Any]]) -> None:
            if mark and any(entry.get("yes") == mark for entry in entries):
                raise PolicyError("outflow.confirm_above", "that yes was given to an earlier call, and is used up")
            check(_spent(entries, wallet, datetime.now(UTC).date().isoformat()))

        return self._write("intent", {"wallet": wallet, **facts}, decide)

    def _write(
        self, event: str, facts: Mapping[str, Any], decide: Callable[[Sequence[Mapping[str, Any]]], None] | None
    ) -> dict[str, Any]:
        with self._lock:
            if self.path is None:
                if decide is not None:
                    decide(self._memory)
                entry = self._next(self._memory[-1] if self._memory else None, event, facts)
                self._memory.append(entry)
                return entry
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "r+b") as file:
                _exclusive(file.fileno())
                if decide is not None:
                    decide(list(_entries(self.path)))
                entry = self._next(_last_line(file), event, facts)
                file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            return entry

    def entries(self) -> list[dict[str, Any]]:
        """Every line so far."""
        if self.path is None:
            return list(self._memory)
        return list(_entries(self.path)) if self.path.exists() else []

    def spent(self, wallet: str, day: str | None = None) -> dict[str, int]:
        """Base units by mint that left *wallet* on *day* (UTC, "2026-11-27"; None: today): of every intent not called
        off.

        A send whose outcome is unknown counts: it may have landed.
        """
        return _spent(self.entries(), wallet, day or datetime.now(UTC).date().isoformat())

    @staticmethod
    def _next(last: Mapping[str, Any] | None, event: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        entry = {
            "n": (last["n"] if last else 0) + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **facts,
            "prev": last["hash"] if last else _START,
        }
        entry["hash"] = _digest(entry)
        return entry


def _spent(entries: Sequence[Mapping[str, Any]], wallet: str, day: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    failed = {e.get("intent"): e for e in entries if e.get("event") == "failed"}
    for entry in entries:
        if entry.get("event") != "intent" or entry.get("wallet") != wallet:
            continue
        if str(entry.get("at", ""))[:10] == day:
            # what failed took no more than its line says: nothing, or the fee where it landed
            for mint, amount in failed.get(entry["n"], entry).get("outflow", {}).items():
                totals[mint] = totals.get(mint, 0) + int(amount)
    return totals


def _last_line(file: Any) -> dict[str, Any] | None:
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return None
    step = min(end, 1 << 16)
    while True:
        file.seek(end - step)
        tail = file.read(step).rstrip(b"\n")
        if b"\n" in tail or step == end:
            last: dict[str, Any] = json.loads(tail.rpartition(b"\n")[2])
            return last
        step = min(end, step * 2)


def _exclusive(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: one process a log
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)

"""Times in UTC: milliseconds since 1970, as people read and write them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["date_of", "milliseconds", "now_ms", "read_time", "seconds_text", "time_of"]


def now_ms() -> int:
    """Return this machine's clock: UTC milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def date_of(ms: int) -> str:
    """Return the day of a time: "2026-11-28"."""
    return _at(ms).date().isoformat()


def time_of(ms: int) -> str:
    """Return a time to the second: "2026-11-28T09:30:00+00:00"."""
    return _at(ms).isoformat(timespec="seconds")


def seconds_text(seconds: int) -> str | None:
    """Return a time in seconds since 1970 as `time_of` writes it, or None if no calendar has it."""
    try:
        return time_of(seconds * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def read_time(text: str) -> datetime:
    """Read a date or a time in ISO 8601, in UTC unless it says otherwise. Raises ValueError, OverflowError."""
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return int(moment.timestamp() * 1000)

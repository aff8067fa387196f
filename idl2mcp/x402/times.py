"""Options for spans of time: `--since` and `--until`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from mcpsol_py.utc import milliseconds, read_time

__all__ = ["Moment", "span_ms", "span_options"]

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(click.ParamType[datetime]):
    """A moment in UTC: a date, a date and time, or how long ago ("90m", "24h", "7d", "2w")."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """See click.ParamType."""
        if isinstance(value, datetime):
            return value
        try:
            ago = _AGO.fullmatch(value)
            if ago is not None:
                return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return read_time(value)
        except (ValueError, OverflowError):
            self.fail(
                f"expected 2026-11-28, 2026-11-28T09:30 (UTC) or 7d, got {value!r:.60}",
                param,
            )


def span_ms(since: datetime | None, until: datetime | None) -> dict[str, int]:
    """Return the ends of a span that the user gave, as `since_ms` and `until_ms`."""
    given = {"since_ms": since, "until_ms": until}
    return {
        name: milliseconds(moment)
        for name, moment in given.items()
        if moment is not None
    }


def span_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--since`` and ``--until``."""
    until = click.option("--until", type=Moment(), help="Only before this moment.")
    since = click.option(
        "--since",
        type=Moment(),
        help="Only from this moment on: 2026-11-28, or 7d for a week ago.",
    )
    return since(until(function))

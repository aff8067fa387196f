"""Spans of time and days (UTC) in SQL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, literal_column

__all__ = ["FOREVER", "Span", "start_of_day"]

#: A time that never comes, in milliseconds since 1970.
FOREVER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time in UTC milliseconds since 1970: from `since_ms`, before `until_ms`."""

    since_ms: int = 0
    until_ms: int = FOREVER

    def covers(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """Return the SQL condition that *column* is in this span."""
        return (column >= self.since_ms) & (column < self.until_ms)


def start_of_day(column: ColumnElement[int]) -> ColumnElement[int]:
    """Return the start of the day of a time in *column*, in milliseconds.

    The number is part of the text: PostgreSQL takes two parameters in two places for two expressions.
    """
    return column - column % literal_column("86400000", BigInteger)

"""Rows as objects: read the row of a statement, and take values of rows by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import Connection

__all__ = ["one_row", "values_of"]

T = TypeVar("T")


def one_row(
    connection: Connection,
    statement: Any,
    read: Callable[[Any], T],
    *,
    lock: bool = False,
) -> T | None:
    """Return what *read* makes of the only row of a statement, or None if there is no row.

    *lock*: lock the row until the transaction ends.
    """
    row = connection.execute(
        statement.with_for_update() if lock else statement
    ).one_or_none()
    return None if row is None else read(row)


def values_of(row: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of these columns of a row, or of these attributes of an object, by name."""
    return {name: getattr(row, name) for name in names}

"""Statements that run thousands of times a second: compiled once, and on SQLite handed straight to the driver, since
what SQLAlchemy does around each execution takes several times as long there as SQLite itself.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import ClauseElement

from mcpsol_py.items import names_of, without_nulls

__all__ = ["Statement", "row_of"]


def row_of(table: Table) -> type[Any]:
    """A named tuple of a table's columns, for `Statement.one`."""
    return namedtuple(f"{table.name}_row", names_of(table.columns))


class Statement:
    """One statement with bound parameters by name. Types must need no conversion (text, integers, None).

    *row* reads what it returns, column by column.
    """

    def __init__(self, statement: ClauseElement, row: type[Any] | None = None) -> None:
        self._statement, self._row = statement, row
        self._sqlite: tuple[str, Sequence[str], dict[str, Any]] | None = None

    def one(self, connection: Connection, values: dict[str, Any]) -> Any:
        """The first row it returns, or None. Raises SQLAlchemy's errors."""
        if connection.dialect.name != "sqlite":
            found = connection.execute(self._statement, values).first()  # type: ignore[call-overload]  # executable
            return self._named(found)
        cursor = self._raw(connection, values)
        try:
            found = cursor.fetchone()
        except (
            sqlite3.Error
        ) as error:  # with RETURNING the statement runs as it is read
            raise _wrapped(self._text(connection)[0], values, error) from error
        finally:
            cursor.close()
        return self._named(found)

    def _named(self, found: Any) -> Any:
        """The row as a named tuple, None if there is none."""
        return None if found is None or self._row is None else self._row._make(found)

    def count(self, connection: Connection, values: dict[str, Any]) -> int:
        """How many rows it changed. Raises SQLAlchemy's errors."""
        if connection.dialect.name != "sqlite":
            return int(connection.execute(self._statement, values).rowcount)  # type: ignore[call-overload]  # executable
        cursor = self._raw(connection, values)
        try:
            return cursor.rowcount
        finally:
            cursor.close()

    def _text(
        self, connection: Connection
    ) -> tuple[str, Sequence[str], dict[str, Any]]:
        if self._sqlite is None:
            compiled = self._statement.compile(dialect=connection.dialect)
            order = list(getattr(compiled, "positiontup", None) or ())
            fixed = without_nulls(compiled.params or {})
            self._sqlite = (str(compiled), order, fixed)
        return self._sqlite

    def _raw(self, connection: Connection, values: dict[str, Any]) -> sqlite3.Cursor:
        text, order, fixed = self._text(connection)
        driver: Any = connection.connection.driver_connection
        try:
            cursor: sqlite3.Cursor = driver.execute(
                text,
                [values[name] if name in values else fixed[name] for name in order],
            )
        except sqlite3.Error as error:
            raise _wrapped(text, values, error) from error
        return cursor


def _wrapped(text: str, values: dict[str, Any], error: sqlite3.Error) -> BaseException:
    """As SQLAlchemy would raise it: Database.run tells "locked" and "full" from other errors by that."""
    return DBAPIError.instance(text, None, error, sqlite3.Error, hide_parameters=True)

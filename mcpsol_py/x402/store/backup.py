"""Copies of a SQLite database of payments: made while it is in use, and restored."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, update

from mcpsol_py.errors import SourceError
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import wallets

__all__ = ["back_up", "restore"]

_DAY_MS = 86_400_000


def back_up(database: Database, to: Path) -> None:
    """Write a copy of *database* to the new file *to*, readable by its owner only.

    Others may write to the database meanwhile: the copy is its state at one moment. Raises
    SourceError if the file exists, cannot be written, or the database is not in a SQLite file.
    """
    source = _file_of(database)
    if not source.exists():
        raise SourceError("there is no database to copy", origin=str(source))
    _copy(source, to)


def restore(copy: Path, database: Database) -> None:
    """Make *database*, which must not exist yet, of a copy that `back_up` made.

    The payments that wallets made after the copy are not known. So the day of their budgets is
    tomorrow: no day is spent twice. Raises SourceError, and StorageError.
    """
    target = _file_of(database)
    with closing(_opened(copy)) as source:
        _check(source, copy)
    _copy(copy, target)
    database.migrate()

    def begin_tomorrow(connection: Connection, _again: bool) -> None:
        now = database.now_ms(connection)
        tomorrow = (now // _DAY_MS + 1) * _DAY_MS
        later = (
            update(wallets)
            .where(wallets.c.touched_ms < tomorrow)
            .values(touched_ms=tomorrow)
        )
        connection.execute(later)

    database.run(begin_tomorrow)


def _file_of(database: Database) -> Path:
    name = database.engine.url.database
    if not database.is_sqlite or not name or name == ":memory:":
        raise SourceError(
            "expected a SQLite file; copy PostgreSQL with pg_dump and pg_restore",
            path="--database",
        )
    return Path(name)


def _opened(file: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise SourceError(f"{error}", origin=str(file)) from error


def _check(source: sqlite3.Connection, file: Path) -> None:
    """Refuse a file that is damaged, or no database of payments."""
    try:
        (state,) = source.execute("PRAGMA integrity_check").fetchone()
        tables = {name for (name,) in source.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error as error:
        raise SourceError(
            f"not a database of payments: {error}", origin=str(file)
        ) from error
    if state != "ok" or not {"alembic_version", "executions", "spendings"} <= tables:
        raise SourceError("not a database of payments, or damaged", origin=str(file))


def _copy(source: Path, to: Path) -> None:
    """Copy a database to the new file *to*. A copy that fails leaves no file."""
    try:
        os.close(os.open(to, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise SourceError(
            f"expected a new file: {error.strerror}", origin=str(to)
        ) from error
    try:
        with (
            closing(_opened(source)) as reading,
            closing(sqlite3.connect(to)) as writing,
        ):
            reading.backup(writing)
            _check(writing, source)
    except (sqlite3.Error, SourceError) as error:
        to.unlink(missing_ok=True)
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"cannot be copied: {error}", origin=str(source)) from error

"""The database of a catalogue: opened, migrated, and its transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from mcpsol_py.errors import StorageError
from mcpsol_py.x402.store.engine import IN_MEMORY, open_engine
from mcpsol_py.x402.store.failures import failure_of
from mcpsol_py.x402.store.migrating import migrate_engine, queue_for

__all__ = ["CatalogDatabase", "database_url"]

T = TypeVar("T")

_MIGRATIONS = Path(__file__).parent / "migrations"
#: Locks that migrations, and the writers of a catalogue, queue for on PostgreSQL.
_MIGRATION_LOCK, _WRITER_LOCK = 0x6D636174, 0x6D636175
_BUSY_MS = 30_000
#: How often a transaction is run again whose connection broke or that met another.
_TRIES = 6
#: Failures that pass. Others are the same at every try.
_PASSING = ("busy", "lost")
_ADVICE = "Check the catalogue's URL and that its database is running, then repeat the command."


def database_url(text: str) -> str:
    """Return the URL of a catalogue: a URL as it is, the name of a file as one of SQLite."""
    return text if "://" in text else f"sqlite:///{text}"


class CatalogDatabase:
    """An engine on *url*, migrated when it is opened. Raises StorageError, and SourceError for an unreadable URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = open_engine(url, _BUSY_MS, threading.local())
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self.file = (
            self.engine.url.database
            if self.is_sqlite and url not in IN_MEMORY
            else None
        )
        # A database in memory has one connection, so its threads take turns.
        self._turn: AbstractContextManager[object] = (
            threading.RLock() if url in IN_MEMORY else nullcontext()
        )
        try:
            migrate_engine(self.engine, _MIGRATIONS, _MIGRATION_LOCK)
        except DBAPIError as error:
            self.engine.dispose()
            raise _unusable(error) from error

    @contextmanager
    def _begin(self, *, writes: bool) -> Iterator[Connection]:
        with self._turn, self.engine.begin() as connection:
            if writes and not self.is_sqlite:
                queue_for(connection, _WRITER_LOCK)  # SQLite has one writer anyway
            yield connection

    def run(self, work: Callable[[Connection], T], *, writes: bool = False) -> T:
        """Run *work* in one transaction, again if the connection breaks or the database is locked.

        It must bear being repeated. Raises StorageError.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                with self._begin(writes=writes) as connection:
                    return work(connection)
            except DBAPIError as error:
                if not tries_left or failure_of(error) not in _PASSING:
                    raise _unusable(error) from error
                time.sleep(0.05 * 2 ** (_TRIES - tries_left))
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def _unusable(error: DBAPIError) -> StorageError:
    return StorageError(str(error.orig), what="catalogue's database", advice=_ADVICE)

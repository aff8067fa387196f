"""Opening the database, bringing it to the newest schema, and the transactions that everything else runs in."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from mcpsol_py.errors import StorageError
from mcpsol_py.x402.store.group import Writer

__all__ = ["Database", "now_ms"]

T = TypeVar("T")

_IN_MEMORY = ("sqlite://", "sqlite:///:memory:")
MIGRATIONS = Path(__file__).parent / "migrations"
#: PostgreSQL's codes that say: nothing was done, the same may be tried again (serialization, deadlock, lock not
#: available, too many connections, starting up or shutting down).
_RETRY_STATES = ("40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03")


def now_ms() -> int:
    """UTC now by this machine's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Database:
    """An engine on *url* ("sqlite:///payments.db", "postgresql+psycopg://…"), migrated to the newest schema when
    opened.

    SQLite runs in WAL mode, and every writing transaction takes its lock at the start (BEGIN IMMEDIATE), so that two
    writers queue instead of failing in the middle. On PostgreSQL a transaction for a merchant sets `app.merchant`,
    which the row-level policies of migration 0003 hold every statement to; *role* is the role that it takes on
    (mcpsol_merchant there, which owns nothing).

    A transaction whose connection breaks, or which finds the database locked, is run again for up to *patience*
    seconds: a fail-over in the middle of a payment is waited for. Raises StorageError when that was not enough, or when
    the disk is full.
    """

    def __init__(
        self,
        url: str = "sqlite://",
        *,
        migrate: bool = True,
        role: str | None = None,
        patience: float = 15.0,
    ) -> None:
        self.url, self.role, self.patience = url, role, patience
        options: dict[str, Any] = {"pool_pre_ping": True}
        if url in _IN_MEMORY:
            from sqlalchemy.pool import (
                StaticPool,
            )  # one connection: a second one would see another, empty database

            options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
        elif url.startswith("postgresql"):
            options["connect_args"] = {"connect_timeout": 5}
        self.engine: Engine = create_engine(url, **options)
        self.writer = Writer(self.group)
        self._joined = (
            threading.local()
        )  # .connection: that of the group commit which this thread is in; .passing
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            _tune_sqlite(self.engine, max(int(patience * 1000), 1), self._joined)
        if migrate:
            self.migrate()

    def migrate(self) -> None:
        """Runs the migrations that the database has not seen. Processes that start at once queue for it."""
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x6D637073})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    @contextmanager
    def begin(self, tenant: str | None = None) -> Iterator[Connection]:
        """One transaction, for one merchant where *tenant* is given. It is not repeated: see `run`.

        Inside `group` it is a savepoint of the common one."""
        joined: Connection | None = getattr(self._joined, "connection", None)
        if joined is not None:
            driver: Any = (
                joined.connection.driver_connection
            )  # SQLAlchemy's savepoint takes ten times as long
            driver.execute("SAVEPOINT piece")
            try:
                yield joined
            except BaseException:
                if driver.in_transaction:
                    driver.execute("ROLLBACK TO piece")
                    driver.execute("RELEASE piece")
                raise
            driver.execute("RELEASE piece")
            return
        with self.engine.begin() as connection:
            if not self.is_sqlite and tenant is not None:
                connection.execute(
                    text("SELECT set_config('app.merchant', :tenant, true)"), {"tenant": tenant}
                )
                if self.role is not None:
                    connection.execute(
                        text("SELECT set_config('role', :role, true)"), {"role": self.role}
                    )
            yield connection

    def run(self, work: Callable[[Connection, bool], T], tenant: str | None = None) -> T:
        """*work*(connection, again) in one transaction, repeated while the database is away or locked.

        *again* is True when an earlier try may have been committed though its answer was lost: *work* must then find
        its own traces. Raises StorageError.

        On a SQLite file it runs in the database's one writing thread, where what came at the same time is committed
        together (store/group.py).
        """
        if self.groups and getattr(self._joined, "connection", None) is None:
            return self.writer.wait(lambda: self._alone(work, tenant))
        return self._alone(work, tenant)

    def _alone(self, work: Callable[[Connection, bool], T], tenant: str | None = None) -> T:
        deadline = time.monotonic() + self.patience
        pause, again = 0.02, False
        while True:
            try:
                with self.begin(tenant) as connection:
                    return work(connection, again)
            except (OperationalError, InterfaceError, DBAPIError) as error:
                kind = _kind(error)
                if kind == "other":
                    raise
                again = again or kind == "lost"
                if kind == "full" or time.monotonic() >= deadline:
                    raise StorageError(_WORDS[kind]) from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 0.5)

    @property
    def groups(self) -> bool:
        """Does committing together pay? SQLite syncs its file for each commit; PostgreSQL groups commits by itself."""
        return self.is_sqlite and self.url not in _IN_MEMORY

    def group(self, pieces: Iterable[Callable[[], None]], lasting: bool = True) -> None:
        """*pieces*, all of whose transactions are committed together at the end. They may be run again: see `run`.
        What is not *lasting* reaches the disk with the next commit that is.

        Raises StorageError when SQLite gave up the common transaction in the middle (a full disk): nothing is written
        then.
        """

        def together(connection: Connection, _again: bool) -> None:
            driver: Any = connection.connection.driver_connection
            self._joined.connection = connection
            try:
                for piece in pieces:
                    piece()
                    if not driver.in_transaction:
                        raise StorageError(_WORDS["full"])
            finally:
                self._joined.connection = None

        self._joined.passing = not lasting
        try:
            self._alone(together)
        finally:
            self._joined.passing = False

    def now_ms(self, connection: Connection) -> int:
        """UTC now in milliseconds since 1970, by the one clock that all who share the database have: the server's on
        PostgreSQL, this machine's on SQLite (whose users stand on one machine)."""
        if self.is_sqlite:
            return now_ms()
        seconds = connection.execute(
            text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        )
        return int(seconds.scalar_one())

    def close(self) -> None:
        """Closes all connections; one that a thread still uses, as soon as that is done with it."""
        event.listen(
            self.engine.pool, "checkin", _end
        )  # dispose forgets it, and nobody would close it
        self.engine.dispose()


def _end(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.invalidate()


_WORDS = {
    "busy": "another process holds it locked",
    "lost": "it does not answer",
    "full": "its disk is full",
}


def _kind(error: DBAPIError) -> str:
    """ "busy" (nothing was done), "lost" (it may have been done), "full", or "other": the statement's own fault."""
    said = str(error.orig).lower()
    state = getattr(error.orig, "sqlstate", None)
    if "disk is full" in said or state in ("53100", "53200"):
        return "full"
    if (
        "database is locked" in said
        or "database table is locked" in said
        or state in _RETRY_STATES[:4]
    ):
        return "busy"
    if error.connection_invalidated or state in _RETRY_STATES or (state or "").startswith("08"):
        return "lost"
    if (
        state is None
        and isinstance(error, OperationalError)
        and type(error.orig).__module__.startswith("psycopg")
    ):
        return "lost"  # psycopg's own: the connection could not be made, or broke
    return "other"


def _tune_sqlite(engine: Engine, busy_ms: int, joined: threading.local) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = (
            None  # pysqlite's own BEGIN comes too late: the listener below sends it
        )
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={busy_ms}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        # NORMAL: the log is not synced at this commit, but by the next FULL one, whose sync covers all before it.
        wanted = "NORMAL" if getattr(joined, "passing", False) else "FULL"
        if connection.info.get("synchronous", "FULL") != wanted:
            connection.exec_driver_sql(f"PRAGMA synchronous={wanted}")
            connection.info["synchronous"] = wanted
        connection.exec_driver_sql("BEGIN IMMEDIATE")

"""A database of payments: opening it, migrating it to the newest schema, and running transactions
on it.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from mcpsol_py.errors import StorageError
from mcpsol_py.utc import now_ms
from mcpsol_py.x402.store.engine import IN_MEMORY, open_engine
from mcpsol_py.x402.store.failures import FAILURE_MESSAGES, failure_of
from mcpsol_py.x402.store.group_commit import GroupCommitThread
from mcpsol_py.x402.store.migrating import migrate_engine
from mcpsol_py.x402.store.rows import one_row

__all__ = ["Database", "now_ms"]

T = TypeVar("T")
MIGRATIONS = Path(__file__).parent / "migrations"
#: Locks that migrations on PostgreSQL queue for.
_MIGRATION_LOCK = 0x6D637073

_TOO_LARGE = "it has no room for a value of this call"

#: Names the merchant of this transaction and asks the policies' own question about it.
_BECOME = text(
    "SELECT may_act_as('merchant', :tenant) FROM set_config('app.merchant', :tenant, true)"
)
_TAKE_ROLE = text("SELECT set_config('role', :role, true)")


def _has_content(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


class Database:
    """An engine on *url* ("sqlite:///payments.db", "postgresql+psycopg://…"), migrated when it is
    opened.

    SQLite runs in WAL mode. Every writing transaction takes its lock at the start (BEGIN
    IMMEDIATE), so two writers queue instead of failing in the middle. On PostgreSQL a transaction
    for a merchant sets `app.merchant`; the row-level policies of the migrations 0003 and 0013 apply
    it to every statement, if the login may act for that merchant. *role* is the role that such a
    transaction takes (mcpsol_merchant, which owns nothing).

    A transaction is run again for up to *patience* seconds if its connection breaks or the database
    is locked, so a fail-over during a payment only delays it. Raises StorageError if that was not
    enough, or if the disk is full, and SourceError if the URL cannot be read. No error shows the
    URL, its password or the values of a row.
    """

    def __init__(
        self,
        url: str = "sqlite://",
        *,
        migrate: bool = True,
        role: str | None = None,
        patience: float = 15.0,
    ) -> None:
        self.role, self.patience = role, patience
        # .connection: of the group commit that this thread runs now. .passing: that commit need not
        # reach the disk.
        self._joined = threading.local()
        self.engine = open_engine(url, max(int(patience * 1000), 1), self._joined)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._in_memory = url in IN_MEMORY
        # A database in memory has one connection, so its threads take turns.
        self._turn: AbstractContextManager[object] = (
            threading.RLock() if self._in_memory else nullcontext()
        )
        self.writer = GroupCommitThread(self.group)
        if migrate:
            self.migrate()

    @property
    def url(self) -> str:
        """The database's URL, without its password."""
        return str(self.engine.url)

    def exists(self) -> bool:
        """Return True if there is a database of payments at the URL. Nothing is created.

        Raises StorageError if the database cannot be opened.
        """
        file = self.engine.url.database
        if self.is_sqlite and not (file and _has_content(Path(file))):
            return False  # SQLite would create it
        try:
            return inspect(self.engine).has_table("alembic_version")
        except DBAPIError as error:
            raise _unreachable(error) from error

    def migrate(self) -> None:
        """Run the migrations that the database has not seen. Processes that start together queue
        for it.

        Raises StorageError if the database cannot be opened.
        """
        try:
            migrate_engine(self.engine, MIGRATIONS, _MIGRATION_LOCK)
        except OperationalError as error:
            raise _unreachable(error) from error

    @contextmanager
    def begin(self, tenant: str | None = None) -> Iterator[Connection]:
        """Open one transaction, for the merchant *tenant* if it is given. It is not repeated: see
        `run`.

        Inside `group` it is a savepoint of the common transaction.
        """
        joined: Connection | None = getattr(self._joined, "connection", None)
        if joined is not None:
            with _savepoint(joined):
                yield joined
            return
        with self._turn, self.engine.begin() as connection:
            if tenant is not None and not self.is_sqlite:
                self._become(connection, tenant)
            yield connection

    def _become(self, connection: Connection, tenant: str) -> None:
        """Let the row-level policies of PostgreSQL see *tenant* in this transaction.

        Raises StorageError if the login may not act for it: the policies would hide every row, and
        no rows are no answer.
        """
        may = connection.execute(_BECOME, {"tenant": tenant}).scalar_one()
        if not may:
            raise StorageError(
                f"its login {self.engine.url.username!r} may not act for the merchant {tenant!r}; "
                "the owner of the tables enters it in the table logins"
            )
        if self.role is not None:
            connection.execute(_TAKE_ROLE, {"role": self.role})

    def run(
        self, work: Callable[[Connection, bool], T], tenant: str | None = None
    ) -> T:
        """Run *work*(connection, again) in one transaction. Repeat it while the database is away or
        locked.

        *again* is True if an earlier attempt may have been committed although its answer was lost.
        *work* must then look for its own traces. Raises StorageError.

        On a SQLite file the database's one writing thread runs it and commits it together with
        other work (store/group_commit.py).
        """
        if self.groups and getattr(self._joined, "connection", None) is None:
            return self.writer.wait(lambda: self._repeat(work, tenant))
        return self._repeat(work, tenant)

    def fetch_one(
        self, statement: Any, read: Callable[[Any], T], tenant: str | None = None
    ) -> T | None:
        """Return what *read* makes of the only row of a statement, or None if there is no row."""
        return self.run(
            lambda connection, _: one_row(connection, statement, read), tenant
        )

    def fetch_all(
        self, statement: Any, read: Callable[[Any], T], tenant: str | None = None
    ) -> list[T]:
        """Return what *read* makes of each row of a statement."""
        rows = self.run(
            lambda connection, _: connection.execute(statement).all(), tenant
        )
        return list(map(read, rows))

    async def grouped(
        self, function: Callable[..., T], *args: Any, lasting: bool = True
    ) -> T:
        """Run *function*(*args), whose transactions on this database join those of others. Raises
        what it raises.

        Work that is not *lasting* may be lost if the machine loses power before something lasting
        is written. That suits a claim or a lease: nobody acts on it before the next state is
        written.
        """
        if not self.groups:
            return await anyio.to_thread.run_sync(partial(function, *args))
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.writer.submit(partial(function, *args), done, lasting)
        # A caller that goes away does not undo its writes: the next one finds them in the
        # database.
        return await asyncio.shield(done)

    def _repeat(
        self, work: Callable[[Connection, bool], T], tenant: str | None = None
    ) -> T:
        deadline = time.monotonic() + self.patience
        pause, again = 0.02, False
        while True:
            try:
                with self.begin(tenant) as connection:
                    return work(connection, again)
            except (DataError, OverflowError, UnicodeEncodeError) as error:
                raise StorageError(_TOO_LARGE, advice="Nothing was written.") from error
            except (OperationalError, InterfaceError, DBAPIError) as error:
                failure = failure_of(error)
                if failure == "other":
                    raise
                if failure == "full" or time.monotonic() >= deadline:
                    raise StorageError(FAILURE_MESSAGES[failure]) from error
                again = again or failure == "lost"
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 0.5)

    @property
    def groups(self) -> bool:
        """Whether group commit helps. SQLite syncs its file for each commit; PostgreSQL groups
        commits itself.
        """
        return self.is_sqlite and not self._in_memory

    def group(self, pieces: Iterable[Callable[[], None]], lasting: bool = True) -> None:
        """Run *pieces* and commit all their transactions together. They may be run again: see
        `run`.

        If it is not *lasting*, the commit reaches the disk with the next one that is. Raises
        StorageError if SQLite gave up the common transaction (the disk is full); nothing is written
        then.
        """

        def together(connection: Connection, _again: bool) -> None:
            driver: Any = connection.connection.driver_connection
            self._joined.connection = connection
            try:
                for piece in pieces:
                    piece()
                    if not driver.in_transaction:
                        raise StorageError(FAILURE_MESSAGES["full"])
            finally:
                self._joined.connection = None

        self._joined.passing = not lasting
        try:
            self._repeat(together)
        finally:
            self._joined.passing = False

    def now_ms(self, connection: Connection) -> int:
        """Return UTC milliseconds since 1970, by the clock that all users of the database share.

        On PostgreSQL that is the server's clock. On SQLite it is this machine's, because all its
        users run here.
        """
        if self.is_sqlite:
            return now_ms()
        seconds = connection.execute(
            text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        )
        return int(seconds.scalar_one())

    def clock(self, clock_ms: Callable[[], int] | None) -> Callable[[Connection], int]:
        """Return the clock of transactions: `now_ms`, or *clock_ms* if a test gives one."""
        return self.now_ms if clock_ms is None else lambda _connection: clock_ms()

    def close(self) -> None:
        """Close all connections. One that a thread still uses is closed when the thread returns it."""
        # dispose() forgets the connections in use, so the pool must close them when they come
        # back
        event.listen(self.engine.pool, "checkin", _invalidate)
        self.engine.dispose()


def _unreachable(error: DBAPIError) -> StorageError:
    return StorageError(str(error.orig), advice="Check its URL, and that it runs.")


def _invalidate(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.invalidate()


@contextmanager
def _savepoint(connection: Connection) -> Iterator[None]:
    """A savepoint sent straight to the driver: SQLAlchemy's own takes ten times as long."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SAVEPOINT piece")
    try:
        yield
    except BaseException:
        if driver.in_transaction:
            driver.execute("ROLLBACK TO piece")
            driver.execute("RELEASE piece")
        raise
    driver.execute("RELEASE piece")

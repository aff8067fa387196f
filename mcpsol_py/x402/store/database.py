"""Opening the database, bringing it to the newest schema, and the clock that rows are stamped with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event

__all__ = ["Database", "now_ms"]

MIGRATIONS = Path(__file__).parent / "migrations"


def now_ms() -> int:
    """UTC now, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Database:
    """An engine on *url* ("sqlite:///payments.db", "postgresql+psycopg://…"), migrated to the newest schema when
    opened.

    SQLite runs in WAL mode with a busy timeout, and every writing transaction takes its lock at the start (BEGIN
    IMMEDIATE), so
    that two writers queue instead of failing in the middle. Raises nothing of its own; SQLAlchemy's errors stay as they
    are.
    """

    def __init__(self, url: str = "sqlite://", *, migrate: bool = True) -> None:
        self.url = url
        options: dict[str, Any] = {}
        if url in ("sqlite://", "sqlite:///:memory:"):
            from sqlalchemy.pool import StaticPool  # one connection: a second one would see another, empty database

            options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
        self.engine: Engine = create_engine(url, **options)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            _tune_sqlite(self.engine)
        if migrate:
            self.migrate()

    def migrate(self) -> None:
        """Runs the migrations that the database has not seen."""
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        with self.engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        """Closes all connections."""
        self.engine.dispose()


def _tune_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # pysqlite's own BEGIN comes too late: the listener below sends it
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA busy_timeout=10000")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

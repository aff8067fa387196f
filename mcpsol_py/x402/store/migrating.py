"""Runs the migrations that a database has not seen."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, text

__all__ = ["migrate_engine", "queue_for"]


def queue_for(connection: Connection, lock: int) -> None:
    """Wait for a lock of PostgreSQL, and hold it until the transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})


def migrate_engine(engine: Engine, folder: Path, lock: int) -> None:
    """Run the migrations in *folder*. Processes that start together queue for *lock* on PostgreSQL."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    with engine.begin() as connection:
        if engine.dialect.name != "sqlite":
            queue_for(connection, lock)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

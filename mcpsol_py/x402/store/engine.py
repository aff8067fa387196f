"""Engines of SQLAlchemy: the only place that makes one, so that no error of a database shows a secret."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import StaticPool

from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError

__all__ = ["IN_MEMORY", "open_engine", "read_url"]

IN_MEMORY = ("sqlite://", "sqlite:///:memory:")
#: The parts of a URL's query that libpq takes for secrets.
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "sslkey")


def open_engine(url: str, busy_ms: int, joined: threading.local) -> Engine:
    """Make an engine for *url*. It connects when it is first used.

    A SQLite connection waits up to *busy_ms* for a lock. *joined* is that of `Database`. Raises
    SourceError, without the URL, if it cannot be read.
    """
    parsed = read_url(url)
    for secret in _secrets(parsed):
        telemetry.hide(secret)
    try:
        engine = create_engine(parsed, hide_parameters=True, **_options(url))
    except (ArgumentError, ImportError) as error:
        # The name of a driver is no secret, unless the password stands in its place.
        raise SourceError(
            f"no driver of this name is installed: {_without_secrets(str(error), parsed)}",
            path="database",
        ) from None
    if engine.dialect.name == "sqlite":
        _tune_sqlite(engine, busy_ms, joined)
    else:
        event.listen(engine, "handle_error", partial(_shorten, parsed))
    return engine


def read_url(url: str) -> URL:
    """Parse a database's URL. A password in its query becomes its password, which SQLAlchemy hides.

    Raises SourceError, without the URL.
    """
    try:
        parsed = make_url(url)
        password = parsed.query.get("password")
    except (ArgumentError, ValueError):
        raise SourceError(
            "expected a URL such as sqlite:///payments.db or postgresql+psycopg://user@host/name; "
            "characters like / and @ in a password are written as %2F and %40",
            path="database",
        ) from None
    if password is None:
        return parsed
    text = password if isinstance(password, str) else password[-1]
    return parsed.difference_update_query(["password"]).set(password=text)


def _without_secrets(message: str, url: URL) -> str:
    """Return *message* without the secrets of *url*."""
    for secret in _secrets(url):
        message = message.replace(secret, "[hidden]")
    return message


def _secrets(url: URL) -> list[str]:
    found = [url.password, *map(url.query.get, _SECRET_OPTIONS)]
    return list(map(str, filter(None, found)))


def _options(url: str) -> dict[str, Any]:
    if url in IN_MEMORY:
        # one connection only: a second one would open another, empty database
        return {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    options: dict[str, Any] = {"pool_pre_ping": True}
    if url.startswith("postgresql"):
        options["connect_args"] = {"connect_timeout": 5}
    return options


def _shorten(url: URL, context: ExceptionContext) -> None:
    """Leave secrets out of an error, and the values of rows.

    Of a server's message the first line stays: the lines after it quote rows, with all that they hold.
    """
    error, wrapper = context.original_exception, context.sqlalchemy_exception
    if wrapper is None:
        return
    whole = str(error)
    first_line = getattr(getattr(error, "diag", None), "message_primary", None)
    shown = _without_secrets(whole if first_line is None else first_line, url)
    error.args = (shown,)
    wrapper.args = (str(wrapper.args[0]).replace(whole, shown),)


def _tune_sqlite(engine: Engine, busy_ms: int, joined: threading.local) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = (
            None  # _begin below sends BEGIN; pysqlite's comes too late
        )
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={busy_ms}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        # NORMAL does not sync the log at this commit. The next FULL commit syncs everything before
        # it.
        wanted = "NORMAL" if getattr(joined, "passing", False) else "FULL"
        if connection.info.get("synchronous", "FULL") != wanted:
            connection.exec_driver_sql(f"PRAGMA synchronous={wanted}")
            connection.info["synchronous"] = wanted
        connection.exec_driver_sql("BEGIN IMMEDIATE")

"""Engines: no error of a database shows its password, the parameters of a statement or the values of a row."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from mcpsol_py.errors import McpsolError, SourceError, StorageError
from mcpsol_py.telemetry.redaction import clean
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.engine import read_url
from mcpsol_py.x402.store.schema import spendings
from tests.unit.x402.conftest import Storage

SECRET = "p4ssw0rd-of-the-shop"

UNREADABLE = [
    SECRET,
    f"postgresql+psycopg://shop:{SECRET}@127.0.0.1:12x/db",
    f"postgresql+psycopg://shop:{SECRET}@[::1/db",
    f"postgres://shop:{SECRET}@127.0.0.1/db",
    f"postgresql+psycopg2://shop:{SECRET}@127.0.0.1/db",
]
UNREACHABLE = [
    f"postgresql+psycopg://shop:{SECRET}@127.0.0.1:9/db",
    f"postgresql+psycopg://shop@127.0.0.1:9/db?password={SECRET}",
    f"postgresql+psycopg://shop:{SECRET}@127.0.0.1:9/db?sslmode={SECRET}",
    f"postgresql+psycopg://shop@127.0.0.1:9/db?sslpassword={SECRET}&sslmode={SECRET}",
]


@pytest.mark.parametrize("url", UNREADABLE)
def test_a_url_that_cannot_be_read_is_an_error_without_it(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        Database(url)
    assert SECRET not in _shown(caught.value)


@pytest.mark.parametrize("url", UNREACHABLE)
def test_a_database_that_cannot_be_reached_is_an_error_without_its_password(
    url: str,
) -> None:
    with pytest.raises(StorageError, match="Check its URL") as caught:
        Database(url, patience=0.1)
    assert SECRET not in _shown(caught.value)


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open database file"):
        Database(f"sqlite:///{tmp_path / 'no' / 'such.db'}")


@pytest.mark.parametrize("url", UNREACHABLE[:2])
def test_the_password_is_in_no_repr_and_hidden_in_logs(url: str) -> None:
    database = Database(url, migrate=False)
    assert (
        SECRET
        not in f"{database!r} {database.engine!r} {database.engine.url} {database.url}"
    )
    assert SECRET not in clean(f"cannot connect with {SECRET}")


def test_a_password_in_the_query_is_used() -> None:
    url = read_url(f"postgresql+psycopg://shop@/db?host=/run&password={SECRET}")
    assert (url.password, dict(url.query)) == (SECRET, {"host": "/run"})


#: Statements that PostgreSQL and SQLite refuse, each with the secret in a value.
REFUSED = {
    "a NULL": "INSERT INTO spendings (wallet, payment_id, payment) VALUES ('w', 'p', :secret)",
    "a row that exists": "INSERT INTO logins VALUES ('l', 'merchant', :secret)",
    "no such column": "UPDATE spendings SET nothing = :secret",
    "no such table": "INSERT INTO nothing VALUES (:secret)",
    "a syntax error": "INSERT INTO spendings VALUES :secret",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_an_error_of_sql_shows_no_values(storage: Storage, statement: str) -> None:
    owner = storage.open() if storage.is_sqlite else storage.login("mcpsol")
    known = text("INSERT INTO logins VALUES ('l', 'merchant', :secret)")
    with owner.begin() as connection:
        connection.execute(known, {"secret": SECRET})
    with pytest.raises(DBAPIError) as caught, owner.begin() as connection:
        connection.execute(text(statement), {"secret": SECRET})
    assert SECRET not in _shown(caught.value)


def test_an_error_before_the_statement_is_sent_shows_no_values(
    storage: Storage,
) -> None:
    database = storage.open() if storage.is_sqlite else storage.login("mcpsol")
    with pytest.raises(Exception) as caught, database.begin() as connection:
        connection.execute(
            spendings.insert().values(wallet=SECRET, payment={SECRET: object()})
        )
    assert SECRET not in _shown(caught.value)


def _shown(error: BaseException) -> str:
    """All that a traceback, a log or a tool result shows of an error."""
    details = (
        error.details() if isinstance(error, McpsolError) else vars(error).get("detail")
    )
    chain = "".join(traceback.format_exception(error, chain=True))
    # The traceback quotes this file's lines, which name the secret but do not spell it.
    return f"{error!s} {error!r} {details} {chain}"

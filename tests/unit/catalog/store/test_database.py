"""The database of a catalogue: what passes is tried again, what lasts is reported at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from mcpsol_py.catalog.store.database import CatalogDatabase, database_url
from mcpsol_py.errors import StorageError


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CatalogDatabase]:
    opened = CatalogDatabase(database_url(str(tmp_path / "catalog.db")))
    yield opened
    opened.close()


def test_a_lasting_error_is_not_repeated(database: CatalogDatabase) -> None:
    tries = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("SELECT no_such_column FROM catalog_programs"))

    with pytest.raises(StorageError, match="no_such_column"):
        database.run(work)
    assert len(tries) == 1


def test_a_locked_database_is_tried_again(database: CatalogDatabase) -> None:
    tries = []

    def work(connection: Connection) -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("BEGIN", {}, Exception("database is locked"))
        return 7

    assert (database.run(work), len(tries)) == (7, 3)

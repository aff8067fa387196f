"""Where payments are kept in these tests: a SQLite file, and a database of a private PostgreSQL."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from mcpsol_py.x402.store.database import Database
from tests.postgres import ADVICE, Cluster, binaries


@dataclass
class Storage:
    """One database, empty but for its tables. `open` is what a replica does; all are closed after the test.

    On PostgreSQL replicas log in as a role that owns nothing, so that the row-level policies hold in every test."""

    url: str
    cluster: Cluster | None = None
    opened: list[Database] = field(default_factory=list)

    def open(self, **options: Any) -> Database:
        options.setdefault("migrate", self.cluster is None)
        database = Database(self.url, **options)
        self.opened.append(database)
        return database

    @property
    def name(self) -> str:
        """The database's name."""
        return str(make_url(self.url).database)

    def login(self, user: str) -> Database:
        """Opens it as another login of PostgreSQL."""
        assert self.cluster is not None
        database = Database(self.cluster.url(self.name, user), migrate=False)
        self.opened.append(database)
        return database

    @property
    def is_sqlite(self) -> bool:
        return self.cluster is None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A server of this test process's own."""
    found = binaries()
    if found is None:
        pytest.skip(ADVICE)
    cluster = Cluster(found)
    yield cluster
    cluster.stop()


@pytest.fixture
def postgres_storage(postgres: Cluster) -> Iterator[Storage]:
    name = postgres.database()
    storage = Storage(postgres.url(name, "replica"), postgres)
    yield storage
    for database in storage.opened:
        database.close()
    postgres.drop([name])
    gc.collect()  # a connection that was left open warns here, in the test that left it


@pytest.fixture
def sqlite_storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(f"sqlite:///{tmp_path / 'payments.db'}")
    yield storage
    for database in storage.opened:
        database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """Each of the two."""
    found: Storage = request.getfixturevalue(f"{request.param}_storage")
    return found

"""Reading rows as objects."""

from __future__ import annotations

from types import SimpleNamespace

from sqlalchemy import Connection, text

from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.rows import values_of


def test_a_statement_without_rows_has_no_object() -> None:
    database = Database()
    assert database.fetch_one(text("SELECT 1 AS n WHERE 0"), lambda row: row.n) is None
    assert database.fetch_one(text("SELECT 0 AS n"), lambda row: row.n) == 0
    database.close()


def test_all_rows_become_objects_in_order() -> None:
    database = Database()
    rows = text("SELECT 1 AS n UNION ALL SELECT 2")
    assert database.fetch_all(rows, lambda row: row.n * 10) == [10, 20]
    database.close()


def test_the_clock_of_a_test_replaces_the_database_s() -> None:
    database = Database()

    def times(connection: Connection, _again: bool) -> tuple[int, int]:
        return database.clock(lambda: 5)(connection), database.clock(None)(connection)

    fixed, real = database.run(times)
    assert fixed == 5
    assert real > 1_700_000_000_000
    database.close()


def test_values_are_taken_by_name() -> None:
    assert values_of(SimpleNamespace(a=1, b=2, c=3), ("c", "a")) == {"c": 3, "a": 1}

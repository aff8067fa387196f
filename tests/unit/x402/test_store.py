"""The database: the sum of the migrations is the schema, and the SQL settlements keep MemorySettlements' promises."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from mcpsol_py.x402.exact.settle import MemorySettlements, Settlement, SettlementStore
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import metadata
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.unit.x402.conftest import Storage

ROW = Settlement("k" * 64, "5" * 88, "payer", b"\0wire\xff", "sending")


def test_the_schema_is_the_sum_of_the_migrations(storage: Storage) -> None:
    with storage.open().engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


class Clock:
    now = 1_000.0

    def seconds(self) -> float:
        return self.now

    def ms(self) -> int:
        return int(self.now * 1000)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> tuple[SettlementStore, Clock]:
    clock = Clock()
    if request.param == "memory":
        return MemorySettlements(clock=clock.seconds), clock
    storage: Storage = request.getfixturevalue(f"{request.param}_storage")
    return SqlSettlements(storage.open(), clock.ms), clock


def test_a_claim_is_made_once(store: tuple[SettlementStore, Clock]) -> None:
    rows, _ = store
    assert rows.claim(ROW) is None
    assert rows.claim(ROW) == ROW
    assert rows.get(ROW.key) == ROW
    rows.release(ROW.key)
    assert rows.get(ROW.key) is None


def test_the_age_of_a_claim_counts_from_its_record(
    store: tuple[SettlementStore, Clock],
) -> None:
    rows, clock = store
    assert rows.age_ms(ROW.key) == 0
    rows.claim(ROW)
    clock.now += 5
    rows.update(ROW.key, "pending")
    clock.now += 5
    assert rows.age_ms(ROW.key) == 10_000
    rows.release(ROW.key)
    assert rows.age_ms(ROW.key) == 0


def test_only_what_nobody_works_on_can_be_taken_over(
    store: tuple[SettlementStore, Clock],
) -> None:
    rows, clock = store
    assert not rows.take_over(ROW.key, 10)
    rows.claim(ROW)
    assert not rows.take_over(ROW.key, 10)
    rows.update(ROW.key, "pending")
    assert rows.take_over(ROW.key, 10)
    assert not rows.take_over(ROW.key, 10)
    clock.now += 11
    assert rows.take_over(ROW.key, 10)
    assert not rows.take_over(ROW.key, 10)
    rows.update(ROW.key, "failed", "why")
    found = rows.get(ROW.key)
    assert found is not None
    assert (found.state, found.error) == ("failed", "why")
    clock.now += 1_000
    assert not rows.take_over(ROW.key, 10)


def test_of_many_claims_at_once_one_wins(storage: Storage) -> None:
    storage.open()
    won: list[bool] = []
    barrier = threading.Barrier(6)

    def claim() -> None:
        rows = SqlSettlements(storage.open(migrate=False))
        barrier.wait()
        won.append(rows.claim(ROW) is None)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(won) == [False] * 5 + [True]


def test_threads_take_turns_on_a_database_in_memory() -> None:
    rows, claims = SqlSettlements(Database()), range(40)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: rows.claim(replace(ROW, key=f"k{n:063}")), claims))
    assert len(rows.open()) == len(claims)


def test_open_settlements_are_listed_for_the_worker(storage: Storage) -> None:
    rows = SqlSettlements(storage.open())
    rows.claim(ROW)
    assert rows.open() == [ROW]
    rows.update(ROW.key, "landed")
    assert rows.open() == []

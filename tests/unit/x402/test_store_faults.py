"""What a database can do to a payment: fail over, be locked, be full, have another clock. Never a second execution,
never a second payment, never a lost receipt."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from mcpsol_py.errors import StorageError
from mcpsol_py.x402.protocol.offer import Answer, Refused
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store import database as module
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Execution, Executions
from mcpsol_py.x402.store.receipts import Receipts
from tests.postgres import Cluster
from tests.support.x402_shop import Shop
from tests.unit.x402.conftest import Storage


def make(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "payments.db", storage=storage)


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return make(tmp_path, storage)


def once(shop: Shop, reply: object) -> None:
    """The call ran once, was paid once, was answered, and its receipt is kept."""
    assert isinstance(reply, Answer), reply
    assert reply.receipt is not None
    assert (len(shop.runs), shop.paid) == (1, 10_000)
    (kept,) = Receipts(shop.database).history()
    assert kept.signature == reply.receipt.transaction


# -- failing over -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "broadcasts"),
    [
        ("call.claimed", False),
        ("call.running", False),
        ("call.executed", False),
        ("call.settled", False),
        ("call.settled", True),
        ("call.paid", True),
        ("call.ran", True),
    ],
)
async def test_a_fail_over_in_the_middle_of_a_payment_is_waited_for(
    tmp_path: Path,
    postgres: Cluster,
    postgres_storage: Storage,
    point: str,
    broadcasts: bool,
) -> None:
    """The server is killed at this step and is back half a second later: the same call goes on and ends well."""
    shop = make(tmp_path, postgres_storage)
    back: list[threading.Thread] = []

    def fail_over(at: str) -> None:
        if at == point and not back:
            postgres.kill()
            back.append(threading.Timer(0.3, postgres.start))
            back[0].start()

    paid_calls = shop.paid_calls(fault=fail_over, lease=30.0)
    try:
        reply = await paid_calls.call(
            shop.offer(broadcasts=broadcasts), shop.payment(), {}, shop.run
        )
    finally:
        for thread in back:
            thread.join()
    assert back
    once(shop, reply)


async def test_a_database_that_stays_away_is_told_and_the_call_repeated_later(
    tmp_path: Path, postgres: Cluster, postgres_storage: Storage
) -> None:
    shop = make(tmp_path, postgres_storage)
    hasty = postgres_storage.open(patience=0.2)
    offer, payment = shop.offer(broadcasts=True), shop.payment()
    down: list[str] = []

    def goes_away(at: str) -> None:
        if at == "call.settled":
            postgres.kill()
            down.append(at)

    paid_calls = shop.paid_calls(database=hasty, fault=goes_away)
    try:
        reply = await paid_calls.call(offer, payment, {}, shop.run)
        assert isinstance(reply, Refused)
        assert reply.code == "storage_unavailable"
        assert (shop.runs, shop.paid) == ([], 10_000)  # paid, and not yet run
        again = await shop.paid_calls(database=hasty).call(offer, payment, {}, shop.run)
        assert isinstance(again, Refused)
    finally:
        postgres.start()
    await asyncio.sleep(0.1)
    once(shop, await shop.paid_calls().call(offer, payment, {}, shop.run))


# -- locked -----------------------------------------------------------------------------------------------------------


class Locked:
    """Another process that has SQLite's write lock."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(
            url.removeprefix("sqlite:///"), isolation_level=None, timeout=5
        )
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


@pytest.mark.parametrize(
    "point", ["call.claimed", "call.running", "call.executed", "call.settled"]
)
async def test_a_lock_is_waited_for(
    tmp_path: Path, sqlite_storage: Storage, point: str
) -> None:
    shop = make(tmp_path, sqlite_storage)
    held: list[threading.Thread] = []

    def lock(at: str) -> None:
        if at == point and not held:
            other = _hold(sqlite_storage.url, 0.3)
            held.append(other)

    once(
        shop,
        await shop.paid_calls(fault=lock, lease=30.0).call(
            shop.offer(), shop.payment(), {}, shop.run
        ),
    )
    held[0].join()


def _hold(url: str, seconds: float) -> threading.Thread:
    ready = threading.Event()

    def hold() -> None:
        locked = Locked(url)
        ready.set()
        time.sleep(seconds)
        locked.release()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    return thread


async def test_a_lock_that_stays_is_told_and_nothing_runs(
    tmp_path: Path, sqlite_storage: Storage
) -> None:
    shop = make(tmp_path, sqlite_storage)
    hasty = sqlite_storage.open(patience=0.2)
    payment, locked = shop.payment(), Locked(sqlite_storage.url)
    reply = await shop.paid_calls(database=hasty).call(
        shop.offer(), payment, {}, shop.run
    )
    locked.release()
    assert isinstance(reply, Refused)
    assert reply.code == "storage_unavailable"
    assert (shop.runs, shop.paid) == ([], 0)
    once(shop, await shop.paid_calls().call(shop.offer(), payment, {}, shop.run))


# -- full -------------------------------------------------------------------------------------------------------------


class Disk:
    """Lets a database have no more pages than it has, while `full`."""

    def __init__(self, database: Database) -> None:
        self.full = False
        event.listen(database.engine, "begin", self._begin)

    def _begin(self, connection: Any) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count={1 if self.full else 2**31}")


@pytest.mark.parametrize(
    ("point", "broadcasts", "paid"),
    [
        # Full from the start: nothing is recorded, so nothing is done.
        (None, False, 0),
        # Full when the result is to be kept: it is withheld, and not charged.
        ("call.running", False, 0),
        ("call.paid", True, 10_000),  # paid first, full when the result is to be kept
    ],
)
async def test_a_full_disk(
    tmp_path: Path,
    sqlite_storage: Storage,
    point: str | None,
    broadcasts: bool,
    paid: int,
) -> None:
    shop = make(tmp_path, sqlite_storage)
    disk = Disk(shop.database)
    disk.full = point is None

    async def long(run: Run) -> tuple[dict[str, Any], bool]:
        shop.runs.append(run.payment_id)
        return {"text": "x" * 200_000}, False

    def fill(at: str) -> None:
        disk.full = disk.full or at == point

    offer, payment = shop.offer(broadcasts=broadcasts), shop.payment()
    big = {"city": "Bern"}
    if point is None:  # a claim takes little room: a long resource needs a page
        about = offer.resource.model_copy(update={"url": "mcp://tool/" + "q" * 100_000})
        offer = replace(offer, resource=about)
    reply = await shop.paid_calls(fault=fill).call(offer, payment, big, long)
    assert isinstance(reply, Refused)
    assert reply.code == "storage_unavailable"
    assert "full" in reply.message
    assert "xxx" not in str(reply)
    assert (len(shop.runs), shop.paid) == (0 if point is None else 1, paid)
    disk.full = False
    await asyncio.sleep(0.1)
    again = await shop.paid_calls().call(offer, payment, big, long)
    if point is None:
        once(shop, again)
    else:  # it ran, and what it answered is lost: never a second time
        assert isinstance(again, Refused)
        assert again.code == "outcome_unknown"
        assert (again.receipt is not None) == broadcasts
        assert (len(shop.runs), shop.paid) == (1, paid)


# -- clocks -----------------------------------------------------------------------------------------------------------


async def test_replicas_whose_clocks_are_five_minutes_apart_share_the_databases_clock(
    tmp_path: Path, postgres_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's clock jumps while a call runs: its lease is not over, so the other replica waits for its answer."""
    shop = make(tmp_path, postgres_storage)
    started, go = asyncio.Event(), asyncio.Event()

    async def slow(run: Run) -> tuple[dict[str, Any], bool]:
        started.set()
        await go.wait()
        return await shop.run(run)

    offer, payment = shop.offer(), shop.payment()
    first = asyncio.create_task(
        shop.paid_calls(lease=120.0, wait=5.0).call(offer, payment, {}, slow)
    )
    await started.wait()
    here = module.now_ms
    monkeypatch.setattr(module, "now_ms", lambda: here() + 300_000)
    second = asyncio.create_task(
        shop.paid_calls(database=postgres_storage.open(), lease=120.0, wait=5.0).call(
            offer, payment, {}, shop.run
        )
    )
    await asyncio.sleep(0.1)
    go.set()
    once(shop, await first)
    reply = await second
    assert isinstance(reply, Answer)
    assert reply.repeated
    once(shop, reply)


@pytest.mark.parametrize("skew", [300_000, -300_000])
async def test_even_a_replica_that_takes_a_running_call_for_dead_runs_and_pays_nothing_twice(
    shop: Shop, skew: int
) -> None:
    """With clocks of their own, five minutes apart: what is safe does not hang on leases."""
    started, go = asyncio.Event(), asyncio.Event()

    async def slow(run: Run) -> tuple[dict[str, Any], bool]:
        started.set()
        await go.wait()
        return await shop.run(run)

    offer, payment = shop.offer(), shop.payment()
    first = asyncio.create_task(
        shop.paid_calls(lease=120.0).call(offer, payment, {}, slow)
    )
    await started.wait()
    ahead = shop.paid_calls(lease=120.0, clock_ms=lambda: module.now_ms() + skew)
    taken = await ahead.call(offer, payment, {}, shop.run)
    # "outcome_unknown" for the one ahead, "in_progress" for the one behind.
    assert isinstance(taken, Refused)
    go.set()
    reply = await first
    assert len(shop.runs) == 1
    assert shop.paid == (10_000 if isinstance(reply, Answer) else 0)
    assert isinstance(reply, Answer if skew < 0 else Refused)


async def test_two_replicas_get_one_payment_id_at_once(shop: Shop) -> None:
    """Each with connections of its own; two payments under one id, and one payment twice."""
    assert shop.storage is not None
    storage = shop.storage
    replicas = [
        shop.paid_calls(database=storage.open(migrate=False), wait=5.0, lease=30.0)
        for _ in range(6)
    ]
    payments = [shop.payment(), shop.payment()]
    replies = await asyncio.gather(
        *(
            g.call(shop.offer(), payments[n % 2], {}, shop.run)
            for n, g in enumerate(replicas)
        )
    )
    assert all(isinstance(r, Answer) for r in replies)
    assert (
        len(
            {
                r.receipt.transaction
                for r in replies
                if isinstance(r, Answer) and r.receipt
            }
        )
        == 1
    )
    once(shop, replies[0])


async def test_two_merchants_may_use_one_payment_id(
    tmp_path: Path, storage: Storage
) -> None:
    shop = make(tmp_path, storage)
    one, two = (Executions(shop.database, tenant) for tenant in ("one", "two"))
    first = await shop.paid_calls(tenant="one").call(
        shop.offer(), shop.payment(), {}, shop.run
    )
    shop.world.svm.expire_blockhash()
    second = await shop.paid_calls(tenant="two").call(
        shop.offer(), shop.payment(), {}, shop.run
    )
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert not second.repeated
    assert shop.paid == 20_000
    assert [len(e.history()) for e in (one, two)] == [1, 1]


# -- Database itself --------------------------------------------------------------------------------------------------


def test_a_lost_answer_to_a_commit_is_told_to_what_is_run_again(
    postgres: Cluster, postgres_storage: Storage
) -> None:
    database = postgres_storage.open()
    tries: list[bool] = []

    def work(connection: Any, again: bool) -> str:
        tries.append(again)
        if len(tries) == 1:
            postgres.kill()
            postgres.start()
        connection.exec_driver_sql("SELECT 1")
        return "done"

    assert database.run(work) == "done"
    assert tries == [False, True]


def test_what_is_wrong_in_itself_is_not_tried_again(storage: Storage) -> None:
    database, tries = storage.open(), []

    def work(connection: Any, again: bool) -> None:
        tries.append(again)
        connection.exec_driver_sql("SELECT * FROM no_such_table")

    with pytest.raises(DBAPIError):
        database.run(work)
    assert tries == [False]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    database = Database(
        f"postgresql+psycopg://x@/y?host={tmp_path}", migrate=False, patience=0.1
    )
    with pytest.raises(StorageError, match="does not answer"):
        database.run(lambda c, _: None)
    database.close()


def test_a_connection_that_is_in_use_when_the_database_is_closed_is_closed_after_use(
    storage: Storage,
) -> None:
    """A call that was given up goes on in its thread: what it holds would be left to the garbage collector."""
    database = storage.open()
    begun, go = threading.Event(), threading.Event()
    held: list[Any] = []

    def work(connection: Any, again: bool) -> None:
        held.append(connection.connection.driver_connection)
        begun.set()
        go.wait()
        connection.exec_driver_sql("SELECT 1")

    thread = threading.Thread(target=database.run, args=(work,))
    thread.start()
    begun.wait()
    database.close()
    go.set()
    thread.join()
    with pytest.raises(
        (sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"
    ):
        held[0].execute("SELECT 1")


ROW = Execution(
    tenant="default",
    payment_id="pay_0123456789abcdef",
    fingerprint="f",
    payment_key="tx:1",
    resource="mcp://tool/quote",
    state="verifying",
    owner="me",
    touched_ms=0,
    amount=1_000,
)


@pytest.mark.parametrize(
    "value", [{"amount": 2**63}, {"resource": "\ud800"}], ids=["number", "text"]
)
def test_a_value_without_room_is_an_error_and_writes_nothing(
    shop: Shop, value: dict[str, Any]
) -> None:
    executions = Executions(shop.database)
    with pytest.raises(
        StorageError, match="no room for a value .* Nothing was written"
    ):
        executions.claim(replace(ROW, **value))
    assert executions.get(ROW.payment_id) is None
    assert executions.claim(ROW) is None

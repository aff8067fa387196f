"""The worker: turns that are taken once, events that arrive signed, and pending payments that come to their end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from alembic import command
from alembic.config import Config

from idl2mcp.x402.worker import run_worker
from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.chain.payment_chain import SignatureStatus
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from mcpsol_py.x402.store.database import MIGRATIONS, Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.receipts import Receipts
from mcpsol_py.x402.store.schema import deliveries
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.webhooks import BACKOFF_S, Webhooks
from mcpsol_py.x402.worker import (
    PeriodicJob,
    PeriodicJobs,
    Worker,
    merchant_jobs,
    run_job,
    run_on_procrastinate,
)
from mcpsol_py.x402.worker.reconcile import reconcile_calls, reconcile_settlements
from mcpsol_py.x402.worker.webhooks import deliver_due, verify
from tests.postgres import Cluster
from tests.support.x402_shop import Crash, Shop
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import USDC

# -- turns ------------------------------------------------------------------------------------------------------------


def _note(ran: list[str], name: str) -> int:
    ran.append(name)
    return 1


async def test_workers_take_turns(storage: Storage) -> None:
    """Three workers on connections of their own: each turn of a job is one of theirs."""
    storage.open()
    ran: list[str] = []
    jobs = PeriodicJobs()
    for name, every in (("a", 3600), ("b", 0)):
        jobs.add(name, every, partial(_note, ran, name))
    workers = [Worker(storage.open(migrate=False), jobs) for _ in range(3)]
    await asyncio.gather(*(w.run_once() for w in workers))
    await workers[0].run_once()
    assert ran.count("a") == 1
    assert ran.count("b") >= 2


async def test_a_turn_of_a_dead_worker_is_taken_over(storage: Storage) -> None:
    storage.open()
    jobs = PeriodicJobs()
    ran: list[str] = []

    def dies() -> int:
        if not ran:
            ran.append("died")
            raise Crash
        ran.append("ran")
        return 1

    jobs.add("job", 0, dies)
    with pytest.raises(Crash):
        await Worker(storage.open(migrate=False), jobs, lease=1.0).run_once()
    assert await Worker(storage.open(migrate=False), jobs).run_once() == {}
    await asyncio.sleep(1.0)
    assert await Worker(storage.open(migrate=False), jobs).run_once() == {"job": 1}


async def test_a_job_that_fails_stops_nothing() -> None:
    def fails() -> int:
        raise StorageError("it does not answer")

    assert await run_job(PeriodicJob("job", 1, fails)) == 0


def test_a_name_is_one_job() -> None:
    jobs = PeriodicJobs()
    jobs.add("a", 1, lambda: 0)
    with pytest.raises(PaymentError):
        jobs.add("a", 1, lambda: 0)


async def test_it_stops_when_told(sqlite_storage: Storage) -> None:
    stop, jobs = asyncio.Event(), PeriodicJobs()

    def work() -> int:
        stop.set()
        return 1

    jobs.add("job", 0, work)
    await asyncio.wait_for(Worker(sqlite_storage.open(), jobs).run(stop, poll=0.01), 5)


async def test_procrastinate_runs_each_turn_once(postgres: Cluster) -> None:
    """Two workers of procrastinate on one queue: every deferred turn runs in one of them, none beside itself."""
    name = postgres.database()
    url, stop, jobs = postgres.url(name), asyncio.Event(), PeriodicJobs()
    running, most, turns = 0, 0, 0

    async def work() -> int:
        nonlocal running, most, turns
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.3)
        running -= 1
        turns += 1
        if turns == 2:
            stop.set()
        return 1

    jobs.add("job", 1, work)
    workers = [run_on_procrastinate(url, jobs, stop) for _ in range(2)]
    await asyncio.wait_for(asyncio.gather(*workers), 30)
    postgres.drop([name])
    assert most == 1
    assert turns >= 2


# -- webhooks ---------------------------------------------------------------------------------------------------------


class Receiver:
    """A merchant's server: answers with the statuses given, then 200."""

    def __init__(self, *answers: int) -> None:
        self.answers, self.got = list(answers), []  # type: ignore[var-annotated]  # requests
        self.client = httpx.AsyncClient(transport=httpx.MockTransport(self._take))

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.got.append(request)
        status = self.answers.pop(0) if self.answers else 200
        if status == 0:
            raise httpx.ConnectError("no route to https://shop.example/hook?key=SECRET")
        return httpx.Response(
            status, headers={"location": "https://elsewhere.example/"}
        )


def make_due(storage: Storage) -> None:
    """As if the pause before the next try were over."""
    database = storage.opened[0]
    database.run(
        lambda c, _: c.execute(deliveries.update().values(next_ms=0)), "default"
    )


async def test_an_event_arrives_signed_and_once(storage: Storage) -> None:
    webhooks, receiver = Webhooks(storage.open()), Receiver()
    hook = webhooks.add("https://shop.example/hook", ["paid"])
    assert webhooks.emit("paid", {"amount": "1"}) == 1
    assert webhooks.emit("other", {}) == 0
    assert await deliver_due(webhooks, receiver.client) == 1
    assert await deliver_due(webhooks, receiver.client) == 0
    (request,) = receiver.got
    body = request.content.decode()
    assert json.loads(body)["type"] == "paid"
    assert json.loads(body)["data"] == {"amount": "1"}
    assert verify(hook.secret, request.headers, body)
    assert not verify(hook.secret, request.headers, body.replace("1", "2", 1))
    assert not verify("whsec_" + "A" * 32, request.headers, body)
    late = float(request.headers["webhook-timestamp"]) + 301
    assert not verify(hook.secret, request.headers, body, now=late)
    assert hook.secret not in repr(hook)


@pytest.mark.parametrize("answer", [0, 301, 404, 500])
async def test_what_is_not_taken_is_sent_again_and_in_the_end_given_up(
    storage: Storage, answer: int
) -> None:
    tries = len(BACKOFF_S) + 1
    webhooks, receiver = Webhooks(storage.open()), Receiver(*[answer] * tries)
    webhooks.add("https://shop.example/hook")
    webhooks.emit("paid", {})
    assert await deliver_due(webhooks, receiver.client) == 0
    assert await deliver_due(webhooks, receiver.client) == 0  # not before its time
    assert len(receiver.got) == 1
    for _ in range(tries):
        make_due(storage)
        await deliver_due(webhooks, receiver.client)
    assert len(receiver.got) == tries
    (dead,) = webhooks.dead()
    assert dead.attempts == tries
    assert "SECRET" not in str(dead.error)
    assert len({r.headers["webhook-id"] for r in receiver.got}) == 1
    # No redirect is followed.
    assert all(r.url.host == "shop.example" for r in receiver.got)
    webhooks.again(dead.id)
    assert await deliver_due(webhooks, receiver.client) == 1


async def test_workers_at_once_send_each_event_once(storage: Storage) -> None:
    webhooks, receiver = Webhooks(storage.open()), Receiver()
    webhooks.add("https://shop.example/hook")
    for n in range(12):
        webhooks.emit("paid", {"n": n})
    others = [Webhooks(storage.open(migrate=False)) for _ in range(3)]
    taken = await asyncio.gather(
        *(deliver_due(w, receiver.client, limit=6) for w in others)
    )
    assert sum(taken) == 12
    assert (
        len({r.headers["webhook-id"] for r in receiver.got}) == len(receiver.got) == 12
    )


@pytest.mark.parametrize(
    "url", ["http://shop.example/", "ftp://shop.example/", "shop.example", "https://"]
)
def test_an_address_that_is_not_https_is_refused(
    sqlite_storage: Storage, url: str
) -> None:
    with pytest.raises(PaymentError):
        Webhooks(sqlite_storage.open()).add(url)


def test_http_is_taken_where_it_is_allowed(sqlite_storage: Storage) -> None:
    webhooks = Webhooks(sqlite_storage.open())
    assert webhooks.add("http://127.0.0.1:8000/", allow_http=True) in webhooks.all()


# -- what is pending --------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "payments.db", storage=storage)


def calls(shop: Shop) -> int:
    chains = {DEVNET: shop.world.chain}
    return reconcile_calls(
        Executions(shop.database), SqlSettlements(shop.database), chains, lease_ms=50
    )


@pytest.mark.parametrize("broadcasts", [False, True])
async def test_a_settlement_that_was_left_pending_is_ended_and_its_receipt_kept(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, broadcasts: bool
) -> None:
    offer, payment = shop.offer(broadcasts=broadcasts), shop.payment()
    monkeypatch.setattr(
        shop.world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    assert isinstance(
        await shop.paid_calls().call(offer, payment, {}, shop.run), Refused
    )
    monkeypatch.undo()
    await asyncio.sleep(0.06)
    assert reconcile_settlements(SqlSettlements(shop.database), shop.world.chain) == 1
    assert calls(shop) == 1
    assert calls(shop) == 0
    (receipt,) = Receipts(shop.database).history()
    assert (receipt.amount, receipt.pay_to) == (10_000, str(shop.world.payee.pubkey()))
    reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert isinstance(reply, Answer)
    assert reply.receipt is not None
    assert reply.receipt.transaction == receipt.signature
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_a_payment_that_can_no_longer_land_charges_nobody(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = shop.payment()
    monkeypatch.setattr(shop.world.chain, "send", lambda transaction: "dropped")
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), payment, {}, shop.run), Refused
    )
    monkeypatch.undo()
    shop.world.svm.expire_blockhash()
    await asyncio.sleep(0.06)
    assert reconcile_settlements(SqlSettlements(shop.database), shop.world.chain) == 1
    calls(shop)
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), payment, {}, shop.run),
        PaymentRequiredReply,
    )
    assert (len(shop.runs), shop.paid) == (1, 0)
    assert Receipts(shop.database).history() == []


async def test_a_settlement_of_another_facilitator_is_found_on_chain(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = shop.payment()
    monkeypatch.setattr(
        shop.world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), payment, {}, shop.run), Refused
    )
    monkeypatch.undo()
    for row in SqlSettlements(shop.database).open():  # it keeps them elsewhere
        SqlSettlements(shop.database).release(row.key)
    await asyncio.sleep(0.06)
    assert calls(shop) == 1
    (receipt,) = Receipts(shop.database).history()
    assert receipt.payer == str(shop.world.payer.pubkey())
    reply = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    assert isinstance(reply, Answer)
    assert (len(shop.runs), shop.paid) == (1, 10_000)


@pytest.mark.parametrize("landed", [True, False])
async def test_what_ran_when_its_process_died_is_decided_by_its_signature(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    offer, payment, signature = shop.offer(broadcasts=True), shop.payment(), "5" * 88

    async def dies(run: Any) -> tuple[dict[str, Any], bool]:
        await run.will_send(signature)
        return {}, False

    def crash(at: str) -> None:
        if at == "call.ran":
            raise Crash(at)

    with pytest.raises(Crash):
        await shop.paid_calls(fault=crash).call(offer, payment, {}, dies)
    status = SignatureStatus("landed" if landed else "failed")
    monkeypatch.setattr(shop.world.chain, "status", lambda asked: status)
    await asyncio.sleep(0.06)
    assert calls(shop) == 1
    (row,) = Executions(shop.database).history()
    assert row.state == ("done" if landed else "unknown")
    reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert isinstance(reply, Answer if landed else Refused)
    assert shop.runs == []


async def test_the_jobs_of_a_merchant_end_what_is_open(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole round: a payment without confirmation, on both sides, and an event about it."""
    asset, wallet = str(USDC), str(shop.world.payer.pubkey())
    budget = Budget(
        shop.database, wallet, SpendingLimits({asset: SpendingLimit()}), session="s"
    )
    offer, payment = shop.offer(), shop.payment()
    monkeypatch.setattr(
        shop.world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    assert isinstance(
        await shop.paid_calls().call(offer, payment, {}, shop.run), Refused
    )
    monkeypatch.undo()
    body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
    budget.reserve(
        Spending(
            wallet,
            "pay_0123456789abcdef",
            "s",
            DEVNET,
            asset,
            10_000,
            "payee",
            "r",
            "q",
        )
    )
    budget.signed("pay_0123456789abcdef", body, "tx:x")
    receiver = Receiver()
    webhooks = Webhooks(shop.database)
    webhooks.add("https://shop.example/hook")
    webhooks.emit("paid", {})
    await asyncio.sleep(0.06)
    jobs = merchant_jobs(
        shop.database,
        chains={DEVNET: shop.world.chain},
        client=receiver.client,
        lease=0.05,
    )
    done = await Worker(shop.database, jobs).run_once(all_jobs=True)
    # The settlement, the call, and the wallet's spending.
    assert done == {"webhooks": 1, "pending": 3}
    assert [row.state for row in budget.history()] == ["spent"]
    assert shop.paid == 10_000


# -- the queue, and migrations ----------------------------------------------------------------------------------------


async def test_the_command_runs_on_procrastinate_until_it_is_told_to_stop(
    postgres: Cluster,
) -> None:
    name = postgres.database()
    url = postgres.url(name)
    database = Database(url)
    webhooks = Webhooks(database)
    webhooks.add("http://127.0.0.1:9/nobody", allow_http=True)
    webhooks.emit("paid", {})
    working = asyncio.create_task(
        run_worker(database, None, None, ["default"], once=False, queue=url)
    )
    while not webhooks.deliveries()[0].attempts:
        await asyncio.sleep(0.2)
        assert not working.done()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(working, 30)
    database.close()
    postgres.drop([name])


def test_down_and_up_again(postgres: Cluster) -> None:
    """The migrations go both ways."""
    name = postgres.database()
    database = Database(postgres.url(name))
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    database.migrate()
    database.close()
    postgres.drop([name])

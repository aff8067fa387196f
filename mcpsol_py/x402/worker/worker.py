"""The worker: what a seller does between calls, as periodic jobs that any number of workers may run at once.

`Worker` runs them in this process and keeps turns by rows of the database: what SQLite needs. `run_on_procrastinate`
hands the turns to procrastinate's queue in PostgreSQL. Either way the turns are only for economy: that a charge is made
once, that an event is not lost, is each job's own doing.

    jobs = Jobs()
    jobs.add("charges", 10, lambda: charging.run_due())
    await Worker(database, jobs).run(stop)
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import httpx
from sqlalchemy import Connection, insert, make_url, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.errors import McpsolError, PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.channel_facilitator import ChannelFacilitator
from mcpsol_py.x402.channels.redeem import redeem, tidy
from mcpsol_py.x402.store.channels import SponsoredChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.schema import leases
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.charging import Charging
from mcpsol_py.x402.worker.reconcile import (
    reconcile_calls,
    reconcile_settlements,
    reconcile_spendings,
)
from mcpsol_py.x402.worker.webhooks import deliver_due

__all__ = ["Job", "Jobs", "Worker", "add_vouchers", "merchant_jobs", "run_on_procrastinate"]

log = logging.getLogger("mcpsol_py.x402.worker.worker")

#: Does some of what is due and says how much: plainly (in a worker thread), or as a coroutine.
Work: TypeAlias = Callable[[], "int | Awaitable[int]"]


@dataclass(frozen=True, slots=True)
class Job:
    """One periodic job: `every` seconds, safe to run twice at once."""

    name: str
    every: float
    work: Work


class Jobs:
    """The jobs by name: where other parts put theirs."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def add(self, name: str, every: float, work: Work) -> None:
        """Adds a job; *every* in seconds. Raises PaymentError where the name is taken."""
        if name in self._jobs:
            raise PaymentError("INVALID_PARAMETERS", f"there is a job named {name!r} already")
        self._jobs[name] = Job(name, every, work)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def __getitem__(self, name: str) -> Job:
        return self._jobs[name]


async def run_job(job: Job) -> int:
    """One turn. What fails is logged by its kind, and is tried again at the next turn."""
    try:
        if inspect.iscoroutinefunction(job.work):
            return int(await job.work())
        done = await anyio.to_thread.run_sync(job.work)
        return int(await done if inspect.isawaitable(done) else done)
    except (McpsolError, ChainUnavailable, httpx.HTTPError, OSError) as error:
        log.warning("job %s: %s", job.name, type(error).__name__)
        return 0


class Worker:
    """Runs *jobs* in this process. Workers that share the database take turns: each job runs once in its interval.

    *lease* seconds after which a turn is another's, when its worker said nothing more.
    """

    def __init__(
        self, database: Database, jobs: Jobs, *, tenant: str = "default", lease: float = 300.0
    ) -> None:
        self._db, self._jobs, self._tenant, self._lease_ms = (
            database,
            jobs,
            tenant,
            int(lease * 1000),
        )
        self._owner = str(uuid.uuid4())

    async def run(self, stop: asyncio.Event, *, poll: float = 1.0) -> None:
        """Runs jobs as their time comes, until *stop*; the job that runs then is waited for."""
        while not stop.is_set():
            await self.run_once()
            try:
                async with asyncio.timeout(poll):  # wait_for can lose a cancellation in Python 3.11
                    await stop.wait()
            except TimeoutError:
                continue

    async def run_once(self, *, all_jobs: bool = False) -> dict[str, int]:
        """Runs the jobs whose time has come (*all_jobs*: all that nobody else runs now). Returns what each did."""
        done: dict[str, int] = {}
        for job in self._jobs:
            try:
                if not await anyio.to_thread.run_sync(self._take, job, all_jobs):
                    continue
                done[job.name] = await run_job(job)
                await anyio.to_thread.run_sync(self._give_back, job)
            except McpsolError as error:  # the database is away: the next turn finds it
                log.warning("job %s: %s", job.name, type(error).__name__)
        return done

    def _its(self, job: Job) -> Any:
        return (leases.c.tenant == self._tenant) & (leases.c.name == job.name)

    def _take(self, job: Job, now_too: bool) -> bool:
        def work(connection: Connection, _again: bool) -> bool:
            now = self._db.now_ms(connection)
            free = leases.c.until_ms <= now
            due = free if now_too else free & (leases.c.ran_ms <= now - int(job.every * 1000))
            values = {"owner": self._owner, "until_ms": now + self._lease_ms}
            if connection.execute(
                update(leases).where(self._its(job), due).values(values)
            ).rowcount:
                return True
            if connection.execute(select(leases.c.name).where(self._its(job))).first() is not None:
                return False
            row = {"tenant": self._tenant, "name": job.name, "ran_ms": 0, **values}
            connection.execute(insert(leases).values(row))
            return True

        try:
            return self._db.run(work, self._tenant)
        except IntegrityError:  # another worker made the row in this moment
            return False

    def _give_back(self, job: Job) -> None:
        def work(connection: Connection, _again: bool) -> None:
            now = self._db.now_ms(connection)
            mine = update(leases).where(self._its(job), leases.c.owner == self._owner)
            connection.execute(mine.values(until_ms=now, ran_ms=now))

        self._db.run(work, self._tenant)


def merchant_jobs(
    database: Database,
    *,
    tenant: str = "default",
    chains: Mapping[str, PaymentChain],
    charging: Charging | None = None,
    client: httpx.AsyncClient | None = None,
    lease: float = 120.0,
) -> Jobs:
    """What every seller needs: charges of subscriptions, events, and all that is pending reconciled with the chain.

    *client* sends events. Others are added to what is returned: see add_vouchers.
    """
    jobs, settlements = Jobs(), SqlSettlements(database)
    if charging is not None:
        jobs.add("charges", 10, charging.run_due)
    if client is not None:
        webhooks = Webhooks(database, tenant)
        jobs.add("webhooks", 5, lambda: deliver_due(webhooks, client))
    executions = Executions(database, tenant)

    async def pending() -> int:
        ended = 0
        for chain in chains.values():
            ended += await anyio.to_thread.run_sync(reconcile_settlements, settlements, chain)
            ended += await reconcile_spendings(database, chain)
        lease_ms = int(lease * 1000)
        return ended + await anyio.to_thread.run_sync(
            lambda: reconcile_calls(executions, settlements, chains, lease_ms=lease_ms)
        )

    jobs.add("pending", 15, pending)
    return jobs


def add_vouchers(
    jobs: Jobs,
    *,
    redeeming: Sequence[tuple[BatchServer, Any, PaymentChain]] = (),
    tidying: Sequence[tuple[ChannelFacilitator, SponsoredChannels]] = (),
    every: float = 300.0,
) -> None:
    """Adds what channels need (channels/redeem.py): a seller's vouchers become money well before a payer can withdraw,
    for each (server, facilitator, chain) of *redeeming*; a sponsor's channels are closed when they are over."""

    async def vouchers() -> int:
        done = [
            await redeem(server, facilitator, chain=chain)
            for server, facilitator, chain in redeeming
        ]
        for one in done:
            for channel, why in one.problems.items():
                log.warning("channel %s: %s", channel, why)
        return sum(one.claimed + one.paid_out for one in done)

    def channels() -> int:
        return sum(len(tidy(desk, sponsored)) for desk, sponsored in tidying)

    if redeeming:
        jobs.add("vouchers", every, vouchers)
    if tidying:
        jobs.add("channels", every, channels)


# -- on procrastinate -------------------------------------------------------------------------------------------------

_SCHEMA = "procrastinate"


def _cron(every: float) -> str:
    """procrastinate's cron, whose sixth field is seconds: every 1 to 59 seconds, else every whole minutes.

    >>> _cron(10), _cron(300)
    ('* * * * * */10', '*/5 * * * *')
    """
    if every < 60:
        return f"* * * * * */{max(int(every), 1)}"
    return f"*/{max(min(int(every // 60), 59), 1)} * * * *"


async def run_on_procrastinate(
    url: str, jobs: Jobs, stop: asyncio.Event, *, tenant: str = "default", concurrency: int = 4
) -> None:
    """Runs *jobs* from procrastinate's queue in the PostgreSQL at *url*, until *stop*.

    Its tables are made in a schema of their own where they are not there yet, which *url*'s user must be allowed to.
    Each job is deferred once for its moment, however many workers there are, and never runs beside itself.
    """
    import procrastinate
    from procrastinate import PsycopgConnector

    conninfo = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    await _prepare(conninfo)
    connector = PsycopgConnector(conninfo=conninfo, kwargs={"options": f"-c search_path={_SCHEMA}"})
    app = procrastinate.App(connector=connector)
    for job in jobs:
        _register(app, job, f"{tenant}:{job.name}")
    async with app.open_async():
        running = asyncio.create_task(
            app.run_worker_async(
                queues=[tenant],
                concurrency=concurrency,
                install_signal_handlers=False,
                wait=True,
                delete_jobs="always",
                shutdown_graceful_timeout=30,
            )
        )
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        running.cancel()
        for ended in await asyncio.gather(running, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended


def _register(app: Any, job: Job, name: str) -> None:
    async def turn(timestamp: int) -> int:
        return await run_job(job)

    queue = name.rpartition(":")[0]
    task = app.task(name=name, queue=queue, lock=name, queueing_lock=name, pass_context=False)(turn)
    app.periodic(cron=_cron(job.every), periodic_id=name)(task)


async def _prepare(conninfo: str) -> None:
    """Makes procrastinate's tables, once, however many workers start at once."""
    import procrastinate
    import psycopg
    from procrastinate import PsycopgConnector

    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [0x6D637074])
        found = await connection.execute(
            "SELECT to_regclass(%s)", [f"{_SCHEMA}.procrastinate_jobs"]
        )
        row = await found.fetchone()
        if row is not None and row[0] is not None:
            return
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
        await connection.execute(f"SET LOCAL search_path TO {_SCHEMA}")
        schema = procrastinate.App(
            connector=PsycopgConnector(conninfo=conninfo)
        ).schema_manager.get_schema()
        await connection.execute(schema.encode())

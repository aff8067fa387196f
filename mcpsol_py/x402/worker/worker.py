"""The worker: the jobs that a seller's process does between calls.

`Worker` runs periodic jobs in this process and takes turns by rows of the database, which suits
SQLite. `run_on_procrastinate` takes turns by procrastinate's queue in PostgreSQL. Turns only save
work: each job itself makes sure that a charge is made once and that no event is lost.

    jobs = PeriodicJobs()
    jobs.add("charges", 10, charging.run_due)
    await Worker(database, jobs).run(stop)
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import anyio.to_thread
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from mcpsol_py.errors import McpsolError
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import leases
from mcpsol_py.x402.worker.periodic_jobs import PeriodicJob, PeriodicJobs, log, run_job

__all__ = ["Worker"]


class Worker:
    """Runs *jobs* in this process. Workers that share the database take turns, so each job runs
    once in its interval.

    *lease*: seconds after which another worker may take the turn of one that gave no more sign of
    life.
    """

    def __init__(
        self,
        database: Database,
        jobs: PeriodicJobs,
        *,
        tenant: str = "default",
        lease: float = 300.0,
    ) -> None:
        self._db, self._jobs, self._tenant = database, jobs, tenant
        self._lease_ms = int(lease * 1000)
        self._owner = str(uuid.uuid4())

    async def run(self, stop: asyncio.Event, *, poll: float = 1.0) -> None:
        """Run jobs when they are due, until *stop*. A job that is running then is waited for."""
        while not stop.is_set():
            await self.run_once()
            try:
                # wait_for can lose a cancellation in Python 3.11.
                async with asyncio.timeout(poll):
                    await stop.wait()
            except TimeoutError:
                continue

    async def run_once(self, *, all_jobs: bool = False) -> dict[str, int]:
        """Run the jobs that are due and return how much each did. *all_jobs*: also those that are
        not due.
        """
        done: dict[str, int] = {}
        for job in self._jobs:
            try:
                if not await anyio.to_thread.run_sync(self._take, job, all_jobs):
                    continue
                done[job.name] = await run_job(job)
                await anyio.to_thread.run_sync(self._give_back, job)
            except (
                McpsolError
            ) as error:  # the database is away; the next turn tries again
                log.warning("job %s: %s", job.name, type(error).__name__)
        return done

    def _is(self, job: PeriodicJob) -> Any:
        return (leases.c.tenant == self._tenant) & (leases.c.name == job.name)

    def _take(self, job: PeriodicJob, all_jobs: bool) -> bool:
        """Take the turn of *job*, if it is due and no other worker has it."""

        def work(connection: Connection, _again: bool) -> bool:
            now = self._db.now_ms(connection)
            free = leases.c.until_ms <= now
            due = (
                free
                if all_jobs
                else free & (leases.c.ran_ms <= now - int(job.every * 1000))
            )
            values = {"owner": self._owner, "until_ms": now + self._lease_ms}
            if connection.execute(
                update(leases).where(self._is(job), due).values(values)
            ).rowcount:
                return True
            if (
                connection.execute(select(leases.c.name).where(self._is(job))).first()
                is not None
            ):
                return False
            row = {"tenant": self._tenant, "name": job.name, "ran_ms": 0, **values}
            connection.execute(insert(leases).values(row))
            return True

        try:
            return self._db.run(work, self._tenant)
        except IntegrityError:  # another worker added the row at the same moment
            return False

    def _give_back(self, job: PeriodicJob) -> None:
        """End the turn of *job*."""

        def work(connection: Connection, _again: bool) -> None:
            now = self._db.now_ms(connection)
            mine = update(leases).where(self._is(job), leases.c.owner == self._owner)
            connection.execute(mine.values(until_ms=now, ran_ms=now))

        self._db.run(work, self._tenant)

"""The crawl on many machines: jobs in procrastinate's queue, in the PostgreSQL of the catalogue.

One worker lists the programs and defers a job for each part of them; any number of workers take the jobs. A job of a
worker that was killed is given to another one. It reads only what was not read yet, so nothing is recorded twice.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from mcpsol_py.catalog.crawl import Crawl, Deployed, Progress, jobs_of
from mcpsol_py.x402.store.engine import read_url
from mcpsol_py.x402.worker.procrastinate_queue import create_tables, schema_options

__all__ = ["run_crawl"]

_QUEUE, _TASK = "catalog-crawl", "catalog.read_programs"
#: Programs of one job.
_PART = 20
_POLL = 0.5


async def run_crawl(
    crawl: Crawl,
    *,
    lists: bool = True,
    jobs_at_once: int = 1,
    silent_after: float = 30.0,
    patience: float = 0.0,
) -> Progress:
    """Run jobs of the crawl until none is left. The search index stays as it is.

    *lists*: list the programs first, and defer the jobs for what changed. *silent_after*: seconds without a sign of
    life after which a worker's jobs are given to others. *patience*: seconds to wait for the first job, which another
    worker may still be listing.
    """
    import procrastinate
    from procrastinate import PsycopgConnector

    url = crawl.catalog.database_url
    conninfo = (
        read_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    )
    await create_tables(conninfo)
    app = procrastinate.App(
        connector=PsycopgConnector(
            conninfo=conninfo, kwargs={"options": schema_options()}
        )
    )

    async def turn(programs: list[list[Any]]) -> None:
        crawl.progress.waiting = _PART * await _count(app, "todo")
        wanted = [Deployed(str(address), int(slot)) for address, slot in programs]
        await crawl.read(await crawl.unread(wanted))

    task = app.task(name=_TASK, queue=_QUEUE)(turn)
    async with app.open_async():
        if lists:
            jobs: list[dict[str, Any]] = [
                {"programs": part} for part in jobs_of(await crawl.changed(), _PART)
            ]
            await task.batch_defer_async(*jobs)
        else:
            await _first_job(app, patience)
        crawl.progress.queued = _PART * await _count(app, "todo")
        while await _count(app, "todo", "doing"):
            await _give_back(app, silent_after)
            await app.run_worker_async(
                queues=[_QUEUE],
                concurrency=jobs_at_once,
                install_signal_handlers=False,
                wait=False,
                delete_jobs="always",
                update_heartbeat_interval=min(10.0, silent_after / 3),
                stalled_worker_timeout=silent_after,
            )
            await asyncio.sleep(_POLL)
    return crawl.progress


async def _first_job(app: Any, patience: float) -> None:
    """Wait for a job, at most *patience* seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            while not await _count(app, "todo", "doing"):
                await asyncio.sleep(_POLL)


async def _count(app: Any, *statuses: str) -> int:
    """Return how many jobs of the queue have one of *statuses*."""
    rows = await app.job_manager.list_queues_async(queue=_QUEUE, task=_TASK)
    return sum(row[status] for row in rows for status in statuses)


async def _give_back(app: Any, silent_after: float) -> None:
    """Give the jobs of workers that are silent to others."""
    stalled = await app.job_manager.get_stalled_jobs(
        queue=_QUEUE, seconds_since_heartbeat=silent_after
    )
    for job in stalled:
        await app.job_manager.retry_job_by_id_async(job.id, datetime.now(UTC))

"""Running periodic jobs from procrastinate's queue in PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import Any

from mcpsol_py.x402.store.engine import read_url
from mcpsol_py.x402.worker.periodic_jobs import PeriodicJob, PeriodicJobs, run_job

__all__ = ["create_tables", "run_on_procrastinate", "schema_options"]

_SCHEMA = "procrastinate"
#: The lock that workers which start together queue for.
_SCHEMA_LOCK = 0x6D637074


async def run_on_procrastinate(
    url: str,
    jobs: PeriodicJobs,
    stop: asyncio.Event,
    *,
    tenant: str = "default",
    concurrency: int = 4,
) -> None:
    """Run *jobs* from procrastinate's queue in the PostgreSQL at *url*, until *stop*.

    Its tables are created in a schema named procrastinate if they do not exist, which needs the
    rights of *url*'s user. Each job is deferred once for its moment, however many workers there
    are, and never runs twice at the same time.
    """
    import procrastinate
    from procrastinate import PsycopgConnector

    conninfo = (
        read_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    )
    await create_tables(conninfo)
    connector = PsycopgConnector(
        conninfo=conninfo, kwargs={"options": schema_options()}
    )
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


def schema_options() -> str:
    """Return the options of a connection that works in procrastinate's schema."""
    return f"-c search_path={_SCHEMA}"


def _cron(every: float) -> str:
    """procrastinate's cron, whose sixth field is seconds: every 1 to 59 seconds, or every whole
    minutes.

    >>> _cron(10), _cron(300)
    ('* * * * * */10', '*/5 * * * *')
    """
    if every < 60:
        return f"* * * * * */{max(int(every), 1)}"
    return f"*/{max(min(int(every // 60), 59), 1)} * * * *"


def _register(app: Any, job: PeriodicJob, name: str) -> None:
    async def turn(timestamp: int) -> int:
        return await run_job(job)

    queue = name.rpartition(":")[0]
    task = app.task(
        name=name, queue=queue, lock=name, queueing_lock=name, pass_context=False
    )(turn)
    app.periodic(cron=_cron(job.every), periodic_id=name)(task)


async def create_tables(conninfo: str) -> None:
    """Create procrastinate's tables once, however many workers start together."""
    import procrastinate
    import psycopg
    from procrastinate import PsycopgConnector

    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_SCHEMA_LOCK])
        found = await connection.execute(
            "SELECT to_regclass(%s)", [f"{_SCHEMA}.procrastinate_jobs"]
        )
        row = await found.fetchone()
        if row is not None and row[0] is not None:
            return
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
        await connection.execute(f"SET LOCAL search_path TO {_SCHEMA}")
        app = procrastinate.App(connector=PsycopgConnector(conninfo=conninfo))
        await connection.execute(app.schema_manager.get_schema().encode())

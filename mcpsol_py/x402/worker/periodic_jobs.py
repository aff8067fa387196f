"""Periodic jobs, and one turn of one of them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import anyio.to_thread
import httpx

from mcpsol_py.errors import McpsolError, PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable

__all__ = ["PeriodicJob", "PeriodicJobs", "Work", "log", "run_job"]

log = logging.getLogger("mcpsol_py.x402.worker")

#: Does some of the work that is due and returns how much. Either plain (it runs in a thread) or a
#: coroutine function.
Work: TypeAlias = Callable[[], "int | Awaitable[int]"]


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """Work to do every `every` seconds. It must be safe to run twice at the same time."""

    name: str
    every: float
    work: Work


class PeriodicJobs:
    """Jobs by name. Other parts add theirs."""

    def __init__(self) -> None:
        self._jobs: dict[str, PeriodicJob] = {}

    def add(self, name: str, every: float, work: Work) -> None:
        """Add a job that runs every *every* seconds. Raises PaymentError if the name is taken."""
        if name in self._jobs:
            raise PaymentError(
                "INVALID_PARAMETERS", f"there is a job named {name!r} already"
            )
        self._jobs[name] = PeriodicJob(name, every, work)

    def __iter__(self) -> Iterator[PeriodicJob]:
        return iter(self._jobs.values())

    def __getitem__(self, name: str) -> PeriodicJob:
        return self._jobs[name]


async def run_job(job: PeriodicJob) -> int:
    """Run one turn. A failure is logged by its kind, and the next turn tries again."""
    try:
        if inspect.iscoroutinefunction(job.work):
            return int(await job.work())
        done = await anyio.to_thread.run_sync(job.work)
        return int(await done if inspect.isawaitable(done) else done)
    except (McpsolError, ChainUnavailable, httpx.HTTPError, OSError) as error:
        log.warning("job %s: %s", job.name, type(error).__name__)
        return 0

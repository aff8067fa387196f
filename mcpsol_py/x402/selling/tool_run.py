"""Running the tool of a paid call, while the lease of its call is renewed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeAlias

import anyio

from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402.selling.owned_row import OwnedRow
from mcpsol_py.x402.store.call_states import SENDS

__all__ = ["Run", "RunFunction", "Unfinished", "current_run", "run_tool"]


class Unfinished(Exception):
    """Raised by a tool that did nothing yet and whose call will be repeated: a person must be asked
    first.

    Nothing is stored or charged for it. A payment that was settled first stays settled, and the
    next request with it runs the tool. `result` goes to the caller. If it has a `requestState`, the
    request that brings this state back needs no other proof that it is the caller's.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("not done yet")
        self.result = result


class Run:
    """One run of a tool. The tool uses it to charge less than its ceiling, and to record what it is
    about to send.
    """

    def __init__(self, row: OwnedRow, ceiling: int | None = None) -> None:
        self._row = row
        self.payment_id = row.payment_id
        #: The most that may be charged, if usage decides (scheme "upto"). None: the price is fixed.
        self.ceiling = ceiling
        #: The amount to charge. None: all of the ceiling.
        self.charged: int | None = None

    def charge(self, amount: int) -> None:
        """Charge *amount* base units of the authorized ceiling. A fixed price stays as it is.

        Raises PaymentError (charge_over_ceiling).
        """
        if self.ceiling is None:
            return
        if not 0 <= amount <= self.ceiling:
            raise PaymentError(
                "charge_over_ceiling",
                f"cannot charge {amount:,} base units: 0 to {self.ceiling:,} are authorized",
            )
        self.charged = amount

    async def will_send(self, signature: str) -> None:
        """Record *signature* before the tool sends its transaction. After a crash it decides
        whether the tool ran.

        Raises PaymentError (payment_id_conflict) if another process has taken the call over.
        """
        if not await self._row.move(SENDS, signature=signature):
            raise PaymentError(
                "payment_id_conflict", "another process has taken this call over"
            )


_current: ContextVar[Run | None] = ContextVar("mcpsol_paid_run", default=None)

#: Runs the tool and returns (result, failed). A failed tool is not charged, unless it was paid
#: before.
RunFunction: TypeAlias = Callable[[Run], Awaitable[tuple[dict[str, Any], bool]]]


def current_run() -> Run | None:
    """Return the run of the paid call that this code runs for, if any."""
    return _current.get()


async def run_tool(
    row: OwnedRow, run: RunFunction, this: Run, lease_ms: int
) -> tuple[dict[str, Any], bool]:
    """Run the tool with *this* as `current_run`, and renew the lease of its row meanwhile."""
    async with _renewed_lease(row, max(lease_ms / 4000, 0.05)):
        token = _current.set(this)
        try:
            return await run(this)
        finally:
            _current.reset(token)


@asynccontextmanager
async def _renewed_lease(row: OwnedRow, every: float) -> AsyncIterator[None]:
    """Renew the lease of *row* every *every* seconds. Most tools end before the first time."""
    started: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    timer = loop.call_later(
        every, lambda: started.append(loop.create_task(_renew(row, every)))
    )
    try:
        yield
    finally:
        timer.cancel()
        for task in started:
            task.cancel()
        if started:
            # No renewal may be written after the answer.
            with anyio.CancelScope(shield=True):
                await asyncio.wait(started)


async def _renew(row: OwnedRow, every: float) -> None:
    while True:
        with suppress(StorageError):  # the database may be back before the lease ends
            await row.touch()
        await asyncio.sleep(every)

"""Progress and log messages that a client receives while its call runs.

`run_to_completion` keeps a send running when its caller is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, Protocol, TypeVar

import anyio

__all__ = [
    "BUILD_STEPS",
    "DESCRIBE_STEPS",
    "LOG_LEVELS",
    "SEND_STEPS",
    "CallProgress",
    "LogLevel",
    "ProgressListener",
    "run_to_completion",
]

_T = TypeVar("_T")

LogLevel = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
#: By severity (RFC 5424), the least severe first.
LOG_LEVELS: tuple[LogLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)

DESCRIBE_STEPS = ("built",)
BUILD_STEPS = ("built", "simulated")
SEND_STEPS = ("built", "simulated", "signed", "sent", "confirmed")


class ProgressListener(Protocol):
    """Receives the progress and the log messages of one call."""

    async def progress(self, done: int, total: int, message: str) -> None:
        """Report that *done* of *total* steps are finished."""

    async def log(self, level: LogLevel, data: dict[str, Any]) -> None:
        """Deliver a log message. *data* is a JSON object with the key `event`."""


class CallProgress:
    """Reports the steps of one call to *listener*.

    Each step is reported once, because MCP requires progress to grow: if a person has to confirm a
    call, it is built and simulated a second time. If the listener raises, nothing more is reported
    and the call continues.
    """

    def __init__(self, listener: ProgressListener | None, tool: str) -> None:
        self.tool = tool
        self._listener = listener
        self._done = 0

    async def reached(self, step: str, steps: Sequence[str], **facts: Any) -> None:
        """Report that *step*, one of *steps*, is finished."""
        if self._listener is None:
            return
        number = steps.index(step) + 1
        if number <= self._done:
            return
        self._done = number
        await self._notify("progress", number, len(steps), step)
        await self.log("info", step, **facts)

    async def log(self, level: LogLevel, event: str, **facts: Any) -> None:
        """Send a log message about this call."""
        await self._notify("log", level, {"event": event, "tool": self.tool, **facts})

    async def _notify(self, method: str, *arguments: Any) -> None:
        if self._listener is None:
            return
        try:
            await getattr(self._listener, method)(*arguments)
        except Exception:  # noqa: BLE001  # the client has gone away; the call continues
            self._listener = None


async def run_to_completion(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run *coroutine* to its end even if the caller is cancelled, then raise the cancellation.

    A signed transaction may land even if its caller is gone, so it must be followed and logged.
    """
    task = asyncio.ensure_future(coroutine)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            # MCP cancels through anyio, which repeats the cancellation until it is delivered.
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # Retrieve the exception so that asyncio does not warn; the audit log already has it.
        task.cancelled() or task.exception()
        raise cancelled
    return task.result()

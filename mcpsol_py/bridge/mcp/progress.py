"""How a caller is told how far its call is (MCP: progress, log messages), and how a send is brought to its end although
the caller has gone away.
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
    "LogLevel",
    "ProgressListener",
    "CallProgress",
    "run_to_completion",
]

_T = TypeVar("_T")

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
#: by severity (RFC 5424), the least first
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
    """Who hears of a call while it runs."""

    async def progress(self, done: int, total: int, message: str) -> None:
        """*done* of *total* steps."""

    async def log(self, level: LogLevel, data: dict[str, Any]) -> None:
        """A log message; `data` is JSON, and holds `event`."""


class CallProgress:
    """The steps of one call, told to *listener* as they are reached: each once, since progress must only grow (a call
    that a person is asked about is built and simulated again). A listener that fails is not told again and stops
    nothing."""

    def __init__(self, listener: ProgressListener | None, tool: str) -> None:
        self.tool = tool
        self._listener = listener
        self._done = 0

    async def reached(self, step: str, steps: Sequence[str], **facts: Any) -> None:
        """*step* of *steps* is done."""
        number = steps.index(step) + 1
        if number <= self._done:
            return
        self._done = number
        await self._tell("progress", number, len(steps), step)
        await self.log("info", step, **facts)

    async def log(self, level: LogLevel, event: str, **facts: Any) -> None:
        """A log message about this call."""
        await self._tell("log", level, {"event": event, "tool": self.tool, **facts})

    async def _tell(self, method: str, *arguments: Any) -> None:
        if self._listener is None:
            return
        try:
            await getattr(self._listener, method)(*arguments)
        except Exception:  # noqa: BLE001  # whoever listens has gone away; what is told of goes on
            self._listener = None


async def run_to_completion(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs *coroutine* to its end although the caller is cancelled meanwhile; the cancellation then goes on.

    What has been signed may land whatever becomes of its caller, so it is followed and written down.
    """
    task = asyncio.ensure_future(coroutine)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            with anyio.CancelScope(
                shield=True
            ):  # MCP's cancellations come by anyio, again and again
                await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.cancelled() or task.exception()  # seen: the audit log has it
        raise cancelled
    return task.result()

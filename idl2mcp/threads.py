"""Runs a coroutine in a thread of its own, for callers that may have an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["run_in_thread"]

_T = TypeVar("_T")


def run_in_thread(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of *coroutine*. Ctrl-C ends the wait at once: the thread does not keep the process."""
    result: Future[_T] = Future()

    def run() -> None:
        try:
            result.set_result(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result()

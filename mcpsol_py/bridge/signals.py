"""Graceful shutdown: run a function when SIGINT or SIGTERM arrives."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["on_stop_signal"]

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop_signal(callback: Callable[[], object]) -> Iterator[None]:
    """Inside the block, call *callback* when a stop signal arrives, instead of ending the process.

    Does nothing outside the main thread, because only that thread receives signals.
    """
    loop = asyncio.get_running_loop()
    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = _STOP_SIGNALS if in_main_thread else ()
    with suppress(NotImplementedError):  # Windows, where Ctrl-C still ends the process
        for number in numbers:
            loop.add_signal_handler(number, callback)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)

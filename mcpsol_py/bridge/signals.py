"""Being asked to end: SIGINT and SIGTERM, heard by the event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["on_stop_signal"]

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop_signal(heard: Callable[[], object]) -> Iterator[None]:
    """Meanwhile a signal that asks for the end calls *heard*, and nothing else comes of it."""
    loop = asyncio.get_running_loop()
    # signals are the main thread's
    numbers = _ENDING if threading.current_thread() is threading.main_thread() else ()
    with suppress(NotImplementedError):  # Windows: Ctrl-C ends it all the same
        for number in numbers:
            loop.add_signal_handler(number, heard)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)

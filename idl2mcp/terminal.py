"""Questions to the person at the terminal. stdin is never read: it may be a pipe, or an MCP client's."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from idl2mcp import report

__all__ = ["ask_hidden", "confirm", "is_there"]

#: The terminal of this process, on Windows its console.
TERMINAL = ("/dev/tty", "/dev/tty") if os.name == "posix" else ("CONIN$", "CONOUT$")


def is_there() -> bool:
    """Return whether this process has a terminal."""
    try:
        for name in TERMINAL:
            os.close(os.open(name, os.O_RDWR))
    except OSError:
        return False
    return True


@contextmanager
def _asking() -> Iterator[None]:
    """Show no progress meanwhile, and let Ctrl-C end the question: an event loop would only note it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = (
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if in_main_thread
        else None
    )
    try:
        with report.paused():
            yield
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def ask_hidden(prompt: str) -> str:
    """Return a line that is typed without being shown. Raises click.Abort if the person ends the input.

    Raises UnicodeDecodeError if the terminal sends bytes that are not text.
    """
    from getpass import getpass

    with _asking():
        try:
            return getpass(prompt)
        except EOFError as error:
            raise click.Abort from error


def confirm(question: str) -> bool:
    """Ask *question*, and return whether the person typed y or yes. Raises click.Abort if the person ends the input."""
    source, target = TERMINAL
    with _asking(), open(target, "w") as shown, open(source) as typed:  # noqa: PTH123  # devices
        shown.write(f"{question} [y/N] ")
        shown.flush()
        line = typed.readline()
    if not line:
        raise click.Abort
    return line.strip().lower() in ("y", "yes")

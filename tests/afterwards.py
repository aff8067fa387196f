"""What a test process starts ends with it, also when it is killed and no fixture is torn down."""

from __future__ import annotations

import subprocess

__all__ = ["Afterwards"]


class Afterwards:
    """Shell commands for the time when this process is gone, however it ends.

    They wait in a process of their own for the end of a pipe whose other end is only here.
    """

    def __init__(self, *commands: str) -> None:
        script = "; ".join(("cat >/dev/null", *commands))
        # a group of its own: what interrupts the tests must not interrupt this
        self._waiting = subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
        )

    def now(self) -> None:
        """Runs them, and returns when they have run."""
        self._waiting.communicate()

    def never(self) -> None:
        """They are not needed any more."""
        self._waiting.kill()
        self._waiting.communicate()

"""A terminal of its own for a command: a pty whose controlling process is the command."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Terminal"]

#: Seconds to wait for a text or for the end; a loaded machine is slow.
_PATIENCE = 30.0


class Terminal:
    """Runs `idl2mcp …` as a person does. Leave the context to end the process.

    *piped* text is the command's stdin; without it stdin is the terminal. *module* None: Python runs the arguments.
    """

    def __init__(
        self,
        *args: object,
        folder: Path,
        env: Mapping[str, str] = {},
        piped: str | None = None,
        module: str | None = "idl2mcp",
    ) -> None:
        self.shown = ""
        self._seen = 0
        self._status: int | None = None
        command = [sys.executable, *(("-m", module) if module else ()), *map(str, args)]
        environment = {
            **os.environ,
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        environment.pop("IDL2MCP_PASSPHRASE", None)
        environment.update(env)
        read, write = os.pipe()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:  # only async-safe calls until exec
            if piped is not None:
                os.dup2(read, 0)
            os.close(write)
            os.chdir(folder)
            os.execve(sys.executable, command, environment)
        os.close(read)
        os.write(write, (piped or "").encode())
        os.close(write)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def expect(self, text: str) -> None:
        """Wait until the command shows *text*, after what was expected before."""
        deadline = time.monotonic() + _PATIENCE
        while (at := self.shown.find(text, self._seen)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"no {text!r} in {self.shown[self._seen :]!r}")
        self._seen = at + len(text)

    def type(self, text: str | bytes) -> None:
        """Type *text*. "\\x03" is Ctrl-C, "\\x04" is Ctrl-D."""
        os.write(self._terminal, text.encode() if isinstance(text, str) else text)

    def code(self) -> int:
        """Wait for the command's end and return its exit code."""
        deadline = time.monotonic() + _PATIENCE
        while self._read(deadline):
            pass
        if time.monotonic() > deadline:
            raise AssertionError(f"it does not end: {self.shown!r}")
        _, status = os.waitpid(self.pid, 0)
        self._status = status
        return os.waitstatus_to_exitcode(status)

    def _read(self, deadline: float) -> bool:
        """Read what is shown. Return False at the end or when time is over."""
        ready, _, _ = select.select(
            [self._terminal], [], [], max(0, deadline - time.monotonic())
        )
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:  # Linux's way to say that the other side is closed
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

"""Starts a server as an MCP client would, to see whether it answers."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import IO

from idl2mcp.config.mcp_clients import Command
from mcpsol_py.errors import SourceError

__all__ = ["start_once"]

#: Seconds in which the server must answer. Public nodes are slow, and a catalogue is large.
_PATIENCE = 90.0
#: Variables that clients pass on to the servers that they start: those of the SDKs, and those of a desktop's keyring.
_INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "LANG"),
    *(
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
    ),
    *(
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ),
    *("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "PYTHON_KEYRING_BACKEND"),
)
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "idl2mcp install", "version": "1"},
    },
}


def start_once(server: Command, environ: Mapping[str, str]) -> None:
    """Start *server* without a terminal and in another folder, wait for its first answer, and end it.

    *environ* has the values of its secrets. Raises SourceError if it does not answer.
    """
    env = {
        name: environ[name]
        for name in (*_INHERITED, *server.secrets)
        if name in environ
    }
    with tempfile.TemporaryFile() as said, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [server.command, *server.args],
            env={**env, **server.env},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=os.name
            == "posix",  # without the terminal, which could be asked
        )
        try:
            answers = _answers(process)
        finally:
            _end(process)
        if not answers:
            raise SourceError(
                f"a client could not start this server: {_last_words(said)}",
                origin="the configuration",
            )


def _answers(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the process answers the first message of the protocol."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    deadline = time.monotonic() + _PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        if select.select([process.stdout], [], [], min(left, 1))[0]:
            return b'"serverInfo"' in process.stdout.readline()
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
    except BrokenPipeError:
        pass
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    errors = [
        line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")
    ]
    return (errors or lines or [f"it did not answer within {_PATIENCE:.0f} seconds"])[
        -1
    ]

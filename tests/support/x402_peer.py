"""Other people's x402 packages: buyers, sellers and facilitators over HTTP, in one process for each language.

A process reads a JSON request a line and writes a JSON answer a line: {"ok": …}, or {"error": text}.

{"op": "buy", "package", "url", "rpc", "seed"}
    -> {"status", "receipt", "demand", "body"} of a GET
{"op": "sell", "package", "facilitator", "pay_to"}
    -> the URL of a shop that sells GET /forecast for 1,000 units. With "scheme": "upto" it charges "charge" of
    them, and the seed "authorizer" signs for that.
{"op": "facilitate", "package", "rpc", "websocket", "seed"}
    -> the URL of a facilitator, whose key is the seed
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.oracles.environment import ORACLES, node, x402_python

__all__ = ["REGISTRIES", "PeerFailed", "PeerProcess", "running_peer"]

#: The program that `make peers` builds of the crates, which takes ten minutes: it is not part of the suite.
RUST_PEER = os.environ.get("RUST_PEER")
#: The registries whose packages are here.
REGISTRIES = ("npm", "PyPI", "crates") if RUST_PEER else ("npm", "PyPI")


class PeerFailed(Exception):
    """The package raised an error. Its text is the error's."""


class PeerProcess:
    """The process of one language's packages."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, op: str, package: str, **request: Any) -> Any:
        """What the package answers. Raises PeerFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            json.dumps({"op": op, "package": package, **request}) + "\n"
        )
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise PeerFailed(answer["error"])
        return answer["ok"]

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._process.stdout.close()


def _node_command() -> list[str]:
    folder = ORACLES / "x402-http"
    if not (folder / "node_modules").is_dir():
        pytest.skip("the npm packages of x402 are not installed: run `make oracles`")
    return [node(), str(folder / "peer.mjs")]


def _python_command() -> list[str]:
    return [x402_python(), str(ORACLES / "x402" / "http_peer.py")]


def _rust_command() -> list[str]:
    return [str(RUST_PEER)]


_COMMANDS = {"npm": _node_command, "PyPI": _python_command, "crates": _rust_command}


@contextmanager
def running_peer(registry: str) -> Iterator[PeerProcess]:
    """The process of the packages of *registry*. Skips the test where they are not installed."""
    peer = PeerProcess(_COMMANDS[registry]())
    try:
        yield peer
    finally:
        peer.stop()

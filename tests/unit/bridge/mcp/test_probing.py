"""Clients that probe a stdio server with `server/discover` before they choose a protocol."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.probing import (
    CAPABILITIES,
    MODERN_VERSIONS,
    Announced,
    probe_reply,
)
from mcpsol_py.bridge.mcp.server import make_server

VERSION = "io.modelcontextprotocol/protocolVersion"


def envelope(version: str = "2026-07-28") -> dict[str, Any]:
    """What a request of the newer protocol carries."""
    client = {"name": "probing", "version": "1"}
    meta = {
        VERSION: version,
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"_meta": meta}


HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "probing", "version": "1"},
}


class Probing:
    """A client that writes requests and reads responses by their ids, in any order."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._answers: dict[int, dict[str, Any]] = {}

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        head = {} if number is None else {"id": number}
        assert self.process.stdin is not None
        row = {"jsonrpc": "2.0", **head, "method": method, "params": params}
        self.process.stdin.write(json.dumps(row) + "\n")
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        while number not in self._answers:
            line = self.process.stdout.readline()
            assert line, "the server left"
            row = json.loads(line)
            self._answers[row.get("id")] = row
        return self._answers[number]


@contextmanager
def served(*options: str) -> Iterator[Probing]:
    with started("-m", "idl2mcp", "serve", *options) as client:
        yield client


@contextmanager
def started(*arguments: str) -> Iterator[Probing]:
    """Python with these arguments, a server on stdio."""
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Probing(process)
        finally:
            process.kill()


def test_a_handshake_that_is_sent_before_the_probe_is_answered_is_accepted() -> None:
    # Copilot CLI waits half a second for the probe and then sends the handshake, and AI SDK alike.
    with served("counter") as client:
        client.send("server/discover", 0, **envelope())
        client.send("initialize", 1, **HANDSHAKE)
        client.send("notifications/initialized")
        client.send("tools/list", 2)
        assert client.answer(0)["result"]["supportedVersions"] == list(MODERN_VERSIONS)
        assert client.answer(1)["result"]["protocolVersion"] == "2025-11-25"
        assert client.answer(2)["result"]["tools"]


#: A server that answers from the start, so no probe comes before it.
READY = """
import asyncio
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.mcp.stdio import run_stdio

asyncio.run(run_stdio(make_server(Bridge([]))))
"""


def test_a_probe_of_a_running_server_does_not_choose_the_protocol() -> None:
    with started("-c", READY) as client:
        client.send("server/discover", 0, **envelope())
        assert client.answer(0)["result"]["supportedVersions"] == list(MODERN_VERSIONS)
        client.send("initialize", 1, **HANDSHAKE)
        assert client.answer(1)["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", ["2026-07-28", "2027-01-01"])
def test_a_handshake_after_the_answer_is_accepted(version: str) -> None:
    with served("counter") as client:
        client.send("server/discover", 0, **envelope(version))
        assert ("result" in client.answer(0)) is (version in MODERN_VERSIONS)
        client.send("server/discover", 1, **envelope(version))
        client.answer(1)
        client.send("initialize", 2, **HANDSHAKE)
        assert "counter" in client.answer(2)["result"]["instructions"]
        client.send("notifications/initialized")
        client.send("tools/call", 3, name="program_info", arguments={})
        assert client.answer(3)["result"]["isError"] is False


def test_a_client_that_stays_with_the_newer_protocol_is_served() -> None:
    with served("counter") as client:
        client.send("server/discover", 0, **envelope())
        client.answer(0)
        client.send("tools/call", 1, name="program_info", arguments={}, **envelope())
        assert client.answer(1)["result"]["isError"] is False
        # The first request after the probe has chosen.
        client.send("initialize", 2, **HANDSHAKE)
        assert client.answer(2)["error"]["code"] == -32022


def test_a_probe_is_answered_before_the_programs_are_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a node that never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with served(
            "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z", "--url", url
        ) as client:
            client.send("server/discover", 0, **envelope())
            assert client.answer(0)["result"]["capabilities"] == CAPABILITIES


def test_the_early_answer_announces_what_the_server_can_do() -> None:
    server = make_server(Bridge([]), version="1")
    found = server.get_capabilities(protocol_version=MODERN_VERSIONS[0])
    assert (
        found.model_dump(by_alias=True, mode="json", exclude_none=True) == CAPABILITIES
    )


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        "server/discover",
        {"method": "tools/list", "id": 1, "params": envelope()},
        {"method": "server/discover", "params": envelope()},
        {"method": "server/discover", "id": 1},
        {"method": "server/discover", "id": 1, "params": {"_meta": []}},
        {"method": "server/discover", "id": 1, "params": {"_meta": {VERSION: 7}}},
    ],
)
def test_only_a_whole_probe_is_answered(request_: Any) -> None:
    assert probe_reply(request_, Announced.of_bridge("1", "build")) is None

"""Calls over stdio that wait for nothing: answered where they are read, with the SDK's own answers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from mcpsol_py.bridge.mcp.immediate import ImmediateCalls
from mcpsol_py.bridge.mcp.server import make_server
from tests.functional.bridges import bridge

PREFIX = "io.modelcontextprotocol"
META: dict[str, Any] = {
    f"{PREFIX}/protocolVersion": "2026-07-28",
    f"{PREFIX}/clientCapabilities": {},
}
TRANSFER = {
    "amount": "5",
    "accounts": {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@alice",
    },
}
#: Serves SPL Token on stdio. With an argument the calls that wait for nothing are answered where they are read.
SERVER = """
import asyncio
import sys
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bridge.mcp.stdio import run_stdio
from tests.functional.bridges import bridge

found = bridge()
asyncio.run(run_stdio(make_server(found), None, found if sys.argv[1:] else None))
"""


def call(
    arguments: Any = None, tool: Any = "transfer", meta: Any = None
) -> dict[str, Any]:
    """The parameters of a call."""
    arguments = TRANSFER if arguments is None else arguments
    return {
        "name": tool,
        "arguments": arguments,
        "_meta": META if meta is None else meta,
    }


HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
#: What a client sends: method and parameters. Requests are numbered from 1.
CONVERSATIONS: dict[str, list[tuple[str, Any]]] = {
    "calls, faults and notifications": [
        ("tools/list", {"_meta": META}),
        ("tools/call", call()),
        ("tools/call", call({**TRANSFER, "amount": "7"})),
        ("resources/list", {"_meta": META}),
        ("tools/call", call({**TRANSFER, "amount": "many"})),
        ("tools/call", call({**TRANSFER, "amount": "999999999999999"})),
        ("tools/call", call([])),
        ("tools/call", call(tool="unknown")),
        ("tools/call", call(tool=["transfer"])),
        ("tools/call", {"arguments": {}, "_meta": META}),
        ("tools/call", {"name": "transfer"}),
        ("tools/call", call(meta=[])),
        ("tools/call", call(meta={f"{PREFIX}/protocolVersion": "2026-07-28"})),
        ("tools/call", call(meta={**META, f"{PREFIX}/protocolVersion": "2031-01-01"})),
        ("tools/call", call(meta={**META, f"{PREFIX}/protocolVersion": "2025-11-25"})),
        ("tools/call", call(meta={**META, f"{PREFIX}/clientCapabilities": 5})),
        ("tools/call", call(meta={**META, "progressToken": "mine"})),
        ("tools/call", call(meta={**META, f"{PREFIX}/logLevel": "info"})),
    ],
    "handshake": [
        ("initialize", HANDSHAKE),
        ("tools/call", {"name": "transfer", "arguments": TRANSFER}),
        ("tools/call", call()),  # of the other protocol, so refused
    ],
    "handshake with an envelope": [
        ("initialize", {**HANDSHAKE, "_meta": META}),
        ("tools/call", call()),
    ],
    "probe first": [
        ("server/discover", {"_meta": META}),
        ("initialize", HANDSHAKE),
        ("tools/call", call()),
    ],
    "handshake too late": [("tools/call", call()), ("initialize", HANDSHAKE)],
}


def answers(conversation: list[tuple[str, Any]], *options: str) -> list[Any]:
    """The messages of a server that was asked one thing after the other, up to the last answer."""
    command = [sys.executable, "-c", SERVER, *options]
    pipe = subprocess.PIPE
    found: list[Any] = []
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, (method, params) in enumerate(conversation, 1):
            request = {"jsonrpc": "2.0", "id": number, "method": method}
            process.stdin.write(json.dumps({**request, "params": params}) + "\n")
            process.stdin.flush()
            while not found or found[-1].get("id") != number:
                line = process.stdout.readline()
                assert line, "the server left"
                found.append(json.loads(line))
        process.stdin.close()
    return found


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_answers_are_those_of_the_sdk(name: str) -> None:
    conversation = CONVERSATIONS[name]
    assert answers(conversation, "immediately") == answers(conversation)


def test_many_calls_at_once_are_all_answered() -> None:
    line = {"jsonrpc": "2.0", "method": "tools/call", "params": call()}
    given = "".join(json.dumps({**line, "id": n}) + "\n" for n in range(200))
    command = [sys.executable, "-c", SERVER, "immediately"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.flush()
        found = [json.loads(process.stdout.readline()) for _ in range(200)]
        process.stdin.close()
    assert {row["id"] for row in found} == set(range(200))
    assert not any(row["result"]["isError"] for row in found)


def request(params: Any, method: str = "tools/call") -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=5, method=method, params=params)


async def test_a_call_that_waits_for_nothing_is_answered() -> None:
    found = bridge()
    answer = await ImmediateCalls(make_server(found), found).answer(request(call()))
    assert isinstance(answer, JSONRPCResponse)
    assert answer.id == 5
    assert answer.result["structuredContent"]["simulation"]["succeeded"]


async def test_malformed_arguments_are_an_error() -> None:
    found = bridge()
    given = request(call([]))
    answer = await ImmediateCalls(make_server(found), found).answer(given)
    assert isinstance(answer, JSONRPCError)
    assert answer.error.code == -32602


@pytest.mark.parametrize(
    "given",
    [
        request(call(), "tools/list"),
        request(call(tool="program_info")),
        request(call(tool=["transfer"])),
        request(call(meta={**META, "progressToken": 1})),
        request(call(meta={**META, f"{PREFIX}/logLevel": "info"})),
        request(call(meta={})),
        request(call(meta=7)),
        request(None),
    ],
)
async def test_the_sdk_answers_everything_else(given: JSONRPCRequest) -> None:
    found = bridge()
    assert await ImmediateCalls(make_server(found), found).answer(given) is None

"""stdin and stdout as they really are: pipes, sockets, files, and clients that go away."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

pytest.importorskip("mcp")

#: echoes, and prints where a careless handler would; at its end says whether stdin and stdout are as they were
SERVER = """
import asyncio, os, sys
import mcp_types as types
from mcp.server import Server
from mcpsol_py.bridge.mcp.stdio import run_stdio

async def call(ctx, params):
    given = params.arguments or {}
    print("printed by a handler")
    os.system("echo echoed by a child; cat")
    text = given.get("text", "") * given.get("times", 1)
    content = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=given)

async def main():
    await run_stdio(Server("echo", on_call_tool=call))

inode = os.fstat(1).st_ino
asyncio.run(main())
print("blocking", os.get_blocking(0), os.get_blocking(1), "own", os.fstat(1).st_ino == inode, file=sys.stderr)
"""


def message(number: int | None, method: str, **params: Any) -> bytes:
    """A line of the protocol; without a number a notification."""
    head = {} if number is None else {"id": number}
    return (
        json.dumps(
            {"jsonrpc": "2.0", **head, "method": method, "params": params}
        ).encode()
        + b"\n"
    )


HELLO = message(
    0,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
) + message(None, "notifications/initialized")


def call(number: int, text: str, times: int = 1) -> bytes:
    return message(
        number, "tools/call", name="echo", arguments={"text": text, "times": times}
    )


def answers(output: bytes) -> dict[int, str]:
    """The texts by their request; every line is the protocol's."""
    rows = [json.loads(line) for line in output.splitlines()]
    return {
        row["id"]: row["result"]["content"][0]["text"] for row in rows if row.get("id")
    }


@contextmanager
def running(**streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    env = {
        name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"
    }  # prints wait to be written
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], env=env, **streams
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read(stream: IO[bytes], wanted: int) -> dict[int, str]:
    """The answers up to request *wanted*."""
    out = b""
    while wanted not in answers(out):
        line = stream.readline()
        assert line, "the server ended"
        out += line
    return answers(out)


def talk(given: bytes, wanted: int) -> tuple[dict[int, str], bytes, int]:
    """Over pipes: the answers to *given* up to request *wanted*, stderr, and the exit code once stdin is closed (which
    ends what still runs, as the SDK has it)."""
    with running(
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin
        writer = threading.Thread(target=lambda: (stdin.write(given), stdin.flush()))
        writer.start()
        found = read(process.stdout, wanted)
        writer.join()
        out, err = process.communicate(timeout=30)
        assert out == b""
        return found, err, process.returncode


def test_nothing_but_the_protocol_goes_out_and_all_is_as_it_was_at_the_end() -> None:
    found, err, code = talk(HELLO + call(1, "yes"), 1)
    assert found == {1: "yes"}
    assert (code, err.decode().splitlines()) == (
        0,
        ["echoed by a child", "printed by a handler", "blocking True True own True"],
    )


def test_messages_of_any_length_in_both_directions() -> None:
    """Longer than a pipe holds, and than what is read ahead; asked at once, by a client that reads only later."""
    long = "é" * 1_500_000
    found, _, code = talk(
        HELLO + call(1, long) + call(2, "abc", 1_000_000) + call(3, "end"), 3
    )
    assert found == {1: long, 2: "abc" * 1_000_000, 3: "end"}
    assert code == 0


@pytest.mark.parametrize(
    "value", [2**64 - 1, 2**80, -(2**70), 1.5e300, "\u2028 é 😀", [None, {"a": [True]}]]
)
def test_values_of_every_kind_come_back_as_they_were(value: Any) -> None:
    given = {"text": "ok", "value": value}
    with running(
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(
            HELLO + message(1, "tools/call", name="echo", arguments=given)
        )
        server.stdin.flush()
        server.stdout.readline()
        answer = json.loads(server.stdout.readline())
    assert answer["result"]["structuredContent"] == given


def test_a_client_that_asks_wrongly_is_told_so() -> None:
    with running(
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO + message(1, "no/such"))
        server.stdin.flush()
        server.stdout.readline()
        answer = json.loads(server.stdout.readline())
    assert (answer["id"], answer["error"]["code"]) == (1, -32601)


def test_what_is_no_message_is_passed_over() -> None:
    broken = b'{"jsonrpc": "2.0", \n' + b"\xff\xfe\n" + b"\n"
    found, _, code = talk(
        HELLO + broken + call(1, "after it").replace(b"\n", b"\r\n"), 1
    )
    assert found == {1: "after it"}
    assert code == 0


def test_sockets_as_of_a_node_client() -> None:
    """Node gives its children a pair of sockets for each stream."""
    (in_ours, in_theirs), (out_ours, out_theirs) = (
        socket.socketpair(),
        socket.socketpair(),
    )
    with running(stdin=in_theirs, stdout=out_theirs, stderr=subprocess.PIPE) as process:
        in_theirs.close()
        out_theirs.close()
        with in_ours, out_ours, out_ours.makefile("rb") as out:
            in_ours.sendall(HELLO + call(1, "over a socket"))
            assert read(out, 1) == {1: "over a socket"}
            in_ours.shutdown(socket.SHUT_WR)
            assert process.wait(timeout=30) == 0


def test_one_socket_for_both_directions() -> None:
    """As of inetd and socat; that it is read by the client does not look like its end."""
    ours, theirs = socket.socketpair()
    with running(stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as process:
        theirs.close()
        with ours, ours.makefile("rb") as out:
            ours.sendall(HELLO + call(1, "one"))
            assert read(out, 1) == {1: "one"}
            ours.sendall(call(2, "two"))
            assert read(out, 2) == {2: "two"}
            ours.shutdown(socket.SHUT_WR)
            assert process.wait(timeout=30) == 0


def test_files_and_a_stderr_that_is_stdout(tmp_path: Any) -> None:
    given, got = tmp_path / "given", tmp_path / "got"
    given.write_bytes(HELLO)
    with (
        given.open("rb") as stdin,
        got.open("wb") as stdout,
        running(stdin=stdin, stdout=stdout, stderr=subprocess.PIPE) as process,
    ):
        assert process.wait(timeout=30) == 0
    assert json.loads(got.read_bytes())["result"]["serverInfo"]["name"] == "echo"
    with running(
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO + call(1, "mixed", 100_000))
        process.stdin.flush()
        lines: list[bytes] = []
        while not lines or b'"id":1' not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines
        assert answers(lines[-1]) == {1: "mixed" * 100_000}
        out, _ = process.communicate(timeout=30)
        assert out == b"printed by a handler\nblocking True True own True\n"


@pytest.mark.parametrize("how", ["the client goes away", "SIGTERM", "SIGINT"])
def test_it_ends_in_order_when_nobody_is_there(how: str) -> None:
    with running(
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(HELLO + call(1, "first"))
        process.stdin.flush()
        assert read(process.stdout, 1) == {1: "first"}
        if how == "the client goes away":
            process.stdout.close()  # an answer that nobody reads
            process.stdin.write(call(2, "second"))
            process.stdin.flush()
        else:
            process.send_signal(signal.Signals[how])
        assert process.wait(timeout=30) == 0
        said = process.stderr.read().decode()
        assert said.endswith("blocking True True own True\n")
        assert "Traceback" not in said

"""Clients that are slow, many, or say that they are somebody else: over real sockets."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcpsol_py.bridge.http import connections as sockets
from mcpsol_py.bridge.http.app import http_app
from mcpsol_py.bridge.http.asgi import Receive, Scope, Send, respond
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.errors import SourceError
from tests.functional.bridges import bridge
from tests.ports import free_port


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with who asks, and the length of the body."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = (
            size + len(message.get("body", b"")),
            bool(message.get("more_body")),
        )
    told = {"client": scope["client"][0], "scheme": scope["scheme"], "size": size}
    await respond(send, 200, json.dumps(told).encode())


@contextmanager
def listening(app: Any, *, port: int | None = None, **options: Any) -> Iterator[int]:
    """The port at which *app* is served, by a thread."""
    port, made = port or free_port(), list[uvicorn.Server]()

    class Server(uvicorn.Server):
        """Can be told to stop from here."""

        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            made.append(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(uvicorn, "Server", Server)
        serve = sockets.serve_app(app, "127.0.0.1", port, **options)
        thread = threading.Thread(target=asyncio.run, args=(serve,), daemon=True)
        thread.start()
        for _ in range(500):
            if made and made[0].started:
                break
            time.sleep(0.01)
        try:
            yield port
        finally:
            made[0].should_exit = True
            thread.join(10)
            assert not thread.is_alive()


# What is waited for in vain is short; what must come in time has long: a worker of a busy suite may stand still.
PATIENCE = 30.0


def ask(
    port: int, *parts: bytes, pause: float = 0.0, timeout: float = PATIENCE
) -> bytes:
    """Sends *parts* with pauses, and reads until the server closes or says nothing for *timeout*."""
    out = b""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while part := connection.recv(65536):
                out += part
        except TimeoutError:
            return out + b"<still open>"
        except OSError:
            return out + b"<reset>"
    return out


HEAD = b"POST / HTTP/1.1\r\nhost: x\r\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_HEAD_SECONDS", 0.4)
    monkeypatch.setattr(sockets, "_BODY_SECONDS", 0.4)


@pytest.mark.usefixtures("quick")
def test_who_sends_no_whole_head_is_let_go() -> None:
    with listening(echo) as port:
        assert ask(port) == b""  # nothing at all
        # A byte now and then.
        assert ask(port, HEAD, b"a: b\r\n", b"c: d\r\n", pause=0.15) == b""


def test_a_request_may_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(echo) as port:
        assert b"200 OK" in ask(
            port, HEAD, b"connection: close\r\n", b"\r\n", pause=0.05
        )
        assert b"200 OK" in ask(
            port,
            HEAD,
            b"content-length: 3\r\nconnection: close\r\n\r\n",
            b"abc",
            pause=0.02,
        )
    monkeypatch.setattr(sockets, "_HEAD_SECONDS", 2.0)
    with listening(
        echo
    ) as port:  # and no whole second one, on a connection that is kept
        assert (
            ask(port, HEAD + b"content-length: 0\r\n\r\n", HEAD, pause=0.1).count(
                b"200 OK"
            )
            == 1
        )


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "body",
    [
        (b"content-length: 100\r\n\r\n", b"a"),
        (b"transfer-encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
)
def test_who_sends_no_whole_body_gets_408(body: tuple[bytes, ...]) -> None:
    with listening(echo) as port:
        late = ask(port, HEAD, *body)
        assert b"408" in late.split(b"\r\n")[0]
        assert b"connection: close" in late
        # Both at once.
        second = ask(port, HEAD + b"content-length: 0\r\n\r\n" + HEAD + b"".join(body))
        assert second.index(b"200 OK") < second.index(b"408")


@pytest.mark.usefixtures("quick")
def test_an_answer_may_take_its_time() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await receive()
            # As the SDK does, to notice a client that goes away.
            gone = asyncio.ensure_future(receive())
            await asyncio.sleep(1.0)
            assert not gone.done()
            gone.cancel()
            await respond(send, 200, b"at last")

    with listening(slow) as port:
        assert b"at last" in ask(
            port, HEAD, b"content-length: 0\r\nconnection: close\r\n\r\n"
        )


def test_a_connection_is_kept_for_longer_than_clients_keep_theirs() -> None:
    """A client of httpx gives one up after 5 seconds; one that the server had given up before takes its request with
    it (ReadError, "connection reset by peer")."""
    first, last = (
        HEAD + b"content-length: 0\r\n" + more + b"\r\n"
        for more in (b"", b"connection: close\r\n")
    )
    with listening(echo) as port:
        assert ask(port, first, last, pause=5.5).count(b"200 OK") == 2


def client_seen(port: int, forwarded: str) -> Any:
    head = f"x-forwarded-for: {forwarded}\r\nx-forwarded-proto: https\r\n".encode()
    raw = ask(port, HEAD, head, b"content-length: 0\r\nconnection: close\r\n\r\n")
    return json.loads(raw.partition(b"\r\n\r\n")[2])


def test_nothing_is_kept_of_a_connection_that_was_reset() -> None:
    """As clients do that end a stream once they have its answer: else each would stay for as long as idle ones may."""

    def held() -> int:
        gc.collect()
        return sum(isinstance(thing, H11Protocol) for thing in gc.get_objects())

    with listening(echo) as port:
        before = held()
        for _ in range(40):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
                assert b"200" in connection.recv(65536)
                connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
        end = time.monotonic() + 10
        while held() > before + 2:
            assert time.monotonic() < end, f"{held() - before} of 40 are still there"
            time.sleep(0.05)


def test_a_client_does_not_choose_who_it_is_counted_as() -> None:
    with listening(echo) as port:
        assert client_seen(port, "6.6.6.6")["client"] == "127.0.0.1"
        assert client_seen(port, "6.6.6.6")["scheme"] == "http"
    with listening(echo, proxies=("127.0.0.1", "10.0.0.0/8")) as port:
        # What the nearest proxy added.
        assert client_seen(port, "6.6.6.6, 7.7.7.7")["client"] == "7.7.7.7"
        assert client_seen(port, "6.6.6.6, 7.7.7.7, 10.1.2.3")["client"] == "7.7.7.7"


@pytest.mark.parametrize("proxy", ["*", "localhost", "1.2.3.4/99", ""])
def test_a_proxy_that_is_no_address_is_refused(proxy: str) -> None:
    with pytest.raises(SourceError, match=r"http\.proxies"):
        HttpSettings(proxies=(proxy,)).check()


def test_more_clients_wait_than_files_are_open_at_first() -> None:
    import resource

    sockets._raise_open_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == min(hard, 65_536) or soft >= 65_536
    count = min(1500, soft // 2 - 100)
    idle: list[socket.socket] = []
    with listening(echo) as port:
        try:
            idle.extend(
                socket.create_connection(("127.0.0.1", port), 5) for _ in range(count)
            )
            assert b"200 OK" in ask(
                port, HEAD, b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
        finally:
            for connection in idle:
                connection.close()


# --- the bridge behind it ---------------------------------------------------------------------------------------------


@contextmanager
def served(**settings: Any) -> Iterator[int]:
    """The port of a bridge over HTTP."""
    made, port = bridge(), free_port()
    app = http_app(make_server(made), made, HttpSettings(port=port, **settings))
    with listening(app, port=port):
        yield port


def test_who_goes_away_amid_a_request_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with served() as port:
        head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: application/json, text/event-stream\r\n"
        kind = "content-type: application/json\r\ncontent-length: 100\r\n\r\n"
        for sent in ("", "{"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall((head + kind + sent).encode())
        assert b" 200 " in ask(
            port, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
    assert caplog.text.count("Created new transport") == 2  # they came that far
    assert [
        r.getMessage()
        for r in caplog.records
        if r.exc_info or r.levelno >= logging.WARNING
    ] == []


def post(
    port: int, body: bytes, *headers: str, host: str | None = None, path: str = "/mcp"
) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"host: {host or f'127.0.0.1:{port}'}",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "connection: close",
        *headers,
    ]
    return ask(port, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def test_a_chunked_body_is_bounded_too() -> None:
    with served(body_bytes=10_000) as port:
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        reply = post(port, chunk * 10 + b"0\r\n\r\n", "transfer-encoding: chunked")
        assert b" 413 " in reply.split(b"\r\n")[0], reply[:200]
        reply = post(port, b"", "content-length: 999999999999")
        assert b" 413 " in reply.split(b"\r\n")[0], reply[:200]


@pytest.mark.parametrize("path", ["/metrics", "/", "/calls", "/audit", "/mcp"])
def test_a_page_under_another_name_reads_nothing(path: str) -> None:
    with served() as port:
        head = f"GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n".encode()
        assert b" 421 " in ask(port, head).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nhost: x\r\na: " + b"b" * 1_000_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\n"
        + b"".join(b"h%d: v\r\n" % n for n in range(20_000))
        + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(300),  # TLS
        b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
    ],
    ids=[
        "a long header",
        "many headers",
        "a long path",
        "TLS",
        "two lengths",
        "two hosts",
    ],
)
def test_a_head_that_is_none_is_refused_and_the_server_lives(head: bytes) -> None:
    with served() as port:
        reply = ask(port, head, timeout=2)
        assert b" 200 " not in reply.split(b"\r\n")[0]
        assert b"Traceback" not in reply
        assert b" 200 " in ask(
            port, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/explorer.css/../../x",
        "//etc/passwd",
        "/tools/..%2f..%2fx",
    ],
)
def test_no_path_leads_out(path: str) -> None:
    with served() as port:
        reply = ask(
            port,
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n".encode(),
        )
        assert b" 404 " in reply.split(b"\r\n")[0], reply[:300]
        assert b"root:" not in reply


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "origin: null",
        "origin: http://evil.example",
        "origin: http://127.0.0.1",
        "origin: https://127.0.0.1:{port}",
    ],
)
def test_a_form_of_another_page_is_not_taken(origin: str) -> None:
    with served() as port:
        headers = ["content-length: 0", *([origin.format(port=port)] if origin else [])]
        reply = post(port, b"", *headers, path="/tools/token_transfer")
        assert b" 403 " in reply.split(b"\r\n")[0], reply[:300]
